"""Every policy, number of streams, eager limit and grant carries checked messages right."""

from concurrent.futures import ThreadPoolExecutor

from support import MpiTest, bench, each, testbed

MULTIPLEXING = [
    "binding",
    "round-robin",
    "weighted-round-robin",
    "weighted-round-robin:4,1",
    "window-round-robin",
    "window-round-robin:3",
    "earliest",
]
STRIPING = ["binding", "even", "weighted", "weighted:4,1", "adaptive", "adaptive:0.2", "earliest"]
SIZES = "0,1,64,4K,65535,65536,65537,200K,1M,4M"


class Policies(MpiTest):
    """What each setting makes of the programs that look at every byte."""

    def stress(self, *texts, ranks=4, mpi="mpich", messages=6000, **options):
        """Random messages between all ranks."""
        ran = self.mpi(ranks, bench("stress", mpi), "--messages", messages, mpi=mpi, **options)
        self.succeeds(ran, "all contents right", *texts)

    def bandwidth(self, **options):
        """Windows of messages of the sizes at which something changes."""
        few = ["--check", "--iterations", 3, "--warmup", 0, "--window", 16]
        ran = self.mpi(2, bench("bandwidth"), "--json", "--sizes", SIZES, *few, **options)
        self.assertEqual(len(self.succeeds(ran).json()), 10, str(ran))

    @each([
        {"ranks": 2}, {"messages": 20000}, {"on": ["--hosts", 4]}, {"on": ["--rails", "1000,250,50"]},
        {"FISHPLATE_EAGER_LIMIT": "0"}, {"FISHPLATE_EAGER_LIMIT": "1M"}, {"FISHPLATE_GRANT": "64K"}, {"run": ["--streams", "3"]},
        *({"run": ["--multiplexing", policy]} for policy in MULTIPLEXING),
        {"run": ["--multiplexing", "round-robin", "--striping", "even"]},
        {"run": ["--multiplexing", "weighted-round-robin:1,4", "--striping", "weighted:4,1"]},
    ])
    def test_random_messages(self, options):
        self.stress(**options)

    @each([
        *({"run": ["--striping", policy]} for policy in STRIPING), {"run": ["--streams", "3"]},
        {"FISHPLATE_EAGER_LIMIT": "1M"}, {"FISHPLATE_GRANT": "64K", "FISHPLATE_EAGER_LIMIT": "1M"},
    ])
    def test_windows(self, options):
        self.bandwidth(**options)

    def test_encrypted_rails(self):
        self.stress(run=["--encryption"])
        self.bandwidth(run=["--encryption", "--streams", "2"])

    def test_all_ranks_on_one_host(self):
        self.stress("4 processes on 1 host", on=["--hosts", 1], MPIR_CVAR_NOLOCAL="1")

    def test_open_mpi(self):
        self.stress("4 processes on 2 hosts", mpi="openmpi")


class Streams(MpiTest):
    """How many connections a rail gets by itself."""

    def streams(self, *on):
        """The most that either rank had over the rail at a time, in traffic that always waits for it."""
        options = ["--sizes", "1M", "--interval", 1, "--duration", 6]
        ran = self.succeeds(self.mpi(2, bench("bandwidth"), *options, on=["--rails", "200", *on]))
        return max(line["streams"] for line in ran.counters)

    def test_flows_that_are_limited_become_many_and_others_do_not(self):
        # Both at once: their rails are slow, and they wait for most of the time.
        with ThreadPoolExecutor(2) as pool:
            free, limited = pool.map(lambda on: self.streams(*on), [[], ["--flow-limit", "10"]])
        # Of a trial that fails there are four.
        self.assertLessEqual(free, 4)
        self.assertEqual(limited, 16)


class Shares(MpiTest):
    """Which rails carry long messages under each policy."""

    def shares(self, *run, rails="0,0"):
        """The share of each rail in one-way traffic of 1 MiB messages."""
        options = ["--sizes", "1M", "--iterations", 4, "--warmup", 0, "--window", 16]
        ran = self.mpi(2, bench("bandwidth"), *options, on=["--rails", rails], run=run)
        shares = self.succeeds(ran).shares()
        self.assertEqual(sorted(shares), ["r0", "r1"], str(ran))
        return shares

    def test_binding_uses_one_rail(self):
        shares = self.shares("--striping", "binding", "--multiplexing", "binding")
        self.assertGreater(max(shares.values()), 0.99, shares)

    # Virtual Ethernet has no speeds from which weights could come, so they count as equal.
    @each([("even", 0.5), ("weighted:4,1", 0.8), ("weighted", 0.5)])
    def test_weights_are_kept(self, policy, share):
        self.assertAlmostEqual(self.shares("--striping", policy)["r0"], share, delta=0.01)

    @each(["earliest", "adaptive"])
    def test_earliest_and_adaptive_follow_the_rates(self, policy):
        # 4 : 1, which nobody tells them. The first messages are cut without knowledge.
        shares = self.shares("--striping", policy, rails="400,100")
        self.assertGreater(shares["r0"], 0.6, shares)
        self.assertGreater(shares["r1"], 0.1, shares)

    def test_two_jobs_get_equal_parts(self):
        # At rates that leave the processors alone. Which job is first at a rail must not matter for long.
        job = f"mpiexec -n 2 {bench('bandwidth')} --json --sizes 1M --interval 1 --duration 6"
        # Each into a file of its own: in one pipe their lines run into each other.
        both = f"cd {self.temporary_folder()}; {job} >first & {job} >second; wait; cat first second"
        ran = self.succeeds(self.script(both, ["--mpi", "mpich"], testbed("--rails", "400,400", "--")))
        # Those of the other job that ends a little later are alone at the rails.
        rates = {}
        for line in ran.json():
            if line["kind"] == "interval" and 2.5 < line["parameters"]["time"] < 5.5:
                rates.setdefault(round(line["parameters"]["time"]), []).append(line["value"])
        self.assertEqual([len(both) for both in rates.values()], [2, 2, 2], str(ran))
        parts = [min(both) / sum(both) for both in rates.values()]
        self.assertGreater(sorted(parts)[1], 0.25, str(ran))

    def test_whole_messages_in_turn(self):
        run = ["--multiplexing", "round-robin", "--striping", "binding"]
        options = ["--sizes", "4K", "--iterations", 20, "--warmup", 0]
        shares = self.succeeds(self.mpi(2, bench("bandwidth"), *options, run=run)).shares()
        self.assertAlmostEqual(shares["r0"], 0.5, delta=0.05)

    def test_a_rail_that_is_not_named_carries_nothing(self):
        options = ["--sizes", "1M", "--iterations", 2, "--warmup", 0]
        ran = self.mpi(2, bench("bandwidth"), *options, run=["--rails", "r1"])
        self.assertEqual(list(self.succeeds(ran).shares()), ["r1"])
