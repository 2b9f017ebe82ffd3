#!/usr/bin/env python3
"""MPI programs over RDMA between two virtual machines with software adapters: `make test-verbs`, some minutes.

    tests/verbs/test_verbs.py                  all
    tests/verbs/test_verbs.py Verbs.test_NAME  one

Needs what `make bench` builds, and Debian's archive at the first time. The numbers that it prints say that things work, not
how fast an adapter is: everything is emulated.
"""

import json
import re
import signal
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mpi"))

import guests
import image
import packages
from support import BUILD, PROGRAMS, PROVIDER, Ran, bench, program, stack

# A job is done in some seconds; all is emulated, and the machine may be busy.
LIMIT_S = 120
# The queues of a software adapter are short; ofi_rxm wants longer ones unless it is told.
SHORT_QUEUES = {"FI_UNIVERSE_SIZE": "2", "FI_OFI_RXM_RX_SIZE": "128", "FI_OFI_RXM_TX_SIZE": "128",
                "FI_OFI_RXM_MSG_RX_SIZE": "64", "FI_OFI_RXM_MSG_TX_SIZE": "64"}
# Each rail gets its part, however slow it is.
EVEN = {"FISHPLATE_STRIPING": "even", "FISHPLATE_MULTIPLEXING": "round-robin"}
# A job is connected by then; and how long a rail is cut: longer than it takes to give it up.
BEFORE_CUT_S, CUT_S = 8, 8


class Verbs(unittest.TestCase):
    """All on the same two guests, which have two rails and a network beside them (eth2)."""

    @classmethod
    def setUpClass(cls):
        cls.seen, cls.mpi_home = [], stack("mpich").parent
        qemu, guest = packages.qemu(), packages.guest()
        # Paths of sockets are short.
        short = None if len(tempfile.gettempdir()) <= 60 else "/tmp"
        folder = tempfile.TemporaryDirectory(prefix="fishplate-verbs-", dir=short)
        cls.addClassCleanup(folder.cleanup)
        archive = Path(folder.name) / "archive"
        image.build(guest, archive, [cls.mpi_home / "bin", cls.mpi_home / "lib" / "mpich",
                                     *cls.mpi_home.glob("lib/libmpi*"), BUILD / "bench" / "mpich", PROGRAMS, PROVIDER])
        start = time.monotonic()
        pair = guests.Pair(qemu, guest, archive, folder.name)
        cls.addClassCleanup(pair.kill)
        cls.a, cls.b = pair.a, pair.b
        cls.seen.append(f"QEMU {packages.version(qemu, 'qemu-system-x86')}, {cls.a.run('uname -sr', 60)[1].strip()}, "
                        f"perftest {packages.version(guest, 'perftest')}, booted in {time.monotonic() - start:.0f} s")

    @classmethod
    def tearDownClass(cls):
        print("\n".join(["", *cls.seen]))

    def on(self, guest, command, limit_s=LIMIT_S):
        """The output of a shell line, which must succeed."""
        code, output = guest.run(f"timeout {limit_s} {command}", limit_s + 20)
        self.assertEqual(code, 0, f"$ {command}\n{output}")
        return output

    def served(self, server, client):
        """The output of a client whose server runs on the other guest."""
        self.b.begin(f"timeout {LIMIT_S} {server}")
        try:
            time.sleep(2)
            return self.on(self.a, client)
        finally:
            code, other = self.b.end(LIMIT_S + 20)
            self.assertEqual(code, 0, other)

    def mpi(self, *command, **settings):
        """The output of an MPI program with a rank on each guest."""
        # Otherwise contents are wrong, with MPICH alone as well (docs/reference/ofi.md).
        variables = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_MR_CACHE_MAX_COUNT": "0", **settings}
        words = [f"{name}='{value}'" for name, value in variables.items()]
        words += [self.mpi_home / "bin" / "mpiexec", "-launcher", "rsh", "-launcher-exec", "/remote", "-iface", "eth2",
                  "-hosts", "a,b", "-n", "2", *command]
        return self.on(self.a, f"env {' '.join(map(str, words))}")

    def fishplate(self, rails, *command, **settings):
        """The same with Fishplate: its output, and what part of all bytes each rail has sent."""
        for guest in (self.a, self.b):
            guest.run("rm -f /tmp/stats", 60)
        # Where providers are looked for, MPICH's own ones have to be named as well.
        folders = f"{PROVIDER}:{self.mpi_home}/lib/mpich/libfabric"
        settings = {"FI_PROVIDER": "fishplate", "FI_PROVIDER_PATH": folders, "FISHPLATE_RAILS": rails,
                    "FISHPLATE_STATS": "/tmp/stats", **settings}
        output = self.mpi(*command, **settings)
        self.assertNotIn("is no rail", output)
        lines = [json.loads(line) for guest in (self.a, self.b) for line in self.on(guest, "cat /tmp/stats").splitlines()]
        return output, Ran(command, 0, output, "", lines).shares()

    def stress(self, rails, *options, **settings):
        """Messages whose every byte is checked."""
        output, shares = self.fishplate(rails, bench("stress"), *options, **settings)
        self.assertIn("all contents right", output)
        summary = re.search(r"# (\d+ messages, \d+ bytes, [\d.]+ s)", output)[1]
        parts = ", ".join(f"{rail} {share:.2f}" for rail, share in sorted(shares.items()))
        self.seen.append(f"stress over {rails}: {summary}; {parts}")
        return output, shares

    def speeds(self, name, run):
        """Latency and bandwidth of MPI, checked."""
        latency = run(bench("latency"), "--sizes", "64", "--iterations", "100", "--check", "--json")
        bandwidth = run(bench("bandwidth"), "--sizes", "256K", "--window", "8", "--iterations", "4", "--check", "--json")
        found = [line["value"] for output in (latency, bandwidth) for line in Ran([], 0, output, "", []).json() if "value" in line]
        self.seen.append(f"{name}: {found[0]:.0f} us half a round trip of 64 B, {found[1]:.1f} MB/s with 256 KiB")

    def test_a_perftest(self):
        for device, address in [("rxe0", "10.9.0.2"), ("rxe1", "10.9.1.2")]:
            options = f"-d {device} -F -n 200"
            output = self.served(f"ib_write_bw {options} -s 65536", f"ib_write_bw {options} -s 65536 {address}")
            bandwidth = re.search(r"^ *65536 +200 +[\d.]+ +([\d.]+)", output, re.MULTILINE)[1]
            output = self.served(f"ib_send_lat {options} -s 64", f"ib_send_lat {options} -s 64 {address}")
            latency = re.search(r"^ *64 +200 +[\d.]+ +[\d.]+ +([\d.]+)", output, re.MULTILINE)[1]
            self.seen.append(f"perftest over {device}: {latency} us (ib_send_lat, 64 B), {bandwidth} MiB/s (ib_write_bw, 64 KiB)")

    def test_b_fi_pingpong(self):
        for size in (64, 65536):
            options = f"-p verbs -e msg -I 100 -S {size}"
            output = self.served(f"fi_pingpong {options}", f"fi_pingpong {options} 10.9.0.2")
            self.seen.append(f"fi_pingpong over verbs: {' '.join(output.splitlines()[-1].split()[-3:-1])} MB/s and us, {size} B")

    def test_c_mpich_by_itself(self):
        alone = lambda *command: self.mpi(*command, FI_PROVIDER="verbs;ofi_rxm", **SHORT_QUEUES)  # noqa: E731
        self.assertIn("all contents right", alone(bench("stress"), "--messages", "1000"))
        self.speeds("MPICH over verbs;ofi_rxm", alone)

    def test_d_one_rail_beside_tcp(self):
        _, shares = self.stress("verbs:rxe0,eth1", "--messages", "1000", **EVEN)
        self.assertGreater(min(shares.values()), 0.1)
        self.assertEqual(shares.keys(), {"verbs:rxe0", "eth1"})
        self.stress("verbs:rxe0,eth1", "--messages", "1000")
        for name in ("matching", "one_sided"):
            self.assertIn("all right", self.fishplate("verbs:rxe0,eth1", program(name), **EVEN)[0])

    def test_e_two_rails(self):
        _, shares = self.stress("verbs:rxe0,verbs:rxe1,eth2", "--messages", "1000", **EVEN)
        self.assertGreater(min(shares[rail] for rail in ("verbs:rxe0", "verbs:rxe1")), 0.1)
        self.stress("verbs:rxe0,verbs:rxe1,eth2", "--messages", "1000", "--seed", "2")
        for rails in ("verbs:rxe0,eth2", "eth0,eth1"):
            self.speeds(f"Fishplate over {rails}", lambda *command: self.fishplate(rails, *command)[0])

    def cut(self, name, rail, begin, end):
        """A rail is cut for some seconds while messages go over all."""
        rails = "verbs:rxe0,verbs:rxe1,eth2"
        timer = threading.Timer(BEFORE_CUT_S, begin)
        healing = threading.Timer(BEFORE_CUT_S + CUT_S, end)
        timer.start()
        healing.start()
        output, _ = self.stress(rails, "--duration", BEFORE_CUT_S + 2 * CUT_S)
        healing.join()
        warnings = re.findall(f"fishplate: warn (.*) rail {rail}: (.*)", output)
        self.assertNotEqual(warnings, [], output)
        self.seen.append(f"{name}: " + "; ".join(sorted({cause.strip() for _, cause in warnings})))

    def test_f_a_pulled_cable(self):
        self.cut("a pulled cable", "verbs:rxe0", lambda: self.a.set_link(0, "off"), lambda: self.a.set_link(0, "on"))
        # It is back for the next job.
        output, shares = self.stress("verbs:rxe0,eth2", "--messages", "1000", FISHPLATE_LOG="info", **EVEN)
        self.assertGreater(shares.get("verbs:rxe0", 0), 0.1, output)

    def test_g_an_interface_taken_down(self):
        # (In later jobs rdma_rxe's connections over it do not come about, nor those of MPICH alone;
        # docs/reference/ofi.md.)
        set_link = lambda state: self.b.run(f"ip link set eth1 {state}", LIMIT_S)  # noqa: E731
        self.cut("an interface taken down", "verbs:rxe1", lambda: set_link("down"), lambda: set_link("up"))


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not (bench("stress").is_file() and program("matching").is_file()):
        sys.exit("its programs are not built: run `make test-verbs`")
    try:
        packages.qemu(), packages.guest()
        unittest.main(verbosity=2)
    except packages.Missing as missing:
        sys.exit(f"test-verbs: {missing}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
    finally:
        # When interrupted, unittest does not.
        Verbs.doClassCleanups()


if __name__ == "__main__":
    main()
