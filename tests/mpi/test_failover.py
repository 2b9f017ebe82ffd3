"""Rails are cut while programs run: every byte still arrives, or every rank is told why not."""

import shlex

from support import MpiTest, bench, mpi_command, testbed, tool

# What is told of a rail that was cut.
CUT = r"fishplate: warn .* rail r[01] \(.*\): (it carried nothing|the other side has not answered|Connection)"


# Shell that returns once the program's bytes go over the rails of this host, or the program has ended.
FLOWING = r"""until awk '/r[01]:/ && $10 > 1000000 {f = 1} END {exit !f}' /proc/net/dev || ! kill -0 $job 2>/dev/null
do sleep 0.05; done"""


class Failover(MpiTest):
    """Programs that look at every byte, under `ip link set down`."""

    def disturbed(self, disturbance, ranks, *command, timeout=120, **settings):
        """Runs a command on two hosts and, once its bytes flow, `disturbance` (shell) on the first host again and
        again until it ends."""
        job = mpi_command(ranks, *command)
        rest = job.index("--") + 1
        here = shlex.join(map(str, job[rest:]))
        line = f"{here} & job=$!\n{FLOWING}\nwhile kill -0 $job 2>/dev/null; do {disturbance}; done; wait $job"
        return self.run_command([*job[:rest], "sh", "-c", line], timeout=timeout, environment=settings)

    def survives(self, ran, *texts):
        """It ended well, whatever was told of rails."""
        self.assertEqual(ran.code, 0, str(ran))
        for text in texts:
            self.assertIn(text, ran.out, str(ran))
        self.says(ran, CUT)

    def link(self, rail, state):
        """Shell that sets a rail up or down."""
        return f"{tool('ip')} link set {rail} {state}"

    def flap(self, rail):
        """Shell for a rail that goes and comes."""
        return f"sleep 0.5; {self.link(rail, 'down')}; sleep 0.5; {self.link(rail, 'up')}"

    def test_a_rail_that_comes_and_goes(self):
        for ranks in [2, 4]:
            with self.subTest(ranks):
                ran = self.disturbed(self.flap("r1"), ranks, bench("stress"), "--duration", 3)
                self.survives(ran, "all contents right")

    def test_both_rails_in_turn_under_collectives(self):
        both = f"{self.flap('r0')}; {self.flap('r1')}"
        options = ["--check", "--sizes", "64,64K", "--seconds", "3"]
        ran = self.disturbed(both, 4, bench("allreduce"), *options)
        self.survives(ran)

    def test_all_rails_cut_for_five_seconds(self):
        down = f"{self.link('r0', 'down')}; {self.link('r1', 'down')}"
        up = f"{self.link('r0', 'up')}; {self.link('r1', 'up')}"
        ran = self.disturbed(f"{down}; sleep 5; {up}; wait $job; exit", 2, bench("stress"), "--duration", 3)
        self.survives(ran, "all contents right")

    def test_all_rails_cut_for_good(self):
        down = f"{self.link('r0', 'down')}; {self.link('r1', 'down')}"
        options = ["--iterations", 1000000, "--sizes", "64K"]
        ran = self.disturbed(down, 2, bench("bandwidth"), *options, FISHPLATE_TIMEOUT="2")
        self.fails(ran, r"fishplate: no rail to the peer has come back for 2 s: rail r\d \(.*\): .*; rail r\d \(")
