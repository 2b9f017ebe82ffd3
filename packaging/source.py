"""The source tarball of a release: the last commit with all crates of others, so that `make` needs no network."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from description import cargo, git, metadata, run

# What `make` builds for.
TARGET = "x86_64-unknown-linux-gnu"
OFFLINE = "\n[net]\noffline = true\n"


def build(description, out):
    """Makes the tarball; its file."""
    name = f"fishplate-{description.version}"
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}-vendored.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / name
        time = export(tree)
        vendor(tree)
        write(tree, file, time)
    return file


def export(tree):
    """The files of the last commit; its time, in seconds since 1970."""
    archive = git("archive", "--format=tar", "HEAD")
    tree.mkdir()
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    return int(git("log", "-1", "--format=%ct"))


def vendor(tree):
    """Puts the crates of others into the tree, and says so to cargo."""
    command = [cargo(), "vendor", "--locked", "--versioned-dirs", "vendor"]
    told = run(*command, failed="the crates cannot be had from crates.io", cwd=tree).decode()
    (tree / ".cargo").mkdir()
    (tree / ".cargo/config.toml").write_text(told + OFFLINE)
    packages = metadata("--filter-platform", TARGET)["packages"]
    needed = {f"{package['name']}-{package['version']}" for package in packages}
    for crate in (tree / "vendor").iterdir():
        if crate.name not in needed:
            empty(crate)


def empty(crate):
    """Leaves of a crate for other systems what cargo reads when it resolves: 50 MB are libraries for Windows."""
    for entry in crate.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name not in ("Cargo.toml", ".cargo-checksum.json"):
            entry.unlink()
    # Cargo refuses a library without a file.
    (crate / "src").mkdir()
    (crate / "src/lib.rs").touch()
    checksum = crate / ".cargo-checksum.json"
    checksum.write_text(json.dumps({**json.loads(checksum.read_text()), "files": {}}))


def write(tree, file, time):
    """A tarball that equal trees make equal."""
    same = ["--sort=name", f"--mtime=@{time}", "--owner=0", "--group=0", "--numeric-owner"]
    run("tar", "-C", tree.parent, *same, "-I", "gzip -n", "-cf", file.resolve(), tree.name, failed="tar failed")
