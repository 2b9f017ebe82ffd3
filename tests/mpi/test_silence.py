"""Silence: what was sent arrives, however long the other side takes. Jobs that mostly sleep run side by side."""

import os
import signal
import tempfile
import time
import unittest
from pathlib import Path

from cuts import TOLD, link_down
from support import MpiTest, command_line, mpi_command, on_first_host, program

# Longer ones as well (tests/run --silences).
AT_LENGTH = bool(os.environ.get("SILENCES"))
# Nothing is told before this.
TOLD_AFTER_S = 10
ON_ONE_HOST = ["--hosts", "1"]


def environment_of(number):
    """Of a process; none when it is gone."""
    try:
        pairs = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        return dict(pair.decode(errors="replace").split("=", 1) for pair in pairs if b"=" in pair)
    except OSError:
        return {}


def process_of(job, name, rank):
    """The process of a rank of a job that runs the program `name`, once there is one."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for number in numbers:
        environment = environment_of(number)
        is_rank = str(rank) in (environment.get("PMI_RANK"), environment.get("OMPI_COMM_WORLD_RANK"))
        if is_rank and environment.get("FISHPLATE_TEST_JOB") == job.mark and f"/{name} " in command_line(number):
            return number
    return None


class Silences(MpiTest):
    """Jobs in which somebody is silent."""

    def late(self, seconds, *sizes, how="met", ranks=2, mpi="mpich", on=(), mpiexec=(), **settings):
        """Starts a job whose receivers come late."""
        command = mpi_command(ranks, program("late", mpi), how, seconds, *sizes, mpi=mpi, on=on, mpiexec=mpiexec)
        return self.start(command, settings)

    def arrives(self, job, ranks=2, timeout=120, warns=None):
        """Every receiver of a job had everything, and there was nothing to be told."""
        self.succeeds(self.finish(job, timeout), *(f"rank {rank} has all" for rank in range(1, ranks)), warns=warns)

    def has_sent(self, job):
        """Waits until rank 0 of a job has sent, so that it waits to end."""
        number = self.wait_for(job, lambda: process_of(job, "late", 0))
        time.sleep(2)
        return number

    def all_cut(self, seconds, ranks, **settings):
        """Starts a job that exchanges messages. All its rails are cut for so long; then it goes on for a while."""
        folder = self.temporary_folder()
        job = mpi_command(ranks, program("steady"), folder / "stop", on=["--rails", "1000,250"])
        down, up = zip(*((cut.begin, cut.end) for cut in map(link_down, ["r0", "r1"])))
        cut = f"{'; '.join(down)}; sleep {seconds}; {'; '.join(up)}"
        script = f"sleep 2; {cut}; sleep 4; touch {folder / 'stop'}; wait $job"
        return self.start(on_first_host(job, lambda here: f"{here} & job=$!; {script}"), settings)

    def goes_on(self, job, timeout=120):
        """It ended well, and told of the silence and of its end, each once for each rank and peer."""
        ran = self.finish(job, timeout)
        self.succeeds(ran, "all right", warns="fishplate: warn")
        waits = r"waits for peer .* \(rank [01] on node[01]\), which has not answered for 1\d s: no rail leads to it"
        self.says(ran, waits, r"\(rank [01] on node[01]\) answers again, after \d+ s", TOLD)
        self.assertEqual(ran.err.count("answers again"), ran.err.count("waits for peer"), str(ran))

    def says_for_whom_it_waits(self, job):
        """It ended well, and its first rank told that it could not end before the second one had answered."""
        ran = self.finish(job)
        self.succeeds(ran, "rank 1 has all", warns="fishplate: warn")
        waits = r"cannot end yet: waits for peer .* \(rank 1 on node1\), which has not answered for 1\d s: "
        self.says(ran, waits + r"\d+ frames, \d+ B, over r0, r1 are not acknowledged", r"answers again, after 1\d s")

    def wait_for_end(self, number, patience_s):
        """Until a process is gone."""
        deadline = time.monotonic() + patience_s
        while command_line(number):
            self.assertLess(time.monotonic(), deadline, "it does not end")
            time.sleep(0.05)


class Silence(Silences):
    """What is tried here ends well, or with one line that says why not."""

    def test_what_was_sent_arrives_however_late_its_receiver(self):
        calls = {"FISHPLATE_PROGRESS": "calls"}
        outage = self.all_cut(TOLD_AFTER_S + 4, 2)
        told = self.late(TOLD_AFTER_S + 4, 65_536, **calls)
        jobs = [
            self.late(8, 8, 1_000_000, **calls),
            self.late(8, 1024, 65_536, how="strangers", **calls),
            self.late(8, 300_000, **calls, FISHPLATE_ENCRYPTION="on"),
            self.late(8, 8, 1_000_000, mpi="openmpi", **calls),
            self.late(8, 65_536, on=ON_ONE_HOST, MPIR_CVAR_NOLOCAL="1", **calls),
            self.late(8, 1_000_000, how="strangers"),
        ]
        for job in jobs:
            self.arrives(job)
        self.says_for_whom_it_waits(told)
        self.goes_on(outage)

    def test_a_receiver_that_is_killed_while_its_sender_waits(self):
        # Hydra kills nobody here.
        job = self.late(60, 65_536, mpiexec=["-disable-auto-cleanup"], FISHPLATE_PROGRESS="calls")
        sender = self.has_sent(job)
        os.kill(process_of(job, "late", 1), signal.SIGKILL)
        self.wait_for_end(sender, 20)
        ran = self.finish(job)
        lost = r"error .* rank 0 on node0: what was sent to peer .* \(rank 1 on node1\) last has not been received: .*"
        self.says(ran, lost + "its process has ended")
        self.assertEqual(ran.err.count("fishplate: "), 1, str(ran))

    def test_a_launcher_that_is_ended_while_its_ranks_wait(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            job = self.late(60, 65_536, FISHPLATE_PROGRESS="calls")
            self.has_sent(job)
            job.process.send_signal(number)
            # What is left behind is looked for at the end.
            job.process.wait(20)


@unittest.skipUnless(AT_LENGTH, "only with --silences")
class AtLength(Silences):
    """The same with all sizes and times, and silences of minutes."""

    SIZES = [8, 1024, 65_536, 300_000, 1_000_000, 16 << 20]

    def test_late_receivers(self):
        for seconds in [1, 4, 6, 8, 20, 60, 120]:
            for encryption in ["off", "on"]:
                settings = {"FISHPLATE_ENCRYPTION": encryption}
                cases = [(size, mpi) for size in self.SIZES for mpi in ["mpich", "openmpi"]]
                jobs = [self.late(seconds, size, mpi=mpi, **settings) for size, mpi in cases]
                for job in jobs:
                    self.arrives(job, timeout=300)

    def test_seven_receivers(self):
        for job in [self.late(20, 8, 1_000_000, ranks=8, FISHPLATE_PROGRESS=how) for how in ["auto", "calls"]]:
            self.arrives(job, ranks=8, warns="waits for")

    def test_all_rails_cut_for_minutes(self):
        cases = [(seconds, encryption) for seconds in [70, 300] for encryption in ["off", "on"]]
        jobs = [self.all_cut(seconds, 2, FISHPLATE_ENCRYPTION=encryption) for seconds, encryption in cases]
        for job in jobs:
            self.goes_on(job, timeout=400)

    def test_a_rank_that_is_stopped(self):
        for seconds in [20, 60]:
            with tempfile.TemporaryDirectory() as folder:
                stop = Path(folder) / "stop"
                job = self.start(mpi_command(2, program("steady"), stop, on=["--rails", "1000,250"]))
                stopped = self.wait_for(job, lambda: process_of(job, "steady", 1))
                time.sleep(2)
                os.kill(stopped, signal.SIGSTOP)
                time.sleep(seconds)
                os.kill(stopped, signal.SIGCONT)
                time.sleep(2)
                stop.touch()
                ran = self.finish(job)
                self.succeeds(ran, "all right", warns="fishplate: warn")
                self.says(ran, r"waits for peer .* \(rank 1 on node1\)", "answers again")
