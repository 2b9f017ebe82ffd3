#!/usr/bin/env python3
"""What `make demo` and `.ci/run` say, before they build anything, of a machine that lacks something."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "mpi"))

from support import each

TOOLS = ["sh", "sed", "awk", "sort", "head", "tail", "printf", "dirname", "df", "touch", "rm", "mkdir", "ls", "mktemp", "unshare", "true",
         "cargo", "cc", "make", "python3", "ip", "tc"]


class Preflight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.bin, self.cache = (Path(folder.name) / name for name in ("clone", "bin", "cache"))
        self.bin.mkdir()
        (self.root / "packaging").mkdir(parents=True)
        shutil.copy(ROOT / "packaging/preflight", self.root / "packaging/preflight")
        shutil.copy(ROOT / "Cargo.toml", self.root)
        # As if the stacks were set up, so that nothing is asked of PyPI.
        mpiexec = self.cache / "mpich-1/bin/mpiexec"
        mpiexec.parent.mkdir(parents=True)
        mpiexec.touch()
        for tool in TOOLS:
            if there := shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
                self.stands_for(tool, f'exec {there} "$@"')

    def stands_for(self, tool, script):
        file = self.bin / tool
        file.unlink(missing_ok=True)
        if script is None:
            return
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def run_it(self, asked_by="make demo", **environment):
        text = (self.root / "packaging/preflight").read_text()
        # Only the tools of this test.
        (self.root / "packaging/preflight").write_text(text.replace(':/usr/sbin:/sbin"', '"'))
        environment = {**os.environ, "PATH": str(self.bin), "FISHPLATE_CACHE": str(self.cache), **environment}
        command = ["/bin/sh", "packaging/preflight", asked_by]
        ran = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr

    def test_a_machine_that_has_all_is_fit(self):
        self.stands_for("unshare", "exit 0")
        self.assertEqual(self.run_it(), (0, ""))

    @each([
        # All that is missing is told at once.
        (dict.fromkeys(["cargo", "cc", "python3", "tc"]), {},
         ["no cargo", "rustup.rs", "no C compiler", "build-essential", "no python3", "no tc", "iproute2"]),
        ({"cargo": 'echo "cargo 1.70.0 (abc)"'}, {}, ["Rust is 1.70.0, 1.90 or later is needed: `rustup update`"]),
        ({"python3": "exit 1"}, {}, ["install the package python3-venv"]),
        ({"unshare": "exit 1"}, {}, ["no network namespace can be made here"]),
        ({}, {"PREFLIGHT_MEGABYTES": "999999999"}, ["MB are free where {root} is; 999999999 are needed"]),
        # Below a file.
        ({}, {"FISHPLATE_CACHE": "/proc/version/below"}, ["FISHPLATE_CACHE says where else"]),
        # No stack is set up yet, and there is no network.
        ({"unshare": "exit 0"}, {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null",
                                 "FISHPLATE_CACHE": "empty"}, ["PyPI, from which the MPI stacks come, does not answer"]),
    ])
    def test_what_is_missing_is_told(self, tools, environment, told):
        """`tools`: scripts that stand for them, or that they are gone."""
        for tool, script in tools.items():
            self.stands_for(tool, script)
        code, said = self.run_it(**environment)
        self.assertEqual(code, 1)
        for part in told:
            self.assertIn(part.format(root=self.root), said)

    def test_packages_that_would_help(self):
        for tool in ("cc", "tc", "valgrind", "chromedriver"):
            self.stands_for(tool, None)
        code, said = self.run_it("--packages")
        self.assertEqual(code, 0)
        self.assertLessEqual({"build-essential", "iproute2", "valgrind", "chromium-driver"}, set(said.split()))
        self.assertNotIn("python3-venv", said)

    def test_tests_do_without_namespaces(self):
        self.stands_for("unshare", "exit 1")
        self.assertEqual(self.run_it(".ci/run"), (0, ""))
        self.stands_for("cc", None)
        self.assertIn(".ci/run: no C compiler", self.run_it(".ci/run")[1])

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_read_only_folder(self):
        self.root.chmod(0o555)
        self.addCleanup(self.root.chmod, 0o755)
        self.assertIn(f"cannot write into {self.root}", self.run_it()[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
