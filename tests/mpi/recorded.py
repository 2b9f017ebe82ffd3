"""Programs that are recorded and traced, and what becomes of their traces."""

import re

# What `fishplate predict` says of traces that it does not replay, and why it is right to.
REFUSALS = {
    r"several of its threads were in MPI at once": "which call of one thread waited for which of another is in no trace",
    r"traces of several runs or programs": "several programs were run",
    r"collective operations of a communicator in different orders": "MPI does not allow it",
    r"there is no file of a rank": "no process called MPI_Init",
}


def profiled(fishplate, record, *command, trace=None):
    """The command line that records a command, and traces it where there is a folder for that."""
    traced = ["--trace", trace] if trace else []
    return [fishplate, "profile", *traced, "--output", record, "--", *command]


def predicting(fishplate, trace, *networks):
    """The command line that replays a trace, each rank on a host of its own, at 1000 Mbit/s unless other networks are named."""
    return [fishplate, "predict", "--json", trace, "--ranks-per-node", 1, *(networks or ["one=1000"])]


def refusal(said):
    """Why a trace is rightly refused, by what was said of it; nothing where it should have been replayed."""
    return next((reason for pattern, reason in REFUSALS.items() if re.search(pattern, said)), None)
