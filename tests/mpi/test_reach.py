"""Hosts that find each other: several addresses an interface, addresses that come late, one network for two rails, and other
networks that are not as in a textbook. Each case is a pair of hosts whose interfaces are set up anew inside of a testbed."""

import shlex

from support import FISHPLATE, ROOT, MpiTest, bench, each, on_node, testbed, tool

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


def hosts(*scripts):
    """Lines that run these scripts, the first on the first host, until one fails."""
    return "\n".join(on_node(host, f"set -e; {script}") for host, script in enumerate(scripts))


def both(script):
    """Lines that run a script on both hosts: in it, HERE is the host's number, from 1, and THERE that of the other one."""
    return hosts(*(script.replace("THERE", str(2 - host)).replace("HERE", str(host + 1)) for host in range(2)))


def readdress(*interfaces):
    """Shell lines that give interfaces other addresses: (name, address, ...)."""
    lines = []
    for name, *addresses in interfaces:
        lines += [f"{IP} address flush dev {name}"]
        lines += [f"{IP} address add {address} dev {name} {'nodad' if ':' in address else ''}" for address in addresses]
    return "; ".join(lines)


# No address on either rail.
NONE = readdress(("r0",), ("r1",))


def own_addresses(*interfaces):
    """Has interfaces make up the addresses of their link (IPv6), and waits until they are nobody else's."""
    lines = []
    for name in interfaces:
        lines += [f"{IP} link set {name} down", f"{IP} link set {name} addrgenmode eui64", f"{IP} link set {name} up"]
    return "; ".join([*lines, f"until {IP} -6 address show scope link | grep -q fe80 && "
                      f"! {IP} -6 address show | grep -q tentative; do sleep 0.1; done"])


def behind_loopback(*ways):
    """An address of the host on loopback, and the ways to that of the other one."""
    return (f"{IP} address add 10.255.0.HERE/32 dev lo; "
            f"{IP} route add 10.255.0.THERE/32 {' '.join(f'nexthop {way}' for way in ways)}")


def behind_loopback_unnumbered(*links):
    """The same over links that have no addresses but their own."""
    own = "; ".join(f"{IP} address add fe80::HERE/64 dev {link} nodad" for link in links)
    return f"{own}; {behind_loopback(*(f'via inet6 fe80::THERE dev {link}' for link in links))}"


WITHOUT_IPV4 = hosts(readdress(("r0", "10.1.0.1/24", "fd00::1/64"), ("r1", "10.1.1.1/24", "fd01::1/64")),
                     readdress(("r0", "fd00::2/64"), ("r1", "fd01::2/64")))


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

    @each([
        *(("a host without IPv4", WITHOUT_IPV4, ["r0", "r1"], options) for options in [
            {"mpi": "mpich"}, {"mpi": "openmpi"}, {"hosts": "node0,node1"}, {"hosts": "node1,node0"}]),
        ("first addresses of networks that the peer has not", hosts(
            readdress(("r0", "10.5.0.1/24", "10.1.0.1/24"), ("r1", "10.6.0.1/24", "10.1.1.1/24")),
            readdress(("r0", "10.1.0.2/24"), ("r1", "10.7.0.1/24", "10.1.1.2/24"))), ["r0", "r1"], {}),
        ("an address with a label is no other interface", both(f"{IP} address add 10.8.0.HERE/24 dev r0 label r0:1"), ["r0", "r1"], {}),
        # As of virtual machines behind NAT. The other one reaches.
        ("an address that both hosts have", both(readdress(("r0", "10.0.2.15/24"))), ["r1"], {}),
        *((name, both(addresses), ["r0", "r1"], {"warns": "of its link", **settings})
          for settings in [{}, {"FISHPLATE_RAILS": "r0,r1"}] for name, addresses in [
              ("of a link alone, IPv4", readdress(("r0", "169.254.3.HERE/16"), ("r1", "169.254.4.HERE/16"))),
              ("of a link alone, IPv6", f"{NONE}; {own_addresses('r0', 'r1')}")]),
    ])
    def test_addresses(self, name, setup, rails, options):
        self.carries(setup, rails, **options)


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
        self.carries(hosts(here, there), ["r0", "r1"])


class Later(ReachTest):
    """What is not there yet is waited for, and told; what does not come ends all ranks."""

    WAITS = "waits for the network, up to "

    def late(self, lines):
        """The same 2 s later."""
        return "\n".join(f"(sleep 2; {line}) &" for line in lines.splitlines())

    def test_addresses_that_come_late(self):
        setup = f"{both(NONE)}\n{self.late(both(readdress(('r0', '10.1.0.HERE/24'), ('r1', '10.1.1.HERE/24'))))}"
        for mpi in ["mpich", "openmpi"]:
            with self.subTest(mpi):
                ran = self.carries(setup, ["r0", "r1"], mpi=mpi, warns=self.WAITS)
                self.says(ran, r"waits for the network, up to 30 s: no address on r0, r1")
        with self.subTest("named"):
            ran = self.carries(setup, ["r0", "r1"], warns=self.WAITS, FISHPLATE_RAILS="10.1.0.0/16")
            self.says(ran, r"waits for the network, up to 30 s: FISHPLATE_RAILS: no interface has an address in")

    def test_a_host_whose_addresses_come_late(self):
        late = self.late(hosts("true", readdress(("r0", "10.77.0.2/24"), ("r1", "10.77.1.2/24"))))
        ran = self.carries(f"{hosts('true', NONE)}\n{late}", ["r0", "r1"], warns=self.WAITS)
        self.assertNotIn("rank 0 on node0: waits", ran.err, str(ran))

    def test_routes_that_come_late(self):
        addresses = both(readdress(("r0", "10.HERE.0.1/32"), ("r1", "10.HERE.1.1/32")))
        routes = self.late(both(f"{IP} route add 10.THERE.0.1 dev r0; {IP} route add 10.THERE.1.1 dev r1"))
        ran = self.carries(f"{addresses}\n{routes}", ["r0", "r1"], warns=self.WAITS)
        self.says(ran, "up to 30 s: no rail of this node has a route to peer .*@10")

    @each([{}, {"FISHPLATE_RAILS": "r0,r1"}])
    def test_carriers_that_come_late(self, settings):
        down, up = (f"{IP} link set r0 {state}; {IP} link set r1 {state}" for state in ("down", "up"))
        setup = f"{hosts('true', down)}\n{self.late(hosts('true', up))}"
        ran = self.finish(self.job(setup, [bench("stress"), "--messages", 3000], **settings))
        told = self.WAITS + "30 s: .*(r0\"? .*(is down|has no carrier)|a route)"
        self.ends_well(ran, "all contents right", told=[told])

    def test_what_never_comes_ends_all_ranks(self):
        apart = both(readdress(("r0", "10.HERE.0.1/32"), ("r1",)))
        no_route = r"is unreachable: no rail of this node has a route to it: r0 with 10\.\d\.0\.1/32; no rails: "
        for mpi, setup, said in [
            ("mpich", hosts("true", NONE), "rank 1 on node1: .* is unreachable: gave up after 3 s: no address on r0, r1"),
            ("mpich", apart, no_route),
            ("openmpi", apart, no_route),
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

    @each([
        (both(f"{IP} link add br0 type bridge; {IP} link set r0 master br0; {IP} address flush dev r0; "
              f"{IP} link set br0 addrgenmode none up; {IP} address add 10.9.0.HERE/24 dev br0"), "br0", {}),
        # What takes nothing out, in the place of the testbed's setting, which takes out that bridge.
        (hosts(f"{IP} link delete r0", "true"), "mgmt", {"FISHPLATE_RAILS": "^x"}),
    ])
    def test_a_bridge_where_nothing_else_leads_to_the_peer(self, setup, rail, settings):
        self.carries(f"{HOLD}\n{setup}", [rail], rails=("--rails", "0"), **settings)

    @each([{}, {"FISHPLATE_RAILS": "lo"}])
    def test_the_address_of_the_host_on_loopback(self, settings):
        unnumbered = both(f"{IP} address flush dev r0; {IP} address add fe80::HERE/64 dev r0 nodad")
        setup = both(f"{IP} address add 10.255.0.HERE/32 dev lo; "
                     f"{IP} route add 10.255.0.THERE/32 dev r0 via inet6 fe80::THERE src 10.255.0.HERE")
        self.carries(f"{unnumbered}\n{HOLD}\n{setup}", ["lo"], rails=("--rails", "0"), **settings)

    def test_several_links_behind_the_address_of_the_host(self):
        flush = f"{IP} address flush dev r0; {IP} address flush dev r1"
        setup = both(f"{flush}; {behind_loopback_unnumbered('r0', 'r1')}")
        self.carries(f"{setup}\n{HOLD}", ["r0", "r1"])

    def test_several_links_with_addresses_behind_the_address_of_the_host(self):
        setup = both(behind_loopback("via 10.77.0.THERE dev r0", "via 10.77.1.THERE dev r1"))
        self.carries(f"{setup}\n{HOLD}", ["r0", "r1"], FISHPLATE_RAILS="lo")

    @each([(f"{IP} link delete r0", "lo"), (readdress(("r0",)), "lo"), (f"{IP} link set r0 down", "lo")])
    def test_ranks_of_one_host_need_no_network(self, gone, rail):
        job = self.job(gone, [bench("stress"), "--messages", 1000], hosts="node0", rails=("--rails", "0"),
                       MPIR_CVAR_NOLOCAL="1")
        ran = self.succeeds(self.finish(job, 60), "all contents right")
        self.assertEqual(ran.used(), {rail, "shm"}, str(ran))


def nowhere(more="true"):
    """On both hosts r0 is a network of its own, whose router does not answer; then comes `more`."""
    return both(f"{readdress(('r0', '10.HERE.0.1/24'))}; {IP} route add default via 10.HERE.0.254; {more}")


def joined(name, script):
    """Both hosts get an interface of this name, joined in a pair, and run a script."""
    made = f"{IP} link add {name} netns $(cat $TMPDIR/reach/0) type veth peer name {name} netns $(cat $TMPDIR/reach/1)"
    return "\n".join([HOLD, made, both(f"{IP} link set {name} addrgenmode none up"), both(script)])


def bridge(name, port, address):
    """A bridge without a device, with this port and address."""
    return (f"{IP} link add {name} type bridge; {IP} link set {port} master {name} up; "
            f"{IP} link set {name} addrgenmode none up; {IP} address add {address} dev {name}; "
            f"until [ $(cat /sys/class/net/{name}/operstate) = up ]; do sleep 0.05; done")


def tunnel(address):
    """Both hosts have an end of a tunnel tun0 over the testbed's own network, with this address."""
    ends = both(f"exec python3 {TUNNEL} {IP} tun0 10.77.255.HERE 10.77.255.THERE $TMPDIR/tunnelHERE {address}")
    ready = "until [ -e $TMPDIR/tunnel1 ] && [ -e $TMPDIR/tunnel2 ]; do sleep 0.05; done"
    return "\n".join([*(f"{end} &" for end in ends.splitlines()), ready])


# An address that all hosts have, as those of containers.
DOCKER0 = (f"{IP} link add d0 type veth peer name d1; {IP} link set d1 addrgenmode none up; " + bridge("docker0", "d0", "172.17.0.1/16"))


class Reserve(ReachTest):
    """Interfaces that are no rails carry to peers to which no rail leads, and to no others."""

    @each([
        *(("a tunnel beside a network that leads nowhere", f"{nowhere()}\n{tunnel(address)}", ["tun0"], {"mpi": mpi})
          for mpi, address in [("mpich", "10.8.0.HERE/24"), ("openmpi", "10.8.0.HERE/24"), ("mpich", "fd08::HERE/64")]),
        # Its addresses are hosts', with a route to the other one.
        ("a tunnel where no rail has a route", "\n".join([
            both(readdress(("r0", "10.HERE.0.1/24"))), tunnel("10.8.0.HERE/32"),
            both(f"{IP} route add 10.8.0.THERE/32 dev tun0")]), ["tun0"], {}),
        # With the same port on both hosts: who connected to docker0 would connect to itself.
        *(("a bridge, and what all hosts have", f"{nowhere(DOCKER0)}\n{joined('v0', bridge('br0', 'v0', '10.9.0.HERE/24'))}",
           ["br0"], {"mpi": mpi, "FISHPLATE_PORTS": "47000-47003"}) for mpi in ["mpich", "openmpi"]),
        *(("one side alone has it in reserve", "\n".join([nowhere(), joined("v0", "true"), hosts(
            f"{IP} address add 10.9.0.1/24 dev v0", bridge("br0", "v0", "10.9.0.2/24"))]), ["v0", "br0"], {"hosts": order})
          for order in ["node0,node1", "node1,node0"]),
        ("an interface of which another is made", f"{nowhere()}\n" + joined("v0", (
            f"{IP} link add m0 link v0 type macvlan mode bridge; {IP} link set m0 addrgenmode none up; "
            f"{IP} address add 10.9.0.HERE/24 dev m0")), ["m0"], {}),
        ("links behind the address of the host beside another network", "\n".join([
            nowhere(), joined("v0", "true"), joined("v1", "true"), both(behind_loopback_unnumbered("v0", "v1"))]), ["v0", "v1"], {}),
        ("nothing while a rail leads to the peer", joined("v0", bridge("br0", "v0", "10.9.0.HERE/24")), ["r0"], {}),
    ])
    def test_messages_go_over_these_alone(self, name, setup, rails, options):
        ran = self.carries(setup, rails, rails=("--rails", "0"), **options)
        self.assertEqual(ran.used(), set(rails), str(ran))

    def test_what_was_left_out_is_named_where_nothing_leads_to_the_peer(self):
        docker0 = r"no rails: docker0: a bridge of this machine \(in reserve\); .*lo: loopback"
        for name, setup, said in [
            ("a router that does not answer", nowhere(DOCKER0), "is unreachable: rail r0 .*(no answer|No route to host).*; "),
            ("no route", both(f"{readdress(('r0', '10.HERE.0.1/32'))}; {DOCKER0}"),
             "is unreachable: no rail of this node has a route to it: r0 with .*; "),
        ]:
            with self.subTest(name):
                job = self.job(setup, [bench("stress"), "--messages", 100], rails=("--rails", "0"), FISHPLATE_TIMEOUT="4")
                self.fails(self.finish(job, 60), said + docker0, "rank . on node.: ")


class ManyRails(ReachTest):
    """More rails than an address has room for."""

    MANY = 14

    def many(self, address):
        """Both hosts get interfaces x0, x1, ... beside r0, joined in pairs; `address` of the number of an interface."""
        lines = [HOLD, "here=$(cat $TMPDIR/reach/0) there=$(cat $TMPDIR/reach/1)"]
        lines += [f"{IP} link add x{at} netns $here type veth peer name x{at} netns $there" for at in range(self.MANY)]
        up = "; ".join(f"{IP} link set x{at} addrgenmode none; {IP} address add dev x{at} {address(at)}; {IP} link set x{at} up"
                       for at in range(self.MANY))
        return "\n".join([*lines, both(up)])

    @each((mpi, address) for mpi in ["mpich", "openmpi"] for address in ["10.9.{}.HERE/24", "fd09:{}::HERE/64 nodad"])
    def test_more_than_the_address_has_room_for(self, mpi, address):
        rails = ["r0", *(f"x{at}" for at in range(self.MANY))]
        self.carries(self.many(address.format), rails, mpi=mpi, least=0, rails=("--rails", "0"))

    @each(["node0,node1", "node1,node0"])
    def test_only_the_last_interface_of_a_host_reaches_the_peer(self, order):
        # The address has no room for it, and in one of the two cases it is the peer that speaks first.
        last = self.MANY - 1
        few = hosts(readdress(("r0", "10.5.0.1/24")), "; ".join(f"{IP} address flush dev x{at}" for at in range(last)))
        setup = f"{self.many(lambda at: f'10.{at + 10}.{at}.HERE/24')}\n{few}"
        self.carries(setup, [f"x{last}"], rails=("--rails", "0"), hosts=order)
