"""Fishplate for Python programs: the environment in which MPI uses all network rails of a machine.

    import os
    import fishplate

    os.environ.update(fishplate.environment())

    from mpi4py import MPI

MPI reads the environment when it starts, so this has to come before. `python3 -m fishplate` is the program.
"""

import importlib.metadata
import json
import shutil
import subprocess
from pathlib import Path

__all__ = ["Error", "environment", "program"]


class Error(Exception):
    """Why there is no environment, in the program's words."""


def program():
    """The file of the program `fishplate`.

    Raises Error when it is nowhere.
    """
    beside = Path(__file__).resolve().parent.parent
    # Where the wheel was installed to; below the folder of `pip install --target`; PATH.
    candidates = [*_installed(), beside / "bin" / "fishplate", shutil.which("fishplate")]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return str(Path(candidate).resolve())
    raise Error(f"the program fishplate is neither where its wheel was installed ({beside}) nor in PATH: install the "
                "wheel again")


def environment(*options):
    """The variables that `fishplate env` with these options sets, as a dictionary of names and values.

        fishplate.environment("--rails", "ib0,eth0", "--mpi", "mpich")

    Raises Error when an option or a setting is wrong, with what is allowed.
    """
    command = [program(), "env", "--format", "json", *map(str, options)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise Error(f"cannot run {command[0]}: {error.strerror}") from error
    if ran.returncode != 0:
        raise Error(ran.stderr.strip() or f"{command[0]} ended with {ran.returncode}")
    try:
        return json.loads(ran.stdout)
    except ValueError as error:
        raise Error(f"{command[0]} printed no environment (another version?): {ran.stdout.strip()!r}") from error


def _installed():
    """Where pip says that it has put the program."""
    try:
        files = importlib.metadata.files("fishplate") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    return [Path(file.locate()) for file in files if file.parts[-2:] == ("bin", "fishplate")]
