"""Programs from PyPI, each in a Python environment of its own in the cache folder, beside the MPI stacks."""

import os
import subprocess
import venv
from pathlib import Path


def cache():
    """The folder of `fishplate setup`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("FISHPLATE_CACHE") or Path(base) / "fishplate")


def programs(name, packages, asked_by):
    """The folder `bin` of the environment `name` with these packages, which it gets the first time."""
    folder = cache() / name
    if not (folder / "complete").exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"{asked_by}: no folder for {name} (FISHPLATE_CACHE names another one): {error}")
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{asked_by}: {', '.join(packages)} cannot be had from PyPI: {done.stderr.strip()[-500:]}")
        (folder / "complete").touch()
    return folder / "bin"
