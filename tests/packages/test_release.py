#!/usr/bin/env python3
"""What a release consists of (`make release`): the tarball with all crates needs no network; what is missing is told.

`make test-release` makes and uses all of it, which takes as long as two builds.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tests" / "mpi")]

import changelog
import source
import trial
from description import Description
from support import built, class_folder

IS_REPOSITORY = (ROOT / ".git").exists() and shutil.which("git")


@unittest.skipUnless(IS_REPOSITORY, "the tarball is made of a commit of git")
class Source(unittest.TestCase):
    """The tarball, unpacked where there is neither a network nor a crate."""

    @classmethod
    def setUpClass(cls):
        cls.folder = class_folder(cls)
        built([ROOT / "packaging/package", "source", cls.folder], "crates.io")
        cls.tarball = next(cls.folder.glob("*.tar.gz"))
        cls.tree = trial.unpack(cls.tarball, cls.folder)

    def cargo(self, *arguments):
        alone, environment = trial.without_network(self.folder)
        command = [*alone, "cargo", *arguments]
        ran = subprocess.run(command, cwd=self.tree, env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_all_crates_are_in_it_and_those_of_other_systems_are_empty(self):
        self.assertLess(self.tarball.stat().st_size, 60_000_000)
        known = json.loads(self.cargo("metadata", "--format-version", "1", "--locked", "--filter-platform", source.TARGET))
        foreign = [package for package in known["packages"] if package["source"]]
        self.assertGreater(len(foreign), 50)
        for package in foreign:
            folder = Path(package["manifest_path"]).parent
            self.assertEqual(folder.parent, (self.tree / "vendor").resolve())
            files = json.loads((folder / ".cargo-checksum.json").read_text())["files"]
            self.assertIn("Cargo.toml", files, f"{folder} is empty")
        emptied = [folder for folder in (self.tree / "vendor").glob("windows*")]
        self.assertEqual(sum(file.stat().st_size for folder in emptied for file in folder.rglob("*.a")), 0)

    def test_a_library_compiles_without_a_network(self):
        # The one with the fewest crates of others: `make test-release` compiles all.
        self.cargo("check", "--quiet", "--locked", "-p", "fishplate-engine")


@unittest.skipUnless(IS_REPOSITORY, "a release is made of a commit of git")
class Mistakes(unittest.TestCase):
    """What is missing is told before anything is built."""

    @classmethod
    def setUpClass(cls):
        cls.folder = class_folder(cls)
        cls.clone = cls.folder / "clone"
        subprocess.run(["git", "clone", "--quiet", "--local", ROOT, cls.clone], check=True)

    def release(self, **environment):
        command = [self.clone / "packaging/release", self.folder / "out"]
        ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertFalse((self.folder / "out/SHA256SUMS").exists())
        return ran.stderr

    def test_no_network(self):
        said = self.release(PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0", PIP_CONFIG_FILE="/dev/null",
                            PIP_FIND_LINKS="", FISHPLATE_CACHE=str(self.folder / "cache"))
        self.assertRegex(said, r"make release: what zig-0.16.0 is made of cannot be had from PyPI: ")

    def test_tools_that_are_missing_and_changes_in_no_commit(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("env", "git", "make", "python3", "unshare"):
            (tools / name).symlink_to(shutil.which(name))
        readme = self.clone / "README.md"
        text = readme.read_text()
        self.addCleanup(readme.write_text, text)
        readme.write_text(text + "More.\n")
        said = self.release(PATH=str(tools))
        for part in ("no dpkg-deb: install the package dpkg", "no readelf: install the package binutils",
                     "there are changes that are in no commit"):
            self.assertIn(f"make release: {part}", said)
        self.assertNotIn("no git", said)

    def test_a_version_without_a_section(self):
        with self.assertRaisesRegex(SystemExit, r"CHANGELOG.md has no section \[9.9.9\]"):
            changelog.section("9.9.9")
        version = Description.read().version
        told = changelog.section(version)
        self.assertTrue(told.startswith(f"## [{version}]"), told[:80])
        self.assertEqual(told.count("\n## ["), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
