#!/usr/bin/env python3
"""`fishplate bench` on a real Slurm: two nodes in a testbed, programs started by srun and by mpiexec."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FISHPLATE = ROOT / "build" / "bin" / "fishplate"
NEEDED = ["munged", "slurmctld", "slurmd", "salloc", "scontrol"]
MISSING = [name for name in NEEDED if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
LIMIT_S = 180


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)} (packages slurm-wlm, munge)")
class Slurm(unittest.TestCase):
    def test_the_same_benchmarks_by_srun_and_by_mpiexec(self):
        stacks = ["srun-mpich-tcp", "srun-fishplate-mpich", "fishplate-mpich"]
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.jsonl"
            bench = [FISHPLATE, "bench", "--hosts", "slurm", "--rails", "r0,r1", "--network", "two nodes",
                     "--stack-file", HERE / "stacks.toml", "--stacks", ",".join(stacks), "--sizes", "8,1M",
                     "--seconds", "0.1", "--rounds", "1", "--record", record]
            testbed = [FISHPLATE, "testbed", "--rails", "1000,250", "--", HERE / "cluster", "salloc", "-N", "2"]
            ran = subprocess.run([*testbed, *bench], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
            self.assertEqual(ran.returncode, 0, ran.stdout)
            lines = [json.loads(line) for line in record.read_text().splitlines()]
            self.assertEqual(list(Path(folder).iterdir()), [record], "nothing else is left beside the record")
        self.assertEqual(lines[0]["links"], ["two nodes"])
        cells = {(line["stack"], line["benchmark"]) for line in lines if line["kind"] == "cell"}
        self.assertEqual(cells, {(stack, benchmark) for stack in stacks for benchmark in ("latency", "bandwidth")})
        rails = {line["stack"]: {rail["name"] for rail in line["rails"]} for line in lines if line["kind"] == "rails"}
        self.assertEqual(rails, {stack: {"r0", "r1"} for stack in stacks if "fishplate" in stack})


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
