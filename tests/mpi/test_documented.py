"""The commands of README.md and of the guide do what they say, on hosts of a testbed (documented.py)."""

import shutil
import sys

import documented
from support import FISHPLATE, ROOT, MpiTest, app, bench, stack

sys.path.append(str(ROOT / "tests" / "report"))
import records

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PLAN = """
stacks = ["mpich-tcp"]
rounds = 1
links = [{ name = "lan", rails = [{ rate_mbit = 400 }] }]
[[benchmarks]]
program = "latency"
options = "--sizes 8 --iterations 10"
"""
STACK = """
[mine]
like = "mpich-tcp"
"""

# Any number of ranks of either MPI. `mpiexec` of Open MPI says what it is by a variable.
APP = f"""#!/bin/sh
options="--sizes 64K --iterations 5 --warmup 1"
[ -z "$OMPI_COMM_WORLD_SIZE" ] || exec {bench("allreduce", "openmpi")} $options
exec {bench("allreduce")} $options
"""


class Documented(MpiTest):
    def reader(self, page):
        """A folder with the files that a page names."""
        self.folder = self.temporary_folder()
        for name in ("app", "program"):
            (self.folder / name).write_text(APP)
            (self.folder / name).chmod(0o755)
        (self.folder / "app.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
        secret = self.folder / ".fishplate-secret"
        secret.write_bytes(bytes(range(32)))
        secret.chmod(0o600)
        (self.folder / "build").symlink_to(ROOT / "build")
        (self.folder / "apps").symlink_to(app("is").parent)
        (self.folder / "plan.toml").write_text(PLAN)
        (self.folder / "my-stacks.toml").write_text(STACK)
        shutil.copy(ROOT / "lab/sim/testbeds/eth-100g-wan.toml", self.folder / "my-cluster.toml")
        shutil.copy(ROOT / "docs/examples/demo.json", self.folder)
        named = ("record", "monday", "tuesday", "main", "branch") if page.stem in ("compare", "report") else ()
        for seed, name in enumerate(named):
            records.write(self.folder / f"{name}.jsonl", records.record(seed=seed, rounds=2))

    def runs(self, line):
        """The command, as a reader would type it."""
        script = documented.here(line)
        if documented.needs_hosts(script):
            shell = f"cd {self.folder} && {script}"
            command = [FISHPLATE, "testbed", "--hosts", "3", "--", "sh", "-c", shell]
        else:
            command = ["bash", "-c", f"cd {self.folder} && {script}"]
        settings = {"PATH": f"{FISHPLATE.parent}:{stack('mpich')}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder),
                    "FISHPLATE_CACHE": str(stack("mpich").parent.parent), "XDG_RUNTIME_DIR": str(self.folder), "SLURM_SUBMIT_DIR": str(self.folder)}
        # `fishplate bench` compiles its programs first.
        return self.run_command(command, timeout=300, environment=settings)

    def test_commands_of_the_guide(self):
        for page in PAGES:
            self.reader(page)
            for line in documented.lines(page):
                if documented.why_not(line):
                    continue
                with self.subTest(page=page.name, line=line):
                    ran = self.runs(line)
                    self.assertEqual(ran.code, documented.code(line), str(ran))
            if page.stem == "lab":
                # The last lab of the page.
                self.runs("fishplate lab down")

    def test_every_exception_is_needed(self):
        lines = [line for page in PAGES for line in documented.lines(page)]
        self.assertGreater(len(lines), 100)
        known = {documented.why_not(line)[0] for line in lines if documented.why_not(line)}
        self.assertEqual(set(documented.NOT_RUN) - known, set())
