"""`fishplate doctor` on hosts and networks that are well, and on some that are not: what it finds, and what it says to do."""

import functools
import json
import shlex

from support import FISHPLATE, MpiTest, on_node, tool

IP = tool("ip")
PORTS = "50000-50063"

# Drops connections to the ports that come in over these rails, as a firewall does: the kernel looks for their route among
# rules first, which are put ahead of that for addresses of the host.
FIREWALL = (f"{IP} rule add pref 5 lookup local; "
            f"for rail in {{}}; do {IP} rule add pref 1 iif $rail ipproto tcp dport {PORTS} blackhole; done; "
            f"{IP} rule del pref 0")


there = functools.partial(on_node, 1)


class Doctor(MpiTest):
    """On the first of two hosts, about the other one."""

    def examined(self, setup="true", doctor=("--mpi", "mpich", "node1"), code=0, **settings):
        """All findings that are not fine, after a setup script: (severity, host, check, found, what to do)."""
        line = f"{setup} && exec {FISHPLATE} doctor --json {shlex.join(doctor)}"
        ran = self.ends_with(code, self.script(line, **settings))
        self.assertTrue(ran.out.startswith("{"), str(ran))
        self.report = json.loads(ran.out)
        return [(one["severity"], "+".join(one["hosts"]), one["check"], one["found"], one["to_do"])
                for one in self.report["findings"] if one["severity"] != "fine" and one["check"] not in
                # How this machine is set is not the test's.
                ("shared memory", "open files", "kernel")]

    def finds(self, found, *expected):
        """Just these, each with all of its texts."""
        self.assertEqual(len(found), len(expected), found)
        for one, texts in zip(found, expected):
            for text in texts:
                self.assertIn(text, " | ".join(one))

    def test_two_hosts_that_are_well(self):
        self.finds(self.examined())
        self.assertEqual(self.report["hosts"], ["node0", "node1"])
        fine = " ".join(one["found"] for one in self.report["findings"])
        for text in ["to node1 and back over r0 in ", "to node0 and back over r0 in ", " us, r1 in ", "loads Fishplate"]:
            self.assertIn(text, fine)
        # Without a home, and with a table.
        line = f"unset HOME; exec {FISHPLATE} doctor --mpi mpich node1"
        cache = self.fishplate("setup", "--where", "mpich").out.strip().rsplit("/", 2)[0]
        self.succeeds(self.script(line, FISHPLATE_CACHE=cache), "2 hosts: ", "MPICH 5")

    def test_a_firewall(self):
        found = self.examined(there(FIREWALL.format("r1")), FISHPLATE_PORTS=PORTS)
        self.finds(found, ["warning", "node0", "TCP over r1 from 10.77.1.1 to 10.77.1.2 (node1) port 50000",
                           "a firewall drops it", f"let TCP and UDP to ports {PORTS} through on node1"])
        # Around both hosts and all rails.
        both = FIREWALL.format("r0 r1")
        found = self.examined(f"{there(both)}; ({both})", code=1, FISHPLATE_PORTS=PORTS)
        self.finds(found, *[["prevents", f"node{host}", f"TCP over r{rail}", f"through on node{1 - host}"]
                            for host in [0, 1] for rail in [0, 1]])

    def test_what_is_no_rail_is_tried_where_no_rail_connects(self):
        r0 = f"{IP} address flush dev r0 && {IP} address add 10.{{}}.0.1/32 dev r0 && {IP} link set r1 down"
        setup = f"{r0.format(1)} && {there(r0.format(2))}"
        # "^x" takes nothing out, where the testbed's own setting takes the bridge mgmt out.
        found = self.examined(setup, FISHPLATE_RAILS="^x")
        fine = " ".join(one["found"] for one in self.report["findings"])
        for text in ["to node1 and back over mgmt in ", "mgmt: a bridge of this machine (in reserve)"]:
            self.assertIn(text, fine)
        cut_off = self.examined(setup, code=1)
        ways = [one[3] for one in cut_off if one[:3] == ("prevents", "node0", "paths")]
        self.assertTrue(ways and all("no rails of node1: " in way and "mgmt: excluded by FISHPLATE_RAILS" in way
                                     and "lo: loopback" in way for way in ways), cut_off)
        self.assertFalse([one for one in found if one[0] == "prevents"], found)

    def test_ports_that_are_taken(self):
        hold = ("import socket, time; held = socket.create_server(('', 50000)); "
                "open('ready', 'w').close(); time.sleep(1000)")
        taken = there(f"cd $TMPDIR; python3 -c {shlex.quote(hold)} >/dev/null 2>&1 & "
                      "until [ -e $TMPDIR/ready ]; do sleep 0.05; done")
        found = self.examined(taken, code=1, FISHPLATE_PORTS="50000-50000")
        self.finds(found, ["prevents", "node1", "FISHPLATE_PORTS=50000-50000: no port of 1 is free on node1", "widen"])

    def test_strict_reverse_path_filters_in_one_network(self):
        readdress = (f"{IP} address flush dev r1 && {IP} address add 10.77.0.1{{}}/24 dev r1 && "
                     "echo {} > /proc/sys/net/ipv4/conf/r1/rp_filter")
        found = self.examined(f"{readdress.format(1, 2)} && {there(readdress.format(2, 1))}")
        self.assertIn(("warning", "node1", "rails",
                       "r1 shares its network with r0, and the kernel drops packets that arrive over it",
                       "sysctl -w net.ipv4.conf.r1.rp_filter=2"), found)
        ways = [" | ".join(one) for one in found if one[2] == "paths"]
        self.assertTrue(any("over r1" in way and "node1 has rp_filter 1" in way for way in ways), found)

    def test_a_black_hole(self):
        name = self.lab("--rails", "0,0", "--path-mtu", "1300,9000")
        ran = self.fishplate("lab", "exec", "--name", name, "--", FISHPLATE, "doctor", "--mpi", "mpich", "--json", "node1")
        found = [one for one in json.loads(self.ends_well(ran).out)["findings"] if one["check"] == "packet sizes"]
        self.assertEqual([one["hosts"] for one in found], [["node0"], ["node1"]], str(ran))
        for one in found:
            self.assertIn("full segments over r0 (MTU 1500)", one["found"])
            self.assertIn("up to 1300 bytes", one["found"])
            self.assertIn("`ip link set r0 mtu 1300` on node0", one["to_do"])

    def test_hosts_that_are_not_there_or_here_already(self):
        found = self.examined(doctor=("--mpi", "mpich", "node7", "node0"), code=1)
        self.finds(found, ["prevents", "node7", "no such host in this testbed: node7", "without a password"],
                   ["warning", "node0", "looked at already"])

    def test_an_mpi_that_does_not_start(self):
        folder = self.temporary_folder()
        (folder / "bin").mkdir()
        (folder / "lib").mkdir()
        (folder / "bin" / "mpiexec").write_text("#!/bin/sh\necho HYDRA build details:\n")
        (folder / "bin" / "mpiexec").chmod(0o755)
        (folder / "lib" / "libmpi.so.12").write_bytes(b"no library")
        found = self.examined(f"PATH={folder}/bin:$PATH", doctor=("node1",), code=1)
        self.finds(found, ["prevents", "node0+node1", "does not start", "libmpi.so.12", "FI_LOG_LEVEL"])
