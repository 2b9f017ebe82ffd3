"""Hosts that find each other: several addresses an interface, addresses that come late, one network for two rails, and other
networks that are not as in a textbook. Each case is a pair of hosts whose interfaces are set up anew inside of a testbed."""

import shlex

from support import FISHPLATE, ROOT, MpiTest, bench, each, testbed, tool

IP = tool("ip")
TUNNEL = ROOT / "tests" / "mpi" / "tunnel.py"

# Keeps the namespaces of both hosts by a process each, whose number is in $TMPDIR/reach.
HOLD = r"""
mkdir -p $TMPDIR/reach
for host in 0 1; do
    $FISHPLATE_TESTBED_LAUNCH node$host "echo \$\$ > $TMPDIR/reach/$host; exec sleep 1000" &
done
until [ -s $TMPDIR/reach/0 ] && [ -s $TMPDIR/reach/1 ]; do sleep 0.05; done
"""

# A switch of its own for both rails of both hosts: in a namespace, with ports that join it in the given order. What is
# asked of a network first is answered by whichever port comes first.
SWITCH = "unshare -n sleep 1000 & switch=$!" + HOLD + r"""
# Until then it is in the namespace of this script.
until [ "$(readlink /proc/$switch/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
in_switch="nsenter -t $switch -n"
$in_switch {ip} link add sw type bridge forward_delay 0
$in_switch {ip} link set sw up
for host in 0 1; do for rail in 0 1; do
    pid=$(cat $TMPDIR/reach/$host)
    {ip} link add s$rail netns $pid type veth peer name p$host$rail netns $switch
    nsenter -t $pid -n sh -c "{ip} link set s$rail addrgenmode {mode}
        {ip} address add 10.9.0.$rail$((host + 1))/24 dev s$rail; {ip} link set s$rail up"
done; done
for port in {order}; do
    $in_switch {ip} link set p$port master sw
    $in_switch {ip} link set p$port up
done
until [ "$($in_switch {ip} -brief link show type veth | grep -c LOWER_UP)" = 4 ]; do sleep 0.05; done
sleep {settle}
"""


def on(host, script):
    """A line that runs a script on a host of the testbed."""
    return f"$FISHPLATE_TESTBED_LAUNCH node{host} {shlex.quote('set -e; ' + script)}"


def readdress(*interfaces):
    """Shell lines that give interfaces other addresses: (name, address, ...)."""
    lines = []
    for name, *addresses in interfaces:
        lines += [f"{IP} address flush dev {name}"]
        lines += [f"{IP} address add {address} dev {name} {'nodad' if ':' in address else ''}" for address in addresses]
    return "; ".join(lines)


def own_addresses(*interfaces):
    """Has interfaces make up the addresses of their link (IPv6), and waits until they are nobody else's."""
    lines = []
    for name in interfaces:
        lines += [f"{IP} link set {name} down", f"{IP} link set {name} addrgenmode eui64", f"{IP} link set {name} up"]
    return "; ".join([*lines, f"until {IP} -6 address show scope link | grep -q fe80 && "
                      f"! {IP} -6 address show | grep -q tentative; do sleep 0.1; done"])


class ReachTest(MpiTest):
    """Two ranks on two hosts."""

    def job(self, setup, command, rails=("--rails", "0,0"), mpi="mpich", mpiexec="-n 2", hosts="node0,node1", **settings):
        """Starts an MPI program after a setup script."""
        where = f"-hosts {hosts}" if mpi == "mpich" else ""
        run = f"{FISHPLATE} run --mpi {mpi} -- mpiexec {where} {mpiexec} {shlex.join(map(str, command))}"
        return self.start(testbed(*rails, "--", "sh", "-c", f"set -e\n{setup}\nexec {run}"), settings)

    def carries(self, setup, on, mpi="mpich", warns=None, least=0.02, **options):
        """A program's messages arrive, and all of these rails carry some; of either host its own, if they differ."""
        command = [bench("stress", mpi), "--messages", 3000]
        ran = self.finish(self.job(setup, command, mpi=mpi, **options))
        self.succeeds(ran, "all contents right", warns=warns)
        shares = ran.shares()
        for rail in on:
            self.assertGreater(shares.get(rail, 0), least, f"{rail} carries nothing: {shares}\n{ran}")
        return ran


class Addresses(ReachTest):
    """An interface stands for all its addresses."""

    def test_a_host_without_ipv4(self):
        both = "; ".join([on(0, readdress(("r0", "10.1.0.1/24", "fd00::1/64"), ("r1", "10.1.1.1/24", "fd01::1/64"))),
                          on(1, readdress(("r0", "fd00::2/64"), ("r1", "fd01::2/64")))])
        for mpi in ["mpich", "openmpi"]:
            with self.subTest(mpi):
                self.carries(both, ["r0", "r1"], mpi=mpi)
        for hosts in ["node0,node1", "node1,node0"]:
            with self.subTest(hosts):
                self.carries(both, ["r0", "r1"], hosts=hosts)

    def test_first_addresses_of_networks_that_the_peer_has_not(self):
        setup = "; ".join([on(0, readdress(("r0", "10.5.0.1/24", "10.1.0.1/24"), ("r1", "10.6.0.1/24", "10.1.1.1/24"))),
                           on(1, readdress(("r0", "10.1.0.2/24"), ("r1", "10.7.0.1/24", "10.1.1.2/24")))])
        self.carries(setup, ["r0", "r1"])

    def test_an_address_with_a_label_is_no_other_interface(self):
        label = f"{IP} address add 10.8.0.{{}}/24 dev r0 label r0:1"
        self.carries(f"{on(0, label.format(1))}; {on(1, label.format(2))}", ["r0", "r1"])

    def test_an_address_that_both_hosts_have(self):
        # As of virtual machines behind NAT. The other one reaches.
        setup = "; ".join([on(0, readdress(("r0", "10.0.2.15/24"))), on(1, readdress(("r0", "10.0.2.15/24")))])
        self.carries(setup, ["r1"])

    def test_addresses_of_a_link_alone(self):
        for name, here, there in [
            ("IPv4", readdress(("r0", "169.254.3.1/16"), ("r1", "169.254.4.1/16")),
             readdress(("r0", "169.254.3.2/16"), ("r1", "169.254.4.2/16"))),
            ("IPv6", f"{readdress(('r0',), ('r1',))}; {own_addresses('r0', 'r1')}",
             f"{readdress(('r0',), ('r1',))}; {own_addresses('r0', 'r1')}"),
        ]:
            for settings in [{}, {"FISHPLATE_RAILS": "r0,r1"}]:
                with self.subTest(name, **settings):
                    self.carries(f"{on(0, here)}; {on(1, there)}", ["r0", "r1"], warns="of its link", **settings)


class OneNetwork(ReachTest):
    """Both rails of both hosts are in one network."""

    @each([("none", "00 01 10 11", "mpich"), ("none", "11 10 01 00", "mpich"),
           ("eui64", "00 01 10 11", "mpich"), ("none", "01 00 11 10", "openmpi")])
    def test_through_a_switch(self, mode, order, mpi):
        # In the second order, another interface than that of the address answers for it; own addresses tell them apart.
        settle = 3 if mode == "eui64" else 0
        setup = (SWITCH.replace("{ip}", IP).replace("{mode}", mode).replace("{order}", order)
                 .replace("{settle}", str(settle)))
        # It lasts until hosts have learned which interface is which.
        job = self.job(setup, [bench("stress", mpi), "--duration", 4], mpi=mpi, rails=("--rails", "0"),
                       FISHPLATE_RAILS="s0,s1")
        ran = self.ends_well(self.finish(job), "all contents right")
        # When a host learns the right interface, a connection that stands may break once for that.
        broken = ran.err.count("reset by peer") + ran.err.count("carried nothing")
        self.assertLessEqual(broken, 0 if mode == "eui64" else 4, str(ran))
        for host in ["node0", "node1"]:
            for rail in ["s0", "s1"]:
                lines = [line for line in ran.counters if (line["host"], line["rail"]) == (host, rail)]
                # How much it carries is for the policy to say: rails without a limit are as fast as processors.
                self.assertGreater(sum(line["links"] for line in lines), 0, f"{host} {rail}\n{ran}")

    @each([("straight", ("r0", "r1")), ("crossed", ("r1", "r0"))])
    def test_cabled_apart(self, name, there):
        here = readdress(("r0", "10.9.0.1/24"), ("r1", "10.9.0.11/24"))
        there = readdress((there[0], "10.9.0.2/24"), (there[1], "10.9.0.12/24"))
        self.carries(f"{on(0, here)}; {on(1, there)}", ["r0", "r1"])


class Later(ReachTest):
    """What is not there yet is waited for, and told; what does not come ends all ranks."""

    WAITS = "waits for the network, up to "

    def late(self, *scripts):
        """Scripts on the two hosts, 2 s later."""
        return "\n".join(f"(sleep 2; {on(host, script)}) &" for host, script in enumerate(scripts))

    def test_addresses_that_come_late(self):
        none = "\n".join(on(host, readdress(("r0",), ("r1",))) for host in range(2))
        late = self.late(*(readdress(("r0", f"10.1.0.{host}/24"), ("r1", f"10.1.1.{host}/24")) for host in (1, 2)))
        for mpi in ["mpich", "openmpi"]:
            with self.subTest(mpi):
                ran = self.carries(f"{none}\n{late}", ["r0", "r1"], mpi=mpi, warns=self.WAITS)
                self.says(ran, r"waits for the network, up to 30 s: no address on r0, r1")
        with self.subTest("named"):
            ran = self.carries(f"{none}\n{late}", ["r0", "r1"], warns=self.WAITS, FISHPLATE_RAILS="10.1.0.0/16")
            self.says(ran, r"waits for the network, up to 30 s: FISHPLATE_RAILS: no interface has an address in")

    def test_a_host_whose_addresses_come_late(self):
        late = self.late("true", readdress(("r0", "10.77.0.2/24"), ("r1", "10.77.1.2/24")))
        ran = self.carries(f"{on(1, readdress(('r0',), ('r1',)))}\n{late}", ["r0", "r1"], warns=self.WAITS)
        self.assertNotIn("rank 0 on node0: waits", ran.err, str(ran))

    def test_routes_that_come_late(self):
        hosts = [readdress(("r0", f"10.{host}.0.1/32"), ("r1", f"10.{host}.1.1/32")) for host in (1, 2)]
        routes = [f"{IP} route add 10.{peer}.0.1 dev r0; {IP} route add 10.{peer}.1.1 dev r1" for peer in (2, 1)]
        setup = "\n".join([on(0, hosts[0]), on(1, hosts[1]), self.late(*routes)])
        ran = self.carries(setup, ["r0", "r1"], warns=self.WAITS)
        self.says(ran, "up to 30 s: no rail of this node has a route to peer .*@10")

    @each([{}, {"FISHPLATE_RAILS": "r0,r1"}])
    def test_carriers_that_come_late(self, settings):
        down, up = (f"{IP} link set r0 {state}; {IP} link set r1 {state}" for state in ("down", "up"))
        setup = f"{on(1, down)}\n{self.late('true', up)}"
        ran = self.finish(self.job(setup, [bench("stress"), "--messages", 3000], **settings))
        told = self.WAITS + "30 s: .*(r0\"? .*(is down|has no carrier)|a route)"
        self.ends_well(ran, "all contents right", told=[told])

    def test_what_never_comes_ends_all_ranks(self):
        none = on(1, readdress(("r0",), ("r1",)))
        apart = f"{on(0, readdress(('r0', '10.1.0.1/32'), ('r1',)))}\n{on(1, readdress(('r0', '10.2.0.1/32'), ('r1',)))}"
        for mpi, setup, said in [
            ("mpich", none, "rank 1 on node1: .* is unreachable: gave up after 3 s: no address on r0, r1"),
            ("mpich", apart, r"is unreachable: no rail of this node has a route to it: r0 with 10\.\d\.0\.1/32; no rails: "),
            ("openmpi", apart, r"is unreachable: no rail of this node has a route to it: r0 with 10\.\d\.0\.1/32; no rails: "),
        ]:
            with self.subTest(said, mpi=mpi):
                job = self.job(setup, [bench("stress", mpi), "--messages", 100], mpi=mpi, FISHPLATE_TIMEOUT="3")
                self.fails(self.finish(job, 60), said)

    @each(["mpich", "openmpi"])
    def test_a_host_with_nothing_that_leads_out(self, mpi):
        job = self.job(f"{IP} link delete r0; {IP} link delete r1; export FISHPLATE_RAILS=^mgmt",
                       [bench("stress", mpi), "--messages", 100], mpi=mpi)
        self.fails(self.finish(job, 20), "no network interface leads to other hosts: .*"
                   "mgmt: excluded by FISHPLATE_RAILS; mgmt-port: it is a part of mgmt")

    def test_a_bridge_where_nothing_else_leads_to_the_peer(self):
        bridged = "; ".join([f"{IP} link add br0 type bridge", f"{IP} link set r0 master br0", f"{IP} address flush dev r0",
                             f"{IP} link set br0 addrgenmode none up", f"{IP} address add {{}} dev br0"])
        for name, setup, rail, settings in [
            ("bridge", [bridged.format("10.9.0.1/24"), bridged.format("10.9.0.2/24")], "br0", {}),
            # What takes nothing out, in the place of the testbed's setting, which takes out that bridge.
            ("its own bridge", [f"{IP} link delete r0", "true"], "mgmt", {"FISHPLATE_RAILS": "^x"}),
        ]:
            with self.subTest(name):
                lines = "\n".join([HOLD, *(on(host, line) for host, line in enumerate(setup))])
                self.carries(lines, [rail], rails=("--rails", "0"), **settings)

    @each([{}, {"FISHPLATE_RAILS": "lo"}])
    def test_the_address_of_the_host_on_loopback(self, settings):
        setup = "\n".join([HOLD, *(on(host, f"{IP} address add 10.255.0.{host + 1}/32 dev lo; "
                                       f"{IP} route add 10.255.0.{2 - host}/32 dev r0 via inet6 fe80::{2 - host} src 10.255.0.{host + 1}")
                                   for host in range(2))])
        unnumbered = "\n".join(on(host, f"{IP} address flush dev r0; {IP} address add fe80::{host + 1}/64 dev r0 nodad")
                               for host in range(2))
        self.carries(unnumbered + "\n" + setup, ["lo"], rails=("--rails", "0"), **settings)

    def test_several_links_behind_the_address_of_the_host(self):
        def setup(host):
            bare = [f"{IP} address flush dev r{rail}; {IP} address add fe80::{host + 1}/64 dev r{rail} nodad" for rail in range(2)]
            ways = " ".join(f"nexthop via inet6 fe80::{2 - host} dev r{rail}" for rail in range(2))
            return "; ".join([*bare, f"{IP} address add 10.255.0.{host + 1}/32 dev lo",
                              f"{IP} route add 10.255.0.{2 - host}/32 {ways}"])
        self.carries("\n".join([*(on(host, setup(host)) for host in range(2)), HOLD]), ["r0", "r1"])

    def test_several_links_with_addresses_behind_the_address_of_the_host(self):
        def setup(host):
            ways = " ".join(f"nexthop via 10.77.{rail}.{2 - host} dev r{rail}" for rail in range(2))
            return f"{IP} address add 10.255.0.{host + 1}/32 dev lo; {IP} route add 10.255.0.{2 - host}/32 {ways}"
        self.carries("\n".join([*(on(host, setup(host)) for host in range(2)), HOLD]), ["r0", "r1"], FISHPLATE_RAILS="lo")

    @each([(f"{IP} link delete r0", "lo"), (readdress(("r0",)), "lo"), (f"{IP} link set r0 down", "lo")])
    def test_ranks_of_one_host_need_no_network(self, gone, rail):
        job = self.job(gone, [bench("stress"), "--messages", 1000], hosts="node0", rails=("--rails", "0"),
                       MPIR_CVAR_NOLOCAL="1")
        ran = self.succeeds(self.finish(job, 60), "all contents right")
        used = {line["rail"] for line in ran.counters if line["tx_bytes"]}
        self.assertEqual(used, {rail, "shm"}, str(ran))


def nowhere(host, more=""):
    """On a host r0 is a network of its own, whose router does not answer; then comes `more`."""
    return on(host, f"{readdress(('r0', f'10.{host + 1}.0.1/24'))}; {IP} route add default via 10.{host + 1}.0.254; {more}")


def joined(name, script):
    """Both hosts get an interface of this name, joined in a pair, and run a script of shell: `{}` is the host's number."""
    made = f"{IP} link add {name} netns $(cat $TMPDIR/reach/0) type veth peer name {name} netns $(cat $TMPDIR/reach/1)"
    up = [on(host, f"{IP} link set {name} addrgenmode none up") for host in range(2)]
    return "\n".join([HOLD, made, *up, *(on(host, script.replace("{}", str(host + 1))) for host in range(2))])


def bridge(name, port, address):
    """A bridge without a device, with this port and address."""
    return (f"{IP} link add {name} type bridge; {IP} link set {port} master {name} up; "
            f"{IP} link set {name} addrgenmode none up; {IP} address add {address} dev {name}; "
            f"until [ $(cat /sys/class/net/{name}/operstate) = up ]; do sleep 0.05; done")


def tunnel(*addresses):
    """Both hosts have an end of a tunnel tun0 over the testbed's own network, with each address for its host."""
    lines = []
    for host in range(2):
        own = " ".join(address.replace("{}", str(host + 1)) for address in addresses)
        ends = f"10.77.255.{host + 1} 10.77.255.{2 - host}"
        ready = f"$TMPDIR/tunnel{host}"
        lines += [f"{on(host, f'exec python3 {TUNNEL} {IP} tun0 {ends} {ready} {own}')} &",
                  f"until [ -e {ready} ]; do sleep 0.05; done"]
    return "\n".join(lines)


# An address that all hosts have, as those of containers.
DOCKER0 = (f"{IP} link add d0 type veth peer name d1; {IP} link set d1 addrgenmode none up; " + bridge("docker0", "d0", "172.17.0.1/16"))


class Reserve(ReachTest):
    """Interfaces that are no rails carry to peers to which no rail leads, and to no others."""

    def reaches(self, setup, on, mpi="mpich", **options):
        """Messages arrive over these alone, and nobody is refused."""
        ran = self.carries(setup, on, mpi=mpi, rails=("--rails", "0"), **options)
        self.assertEqual({rail for rail, share in ran.shares().items() if share}, set(on), str(ran))

    @each([("mpich", ["10.8.0.{}/24"]), ("openmpi", ["10.8.0.{}/24"]), ("mpich", ["fd08::{}/64"])])
    def test_a_tunnel_beside_a_network_that_leads_nowhere(self, mpi, addresses):
        management = "\n".join(nowhere(host) for host in range(2))
        self.reaches(f"{management}\n{tunnel(*addresses)}", ["tun0"], mpi=mpi)

    def test_a_tunnel_where_no_rail_has_a_route(self):
        # Its addresses are hosts', with a route to the other one.
        management = "\n".join(on(host, readdress(("r0", f"10.{host + 1}.0.1/24"))) for host in range(2))
        routes = "\n".join(on(host, f"{IP} route add 10.8.0.{2 - host}/32 dev tun0") for host in range(2))
        self.reaches("\n".join([management, tunnel("10.8.0.{}/32"), routes]), ["tun0"])

    @each(["mpich", "openmpi"])
    def test_a_bridge_and_what_all_hosts_have(self, mpi):
        # With the same port on both hosts: who connected to docker0 would connect to itself.
        setup = "\n".join([*(nowhere(host, DOCKER0) for host in range(2)), joined("v0", bridge("br0", "v0", "10.9.0.{}/24"))])
        self.reaches(setup, ["br0"], mpi=mpi, FISHPLATE_PORTS="47000-47003")

    @each(["node0,node1", "node1,node0"])
    def test_one_side_alone_has_it_in_reserve(self, hosts):
        address = {0: f"{IP} address add 10.9.0.1/24 dev v0",
                   1: bridge("br0", "v0", "10.9.0.2/24")}
        setup = "\n".join([*map(nowhere, range(2)), joined("v0", "true"), *(on(*one) for one in address.items())])
        self.reaches(setup, ["v0", "br0"], hosts=hosts)

    def test_an_interface_of_which_another_is_made(self):
        macvlan = f"{IP} link add m0 link v0 type macvlan mode bridge; " \
                  f"{IP} link set m0 addrgenmode none up; {IP} address add 10.9.0.{{}}/24 dev m0"
        self.reaches("\n".join([*map(nowhere, range(2)), joined("v0", macvlan)]), ["m0"])

    def test_links_behind_the_address_of_the_host_beside_another_network(self):
        def setup(host):
            bare = [f"{IP} address add fe80::{host + 1}/64 dev v{at} nodad" for at in range(2)]
            ways = " ".join(f"nexthop via inet6 fe80::{2 - host} dev v{at}" for at in range(2))
            return "; ".join([*bare, f"{IP} address add 10.255.0.{host + 1}/32 dev lo",
                              f"{IP} route add 10.255.0.{2 - host}/32 {ways}"])
        lines = [joined("v0", "true"), joined("v1", "true"), *(on(host, setup(host)) for host in range(2))]
        self.reaches("\n".join([*map(nowhere, range(2)), *lines]), ["v0", "v1"])

    def test_it_carries_nothing_while_a_rail_leads_to_the_peer(self):
        self.reaches(joined("v0", bridge("br0", "v0", "10.9.0.{}/24")), ["r0"])

    def test_what_was_left_out_is_named_where_nothing_leads_to_the_peer(self):
        docker0 = r"no rails: docker0: a bridge of this machine \(in reserve\); .*lo: loopback"
        for name, hosts, said in [
            ("a router that does not answer", nowhere, "is unreachable: rail r0 .*(no answer|No route to host).*; " + docker0),
            ("no route", lambda host, more: on(host, f"{readdress(('r0', f'10.{host + 1}.0.1/32'))}; {more}"),
             "is unreachable: no rail of this node has a route to it: r0 with .*; " + docker0),
        ]:
            with self.subTest(name):
                job = self.job("\n".join(hosts(host, DOCKER0) for host in range(2)), [bench("stress"), "--messages", 100],
                               rails=("--rails", "0"), FISHPLATE_TIMEOUT="4")
                self.fails(self.finish(job, 60), said, "rank . on node.: ")


class ManyRails(ReachTest):
    """More rails than an address has room for."""

    MANY = 14

    def many(self, address):
        """Both hosts get interfaces x0, x1, ... beside r0, joined in pairs; `address` of host and interface."""
        lines = [HOLD, "here=$(cat $TMPDIR/reach/0) there=$(cat $TMPDIR/reach/1)"]
        for at in range(self.MANY):
            lines += [f"{IP} link add x{at} netns $here type veth peer name x{at} netns $there"]
        for host in range(2):
            each = "; ".join(f"{IP} link set x{at} addrgenmode none; {IP} address add dev x{at} {address(host, at)}; "
                             f"{IP} link set x{at} up" for at in range(self.MANY))
            lines += [on(host, each)]
        return "\n".join(lines)

    def test_more_than_the_address_has_room_for(self):
        for name, address in [("IPv4", lambda host, at: f"10.9.{at}.{host + 1}/24"),
                              ("IPv6", lambda host, at: f"fd09:{at}::{host + 1}/64 nodad")]:
            for mpi in ["mpich", "openmpi"]:
                with self.subTest(name, mpi=mpi):
                    rails = ["r0", *(f"x{at}" for at in range(self.MANY))]
                    self.carries(self.many(address), rails, mpi=mpi, least=0, rails=("--rails", "0"))

    @each(["node0,node1", "node1,node0"])
    def test_only_the_last_interface_of_a_host_reaches_the_peer(self, hosts):
        # The address has no room for it, and in one of the two cases it is the peer that speaks first.
        last = self.MANY - 1
        gone = on(0, readdress(("r0", "10.5.0.1/24")))
        few = on(1, "; ".join(f"{IP} address flush dev x{at}" for at in range(last)))
        setup = f"{self.many(lambda host, at: f'10.{at + 10}.{at}.{host + 1}/24')}\n{gone}\n{few}"
        self.carries(setup, [f"x{last}"], rails=("--rails", "0"), hosts=hosts)
