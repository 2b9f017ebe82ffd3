#!/usr/bin/env python3
"""What `make demo` and `.ci/run` say, before they build anything, of a machine that lacks something."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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

    def test_all_that_is_missing_is_told_at_once(self):
        for tool in ("cargo", "cc", "python3", "tc"):
            (self.bin / tool).unlink(missing_ok=True)
        code, said = self.run_it()
        self.assertEqual(code, 1)
        for part in ("no cargo", "rustup.rs", "no C compiler", "build-essential", "no python3", "no tc", "iproute2"):
            self.assertIn(part, said)

    def test_packages_that_would_help(self):
        for tool in ("cc", "tc", "valgrind", "chromedriver"):
            (self.bin / tool).unlink(missing_ok=True)
        code, said = self.run_it("--packages")
        self.assertEqual(code, 0)
        self.assertLessEqual({"build-essential", "iproute2", "valgrind", "chromium-driver"}, set(said.split()))
        self.assertNotIn("python3-venv", said)

    def test_tests_do_without_namespaces(self):
        self.stands_for("unshare", "exit 1")
        self.assertEqual(self.run_it(".ci/run"), (0, ""))
        (self.bin / "cc").unlink()
        self.assertIn(".ci/run: no C compiler", self.run_it(".ci/run")[1])

    def test_old_rust(self):
        self.stands_for("cargo", 'echo "cargo 1.70.0 (abc)"')
        self.assertIn("Rust is 1.70.0, 1.90 or later is needed: `rustup update`", self.run_it()[1])

    def test_python_without_venv(self):
        self.stands_for("python3", "exit 1")
        self.assertIn("install the package python3-venv", self.run_it()[1])

    def test_no_namespaces(self):
        self.stands_for("unshare", "exit 1")
        self.assertIn("no network namespace can be made here", self.run_it()[1])

    def test_no_space(self):
        code, said = self.run_it(PREFLIGHT_MEGABYTES="999999999")
        self.assertEqual(code, 1)
        self.assertIn(f"MB are free where {self.root} is; 999999999 are needed", said)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_read_only_folder(self):
        self.root.chmod(0o555)
        self.addCleanup(self.root.chmod, 0o755)
        self.assertIn(f"cannot write into {self.root}", self.run_it()[1])

    def test_a_cache_that_is_a_file(self):
        file = self.root / "cache"
        file.touch()
        self.assertIn("FISHPLATE_CACHE says where else", self.run_it(FISHPLATE_CACHE=str(file / "below"))[1])

    def test_no_network(self):
        shutil.rmtree(self.cache / "mpich-1")
        self.stands_for("unshare", "exit 0")
        code, said = self.run_it(PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0", PIP_CONFIG_FILE="/dev/null")
        self.assertEqual(code, 1)
        self.assertIn("PyPI, from which the MPI stacks come, does not answer", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
