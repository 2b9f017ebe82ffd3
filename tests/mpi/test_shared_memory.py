"""Ranks of one host whose MPI leaves their messages to libfabric: they share memory, or use the rails where they cannot."""

import os
import random
import signal
import time

from processes import marked
from support import MpiTest, bench, each, mpi_command, on_host, program, testbed, tool, top_rows

ONE_HOST = ["--hosts", 1]
# Under these settings, MPICH and Open MPI leave ranks of one host to libfabric.
NOLOCAL = {"MPIR_CVAR_NOLOCAL": "1", "OMPI_MCA_pml": "cm"}


def refused(call):
    """Settings that forbid `process_vm_readv` or `process_vm_writev`, and have it told."""
    return {**NOLOCAL, "LD_PRELOAD": program("refuse.so"), "REFUSED": call, "FISHPLATE_LOG": "info"}


class SharedMemory(MpiTest):
    """On one host, unless a test says otherwise."""

    def stress(self, ranks=4, mpi="mpich", on=ONE_HOST, messages=5000, **settings):
        settings = {**NOLOCAL, **settings}
        ran = self.mpi(ranks, bench("stress", mpi), "--messages", messages, on=on, mpi=mpi, **settings)
        return self.succeeds(ran, "all contents right").shares()

    def test_open_mpi_keeps_its_own_where_all_ranks_are_on_one_host(self):
        ran = self.mpi(4, bench("stress", "openmpi"), "--messages", 1000, on=ONE_HOST, mpi="openmpi")
        self.succeeds(ran, "all contents right", "all on this host", warns="no process of this program used Fishplate")
        ran = self.mpi(2, bench("stress", "openmpi"), "--messages", 1000, mpi="openmpi")
        self.assertNotIn("shm", self.succeeds(ran, "all contents right").shares())

    @each([
        *((ranks, {"mpi": mpi}) for ranks in [2, 4] for mpi in ["mpich", "openmpi"]),
        *((2, {"FISHPLATE_STRIPING": policy}) for policy in ["even", "weighted", "adaptive", "binding"]),
        (2, {"FISHPLATE_EAGER_LIMIT": "0"}), (2, {"FISHPLATE_ENCRYPTION": "on"}),
    ])
    def test_all_messages_go_through_memory(self, ranks, options):
        self.assertGreater(self.stress(ranks, **options)["shm"], 0.99)

    def test_hosts_with_several_ranks_each(self):
        shares = self.stress(4, on=["--rails", "1000,250"])
        self.assertEqual(shares.keys(), {"r0", "r1", "shm"})
        self.assertGreater(min(shares.values()), 0)

    def test_hosts_do_not_share(self):
        self.assertNotIn("shm", self.stress(2, on=[]))

    def test_off(self):
        for mpi in ["mpich", "openmpi"]:
            self.assertNotIn("shm", self.stress(2, mpi, FISHPLATE_SHARED_MEMORY="off"))

    @each([
        *((2, name) for name in ["matching", "truncate", "threads", "one_sided", "leaver"]), (4, "matching"), (4, "threads"),
        # More ranks than cores, and a full unexpected queue.
        (16, "crowd"), (2, "flood", 60_000, 2000, 20),
    ])
    def test_semantics(self, ranks, name, *arguments):
        self.succeeds(self.mpi(ranks, program(name), *arguments, on=ONE_HOST, **NOLOCAL), "all right")

    @each(["calls", "auto", "thread"])
    def test_puts_and_gets_do_not_wait_for_their_target(self, progress):
        """Which computes until they are done."""
        command = [program("passive"), self.temporary_folder(), 1, 8, 4096, 100_000, 1 << 20, 64 << 20]
        ran = self.mpi(2, *command, on=ONE_HOST, **NOLOCAL, FISHPLATE_PROGRESS=progress)
        self.assertGreater(self.succeeds(ran, "all right").shares()["shm"], 0.99)

    def test_where_processes_may_not_read_each_other(self):
        """As with Yama, or in a container: the kernel refuses the system call, and long messages are copied."""
        for mpi in ["mpich", "openmpi"]:
            ran = self.mpi(4, bench("stress", mpi), "--messages", 5000, on=ONE_HOST, mpi=mpi, **refused("readv"))
            self.ends_well(ran, "all contents right", told=["its long messages are copied"])
            self.assertGreater(ran.shares()["shm"], 0.99)
            self.assertNotIn("read where they are", ran.err, str(ran))

    def test_one_sided_operations_where_processes_may_not_access_each_other(self):
        """They wait for their targets, as between hosts; also where it turns out with the first of them."""
        for call in ["readv", "writev"]:
            ran = self.ends_well(self.mpi(2, program("one_sided"), on=ONE_HOST, **refused(call)), "all right")
            self.assertEqual("one-sided operations wait for their targets" in ran.err, call == "writev", str(ran))

    def test_dev_shm_that_is_full_small_or_read_only(self):
        """The memory has no file there. (MPICH itself cannot start then.)"""
        full = "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero > /dev/shm/full"
        for make in [full, "mount -t tmpfs -o size=64k tmpfs /dev/shm", "mount -t tmpfs -o ro tmpfs /dev/shm"]:
            job = mpi_command(2, bench("stress", "openmpi"), "--messages", 1000, on=ONE_HOST, mpi="openmpi")
            changed = [*testbed(*ONE_HOST, "--"), tool("unshare"), "--mount", "sh", "-c", f'{make} && exec "$@"', "sh", *on_host(job)]
            ran = self.run_command(changed, 120, {**NOLOCAL, "FISHPLATE_TOP": "off"})
            self.assertGreater(self.succeeds(ran, "all contents right").shares()["shm"], 0.99, make)

    def kill_a_rank(self, mpi, delay_s):
        """Kills one of three ranks while all exchange messages."""
        before, steady = set(os.listdir("/dev/shm")), program("steady", mpi)
        job = self.start(mpi_command(3, steady, self.temporary_folder() / "stop", on=ONE_HOST, mpi=mpi), NOLOCAL)
        self.wait_for(job, lambda: "connected" in job.text()[0])
        time.sleep(delay_s)
        ranks = [number for number, command in marked(job.mark) if command.startswith(str(steady))]
        self.assertEqual(len(ranks), 3, str(job.ran()))
        os.kill(ranks[1], signal.SIGKILL)
        ran = self.fails(self.finish(job))
        self.assertNotIn("broke the protocol", ran.err, str(ran))
        self.assertEqual(job.leftovers(), [], str(ran))
        left = {name for name in set(os.listdir("/dev/shm")) - before if "fishplate" in name}
        # The pages of killed processes, which the next `fishplate top` removes.
        self.assertEqual({name for name in left if not name.startswith("fishplate-live-")}, set())

    def test_a_killed_rank(self):
        for mpi in ["mpich", "openmpi"]:
            for _ in range(3):
                self.kill_a_rank(mpi, random.uniform(0, 0.3))

    def test_top(self):
        steady, stop = self.named(program("steady")), self.temporary_folder() / "stop"
        job = self.start(mpi_command(2, steady, stop, on=ONE_HOST), NOLOCAL)
        self.wait_for(job, lambda: any(row["rail"] == "shm" for row in top_rows(steady.name)))
        stop.touch()
        self.succeeds(self.finish(job), "all right")
