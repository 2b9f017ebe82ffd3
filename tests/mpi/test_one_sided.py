"""One-sided MPI over rails: whatever the MPI, its bytes go over them as messages do, operations count once when rails are
cut, and what goes past the rails is told."""

import random
import sys
import unittest

from cuts import link_down, reset
from support import MpiTest, bench, each, program
from test_failover import CUTS, SEED, Failover

MPIS = ["mpich", "openmpi"]
RAILS = ["--rails", "1000,250"]
WINDOW, ITERATIONS, SIZE = 8, 4, 1 << 20
# A counter of each of two ranks gets so many additions of each of 8 ranks in the long test: 10^6 in all.
ADDITIONS = 62_500


class Bytes(MpiTest):
    """Benchmark programs that look at every byte."""

    @each((mpi, *one) for mpi in MPIS for one in [("put_bandwidth", "lock"), ("get_bandwidth", "fence")])
    def test_puts_and_gets_go_over_all_rails(self, mpi, name, sync):
        options = ["--check", "--sizes", SIZE, "--window", WINDOW, "--iterations", ITERATIONS, "--warmup", 0, "--sync", sync]
        ran = self.succeeds(self.mpi(2, bench(name, mpi), *options, on=RAILS, mpi=mpi))
        bytes_of = ran.sums("tx_bytes")
        self.assertGreaterEqual(sum(bytes_of.values()), WINDOW * ITERATIONS * SIZE, str(ran))
        for rail in ["r0", "r1"]:
            self.assertGreater(bytes_of[rail], WINDOW * ITERATIONS * SIZE / 20, str(ran))

    @each(MPIS)
    def test_accumulates_go_over_rails(self, mpi):
        options = ["--check", "--sizes", "64K", "--iterations", 20, "--warmup", 0]
        ran = self.succeeds(self.mpi(2, bench("accumulate_latency", mpi), *options, mpi=mpi))
        self.assertGreaterEqual(sum(ran.sums("tx_bytes").values()), 2 * 20 << 16, str(ran))

    def test_what_goes_past_the_rails_is_told(self):
        options = ["--sizes", SIZE, "--window", WINDOW, "--iterations", ITERATIONS, "--warmup", 0]
        command = [bench("put_bandwidth", "openmpi"), *options]
        # Open MPI's own transport over TCP in the place of that over libfabric.
        ran = self.mpi(2, *command, mpi="openmpi", OMPI_MCA_btl="self,tcp")
        self.ends_well(ran, told=[r"fishplate: 2 ranks sent [\d.]+ MB and received .* none of Fishplate's: .* OMPI_MCA_btl=\^tcp"])
        self.assertLess(sum(ran.sums("tx_bytes").values()), WINDOW * ITERATIONS * SIZE, str(ran))


class Cut(Failover):
    """Rails that are cut under one-sided operations."""

    @each(MPIS)
    def test_puts(self, mpi):
        options = ["--check", "--sizes", "1M", "--seconds", 2]
        self.survives(link_down("r1").for_a_while(0.4), 2, bench("put_bandwidth", mpi), *options, mpi=mpi, on=["--rails", "1000,1000"])

    @each(MPIS)
    def test_counters(self, mpi):
        both = "; ".join(cut.for_a_while(0.2, 0.1) for cut in [link_down("r0"), reset("r1"), link_down("r1", 1)])
        ran = self.disturbed(both, 8, program("counter", mpi), 1000, mpi=mpi)
        self.ends_well(ran, "all right")


@unittest.skipUnless(CUTS, "only with --cuts")
class RandomCuts(Failover):
    """Counters of a million additions, while rails are cut at random."""

    def test_counters(self):
        chance = random.Random(f"{SEED} counters")
        cuts = []
        for _ in range(CUTS):
            rail, host = chance.choice(["r0", "r1"]), chance.randint(0, 1)
            cut = chance.choice([link_down, reset])(rail, host)
            cuts.append(cut.for_a_while(f"{chance.uniform(0.02, 0.4):.3f}", f"{chance.uniform(0, 0.6):.3f}"))
        print(f"{CUTS} cuts of seed {SEED} (CUTS_SEED)", file=sys.stderr)
        for mpi in MPIS:
            with self.subTest(mpi):
                once = f"{'; '.join(cuts)}; wait $job; exit"
                ran = self.disturbed(once, 8, program("counter", mpi), ADDITIONS, mpi=mpi, timeout=900)
                self.ends_well(ran, "all right")
