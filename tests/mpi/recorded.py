"""Programs that are recorded and traced, and what becomes of their traces."""

import json
import re

from support import AS_ROOT, FISHPLATE, MpiTest

# What `fishplate predict` says of traces that it does not replay, and why it is right to.
REFUSALS = {
    r"several of its threads were in MPI at once": "which call of one thread waited for which of another is in no trace",
    r"traces of several runs or programs": "several programs were run",
    r"collective operations of a communicator in different orders": "MPI does not allow it",
    r"there is no file of a rank": "no process called MPI_Init",
}


def profiled(record, *command, trace=None):
    """The command line that records a command, and traces it where there is a folder for that."""
    traced = ["--trace", trace] if trace else []
    return [FISHPLATE, "profile", *traced, "--output", record, "--", *command]


def predicting(trace, *networks):
    """The command line that replays a trace, each rank on a host of its own, at 1000 Mbit/s unless other networks are named."""
    return [FISHPLATE, "predict", "--json", trace, "--ranks-per-node", 1, *(networks or ["one=1000"])]


def calls(rank):
    """How often a rank has made each call."""
    return {call["call"]: call["count"] for call in rank["calls"]}


class RecordedTest(MpiTest):
    """A test that records a program into a folder of its own."""

    def setUp(self):
        self.folder = self.temporary_folder()
        self.trace, self.record = self.folder / "trace", self.folder / "profile.json"

    def recorded(self, *command, **environment):
        """The run of a command, recorded and traced."""
        return self.run_command(profiled(self.record, *command, trace=self.trace), environment=AS_ROOT | environment)

    def ranks(self):
        """What is recorded of each rank."""
        [world] = json.loads(self.record.read_text())["worlds"]
        return world["ranks"]

    def predicted(self, *networks):
        """What the trace takes on each network."""
        return json.loads(self.succeeds(self.run_command(predicting(self.trace, *networks))).out)


def outcome(command, passes, run, folder):
    """What becomes of a command that is recorded and traced, in words, and what was said if that is wrong. It passes as it does
    without, and its trace is replayed to the end, or refused for a reason. `passes` judges its exit code and what it said, which
    `run` returns of a command."""
    trace, record = folder / "trace", folder / "profile.json"
    code, said = run(profiled(record, *command, trace=trace))
    if re.search("recording a profile has failed|panicked|no profile is recorded", said):
        return "WRONG: not recorded", said
    if not passes(code, said):
        return ("WRONG: fails recorded only", said) if passes(*run(command)) else ("fails without being recorded as well", "")
    worlds = json.loads(record.read_text())["worlds"] if record.is_file() else []
    # Of thousands of communicators not each has a row; requests have room enough.
    if any(rank["lost"]["requests"] for world in worlds for rank in world["ranks"]):
        return "WRONG: requests were lost", said
    code, said = run(predicting(trace))
    if code == 0:
        return "passes, replayed", ""
    reason = next((reason for pattern, reason in REFUSALS.items() if re.search(pattern, said)), None)
    return (f"passes, refused: {reason}", "") if reason else ("WRONG: neither replayed nor refused by name", said)
