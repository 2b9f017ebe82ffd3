"""Wrong settings, hostile peers, dying ranks: each ends in a clear error on the right side, and harms nobody else."""

import os
import re
import shlex

from support import (FISHPLATE, HERE, PROVIDER, MpiTest, bench, each, mpi_command, on_first_host, on_host, on_node, program, stack,
                     testbed, tool, with_free_files, with_mpich)

# How a rank begins what it tells of its peers.
ME = r"fishplate: rank \d+ on node\d"
# What every endpoint that is told of calls itself: id, addresses, port.
PEER = r"peer [0-9a-f]{16}@10\.77\.\d\.\d(\+10\.77\.1\.\d)?:\d+( \(rank \d+ on node\d\))?"


class WrongSettings(MpiTest):
    """Told by `fishplate run` before anything starts, and by the provider where `fishplate run` was not used."""

    def latency(self, *run, **settings):
        return self.mpi(2, bench("latency"), "--sizes", "1", "--iterations", 1, run=run, **settings)

    def test_an_unknown_rail(self):
        self.fails(self.latency("--rails", "r0,ib7"), r'fishplate: FISHPLATE_RAILS: no interface is called "ib7"; there are: .*r0, r1', "MPI_Init")

    @each([("--striping", "FISHPLATE_STRIPING"), ("--multiplexing", "FISHPLATE_MULTIPLEXING")])
    def test_an_unknown_policy(self, option, variable):
        self.fails(self.latency(option, "fastest"), option, f'{variable}.*"fastest"', "binding.*earliest")

    def test_a_policy_with_too_few_weights(self):
        self.fails(self.latency("--striping", "weighted:3,2,1"), "fishplate: .*weight")

    @each([
        ("FISHPLATE_STRIPING", "fastest", "binding, even"),
        ("FISHPLATE_PORTS", "50000", "FIRST-LAST"),
        ("FISHPLATE_STREAMS", "99", "1 to 16"),
        ("FISHPLATE_GRANT", "1K", "64K"),
        ("FISHPLATE_EAGER_LIMIT", "much", "bytes"),
        ("FISHPLATE_TIMEOUT", "0", "1 to 86400"),
        ("FISHPLATE_CONGESTION", "no such", "reno"),
        ("FISHPLATE_PROGRESS", "sometimes", "auto, thread, calls"),
        ("FISHPLATE_STATS", "/no/folder/x", "existing folder"),
        ("FISHPLATE_LOG", "loud", "error, warn, info, debug"),
    ])
    def test_settings_without_fishplate_run(self, variable, value, allowed):
        line = with_mpich(f"export {variable}={shlex.quote(value)} && mpiexec -n 2 {bench('latency')}")
        self.fails(self.script(line), f'fishplate: {variable}.*"{value}".*{allowed}')

    def test_secret_files(self):
        one, other = (self.temporary_folder() / name for name in ["one", "other"])
        for path in [one, other]:
            path.write_bytes(os.urandom(32))
            path.chmod(0o600)
        self.succeeds(self.mpi(2, bench("stress"), "--messages", 500, FISHPLATE_SECRET_FILE=one), "all contents right")
        each = " : ".join(f"-n 1 env FISHPLATE_SECRET_FILE={path} {bench('latency')}" for path in [one, other])
        self.fails(self.script(with_mpich(f"mpiexec {each}")), f"{ME}: {PEER} is unreachable: .*FISHPLATE_SECRET_FILE is another one")
        one.chmod(0o640)
        self.fails(self.latency("--secret-file", one), "--secret-file: FISHPLATE_SECRET_FILE=.*its mode is 0640")

    def test_fewer_ports_than_ranks(self):
        job = [2, bench("stress"), "--messages", 500]
        ran = self.mpi(*job, on=["--hosts", "1"], FISHPLATE_PORTS="50000-50000", MPIR_CVAR_NOLOCAL="1")
        self.fails(ran, "FISHPLATE_PORTS=50000-50000: no port of 1 is free on node0; this job needs 2 there")
        # One on each host, and datagrams on a port of their own.
        self.succeeds(self.mpi(*job, FISHPLATE_PORTS="50000-50000"), "all contents right")

    def test_rails_that_are_down(self):
        down = f"{tool('ip')} link set r1 down"
        named = mpi_command(2, bench("stress"), "--messages", 500, run=["--rails", "r1,r0"])
        ran = self.run_command(on_first_host(named, lambda here: f"{down} && {here}"))
        self.ends_well(ran, "all contents right", told=["fishplate: warn .* rail r1 is down; it is used once it is up"])
        told = 'FISHPLATE_RAILS: interface "r1" cannot be a rail: it is down'
        self.fails(self.script(f"{down} && FISHPLATE_RAILS=r1 {FISHPLATE} rails"), told)
        self.succeeds(self.script(f"{down} && {FISHPLATE} rails"), "rail, but is down now")

    def test_a_rail_without_an_address(self):
        job = [2, bench("stress"), "--messages", 500]
        flush = f"{tool('ip')} address flush dev r1"
        everywhere = f"{flush} && {on_node(1, flush)}"
        named = mpi_command(*job, run=["--rails", "r0,r1"])
        ran = self.run_command(on_first_host(named, lambda here: f"{everywhere} && {here}"), environment={"FISHPLATE_TIMEOUT": "1"})
        self.fails(ran, 'gave up after 1 s: FISHPLATE_RAILS: interface "r1" cannot be a rail: it has no address')
        # Not asked for, it is left out, and the other host's rail of that name too.
        ran = self.run_command(on_first_host(mpi_command(*job), lambda here: f"{flush} && {here}"))
        self.succeeds(ran, "all contents right")
        self.assertEqual(ran.shares()["r0"], 1.0, str(ran))

    def test_no_rail_at_all(self):
        down = f"{tool('ip')} link set r0 down && {tool('ip')} link set r1 down"
        ran = self.script(f"{down} && " + with_mpich(f"mpiexec -n 2 {bench('latency')}"), FISHPLATE_TIMEOUT="2")
        self.fails(ran, "waits for the network, up to 2 s: peer .* is unreachable: rail r0 is down, rail r1 is down",
                   rf"{ME}: {PEER} is unreachable: rail r[01] .*unreachable")

    def test_hosts_that_cannot_reach_each_other(self):
        flush = on_node(1, f"{tool('ip')} address flush dev r0")
        job = "mpiexec -n 1 env FISHPLATE_RAILS=r0 {0} : -n 1 env FISHPLATE_RAILS=r1 {0}".format(bench("latency"))
        ran = self.script(f"{flush} && " + with_mpich(job), FISHPLATE_TIMEOUT="2")
        self.fails(ran, f"{ME}: {PEER} is unreachable: .*r[01]")

    def test_a_provider_that_is_not_there(self):
        line = f"FI_PROVIDER_PATH=/nowhere {stack('mpich')}/mpiexec -n 2 {bench('latency')}"
        self.fails(self.script(line, FI_PROVIDER="fishplate", MPIR_CVAR_CH4_NETMOD="ofi"), "MPI_Init")
        self.assertTrue((PROVIDER / "libfishplate-fi.so").is_file())


class FewFiles(MpiTest):
    """64 ranks on two hosts, which may have few files open: a connection is one, and so is what launchers leave open."""

    def all_to_all(self, soft, hard, size):
        limited = f"ulimit -S -n {soft}; ulimit -H -n {hard}; exec {bench('alltoall')} --sizes {size} --iterations 2"
        return self.mpi(64, "sh", "-c", limited)

    def test_the_soft_limit_is_raised(self):
        self.succeeds(self.all_to_all(64, 4096, 4096))

    def test_one_rail_a_peer_where_two_do_not_fit(self):
        ran = self.succeeds(self.all_to_all(128, 128, 4096), warns="each peer is connected over one rail of 2")
        told = r"a process may have 128 files open \(`ulimit -n`\), and connections over all rails to 32 peers need 1\d\d"
        self.assertEqual(len(re.findall(told, ran.err)), 1, str(ran))

    def test_idle_connections_are_given_back_where_one_a_peer_does_not_fit(self):
        self.succeeds(self.all_to_all(64, 64, 4096), warns="idle connections are given back")

    def test_an_error_at_once_where_there_is_room_for_none(self):
        # 12 are a rank's own: none is left for a connection.
        ran = self.mpi(4, *with_free_files(12, bench("alltoall"), "--sizes", 4096, "--iterations", 2))
        self.fails(ran, rf"{ME}: {PEER} is unreachable: .*`ulimit -n`")
        self.assertNotIn("not proven", ran.err, str(ran))


class Disturbed(MpiTest):
    """Jobs that somebody disturbs (intruder.py) while they exchange checked messages."""

    def disturbed(self, attack, ranks=2, before="", mpiexec=(), **settings):
        """A job under an attack."""
        stop = self.temporary_folder() / "stop"
        here = shlex.join(map(str, on_host(mpi_command(ranks, program("steady"), stop, mpiexec=mpiexec))))
        intruder = ["python3", HERE / "intruder.py", attack, ranks, "steady", stop, "sh", "-c", before + here]
        return self.run_command(testbed("--", *intruder), environment=settings)

    @each([
        ("garbage", r"warn \+\d+\.\d+s rank \d+ on node\d: a connection from 10\.77\.\d\.\d:\d+ was refused: "
         "the other side does not speak Fishplate", r"(?s)(.*were answered with 0 bytes){6}"),
        ("version", "was refused: the peer speaks version 17 of the wire format, this side version 11",
         "answer b'FiPl' kind 5 code 1 version 11"),
        ("stranger", "was refused: it is meant for another endpoint", "kind 5 code 2"),
        ("token", "was refused: the peer does not know the token of the endpoint", "kind 7 code 3, then the end"),
        # More than the process has files for.
        ("crowd", r"was closed: \d+ others are not proven yet, the most for which the limit of open files leaves room",
         "intruder: 1500 connections", "ulimit -n 120; exec "),
        # A port scan, garbage and idle connections.
        ("storm", "more lines are left out", r"(?s)intruder: [1-9]\d* open ports.*10000 idle connections"),
    ])
    def test_a_job_does_not_mind(self, attack, told, answered, before=""):
        """`told` to the user, `answered` to the intruder."""
        ran = self.ends_well(self.disturbed(attack, before=before), "all right", told=[f"fishplate: .*{told}"])
        self.assertRegex(ran.out, answered, str(ran))
        if attack == "storm":
            self.assertLess(ran.err.count(": a connection from"), 200, str(ran))

    def test_a_killed_rank(self):
        ran = self.disturbed("kill", ranks=4)
        self.fails(ran)
        self.assertRegex(ran.out + ran.err, "BAD TERMINATION|is lost", str(ran))

    def test_a_killed_rank_seen_by_the_others(self):
        # Hydra kills nobody here: that the job ends is Fishplate's and MPICH's doing.
        ran = self.disturbed("kill", ranks=3, mpiexec=["-disable-auto-cleanup"])
        self.fails(ran, rf"{ME}: {PEER} is lost: its process has ended \(no rail finds it listening\); "
                   r"before that, rail r[01] \(10\.77\.\d\.\d to 10\.77\.\d\.\d:\d+\): "
                   "(the connection was closed without a goodbye|Connection reset|Broken pipe)")
