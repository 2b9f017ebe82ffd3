"""Silence: what was sent arrives, however long the other side takes. Jobs that mostly sleep run side by side."""

import functools
import itertools
import os
import signal
import time
import unittest
from pathlib import Path

from cuts import TOLD, at_once, link_down, loss
from processes import command_line, marked
from support import MpiTest, mpi_command, on_first_host, program

# Longer ones as well (tests/run --silences).
AT_LENGTH = bool(os.environ.get("SILENCES"))
# Nothing is told before this.
TOLD_AFTER_S = 10
ON_ONE_HOST = ["--hosts", "1"]


def launcher_of(job):
    """The process of mpiexec."""
    return next(number for number, line in marked(job.mark) if line.split(" ")[0].split("/")[-1] == "mpiexec")


def process_of(job, name, rank):
    """The process of a rank of a job that runs the program `name`, once there is one."""
    is_rank = [f"{variable}={rank}".encode() for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK")]
    for number, line in marked(job.mark):
        try:
            environment = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"/{name} " in line and any(one in environment for one in is_rank):
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
        receivers = range(1, max(ranks, 2))
        self.succeeds(self.finish(job, timeout), *(f"rank {rank} has all" for rank in receivers), warns=warns)

    def has_sent(self, job):
        """Waits until rank 0 of a job has sent, so that it waits to end."""
        number = self.wait_for(job, lambda: process_of(job, "late", 0))
        time.sleep(2)
        return number

    def all_cut(self, seconds, ranks, how="messages", cut=link_down, hosts=2, mpi="mpich", **settings):
        """Starts a job that exchanges data. All its rails are cut for so long; then it goes on for a while."""
        folder = self.temporary_folder()
        on = ["--rails", "1000,250" if hosts == 2 else "100,50", "--hosts", hosts]
        job = mpi_command(ranks, program("steady", mpi), folder / "stop", how, on=on, mpi=mpi)
        both = at_once(cut("r0"), cut("r1"))
        script = f"sleep 3; {both.begin}; touch {folder / 'stop.go'}; sleep {seconds}; {both.end}; sleep 4; touch {folder / 'stop'}; wait $job"
        return self.start(on_first_host(job, lambda here: f"{here} & job=$!; {script}"), settings)

    def goes_on(self, job, timeout=120):
        """It ended well, and told of the silence and of its end, each once for each rank and peer."""
        ran = self.finish(job, timeout)
        self.succeeds(ran, "all right", warns="fishplate: warn")
        waits = r"waits for peer .* \(rank \d on node\d\), which has not answered for 1\d s: no rail leads to it"
        self.says(ran, waits, r"\(rank \d on node\d\) answers again, after \d+ s", TOLD)
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
            self.late(8, 1_000_000, how="exits", **calls),
            self.late(8, 65_536, how="session", **calls),
            self.late(8, 1_000_000, how="spawned", ranks=1, **calls),
            self.late(8, 65_536, 1_000_000, **calls, FISHPLATE_RAILS="tcp:r0,tcp:r1"),
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
        lost = r"error .* rank 0 on node0: the last messages to peer .* \(rank 1 on node1\) have not been received: .*"
        self.says(ran, lost + "its process has ended")
        self.assertEqual(ran.err.count("fishplate: "), 1, str(ran))

    def test_a_launcher_that_is_ended_while_its_ranks_wait(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
            job = self.late(60, 65_536, FISHPLATE_PROGRESS="calls")
            sender = self.has_sent(job)
            os.kill(launcher_of(job), number)
            self.wait_for_end(sender, 20)
            # What is left behind is looked for at the end.
            job.process.wait(20)


@unittest.skipUnless(AT_LENGTH, "only with --silences")
class AtLength(Silences):
    """The same with all sizes and times, and silences of minutes."""

    SIZES = [8, 1024, 65_536, 300_000, 1_000_000, 16 << 20]

    # Jobs at once: their starts take a processor for a second each.
    MOST = 24

    def side_by_side(self, starts, end):
        """Starts jobs, so many at once, and has each end."""
        running = []
        for start in starts:
            running.append(start())
            if len(running) == self.MOST:
                end(running.pop(0))
        for job in running:
            end(job)

    def test_late_receivers(self):
        cases = itertools.product([120, 60, 20, 8, 6, 4, 1], self.SIZES, ["mpich", "openmpi"], ["off", "on"], [2, 1])
        starts = [
            functools.partial(self.late, seconds, size, mpi=mpi, on=["--hosts", hosts], MPIR_CVAR_NOLOCAL="1",
                              OMPI_MCA_pml="cm", FISHPLATE_ENCRYPTION=encryption)
            for seconds, size, mpi, encryption, hosts in cases
        ]
        self.side_by_side(starts, lambda job: self.arrives(job, timeout=300))

    def test_a_rail_that_is_cut_while_the_sender_waits(self):
        def start(size, mpi, encryption):
            job = mpi_command(2, program("late", mpi), "met", 20, size, mpi=mpi)
            cut = on_first_host(job, lambda here: f"{here} & job=$!; sleep 12; {link_down('r0').begin}; wait $job")
            return self.start(cut, {"FISHPLATE_ENCRYPTION": encryption, "FISHPLATE_PROGRESS": "calls"})

        cases = itertools.product(self.SIZES, ["mpich", "openmpi"], ["off", "on"])
        starts = [functools.partial(start, *case) for case in cases]
        self.side_by_side(starts, lambda job: self.arrives(job, warns="fishplate: warn"))

    def test_seven_receivers(self):
        for job in [self.late(20, 8, 1_000_000, ranks=8, FISHPLATE_PROGRESS=how) for how in ["auto", "calls"]]:
            self.arrives(job, ranks=8, warns="waits for")

    def test_all_rails_cut_for_minutes(self):
        """Interfaces that are down, and a switch that is silent, in each kind of traffic, or before two ranks have met."""
        kinds = [
            {"ranks": 2},
            {"ranks": 3, "hosts": 3, "how": "collective"},
            {"ranks": 8, "how": "one_sided"},
            {"ranks": 2, "mpi": "openmpi"},
            {"ranks": 6, "hosts": 6, "how": "strangers"},
        ]
        cases = itertools.product([70, 300], ["off", "on"], kinds)
        jobs = []
        for seconds, encryption, kind in cases:
            silent = functools.partial(loss, hosts=range(kind.get("hosts", 2)))
            cut = link_down if kind == {"ranks": 2} and seconds == 70 else silent
            jobs.append(self.all_cut(seconds, **kind, cut=cut, FISHPLATE_ENCRYPTION=encryption))
        for job in jobs:
            self.goes_on(job, timeout=400)

    def test_a_host_that_is_gone_for_good(self):
        """Nothing comes from it any more, neither a reset nor that a carrier is lost."""
        down = at_once(link_down("r0", 2), link_down("r1", 2)).begin
        folder = self.temporary_folder()
        job = mpi_command(3, program("steady"), folder / "stop", on=["--hosts", 3], mpiexec=["-disable-auto-cleanup"])
        command = on_first_host(job, lambda here: f"{here} & job=$!; sleep 3; {down}; touch {folder / 'down'}; wait $job")
        started = self.start(command, {"FISHPLATE_TIMEOUT": "10"})
        self.wait_for(started, (folder / "down").exists)
        os.kill(process_of(started, "steady", 2), signal.SIGKILL)
        lost = r"peer .* \(rank 2 on node2\) is lost: no rail to it has come back for 10 s: rail r\d \(.*\): .*; rail r\d \("
        self.fails(self.finish(started), f"fishplate: rank [01] on node[01]: {lost}")

    def test_ranks_that_are_stopped(self):
        """Of one that is, the other tells; of a pause of all, as of the machine, nobody has heard anything."""
        for seconds, ranks in [(20, [1]), (60, [1]), (20, [0, 1])]:
            stop = self.temporary_folder() / "stop"
            job = self.start(mpi_command(2, program("steady"), stop, on=["--rails", "1000,250"]))
            stopped = [self.wait_for(job, lambda rank=rank: process_of(job, "steady", rank)) for rank in ranks]
            for pause, sent in [(2, signal.SIGSTOP), (seconds, signal.SIGCONT)]:
                time.sleep(pause)
                for number in stopped:
                    os.kill(number, sent)
            time.sleep(2)
            stop.touch()
            ran = self.finish(job)
            if ranks == [0, 1]:
                self.succeeds(ran, "all right")
                continue
            self.succeeds(ran, "all right", warns="fishplate: warn")
            self.says(ran, r"waits for peer .* \(rank 1 on node1\)", "answers again")
