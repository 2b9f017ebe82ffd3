"""`fishplate profile`: what it counts, under three MPI interfaces; however a program ends; beside other tools."""

import os
import re
import signal

from recorded import RecordedTest, calls, profiled
from support import AS_ROOT, FISHPLATE, INTERFACES, PROVIDER, app, each, json_lines, mpiexec, program, stack, testbed
from test_apps import cg_on_four, flow_on_four, lu_on_four

RANKS = 3
LIBRARY = PROVIDER / "libfishplate-mpi.so"
# Each rank of `profiled counts`, on three: calls and bytes sent by them.
COUNTS = {"MPI_Irecv": (11, 0), "MPI_Isend": (11, 10_009), "MPI_Waitall": (11, 0), "MPI_Sendrecv": (1, 800),
          "MPI_Send_init": (1, 14), "MPI_Recv_init": (1, 0), "MPI_Startall": (2, 0), "MPI_Waitany": (4, 0),
          "MPI_Request_free": (2, 0), "MPI_Comm_split": (1, 0), "MPI_Iallreduce": (1, 8), "MPI_Wait": (1, 0),
          "MPI_Alltoall": (1, 48), "MPI_Comm_set_name": (1, 0), "MPI_Comm_free": (1, 0), "MPI_Win_allocate": (1, 0), "MPI_Win_fence": (2, 0),
          "MPI_Put": (1, 4), "MPI_Win_free": (1, 0)}
# On four ranks, messages and bytes by calculation (test_apps.py): NAS programs do one iteration more than they time. LU
# and SP also compute residuals before: faces two points deep, five values a point, of four edges between ranks both ways,
# twice for each start; and of six sides of four cells on four ranks.
LU_RESIDUALS = (2 * 8, 2 * 8 * 2 * 6 * 12 * 5 * 8)
SP_RESIDUAL = (6 * 4, 4 * 4 * 6 * 6 * 6 * 2 * 5 * 8 // 4)
ON_FOUR = {"cg": [cg_on_four(1400, 15 + 1)], "lu": [lu_on_four(12, 50 + 1), LU_RESIDUALS],
           "sp": [flow_on_four(12, 100 + 1, 22, 10), SP_RESIDUAL]}
BEFORE = {"MPI_Isend": 1, "MPI_Irecv": 1, "MPI_Waitall": 1}


class Profile(RecordedTest):
    def command(self, what, ranks=RANKS, interface="mpich", before=()):
        job = [*mpiexec(interface, ranks), *before, INTERFACES[interface][1] / "profiled", what]
        return profiled(self.record, *job)

    def run_profiled(self, *command, timeout=120, **environment):
        return self.run_command(command, timeout, AS_ROOT | environment)

    def ranks(self):
        """What is recorded of each rank; nothing is left of the files that it was made of."""
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"profile.json", "profile.html"})
        return super().ranks()

    @each(INTERFACES)
    def test_calls_and_bytes(self, interface):
        self.succeeds(self.run_profiled(*self.command("counts", interface=interface)), "all right")
        for rank in self.ranks():
            self.check_counts(rank)

    def check_counts(self, rank):
        number = rank["rank"]
        found = {call["call"]: (call["count"], call["sent"]) for call in rank["calls"]}
        wanted = COUNTS | {"MPI_Allgatherv": (1, RANKS - number), "MPI_Bcast": (1, 4 if number == RANKS - 1 else 0)}
        wanted["MPI_Send"] = (2, 3) if number == 0 else (1, 0)
        if number == 1:
            wanted |= {"MPI_Mprobe": (1, 0), "MPI_Mrecv": (1, 0)}
        self.assertEqual(found, wanted)
        to_next = {"sent": 14 + (number == 0), "sent_bytes": 10_009 + 800 + 14 + 4 + 3 * (number == 0)}
        sent = [{key: peer[key] for key in to_next} for peer in rank["peers"] if peer["rank"] == (number + 1) % RANKS]
        to_next["sent"] += 1  # The put.
        self.assertEqual(sent, [to_next])
        names = {comm["name"] for comm in rank["communicators"]}
        self.assertLessEqual({"MPI_COMM_WORLD", "reverse"}, names)
        self.assertEqual(rank["end"], "finalized")
        self.assertEqual(rank["late"]["unmatched"], 0)

    @each(ON_FOUR.items())
    def test_what_the_specification_of_nas_says_is_sent(self, name, parts):
        command = [stack("mpich") / "mpiexec", "-n", 4, app(name), "--class", "S"]
        self.succeeds(self.run_profiled(*profiled(self.record, *command)), "Verified")
        sizes = [size for rank in self.ranks() for size in rank["sizes"]]
        sent = [size for size in sizes if size["way"] == "sent"]
        found = [sum(size[what] for size in sent) for what in ("messages", "bytes")]
        self.assertEqual(found, [sum(part[what] for part in parts) for what in (0, 1)])

    def test_over_fishplate_and_its_collectives(self):
        name = self.lab("--clusters", 2, "--hosts", 1, "--rails", "0", "--wan", "1000", "--delay", "1ms")
        log = self.folder / "used.jsonl"
        run = [FISHPLATE, "run", "--mpi", "mpich", "--collectives", "coordinators", "--", "mpiexec", "-n", 2]
        inside = ["env", f"FISHPLATE_COLLECTIVES_LOG={log}", *profiled(self.record, *run, program("profiled"), "counts")]
        self.succeeds(self.fishplate("lab", "exec", "--name", name, "--", *inside), "all right")
        used = json_lines(log)
        log.unlink()
        self.assertIn(("bcast", "coordinators"), {(line.get("operation"), line.get("algorithm")) for line in used})
        for rank in self.ranks():
            self.assertEqual(calls(rank)["MPI_Bcast"], 1)
            self.assertEqual(calls(rank)["MPI_Isend"], 11)

    @each(("{tool}", "{tool}:{library}", "{library}:{tool}"))
    def test_beside_other_tools(self, order):
        preload = order.format(tool=program("pmpi_tool.so"), library=LIBRARY)
        ran = self.run_profiled(*self.command("counts", before=["env"]), LD_PRELOAD=preload)
        self.succeeds(ran, "the tool has seen 11 sends")
        for rank in self.ranks():
            self.assertEqual(calls(rank)["MPI_Isend"], 11)

    def waiting(self):
        """A job all of whose ranks wait, and the process of rank 0."""
        job = self.start(self.command("wait", ranks=2))
        told = self.wait_for(job, lambda: re.search(r"pid (\d+)\n", job.text()[0]))
        return job, int(told[1])

    def test_a_killed_rank(self):
        job, process = self.waiting()
        os.kill(process, signal.SIGKILL)
        self.fails(self.finish(job), "rank 1", "MPI_Recv", "wait_for_ever")
        self.check_what_was_before({"unfinished"})

    def test_an_interrupted_job(self):
        job, _ = self.waiting()
        job.process.send_signal(signal.SIGINT)
        self.ends_with(128 + signal.SIGINT, self.finish(job))
        self.check_what_was_before({"unfinished"})

    @each([("exit", "unfinished", (0, 9)), ("abort", "aborted", (7,))])
    def test_ranks_that_do_not_finalize(self, what, end, codes):
        # Hydra may kill who ends later than another one without MPI_Finalize.
        ran = self.run_profiled(*self.command(what))
        self.assertIn(ran.code, codes, str(ran))
        self.assertEqual("Killed (signal 9)" in ran.out, ran.code == 9, str(ran))
        # Who does not abort is killed.
        self.check_what_was_before({end, "unfinished"})

    def check_what_was_before(self, ends):
        for rank in self.ranks():
            [end] = [rank["end"]] if isinstance(rank["end"], str) else rank["end"]
            self.assertIn(end, ends)
            self.assertEqual({name: calls(rank)[name] for name in BEFORE}, BEFORE)

    def test_a_program_that_forks(self):
        self.succeeds(self.run_profiled(*self.command("fork")), "all right")
        self.assertEqual([calls(rank)["MPI_Isend"] for rank in self.ranks()], [2] * RANKS)

    def test_a_program_that_has_part_of_it_left_out(self):
        self.succeeds(self.run_profiled(*self.command("pcontrol")), "all right")
        ranks = self.ranks()
        self.assertEqual([calls(rank)["MPI_Isend"] for rank in ranks], [2] * RANKS)
        self.assertTrue(all(rank["paused_ns"] > 0 for rank in ranks))

    def test_more_threads_than_cores_in_mpi(self):
        self.succeeds(self.run_profiled(*self.command("threads", ranks=2)), "all right")
        for rank in self.ranks():
            [sent] = [call["sent"] for call in rank["calls"] if call["call"] == "MPI_Sendrecv"]
            self.assertEqual(sent, 4 * 100 * 20)

    def test_ranks_without_the_library(self):
        mpiexec = [stack("mpich") / "mpiexec", "-n", 1, program("profiled"), "exit"]
        mpiexec += [":", "-n", 1, "env", "-u", "LD_PRELOAD", program("profiled"), "exit"]
        ran = self.run_profiled(*profiled(self.record, *mpiexec))
        self.ends_well(ran, told=["rank 1 of 2 left nothing: `env -u LD_PRELOAD` starts programs without LD_PRELOAD"])
        self.assertEqual([rank["rank"] for rank in self.ranks()], [0])

    def test_a_program_without_mpi(self):
        ran = self.ends_well(self.run_profiled(*profiled(self.record, "true")))
        told = " ".join(ran.err.split())
        self.assertIn("no process called MPI with Fishplate's library in front of it: it was loaded into true, and none", told)

    def test_a_limit_to_the_length_of_files(self):
        # In blocks of 512 bytes: enough for the MPI's own files.
        limited = ["sh", "-c", 'ulimit -f 2000; exec "$@"', "sh"]
        trace = self.temporary_folder() / "trace"
        fork = [*mpiexec("openmpi", 1), *limited, program("profiled", "openmpi"), "fork"]
        ran = self.run_profiled(*profiled(self.record, *fork, trace=trace))
        self.succeeds(ran, "all right", warns="no profile is recorded in")
        self.says(ran, "no profile is recorded in .*: File too large .*; the program runs without")

    def test_a_full_disk(self):
        script = f"""
            mount -t tmpfs -o size=256k none {self.folder}
            {FISHPLATE} profile --output {self.record} -- {stack("mpich")}/mpiexec -n 2 {program("profiled")} counts
        """
        ran = self.run_command(testbed("--", "sh", "-ec", script))
        self.assertIn("all right", ran.out, str(ran))
        self.assertIn("No space left on device", ran.err, str(ran))
