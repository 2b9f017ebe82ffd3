"""Hosts whose rails differ."""

from support import MpiTest, bench, tool, with_mpich


class Hosts(MpiTest):
    """Rails of one host pair with those of another that has more, or others."""

    def test_one_rail_meets_two_in_the_same_network(self):
        ip = tool("ip")
        # The first host has a single rail, which reaches both of the second.
        setup = f"""set -e
            {ip} link add both type bridge forward_delay 0
            for rail in r0 r1; do {ip} link set $rail master both; {ip} address flush dev $rail; done
            address=${{FISHPLATE_TESTBED_ADDRESSES%%,*}}
            {ip} address add $address/24 dev both
            {ip} link set both up
            there="{ip} address flush dev r1; {ip} address add ${{address%.*}}.99/24 dev r1"
            $FISHPLATE_TESTBED_LAUNCH node1 "$there"
            until [ "$(cat /sys/class/net/both/carrier)" = 1 ]; do sleep 0.1; done
            """
        for here, there in [("both", "r0,r1"), ("r0,r1", "both")]:
            first = f"-n 1 env FISHPLATE_RAILS={{}} {bench('stress')} --messages 6000"
            ranks = [first.format(here), first.format(there)]
            hosts = "node0,node1" if here == "both" else "node1,node0"
            line = setup + with_mpich(f"mpiexec -hosts {hosts} {ranks[0]} : {ranks[1]}")
            with self.subTest(first=here):
                ran = self.ends_well(self.script(line), "all contents right")
                # Either interface may answer for the other's address: a connection may break once for that.
                self.assertLessEqual(ran.err.count("the peer has set it up anew"), 2, str(ran))
