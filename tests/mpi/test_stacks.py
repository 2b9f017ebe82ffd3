"""Stacks: each runs a program of two hosts as its description says, and Fishplate carries the MPIs that are not MPICH."""

import re
import unittest

from support import FISHPLATE, HERE, MpiTest, bench, is_set_up, program, stack, testbed

# Of the programs in tests/programs, those that say most about a transport under another MPI.
PROGRAMS = ["matching", "truncate", "threads", "one_sided"]


class Stacks(MpiTest):
    """The stacks that come with Fishplate."""

    def run_on_testbed(self, name, command, *options, rails="1000,250"):
        """Runs what `fishplate stacks NAME` says, on two hosts."""
        arguments = ["--hosts", "node0,node1", *options, "--", *map(str, command)]
        told = " ".join(f"'{word}'" for word in [FISHPLATE, "stacks", name, *arguments])
        return self.run_command(testbed("--rails", rails, "--", "sh", "-c", f'eval "$({told})"'))

    def is_carried(self, name, mpi="mpich"):
        """The ranks are on both hosts, and a benchmark program's data arrive."""
        options = ["--sizes", "8,1M", "--window", "4", "--iterations", "3", "--warmup", "1", "--check", "--json"]
        ran = self.run_on_testbed(name, ["sh", "-c", f"hostname >&2; {bench('bandwidth', mpi)} {' '.join(options)}"],
                                  "--rails", "r0,r1")
        self.ends_well(ran)
        self.assertEqual(sorted(re.findall("^node[01]$", ran.err, re.MULTILINE)), ["node0", "node1"], str(ran))
        self.assertEqual([line["size"] for line in ran.json() if "size" in line], [8, 1 << 20], str(ran))
        return ran

    def test_mpich(self):
        self.is_carried("mpich-tcp")
        self.is_carried("mpich-ucx")
        self.assertEqual(self.is_carried("fishplate-mpich").used(), {"r0", "r1"})

    def test_open_mpi(self):
        self.is_carried("openmpi-tcp", "openmpi")
        self.assertEqual(self.is_carried("fishplate-openmpi", "openmpi").used(), {"r0", "r1"})

    def test_open_mpi_s_options_for_variables(self):
        ran = self.mpi(2, bench("stress", "openmpi"), "--messages", 200, mpi="openmpi", mpiexec=["-x", "MINE=1"])
        self.succeeds(ran, "all contents right", "2 processes on 2 hosts")

    def test_blocks_and_turns(self):
        for name in ["mpich-tcp", "openmpi-tcp"]:
            rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
            for spread, hosts in [("blocks", "0 0 1 1"), ("in-turn", "0 1 0 1")]:
                show = ["sh", "-c", f"echo {rank} $(hostname)"]
                ran = self.succeeds(self.run_on_testbed(name, show, "--ranks", "4", "--spread", spread))
                said = [line.split() for line in sorted(ran.out.splitlines())]
                self.assertEqual(" ".join(host[-1] for _, host in said), hosts, f"{name} {spread}\n{ran}")

    def test_programs_of_ones_own(self):
        """A few lines describe an MPI that is already on the machine."""
        folder = self.temporary_folder()
        file = folder / "mine.toml"
        file.write_text(f'[mine]\nlike = "mpich-tcp"\npath = "{stack("mpich").parent}"\n')
        listed = self.succeeds(self.fishplate("stacks", "--stacks", file))
        self.assertRegex(listed.out, rf"mine +mine +{re.escape(str(stack('mpich').parent))} +ready")
        ran = self.run_on_testbed("mine", [bench("latency"), "--sizes", "8", "--iterations", "10"], "--stacks", file)
        self.succeeds(ran, "Latency")
        shown = self.fishplate("stacks", "mine", "--stacks", file, "--compile", "bench", "--out", folder / "bench")
        self.assertIn(f"MPICC={stack('mpich')}/mpicc", self.succeeds(shown).out)


class Semantics:
    """What programs of 2 and 4 ranks have to find under any MPI."""

    def test_semantics(self):
        for name in PROGRAMS:
            self.passes(2, name)
        for name in ["matching", "threads", "one_sided"]:
            self.passes(4, name)


class OpenMpi(Semantics, MpiTest):
    """Fishplate under Open MPI, several ranks on each host."""

    def passes(self, ranks, name, *arguments):
        self.succeeds(self.mpi(ranks, program(name, "openmpi"), *arguments, mpi="openmpi"), "all right")

    def test_a_full_unexpected_queue(self):
        self.passes(2, "flood", 60_000, 2000, 20)

    def test_random_messages(self):
        ran = self.mpi(4, bench("stress", "openmpi"), "--messages", 20_000, mpi="openmpi")
        self.assertEqual(ran.shares().keys(), {"r0", "r1", "shm"}, str(self.succeeds(ran)))


@unittest.skipUnless(is_set_up("impi"), "Intel MPI is not here: `fishplate setup --stack impi` accepts its licence")
class IntelMpi(Semantics, MpiTest):
    """Fishplate under Intel MPI, with programs compiled by MPICH's mpicc, whose binary interface it shares."""

    def passes(self, ranks, name):
        ran = self.succeeds(self.mpi(ranks, program(name), mpi="impi"), "all right")
        self.assertGreater(len(ran.counters), 0, str(ran))

    def test_random_messages(self):
        ran = self.mpi(4, bench("stress"), "--messages", 20_000, mpi="impi")
        self.assertEqual(ran.shares().keys(), {"r0", "r1", "shm"}, str(self.succeeds(ran)))

    def test_its_own_compiler(self):
        built = self.temporary_folder() / "crowd"
        compiler = [stack("impi") / "mpicc", "-std=c11", "-O2", "-pthread", "-o", built, HERE.parent / "programs" / "crowd.c"]
        self.ends_well(self.run_command(compiler, environment={"I_MPI_ROOT": str(stack("impi").parent)}))
        self.succeeds(self.mpi(4, built, mpi="impi"), "all right")

    def test_over_tcp(self):
        Stacks.is_carried(self, "impi-tcp")

    run_on_testbed = Stacks.run_on_testbed
