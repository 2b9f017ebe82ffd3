"""`fishplate profile --trace`, `fishplate trace`, `fishplate predict`: what is recorded is what was done, and is replayed."""

import os
import re
import signal

from recorded import RecordedTest, profiled
from support import FISHPLATE, INTERFACES, app, each, mpiexec, program, stack, testbed
from test_profile import ON_FOUR

RANKS = 3
# Lines of `fishplate trace show` for `profiled counts`, of ranks 0 and 1 of three.
DONE = {0: ["communicator 0 is [0, 1, 2]", "receive of 65536 B from 2 on 0, tag 9, request 0",
            "send of 1000 B to 1 on 0, tag 9, request 1", "wait for requests [0, 1]",
            "send of 800 B to 1 on 0, tag 1 and receive of 800 B from 2 on 0, tag 1", "send of 3 B to 1 on 0, tag 2",
            "communicator 1 is [2, 1, 0]", "broadcast on 1, root 0: sends 4 B, receives 4 B",
            "allgather on 1: sends 3 B, receives [1, 2, 3] B", "communicator 2 is [0, 1, 2]", "fence of window 2",
         "window 2 of rank 1: writes 4 B, reads 0 B", "end"],
        # What was taken from any rank has come from one.
        1: ["receive of 3 B from 0 on 0, tag 2, request 0", "allreduce on 1: sends 8 B, receives 8 B, request 0"]}
NAS = ["cg", "ep", "ft", "is", "lu", "mg", "bt", "sp"]


class Predict(RecordedTest):
    def show(self, *options):
        """What calls do, of all ranks."""
        ran = self.succeeds(self.fishplate("trace", "show", self.trace, *options))
        return [re.split(r" {2,}", line.strip())[-1] for line in ran.out.splitlines()]

    @each(INTERFACES)
    def test_what_was_done_is_recorded_and_replayed(self, interface):
        command = [*mpiexec(interface, RANKS), INTERFACES[interface][1] / "profiled", "counts"]
        self.succeeds(self.recorded(*command), "all right")
        for rank, lines in DONE.items():
            shown = self.show("--rank", rank)
            for line in lines:
                self.assertIn(line, shown)
        self.assertEqual({file.suffix for file in self.trace.iterdir()}, {".trace"})
        [one, far] = self.predicted("one=1000", "far=1000/10ms")
        self.assertGreater(far["run_s"], one["run_s"] + 0.1)
        self.assertGreater(one["run_s"], one["computed_s"])

    @each(NAS)
    def test_nas_programs(self, name):
        run = [FISHPLATE, "run", "--mpi", "mpich", "--", "mpiexec", "-n", 4, app(name), "--class", "S"]
        command = profiled(self.record, *run, trace=self.trace)
        self.succeeds(self.run_command(testbed("--rails", "1000,250", "--", *command)), "Verified")
        if name in ON_FOUR:
            sends = [re.match(r"send of (\d+) B", line) for line in self.show()]
            found = [len(list(filter(None, sends))), sum(int(send[1]) for send in sends if send)]
            self.assertEqual(found, [sum(part[what] for part in ON_FOUR[name]) for what in (0, 1)])
        twice = [self.predicted("rails=1000+250", "slow=10", "ib-2x400") for _ in range(2)]
        self.assertEqual(twice[0], twice[1])
        [rails, slow, fast] = twice[0]
        self.assertLess(rails["run_s"], slow["run_s"])
        self.assertLess(fast["communication_s"], slow["communication_s"])

    def test_a_killed_rank(self):
        job = self.start(profiled(self.record, *mpiexec("mpich", 2), program("profiled"), "wait", trace=self.trace))
        told = self.wait_for(job, lambda: re.search(r"pid (\d+)\n", job.text()[0]))
        os.kill(int(told[1]), signal.SIGKILL)
        self.finish(job)
        # What was done until then, although it had not been written yet.
        shown = self.show()
        self.assertIn("wait for requests [0, 1]", shown)
        ran = self.fishplate("predict", self.trace, "one=1000")
        self.assertIn("the traces of 2 of 2 ranks end before MPI_Finalize", ran.out + ran.err, str(ran))

    def test_a_full_disk(self):
        script = f"""
            mkdir {self.trace}
            mount -t tmpfs -o size=256k none {self.trace}
            {FISHPLATE} profile --trace {self.trace} --output {self.record} -- \
                {stack("mpich")}/mpiexec -n 2 {program("profiled")} counts
        """
        ran = self.run_command(testbed("--", "sh", "-ec", script))
        self.assertIn("all right", ran.out, str(ran))
        self.assertRegex(ran.err, "no trace is recorded in .*: No space left on device .*; the program runs without")

    def test_several_threads(self):
        self.succeeds(self.recorded(*mpiexec("mpich", 2), program("profiled"), "threads"), "all right")
        self.fails(self.fishplate("predict", self.trace, "one=1000"), "rank 0: several of its threads were in MPI at once")
