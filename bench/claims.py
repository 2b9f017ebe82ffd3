#!/usr/bin/env python3
"""Measures what Fishplate claims, row by row, against its peers in turn (A B A B ...), and says what holds.

    bench/claims.py            all rows
    bench/claims.py latency    the row of that name, else rows whose name contains the word
    bench/claims.py --list     the names
    bench/claims.py --sizes 1,64 single    only these of a row's sizes
    bench/claims.py --against FOLDER latency    another build of the provider takes its turn as well

Needs `make bench`. Each row runs on a testbed or a lab of its own. A row whose peer is `bound` is held against what
physics leaves, from the rates asked for (-packet: those that plain streams get) and the round trip that plain sockets
measure. What is only `told` is held against nothing. Rows `history-*` are held against themselves: a size takes as long
whatever sizes came before it. Ratios are medians over the rounds, with the least and the
greatest beside them. Run it on an idle machine."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading

# Nothing is to be left beside the sources.
sys.dont_write_bytecode = True

import claim_histories
from claim_rows import PAYLOAD_SHARE, rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
FISHPLATE = str(ROOT / "build/bin/fishplate")
OPEN_MPI = ["--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
OPEN_MPI_OVER_FISHPLATE = ["--bind-to", "none", "--mca", "pml", "cm", "--mca", "mtl", "ofi",
                           "--mca", "mtl_ofi_provider_include", "fishplate"]
PROVIDER = str(ROOT / "build/lib/fishplate")
INTERPOSER = f"{PROVIDER}/libfishplate-mpi.so"


class Testbed:
    """The inside: runs stacks between the hosts of the testbed that this process was started in."""

    def __init__(self, row):
        self.row = row
        self.rails = os.environ["FISHPLATE_TESTBED_RAILS"].split(",")
        self.addresses = os.environ["FISHPLATE_TESTBED_ADDRESSES"].split(";")
        self.where = {name: where(name) for name in ("mpich", "openmpi")}
        self.server = None

    def measure(self, stack, seconds):
        """MB/s, us or messages/s by size."""
        if stack == "sum":
            return dict.fromkeys(self.row.sizes, self.sum_of_streams())
        if stack == "bound":
            asked_mb = sum(float(rate) for rate in self.row.rails.split(",")) / 8 * PAYLOAD_SHARE
            # Rails that let only a packet pass at once lose some percent of their rate to late timers.
            rate_mb = self.sum_of_streams() if self.row.burst == "packet" else asked_mb
            round_trip_us = 2 * self.socket_latency_us()
            return {size: self.row.best(size, rate_mb, round_trip_us) for size in self.row.sizes}
        lines = self.results(stack, self.row.sizes, seconds)
        return {line["size"] or 0: line["value"] for line in lines}

    def results(self, stack, sizes, seconds):
        """What the program tells over a stack, a line for each size."""
        library, variables, options = self.stack(stack)
        layout = self.layout(library)
        program = [str(ROOT / f"build/bench/{library}/{self.row.program}"), "--json"]
        sizes = ["--sizes", ",".join(map(str, sizes))] if any(sizes) else []
        time = [] if "--iterations" in self.row.options else ["--seconds", str(seconds)]
        program += [*sizes, *time, *self.row.options]
        command = [f"{self.where[library]}/mpiexec", *layout, *options, *program]
        with self.meanwhile():
            done = subprocess.run(command, env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=600)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return [line for line in lines if line["kind"] == "result"]

    @contextlib.contextmanager
    def meanwhile(self):
        """What the row does to its hosts while a program runs; what it has begun is done to its end."""
        ended = threading.Event()

        def repeat():
            while self.row.meanwhile and not ended.is_set():
                subprocess.run(["sh", "-c", self.row.meanwhile], stdin=subprocess.DEVNULL, check=True)

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def layout(self, library):
        """Ranks on hosts, as mpiexec of that library takes it."""
        hosts = [f"node{at}:{ranks}" for at, ranks in enumerate(self.row.hosts)]
        if library == "mpich":
            return ["-n", str(sum(self.row.hosts)), "-hosts", ",".join(hosts)]
        return ["-n", str(sum(self.row.hosts)), "--host", ",".join(hosts), "--map-by", ":oversubscribe"]

    def stack(self, name):
        """Library, environment and mpiexec options of a stack at its best settings."""
        rails = ",".join(self.rails)
        if name == "tcp":
            return "mpich", {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": self.rails[0]}, []
        if name == "ucx":
            count = str(len(self.rails))
            return "mpich", {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": rails,
                             "UCX_MAX_EAGER_RAILS": count, "UCX_MAX_RNDV_RAILS": count}, []
        if name == "openmpi" or self.row.library == "openmpi":
            return self.open_mpi(name, rails)
        variables = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "fishplate", "FI_PROVIDER_PATH": PROVIDER}
        if name.startswith("build:"):
            return "mpich", variables | self.row.variables | {"FI_PROVIDER_PATH": name.removeprefix("build:")}, []
        if name == "encrypted":
            return "mpich", variables | {"FISHPLATE_ENCRYPTION": "on"}, []
        if name == "checked":
            return "mpich", variables | {"FISHPLATE_CHECKSUM": "on"}, []
        if name == "weighted":
            return "mpich", variables | {"FISHPLATE_STRIPING": "weighted:4,1"}, []
        if name == "fishplate" and self.row.collective:
            variables["LD_PRELOAD"] = INTERPOSER
        if name.startswith("without:"):
            return "mpich", variables | self.row.variables | {"FISHPLATE_ABLATE": name.removeprefix("without:")}, []
        only = name.partition(":")[2]
        return "mpich", variables | ({"FISHPLATE_RAILS": only} if only else self.row.variables), []

    def open_mpi(self, name, rails):
        """The same for Open MPI: over TCP, or over Fishplate with or without its collective operations."""
        variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        idle = ["--mca", "mpi_yield_when_idle", "1"] if sum(self.row.hosts) > 2 else []
        if name == "openmpi":
            return "openmpi", variables, [*OPEN_MPI, "--mca", "btl_tcp_if_include", rails, *idle]
        handed_on = {"FI_PROVIDER_PATH": name.removeprefix("build:") if name.startswith("build:") else PROVIDER}
        if name == "fishplate" and self.row.collective:
            handed_on["LD_PRELOAD"] = INTERPOSER
        options = [word for variable in handed_on.items() for word in ("-x", "=".join(variable))]
        return "openmpi", variables, [*OPEN_MPI_OVER_FISHPLATE, *idle, *options]

    def socket_latency_us(self):
        """Half a round trip of one byte over a plain TCP connection on the first rail."""
        sockets, to = str(ROOT / "build/bench/mpich/sockets"), self.addresses[1].split(",")[0]
        if not self.server:
            # It ends with the testbed.
            launch = os.environ["FISHPLATE_TESTBED_LAUNCH"]
            self.server = subprocess.Popen([launch, "node1", sockets, "serve"], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL)
        command = [sockets, "latency", to, "--sizes", "1", "--seconds", "0.5", "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return next(line["value"] for line in lines if line["kind"] == "result")

    def sum_of_streams(self):
        """MB/s that one plain TCP stream a rail carries, all at once."""
        to = self.addresses[1].split(",")
        launch = os.environ["FISHPLATE_TESTBED_LAUNCH"]
        receiver = subprocess.Popen([launch, "node1", FISHPLATE, "receive-streams", "--warm-up", "0.5", "1", *to],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        subprocess.run([FISHPLATE, "send-streams", *to], stdin=subprocess.DEVNULL, check=True)
        return sum(json.loads(receiver.communicate(timeout=60)[0]))


def where(stack):
    return subprocess.run([FISHPLATE, "setup", "--where", stack], capture_output=True, text=True, check=True).stdout.strip()


def report(row, samples):
    """A line a size: Fishplate, each peer, the ratio and whether the claim holds. Returns the number of misses."""
    misses = 0
    for size in row.sizes:
        ours = samples["fishplate"][size]
        # The best single rail, or the best peer, is the one that is best in the median.
        better = min if row.lower_is_better() else max
        peers = [better(row.peers, key=lambda peer: statistics.median(samples[peer][size]))] if row.best_of else row.peers
        for peer in peers + row.told:
            ratios = [a / b for a, b in zip(ours, samples[peer][size])]
            ratio = statistics.median(ratios)
            text = f"{row.name:20} {size:>8}  fishplate {statistics.median(ours):>10.2f}  "
            text += f"{'other build' if peer.startswith('build:') else peer:>12} {statistics.median(samples[peer][size]):>10.2f}  "
            text += f"ratio {ratio:5.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
            if peer in row.told:
                print(f"{text}  told")
                continue
            bound = row.bound_for(size)
            holds = ratio <= bound if row.at_most else ratio >= bound
            misses += not holds
            print(f"{text}  {'at most' if row.at_most else 'at least'} {bound:.2f}: {'holds' if holds else 'MISSED'}")
    sys.stdout.flush()
    return misses


def inside(row, rounds, seconds, against):
    testbed = Testbed(row)
    if row.histories:
        return histories(testbed, rounds, seconds)
    row.told = row.told + [f"build:{folder}" for folder in against]
    stacks = ["fishplate", *row.peers, *row.told]
    samples = {stack: {size: [] for size in row.sizes} for stack in stacks}
    for at in range(rounds):
        # Every other round backwards: a machine that gets faster or slower favours none.
        for stack in stacks[::-1] if at % 2 else stacks:
            for size, value in testbed.measure(stack, seconds).items():
                samples[stack][size].append(value)
    return report(row, samples)


def histories(testbed, rounds, seconds):
    """Each size of the row after each history. Returns the number of misses."""
    values = lambda sizes: [line["value"] for line in testbed.results("fishplate", sizes, seconds)]
    row, missed = testbed.row, 0
    for size in row.sizes:
        missed += claim_histories.report(row, size, claim_histories.measure(row, size, rounds, values))
    return missed


def run(arguments):
    return subprocess.run([FISHPLATE, *arguments], stdin=subprocess.DEVNULL).returncode


def in_lab(row, command):
    name = f"claims-{os.getpid()}"
    if status := run(["lab", "up", "--unverified", "--name", name, *row.lab]):
        return status
    try:
        return run(["lab", "exec", "--name", name, "--", *command])
    finally:
        run(["lab", "down", name])


def chosen_rows(words, sizes):
    """Those with one of the words in their names, or of exactly that name; all where there is no word. Only with these
    sizes, if there are any."""
    names = {row.name for row in rows()}
    meant = lambda name: any(name == word if word in names else word in name for word in words)
    chosen = [row for row in rows() if not words or meant(row.name)]
    for row in chosen:
        row.sizes = [size for size in row.sizes if not sizes or size in sizes]
    return [row for row in chosen if row.sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="parts of names; none: all rows")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--rounds", type=int, default=5, help="how often the stacks take turns (5)")
    parser.add_argument("--seconds", type=float, help="time for each size (0.3; clusters 1, distances 10)")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], help="in bytes (a row's own)")
    parser.add_argument("--against", metavar="FOLDER", help="folder of libfishplate-fi.so of another build, which is told")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = chosen_rows(given.rows, given.sizes)
    if given.list:
        print(*(row.name for row in chosen), sep="\n")
        return 0
    if given.inside:
        [row] = chosen
        return min(inside(row, given.rounds, given.seconds, [given.against] if given.against else []), 100)
    # A lab would stay up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    missed = 0
    for row in chosen:
        again = [sys.executable, __file__, "--inside", row.name, "--rounds", str(given.rounds)]
        again += ["--seconds", str(given.seconds or row.seconds), "--sizes", ",".join(map(str, row.sizes))]
        again += ["--against", os.path.abspath(given.against)] if given.against else []
        missed += in_lab(row, again) if row.lab else run(["testbed", "--rails", row.rails, "--burst", row.burst, "--", *again])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
