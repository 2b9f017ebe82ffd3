"""`fishplate rpi`: a program on several networks in turn, and what they are worth to it."""

from support import FISHPLATE, MpiTest, app, bench, json_lines

NETWORKS = "one=50,two=50+50,fast=400"
NAMES = ["one", "two", "fast"]
TIMES = {"run_time", "communication_time", "communication_time_greatest", "late_time", "computing_time_greatest",
         "computing_and_late_time_greatest"}


class Rpi(MpiTest):
    def setUp(self):
        self.record = self.temporary_folder() / "rpi.jsonl"

    def rpi(self, program, *options):
        command = [FISHPLATE, "rpi", "--networks", NETWORKS, "--ranks", "2", "--record", self.record, *options]
        return self.run_command([*command, "--", *program], 300)

    def lines(self, kind):
        return json_lines(self.record, kind)

    def prints(self, ran, *texts):
        for text in texts:
            self.assertIn(text, ran.out, str(ran))

    def test_a_program_on_three_networks(self):
        ran = self.ends_well(self.rpi([app("is"), "--class", "S"], "--repeats", "2"))
        cells = [(cell["link"], cell["round"]) for cell in self.lines("cell")]
        self.assertEqual(cells, [(name, 0) for name in NAMES] + [(name, 1) for name in reversed(NAMES)], str(ran))
        for cell in cells:
            samples = [line for line in self.lines("sample") if (line["link"], line["round"]) == cell]
            times = {sample["metric"]: sample["value"] for sample in samples}
            self.assertEqual(set(times), TIMES, str(ran))
            self.assertLessEqual(times["communication_time"], times["communication_time_greatest"])
            self.assertLessEqual(times["communication_time_greatest"], times["run_time"] * 1.001)
            self.assertLessEqual(times["late_time"], times["communication_time"])
            self.assertLessEqual(times["computing_time_greatest"], times["computing_and_late_time_greatest"])
        self.assertEqual([link["name"] for link in self.lines("link")], NAMES)
        self.prints(ran, "is: 2 ranks, 2 runs on each of 3 networks", "with an infinitely fast network it would take")
        self.assertIn("<svg", self.record.with_suffix(".html").read_text())

    def test_stacks_are_networks_too(self):
        stacks = ["--stacks", "mpich-tcp,fast:mpich-ucx", "--repeats", "1"]
        ran = self.ends_well(self.rpi([bench("alltoall"), "--sizes", "64K", "--iterations", "20"], *stacks))
        found = {(line["link"], line["stack"]) for line in self.lines("sample")}
        self.assertEqual(found, {("one", "mpich-tcp"), ("two", "mpich-tcp"), ("fast", "mpich-ucx")}, str(ran))

    def test_what_does_not_run_is_told(self):
        ran = self.rpi(["/bin/true"], "--repeats", "1")
        self.ends_with(3, ran, "one, run 1 of 1: failed: no process called MPI")
        self.prints(ran, "no run on fast is complete")
        self.record = self.record.with_name("other.jsonl")
        script = f'[ "$(ls /sys/class/net | grep -c "^r[0-9]")" = 2 ] && exit 7; exec {app("is")}'
        ran = self.rpi(["sh", "-c", script], "--repeats", "1")
        self.ends_with(3, ran, "two, run 1 of 1: failed: sh ended with exit code 7")
        self.prints(ran, "! two, run 1: sh ended with exit code 7", "with an infinitely fast network")
