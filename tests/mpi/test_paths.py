"""Several paths over one port: each is a rail, found by itself, and what one carried goes over the others when it is cut."""

import json

from cuts import TOLD
from support import FISHPLATE, MpiTest, bench, each, program, testbed

# Two hosts with one port each, and two paths of unlike rates between their sites.
PATHS = ("--rails", "400,100", "--port", "0")
# Names of the paths on either host.
HERE, THERE = ["r0/10.77.0.1", "r0/10.77.1.1"], ["r0/10.77.0.2", "r0/10.77.1.2"]


class Shares(MpiTest):
    """What each path carries, which other work would change."""

    @each(["mpich", "openmpi"])
    def test_both_paths_carry_by_their_rates(self, mpi):
        options = ["--check", "--sizes", "1M", "--seconds", 2]
        ran = self.succeeds(self.mpi(2, bench("bandwidth", mpi), *options, on=PATHS, mpi=mpi))
        names = {line["rail"] for line in ran.counters}
        self.assertLessEqual({*HERE, *THERE}, names, str(ran))
        sent = ran.shares()
        slower = sent[HERE[1]] / (sent[HERE[0]] + sent[HERE[1]])
        self.assertTrue(0.1 < slower < 0.3, f"a fifth of both rates\n{ran}")


class Paths(MpiTest):
    """Programs on hosts with one port."""

    def test_a_path_that_is_left_out_carries_nothing(self):
        rails = "^r0/10.77.1.1,r0/10.77.1.2"
        command = [program("kernels"), 1]
        ran = self.succeeds(self.mpi(2, *command, on=PATHS, FISHPLATE_RAILS=rails), "all right")
        self.assertEqual(ran.used() - {"shm"}, {"r0"}, str(ran))

    @each(["mpich", "openmpi"])
    def test_a_path_that_is_cut_leaves_its_work_to_the_other(self, mpi):
        cut = ["--schedule", "2s r1=down; 5s r1=up"]
        ran = self.mpi(2, bench("stress", mpi), "--duration", 6, on=[*PATHS, *cut], mpi=mpi)
        self.ends_well(ran, "all contents right", told=[TOLD.replace("rail r[01]", r"rail r0/10\.77\.1\.[12]")])

    def test_tools_tell_paths_from_each_other(self):
        rails = self.run_command(testbed(*PATHS, "--", FISHPLATE, "rails", "--peer", "10.77.0.2,10.77.1.2", "--json"))
        self.assertEqual(rails.code, 0, str(rails))
        paths = [row for row in json.loads(rails.out) if row["rail"]]
        self.assertEqual([row["name"] for row in paths], HERE)
        self.assertEqual([row["gateway"] for row in paths], ["10.77.0.254", "10.77.1.254"])
        used = [(pair["from"], pair["to"]) for row in paths for pair in row["pairs"] if pair["used"]]
        self.assertEqual(used, [("10.77.0.1", "10.77.0.2"), ("10.77.1.1", "10.77.1.2")])
        doctor = self.run_command(testbed(*PATHS, "--", FISHPLATE, "doctor", "--json", "node1"))
        self.assertEqual(doctor.code, 0, str(doctor))
        for text in [f"back over {rail} in " for rail in [HERE[0], THERE[0]]] + [f", {HERE[1]} in ", f", {THERE[1]} in "]:
            self.assertIn(text, doctor.out, str(doctor))
