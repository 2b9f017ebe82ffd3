"""All of mpi4py's own suite under `fishplate profile --trace`, by hand: `make test-mpi4py-recorded`. It passes as it does
without, and what each of its modules did is replayed to the end, or refused for a reason."""

import collections
import json
import os
import re
import shutil
import sys

from mpi4py_exclusions import TESTS
from recorded import predicting, profiled, refusal
from support import AS_ROOT, FISHPLATE, MpiTest, stack
from test_mpi4py import main_py, suite

# Of a module.
TIMEOUT_S = 300
# MPI -> what its launcher needs.
STACKS = {"mpich": [], "openmpi": ["--oversubscribe"]}


class Mpi4py(MpiTest):
    """Each module by itself, so that each leaves a trace of its own."""

    def modules(self):
        """Their names; MODULES= names some alone."""
        every = sorted(file.stem for file in (suite() / "test").glob("test_*.py"))
        wanted = os.environ.get("MODULES", "").split()
        return [name for name in every if not wanted or name in wanted]

    def passes(self, mpi, ranks):
        found = collections.Counter()
        for module in self.modules():
            with self.subTest(module, mpi=mpi, ranks=ranks):
                found[self.outcome(mpi, ranks, module)] += 1
        for outcome, count in sorted(found.items()):
            print(f"{mpi}, {ranks} ranks: {count} modules {outcome}", file=sys.stderr)

    def outcome(self, mpi, ranks, module):
        """What became of a module, in words."""
        folder = self.temporary_folder()
        try:
            return self.outcome_in(folder, mpi, ranks, module)
        finally:
            shutil.rmtree(folder / "trace", ignore_errors=True)

    def outcome_in(self, folder, mpi, ranks, module):
        trace = folder / "trace"
        program = main_py(f"{module}[.]py", *(f"-x{pattern}" for pattern in TESTS))
        command = [stack(mpi) / "mpiexec", *STACKS[mpi], "-n", ranks, stack(mpi) / "python", *program[1:]]
        ran = self.run_command(profiled(FISHPLATE, folder / "profile.json", *command, trace=trace), TIMEOUT_S, AS_ROOT)
        said = ran.out + ran.err
        if ran.code != 0 or len(re.findall(r"Ran \d+ tests? in", said)) != ranks:
            without = self.run_command(command, TIMEOUT_S, AS_ROOT)
            self.assertNotEqual(without.code, 0, f"passes without, and fails recorded\n{ran}")
            return "fail without being recorded as well"
        self.assertNotRegex(said, "recording a profile has failed|panicked")
        for world in json.loads((folder / "profile.json").read_text())["worlds"]:
            self.assertEqual({rank["lost"]["requests"] for rank in world["ranks"]}, {0})
        predicted = self.run_command(predicting(FISHPLATE, trace), TIMEOUT_S)
        if predicted.code == 0:
            return "replayed"
        reason = refusal(predicted.err)
        self.assertIsNotNone(reason, f"neither replayed nor refused by name\n{predicted}")
        return f"refused: {reason}"

    def test_two_ranks(self):
        self.passes("mpich", 2)

    def test_three_ranks(self):
        self.passes("mpich", 3)

    def test_two_ranks_under_open_mpi(self):
        self.passes("openmpi", 2)
