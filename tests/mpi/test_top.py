"""`fishplate top` on running jobs: what their rails carry, and which have failed."""

from cuts import link_down
from support import MpiTest, mpi_command, on_first_host, program, top_rows


class Top(MpiTest):
    """Seen from outside of the testbed that the job runs on."""

    def setUp(self):
        self.program = self.named(program("steady"))
        self.folder = self.program.parent

    def job(self):
        """Exchanges messages until there is a file `stop`; rail r1 is cut while there is a file `cut`."""
        # With rates: a rail without one may carry everything alone.
        job = mpi_command(2, self.program, self.folder / "stop", on=["--rails", "200,200"])
        cut, file = link_down("r1"), self.folder / "cut"
        wait = "sleep 0.05; kill -0 $job 2>/dev/null || break"
        cuts = (
            f"until [ -e {file} ]; do {wait}; done; {cut.begin}\n"
            f"while [ -e {file} ]; do {wait}; done; {cut.end}; wait $job"
        )
        return self.start(on_first_host(job, lambda here: f"{here} & job=$!\n{cuts}"))

    def await_rows(self, job, holds):
        """Looks until all rails of both ranks are shown, and are as wanted: a rail that comes back is taken back within
        seconds."""
        def look():
            seen = {(row["rank"], row["rail"]): row for row in top_rows(self.program.name)}
            return seen if len(seen) == 4 and holds(seen) else None

        return self.wait_for(job, look)

    def test_a_running_job_one_of_whose_rails_fails_and_comes_back(self):
        job = self.job()
        is_moving = lambda row: row["state"] == "up" and row["tx_rate"] and row["rx_rate"]
        seen = self.await_rows(job, lambda seen: all(map(is_moving, seen.values())))
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
        seen = self.await_rows(job, failed)
        self.assertEqual([seen[rank, "r1"]["links"] for rank in [0, 1]], [0, 0])
        self.await_rows(job, lambda seen: failed(seen) and seen[0, "r0"]["share"] == 1)
        (self.folder / "cut").unlink()
        self.await_rows(job, lambda seen: all(map(is_moving, seen.values())))
        (self.folder / "stop").touch()
        self.ends_well(self.finish(job), "all right")
        self.assertEqual(top_rows(self.program.name), [])
