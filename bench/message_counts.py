#!/usr/bin/env python3
"""Counts what a short message costs in this process: instructions and atomic operations of a send and its receive.

    bench/message_counts.py            counts, and holds them against bench/message_counts.json
    bench/message_counts.py --record   writes that file anew

Counts do not depend on how busy a machine is, but on the compiler: the file says by which it was made, and under another
one they are only printed. Needs valgrind.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "bench" / "message_counts.json"
MESSAGES = 400
# What may differ from one run to the next is a tenth of that.
MOST_GROWTH = 0.03
WAYS = {"rails": "over rails", "memory": "in shared memory"}


def build():
    """The example, optimized as a whole as the library is; where it is."""
    command = ["cargo", "build", "--quiet", "--release", "--config", 'profile.release.lto="fat"', "-p", "fishplate-provider",
               "--example", "message_counts", "--message-format", "json-render-diagnostics"]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    artifacts = [json.loads(line).get("executable") for line in ran.stdout.splitlines()]
    return next(executable for executable in artifacts if executable)


def count(program, way, size):
    """Instructions and atomic operations a message."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
                   "--toggle-collect=counted_message", "--collect-bus=yes", program, way, str(size), str(MESSAGES)]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    collected = [line for line in ran.stderr.splitlines() if "Collected :" in line]
    if ran.returncode or not collected:
        sys.exit(f"message_counts: {' '.join(command)} failed:\n{ran.stderr}")
    instructions, atomics = collected[0].split(":")[1].split()[:2]
    return {"instructions": round(int(instructions) / MESSAGES), "atomics": round(int(atomics) / MESSAGES, 1)}


def main():
    program = build()
    compiler = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    counts = {f"{way} {size}": count(program, way, size) for way in WAYS for size in (8, 1024)}
    if sys.argv[1:] == ["--record"]:
        FILE.write_text(json.dumps({"compiler": compiler, "counts": counts}, indent=2) + "\n")
    recorded = json.loads(FILE.read_text())
    is_comparable = recorded["compiler"] == compiler
    print(f"{'a message':28}{'instructions':>14}{'recorded':>10}{'atomics':>10}{'recorded':>10}")
    grown = []
    for name, now in counts.items():
        way, size = name.split()
        before = recorded["counts"][name]
        print(f"{size:>5} B {WAYS[way]:20}{now['instructions']:14}{before['instructions']:10}"
              f"{now['atomics']:10}{before['atomics']:10}")
        grown += [f"{name}: {what} grew from {before[what]} to {now[what]}" for what in now
                  if now[what] > before[what] * (1 + MOST_GROWTH)]
    if not is_comparable:
        print(f"recorded by {recorded['compiler']}; this is {compiler}: not compared")
    elif grown:
        sys.exit("\n".join(grown) + "\nIf that is wanted: bench/message_counts.py --record")
    else:
        print("4 passed, 0 failed")


if __name__ == "__main__":
    main()
