#!/usr/bin/env python3
"""Holds io_threads against fio on the same file system, with the same pattern, in turn.

    bench/against_fio.py --path FOLDER                                     a folder that is mounted
    fishplate testbed --hosts 3 --storage glusterfs -- bench/against_fio.py   a storage of Fishplate's

Both go to one file of --file-size by records of --record, without the page cache (O_DIRECT), with the same number of
threads: written, read, and read at random. io_threads has the time that its calls take; of fio there is that too (from its
mean latency), and what it tells itself, which is over all of its time. Medians over the rounds in MB/s (10^6 bytes), and the
median of the ratios of each round, with the least and the greatest. Needs fio, and `make bench` or --program."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = {"write": ("write", "sequential", "write"), "read": ("read", "sequential", "read"),
              "random read": ("read", "random", "randread")}
KIB, MIB = 1 << 10, 1 << 20


def run(command):
    """The output of a command that must succeed."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def by_io_threads(asked, operation, folder):
    """MB/s of io_threads; with several numbers of threads the last counts."""
    name, order, _ = OPERATIONS[operation]
    options = ["--operation", name, "--order", order, "--sizes", f"{asked.record}K", "--threads", asked.threads,
               "--file-size", f"{asked.file_size}M", "--seconds", asked.seconds, "--access", "posix", "--cache", "direct"]
    lines = run([asked.program, "--path", folder, *options, "--json"]).splitlines()
    results = [line for line in map(json.loads, lines) if line["kind"] == "result"]
    return results[-1]["value"]


def by_fio(asked, operation, folder):
    """MB/s of fio's calls, and over all of its time. In sequential order each thread has a part of the file, and goes over
    it until the time is over."""
    part = asked.file_size * MIB // asked.threads
    places = [f"--size={part}", f"--offset_increment={part}"]
    if operation == "random read":
        places = [f"--size={asked.file_size}M", "--norandommap"]
    options = ["--direct=1", "--ioengine=psync", "--thread", f"--numjobs={asked.threads}", "--group_reporting",
               f"--bs={asked.record}k", "--time_based", f"--runtime={asked.seconds}", "--output-format=json"]
    file = pathlib.Path(folder) / "fio"
    access = ["--name=fio", f"--filename={file}", f"--rw={OPERATIONS[operation][2]}"]
    told = json.loads(run(["fio", *access, *places, *options]))
    told = told["jobs"][0]["write" if operation == "write" else "read"]
    call_s = told["clat_ns"]["mean"] / 1e9
    return asked.threads * asked.record * KIB / call_s / 1e6, told["bw_bytes"] / 1e6


def lay_out(asked, folder):
    """The file of fio, whole, so that what is written is written over something."""
    run(["fio", "--name=fio", f"--filename={pathlib.Path(folder) / 'fio'}", "--rw=write", "--bs=1M", "--direct=1",
         f"--size={asked.file_size}M"])


def measure(asked, folder):
    """Rounds of MB/s by operation: of io_threads, of fio's calls, of fio."""
    values = {operation: [] for operation in OPERATIONS}
    lay_out(asked, folder)
    for number in range(asked.rounds):
        for operation, rounds in values.items():
            turns = [by_io_threads, by_fio][:: 1 if number % 2 == 0 else -1]
            told = {turn: turn(asked, operation, folder) for turn in turns}
            rounds.append((told[by_io_threads], *told[by_fio]))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", default=os.environ.get("FISHPLATE_STORAGE"), help="folder (default: $FISHPLATE_STORAGE)")
    parser.add_argument("--program", default=ROOT / "build/bench/mpich/io_threads", help="io_threads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of each value (default 1)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--record", type=int, default=256, help="KiB (default 256)")
    parser.add_argument("--file-size", type=int, default=256, help="MiB (default 256)")
    asked = parser.parse_args()
    if asked.path is None or not os.path.isdir(asked.path):
        sys.exit(f"against_fio.py: --path: {asked.path}; allowed: a folder (fio reaches no URLs)")
    with tempfile.TemporaryDirectory(dir=asked.path) as folder:
        values = measure(asked, folder)
    print("| | io_threads | fio, its calls | fio | io_threads / fio's calls |")
    print("|---|---|---|---|---|")
    for operation, rounds in values.items():
        ours, calls, fio = (statistics.median(side) for side in zip(*rounds))
        ratios = sorted(ours / calls for ours, calls, _ in rounds)
        spread = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})"
        print(f"| {operation} | {ours:.1f} | {calls:.1f} | {fio:.1f} | {spread} |")


main()
