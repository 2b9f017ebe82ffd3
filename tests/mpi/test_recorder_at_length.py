"""All of mpi4py's own suite under `fishplate profile --trace`, by hand: `make test-mpi4py-recorded`. It passes as it does
without, and what each of its modules did is replayed to the end, or refused for a reason."""

import collections
import os
import re
import sys
import tempfile
from pathlib import Path

from recorded import outcome
from support import AS_ROOT, MpiTest, stack
from test_mpi4py import TESTS, main_py, suite

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
        program = main_py(f"{module}[.]py", *(f"-x{pattern}" for pattern in TESTS))
        command = [stack(mpi) / "mpiexec", *STACKS[mpi], "-n", ranks, stack(mpi) / "python", *program[1:]]
        passes = lambda code, said: code == 0 and len(re.findall(r"Ran \d+ tests? in", said)) == ranks

        def run(command):
            ran = self.run_command(command, TIMEOUT_S, AS_ROOT)
            return ran.code, str(ran)

        # Traces are long: none stays for the next module.
        with tempfile.TemporaryDirectory() as folder:
            what, said = outcome(command, passes, run, Path(folder))
        self.assertEqual(said, "", what)
        return what

    def test_two_ranks(self):
        self.passes("mpich", 2)

    def test_three_ranks(self):
        self.passes("mpich", 3)

    def test_two_ranks_under_open_mpi(self):
        self.passes("openmpi", 2)
