"""LAMMPS and GROMACS in `fishplate bench`, where they are set up: times of a profile, and rails over time."""

import unittest

from support import MpiTest, is_set_up, json_lines

STACKS = "mpich-tcp,fishplate-mpich,openmpi-tcp,fishplate-openmpi"


class MolecularDynamics(MpiTest):
    def measures(self, application, mpi, other):
        """Few steps on two rails with the stacks of one MPI, and the reason why not with those of another."""
        record = self.temporary_folder() / "record.jsonl"
        ran = self.fishplate("bench", "--stacks", STACKS, "--links", "lan=400+100", "--rounds", "1",
                             "--benchmarks", f"{application}:--steps=5", "--record", record)
        self.assertIn("2 cells measured, 0 failed, 2 cannot be measured", self.succeeds(ran).out)
        samples = json_lines(record, "sample")
        self.assertEqual([(line["stack"], line["metric"]) for line in samples],
                         [(stack, metric) for stack in (f"{mpi}-tcp", f"fishplate-{mpi}")
                          for metric in ("run_time", "communication_time")])
        for run, communication in zip(samples[::2], samples[1::2]):
            self.assertLess(0, communication["value"])
            self.assertLess(communication["value"], run["value"])
            self.assertEqual(run["options"]["steps"], 5)
        [rails] = json_lines(record, "rails")
        self.assertEqual({rail["name"] for rail in rails["rails"]}, {"r0", "r1"})
        self.assertLess(0, rails["step_s"])
        # What goes after a rank's last call of MPI is in the counters alone.
        sent = sum(sum(rail["sent_over_time"]) for rail in rails["rails"])
        counted = sum(rail["bytes"] for rail in rails["rails"])
        self.assertTrue(0.5 * counted < sent <= counted, f"{sent} of {counted} bytes over time")
        for skipped in json_lines(record, "skipped"):
            self.assertIn(f"such as {mpi}-tcp or fishplate-{mpi}", skipped["reason"])
            self.assertIn(other, skipped["stack"])

    @unittest.skipUnless(is_set_up("lammps"), "LAMMPS is not here: `fishplate setup --app lammps` fetches it")
    def test_lammps(self):
        self.measures("lammps", "mpich", "openmpi")

    @unittest.skipUnless(is_set_up("gromacs"), "GROMACS is not here: `fishplate setup --app gromacs` says what is missing")
    def test_gromacs(self):
        self.measures("gromacs", "openmpi", "mpich")
