"""Interrupted jobs leave nothing behind. Runs last: nor have the other tests."""

import os
import signal
import time
import unittest
from pathlib import Path

from processes import MARK, command_line, processes
from support import MpiTest, mpi_command, program, testbed

# Links of this machine before the tests. Testbeds make theirs in namespaces of their own.
LINKS = set(os.listdir("/sys/class/net"))


def topologies():
    """Files that MPICH's hydra leaves when it is killed."""
    return set(Path("/tmp").glob("hydra_hwloc_xmlfile_*"))


class Interrupted(MpiTest):
    """A job of four ranks that is ended from outside while it exchanges messages."""

    def interrupted(self, number):
        before = topologies()
        job = self.start(mpi_command(4, program("steady"), self.temporary_folder() / "stop"))
        self.wait_for(job, lambda: "connected" in job.text()[0])
        if number == signal.SIGINT:
            os.killpg(job.process.pid, number)  # What a terminal does.
        else:
            job.process.send_signal(number)
        ran = self.finish(job)
        self.assertEqual(job.leftovers(), [], str(ran))
        self.assertEqual(topologies() - before, set(), "hydra writes these outside of TMPDIR")
        return ran

    def test_ctrl_c(self):
        self.assertEqual(self.interrupted(signal.SIGINT).code, 130)

    def test_sigterm(self):
        self.assertEqual(self.interrupted(signal.SIGTERM).code, 143)

    def test_sigkill(self):
        self.assertEqual(self.interrupted(signal.SIGKILL).code, -signal.SIGKILL)
        # As documented, the testbed's folder stays until the next testbed removes it, which spares folders younger than
        # ten seconds.
        temporary = Path(os.environ["TMPDIR"])
        [left] = [folder for folder in temporary.iterdir() if folder.name.startswith("fishplate-testbed-")]
        long_ago = time.time() - 60
        os.utime(left, (long_ago, long_ago))
        self.succeeds(self.run_command(testbed("--", "true")))
        self.assertFalse(left.exists())


class Nothing(unittest.TestCase):
    """The state of the machine after all tests."""

    def test_no_process_is_left(self):
        self.assertNotIn(MARK, os.environ)
        left = []
        for number, folder in processes():
            try:
                if os.environ["TMPDIR"].encode() in (folder / "environ").read_bytes():
                    left.append(command_line(number))
            except OSError:
                pass
        self.assertEqual(left, [])

    def test_no_link_is_left(self):
        self.assertEqual(set(os.listdir("/sys/class/net")) - LINKS, set())

    def test_no_temporary_file_is_left(self):
        # All tests and what they start have this folder for themselves (tests/run).
        self.assertEqual(os.listdir(os.environ["TMPDIR"]), [])
