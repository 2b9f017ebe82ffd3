"""`fishplate bench`: a record of stacks in turn, that survives whatever ends it and can be gone on with."""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from processes import command_line, descendants
from support import FISHPLATE, MpiTest, json_lines, tool

# Two stacks, a benchmark of two sizes, two rounds on one link: four cells of a second or less.
SMALL = ["--stacks", "mpich-tcp,fishplate-mpich", "--benchmarks", "bandwidth:--window=4", "--sizes", "64,64K",
         "--seconds", "0.1", "--links", "lan=400+100", "--rounds", "2", "--timeout", "3"]
# Where the benchmark programs are compiled first, beside other tests, that takes most of it.
PATIENCE_S = 300


def at_once(*works):
    """Does all of it at the same time: most of it waits."""
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result()


def cells(record):
    return [(line["stack"], line["round"]) for line in json_lines(record, "cell")]


class Bench(MpiTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.record = self.folder / "record.jsonl"

    def bench(self, *arguments, **environment):
        return self.fishplate("bench", *arguments, timeout=PATIENCE_S, **environment)

    def small(self, record=None):
        return [*SMALL, "--record", record or self.record]

    def is_whole(self, ran, record=None):
        """All four cells, each once, in turn, and a report of them."""
        record = record or self.record
        self.assertEqual(ran.code, 0, str(ran))
        stacks = ["mpich-tcp", "fishplate-mpich"]
        self.assertEqual(sorted(set(cells(record))), sorted((s, r) for s in stacks for r in (0, 1)), str(ran))
        report = self.fishplate("report", record, "--markdown", "-")
        self.assertIn("fishplate-mpich", self.succeeds(report).out)
        self.assertNotIn("not complete", report.out)

    def killed(self, job, victim):
        """Kills a part of a job without warning; at its end nothing of it is left."""
        before = descendants(job.process.pid)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        ran = self.finish(job)
        deadline = time.monotonic() + PATIENCE_S
        while left := {number: line for number, line in before.items() if command_line(number) == line}:
            self.assertLess(time.monotonic(), deadline, f"left: {left}\n{ran}")
            time.sleep(0.02)
        return ran

    def samples(self, count, record=None):
        """Whether the record has a manifest and so many samples by now."""
        record = record or self.record
        return json_lines(record, "manifest") and len(json_lines(record, "sample")) >= count


class Records(Bench):
    def test_stacks_take_turns_and_everything_is_told(self):
        self.is_whole(self.bench(*self.small()))
        self.assertEqual([stack for stack, _ in cells(self.record)],
                         ["mpich-tcp", "fishplate-mpich", "fishplate-mpich", "mpich-tcp"])
        told = {kind: json_lines(self.record, kind) for kind in ("manifest", "link", "sample", "rails")}
        [manifest] = told["manifest"]
        self.assertIn("MPICH", manifest["stacks"][0]["version"])
        self.assertIn("libfabric", manifest["stacks"][0]["version"])
        [link] = told["link"]
        self.assertEqual([rail["rate_mbit"] for rail in link["rails"]], [400, 100])
        for rail in link["rails"]:
            self.assertGreater(rail["round_trip_us"]["mean"], 0)
            # The shaper lets a burst through, so a little more than the rate can be.
            self.assertLess(rail["measured_mbit"], 1.2 * rail["rate_mbit"])
            self.assertGreater(rail["measured_mbit"], 0)
        self.assertEqual(manifest["seeds"], {"contents": 1, "links": 1})
        self.assertEqual({sample["size_bytes"] for sample in told["sample"]}, {64, 65536})
        options = {json.dumps(sample["options"], sort_keys=True) for sample in told["sample"]}
        self.assertEqual(len(options), 1, "the same options whatever the stack")
        self.assertEqual({rails["stack"] for rails in told["rails"]}, {"fishplate-mpich"})
        # There is nothing to go on with.
        again = self.bench("--resume", self.record)
        self.assertIn("0 cells measured", self.succeeds(again).out)

    def test_clusters_are_joined_by_links_and_ranks_are_in_both(self):
        plan = self.folder / "plan.toml"
        plan.write_text("""
            stacks = ["fishplate-mpich", "tcp"]
            rounds = 1
            seed = 7
            [[links]]
            name = "far"
            cluster = [{ name = "east", hosts = 2 }, { name = "west", hosts = 2 }]
            wan = [{ between = ["east", "west"], rails = [{ rate_mbit = 100, delay = "5ms" }] }]
            [[benchmarks]]
            program = "latency"
            options = "--sizes 1 --iterations 5 --warmup 1"
            [[benchmarks]]
            program = "allreduce"
            ranks = 8
            options = "--sizes 4 --iterations 5 --warmup 1"
        """)
        self.succeeds(self.bench(plan, "--record", self.record))
        samples = json_lines(self.record, "sample")
        latencies = {line["stack"]: line["value"] for line in samples if line["benchmark"] == "latency"}
        self.assertEqual(set(latencies), {"fishplate-mpich", "tcp"})
        self.assertGreater(min(latencies.values()), 5000, "two ranks of four hosts are on different sides")
        [allreduce] = [line for line in samples if line["benchmark"] == "allreduce"]
        self.assertGreater(allreduce["value"], 5000)
        [link] = json_lines(self.record, "link")
        [rail] = link["rails"]
        self.assertEqual((rail["name"], rail["delay_us"]), ("r0", 5000))
        self.assertGreater(rail["round_trip_us"]["mean"], 9900)
        self.assertEqual(json_lines(self.record)[0]["seeds"]["links"], 7)

    def test_a_cell_that_fails_is_told_and_the_others_are_measured(self):
        ran = self.bench("--stacks", "mpich-tcp", "--benchmarks", "latency,stress:--messages=100000000", "--timeout", "3",
                         "--sizes", "8", "--seconds", "0.1", "--rounds", "1", "--record", self.record)
        self.assertEqual(ran.code, 3, str(ran))
        self.assertEqual(cells(self.record), [("mpich-tcp", 0)])
        [skipped] = json_lines(self.record, "skipped")
        self.assertIn("took more than 3 s", skipped["reason"])

    def test_a_rail_falls_in_the_middle_of_a_run_and_is_whole_again_in_the_next(self):
        plan = self.folder / "plan.toml"
        plan.write_text("""
            stacks = ["mpich-tcp"]
            rounds = 2
            links = [{ name = "lan", rails = [{ rate_mbit = 800 }] }]
            [[benchmarks]]
            program = "bandwidth"
            options = "--interval 0.25 --duration 1.5 --sizes 64K --window 4"
            schedule = "0.4s r0=20"
        """)
        self.succeeds(self.bench(plan, "--record", self.record))
        values = {(line["round"], line["options"]["time"]): line["value"]
                  for line in json_lines(self.record, "sample")}
        for number in (0, 1):
            times = [time for round_, time in values if round_ == number]
            self.assertGreater(values[number, min(times)], 2 * 20 / 8, values)
            self.assertLess(values[number, max(times)], 2 * 20 / 8, values)

    def test_checked_and_below_mpi(self):
        ran = self.bench("everything", "--stacks", "fishplate-openmpi,tcp,mptcp", "--record", self.record,
                         "--benchmarks", "bandwidth,allreduce,put_latency fence,sockets_latency")
        self.ends_well(ran)
        found = json_lines(self.record)
        self.assertTrue(all(line["checked"] for line in json_lines(self.record, "sample")))
        skipped = {(line["stack"], line["benchmark"]): line["reason"] for line in json_lines(self.record, "skipped")}
        self.assertIn("needs MPI", skipped["tcp", "allreduce"])
        self.assertIn("below MPI", skipped["fishplate-openmpi", "sockets_latency"])
        self.assertEqual(len(found) - 1, len({json.dumps(line) for line in found[1:]}))


class Ended(Bench):
    """By signals, at several moments."""

    def part(self, job, name):
        """A process of the job by a word of its command line."""
        found = [number for number, line in descendants(job.process.pid).items() if name in line]
        return found[-1:] if found else None

    def goes_on(self, record):
        """What is there can be read, and --resume completes it."""
        before = set(cells(record))
        ran = self.bench("--resume", record)
        self.is_whole(ran, record)
        self.assertLess(len(cells(record)), 5, "no cell was measured twice")
        self.assertTrue(before <= set(cells(record)))

    def test_ctrl_c(self):
        job = self.start([FISHPLATE, "bench", *self.small()])
        self.wait_for(job, lambda: self.samples(3), PATIENCE_S)
        os.killpg(job.process.pid, signal.SIGINT)
        self.ends_with(130, self.finish(job), f"--resume {self.record}")
        self.goes_on(self.record)

    def survives(self, samples, part=None):
        """A kill of the program, or of a part of it, after so many samples."""
        record = self.folder / f"{samples}-{(part or '').replace('/', '-').strip()}.jsonl"
        job = self.start([FISHPLATE, "bench", *self.small(record)])
        self.wait_for(job, lambda: self.samples(samples, record), PATIENCE_S)
        [victim] = self.wait_for(job, lambda: self.part(job, part), PATIENCE_S) if part else [job.process.pid]
        ran = self.killed(job, victim)
        self.assertEqual(job.leftovers(), [], str(ran))
        self.goes_on(record)

    def test_kill_of_the_program_at_several_moments(self):
        at_once(lambda: self.survives(0), lambda: self.survives(5))

    def test_kill_of_a_part(self):
        parts = ("hold-host", "bin/mpiexec", "/bandwidth ")
        at_once(*[lambda part=part: self.survives(1, part) for part in parts])

    def test_a_disk_that_is_full(self):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        script = f'mount -t tmpfs -o size=4k none {disk} && exec "$@"'
        command = [tool("unshare"), "-m", "sh", "-c", script, "sh", FISHPLATE, "bench", *SMALL]
        ran = self.run_command([*command, "--record", disk / "record.jsonl"])
        self.ends_with(1, ran, f"cannot append to the record {disk}/record.jsonl: No space left on device", "--resume")


class Refused(Bench):
    """What is wrong with the stacks' programs or their options is found before anything is measured."""

    def test_options(self):
        ran = self.fails(self.bench("--stacks", "mpich-tcp", "--benchmarks", "latency:--windows=4", "--record",
                                    self.record), "unknown option '--windows=4'")
        self.assertFalse(self.record.exists(), str(ran))

    def test_another_plan(self):
        self.is_whole(self.bench(*self.small()))
        other = ["0.2" if word == "0.1" else word for word in SMALL]
        self.fails(self.bench(*other, "--resume", self.record), "has another plan: `benchmarks\\[0\\].options` is .*0.1")
        self.assertIn("0 cells", self.succeeds(self.bench(*SMALL, "--resume", self.record)).out)

    def test_no_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can take rights away")
        command = [tool("setpriv"), "--bounding-set=-sys_admin", FISHPLATE, "bench", *self.small()]
        self.fails(self.run_command(command), "root lacks CAP_SYS_ADMIN here, as in a container: start that with --privileged")
