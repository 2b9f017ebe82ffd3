"""Rails of libfabric's providers: `tcp`, of the libfabric that MPICH brings, as every machine has it."""

from cuts import link_down
from support import bench, program
from test_failover import Failover


class OfiTest(Failover):
    """Beside rails over network interfaces, on two hosts."""

    def stress(self, rails, ranks=2, messages=2000, warns=None, **settings):
        settings = {"FISHPLATE_RAILS": rails, **settings}
        ran = self.mpi(ranks, bench("stress"), "--messages", messages, on=["--rails", "1000,250"], **settings)
        return self.succeeds(ran, "all contents right", warns=warns).shares()

    def both_carry(self, rails, **settings):
        """Rails that are called after interfaces, which carry only until those can."""
        shares = self.stress(rails, FISHPLATE_STRIPING="even", **settings)
        self.assertEqual(shares.keys(), {"r0", "r1", *rails.split(",")})
        self.assertGreater(min(shares[rail] for rail in rails.split(",")), 0.2, shares)
        self.assertLess(shares["r0"] + shares["r1"], 0.3, shares)


class Shares(OfiTest):
    """What the policy makes of their rates, which other work would change."""

    def test_one_beside_another_carries(self):
        self.assertGreater(self.stress("tcp:r0,r1")["tcp:r0"], 0.1)


class Ofi(OfiTest):
    """What holds at any rates."""

    def test_they_carry(self):
        self.both_carry("tcp:r0,tcp:r1", ranks=4)

    def test_connections_carry(self):
        for rails in ["tcp/msg:r0,tcp/msg:r1", "tcp:r0,sockets/msg:r1"]:
            self.both_carry(rails, messages=500)

    def test_semantics(self):
        for name in ["matching", "one_sided"]:
            self.succeeds(self.mpi(2, program(name), FISHPLATE_RAILS="tcp:r0,r1"), "all right")

    def test_one_that_is_cut(self):
        cut = link_down("r0").for_a_while(0.5)
        for rail in ["tcp:r0", "tcp/msg:r0"]:
            self.survives(cut, 2, bench("stress"), "--duration", 2, says="all contents right", on=["--rails", "1000,1000"],
                          told=f"fishplate: warn .* rail {rail}: ", FISHPLATE_RAILS=f"{rail},r1")

    def test_what_cannot_be_one_is_told_and_the_others_go_on(self):
        for word, why in [
            ("udp/msg:r0", r"the provider udp of libfabric [0-9.]+ does not offer connections with remote reads"),
            ("tcp:nosuch", r"the provider tcp of libfabric [0-9.]+ has no domain nosuch, but .*r0"),
            ("nosuch:r0", r"the provider nosuch of libfabric [0-9.]+ does not offer reliable datagrams or connections"),
        ]:
            said = f"FISHPLATE_RAILS: {word} is no rail: "
            ran = self.mpi(2, bench("stress"), "--messages", 200, FISHPLATE_RAILS=f"{word},r1")
            self.says(self.succeeds(ran, "all contents right", warns=said), said + why)
        ran = self.mpi(2, bench("stress"), "--messages", 200, FISHPLATE_RAILS="tcp:r0,r1", FISHPLATE_ENCRYPTION="on")
        self.succeeds(ran, "all contents right", warns="tcp:r0 is no rail: with FISHPLATE_ENCRYPTION=on")
