"""Names that others have chosen, of programs, hosts, communicators, stacks, files: with escape sequences of terminals, characters
that turn the direction of writing, and markup. Nothing that Fishplate prints has any of the first two, and no page the third."""

import copy
import json
import os
import re
import unittest

from recorded import profiled
from support import FISHPLATE, MpiTest, json_lines, mpiexec, program, short_bench

# Title of the terminal, colour, a C1 control, right-to-left override, an element, the end of a script.
HOSTILE = "\x1b]0;t\x07\x1b[31m\u009b32m\u202e<img src=x onerror=alert(1)></script>&quot;"
# What a file may be called, and a host.
PROGRAM = "a\x1b[31m\u202e<img src=x>"
HOST = "h\x1b[32m<img src=x>"
# Before "=", as `predict` takes them.
NETWORK = "n\x1b[32m\u202e<img>"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ELEMENT = re.compile(r"<img|</script>&")


class HostileNames(MpiTest):
    def clean(self, ran):
        """Nothing that a terminal obeys was printed."""
        for text in (ran.out, ran.err):
            found = COMMANDS.search(text)
            self.assertIsNone(found, f"{found and text[max(0, found.start() - 80) : found.end() + 20]!r}\n{ran.command}")
        return ran

    def harmless(self, page):
        """The page has none of it as an element, and nothing that turns the direction of writing."""
        text = page.read_text()
        for wrong in (ELEMENT, COMMANDS):
            found = wrong.search(text)
            self.assertIsNone(found, found and text[max(0, found.start() - 80) : found.end() + 20])

    def runs(self, *command):
        """A command, whether it succeeds or not."""
        return self.clean(self.fishplate(*command))

    def strings(self, value, path=()):
        """Paths of the strings in a record; of each list the first entry."""
        if isinstance(value, str):
            yield path
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from self.strings(inner, (*path, key))
        elif isinstance(value, list) and value:
            yield from self.strings(value[0], (*path, 0))

    def changed(self, record, path):
        """The record with hostile text behind one of its strings."""
        record = copy.deepcopy(record)
        at = record
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] += HOSTILE
        return record

    def hostile(self, lines, numbers, read):
        """Lines of JSON with each string of those with these numbers hostile, those together that `read` can do with. What it cannot
        do with is told cleanly as well, which `read` looks at."""
        for at in numbers:
            for path in list(self.strings(lines[at])):
                tried = [*lines[:at], self.changed(lines[at], path), *lines[at + 1 :]]
                if read(tried).code == 0:
                    lines = tried
        self.ends_well(read(lines))
        return lines

    def test_records_of_profiles(self):
        folder = self.temporary_folder()
        job = [*mpiexec("mpich", 2), program("profiled"), "counts"]
        self.ends_well(self.run_command(profiled(folder / "p.json", *job, trace=folder / "trace")))
        profile = json.loads((folder / "p.json").read_text())
        file, page = folder / "q.json", folder / "page.html"

        def read(lines):
            [one] = lines
            file.write_text(json.dumps(one))
            return self.runs("profile", "--read", file, "--output", folder / "page.json")

        self.hostile([profile], [0], read)
        self.harmless(page)
        self.assertIn("&lt;img", page.read_text())

    def test_records_of_measurements(self):
        folder = self.temporary_folder()
        record = folder / "r.jsonl"
        self.ends_well(self.run_command(short_bench(record, "fishplate-mpich,mpich-tcp", rounds=2)))
        lines = json_lines(record)
        kinds = {line["kind"]: at for at, line in enumerate(lines)}
        file, page, markdown = folder / "q.jsonl", folder / "q.html", folder / "q.md"

        def read(lines):
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            ran = self.runs("report", file, "-o", page, "--markdown", markdown)
            self.runs("compare", file, file)
            self.runs("report", file, "--markdown", "-")
            return ran

        # One line of each kind, and names that all lines share.
        lines = self.hostile(lines, kinds.values(), read)
        for name in ("mpich-tcp", "MPICH, libfabric tcp", "one"):
            text = json.dumps(lines).replace(json.dumps(name), json.dumps(name + HOSTILE))
            if read(json.loads(text)).code == 0:
                lines = json.loads(text)
        self.ends_well(read(lines))
        self.harmless(page)
        self.assertIn("&lt;img", page.read_text())
        self.assertNotIn("<img", markdown.read_text())

    def test_descriptions(self):
        folder = self.temporary_folder()
        name = json.dumps(HOSTILE)

        def file(stem, text):
            made = folder / f"{stem}.toml"
            made.write_text(text)
            return made

        stacks = file("stacks", f'[{name}]\nlike = "mpich-tcp"\ntitle = {name}\n')
        alike, raw = file("alike", f'[x]\nlike = {name}\n'), file("raw", "a = \x1b]0;t\x07\n")
        plan = file(f"plan{PROGRAM.replace('/', '')}", f'title = {name}\nstacks = [{name}]\n')
        testbed = file("testbed", f'name = {name}\nabout = {name}\n')
        self.assertIn("<img", self.runs("stacks", "--stacks", stacks).out)
        for command in [["stacks", "--stacks", alike], ["stacks", "--stacks", raw], ["run", "--stacks", stacks, "--mpi", "x", "--", "true"],
                        ["bench", plan], ["bench", raw], ["bench", "--stacks", HOSTILE], ["rpi", plan], ["simulate", testbed, "latency"],
                        ["simulate", raw, "latency"], ["predict", plan, "a=1"], ["profile", "--read", plan], ["report", plan],
                        ["lab", "up", "--name", HOSTILE], ["lab", "up", plan], ["lab", "up", raw], ["demo", "--from", plan],
                        ["trace", "stat", folder / PROGRAM]]:
            ran = self.fails(self.fishplate(*command))
            # The parser of the command line repeats words as they were given to it.
            if "error:" not in ran.err:
                self.clean(ran)

    @unittest.skipUnless(os.geteuid() == 0, "only root can name a host")
    def test_programs_and_hosts(self):
        folder = self.temporary_folder()
        (folder / PROGRAM).symlink_to(program("profiled"))
        (folder / f"b{HOST}").symlink_to(program("steady"))
        # The launcher would end at such a name.
        host = ["unshare", "--uts", "python3", "-c",
                f"import os, socket, sys; socket.sethostname({HOST!r}); os.execvp(sys.argv[1], sys.argv[1:])"]
        job = lambda *command: [*mpiexec("mpich", 2), *host, *command]
        record, page = folder / "p.json", folder / "p.html"
        for command in [["run", "--rails", "lo", "--", *job(folder / PROGRAM, "counts")],
                        ["profile", "--trace", folder / "trace", "-o", record, "--", *job(folder / PROGRAM, "counts")],
                        ["profile", "--read", record], ["trace", "stat", folder / "trace"],
                        ["predict", folder / "trace", f"{NETWORK}=1000", "b=10", "--page", folder / "q.html"]]:
            self.ends_well(self.clean(self.fishplate(*command, MPIR_CVAR_NOLOCAL="1")))
        self.assertIn("&lt;img", page.read_text())
        self.harmless(page)
        self.harmless(folder / "q.html")
        for command in ["rails", "doctor"]:
            self.clean(self.run_command([*host, FISHPLATE, command]))
        self.top(folder, job)

    def top(self, folder, job):
        """A running job of that name."""
        stop = folder / "stop"
        job = self.start([FISHPLATE, "run", "--rails", "lo", "--", *job(folder / f"b{HOST}", stop)], {"MPIR_CVAR_NOLOCAL": "1"})
        self.wait_for(job, lambda: "connected" in job.text()[0])
        shown = self.wait_for(job, lambda: (seen := self.fishplate("top", "--once", "--every", "0.1")).out.count("<img") and seen)
        self.clean(shown)
        stop.touch()
        self.assertEqual(self.finish(job).code, 0)
