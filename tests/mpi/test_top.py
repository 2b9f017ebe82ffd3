"""`fishplate top` on running jobs: what their rails carry, and which have failed."""

import json
import os
import subprocess
import time

from cuts import link_down
from support import FISHPLATE, MpiTest, mpi_command, on_first_host, program

# A page is written every 0.1 s, and a rail that comes back is taken back within seconds; this is a hang.
PATIENCE_S = 60


def rows(name):
    """What `fishplate top` shows of the processes of a program."""
    shown = subprocess.run(
        [FISHPLATE, "top", "--once", "--json", "--every", "0.3"], capture_output=True, text=True, check=True
    )
    return [row for row in json.loads(shown.stdout) if row["program"] == name]


class Top(MpiTest):
    """Seen from outside of the testbed that the job runs on."""

    def setUp(self):
        self.folder = self.temporary_folder()
        # A name of its own: other jobs may run on this machine.
        self.name = f"top-{os.getpid()}"
        (self.folder / self.name).symlink_to(program("steady"))

    def job(self):
        """Exchanges messages until there is a file `stop`; rail r1 is cut while there is a file `cut`."""
        # With rates: a rail without one may carry everything alone.
        job = mpi_command(2, self.folder / self.name, self.folder / "stop", on=["--rails", "200,200"])
        cut, file = link_down("r1"), self.folder / "cut"
        wait = "sleep 0.05; kill -0 $job 2>/dev/null || break"
        cuts = (
            f"until [ -e {file} ]; do {wait}; done; {cut.begin}\n"
            f"while [ -e {file} ]; do {wait}; done; {cut.end}; wait $job"
        )
        return self.start(on_first_host(job, lambda here: f"{here} & job=$!\n{cuts}"))

    def await_rows(self, job, what, holds):
        """Looks until all rails of both ranks are shown, and are as wanted."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.assertIsNone(job.process.poll(), str(job.ran()))
            seen = {(row["rank"], row["rail"]): row for row in rows(self.name)}
            if len(seen) == 4 and holds(seen):
                return seen
            if time.monotonic() > deadline:
                self.fail(f"{what}: not within {PATIENCE_S} s: {seen}\n{job.ran()}")

    def test_a_running_job_one_of_whose_rails_fails_and_comes_back(self):
        job = self.job()
        is_moving = lambda row: row["state"] == "up" and row["tx_rate"] and row["rx_rate"]
        seen = self.await_rows(job, "both rails carry", lambda seen: all(map(is_moving, seen.values())))
        for rank, host in [(0, "node0"), (1, "node1")]:
            rails = [seen[rank, rail] for rail in ["r0", "r1"]]
            self.assertAlmostEqual(sum(rail["share"] for rail in rails), 1)
            for rail in rails:
                self.assertEqual((rail["host"], rail["peers"]), (host, 1))
                # More are on trial now and then.
                self.assertEqual(rail["links"], rail["streams"])
                self.assertIn(rail["links"], [1, 4])
                self.assertGreater(rail["rtt_us"], 0)

        def failed(seen):
            return all(seen[rank, "r0"]["state"] == "up" and seen[rank, "r1"]["state"] == "failed" for rank in [0, 1])

        (self.folder / "cut").touch()
        seen = self.await_rows(job, "r1 has failed", failed)
        self.assertEqual([seen[rank, "r1"]["links"] for rank in [0, 1]], [0, 0])
        self.await_rows(job, "r0 carries all", lambda seen: failed(seen) and seen[0, "r0"]["share"] == 1)
        (self.folder / "cut").unlink()
        self.await_rows(job, "r1 is back", lambda seen: all(map(is_moving, seen.values())))
        (self.folder / "stop").touch()
        ran = self.finish(job)
        self.assertEqual(ran.code, 0, str(ran))
        self.assertIn("all right", ran.out, str(ran))
        self.assertEqual(rows(self.name), [])
