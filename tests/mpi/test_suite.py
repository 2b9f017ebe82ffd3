"""The benchmark suite: every program runs checked and says what its schema promises; values agree with a known rate."""

import json

from support import AS_ROOT, FISHPLATE, MpiTest, bench, each, stack, testbed

# Lines of programs with two ranks and with four, by the benchmark they are of.
TWO_SIDED = {
    "latency": "--sizes 0,1,64K",
    **dict.fromkeys(["bandwidth", "bibandwidth"], "--sizes 1,64K --window 8"),
    "overlap": "--sizes 1,64K --compute 500",
    "latency_mt": "--sizes 1,64K --threads 3",
    "bandwidth_mt": "--sizes 1,64K --window 8 --threads 3",
}
# Several operations of 16 KiB or more at once are beyond MPICH without remote memory access: see
# docs/reference/benchmarks.md.
ONE_SIDED = {
    **dict.fromkeys(["put_latency", "get_latency"], "--sizes 0,1,64K"),
    "accumulate_latency": "--sizes 4,64K",
    **dict.fromkeys(["put_bandwidth", "get_bandwidth", "put_bibandwidth", "get_bibandwidth"], "--sizes 1,8K --window 8"),
}
ATOMIC = {"fetch_and_op": "--window 8 --compute 50", "compare_and_swap": "--window 8"}
COLLECTIVE = {**dict.fromkeys(["bcast", "allgather", "alltoall"], "--sizes 1,64K"),
              **dict.fromkeys(["allreduce", "reduce"], "--sizes 4,64K"), "barrier": ""}
MANY = {
    "message_rate": "--sizes 1,4K --window 8",
    "nhop": "--sizes 1,64K",
    "displaced_ring": "--sizes 1,64K --window 8",
    "exchange": "--sizes 1,64K --compute 100 --imbalance 100",
    **ATOMIC,
    **COLLECTIVE,
}
FEW_ITERATIONS = "--json --iterations 4 --warmup 1"
UNITS = {"latency": "us", "bandwidth": "MB/s", "message_rate": "1/s"}
FIELDS = set(
    "schema kind benchmark version mpi_library transport ranks options size parameters metric unit value iterations"
    " seconds checked window percentiles over_ranks repeat_values".split()
)
OPEN_MPI = "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include r0 --mca osc ^ucx --mca mpi_yield_when_idle 1"

# 100 Mbit/s. What a wire of that rate carries of payload is less, by headers.
RATE_MBIT = 100
WIRE_MB_S = RATE_MBIT / 8
# Processors that others use may cost this much before the wire is the smaller rate.
LOADED = 0.4


def sockets(*clients):
    """Clients on one host, one after the other, of a server on another, which ends with the testbed."""
    program = bench("sockets")
    server = f'"$FISHPLATE_TESTBED_LAUNCH" node1 {program} serve --mptcp >/dev/null &'
    return "\n".join([server, *(f"{program} {line}" for line in clients)])


def each_line(ranks, programs):
    """A line for each program with its options, on so many ranks."""
    return "\n".join(f"mpiexec -n {ranks} {bench(name)} {options}" for name, options in programs)


class Suite(MpiTest):
    """Programs in one testbed, one after the other."""

    def lines(self, script, run=("--mpi", "mpich"), rails="0", on=(), **settings):
        """The JSON lines of a script's programs; it ends with the first that fails. `on`: what runs a command on a
        host, if not a testbed with such rails."""
        lines = self.ends_well(self.script(script, run, on or testbed("--rails", rails, "--"), **settings)).json()
        for line in lines:
            self.keeps_the_schema(line)
        return lines

    def keeps_the_schema(self, line):
        """What a recorder counts on, whatever the program."""
        text = json.dumps(line)
        self.assertEqual(line["schema"], "fishplate-bench/2", text)
        self.assertEqual(FIELDS - set(line), set(), text)
        self.assertEqual(line["unit"], UNITS[line["metric"]], text)
        # In an interval of a busy machine nothing may arrive.
        if line["kind"] == "interval" and line["iterations"] == 0:
            self.assertEqual(line["value"], 0, text)
        elif line["size"] > 0 or line["metric"] != "bandwidth":
            self.assertGreater(line["value"], 0, text)
        if line["kind"] != "result":
            return
        self.assertEqual(set(line), FIELDS, text)
        self.assertGreaterEqual(line["iterations"], 1, text)
        spread = [line["percentiles"][name] for name in ("min", "p50", "p90", "p99", "p99.9", "max")]
        self.assertEqual(spread, sorted(spread), text)

    def value(self, lines, benchmark, size=None):
        """The only value of a benchmark, or of one of its sizes."""
        results = [line for line in lines if line["benchmark"] == benchmark and line["kind"] == "result"]
        [value] = [line["value"] for line in results if size in (None, line["size"])]
        return value

    def measured(self, programs, lines, ranks, checked=True):
        """Each program's lines are there, with the sizes asked for."""
        for name, options in programs.items():
            own = [line for line in lines if line["benchmark"] == name and line["kind"] == "result"]
            asked = len(options.split()[1].split(",")) if options else 1
            self.assertEqual(len({line["size"] for line in own}), asked, name)
            self.assertEqual({line["ranks"] for line in own}, {ranks}, name)
            self.assertEqual({line["checked"] for line in own}, {checked and name != "barrier"}, name)


class Checked(Suite):
    """Every program, with every byte checked."""

    def each_of(self, programs, mpiexec, mpi, more=("",)):
        """A line for each program, and for each of `more` options."""
        lines = []
        for name, options in programs.items():
            check = "" if name == "barrier" or name in ATOMIC else "--check"
            lines += [f"{mpiexec} {bench(name, mpi)} {options} {FEW_ITERATIONS} {check} {extra}" for extra in more]
        return "\n".join(lines)

    def run_all(self, mpi, two, four, run, **settings):
        """All programs on two hosts."""
        self.measured(TWO_SIDED, self.lines(self.each_of(TWO_SIDED, two, mpi), run, **settings), 2)
        ways = [f"--sync {sync}" for sync in ("fence", "pscw", "lock")]
        lines = self.lines(self.each_of(ONE_SIDED, two, mpi, ways), run, **settings)
        self.measured(ONE_SIDED, lines, 2)
        for name in ONE_SIDED:
            told = {line["options"]["sync"] for line in lines if line["benchmark"] == name}
            self.assertEqual(told, {"fence", "pscw", "lock"}, name)
        self.measured(MANY, self.lines(self.each_of(MANY, four, mpi), run, **settings), 4)
        windows = self.each_of({"bcast": "--sizes 1,64K --window 8 --bandwidth"}, four, mpi)
        lines = self.lines(windows, run, **settings)
        self.assertEqual([line["metric"] for line in lines], ["bandwidth"] * 2)

    def test_mpich_with_fishplate(self):
        self.run_all("mpich", "mpiexec -n 2", "mpiexec -n 4", ("--mpi", "mpich"))

    def test_open_mpi_over_its_own_tcp(self):
        mpiexec = f"{stack('openmpi')}/mpiexec --bind-to none --map-by node:oversubscribe {OPEN_MPI}"
        self.run_all("openmpi", f"{mpiexec} -n 2", f"{mpiexec} -n 4", (), **AS_ROOT)

    def test_all_ranks_of_a_collective_with_two(self):
        self.measured(MANY, self.lines(self.each_of(MANY, "mpiexec -n 2", "mpich")), 2)

    def test_ranks_of_a_collective_that_start_together(self):
        for ranks in (2, 4):
            lines = self.lines(self.each_of(COLLECTIVE, f"mpiexec -n {ranks}", "mpich", ["--start together"]))
            self.measured(COLLECTIVE, lines, ranks)
            self.assertEqual({(line["options"]["start"], line["iterations"]) for line in lines}, {("together", 4)})

    def test_every_peer_and_every_distance(self):
        lines = self.lines(each_line(4, [("nhop", FEW_ITERATIONS), ("displaced_ring", FEW_ITERATIONS)]))
        results = [line for line in lines if line["kind"] == "result"]
        told = [(line["benchmark"], line["parameters"]) for line in results]
        self.assertEqual(told[:3], [("nhop", {"peer": peer}) for peer in (1, 2, 3)])
        self.assertEqual(told[3:], [("displaced_ring", {"distance": distance}) for distance in (1, 2)])
        tiers = [line for line in lines if line["kind"] == "tier"]
        self.assertEqual(sorted(peer for tier in tiers for peer in tier["peers"]), [1, 2, 3])
        self.assertEqual([tier["parameters"]["tier"] for tier in tiers], list(range(1, len(tiers) + 1)))

    def test_every_grid_and_every_number_of_messages(self):
        grids = [(8, f"--dimensions {dimensions}") for dimensions in (1, 2, 3)]
        pairs = [(ranks, f"--neighbours {count}") for ranks in (2, 4) for count in (1, 5, 6)]
        ways = ["--send blocking", "--send nonblocking"]
        chosen = [(ranks, f"{asked} {way}") for ranks, asked in [*grids, *pairs] for way in ways]
        common = f"--sizes 8,64K --check {FEW_ITERATIONS}"
        lines = self.lines("\n".join(each_line(ranks, [("exchange", f"{common} {options}")]) for ranks, options in chosen))
        told = [line["parameters"]["messages"] for line in lines if line["size"] == 8]
        self.assertEqual(told, [count for count in (2, 4, 6, *(1, 5, 6) * 2) for _ in ways])

    def test_startup_tells_what_a_rank_takes(self):
        result, told = self.lines(f"mpiexec -n 6 {bench('startup')} --json")
        self.assertEqual([result["kind"], told["kind"]], ["result", "startup"])
        self.assertEqual([result["ranks"], result["size"], result["checked"]], [6, 64, True])
        self.assertLess(told["init_us"]["mean"], result["value"])
        for field in ("init_us", "memory_bytes", "files"):
            spread = told[field]
            self.assertTrue(0 < spread["min"] <= spread["mean"] <= spread["max"], told)
        # A rank has links to several of the other host, not to one. How many at the end of the program depends on how
        # many of them an alltoall needs, and on connections that the peer has set up meanwhile.
        _, alone = self.lines(f"mpiexec -n 2 {bench('startup')} --json")
        self.assertGreater(told["files"]["mean"], alone["files"]["mean"])

    def test_crosswise_pairs_send_from_both_hosts(self):
        options = ["--check", "--sizes", "64K", "--window", 8, "--iterations", 4, "--warmup", 0]
        for more, senders in [([], 1), (["--crosswise"], 2)]:
            ran = self.succeeds(self.mpi(4, bench("message_rate"), *options, *more))
            sent = ran.sums("tx_bytes", by="host")
            half = max(sent.values()) / 2
            self.assertEqual(sum(bytes > half for bytes in sent.values()), senders, sent)

    def test_every_way_and_side_of_overlap(self):
        chosen = [(ways, side) for ways in ("both", "one") for side in ("both", "sender", "receiver")]
        common = f"--sizes 64K --check {FEW_ITERATIONS} --compute-by sleep"
        lines = self.lines(each_line(2, [("overlap", f"{common} --ways {ways} --side {side}") for ways, side in chosen]))
        self.assertEqual([line["kind"] for line in lines], ["result", "overlap"] * len(chosen))
        for (_, side), line in zip(chosen, lines[1::2]):
            self.assertAlmostEqual(line["compute_us"], 1.25 * line["value"], delta=0.01 * line["value"])
            computing = [rank["computes"] for rank in line["per_rank"]]
            self.assertEqual(computing, [side in ("both", "sender"), side in ("both", "receiver")])
            for rank in line["per_rank"]:
                share = 1 - rank["wait_us"] / line["value"]
                self.assertEqual(rank["hidden_share"] is not None, rank["computes"], line)
                self.assertAlmostEqual(rank["hidden_share"] or share, share, places=5)

    def test_lines_of_other_kinds(self):
        lines = self.lines(each_line(2, [("bandwidth", "--json --interval 0.1 --duration 0.3 --sizes 4K"),
                                         ("stress", "--json --messages 500")]))
        kinds = [line["kind"] for line in lines]
        self.assertEqual(kinds[-2:], ["interval_total", "stress"])
        self.assertEqual(set(kinds[:-2]), {"interval"})
        self.assertIn("time", lines[0]["parameters"])
        self.assertEqual(lines[-1]["iterations"], 500)

    def test_sockets(self):
        streams = "bandwidth 10.77.0.2 --sizes 1,64K --window 8 --streams 3 --check --socket-buffer 64K"
        clients = ["latency 10.77.0.2 --sizes 1,64K --check", f"{streams} --mss 700", f"{streams} --mptcp"]
        lines = self.lines(sockets(*(f"{client} {FEW_ITERATIONS}" for client in clients)), ())
        asked = [("sockets_latency", "TCP,"), ("sockets_bandwidth", "TCP,"), ("sockets_bandwidth", "MPTCP,")]
        told = [(line["benchmark"], line["transport"].split(" ")[0]) for line in lines]
        self.assertEqual(told, [each for each in asked for _ in range(2)])
        self.assertTrue(all(line["checked"] for line in lines))
        # Time stamps take 12 bytes of each segment.
        self.assertIn("segments of 688 bytes", lines[2]["transport"])


class KnownRate(Suite):
    """Values over a link of 100 Mbit/s, against what one calculates by hand."""

    def test_windows_and_operations_of_1_mib(self):
        few = "--json --iterations 2 --warmup 1 --sizes 1M"
        # One operation at once: see ONE_SIDED.
        one_sided = ["put_bandwidth", "get_bandwidth"]
        windows = ["bandwidth", "bibandwidth", "bandwidth_mt", "displaced_ring"]
        programs = [*((name, f"{few} --window 1") for name in one_sided), *((name, f"{few} --window 3") for name in windows),
                    ("bcast", f"{few} --window 3 --bandwidth")]
        lines = self.lines(each_line(2, programs), rails=str(RATE_MBIT))
        for name in [*one_sided, *windows, "bcast"]:
            ways = 2 if name == "bibandwidth" else 1
            with self.subTest(name):
                value = self.value(lines, name)
                self.assertLess(value, WIRE_MB_S * ways)
                self.assertGreater(value, WIRE_MB_S * ways * LOADED)

    def test_latencies_of_1_mib(self):
        few = "--json --iterations 2 --warmup 1 --sizes 1M"
        # How often the wire carries the size, one after the other.
        times = {"latency": 1, "nhop": 1, "put_latency": 1, "get_latency": 1, "alltoall": 1, "allgather": 1, "exchange": 2}
        lines = self.lines(each_line(2, [(name, few) for name in times]), rails=str(RATE_MBIT))
        for name, count in times.items():
            with self.subTest(name):
                wire_us = count * (1 << 20) / WIRE_MB_S
                value = self.value(lines, name)
                self.assertGreater(value, wire_us)
                self.assertLess(value, wire_us / LOADED)

    def test_sockets(self):
        script = sockets("bandwidth 10.77.0.2 --json --iterations 2 --warmup 1 --sizes 1M --window 3 --streams 2")
        [line] = self.lines(script, (), str(RATE_MBIT))
        self.assertLess(line["value"], WIRE_MB_S)
        self.assertGreater(line["value"], WIRE_MB_S * LOADED)


class KnownDelay(Suite):
    """Values over a link of 100 Mbit/s and 5 ms each way, against what one calculates by hand."""

    DELAY_US = 5_000
    # Ways that a message may take: MPI asks before it sends much, and TCP begins slowly.
    MOST_WAYS = 6

    def in_lab(self, script, run=("--mpi", "mpich")):
        """The lines of a script's programs in a lab, which goes afterwards."""
        home = {"XDG_RUNTIME_DIR": str(self.temporary_folder())}
        self.ends_well(self.fishplate("lab", "up", "--unverified", "--rails", RATE_MBIT, "--delay", f"{self.DELAY_US}us", **home))
        try:
            return self.lines(script, run, on=[FISHPLATE, "lab", "exec", "--"], **home)
        finally:
            # Also ends what the script left running.
            self.fishplate("lab", "down", **home)

    def check_latency(self, value, size):
        """A message takes the delay and its time on the wire, or longer."""
        wire_us = size / WIRE_MB_S
        self.assertGreater(value, self.DELAY_US + wire_us)
        self.assertLess(value, (self.MOST_WAYS * self.DELAY_US + wire_us) / LOADED)

    def check_window(self, value, window):
        """A window takes its time on the wire and until its answer is there, or longer."""
        wire_us = window / WIRE_MB_S
        self.assertLess(value, window / (2 * self.DELAY_US + wire_us))
        self.assertGreater(value, window / (self.MOST_WAYS * self.DELAY_US + wire_us) * LOADED)

    def test_latency_and_windows(self):
        few = "--json --iterations 10 --warmup 2"
        lines = self.in_lab(each_line(2, [("latency", f"--sizes 1,64K,1M {few}"), ("bandwidth", f"--sizes 64K --window 4 {few}")]))
        for size in (1, 1 << 16, 1 << 20):
            with self.subTest(size):
                self.check_latency(self.value(lines, "latency", size), size)
        self.check_window(self.value(lines, "bandwidth"), 4 << 16)

    def test_collectives_that_start_together(self):
        few = "--json --iterations 10 --warmup 2 --start together"
        [bcast, barrier] = self.in_lab(each_line(2, [("bcast", f"--sizes 8 {few}"), ("barrier", few)]))
        # Both wait for a message in a barrier, only rank 1 in a broadcast. How far clocks are apart is not known exactly,
        # which the mean of both does not feel.
        self.check_latency(barrier["value"], 0)
        self.assertGreater(bcast["over_ranks"]["max"], 0.95 * self.DELAY_US)
        self.assertLess(bcast["over_ranks"]["min"], 0.95 * self.DELAY_US)

    def test_sockets(self):
        clients = ["latency 10.77.0.2 --sizes 1,64K", "bandwidth 10.77.0.2 --sizes 64K --window 4"]
        lines = self.in_lab(sockets(*(f"{client} --json --iterations 10 --warmup 2" for client in clients)), ())
        for size in (1, 1 << 16):
            with self.subTest(size):
                self.check_latency(self.value(lines, "sockets_latency", size), size)
        self.check_window(self.value(lines, "sockets_bandwidth"), 4 << 16)


class Wrong(Suite):
    """What a user can do wrong, and what the known limit of MPICH says."""

    @each([*TWO_SIDED, *ONE_SIDED, *MANY])
    def test_each_program_explains_itself(self, name):
        helped = self.succeeds(self.run_command([bench(name), "--help"]), f"{name}: ", "--iterations N")
        self.assertEqual("--sync" in helped.out, name in ONE_SIDED)
        self.assertEqual("--start" in helped.out, name in COLLECTIVE)
        self.assertEqual("--sizes" in helped.out, name != "barrier" and name not in ATOMIC)

    def test_number_of_ranks(self):
        for name in [*TWO_SIDED, *ONE_SIDED]:
            self.refuses(2, f"{bench(name)}", f"{name}: started with 1 rank; allowed: exactly 2 ranks")
        for name in [*MANY, "startup"]:
            self.refuses(2, f"{bench(name)}", f"{name}: started with 1 rank; allowed: .*at least 2")
        self.refuses(2, f"{bench('exchange')} --neighbours 1", "exchange: started with 3 ranks; allowed: an even number of ranks "
                     "with --neighbours", ranks=3)

    def test_values(self):
        self.refuses(2, f"{bench('nhop')} --window 4", "nhop: unknown option '--window'; allowed: --sizes, --shuffle, --iterations")
        self.refuses(2, f"{bench('put_latency')} --sync post", "--sync: 'post'; allowed: fence.pscw.lock")
        self.refuses(2, f"{bench('latency_mt')} --threads 0", "--threads: '0'; allowed: a whole number from 1 to 256")
        self.refuses(2, f"{bench('allreduce')} --sizes 4,6", "--sizes: 6; allowed: multiples of 4 bytes")
        self.refuses(2, f"{bench('accumulate_latency')} --sizes 1", "--sizes: 1; allowed: multiples of 4 bytes")
        self.refuses(2, f"{bench('bcast')} --window 4", "--window: allowed only together with --bandwidth")
        self.refuses(2, f"{bench('bcast')} --start now", "--start: 'now'; allowed: barrier.together")
        self.refuses(2, f"{bench('bcast')} --start together --bandwidth", "--bandwidth and --start exclude each other")
        self.refuses(2, f"{bench('exchange')} --dimensions 4", "--dimensions: '4'; allowed: a whole number from 1 to 3")
        self.refuses(2, f"{bench('exchange')} --dimensions 2 --neighbours 1", "--dimensions and --neighbours exclude each other")
        self.refuses(2, f"{bench('overlap')} --side left", "--side: 'left'; allowed: both.sender.receiver")
        self.refuses(2, f"{bench('overlap')} --compute 1ms", "--compute: '1ms'; allowed: a whole number from 0 to 60000000")
        self.refuses(2, f"{bench('overlap')} --imbalance 5", "overlap: unknown option '--imbalance'; allowed: --sizes")
        self.refuses(2, f"{bench('latency')} --start together", "latency: unknown option '--start'; allowed: --sizes")

    def test_sockets(self):
        program = bench("sockets")
        self.refuses(2, f"{program}", "sockets: ''; allowed: serve, latency HOST, bandwidth HOST")
        self.refuses(2, f"{program} listen", "sockets: 'listen'; allowed: serve")
        self.refuses(2, f"{program} latency --sizes 1", "the server's host is missing; allowed: sockets latency HOST")
        self.refuses(2, f"{program} latency 127.0.0.1 --sizes 0", "--sizes: 0; allowed: from 1 up")
        self.refuses(2, f"{program} latency 127.0.0.1 --streams 2", "unknown option '--streams'")
        self.refuses(2, f"{program} latency 127.0.0.1 --port 0", "--port: '0'; allowed for a client: from 1 to 65535")
        self.refuses(2, f"{program} serve --window 2", "sockets_serve: unknown option '--window'")
        self.refuses(2, f"{program} serve --address here", "'here': ")
        self.refuses(5, f"{program} serve --address 192.0.2.1", "cannot listen on 192.0.2.1 port 17077: Cannot assign requested address")
        self.refuses(5, f"{program} latency 127.0.0.1 --port 1", "cannot connect to 127.0.0.1 port 1: Connection refused; is `sockets serve` there")

    def test_the_limit_of_mpich_without_remote_memory_access_is_explained(self):
        ran = self.mpi(2, bench("put_bandwidth"), "--sizes", "64K", "--window", 8, "--iterations", 4)
        # A provider with remote memory access has no such limit.
        if ran.code != 0:
            self.says(ran, "segmentation fault in MPI: MPICH .* without remote memory access .*--window 1")
