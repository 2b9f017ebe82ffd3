"""Storage that fails while it is written to: a server, a client or a program is killed, the file system is full, the lab is
taken down. Errors are clear, records whole, and nothing is left. Storage that is not set up here is skipped."""

import os
import shlex
import signal

from processes import descendants
from support import FISHPLATE, MpiTest, bench, each, json_lines, stack, testbed

# With the processes that serve it, and how its client is told that they are gone.
SERVED = {
    "nfs": ("ganesha.nfsd", "Socket failed|Error when writing|closed the connection|Broken pipe"),
    "glusterfs:servers=1": ("glusterfsd", "Transport endpoint is not connected"),
}
NOT_HERE = ["namespaces", "iproute2", "is not set up here", "needs root", "/dev/fuse", "overlayfs"]
WRITES = f"{bench('io_threads')} --threads 1 --file-size 2M --operation write --sizes 4K:1M --seconds 1 --json"
READS = f"{bench('io_threads')} --threads 1 --file-size 1M --operation read --iterations 1 --json"


def mounts():
    """What is mounted for testbeds and labs, as this process sees it."""
    with open("/proc/mounts") as table:
        return [line for line in table if "fishplate-testbed" in line or "fishplate-labs" in line]


def running(job, name):
    """Processes of a job, by the name of their program."""
    below = descendants(job.process.pid).items()
    return [number for number, line in below if os.path.basename(line.split()[0]) == name]


class Storage(MpiTest):
    """Programs that write until something happens."""

    def on(self, storage, script):
        """A script on the first of two clients."""
        return testbed("--hosts", "3", "--storage", storage, "--", "sh", "-c", script)

    def need(self, storage):
        """Skips the test, or part of it, unless it comes up here; what else may be wrong is no reason."""
        ran = self.run_command(self.on(storage, "true"))
        if ran.code != 0:
            self.assertTrue(any(reason in ran.err for reason in NOT_HERE), str(ran))
            self.skipTest(f"no {storage} here: {ran.err.strip()}")

    def writing(self, command):
        """A job that has written."""
        job = self.start(command)
        self.wait_for(job, lambda: "write_bandwidth" in job.text()[0])
        return job

    def kill(self, job, name, most):
        """Kills processes of the job, by the name of their program."""
        for number in self.wait_for(job, lambda: running(job, name))[:most]:
            os.kill(number, signal.SIGKILL)

    @each([*((storage, process, 1, told, r"fishplate testbed: storage \w+: .* on node2") for storage, (process, told) in SERVED.items()),
           ("glusterfs:servers=1", "glusterfs", 2, "Software caused connection abort|Transport endpoint",
            "storage glusterfs: glusterfs on node0")])
    def test_a_server_or_a_client_is_killed(self, storage, process, most, told, ended):
        self.need(storage)
        job = self.writing(self.on(storage, f"{WRITES}; echo code $?"))
        self.kill(job, process, most)
        ran = self.finish(job)
        self.assertIn("code 6", ran.out, str(ran))
        self.says(ran, f"io_threads: rank 0: cannot write to .*/file: ({told})",
                  rf"{ended} has ended \(signal: 9 \(SIGKILL\)\)")
        self.assertEqual(mounts(), [])

    @each(["tmpfs", *SERVED])
    def test_a_rank_is_killed_and_others_go_on(self, storage):
        self.need(storage)
        mpiexec = f"{stack('mpich')}/mpiexec -n 2"
        job = self.writing(self.on(storage, f"{mpiexec} {WRITES}; echo code $?; {READS}"))
        self.kill(job, "io_threads", 1)
        ran = self.finish(job)
        _, code, later = ran.out.rpartition("code ")
        self.assertEqual(code, "code ", str(ran))
        self.assertNotEqual(later.split()[0], "0", str(ran))
        self.assertIn('"metric":"read_bandwidth"', later, str(ran))

    @each([("tmpfs", "cannot have files in .*: [0-9]+ bytes are free there"), ("nfs", "cannot write to nfs://.*NOSPC"),
           ("glusterfs:servers=1", "cannot have files in .*: [0-9]+ bytes are free there")])
    def test_it_is_full(self, storage, told):
        self.need(storage)
        large = WRITES.replace("--file-size 2M", "--file-size 32M")
        ran = self.run_command(self.on(f"{storage}:size_mib=16", f"{large}; echo code $?"))
        self.assertEqual(ran.out, "code 6\n", str(ran))
        self.says(ran, f"io_threads: rank 0: {told}")

    @each(["tmpfs", *SERVED])
    def test_a_lab_is_taken_down(self, storage):
        self.need(storage)
        name = f"storage{os.getpid()}"
        up = ["--hosts", "3", "--storage", storage, "--unverified", "--name", name]
        self.addCleanup(lambda: self.fishplate("lab", "down", name))
        self.succeeds(self.fishplate("lab", "up", *up))
        job = self.writing([FISHPLATE, "lab", "exec", "--name", name, "--", *shlex.split(WRITES)])
        self.succeeds(self.fishplate("lab", "down", name))
        ran = self.finish(job)
        self.assertNotEqual(ran.code, 0, str(ran))
        self.assertEqual([line for line in mounts() if name in line], [])

    def test_multipath_tcp_serves_a_storage_beside_a_stack_that_uses_it_too(self):
        storage = "glusterfs:servers=1:mptcp"
        self.need(storage)
        record = self.temporary_folder() / "record.jsonl"
        few = ["--rounds", "1", "--seconds", "0.1", "--record", record]
        both = ["--stacks", "mptcp,mpich-tcp", "--links", "two=0+0", "--storage", storage]
        written = "io_threads:--threads=1:--file-size=1M:--operation=write"
        self.succeeds(self.fishplate("bench", *both, "--benchmarks", written, *few), "1 cells measured, 0 failed")

    def test_one_of_two_links_has_a_storage(self):
        plan = self.temporary_folder() / "plan.toml"
        link = lambda name, storage: f'[[links]]\nname = "{name}"\nrails = [{{ rate_mbit = 0 }}]\n{storage}'
        benchmark = '[[benchmarks]]\nprogram = "{}"\nranks = {}\nlinks = ["{}"]\noptions = "{}"\n'
        plan.write_text('title = "t"\nstacks = ["mpich-tcp"]\nrounds = 1\n' + link("without", "") +
                        link("with", 'storage = "tmpfs"\n') + benchmark.format("latency", 2, "without", "--sizes 1 --iterations 1") +
                        benchmark.format("io_threads", 1, "with", "--threads 1 --file-size 1M --operation write --sizes 4K --iterations 1"))
        record = self.temporary_folder() / "record.jsonl"
        ran = self.fishplate("bench", plan, "--record", record)
        self.succeeds(ran, "2 cells measured, 0 failed")

    def test_a_record_is_whole_when_a_server_is_killed(self):
        """The cell failed, for a reason that is told; the next one has a new lab."""
        storage = "glusterfs:servers=1"
        self.need(storage)
        record = self.temporary_folder() / "record.jsonl"
        written = "io_threads:--threads=1:--file-size=1M:--operation=write"
        plan = ["--stacks", "mpich-tcp", "--links", "lan=0", "--storage", storage, "--rounds", "2", "--seconds", "2"]
        job = self.start([FISHPLATE, "bench", "--benchmarks", written, *plan, "--record", record])
        self.wait_for(job, lambda: running(job, "io_threads"))
        self.kill(job, "glusterfsd", 1)
        ran = self.finish(job)
        [skipped] = json_lines(record, "skipped")
        self.assertRegex(skipped["reason"], r"round 1: storage glusterfs: glusterfsd on \w+ has ended \(signal: 9", str(ran))
        self.assertEqual([line["round"] for line in json_lines(record, "cell")], [1], str(ran))
        self.assertEqual(mounts(), [])
