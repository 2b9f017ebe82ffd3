"""MPI's semantics, by programs that check themselves (tests/programs)."""

from support import MpiTest, bench, each, mpi_command, program

# Ranks of one host meet over the rails too.
NOLOCAL = {"MPIR_CVAR_NOLOCAL": "1"}
FOUR_HOSTS = {"on": ["--hosts", 4]}


class Programs(MpiTest):
    """Each program ends with "all right"."""

    def passes(self, ranks, name, *arguments, **options):
        self.succeeds(self.mpi(ranks, program(name), *arguments, **options), "all right")

    @each([
        # Matching order, probes, cancellation, synchronous and persistent operations. Without shared memory, wildcards have one
        # source of messages.
        ("matching", 2, {}), ("matching", 4, {}), ("matching", 4, NOLOCAL),
        ("matching", 3, {"FISHPLATE_EAGER_LIMIT": "0", "run": ["--multiplexing", "round-robin"]}),
        ("threads", 2, {}), ("threads", 4, {"run": ["--streams", "2"]}),
        # On hosts with several ranks, a fence of MPICH 5.0.2 may return before what came over the network is in the
        # window, with libfabric's tcp as well: its barrier goes by shared memory, its data does not.
        ("one_sided", 2, {}), ("one_sided", 4, NOLOCAL), ("one_sided", 4, FOUR_HOSTS),
        # Many long one-sided operations at once. Everything that is not a write is announced first in the last case, so
        # active messages arrive whole in any order.
        ("windows", 2, {}), ("windows", 4, FOUR_HOSTS), ("windows", 4, {**NOLOCAL, "run": ["--striping", "even"]}),
        ("windows", 3, {"FISHPLATE_EAGER_LIMIT": "0", "on": ["--hosts", 3]}),
        # Truncated receives.
        ("truncate", 2, {}), ("truncate", 2, {"FISHPLATE_EAGER_LIMIT": "1M"}), ("truncate", 2, {"run": ["--striping", "even"]}),
        # More ranks than cores.
        ("crowd", 8, {}), ("crowd", 8, NOLOCAL),
        # A send ends although its receiver leaves without finalizing.
        *[("leaver", 2, {})] * 5,
    ])
    def test_semantics(self, name, ranks, options):
        self.passes(ranks, name, **options)

    def test_counters(self):
        self.succeeds(self.mpi(8, program("counter"), 200), "all right")
        # Its rank 0 makes no call meanwhile.
        one_sided = {"OMPI_MCA_btl": "self,sm,ofi", "OMPI_MCA_btl_ofi_provider_include": "fishplate"}
        ran = self.mpi(2, program("counter", "openmpi"), 200, "away", mpi="openmpi", **one_sided)
        self.succeeds(ran, "all right")

    def test_a_burst_arrives_although_its_sender_stays_away_from_mpi(self):
        self.passes(2, "absent", self.temporary_folder() / "arrived")

    def away(self, receives, sizes, **settings):
        self.passes(2, "away", self.temporary_folder(), receives, *sizes, **settings)

    def test_no_send_waits_for_a_peer_that_computes(self):
        sizes = [17_000, 40_000, 65_536, 100_000] * 3
        for receives in ["unexpected", "posted"]:
            for on in ["1000", "1000,250"]:
                self.away(receives, sizes, on=["--rails", on])
            self.away(receives, sizes, FISHPLATE_PROGRESS="calls")

    def test_the_progress_thread_receives_while_the_program_computes(self):
        sizes = [1 << 20, 8 << 20, 64 << 20, 100_000, 3_000_000]
        self.away("posted", sizes, FISHPLATE_PROGRESS="thread")
        self.away("posted", sizes, FISHPLATE_PROGRESS="thread", run=["--striping", "even"])
        # Announced, with everything behind the clearance.
        self.away("posted", sizes, FISHPLATE_PROGRESS="thread", FISHPLATE_EAGER_LIMIT="0")
        self.away("posted", sizes)

    def test_a_process_that_exits_with_a_failure_is_heard_of(self):
        # Hydra kills nobody here.
        ran = self.mpi(2, program("leaver"), "3", mpiexec=["-disable-auto-cleanup"])
        self.fails(ran, "rank 0 on node0: peer .* is lost: its process has ended")
        self.assertNotIn("all right", ran.out, str(ran))

    def test_what_a_rank_tests_for_comes_however_long_it_has_tested(self):
        for ways in [["threads"], ["signals"], ["files"], ["seconds", "3"]]:
            self.passes(2, "testing", *ways)
            self.passes(2, "testing", *ways, on=["--hosts", 1], MPIR_CVAR_NOLOCAL="1")

    def test_a_process_that_is_disturbed(self):
        ways = ["auto", "thread", "calls"]
        for progress in ways:
            self.passes(2, "disturbed", "signals", FISHPLATE_PROGRESS=progress)
            self.passes(2, "disturbed", "fork", FISHPLATE_PROGRESS=progress)
        stopped = mpi_command(2, program("disturbed"), "stopped", "5")
        for job in [self.start(stopped, {"FISHPLATE_PROGRESS": progress}) for progress in ways]:
            self.succeeds(self.finish(job), "all right")

    def test_what_was_posted_arrives_although_its_sender_never_calls_mpi_again(self):
        for progress in ["auto", "thread"]:
            self.passes(2, "disturbed", "computing", self.temporary_folder(), FISHPLATE_PROGRESS=progress)

    def test_a_message_of_1_gib(self):
        ran = self.mpi(2, bench("stress"), "--single", "1G", "--json", timeout=300)
        [result] = self.succeeds(ran).json()
        received = next(rank for rank in result["per_rank"] if rank["rank"] == 1)
        self.assertEqual(received["bytes_received"], 1 << 30)
        # The message itself, and less than a tenth beside it on either side.
        for rank in result["per_rank"]:
            self.assertLess(rank["peak_rss_bytes"], 1.1 * (1 << 30), str(ran))


class FullQueue(MpiTest):
    """A sender floods a receiver that receives nothing: both keep their memory, and later everything arrives."""

    # Size and number of messages, and what either rank may need in MiB.
    @each([
        (60_000, 2000, 20, {}), (1_000_000, 100, 20, {}),
        # The sender keeps copies of what it could not send, as it must: 12 MB, with 300 bytes for each.
        (400, 30_000, 40, {}),
        (60_000, 2000, 8, {"FISHPLATE_GRANT": "64K"}),
    ])
    def test_floods(self, size, count, limit_mib, settings):
        self.succeeds(self.mpi(2, program("flood"), size, count, limit_mib, **settings), "all right")
