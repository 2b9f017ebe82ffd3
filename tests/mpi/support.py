"""How tests run MPI programs on testbeds, and what they see of them."""

import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import uuid
from pathlib import Path

from processes import MARK, marked

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
FISHPLATE = BUILD / "bin" / "fishplate"
PROVIDER = BUILD / "lib" / "fishplate"
PROGRAMS = BUILD / "tests"
HERE = Path(__file__).resolve().parent
# Of each MPI interface the stack, and where test programs compiled for it are: MPICH's, the MPI standard's, Open MPI's.
INTERFACES = {"mpich": ("mpich", PROGRAMS), "standard": ("mpich", PROGRAMS / "abi"),
              "openmpi": ("openmpi", PROGRAMS / "openmpi")}

# Open MPI starts nothing as root unless it is told twice.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# A testbed that is told to end gives its command 2 s and then kills it; ten times that is a hang.
GRACE_S = 20
# A job is connected a second after its start; a minute is a hang.
PATIENCE_S = 60
# Longest output that a failure message repeats, from its end.
MOST_SHOWN = 20_000


@functools.cache
def stack(mpi):
    """The folder with the programs of a stack of `fishplate setup`."""
    found = subprocess.run([FISHPLATE, "setup", "--where", mpi], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def is_set_up(name):
    """Whether `fishplate setup` has put this stack or application here."""
    return subprocess.run([FISHPLATE, "setup", "--where", name], capture_output=True).returncode == 0


def mpiexec(interface, ranks):
    """The launcher of an interface's MPI, for ranks on this host."""
    mpi = INTERFACES[interface][0]
    return [stack(mpi) / "mpiexec", "-n", ranks, *(["--oversubscribe"] if mpi == "openmpi" else [])]


def bench(program, mpi="mpich"):
    """A benchmark program."""
    return BUILD / "bench" / mpi / program


def short_bench(record, stacks="mpich-tcp", rounds=1):
    """A measurement of a second or less for each stack and round."""
    return [FISHPLATE, "bench", "--stacks", stacks, "--links", "one=1000", "--benchmarks", "latency", "--sizes", "8", "--rounds", rounds,
            "--seconds", "0.02", "--record", record]


def app(name, mpi="mpich"):
    """An application; `tests/run` builds those for MPICH."""
    return BUILD / "apps" / mpi / name


def program(name, mpi="mpich"):
    """A test program; all are there for MPICH, some for Open MPI."""
    return (PROGRAMS if mpi == "mpich" else PROGRAMS / mpi) / name


def tool(name):
    """A system tool, also where PATH has no sbin."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def with_free_files(count, *command):
    """The command with a limit that lets it open `count` files beside those that the launcher leaves open."""
    limit = (
        f"n=0; free=0; while [ $free -lt {count} ]; do [ -e /proc/$$/fd/$n ] || free=$((free + 1)); n=$((n + 1)); done; "
        'ulimit -n $n; exec "$@"'
    )
    return ["sh", "-c", limit, "sh", *command]


def json_lines(path, kind=None):
    """The lines of a file of JSON, or those of a kind. Without a last one that is torn, and none where there is no file."""
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in lines if kind is None or line["kind"] == kind]


def class_folder(test):
    """A folder until the last test of a class has ended."""
    folder = tempfile.TemporaryDirectory()
    test.addClassCleanup(folder.cleanup)
    return Path(folder.name)


def built(command, where):
    """Runs a command that makes something, which may need to fetch parts from somewhere: skips the tests that use it then."""
    made = subprocess.run(command, capture_output=True, text=True)
    if f"cannot be had from {where}" in made.stderr:
        raise unittest.SkipTest(made.stderr.strip())
    if made.returncode != 0:
        raise AssertionError(made.stderr)


def top(*options):
    """What `fishplate top` shows once."""
    command = [FISHPLATE, "top", "--once", "--every", "0.3", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def top_rows(program):
    """Its rows of the processes of a program."""
    return [row for row in json.loads(top("--json")) if row["program"] == program]


def each(cases):
    """A test of each of these, which are its arguments: set up before and cleaned up after, whether others fail or not."""
    cases = list(cases)

    def test_of(test):
        @functools.wraps(test)
        def run(self):
            for at, case in enumerate(cases):
                words = case if isinstance(case, tuple) else (case,)
                # Scripts are no names.
                with self.subTest(", ".join(word for word in map(str, words) if len(word) < 100)):
                    try:
                        if at > 0:
                            self.setUp()
                        test(self, *words)
                    finally:
                        self.doCleanups()
        return run
    return test_of


class Ran:
    """A command that has ended."""

    def __init__(self, command, code, out, err, counters):
        self.command, self.code, self.out, self.err, self.counters = command, code, out, err, counters

    def __str__(self):
        parts = [f"$ {' '.join(map(str, self.command))}", f"exit code {self.code}"]
        for name, text in [("output", self.out), ("error output", self.err)]:
            parts.append(f"--- {name}\n{text[-MOST_SHOWN:]}")
        return "\n".join(parts)

    def sums(self, of, by="rail"):
        """A counter, summed over all processes for each rail, or for each of what else `by` names."""
        found = {}
        for line in self.counters:
            found[line[by]] = found.get(line[by], 0) + line[of]
        return found

    def shares(self):
        """What part of all bytes each rail sent."""
        sent = self.sums("tx_bytes")
        return {rail: count / sum(sent.values()) for rail, count in sent.items()}

    def used(self):
        """The rails that sent something."""
        return {rail for rail, count in self.sums("tx_bytes").items() if count}

    def json(self):
        """The objects in the output of a benchmark program run with --json."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


class Job:
    """A running command, all of whose processes can be found."""

    # Those that have not been closed, for when the tests are interrupted: unittest does not clean up then.
    open = set()

    def __init__(self, command, environment):
        self.command = [str(part) for part in command]
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.TemporaryDirectory(prefix="job-")
        self.counters = Path(self.folder.name) / "stats.jsonl"
        variables = {name: value for name, value in os.environ.items() if not name.startswith("FISHPLATE_")}
        cache = os.environ.get("FISHPLATE_CACHE")
        variables |= {"FISHPLATE_CACHE": cache} if cache else {}
        variables |= {"FISHPLATE_STATS": str(self.counters), **environment, MARK: self.mark}
        self.files = [(Path(self.folder.name) / name).open("w+b") for name in ("out", "err")]
        self.process = subprocess.Popen(
            self.command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=self.files[0],
            stderr=self.files[1],
            start_new_session=True,
            cwd=ROOT,
        )
        Job.open.add(self)

    def text(self):
        """Output and error output so far."""
        return [Path(file.name).read_text(errors="replace") for file in self.files]

    def wait(self, timeout):
        """Its end. None: it did not come to one, and was killed."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        return self.ran()

    def kill(self):
        """Ends it the way a user would; then harder."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    pass

    def ran(self):
        """What there is to see of it."""
        return Ran(self.command, self.process.poll(), *self.text(), json_lines(self.counters))

    def leftovers(self):
        """Processes of it that stay behind. The kernel takes a moment to end a namespace."""
        deadline = time.monotonic() + GRACE_S
        while (found := marked(self.mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def close(self):
        """Removes its files."""
        Job.open.discard(self)
        for file in self.files:
            file.close()
        self.folder.cleanup()


class MpiTest(unittest.TestCase):
    """A test that runs MPI programs, and finds nothing left of them afterwards."""

    maxDiff = None

    def start(self, command, environment=None):
        """Starts a command; the end of the test ends it."""
        job = Job(command, environment or {})

        def end():
            job.kill()
            left = job.leftovers()
            job.close()
            self.assertEqual(left, [], "processes are left behind")

        self.addCleanup(end)
        return job

    def named(self, program):
        """A program by a name of its own, as other jobs may run on this machine."""
        link = self.temporary_folder() / f"{uuid.uuid4().hex[:12]}"
        link.symlink_to(program)
        return link

    def temporary_folder(self):
        """A folder until the end of the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Path(folder.name)

    def run_command(self, command, timeout=120, environment=None):
        """Runs a command to its end."""
        return self.finish(self.start(command, environment), timeout)

    def fishplate(self, *words, timeout=120, **environment):
        """Runs a command of the program to its end."""
        return self.run_command([FISHPLATE, *words], timeout, environment)

    def finish(self, job, timeout=120):
        """The end of a job."""
        ran = job.wait(timeout)
        if ran is None:
            self.fail(f"not done after {timeout} s:\n{job.ran()}")
        return ran

    def wait_for(self, job, condition, patience_s=PATIENCE_S):
        """What `condition` finds, as soon as it does while a job runs."""
        deadline = time.monotonic() + patience_s
        while not (found := condition()):
            self.assertIsNone(job.process.poll(), str(job.ran()))
            self.assertLess(time.monotonic(), deadline, str(job.ran()))
            time.sleep(0.01)
        return found

    def mpi(self, ranks, *command, on=(), run=(), mpi="mpich", timeout=120, mpiexec=(), **settings):
        """Runs an MPI program with Fishplate on a testbed. `on`: options of the testbed, `run`: of fishplate run,
        `mpiexec`: of mpiexec; `settings`: environment variables."""
        started = mpi_command(ranks, *command, on=on, run=run, mpi=mpi, mpiexec=mpiexec)
        return self.run_command(started, timeout, settings)

    def script(self, lines, run=(), on=None, **settings):
        """Runs lines of shell, until one fails, on the first host of a testbed, or of what else `on` names; under `fishplate run`
        with these options, if any."""
        shell = ["sh", "-ec", lines]
        inside = [FISHPLATE, "run", *run, "--", *shell] if run else shell
        return self.run_command([*(on or testbed("--")), *inside], environment=settings)

    def lab(self, *options):
        """A lab until the end of the test; its name."""
        name = f"t{uuid.uuid4().hex[:8]}"
        self.succeeds(self.fishplate("lab", "up", *options, "--name", name, "--unverified"))
        self.addCleanup(lambda: self.succeeds(self.fishplate("lab", "down", name)))
        return name

    def verified(self, ranks, name, *options):
        """The line of an application over two rails, whose result is right."""
        ran = self.ends_well(self.mpi(ranks, app(name), *options, "--json"))
        [line] = ran.json()
        self.assertEqual((line["kind"], line["checked"], line["ranks"]), ("result", True, ranks), str(ran))
        return line

    def succeeds(self, ran, *texts, warns=None):
        """The command ended well and said all of this, and Fishplate nothing but what `warns`, if anything, is in."""
        self.assertEqual(ran.code, 0, str(ran))
        for text in texts:
            self.assertIn(text, ran.out + ran.err, str(ran))
        said = [line for line in ran.err.splitlines() if "fishplate: " in line]
        complaints = [line for line in said if warns is None or warns not in line]
        self.assertEqual(complaints, [], f"Fishplate complains\n{ran}")
        return ran

    def ends_well(self, ran, *texts, told=()):
        """The command ended well, its output has all texts, and its error output all of `told` (regular expressions), and
        whatever else Fishplate said."""
        self.assertEqual(ran.code, 0, str(ran))
        for text in texts:
            self.assertIn(text, ran.out, str(ran))
        self.says(ran, *told)
        return ran

    def fails(self, ran, *texts):
        """The command failed and said all of this; each text is a regular expression."""
        self.assertNotEqual(ran.code, 0, str(ran))
        self.says(ran, *texts)
        return ran

    def ends_with(self, code, ran, *texts):
        """The command ended with this code and said all of this; each text is a regular expression."""
        self.assertEqual(ran.code, code, str(ran))
        self.says(ran, *texts)
        return ran

    def refuses(self, code, command, *texts, ranks=1, **settings):
        """A command, of words or a line, ends with this code and says all of this; each text is a regular expression."""
        words = shlex.split(command) if isinstance(command, str) else command
        start = [stack("mpich") / "mpiexec", "-n", ranks] if ranks > 1 else []
        self.ends_with(code, self.run_command([*start, *words], environment=settings), *texts)

    def says(self, ran, *texts):
        """The error output has all of this; each text is a regular expression."""
        for text in texts:
            self.assertRegex(ran.err, re.compile(text), str(ran))


def mpi_command(ranks, *command, on=(), run=(), mpi="mpich", mpiexec=()):
    """An MPI program with Fishplate on a testbed."""
    return testbed(*on, "--", FISHPLATE, "run", "--mpi", mpi, *run, "--", "mpiexec", *mpiexec, "-n", ranks, *command)


def testbed(*arguments):
    """A command on a testbed, of two hosts and two rails as fast as the machine unless `arguments` say otherwise."""
    rails = () if "--rails" in arguments else ("--rails", "0,0")
    return [FISHPLATE, "testbed", *rails, *arguments]


def on_node(host, script):
    """A shell line of a testbed that runs a script on one of its hosts."""
    return f"$FISHPLATE_TESTBED_LAUNCH node{host} {shlex.quote(script)}"


def on_host(job):
    """What a job of a testbed runs there."""
    return job[job.index("--") + 1 :]


def on_first_host(job, script):
    """A job of a testbed, in whose place the first host runs what `script` makes of its shell line."""
    return [*job[: job.index("--") + 1], "sh", "-c", script(shlex.join(map(str, on_host(job))))]


def with_mpich(command):
    """A shell line that runs a command with MPICH and Fishplate, but without `fishplate run`."""
    return f'eval "$({FISHPLATE} env --mpi mpich)" && {command}'
