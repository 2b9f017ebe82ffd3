"""Processes of this machine, and those of a job of a test."""

import os
from pathlib import Path

# Marks the processes of one job: children inherit it, whatever session or namespace they are in.
MARK = "FISHPLATE_TEST_JOB"


def processes():
    """Numbers and folders of all processes."""
    return [(int(entry.name), entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def marked(mark):
    """Processes that carry a mark: numbers and command lines."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for number, folder in processes():
        try:
            if number != os.getpid() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append((number, command_line(number)))
        except OSError:
            pass  # It has ended, or is another user's.
    return found


def command_line(number):
    """Of a process; none when it is gone."""
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def descendants(root):
    """Processes below one, in whatever namespaces: numbers and command lines. (MPI programs have no mark: bench leaves
    FISHPLATE_* of the caller's out.)"""
    children = {}
    for number, folder in processes():
        try:
            children.setdefault(int((folder / "stat").read_text().rpartition(")")[2].split()[1]), []).append(number)
        except OSError:
            pass
    found, left = {}, [root]
    while left:
        number = left.pop()
        found[number] = command_line(number)
        left += children.get(number, [])
    return {number: line for number, line in found.items() if line}
