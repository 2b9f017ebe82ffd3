"""Hosts and processes are told apart by more than names and process numbers: in profiles, traces, predictions, statistics, the
table of `fishplate run`, and `fishplate top`."""

import json
import os
import re
import shlex

from recorded import RecordedTest, profiled
from support import AS_ROOT, FISHPLATE, INTERFACES, MpiTest, each, json_lines, mpi_command, mpiexec, on_host, program, testbed, top, top_rows

# Two hosts of a testbed, two ranks on each.
RANKS, HOSTS = 4, 2
# Makes a rank's host another one: its name, and what the kernel says of its boot.
NAMED = "echo {name} >/proc/sys/kernel/hostname"
BOOTED = "mount --bind {file} /proc/sys/kernel/random/boot_id"


def inside(kinds, line, command):
    """A command in new namespaces of these kinds, in which the shell runs a line before. In a process namespace it is process 1."""
    fork = ["--fork"] if "pid" in kinds else []
    return ["unshare", *(f"--{kind}" for kind in kinds), *fork, "sh", "-ec", f"{line}; exec {shlex.join(map(str, command))}"]


class Identity(RecordedTest):
    def setUp(self):
        super().setUp()
        self.stats = self.folder / "stats.jsonl"

    def seen(self):
        """Of a run that was recorded: hosts and their names by rank in the profile, and in the trace; ranks on a host that a
        prediction takes; hosts in the statistics."""
        record = json.loads(self.record.read_text())
        [world] = record["worlds"]
        hosts = {rank["host_id"] for rank in world["ranks"]}
        self.assertEqual({series["host_id"] for series in record["hosts"]}, hosts)
        self.assertEqual(len({series["host"] for series in record["hosts"]}), len(record["hosts"]))
        names = [rank["host"] for rank in world["ranks"]]
        shown = self.fishplate("trace", "stat", self.trace)
        rows = [line.split("  ") for line in shown.out.splitlines() if re.match(r"\s+\d+\s", line)]
        in_trace = [next(cell for cell in row[1:] if cell.strip() and not cell.strip().isdigit()).strip() for row in rows]
        self.assertEqual(in_trace, names, str(shown))
        lines = json_lines(self.stats)
        return len(hosts), names, {line["host_id"] for line in lines} or hosts, {line["process"] for line in lines}

    def ranks_per_node(self):
        """Ranks on a host, as a prediction takes them from the trace: as many hosts as it needs."""
        times = []
        for options in ([], ["--ranks-per-node", RANKS // HOSTS], ["--ranks-per-node", RANKS]):
            ran = self.succeeds(self.fishplate("predict", "--json", self.trace, *options, "one=10"))
            times.append(json.loads(ran.out)[0]["run_s"])
        return {times[1]: RANKS // HOSTS, times[2]: RANKS}[times[0]]

    @each(["mpich", "openmpi"])
    def test_hosts_with_one_name_whose_ranks_are_all_process_1(self, mpi):
        # Open MPI's own processes find each other by process numbers.
        kinds = ["uts", "pid"] if mpi == "mpich" else ["uts"]
        rank = inside(kinds, NAMED.format(name="node"), [INTERFACES[mpi][1] / "profiled", "counts"])
        job = mpi_command(RANKS, *rank, run=["--stats", self.stats], mpi=mpi)
        ran = self.run_command(testbed("--", *profiled(self.record, *on_host(job), trace=self.trace)), environment=AS_ROOT)
        self.succeeds(ran, "all right", f"{RANKS} processes on {HOSTS} hosts", f"{RANKS} ranks on {HOSTS} hosts")
        hosts, names, in_stats, processes = self.seen()
        self.assertEqual((hosts, len(in_stats), len(processes)), (HOSTS, HOSTS, RANKS))
        self.assertEqual(sorted(set(names)), ["node (1)", "node (2)"])
        self.assertEqual(names[0], "node (1)")
        if mpi == "mpich":
            self.assertEqual({rank["pid"] for rank in self.ranks()}, {1})
        self.assertEqual(self.ranks_per_node(), RANKS // HOSTS)

    @each(["mpich", "openmpi"])
    def test_one_host_with_several_names(self, mpi):
        ranks = "echo rank-${PMI_RANK:-$PMIX_RANK} >/proc/sys/kernel/hostname"
        rank = inside(["uts"], ranks, [INTERFACES[mpi][1] / "profiled", "counts"])
        run = [FISHPLATE, "run", "--mpi", mpi, "--stats", self.stats, "--", *mpiexec(mpi, 3), *rank]
        ran = self.recorded(*run, FISHPLATE_RAILS="lo", MPIR_CVAR_NOLOCAL="1", OMPI_MCA_pml="cm")
        self.succeeds(ran, "all right", "3 processes on 1 host", "3 ranks on 1 host")
        hosts, names, in_stats, _ = self.seen()
        self.assertEqual((hosts, len(in_stats), names), (1, 1, [f"rank-{rank}" for rank in range(3)]))

    @each(["mpich", "openmpi"])
    def test_machines_with_one_name_and_another_boot(self, mpi):
        boot = self.folder / "boot"
        boot.write_text("00000000-1111-2222-3333-444444444444\n")
        line = f"[ ${{PMI_RANK:-$PMIX_RANK}} = 0 ] || {BOOTED.format(file=boot)}"
        rank = inside(["mount"], line, [INTERFACES[mpi][1] / "profiled", "counts"])
        self.succeeds(self.recorded(*mpiexec(mpi, 3), *rank), "all right", "3 ranks on 2 hosts")
        hosts, names, _, _ = self.seen()
        name = os.uname().nodename
        self.assertEqual((hosts, names), (2, [f"{name} (1)", f"{name} (2)", f"{name} (2)"]))
        # Other machines have other clocks.
        [world] = json.loads(self.record.read_text())["worlds"]
        self.assertEqual([clock["hosts"] for clock in world["clocks"]], [[f"{name} (1)"], [f"{name} (2)"]])

    def test_top(self):
        steady = self.named(program("steady"))
        rank = inside(["uts", "pid"], NAMED.format(name="node"), [steady, self.folder / "stop"])
        job = self.start(mpi_command(2, *rank))

        def of_both_ranks():
            rows = top_rows(steady.name)
            return rows if len({row["rank"] for row in rows}) == 2 else None

        rows = self.wait_for(job, of_both_ranks)
        self.assertEqual({(row["host"], row["pid"]) for row in rows}, {("node", 1)})
        self.assertEqual(len({(row["rank"], row["host_id"]) for row in rows}), 2)
        self.assertEqual(len({row["host_id"] for row in rows}), 2)
        table = [line for line in top().splitlines() if steady.name in line]
        hosts = {re.match(r"\s*(node \(\d\))\s", line)[1] for line in table}
        self.assertEqual(len(hosts), 2, "\n".join(table))
        (self.folder / "stop").touch()
        self.assertEqual(self.finish(job).code, 0)


class Causes(MpiTest):
    """What a warning says of causes was looked for and found."""

    def told(self, *command, code=0, **environment):
        ran = self.ends_with(code, self.run_command(command, environment=AS_ROOT | environment))
        return " ".join(ran.err.split())

    def profiled(self, *command, **options):
        record = self.temporary_folder() / "profile.json"
        return self.told(*profiled(record, *command), **options)

    def test_why_nothing_was_profiled(self):
        begin = "no process called MPI with Fishplate's library in front of it: "
        for interface in ["mpich", "openmpi"]:
            built = INTERFACES[interface][1] / "profiled"
            for words, why in [
                (["env", "-u", "LD_PRELOAD", built, "counts"], "`env -u LD_PRELOAD` starts programs without LD_PRELOAD"),
                (["sh", "-c", "env -i sleep 0"], "`env -i` starts programs without LD_PRELOAD"),
                (["sleep", "0"], "it was loaded into "),
            ]:
                with self.subTest(interface, why=why):
                    self.assertIn(begin + why, self.profiled(*mpiexec(interface, 3), *words))
        self.assertIn(f"{begin}it was loaded into sleep, and none of these called MPI_Init", self.profiled("sleep", "0"))

    def test_ranks_that_do_not_come_out_of_init(self):
        # The second rank is of a program that never begins MPI, so the first waits for it.
        ranks = [*mpiexec("mpich", 1), program("profiled"), "exit", ":", "-n", "1", "sleep", "5"]
        told = self.profiled("timeout", "2", *ranks, code=124)
        self.assertIn("1 process (rank 0) called MPI_Init, which did not return", told)

    def test_why_the_provider_was_not_used(self):
        begin = "no process of this program used Fishplate: "
        run = [FISHPLATE, "run", "--mpi", "mpich", "--"]
        ranks, counts = mpiexec("mpich", 3), [program("profiled"), "counts"]
        other = [*ranks, "env", "FI_PROVIDER=tcp", *counts]
        self.assertIn('began MPI with another provider: FI_PROVIDER="tcp", which something in', self.told(*run, *other))
        self.assertIn(f"{begin}no process called MPI with Fishplate's library in front of it: it was loaded into sleep, and none",
                      self.told(*run, "sleep", "0"))
        elsewhere = self.temporary_folder() / "stats"
        self.assertIn(f"{begin}3 ranks loaded Fishplate's provider, with FISHPLATE_STATS=\"{elsewhere}\"",
                      self.told(*run, *ranks, "env", f"FISHPLATE_STATS={elsewhere}", *counts, FISHPLATE_STATS=""))
