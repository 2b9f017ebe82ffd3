#!/usr/bin/env python3
"""Counts what a short message costs in this process: instructions and atomic operations of a send and its receive, in
build/lib/fishplate/libfishplate-fi.so and what that calls.

    bench/message_counts.py            counts, and holds them against bench/message_counts.json
    bench/message_counts.py --record   writes that file anew

Counts do not depend on how busy a machine is, but on the compiler and the C library: the file says by which it was made, and
under others they are only printed. Needs valgrind; without it nothing is counted.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "bench" / "message_counts.json"
LIBRARY = ROOT / "build" / "lib" / "fishplate" / "libfishplate-fi.so"
MESSAGES = 400
# What counts may grow by: instructions 3 %, atomic operations half of one, as a lock more takes at least one a message. Less than
# either is added where the kernel delivers late, on a busy machine.
MOST = {"instructions": lambda before: before * 1.03, "atomics": lambda before: before + 0.5}
WAYS = {"rails": "over rails", "checked": "over rails, checksums", "memory": "in shared memory"}


def build(folder):
    """The program, and its clock; where they are."""
    command = ["cargo", "build", "--quiet", "--workspace", "--example", "message_counts", "--message-format",
               "json-render-diagnostics"]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    artifacts = [json.loads(line).get("executable") for line in ran.stdout.splitlines()]
    clock = f"{folder}/clock.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", clock, ROOT / "bench" / "message_counts_clock.c"], check=True)
    return next(executable for executable in artifacts if executable), clock


def costs(file, left_out):
    """Sums of the events of a callgrind file, but for what the objects `left_out` did themselves."""
    current, sums, is_call = None, [0, 0], False
    for line in Path(file).read_text().splitlines():
        if line.startswith("ob="):
            current = line.removeprefix("ob=")
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[-+*\d]", line):
            # What follows a call is the cost of the function called, which has lines of its own.
            if not is_call and current not in left_out:
                for at, count in enumerate(line.split()[1:]):
                    sums[at] += int(count)
            is_call = False
    return sums


def count(program, clock, way, size):
    """Instructions and atomic operations a message."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--compress-strings=no", "--collect-atstart=no",
                   "--toggle-collect=counted_message", "--collect-bus=yes", program, LIBRARY, way, str(size), str(MESSAGES)]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "LD_PRELOAD": clock})
        if ran.returncode:
            sys.exit(f"message_counts: {' '.join(map(str, command))} failed:\n{ran.stderr}")
        instructions, atomics = costs(f"{folder}/out", (program, clock))
    return {"instructions": round(instructions / MESSAGES), "atomics": round(atomics / MESSAGES, 1)}


def made_by():
    """What counts depend on."""
    compiler = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return f"{compiler}, {' '.join(platform.libc_ver())}"


def main():
    if not shutil.which("valgrind"):
        print("message_counts: skipped: valgrind is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        program, clock = build(folder)
        counts = {f"{way} {size}": count(program, clock, way, size) for way in WAYS for size in (8, 1024)}
    compiler = made_by()
    if sys.argv[1:] == ["--record"]:
        FILE.write_text(json.dumps({"made by": compiler, "counts": counts}, indent=2) + "\n")
    recorded = json.loads(FILE.read_text())
    is_comparable = recorded["made by"] == compiler
    print(f"{'a message':32}{'instructions':>14}{'recorded':>10}{'atomics':>10}{'recorded':>10}")
    grown = []
    for name, now in counts.items():
        way, size = name.split()
        before = recorded["counts"].get(name, {})
        print(f"{size:>5} B {WAYS[way]:24}{now['instructions']:14}{before.get('instructions', '-'):>10}"
              f"{now['atomics']:10}{before.get('atomics', '-'):>10}")
        grown += [f"{name}: {what} grew from {before.get(what, 'what is not recorded')} to {now[what]}" for what in now
                  if now[what] > MOST[what](before.get(what, 0))]
    if not is_comparable:
        print(f"recorded by {recorded['made by']}; this is {compiler}: not compared")
    elif grown:
        sys.exit("\n".join(grown) + "\nIf that is wanted: bench/message_counts.py --record")
    else:
        print(f"{len(counts)} passed, 0 failed")


if __name__ == "__main__":
    main()
