"""What packages say about Fishplate: the workspace's metadata in Cargo.toml, which is the only place for it."""

import json
import os
import re
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
# The crates whose code is in what packages contain.
SHIPPED = ["fishplate-lab", "fishplate-provider", "fishplate-interpose"]


def cargo():
    """The program."""
    return os.environ.get("CARGO", "cargo")


def run(*command, failed, **options):
    """The output of a command; if it fails, the end, with why: `failed` and what it said."""
    ran = subprocess.run(command, capture_output=True, **options)
    if ran.returncode != 0:
        raise SystemExit(f"packaging: {failed}: {ran.stderr.decode().strip()[-500:]}")
    return ran.stdout


def metadata(*options):
    """What cargo knows of the workspace."""
    command = [cargo(), "metadata", "--format-version", "1", "--locked", *options]
    return json.loads(run(*command, failed="cargo metadata failed", cwd=ROOT))


def git(*arguments):
    """What git says of the repository."""
    return run("git", *arguments, failed="the tarball is made of a commit", cwd=ROOT)


@dataclass
class Description:
    """Of the whole; `packaging` is the table workspace.metadata.packaging."""

    version: str
    license: str
    rust_least: str
    packaging: dict

    @staticmethod
    def read():
        """From Cargo.toml."""
        workspace = metadata("--no-deps")
        package = next(package for package in workspace["packages"] if package["name"] == SHIPPED[0])
        packaging = workspace["metadata"]["packaging"]
        return Description(package["version"], package["license"], package["rust_version"], packaging)

    def fields(self, **more):
        """All values, by the names that templates use."""
        text = {name: value for name, value in self.packaging.items() if isinstance(value, str)}
        own = {"version": self.version, "license": self.license, "rust_least": self.rust_least}
        return {**own, **text, **more}


def fill(template, fields):
    """A template of this folder with @NAME@ replaced; a name that is not known, or is left over, is an error."""
    text = (HERE / template).read_text()
    missing = {name for name in re.findall(r"@([a-z_0-9]+)@", text) if name not in fields}
    if missing:
        raise SystemExit(f"packaging: {template} needs {', '.join(sorted(missing))}: see Cargo.toml")
    return re.sub(r"@([a-z_0-9]+)@", lambda match: str(fields[match[1]]), text)


def maintainer():
    """Who makes the package, as Debian's tools ask for it."""
    user = os.environ.get("USER") or "root"
    name = os.environ.get("DEBFULLNAME") or user
    return f"{name} <{os.environ.get('DEBEMAIL') or f'{user}@{socket.gethostname()}'}>"
