#!/usr/bin/env python3
"""Measures those of Fishplate's claims that no plan of `fishplate bench` expresses, row by row, in turn
(A B A B ...): a size after histories of other sizes, a rail that goes down and up all the time, hosts with different
numbers of ranks.

    bench/claims.py            all rows
    bench/claims.py history    the row of that name, else rows whose name contains the word
    bench/claims.py --list     the names
    bench/claims.py --sizes 65536 history    only these of a row's sizes
    bench/claims.py --against FOLDER flap    another build of the provider takes its turn as well

Needs `make bench`. Each row runs on a testbed or a lab of its own. What is only `told` is held against nothing. Rows
`history-*` are held against themselves: a size takes as long whatever sizes came before it.
Ratios are medians over the rounds, with the least and the greatest beside them. Run it on an idle machine."""

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
from claim_rows import rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
FISHPLATE = str(ROOT / "build/bin/fishplate")
PROVIDER = str(ROOT / "build/lib/fishplate")
INTERPOSER = f"{PROVIDER}/libfishplate-mpi.so"


class Testbed:
    """The inside: runs stacks between the hosts of the testbed that this process was started in."""

    def __init__(self, row):
        self.row = row
        self.mpiexec = f"{where('mpich')}/mpiexec"

    def measure(self, stack, seconds):
        """MB/s or us by size."""
        lines = self.results(stack, self.row.sizes, seconds)
        return {line["size"] or 0: line["value"] for line in lines}

    def results(self, stack, sizes, seconds):
        """What the program tells over a stack, a line for each size."""
        program = [str(ROOT / f"build/bench/mpich/{self.row.program}"), "--json"]
        sizes = ["--sizes", ",".join(map(str, sizes))] if any(sizes) else []
        program += [*sizes, "--seconds", str(seconds), *self.row.options]
        command = [self.mpiexec, *self.layout(), *program]
        with self.meanwhile():
            done = subprocess.run(command, env=os.environ | self.variables(stack), stdin=subprocess.DEVNULL, capture_output=True,
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

    def layout(self):
        """Ranks on hosts, as mpiexec takes it."""
        hosts = [f"node{at}:{ranks}" for at, ranks in enumerate(self.row.hosts)]
        return ["-n", str(sum(self.row.hosts)), "-hosts", ",".join(hosts)]

    def variables(self, name):
        """Environment of a stack."""
        provider = name.removeprefix("build:") if name.startswith("build:") else PROVIDER
        variables = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "fishplate", "FI_PROVIDER_PATH": provider}
        if name == "fishplate" and self.row.collective:
            variables["LD_PRELOAD"] = INTERPOSER
        if name.startswith("without:"):
            variables["FISHPLATE_ABLATE"] = name.removeprefix("without:")
        return variables


def where(stack):
    return subprocess.run([FISHPLATE, "setup", "--where", stack], capture_output=True, text=True, check=True).stdout.strip()


def report(row, samples):
    """A line a size: Fishplate, each peer, the ratio and whether the claim holds. Returns the number of misses."""
    misses = 0
    for size in row.sizes:
        ours = samples["fishplate"][size]
        for peer in row.peers + row.told:
            ratios = [a / b for a, b in zip(ours, samples[peer][size])]
            ratio = statistics.median(ratios)
            text = f"{row.name:20} {size:>8}  fishplate {statistics.median(ours):>10.2f}  "
            text += f"{'other build' if peer.startswith('build:') else peer:>12} {statistics.median(samples[peer][size]):>10.2f}  "
            text += f"ratio {ratio:5.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
            if peer in row.told:
                print(f"{text}  told")
                continue
            holds = ratio <= row.at_most
            misses += not holds
            print(f"{text}  at most {row.at_most:.2f}: {'holds' if holds else 'MISSED'}")
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
    parser.add_argument("--seconds", type=float, help="time for each size (histories 0.12, clusters 1, flaps 20)")
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
