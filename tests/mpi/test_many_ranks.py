"""Jobs of more peers than are connected over all rails at once: connections by need."""

from cuts import TOLD, link_down, loss
from support import MpiTest, bench, each, mpi_command, on_first_host, with_free_files

# On two hosts each rank has 18 peers on the other one, which is more than 16.
RANKS = 36
PAIRS = (RANKS // 2) ** 2


class ManyRanks(MpiTest):
    """36 ranks on two hosts."""

    def links(self, ran):
        """Connections of each rail, at both ends."""
        links = ran.sums("links")
        return [links["r0"], links["r1"]]

    def all_to_all(self, size):
        return self.succeeds(self.mpi(RANKS, bench("alltoall"), "--check", "--sizes", size, "--iterations", 3))

    def test_short_messages_have_one_connection_a_pair_spread_over_the_rails(self):
        links = self.links(self.all_to_all(1024))
        # Two that connect to each other at the same time may both have come through.
        self.assertLess(sum(links), 1.1 * 2 * PAIRS, links)
        self.assertGreater(min(links), 0.3 * sum(links), links)

    def test_long_messages_have_all_rails(self):
        links = self.links(self.all_to_all(65536))
        self.assertGreaterEqual(min(links), 1.8 * PAIRS, links)

    @each([link_down("r1"), loss("r1")])
    def test_another_rail_takes_the_place_of_the_only_one_that_fails(self, cut):
        job = mpi_command(RANKS, bench("alltoall"), "--check", "--sizes", 1024, "--seconds", 2)
        line = lambda here: f"{here} & job=$!\nsleep 2; {cut.for_a_while(15, 0)} & wait $job"
        ran = self.run_command(on_first_host(job, line))
        self.ends_well(ran, told=[TOLD])


class FewerFilesThanPeers(MpiTest):
    """36 ranks on two hosts, which have fewer files for connections than peers on the other host: idle ones are given back."""

    # Some 12 are a rank's own; 18 connections would be one to each peer.
    FILES = 22

    def with_few_files(self, *job, on=()):
        ran = self.mpi(RANKS, *with_free_files(self.FILES, *job), on=on)
        self.succeeds(ran, warns="idle connections are given back")
        self.assertEqual(ran.err.count("idle connections are given back"), 1, str(ran))
        connections = sum(line["links"] for line in ran.counters) / 2
        self.assertGreater(connections, 1.1 * PAIRS, "none was given back")

    def test_each_round_has_other_peers(self):
        ring = [bench("displaced_ring"), "--check", "--window", 4, "--warmup", 0, "--iterations", 1]
        self.with_few_files(*ring, "--sizes", "1K,64K")

    def test_all_talk_to_all_over_one_rail(self):
        self.with_few_files(bench("stress"), "--messages", 2000, on=["--rails", 1000])
