#!/usr/bin/env python3
"""Measures what the recorder costs programs: without it, with a profile, and with a trace as well, in turn.

    bench/recorder_overhead.py              NAS LU class A, and LAMMPS eam where it is set up
    bench/recorder_overhead.py --quick      that it works: short runs, one round; its numbers say nothing

Each run is on a testbed of its own, two ranks over one rail; the time is the one that the program tells itself. Printed are
medians of times, and of the ratios of each round to the run without, with the least and the greatest. On a machine that does
nothing else: two ranks want two processors. Needs `make bench`, and for LAMMPS `fishplate setup --app lammps`."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FISHPLATE = ROOT / "build/bin/fishplate"
WAYS = ["without", "profile", "profile and trace"]


def run(command):
    """The output of a command that must succeed."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def where(name):
    """The folder of a stack or an application; none where it is not set up."""
    ran = subprocess.run([FISHPLATE, "setup", "--where", name], capture_output=True, text=True)
    return pathlib.Path(ran.stdout.strip()) if ran.returncode == 0 else None


def lu(asked):
    """NAS LU: its command, and its seconds in what it says."""
    command = [ROOT / "build/apps/mpich/lu", "--class", "S" if asked.quick else "A", "--json"]
    seconds = lambda said: next(line["value"] for line in map(json.loads, said.splitlines()) if line["kind"] == "result")
    return command, seconds


def eam(asked):
    """LAMMPS, the same; nothing where it is not set up."""
    lammps = where("lammps")
    if lammps is None:
        return None
    libraries, bench = where("mpich").parent / "lib", lammps / "share/lammps/bench"
    script = f"cd {bench} && LD_LIBRARY_PATH={libraries} exec {lammps}/lmp -in in.eam -log none"
    seconds = lambda said: float(re.search(r"^Loop time of (\S+)", said, re.M)[1])
    return ["sh", "-c", script], seconds


def seconds(asked, way, program):
    """What one run tells, and its calls of MPI."""
    command, told = program
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "profile.json"
        trace = ["--trace", pathlib.Path(folder) / "trace"] if way == WAYS[2] else []
        recorder = [] if way == WAYS[0] else [FISHPLATE, "profile", *trace, "--output", record, "--"]
        launch = [FISHPLATE, "run", "--mpi", "mpich", "--", "mpiexec", "-n", asked.ranks]
        said = run([FISHPLATE, "testbed", "--rails", asked.network, "--", *recorder, *launch, *command])
        if not recorder:
            return told(said), None
        [world] = json.loads(record.read_text())["worlds"]
        return told(said), max(sum(call["count"] for call in rank["calls"]) for rank in world["ranks"])


def measure(asked, program):
    """Rounds of times by way, and calls of a rank. Every other round goes the other way round."""
    rounds, calls = [], 0
    for number in range(asked.rounds):
        times = {}
        for way in WAYS[:: 1 if number % 2 == 0 else -1]:
            times[way], counted = seconds(asked, way, program)
            calls = max(calls, counted or 0)
        rounds.append(times)
    return rounds, calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--network", default="1000", help="rails of the testbed, in Mbit/s (default 1000)")
    parser.add_argument("--quick", action="store_true", help="only show that it works")
    asked = parser.parse_args()
    asked.rounds = 1 if asked.quick else asked.rounds
    programs = {f"LU, class {'S' if asked.quick else 'A'}": lu(asked), "LAMMPS eam": eam(asked)}
    print("| program | calls of a rank | recorded | s | of the run without |")
    print("|---|---|---|---|---|")
    for name, program in programs.items():
        if program is None:
            print(f"recorder_overhead.py: {name} left out: it is not set up", file=sys.stderr)
            continue
        rounds, calls = measure(asked, program)
        for way in WAYS:
            ratios = sorted(times[way] / times[WAYS[0]] for times in rounds)
            spread = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})"
            print(f"| {name} | {calls} | {way} | {statistics.median(times[way] for times in rounds):.3f} | {spread} |")


main()
