"""Packages of Debian, unpacked into the cache folder without installing them."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import pypi

# Written last: only what has it is complete. It tells the versions.
STAMP = "fishplate-complete"
# What is unpacked where. Debian names the package of a kernel after its version: what this one needs is it.
QEMU = ["qemu-system-x86"]
BESIDE_QEMU = ["qemu-system-(common|data)", "seabios", "ipxe-qemu"]
BESIDE_GUEST = ["linux-image-"]
GUEST = ["linux-image-amd64", "busybox-static", "libc6", "zlib1g", "iproute2", "kmod", "ibverbs-providers", "libfabric-bin",
         "perftest"]
# Libraries of what the guests do not run.
NOT_LIBRARIES = re.compile("perl|python|pam-modules|klibc")


class Missing(Exception):
    """What cannot be had, and what to do."""


def qemu():
    """The folder of the virtual machine."""
    return unpacked("verbs-qemu", QEMU, BESIDE_QEMU)


def guest():
    """The folder of what runs inside."""
    return unpacked("verbs-guest", GUEST, BESIDE_GUEST)


def unpacked(name, packages, also):
    """A folder with packages and all libraries that they need; fetched at the first time. `also`: packages without which
    one of them is nothing, by patterns."""
    folder = pypi.cache() / name
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text().splitlines()[0] == " ".join(packages):
        return folder
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is missing: the guests come from Debian's archive, by Debian's tools")
    versions = needed(packages, also)
    print(f"{name}: fetching {len(versions)} packages of Debian into {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as archives:
        give_to_apt(archives)
        run(["apt-get", "download", "-o", "Debug::NoLocking=1", *versions],
            "cannot fetch from Debian's archive (is there a network, and are apt's lists of today?)", cwd=archives)
        for archive in Path(archives).iterdir():
            run(["dpkg-deb", "-x", archive, folder], f"cannot unpack {archive.name}")
    stamp.write_text("\n".join([" ".join(packages), *versions]) + "\n")
    return folder


def give_to_apt(folder):
    """Root's apt talks to the network as a user of its own, who can write there then."""
    if os.geteuid() == 0:
        with contextlib.suppress(LookupError):
            shutil.chown(folder, "_apt")


def version(folder, package):
    """Of a package in an unpacked folder."""
    return next(line.split("=")[1] for line in (folder / STAMP).read_text().splitlines() if line.startswith(f"{package}="))


def needed(packages, also):
    """Packages and their libraries, as NAME=VERSION, as if this machine had nothing."""
    simulated = run(["apt-get", "install", "--simulate", "--no-install-recommends", "-o", "Dir::State::status=/dev/null",
                     "-o", "Debug::NoLocking=1", *packages],
                    "apt does not know the packages (`apt-get update`, as root, fetches its lists; tried with Debian 12)")
    found = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", simulated, re.MULTILINE)
    return [f"{name}={version}" for name, version in found
            if name in packages or is_library(name) or any(re.match(pattern, name) for pattern in also)]


def is_library(name):
    """Whether it is one for programs, and not the C library, which belongs to the loader."""
    return name.startswith("lib") and name != "libc6" and not NOT_LIBRARIES.search(name)


def run(command, what, env=None, **options):
    """The output of a command; if it fails, why."""
    env = {**os.environ, "LC_ALL": "C", **(env or {})}
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, **options)
    if ran.returncode != 0:
        raise Missing(f"{what}: {(ran.stderr or ran.stdout).strip()}")
    return ran.stdout
