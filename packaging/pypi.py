"""Programs from PyPI, each in a Python environment of its own in the cache folder, beside the MPI stacks. Files in `locks/` say
which files of PyPI's they are made of, by hashes: pip takes no other."""

import os
import subprocess
import venv
from pathlib import Path

LOCKS = Path(__file__).resolve().parent / "locks"


def cache():
    """The folder of `fishplate setup`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("FISHPLATE_CACHE") or Path(base) / "fishplate")


def programs(name, asked_by):
    """The folder `bin` of the environment `name` with the packages of its lock, which it gets the first time."""
    folder = cache() / name
    python = folder / "bin" / "python"
    if not ((folder / "complete").exists() and python.exists()):
        try:
            venv.create(folder, with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"{asked_by}: no folder for {name} (FISHPLATE_CACHE names another one): {error}")
        pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        pip += ["--only-binary=:all:", "--no-deps", "-r", LOCKS / f"{name}.txt"]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{asked_by}: what {name} is made of cannot be had from PyPI: {done.stderr.strip()[-500:]}")
        (folder / "complete").touch()
    return folder / "bin"
