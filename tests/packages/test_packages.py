#!/usr/bin/env python3
"""The packages of what `make` has built: each is made, installed into an empty place, and used."""

import ast
import email
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("packaging", "tests/mpi")]

import trial
from support import FISHPLATE, ROOT, MpiTest, class_folder, stack, tool

PACKAGE = ROOT / "packaging" / "package"
# Below the prefix of a wheel.
LIBRARIES = Path("share", "fishplate", "lib")
# What starting MPI programs on hosts made of namespaces takes: no compiler, no cargo.
TOOLS = ["env", "hostname", "ip", "python3", "sh", "tc", "uname"]


class Packages(MpiTest):
    """What `make install` puts below a prefix, once for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.folder = class_folder(cls)
        trial.run("make", "--silent", "install", f"DESTDIR={cls.folder}/stage", "PREFIX=/usr", cwd=ROOT)
        cls.prefix = cls.folder / "stage" / "usr"

    @classmethod
    def package(cls, what):
        """A package of it."""
        return Path(trial.run(PACKAGE, what, cls.prefix, cls.folder / what).split(": ")[0])


class Wheel(Packages):
    """`pip install` into an empty environment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wheel = cls.package("wheel")
        cls.home = cls.folder / "environment"
        cls.program = trial.installed_wheel(cls.wheel, cls.home)

    def python(self, script, **variables):
        """What a Python program in the environment prints."""
        return trial.run(self.home / "bin" / "python3", "-c", script, env=trial.clean(**variables))

    def test_size_and_tag_are_true(self):
        self.assertLess(self.wheel.stat().st_size, 15_000_000)
        major, minor = map(int, re.search(r"-py3-none-manylinux_(\d+)_(\d+)_\w+\.whl$", self.wheel.name).groups())
        files = [self.program, *(self.home / LIBRARIES).iterdir()]
        self.assertEqual(len(files), 3)
        needed = re.findall(r"GLIBC_(\d+)\.(\d+)", "".join(trial.run("objdump", "-T", file) for file in files))
        self.assertEqual(max((int(a), int(b)) for a, b in needed), (major, minor))

    def test_the_environment_is_that_of_the_program(self):
        told = json.loads(self.python("import fishplate, json; print(json.dumps(fishplate.environment('--rails', 'a')))"))
        self.assertEqual(told, json.loads(trial.run(self.program, "env", "--rails", "a", "--format", "json")))
        self.assertEqual(told["FI_PROVIDER_PATH"], str((self.home / LIBRARIES).resolve()))
        self.assertEqual(trial.run(self.home / "bin" / "python3", "-m", "fishplate", "--version"), trial.run(self.program, "--version"))

    def test_a_folder_of_its_own(self):
        target = self.folder / "target"
        trial.run(self.home / "bin" / "python3", "-m", "pip", "install", "--quiet", "--no-index", "--target", target, self.wheel)
        told = self.python("import fishplate; print(fishplate.environment()['FI_PROVIDER_PATH'])", PYTHONPATH=str(target))
        self.assertEqual(told, str((target / LIBRARIES).resolve()))

    def test_what_is_wrong_is_told(self):
        script = "import fishplate\ntry: fishplate.environment({})\nexcept fishplate.Error as error: print(error)"
        wrong = self.python(script.format("'--streams', 0"))
        self.assertRegex(wrong, 'fishplate: --streams: FISHPLATE_STREAMS="0" is not a valid setting; allowed: 1 to 16')
        self.addCleanup(self.program.rename(self.program.with_name("moved")).rename, self.program)
        missing = self.python(script.format(""), PATH="/nowhere")
        self.assertRegex(missing, "the program fishplate is neither where its wheel was installed .* nor in PATH")

    def test_manual_completion_and_sources_are_there(self):
        share = self.home / "share"
        self.assertIn("fishplate", (share / "bash-completion/completions/fishplate").read_text())
        self.assertTrue((share / "man/man1/fishplate-run.1").is_file())
        out = self.folder / "out"
        make = ["make", "--silent", "-C", share / "fishplate" / "bench", f"MPICC={stack('mpich')}/mpicc", f"OUT={out}"]
        trial.run(*make, out / "barrier")
        self.assertTrue((out / "barrier").is_file())
        trial.run("make", "--dry-run", "-C", share / "fishplate" / "apps", f"OUT={out}/apps")

    def test_a_program_over_two_rails_without_a_compiler(self):
        """As README.md tells; MPICH and mpi4py are those of `fishplate setup`."""
        tools = self.folder / "tools"
        tools.mkdir()
        for name in TOOLS:
            (tools / name).symlink_to(tool(name))
        self.assertIsNone(shutil.which("cc", path=str(tools)))
        program = self.program
        job = [program, "testbed", "--rails", "1000,250", "--", program, "run", "--mpi", "mpich", "--", "mpiexec", "-n", 2,
               "python3", "-m", "mpi4py.bench", "pingpong", "--min-size", 1 << 20, "--max-size", 1 << 22, "--loop-large", 3]
        if (bed := subprocess.run([program, "testbed", "--", "true"], capture_output=True, text=True)).returncode != 0:
            self.skipTest(f"no testbed here: {bed.stderr.strip()}")
        ran = self.succeeds(self.run_command(job, environment={"PATH": str(tools)}), "MPI PingPong Test")
        self.assertEqual(ran.used(), {"r0", "r1"}, str(ran))


class Mistakes(unittest.TestCase):
    """What is told when something is missing."""

    def says(self, text, *command):
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
        self.assertNotEqual(ran.returncode, 0, ran.stdout)
        self.assertIn(text, ran.stderr)

    def test_mistakes(self):
        nothing = class_folder(type(self))
        self.says("nothing is built yet: run `make` first", "make", "install", f"BUILD={nothing}", f"DESTDIR={nothing}")
        self.says(f"{nothing}/bin/fishplate is not there: run `make install` with this PREFIX first",
                  "make", "modulefile", f"PREFIX={nothing}")
        self.says("package wheel PREFIX OUT", PACKAGE, "rpm")
        self.says(f"{nothing}/bin/fishplate is not there", PACKAGE, "wheel", nothing, nothing)


@unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg-deb is not installed")
class Debian(Packages):
    """The Debian package."""

    def test_it_installs_and_runs(self):
        deb = self.package("deb")
        fields = email.message_from_string(trial.run("dpkg-deb", "--field", deb))
        self.assertRegex(fields["Depends"], r"^libc6 \(>= 2\.\d+\), libgcc-s1$")
        root = self.folder / "root"
        told = json.loads(trial.run(trial.installed_deb(deb, root), "env", "--format", "json"))
        self.assertIn("install ok installed", (root / "var/lib/dpkg/status").read_text())
        self.assertTrue(told["FI_PROVIDER_PATH"].endswith("/root/usr/lib/fishplate"), told)
        trial.run("md5sum", "--check", "--quiet", root / "var/lib/dpkg/info/fishplate.md5sums", cwd=root)
        copyright = (root / "usr/share/doc/fishplate/copyright").read_text()
        for licence in ["Apache License", "Permission is hereby granted", "clap "]:
            self.assertIn(licence, copyright)

    def test_a_module_file_of_what_is_installed(self):
        build = self.folder / "build"
        (build / "bin").mkdir(parents=True)
        module = trial.run("make", "--silent", "modulefile", f"PREFIX={self.prefix}", f"BUILD={build}", cwd=ROOT)
        text = Path(module).read_text()
        self.assertTrue(text.startswith("#%Module1.0\n"), text)
        for line in [f'prepend-path PATH "{self.prefix}/bin"', f'prepend-path FI_PROVIDER_PATH "{self.prefix}/lib/fishplate"']:
            self.assertIn(f"\n{line}\n", text)


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "the tarball is made of a commit of git")
class Recipes(unittest.TestCase):
    """Recipes for Spack and EasyBuild, which are not here: what they say is looked at."""

    @classmethod
    def setUpClass(cls):
        cls.folder = class_folder(cls)
        trial.run(PACKAGE, "recipes", cls.folder, "https://example.org/get/")
        cls.tarball = next(cls.folder.glob("*.tar.gz"))
        cls.sum = hashlib.sha256(cls.tarball.read_bytes()).hexdigest()

    def test_the_tarball_has_the_sources(self):
        with tarfile.open(self.tarball) as tar:
            names = tar.getnames()
        folder = self.tarball.name.removesuffix(".tar.gz")
        for name in ["Makefile", "Cargo.lock", "transport/provider/Cargo.toml"]:
            self.assertIn(f"{folder}/{name}", names)

    def test_spack(self):
        recipe = self.folder / "spack/spack_repo/fishplate/packages/fishplate/package.py"
        tree = ast.parse(recipe.read_text())
        package = next(node for node in tree.body if isinstance(node, ast.ClassDef))
        self.assertEqual(package.name, "Fishplate")
        calls = [node.value for node in package.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        version = next(call for call in calls if call.func.id == "version")
        self.assertEqual(version.keywords[0].value.value, self.sum)
        self.assertIn(f'url = "https://example.org/get/{self.tarball.name}"', recipe.read_text())
        self.assertTrue((self.folder / "spack/spack_repo/fishplate/repo.yaml").is_file())

    def test_easybuild(self):
        recipe = next((self.folder / "easybuild").glob("*.eb"))
        said = {}
        exec(compile(recipe.read_text(), recipe, "exec"), said)
        toolchain = said["toolchain"]
        self.assertEqual(recipe.name, f"fishplate-{said['version']}-{toolchain['name']}-{toolchain['version']}.eb")
        self.assertEqual((said["sources"], said["checksums"]), ([self.tarball.name], [self.sum]))
        self.assertEqual(said["source_urls"], ["https://example.org/get"])


if __name__ == "__main__":
    if not FISHPLATE.is_file():
        sys.exit(f"{FISHPLATE} is not there: run `make`")
    unittest.main(verbosity=2)
