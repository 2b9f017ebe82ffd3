"""Root in a folder of another user, under a umask that lets everybody write: the other user has put links, pipes and second names
under every name that is written. Nothing of root's is overwritten, nothing is waited for, and nothing that others can change is
run.

What is written is found by a first run of each command in a clean folder of that user."""

import os
import shlex
import shutil
import stat
import subprocess
import unittest
import zipfile
from pathlib import Path

from recorded import profiled
from support import FISHPLATE, ROOT, MpiTest, bench, mpi_command, mpiexec, program, short_bench, testbed, with_mpich

# Who owns the folder.
OTHER = 65534
PRECIOUS = b"precious"
TOLD = "that other users may have put there"


@unittest.skipUnless(os.geteuid() == 0, "only root can be in a folder of another user that it may write to")
class ForeignFolders(MpiTest):
    def setUp(self):
        # Where what must not be overwritten is.
        self.own = self.temporary_folder()

    def folder(self, given=()):
        """A folder of the other user's, with copies of what is given."""
        folder = self.temporary_folder() / "folder"
        folder.mkdir()
        folder.chmod(0o777)
        os.chown(folder, OTHER, OTHER)
        for file in given:
            subprocess.run(["cp", "-r", file, folder / file.name], check=True)
        return folder

    def run_in(self, folder, command, **settings):
        """Runs a command there, under that umask."""
        line = f"umask 000; cd {folder} && exec {shlex.join(map(str, command))}"
        return self.run_command(["sh", "-c", line], timeout=180, environment=settings)

    def written(self, folder):
        """Names of what is there."""
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())

    def plant(self, folder, name, make):
        """An entry of the other user's, which `make` makes of its path."""
        entry = folder / name
        entry.parent.mkdir(parents=True, exist_ok=True)
        os.chown(entry.parent, OTHER, OTHER)
        make(entry)
        os.chown(entry, OTHER, OTHER, follow_symlinks=False)

    def check(self, command, given=(), more=(), **settings):
        """Runs a command in a clean folder, then in one where each name that it wrote, and each of `more`, is a link to a precious
        file; then with pipes, which nobody reads: the command ends. `given`: files that it reads."""
        clean = self.folder(given)
        before = set(self.written(clean))
        ran = self.ends_with(0, self.run_in(clean, command, **settings))
        names = [name for name in self.written(clean) if name not in before]
        self.assertTrue(names, f"nothing was written\n{ran}")
        folder, targets = self.folder(given), {}
        for name in [*names, *(f"{name}.part" for name in names), *more]:
            target = targets[name] = self.own / f"{len(targets)}-{Path(name).name}"
            target.write_bytes(PRECIOUS)
            self.plant(folder, name, lambda entry: entry.symlink_to(target))
        ran = self.run_in(folder, command, **settings)
        for name, target in targets.items():
            self.assertEqual(target.read_bytes(), PRECIOUS, f"{name} was overwritten\n{ran}")
            # It is still the link, or was replaced by a file of root's.
            entry = (folder / name).lstat() if os.path.lexists(folder / name) else None
            if entry and not stat.S_ISLNK(entry.st_mode):
                self.assertTrue(stat.S_ISREG(entry.st_mode) or stat.S_ISDIR(entry.st_mode), name)
            target.unlink()
        with_pipes = self.folder(given)
        for name in names:
            self.plant(with_pipes, name, os.mkfifo)
        self.run_in(with_pipes, command, **settings)
        return ran, names

    def linked_folder(self, name, command, given=(), **settings):
        """The folder of this name, which the command would make, is a link to one of root's: nothing comes there."""
        folder, private = self.folder(given), self.own / "private"
        private.mkdir()
        self.plant(folder, name, lambda entry: entry.symlink_to(private))
        ran = self.run_in(folder, command, **settings)
        self.assertEqual(list(private.iterdir()), [], str(ran))
        self.assertIn(TOLD, ran.err, str(ran))
        private.rmdir()

    def profiled(self):
        """A profile, and traces."""
        folder = self.temporary_folder()
        # Of messages alone, which all formats have words for.
        job = [*mpiexec("mpich", 2), bench("latency"), "--sizes", "8", "--iterations", "10"]
        self.ends_well(self.run_command(profiled(folder / "p.json", *job, trace=folder / "trace")))
        return folder / "p.json", folder / "trace"

    def test_counters_of_jobs(self):
        counters = ["--stats", "stats.jsonl"]
        # The testbed's hosts have the folder as well.
        ran, names = self.check(mpi_command(2, program("collectives"), run=counters))
        self.assertEqual(names, ["stats.jsonl"], str(ran))
        self.assertIn(f"--stats stats.jsonl: it is a link {TOLD}", ran.err, str(ran))
        # What ranks write by themselves.
        here = with_mpich(shlex.join(["mpiexec", "-n", "2", str(program("collectives"))]))
        ran, names = self.check([*testbed("--"), "sh", "-c", here], FISHPLATE_STATS="all.jsonl",
                                FISHPLATE_CLUSTERS="0;1", FISHPLATE_COLLECTIVES_LOG="calls.jsonl")
        self.assertEqual(names, ["all.jsonl", "calls.jsonl"], str(ran))
        self.assertIn(f"counters cannot be appended to all.jsonl: it is a link {TOLD}", ran.err, str(ran))
        self.assertIn(f"cannot write to calls.jsonl: it is a link {TOLD}", ran.err, str(ran))

    def test_profiles(self):
        command = profiled("p.json", *mpiexec("mpich", 2), program("profiled"), "counts")
        ran, names = self.check(command, more=["p.ranks"])
        self.assertEqual(names, ["p.html", "p.json"], str(ran))
        self.assertIn(TOLD, ran.err, str(ran))

    def test_traces(self):
        command = profiled("p.json", *mpiexec("mpich", 2), program("profiled"), "counts", trace="t")
        self.linked_folder("t", command)

    def test_what_is_made_of_profiles_and_traces(self):
        profile, trace = self.profiled()
        fishplate = lambda *words: [FISHPLATE, *words]
        self.check(fishplate("profile", "--read", "p.json", "-o", "q.json"), given=[profile])
        self.check(fishplate("trace", "export", "trace", "-o", "out.goal"), given=[trace])
        self.check(fishplate("trace", "export", "trace", "--format", "ti", "-o", "out.ti"), given=[trace])
        predict = fishplate("predict", "trace", "one=1000", "far=1000/10ms")
        self.check([*predict, "--page", "p.html"], given=[trace])
        predict += ["--results", "results"]
        self.check(predict, given=[trace])
        self.linked_folder("results", predict, given=[trace])

    def test_records_and_reports(self):
        bench, folder = short_bench("r.jsonl", "fishplate-mpich"), self.folder()
        self.ends_well(self.run_in(folder, bench))
        record = folder / "r.jsonl"
        self.check([FISHPLATE, "report", "r.jsonl", "-o", "r.html", "--csv", "r.csv", "--markdown", "r.md"], given=[record])
        self.check([FISHPLATE, "reproduce", "--row", "M1", "--record", "p.jsonl"])
        # A record is made anew, or continued where it is the user's own.
        other, target = self.folder(), self.own / "record"
        target.write_bytes(PRECIOUS)
        self.plant(other, "r.jsonl", lambda entry: entry.symlink_to(target))
        for words in [bench, [FISHPLATE, "bench", "--resume", "r.jsonl"]]:
            ran = self.fails(self.run_in(other, words))
            self.assertEqual(target.read_bytes(), PRECIOUS, str(ran))

    def wheel(self, folder, name, version):
        """A package of the other user's."""
        about = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", "")
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")

    def test_setup_runs_nothing_of_the_folder_and_takes_packages_by_their_hashes_alone(self):
        folder, cache, marker = self.folder(), self.own / "cache", self.own / "marker"
        for module in ["venv", "pip", "ensurepip", "sitecustomize", "site", "encodings"]:
            (folder / f"{module}.py").write_text(f"open({str(marker)!r}, 'w')\n")
        for name, version in [("mpich", "5.0.2"), ("mpi4py", "4.1.2")]:
            self.wheel(folder, name, version)
        ran = self.run_in(folder, [FISHPLATE, "setup", "--stack", "mpich"], FISHPLATE_CACHE=str(cache), PIP_NO_INDEX="1",
                          PIP_FIND_LINKS=str(folder), PIP_CONFIG_FILE="/dev/null")
        self.fails(ran, "DO NOT MATCH THE HASHES")
        self.assertEqual(list(cache.rglob("mpich.py")), [], str(ran))
        self.assertFalse(marker.exists(), str(ran))
        self.is_closed(cache, ran)

    def is_closed(self, folder, ran):
        """Nobody else can write to what is there."""
        loose = [path for path in folder.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]
        self.assertEqual(loose, [], str(ran))

    def test_what_is_compiled_can_be_changed_by_nobody_else(self):
        cache = self.temporary_folder() / "cache"
        # One program is as good as all.
        sources = self.own / "bench"
        shutil.copytree(ROOT / "bench", sources)
        stacks = Path(os.environ.get("FISHPLATE_CACHE", Path.home() / ".cache" / "fishplate"))
        cache.mkdir(mode=0o755)
        for entry in stacks.iterdir():
            if entry.name != "bench" and entry.is_dir():
                (cache / entry.name).symlink_to(entry)
        bench = [*short_bench("r.jsonl"), "--sources", sources]
        ran = self.run_in(self.folder(), bench, FISHPLATE_CACHE=str(cache), MAKEFLAGS="PROGRAMS=latency")
        self.ends_well(ran)
        made = [path for path in cache.rglob("*") if not path.is_symlink()]
        self.assertTrue(any(path.is_file() and os.access(path, os.X_OK) for path in made), f"{made}\n{ran}")
        self.is_closed(cache, ran)
