"""Jobs whose ports, sockets and hosts strangers flood (flooded.py): what that takes of their memory and files, and that they end
as they would have. How fast they are meanwhile is printed, beside a process that computes for as long as the flood did.

    FLOODS_SECONDS=3 FLOODS_ROUNDS=5 FLOODS_RANKS=8 FLOODS_RAILS=6 tests/run test_floods

for longer looks, more of them in turn, and jobs of another size."""

import os
import statistics

from flooded import SPARE
from support import HERE, MpiTest, mpi_command, on_host, program, testbed

SECONDS = os.environ.get("FLOODS_SECONDS", "0.5")
ROUNDS = os.environ.get("FLOODS_ROUNDS", "1")
RANKS = int(os.environ.get("FLOODS_RANKS", "2"))
RAILS = int(os.environ.get("FLOODS_RAILS", "2"))
# Of each process.
MOST_MEMORY_KIB = 4096
MOST_FILES = 64
STRANGERS = ["idle", "begun", "named", "garbage", "half_open", "datagrams"]


class Floods(MpiTest):
    """Each kind in turn, against one job."""

    def flooded(self, kinds, hosts=2, **settings):
        """A job under floods of these kinds."""
        stop = self.temporary_folder() / "stop"
        here = on_host(mpi_command(RANKS, program("steady"), stop))
        flooder = ["python3", "-B", HERE / "flooded.py", RANKS, "steady", stop, SECONDS, ROUNDS, ",".join(kinds), *here]
        on = ["--rails", ",".join(["0"] * RAILS), "--hosts", hosts]
        ran = self.run_command(testbed(*on, "--", *flooder), timeout=300, environment=settings)
        self.ends_well(ran, "all right")
        seen = [line for line in ran.json() if "flood" in line]
        self.assertEqual([line["flood"] for line in seen], kinds, str(ran))
        for line in seen:
            self.tell(line, settings)
            self.assertLess(line["memory_kib"], MOST_MEMORY_KIB, str(line))
            self.assertLessEqual(line["files"], MOST_FILES + SPARE, str(line))
            self.assertLessEqual(line["files_left"], SPARE, str(line))

    def tell(self, line, settings):
        """A row of a table."""
        how = " encrypted" if settings.get("FISHPLATE_ENCRYPTION") == "on" else ""
        rate = statistics.median(rate for rate, _ in line["rates"])
        ratios = [rate / beside for rate, beside in line["rates"] if beside]
        told = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})" if ratios else "?"
        print(f"\n{line['flood']:10} {RANKS} ranks, {RAILS} rails{how}: {rate:.0f} MB/s, {told} of beside a process that computes as"
              f" long ({line['processor_s']:.2f} s); before {line['rate_before']:.0f}, after {line['rate_after']:.0f};"
              f" {line['memory_kib']} KiB and {line['files']} files more", end="", flush=True)

    def test_strangers_cost_a_job_neither_memory_nor_files_nor_its_result(self):
        self.flooded(STRANGERS)

    def test_strangers_and_a_job_that_encrypts(self):
        self.flooded(["idle", "named"], FISHPLATE_ENCRYPTION="on")

    def test_another_user_of_the_host_and_shared_memory(self):
        self.flooded(["local"], hosts=1, MPIR_CVAR_NOLOCAL="1")
