"""The rows of claims.py: what is run, on which rails, against whom, and the bound that has to hold. All others are plans
of `fishplate bench`."""

# A rail that is down for a half of the time.
FLAPS = "ip link set r1 down; sleep 0.5; ip link set r1 up; sleep 0.5"


class Row:
    """One claim: what to run, on which rails, and a bound for the ratio of Fishplate to its peers."""

    def __init__(self, name, rails, program, sizes, **more):
        self.name, self.rails, self.program, self.sizes = name, rails, program, sizes
        # The ratio to each peer is at most so much.
        self.peers, self.at_most = more.get("peers", []), more.get("at_most")
        self.told = more.get("told", [])
        # How many ranks each host has.
        self.hosts = more.get("hosts", [1, 1])
        # Of the program.
        self.options = more.get("options", [])
        # Whether Fishplate's collective operations over clusters take part; its peer "native" is the MPI's own.
        self.collective = more.get("collective", False)
        # Time for each size.
        self.seconds = more["seconds"]
        # Options of `fishplate lab up`; empty: a testbed with these rails.
        self.lab = more.get("lab", [])
        # What the rails of a testbed let pass at once: docs/guide/testbed.md, "Bursts".
        self.burst = more.get("burst", "default")
        # A shell line that is repeated on the first host meanwhile.
        self.meanwhile = more.get("meanwhile", "")
        # Each size is measured after several histories (claim_histories.py), and held against the best of them.
        self.histories = more.get("histories", False)

    def lower_is_better(self):
        """Whether its values are times."""
        return self.program != "bandwidth"


def rows():
    return [*history_rows(), *flap_rows(), *uneven_rows()]


def history_rows():
    """Whether it matters what was sent before: patterns over rails that let a packet pass at once, and over ones without a
    limit."""
    def row(program, rails, sizes, options=(), hosts=(1, 1)):
        burst = "default" if rails == "0,0" else "packet"
        return Row("-".join(["history", program, *rails.split(",")]), rails, program, sizes, burst=burst,
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


def flap_rows():
    """What flap damping is worth: with it, and without it (FISHPLATE_ABLATE). Told only: a time below 1, or a rate above,
    speaks for it. Each time the rail is missed for a fifth of a second. The first pauses are short."""
    def row(program, sizes, options=()):
        return Row(f"ablation-flap-damping-{program}", "1000,1000", program, sizes, told=["without:flap-damping"],
                   burst="packet", options=list(options), seconds=20, meanwhile=FLAPS)

    return [row("exchange", [32768], ["--neighbours", "1"]), row("bandwidth", [1048576])]


def uneven_rows():
    """Clusters 1 ms apart: three of one host with 4, 2 and 1 ranks, which plans cannot place. Against MPICH's own algorithms
    over Fishplate, all ranks starting together."""
    sizes = {"bcast": [8, 1024, 16384, 65536, 131072, 1048576], "allreduce": [8, 1024, 16384, 131072, 1048576],
             "reduce": [8, 1024, 16384, 131072], "allgather": [8, 1024, 16384, 131072],
             "alltoall": [8, 1024, 16384, 131072], "barrier": [0]}
    lab = ["--clusters", "3", "--hosts", "1", "--rails", "0", "--wan", "1000", "--delay", "1ms"]
    return [Row(f"clusters-4-2-1-{program}", "1000", program, sizes[program], peers=["native"], at_most=1 / 0.95,
                hosts=[4, 2, 1], lab=lab, collective=True, seconds=1, options=["--start", "together"])
            for program in sizes]
