#!/usr/bin/env python3
"""`fishplate bench` on a real Slurm: two nodes in a testbed, programs started by srun and by mpiexec."""

import shutil
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "mpi"))

from support import FISHPLATE, MpiTest, json_lines, testbed

NEEDED = ["munged", "slurmctld", "slurmd", "salloc", "scontrol"]
MISSING = [name for name in NEEDED if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
LIMIT_S = 180


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)} (packages slurm-wlm, munge)")
class Slurm(MpiTest):
    def test_the_same_benchmarks_by_srun_and_by_mpiexec(self):
        stacks = ["srun-mpich-tcp", "srun-fishplate-mpich", "fishplate-mpich"]
        record = self.temporary_folder() / "record.jsonl"
        bench = [FISHPLATE, "bench", "--hosts", "slurm", "--rails", "r0,r1", "--network", "two nodes",
                 "--stack-file", HERE / "stacks.toml", "--stacks", ",".join(stacks), "--sizes", "8,1M",
                 "--seconds", "0.1", "--rounds", "1", "--record", record]
        on = testbed("--rails", "1000,250", "--", HERE / "cluster", "salloc", "-N", "2")
        self.ends_well(self.run_command([*on, *bench], LIMIT_S))
        lines = json_lines(record)
        self.assertEqual(list(record.parent.iterdir()), [record], "nothing else is left beside the record")
        self.assertEqual(lines[0]["links"], ["two nodes"])
        cells = {(line["stack"], line["benchmark"]) for line in lines if line["kind"] == "cell"}
        self.assertEqual(cells, {(stack, benchmark) for stack in stacks for benchmark in ("latency", "bandwidth")})
        rails = {line["stack"]: {rail["name"] for rail in line["rails"]} for line in lines if line["kind"] == "rails"}
        self.assertEqual(rails, {stack: {"r0", "r1"} for stack in stacks if "fishplate" in stack})


if __name__ == "__main__":
    unittest.main()
