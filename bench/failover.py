#!/usr/bin/env python3
"""Measures how long one of two rails that fails is missed: until the other carries all, and until it is used again.

    bench/failover.py               all rows, 5 cuts each
    bench/failover.py reset         rows whose name contains the word
    bench/failover.py --cuts 20     more cuts
    bench/failover.py --list        the names

Needs `make bench`. Each cut has a run of `bandwidth --interval` of its own, on a testbed or a lab: 1 s over two rails of
1000 Mbit/s, r1 is cut, after a second it is healed. Times are from the moment at which the command that cuts, or heals, is
started, by what arrives at the receiver in intervals of 10 ms:

    resumed    end of the longest pause that begins within a second, in which less than half of what the other rail carries
               arrives; 0 if it is no longer than 50 ms, as the end of a window makes some over a distance
    used again start of the first 50 ms with a quarter more than one rail carries, from the healing on
    full sum   start of the first 200 ms with 95 % of what there was before the cut, from then on

Run it on an idle machine."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/mpi"))
sys.dont_write_bytecode = True
import cuts
import support

FLOWS_S, CUT_S, WATCHED_S = 1.0, 1.0, 3.5
# Over 10 ms one way the sender hears of the end of a window 20 ms later, and pauses for so long.
LONGEST_AT_A_WINDOWS_END_S = 0.05
OPTIONS = ["--json", "--interval", "0.01", "--sizes", "64K", "--window", "256"]
USED_AGAIN_S, FULL_SUM_S = 2.0, 1.0


class Row:
    """A kind of cut, on rails with a delay one way, and the longest that may pass until all goes over the other rail."""

    def __init__(self, name, cut, delay_ms, resumed_ms):
        self.name, self.cut, self.delay_ms = name, cut, delay_ms
        self.resumed_ms = resumed_ms

    def command(self, inside):
        """Runs `inside` on the first host of what this row needs."""
        fishplate = str(support.FISHPLATE)
        if not self.delay_ms:
            return subprocess.run([fishplate, "testbed", "--rails", "1000,1000", "--", *inside]).returncode
        name = f"failover-{os.getpid()}"
        up = ["--unverified", "--name", name, "--rails", "1000,1000", "--delay", f"{self.delay_ms}ms"]
        if status := subprocess.run([fishplate, "lab", "up", *up]).returncode:
            return status
        try:
            return subprocess.run([fishplate, "lab", "exec", "--name", name, "--", *inside]).returncode
        finally:
            subprocess.run([fishplate, "lab", "down", name])


def rows():
    kinds = [("reset", cuts.reset("r1"), lambda rtt_ms: 50), ("down", cuts.link_down("r1"), silent), ("loss", cuts.loss("r1"), silent)]
    return [Row(f"{name}-{delay_ms}ms", cut, delay_ms, bound(2 * delay_ms)) for delay_ms in [0, 1, 10] for name, cut, bound in kinds]


def silent(rtt_ms):
    """Where the kernel reports nothing."""
    return 250 + 2 * rtt_ms


class Series:
    """What arrived: (start, end, bytes) of intervals, in seconds of this machine's clock."""

    def __init__(self):
        self.lines = []

    def read(self, output):
        """Takes lines of the benchmark with the times at which they came."""
        for line in output:
            if line.startswith("{"):
                record = json.loads(line)
                if record["kind"] == "interval":
                    self.lines.append((time.monotonic(), record))

    def intervals(self):
        # A line comes when its interval is over, or a little later.
        begin = min(came - record["parameters"]["time"] for came, record in self.lines)
        ends = [(begin + record["parameters"]["time"], record) for _, record in self.lines]
        return [(end - record["seconds"], end, record["value"] * record["seconds"]) for end, record in ends]


def rate(intervals, since, until):
    """MB/s of the intervals that end within this time; 0 if there are none."""
    within = [(end - start, amount) for start, end, amount in intervals if since < end <= until]
    return sum(amount for _, amount in within) / sum(length for length, _ in within) if within else 0.0


def first(intervals, since, length, least):
    """When a time of this length with at least so many MB/s begins."""
    for start, _, _ in intervals:
        if start >= since and rate(intervals, start, start + length) >= least:
            return start
    return float("inf")


def measure(row):
    """One cut: until all goes over the other rail, until the rail is used again, until the sum is full, in seconds."""
    seconds = FLOWS_S + CUT_S + WATCHED_S
    program = [support.bench("bandwidth"), *OPTIONS, "--duration", seconds]
    command = [support.FISHPLATE, "run", "--mpi", "mpich", "--", "mpiexec", "-n", 2, *program]
    job = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    series = Series()
    reader = threading.Thread(target=series.read, args=[job.stdout])
    reader.start()
    while not series.lines and job.poll() is None:
        time.sleep(0.01)
    time.sleep(FLOWS_S)
    cut = now_run(row.cut.begin)
    time.sleep(0 if row.cut.end == "true" else CUT_S)
    healed = now_run(row.cut.end)
    reader.join()
    if job.wait():
        sys.exit(f"{' '.join(map(str, command))} failed")
    return times(series.intervals(), cut, healed)


def now_run(line):
    """Runs a shell line. When it began."""
    began = time.monotonic()
    subprocess.run(["sh", "-c", line], check=True)
    return began


def end_of_longest_pause(intervals, least):
    """When the longest row of intervals with less than this rate has ended; None if there is none to speak of."""
    pauses, begun = [], None
    for start, end, amount in intervals:
        begun = (start if begun is None else begun) if amount / (end - start) < least else None
        if begun is not None:
            pauses.append((end - begun, end))
    length, end = max(pauses, default=(0, None))
    return end if length > LONGEST_AT_A_WINDOWS_END_S else None


def times(intervals, cut, healed):
    before = rate(intervals, cut - FLOWS_S / 2, cut)
    resumed = end_of_longest_pause([interval for interval in intervals if cut < interval[1] < cut + 1], before / 4) or cut
    lacking = [end for _, end, _ in intervals if end > cut and rate(intervals, end, end + 0.05) < 0.625 * before]
    missed = max(healed, min(lacking, default=cut))
    used = first(intervals, missed, 0.05, 0.625 * before)
    return resumed - cut, used - healed, first(intervals, used, 0.2, 0.95 * before) - used


def inside(row, count):
    samples = [measure(row) for _ in range(count)]
    bounds = [("resumed", row.resumed_ms / 1000), ("used again", USED_AGAIN_S), ("full sum", FULL_SUM_S)]
    misses = 0
    for (name, bound), values in zip(bounds, zip(*samples)):
        holds = max(values) <= bound
        misses += not holds
        text = f"{row.name:12} {name:10}  median {statistics.median(values) * 1000:6.0f} ms, greatest {max(values) * 1000:6.0f} ms of {count}"
        print(f"{text}; at most {bound * 1000:.0f} ms: {'holds' if holds else 'MISSED'}", flush=True)
    return misses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="parts of names; none: all rows")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--cuts", type=int, default=5, help="how many cuts a row (5)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = [row for row in rows() if not given.rows or any(word in row.name for word in given.rows)]
    if given.list:
        print(*(row.name for row in chosen), sep="\n")
        return 0
    if given.inside:
        row = next(row for row in rows() if row.name == given.inside)
        return min(inside(row, given.cuts), 100)
    again = [sys.executable, __file__, "--cuts", str(given.cuts), "--inside"]
    return 1 if sum(row.command([*again, row.name]) for row in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
