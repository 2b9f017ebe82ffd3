"""Links of a lab that change bits, as a bad cable or adapter does, and make the checksums of TCP and UDP fit: what a job with
checksums finds of that, beside what the emulator has changed, and that its data are right.

    FLIPS=10000 tests/run test_flips

for so many changed packets, which takes about a quarter of an hour; rails are taken back at once, as it would take days otherwise."""

import os
import re
import time

from support import FISHPLATE, MpiTest, mpiexec, program

FLIPS = int(os.environ.get("FLIPS", "50"))
# About five a second: each change ends a connection, which has to be set up again.
PATIENCE_S = 60 + FLIPS


class Flips(MpiTest):
    def flipped(self, lab):
        """Packets of which the emulator has changed a bit, and how the lab shows that."""
        shown = self.fishplate("lab", "status", lab).out
        self.assertRegex(shown, r"lost +changed +queue peak +late us mean +p99 +max")
        rows = re.findall(r"flip .* (\d+) +[\d.]+ [kMG]?B +[-\d]+ +[-\d]+ +[-\d]+ *$", shown, re.M)
        self.assertEqual(len(rows), 2, shown)
        return sum(map(int, rows)), shown

    def job(self, flip):
        """A job that checks what it receives, for as long as it takes to have that many packets changed; what it ended with, and how
        many packets that were."""
        lab, stop = self.lab("--rails", "1000,1000", "--flip", flip), self.temporary_folder() / "stop"
        run = [FISHPLATE, "run", "--checksum", "--"]
        job = self.start([FISHPLATE, "lab", "exec", "--name", lab, "--", *run, *mpiexec("mpich", 2), program("steady"), stop],
                         {"FISHPLATE_ABLATE": "flap-damping"})
        deadline = time.monotonic() + PATIENCE_S
        while self.flipped(lab)[0] < FLIPS:
            self.assertIsNone(job.process.poll(), str(job.ran()))
            self.assertLess(time.monotonic(), deadline, f"{self.flipped(lab)[1]}\n{job.ran()}")
            time.sleep(0.2)
        stop.touch()
        ran = self.finish(job)
        return ran, self.flipped(lab)[0]

    def test_a_job_with_checksums_has_all_data_right(self):
        ran, flipped = self.job("0.0002")
        self.ends_well(ran, "all right")
        found = sum(line["changed_frames"] for line in ran.counters)
        # Bits are changed in what nobody reads any more, in frames that were changed before, and while a connection is set up.
        self.assertGreater(found, FLIPS // 10, f"of {flipped}\n{ran}")
        self.assertLessEqual(found, flipped, str(ran))
        print(f"\n{flipped} packets changed, {found} changed frames found, none taken", end="", flush=True)
