"""The rows of claims.py: what is run, on which rails, against whom, and the bound that has to hold."""

SIZES_SMALL = [1, 64, 1024, 4096]
SIZES_LARGE = [65536, 262144, 1048576, 4194304]
SIZES_DISTANT = [1024, 4096, 16384, 65536, 262144, 1048576, 4194304]
# Of each 1538 bytes on the wire TCP can use 1448.
PAYLOAD_SHARE = 1448 / 1538
WINDOW = 64
# A rail that is down for a half of the time.
FLAPS = "ip link set r1 down; sleep 0.5; ip link set r1 up; sleep 0.5"
SIZES_ALL = [1, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304]


class Row:
    """One claim: what to run, on which rails, and a bound for the ratio of Fishplate to its peers."""

    def __init__(self, name, rails, program, sizes, peers, bound, at_most=False, best_of=False, **more):
        self.name, self.rails, self.program, self.sizes = name, rails, program, sizes
        self.peers, self.bound, self.at_most, self.best_of = peers, bound, at_most, best_of
        # How many ranks each host has.
        self.hosts = more.get("hosts", [1, 1])
        self.told = more.get("told", [])
        self.variables = more.get("variables", {})
        # Of the program; with --iterations among them, not as many as fit in a time.
        self.options = more.get("options", [])
        # Whether Fishplate's collective operations over clusters take part; its peer "native" is the MPI's own.
        self.collective = more.get("collective", False)
        # What runs over Fishplate.
        self.library = more.get("library", "mpich")
        # Time for each size. Over a distance, TCP takes a second to find the rate of a path that idles in between; and every
        # ten seconds BBR lets the path run empty for 0.2 s, which is to count as much as it does in the long run.
        self.seconds = more.get("seconds", 0.3)
        # Options of `fishplate lab up`; empty: a testbed with these rails.
        self.lab = more.get("lab", [])
        # What the rails of a testbed let pass at once: docs/guide/testbed.md, "Bursts".
        self.burst = more.get("burst", "default")

        # A shell line that is repeated on the first host meanwhile.
        self.meanwhile = more.get("meanwhile", "")
        # Each size is measured after several histories (claim_histories.py), and held against the best of them.
        self.histories = more.get("histories", False)

    def bound_for(self, size):
        return self.bound(size) if callable(self.bound) else self.bound

    def lower_is_better(self):
        """Whether its values are times."""
        return self.program in ("latency", "exchange", "overlap", "alltoall")

    def best(self, size, rate_mb, round_trip_us):
        """What physics leaves: MB/s of a window and its acknowledgement, or us of half a ping-pong, or of an exchange
        of as many messages as --neighbours says."""
        if self.program == "exchange":
            return round_trip_us / 2 + int(self.options[self.options.index("--neighbours") + 1]) * size / rate_mb
        if self.program == "latency":
            return round_trip_us / 2 + size / rate_mb
        return WINDOW * size / (round_trip_us + WINDOW * size / rate_mb)


def rows():
    large, singles = SIZES_LARGE, lambda count: [f"fishplate:r{at}" for at in range(count)]
    return [
        Row("sum-1000-250", "1000,250", "bandwidth", [1048576, 4194304], ["sum"], 0.95),
        Row("sum-1000-1000", "1000,1000", "bandwidth", large, ["sum"], 0.98, told=["openmpi"]),
        Row("sum-600-300-100", "600,300,100", "bandwidth", [1048576, 4194304], ["sum"], 0.93),
        Row("single-1000-250", "1000,250", "bandwidth", SIZES_ALL, singles(2), 0.98, best_of=True),
        Row("single-600-300-100", "600,300,100", "bandwidth", SIZES_ALL, singles(3), 0.98, best_of=True),
        Row("single-1000-10", "1000,10", "bandwidth", SIZES_ALL, singles(1), 0.98, seconds=1),
        Row("single-unshaped", "0,0", "bandwidth", SIZES_ALL, singles(2), 0.98, best_of=True),
        Row("single-latency", "1000,250", "latency", SIZES_ALL, singles(2), 1 / 0.98, at_most=True, best_of=True),
        Row("single-latency-1000-10", "1000,10", "latency", SIZES_ALL, singles(1), 1 / 0.98, at_most=True, seconds=1),
        Row("latency", "0", "latency", SIZES_SMALL, ["tcp"], 0.95, at_most=True, told=["openmpi", "ucx"]),
        Row("bandwidth-large", "0", "bandwidth", large, ["tcp", "ucx", "openmpi"], 1.0, best_of=True),
        Row("bandwidth-small", "0", "bandwidth", [64, 8192], ["tcp"], 1.5, told=["openmpi", "ucx"]),
        Row("message-rate", "0,0", "message_rate", [8], ["tcp"], 2.0, told=["openmpi"], hosts=[4, 4]),
        Row("even-collapse", "1000,250", "bandwidth", [4194304], ["sum"], 0.45, at_most=True,
            variables={"FISHPLATE_STRIPING": "even"}),
        Row("adaptive", "1000,250", "bandwidth", [4194304], ["weighted"], 0.90,
            variables={"FISHPLATE_STRIPING": "adaptive"}, options=["--window", "10", "--warmup", "5", "--iterations", "5"]),
        *(Row(f"one-sided-{what}-{sync}", "0", f"{what}_latency", SIZES_SMALL, [], 0, told=["tcp", "openmpi", "ucx"],
              options=["--sync", sync]) for what in ("put", "get") for sync in ("lock", "pscw")),
        Row("encryption-latency", "0", "latency", [8, 4096], [], 0, told=["encrypted"]),
        Row("encryption-bandwidth", "0", "bandwidth", [64, 8192, 65536, 4194304], [], 0, told=["encrypted"]),
        # Without checksums against with them: rates of a rail without a limit are those of the processor.
        Row("checksum-latency", "0", "latency", [8, 1024, 4096], ["checked"], 1 / 1.02),
        Row("checksum-bandwidth", "0", "bandwidth", [64, 8192, 65536, 4194304], ["checked"], 1.05, at_most=True),
        Row("encryption-rails", "1000,250", "bandwidth", [4194304], [], 0, told=["encrypted"]),
        *pattern_rows(),
        *history_rows(),
        *ablation_rows(),
        *distant_rows(),
        *collective_rows(),
    ]


def pattern_rows():
    """What programs do all day: exchanges both ways at once, right after each other and after a computation of 1 ms, with
    one message each way and with six, and what is left of a transfer after a computation long enough for it. Never slower
    than the best of the other stacks, nor than Fishplate on its best rail. On rails that let a packet pass at once, and,
    without -packet in the name, on those of the other rows."""
    stock, halos = ["tcp", "ucx", "openmpi"], [8, 1024, 8192, 32768, 131072, 524288, 2097152, 4194304]
    six = ["--neighbours", "6", "--send", "nonblocking", "--compute", "1000", "--imbalance", "200"]
    def row(name, rails, burst, program, sizes, peers, bound, options, **more):
        name = "-".join([name, *rails.split(","), *(["packet"] if burst == "packet" else [])])
        return Row(name, rails, program, sizes, peers, bound, at_most=True, burst=burst, options=options, **more)

    def exchanges(rails, burst):
        best = ["fishplate:r0"] if "," in rails else []
        # Once messages are long, what the rates leave is nearly all of their time.
        large = [262144, 1048576, 4194304]
        pair = lambda compute: ["--neighbours", "1", "--compute", str(compute)]
        yield row("exchange", rails, burst, "exchange", halos, stock + best, 1.02, pair(0), best_of=True)
        yield row("exchange-1ms", rails, burst, "exchange", halos, stock + best, 1.02, pair(1000), best_of=True)
        yield row("exchange-six", rails, burst, "exchange", halos[:-2], stock + best, 1.02, six, best_of=True)
        yield row("exchange-rates", rails, burst, "exchange", large, ["bound"], 1.10, pair(0))

    def overlaps(rails, burst, more=()):
        # Longer than 4 MiB take over 1000 Mbit/s, and the same for all stacks.
        for name, options in [("overlap", []), *more]:
            yield row(name, rails, burst, "overlap", [32768, 262144, 1048576, 4194304], stock, 1.02,
                      ["--compute", "40000", *options], best_of=True, seconds=1)

    # A computation elsewhere leaves a processor to what goes on meanwhile.
    sides = [("overlap-elsewhere", ["--compute-by", "sleep"]),
             *((f"overlap-{side}", ["--ways", "one", "--side", side]) for side in ("sender", "receiver"))]
    shapes = ("1000", "1000,250", "1000,1000", "800,300,100")
    return [*(each for burst in ("default", "packet") for rails in shapes for each in exchanges(rails, burst)),
            *(each for rails in shapes for each in overlaps(rails, "packet", sides if rails == "1000,250" else ())),
            *overlaps("1000,250", "default")]


def history_rows():
    """Whether it matters what was sent before: patterns over rails that let a packet pass at once, and over ones without a
    limit."""
    def row(program, rails, sizes, options=(), hosts=(1, 1)):
        burst = "default" if rails == "0,0" else "packet"
        return Row("-".join(["history", program, *rails.split(",")]), rails, program, sizes, [], 0, burst=burst,
                   options=list(options), hosts=list(hosts), histories=True, seconds=0.12)

    pair = ["--neighbours", "1"]
    return [
        *(row("exchange", rails, [16384, 65536, 131072, 524288], pair) for rails in ("1000,1000", "1000,250")),
        row("exchange", "800,300,100", [32768, 262144], pair),
        row("exchange", "0,0", [65536, 1048576], pair),
        row("latency", "1000,1000", [32768, 262144]),
        row("latency", "1000,250", [65536, 131072]),
        row("bandwidth", "1000,250", [16384, 262144], ["--window", "16"]),
        row("alltoall", "1000,1000", [65536], hosts=(2, 2)),
    ]


def ablation_rows():
    """What each mechanism is worth: with it, and without it (FISHPLATE_ABLATE), on the rails that it is for. Told only: a time
    below 1, or a rate above, speaks for it."""
    far, lossy = ["--delay", "10ms"], ["--delay", "5ms", "--loss", "0.001"]
    def row(mechanism, program, sizes, rails, lab=(), options=(), burst="packet", **more):
        name = f"ablation-{mechanism}-{program}"
        lab = ["--rails", rails, *lab] if lab else []
        return Row(name, rails, program, sizes, [], 0, told=[f"without:{mechanism}"], lab=lab, burst=burst,
                   options=list(options), **{"seconds": 3 if lab else 0.3, **more})

    pair, six = ["--neighbours", "1"], ["--neighbours", "6", "--send", "nonblocking"]
    waits = ["--neighbours", "1", "--compute", "1000"]
    return [
        row("datagrams", "latency", [8, 1024], "0", burst="default"),
        row("datagrams", "exchange", [8, 1024], "1000,1000", options=pair),
        row("batching", "message_rate", [8, 1024], "0,0", burst="default", hosts=[2, 2]),
        row("batching", "bandwidth", [64, 1024, 8192], "1000,250"),
        row("buffered-sends", "exchange", [32768, 262144], "1000,250", options=waits),
        row("buffered-sends", "latency", [65536], "1000", lab=far),
        row("early-data", "exchange", [131072, 1048576], "1000,1000", options=pair),
        row("early-data", "latency", [131072, 1048576], "1000", lab=far),
        row("kernel-acknowledgements", "exchange", [65536, 524288], "1000,250", options=pair),
        row("kernel-acknowledgements", "bandwidth", [65536, 1048576], "1000,250"),
        row("congestion-switching", "latency", [8, 65536, 1048576], "1000", lab=far),
        row("congestion-switching", "exchange", [1024, 65536], "1000,1000", options=pair),
        row("startup-pacing", "latency", [1048576, 4194304], "1000", lab=far),
        # Each time the rail is missed for a fifth of a second. The first pauses are short.
        row("flap-damping", "exchange", [32768], "1000,1000", options=pair, seconds=20, meanwhile=FLAPS),
        row("flap-damping", "bandwidth", [1048576], "1000,1000", seconds=20, meanwhile=FLAPS),
        # BBR needs no other stream.
        row("parallel-streams", "bandwidth", [1048576], "1000", lab=lossy, seconds=8,
            variables={"FISHPLATE_CONGESTION": "cubic"}),
        # Messages of a few segments: most that are lost are among the last.
        row("tail-loss-probe", "latency", [8, 4096], "1000", lab=["--delay", "1ms", "--loss", "0.01"], seconds=4),
        row("tail-loss-probe", "exchange", [32768], "1000,1000", lab=["--delay", "0.1ms", "--loss", "0.001"], options=six,
            seconds=5),
    ]


def collective_rows():
    """Clusters 1 ms apart: two of one host with four ranks each, two of four hosts with one rank each, and three of one host
    with 4, 2 and 1. Against MPICH's own algorithms over Fishplate, all ranks starting together; 128 KiB of a broadcast to
    two at least 1.9 times as fast. The first two again under Open MPI, against its own."""
    sizes = {"bcast": [8, 1024, 16384, 65536, 131072, 1048576], "allreduce": [8, 1024, 16384, 131072, 1048576],
             "reduce": [8, 1024, 16384, 131072], "allgather": [8, 1024, 16384, 131072],
             "alltoall": [8, 1024, 16384, 131072], "barrier": [0]}
    def row(name, program, clusters, bound, told, library="mpich"):
        lab = ["--clusters", str(len(clusters)), "--hosts", str(len(clusters[0])), "--rails", "0", "--wan", "1000",
               "--delay", "1ms"]
        return Row(f"{name}-{program}", "1000", program, sizes[program], ["native"], bound, at_most=True,
                   hosts=sum(clusters, []), lab=lab, collective=True, told=told, seconds=1, options=["--start", "together"],
                   library=library)

    broadcast = lambda size: 1 / 1.9 if size == 131072 else 1 / 0.95
    bound = {"bcast": broadcast}
    two = {"clusters": [[4], [4]], "clusters-of-hosts": [[1] * 4, [1] * 4]}
    return [*(row(name, program, clusters, bound.get(program, 1 / 0.95), ["openmpi"])
              for name, clusters in two.items() for program in sizes),
            *(row("clusters-4-2-1", program, [[4], [2], [1]], 1 / 0.95, []) for program in sizes),
            *(row(f"openmpi-{name}", program, clusters, 1 / 0.95, ["openmpi"], "openmpi")
              for name, clusters in two.items() for program in sizes)]


def distant_rows():
    """Rails with a delay one way, or that lose packets."""
    def row(name, rails, delay, *arguments, loss="0", **more):
        lab = ["--rails", rails, "--delay", delay, "--loss", loss]
        return Row(name, rails, *arguments, lab=lab, seconds=10, **more)

    bandwidth_bound = lambda size: 0.95 if size >= 65536 else 0.90
    near_far = ("250,1000", "1ms,20ms")
    # Packets get lost on the second one.
    lossy = ("500,500", "50us")
    singles = ["fishplate:r0", "fishplate:r1"]
    return [
        *(row(f"distant-bandwidth-{rails.count(',') + 1}x1000-{delay}", rails, delay, "bandwidth", SIZES_DISTANT[1:],
              ["bound"], bandwidth_bound) for rails in ("1000", "1000,1000") for delay in ("100us", "1ms", "10ms")),
        *(row(f"distant-latency-{delay}", "1000", delay, "latency", [1, 64, *SIZES_DISTANT], ["bound"], 1.05,
              at_most=True) for delay in ("1ms", "10ms")),
        *(row(f"distant-peers-{delay}", "1000,1000", delay, "bandwidth", SIZES_DISTANT, ["ucx", "openmpi"], 1.0)
          for delay in ("1ms", "10ms")),
        *(row(f"distant-tcp-{delay}", "1000", delay, "bandwidth", SIZES_DISTANT, ["tcp"], 0.98)
          for delay in ("1ms", "10ms")),
        *(row(f"distant-latency-peers-{delay}", "1000", delay, "latency", SIZES_DISTANT, ["ucx", "openmpi"], 1.0,
              at_most=True) for delay in ("1ms", "10ms")),
        *(row(f"distant-latency-tcp-{delay}", "1000", delay, "latency", SIZES_DISTANT, ["tcp"], 1 / 0.98, at_most=True)
          for delay in ("1ms", "10ms")),
        row("distant-loss", "1000", "10ms", "bandwidth", [4194304], ["bound"], 0.80, loss="0.001", told=["tcp", "openmpi"]),
        row("lossy-latency", *lossy, "latency", [8, 1024, 4096, 65536, 1048576], ["fishplate:r0"], 1.05, at_most=True,
            loss="0,0.01"),
        row("lossy-bandwidth", *lossy, "bandwidth", [8, 1024, 4096, 65536, 1048576], ["fishplate:r0"], 0.98, loss="0,0.01"),
        row("near-far-latency", *near_far, "latency", [1, 64, 1024], ["fishplate:r0"], 1.05, at_most=True),
        row("near-far-bandwidth", *near_far, "bandwidth", [4194304], singles, 0.95, best_of=True),
        row("near-far-large", *near_far, "latency", [4194304, 16777216], singles, 1 / 0.95, at_most=True, best_of=True),
    ]
