"""Rails are cut while programs run: every byte still arrives, or every rank is told why not."""

import os
import random
import sys
import time
import unittest

from cuts import TOLD, at_once, link_down, loss, rates, reset
from support import FISHPLATE, MpiTest, bench, each, mpi_command, on_first_host, on_host, program

# How many random cuts are made (tests/run --cuts), and what makes them.
CUTS = int(os.environ.get("CUTS", "0"))
SEED = os.environ.get("CUTS_SEED") or str(time.time_ns())
# Longer than a cut and what comes before it: the program sees the rail come back.
LONGEST_CUT_S = 2.0
RUN_S = 5


def flowing(rails):
    """Shell that returns once the program's bytes go over one of the rails of this host, or the program has ended."""
    seen = rf"awk '/{rails}:/ && $10 > 1000000 {{f = 1}} END {{exit !f}}' /proc/net/dev"
    return f"until {seen} || ! kill -0 $job 2>/dev/null; do sleep 0.05; done"


def collective(name, size, seconds):
    """A benchmark program of a collective operation that looks at what it gets."""
    return [name, "--check", "--sizes", size, "--seconds", seconds]


class Failover(MpiTest):
    """Programs that look at every byte."""

    def disturbed(self, disturbance, ranks, *command, timeout=120, mpi="mpich", on=(), **settings):
        """Runs a command on two hosts and, once its bytes flow, `disturbance` (shell) on the first host again and
        again until it ends. `on`: options of the testbed."""
        job = mpi_command(ranks, *command, mpi=mpi, on=on)
        until_it_ends = f"while kill -0 $job 2>/dev/null; do {disturbance}; done; wait $job"
        command = on_first_host(job, lambda here: f"{here} & job=$!\n{flowing('r[01]')}\n{until_it_ends}")
        return self.run_command(command, timeout=timeout, environment=settings)

    def survives(self, disturbance, ranks, *command, says="", told=TOLD, **options):
        """The same; the command ends well, whatever was told of rails."""
        self.ends_well(self.disturbed(disturbance, ranks, *command, **options), says, told=[told])


class Cut(Failover):
    """Rails that go and come back."""

    @each([2, 4])
    def test_a_rail_that_comes_and_goes(self, ranks):
        # With rates: a rail without one may carry everything alone, and r1 would not be missed.
        self.survives(link_down("r1").for_a_while(0.5), ranks, bench("stress"), "--duration", 3, says="all contents right",
                      on=["--rails", "1000,1000"])

    @each([("mpich", "off"), ("openmpi", "on")])
    def test_rails_that_threads_carry(self, mpi, encryption):
        self.survives(link_down("r1").for_a_while(0.3), 2, bench("stress", mpi), "--duration", 2, says="all contents right", mpi=mpi,
                      on=["--rails", "2000,2000,2000"], FISHPLATE_THREADS="3", FISHPLATE_ENCRYPTION=encryption)

    def test_both_rails_in_turn_under_collectives(self):
        both = f"{link_down('r0').for_a_while(0.5)}; {link_down('r1').for_a_while(0.5)}"
        self.survives(both, 4, *collective(bench("allreduce"), "64,64K", 3))

    def test_connections_that_are_reset(self):
        both = f"{reset('r0').for_a_while(0, 0.2)}; {reset('r1', 1).for_a_while(0, 0.2)}"
        self.survives(both, 2, *collective(bench("bandwidth", "openmpi"), "1M", 2), "--warmup", 1, mpi="openmpi")

    @each([("mpich", 3), ("openmpi", 4)])
    def test_a_rail_that_loses_everything(self, mpi, ranks):
        disturbance = f"{loss('r1').for_a_while(0.6)}; {loss('r0', [0]).for_a_while(0.6)}"
        self.survives(disturbance, ranks, program("kernels", mpi), 3, says="all right", mpi=mpi)

    def test_rates_that_change(self):
        changes = f"{rates('r0', 10, 1000)}; {rates('r1', 1, 500, 250)}"
        # A rail that has become a hundred times slower may count as failed for a while.
        self.survives(changes, 2, bench("stress"), "--duration", 2, says="all contents right", told="", on=["--rails", "1000,250"])

    @each([link_down("r1"), link_down("r1", 1), loss("r1")])
    def test_a_rail_that_comes_up_after_the_start(self, cut):
        stop = self.temporary_folder() / "stop"
        job = mpi_command(2, program("steady"), stop, on=["--rails", "1000,1000"])
        # Later than a rail is tried for if no other carries.
        later = f"{flowing('r0')}; sleep 1.5; {cut.end}; {flowing('r1')}; touch {stop}; wait $job"
        command = on_first_host(job, lambda here: f"{cut.begin}; {here} & job=$!; {later}")
        self.ends_well(self.run_command(command, environment={"FISHPLATE_TIMEOUT": "1"}), "all right")

    def test_all_rails_cut_for_five_seconds(self):
        cut = at_once(link_down("r0"), link_down("r1")).for_a_while(5, 0)
        self.survives(f"{cut}; wait $job; exit", 2, bench("stress"), "--duration", 3, says="all contents right")

    def test_all_rails_cut_for_good(self):
        options = ["--iterations", 1000000, "--sizes", "64K"]
        ran = self.disturbed(at_once(link_down("r0"), link_down("r1")).begin, 2, bench("bandwidth"), *options, FISHPLATE_TIMEOUT="2")
        causes = r"rail r\d \(.*\): .*; rail r\d \("
        lost = r"peer .* \(rank [01] on node[01]\) is lost: no rail to it has come back for 2 s: "
        self.fails(ran, f"fishplate: rank [01] on node[01]: {lost}{causes}")


class Emulated(Failover):
    """Programs in labs."""

    def there(self, lab, ranks, *command):
        """A command of an MPI program in a lab."""
        return [FISHPLATE, "lab", "exec", "--name", lab, "--", *on_host(mpi_command(ranks, *command))]

    @each([("500,500", "1500,1300"), ("500", "1300")])
    def test_long_packets_that_vanish(self, rails, mtu):
        # 256 MiB: many times what goes before the rail is set up again.
        options = ["--check", "--sizes", "1M", "--iterations", 3, "--warmup", 1]
        lab = self.lab("--rails", rails, "--path-mtu", mtu)
        ran = self.ends_well(self.run_command(self.there(lab, 2, bench("bandwidth"), *options)), told=[TOLD])
        narrow = f"r{rails.count(',')}"
        self.assertGreater(ran.shares()[narrow], 0.2, str(ran))

    def test_long_packets_that_vanish_on_all_rails_from_some_time_on(self):
        self.changed(["--rails", "500,500", "--path-mtu", "1500"], 2, ["r0=path-mtu=1300", "r1=path-mtu=1300"])

    def test_an_emulator_that_is_started_again(self):
        """All that it holds is lost."""
        # With rates alone there is none; each further link with a delay starts one for all of them.
        self.changed(["--rails", "500,500"], 4, ["r0=delay=1ms", "r1=delay=1ms", "r0=down", "r0=up"])

    def changed(self, options, ranks, changes):
        """A program in a lab that changes ends well."""
        lab, stop = self.lab(*options), self.temporary_folder() / "stop"
        running = self.start(self.there(lab, ranks, program("steady"), stop))
        for change in changes:
            # So that each finds messages under way, and what the one before has done to them.
            time.sleep(0.5)
            self.assertIsNone(running.process.poll(), str(running.ran()))
            self.succeeds(self.fishplate("lab", "set", "--name", lab, change))
        stop.touch()
        self.ends_well(self.finish(running), "all right")


@unittest.skipUnless(CUTS, "only with --cuts")
class RandomCuts(Failover):
    """One of two rails is cut at a random moment, again and again."""

    def test_random_cuts(self):
        print(f"{CUTS} cuts of seed {SEED} (CUTS_SEED)", file=sys.stderr)
        for number in range(CUTS):
            with self.subTest(number):
                self.random_cut(number, random.Random(f"{SEED} {number}"))

    def settings(self, chance):
        """Settings of a job. (Who overrides this leaves the cuts of others as they are.)"""
        return {}

    def random_cut(self, number, chance):
        mpi, ranks = chance.choice(["mpich", "openmpi"]), chance.randint(2, 4)
        command, said = chance.choice([
            ([bench("stress", mpi), "--duration", RUN_S, "--seed", number + 1], "all contents right"),
            ([program("kernels", mpi), RUN_S], "all right"),
            (collective(bench("allreduce", mpi), chance.choice(["64", "64K", "1M"]), RUN_S), ""),
            (collective(bench("alltoall", mpi), chance.choice(["1K", "64K", "1M"]), RUN_S), ""),
            (collective(bench("bibandwidth", mpi), chance.choice(["8K", "1M", "4M"]), RUN_S), ""),
        ])
        ranks = 2 if "bibandwidth" in str(command[0]) else ranks
        rail, host = chance.choice(["r0", "r1"]), chance.randint(0, 1)
        kinds = [link_down(rail, host), reset(rail, host), loss(rail), loss(rail, [host])]
        cut, pause, seconds = chance.choice(kinds), chance.uniform(0, 1), chance.uniform(0.02, LONGEST_CUT_S)
        rails = chance.choice(["0,0", "1000,1000", "1000,250"])
        settings = self.settings(chance)
        what = f"cut {number}: {mpi}, {ranks} ranks, {command[0].name}, rails {rails}: {cut.name} after {pause:.3f} s for {seconds:.3f} s"
        what += "".join(f", {name}={value}" for name, value in settings.items())
        print(what, end="", file=sys.stderr, flush=True)
        started = time.monotonic()
        once = f"{cut.for_a_while(f'{seconds:.3f}', f'{pause:.3f}')}; wait $job; exit"
        ran = self.disturbed(once, ranks, *command, mpi=mpi, on=["--rails", rails], **settings)
        told = ran.err.count("fishplate: warn")
        print(f": exit code {ran.code}, {told} lines told, {time.monotonic() - started:.1f} s", file=sys.stderr)
        self.ends_well(ran, said)
