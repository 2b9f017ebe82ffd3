"""What programs and libraries need of a system."""

import os
import re
import subprocess

# Of glibc and GCC; what manylinux promises to be there, of what Rust links.
PROMISED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
            "ld-linux-x86-64.so.2"}
MACHINES = {"Advanced Micro Devices X86-64": ("x86_64", "amd64"), "AArch64": ("aarch64", "arm64")}


def readelf(file, *options):
    """What readelf tells of a file."""
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["readelf", "--wide", *options, file]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def glibc(files):
    """The oldest glibc with which all these files load, as a pair of numbers.

    A library that manylinux does not promise is an error.
    """
    newest = (2, 0)
    for file in files:
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(file, "--dynamic")))
        if foreign := needed - PROMISED:
            raise SystemExit(f"packaging: {file} needs {', '.join(sorted(foreign))}, which not every system has")
        versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", readelf(file, "--version-info"))
        newest = max([newest, *((int(major), int(minor)) for major, minor in versions)])
    return newest


def machine(file):
    """The processor of a file, as Python calls it and as Debian does."""
    told = re.search(r"Machine:\s*(.*)", readelf(file, "--file-header"))[1].strip()
    if told not in MACHINES:
        raise SystemExit(f"packaging: {file} is for {told}; known are {', '.join(MACHINES)}")
    return MACHINES[told]
