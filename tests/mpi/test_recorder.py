"""What a recorder must not disturb, and must not mistake: programs do under `fishplate profile --trace` what they do without,
and what they did is replayed."""

import json
import re
import shutil
import sys
from pathlib import Path

import every_call
import unrecorded
from recorded import RecordedTest, calls
from support import AS_ROOT, FISHPLATE, HERE, INTERFACES, ROOT, each, mpiexec, program, stack, tool

TRACE_GUIDE = ROOT / "docs" / "guide" / "trace.md"
PROGRAM_SOURCES = HERE.parent / "programs"
LOOKED_UP = PROGRAM_SOURCES / "looked_up.py"

KINDS = ["mpich", "openmpi"]
# Headers of each with functions of MPI, how many these declare, and how many of them a profile knows.
DECLARED = {"mpich": (["mpi.h", "mpi_proto.h"], 700, 358), "openmpi": (["mpi.h"], 468, 216)}
# Of `unusual`: the longest message; what each rank sends by buffered sends; how late the sender was, in all.
LONG = 2300 << 20
BUFFERED = 3 << 22
LATE_NS = 20 * 10_000_000
# What is too long for its receive, and what the MPI says has come of it; what goes by way of a communicator's buffer, where
# there are some.
TRUNCATED = 100 + (1 << 20)
COME = {"mpich": 2 * 10, "openmpi": TRUNCATED}
# Messages that were found before they were received; requests that were looked at.
PROBED, LOOKED = 1 + 2 + 3 + 4, 20 * 30
OF_COMMUNICATOR = {"mpich": 10, "openmpi": 0}
# Sent and received of collective operations on three ranks: by the root, and by each other one.
MOVED = {"MPI_Gatherv": [(20, 60), (20, 0)], "MPI_Scatterv": [(60, 20), (0, 20)], "MPI_Allgatherv": [(10, 30)] * 2,
         "MPI_Alltoallv": [(30, 30)] * 2, "MPI_Bcast": [(7, 0), (0, 7)], "MPI_Gather": [(0, 6), (3, 0)]}


class Recorder(RecordedTest):
    @each(KINDS)
    def test_calls_that_do_not_return_and_calls_within_calls(self, interface):
        command = [*mpiexec(interface, 3), INTERFACES[interface][1] / "leaving"]
        run = ["run", "--mpi", INTERFACES[interface][0], "--", *command]
        self.succeeds(self.fishplate(*run, **AS_ROOT, FISHPLATE_RAILS="lo", OMPI_MCA_pml="cm"), "all right")
        self.succeeds(self.recorded(*command), "all right", warns="21 calls returned an error")
        for rank in self.ranks():
            made = {call["call"]: (call["count"], call["errors"]) for call in rank["calls"]}
            self.assertEqual({name: made[name] for name in ("MPI_Bcast", "MPI_Send", "MPI_Sendrecv")},
                             {"MPI_Bcast": (5, 5), "MPI_Send": (2, 2), "MPI_Sendrecv": (7, 0)})
            # One of them by a function that MPI has called.
            self.assertEqual(made["MPI_Comm_free"], (4 + 1, 0))
            names = {comm["name"]: comm["calls"] for comm in rank["communicators"]}
            self.assertEqual(names["in reverse"], 2)
            self.assertEqual((rank["late"]["unmatched"], rank["threads"]), (0, 1))
        self.predicted()

    @each(KINDS)
    def test_what_is_easily_taken_for_something_else(self, interface):
        what = ["cancel", "buffered", "long", "communicators", "paused", "ignored", "between", "begun",
                "probed", "looked", "ending"]
        ran = self.recorded(*mpiexec(interface, 3), INTERFACES[interface][1] / "unusual", *what, "truncated")
        self.succeeds(ran, "all right", warns="2 calls returned an error")
        ranks = self.ranks()
        sent = {call["call"]: call["sent"] for call in ranks[0]["calls"]}
        more = OF_COMMUNICATOR[interface]
        self.assertEqual(sent["MPI_Bsend"] + sent["MPI_Ibsend"] + sent["MPI_Bsend_init"], BUFFERED + more)
        self.assertEqual(sent["MPI_Send"], 300 + LONG + 20 * 10 + 50 + 20 * 10 + 5 + TRUNCATED + 20 + PROBED + LOOKED)
        received = {call["call"]: call["received"] for call in ranks[1]["calls"]}
        got = received["MPI_Recv"]
        self.assertEqual(got, 300 + BUFFERED + more + LONG + 300 + 20 * 10 + 20 * 10 + 5 + COME[interface] + 20 + 3 + 4)
        # What it has received that it had asked for while recording was off.
        self.assertEqual([peer["received_bytes"] for peer in ranks[1]["peers"] if peer["rank"] == 0],
                         [got + 1 + 50 + 1 + 2 + LOOKED])
        self.assertEqual([received[name] for name in ("MPI_Mrecv", "MPI_Imrecv", "MPI_Sendrecv")], [1, 2, 7])
        for rank in ranks:
            moved = {call["call"]: (call["sent"], call["received"]) for call in rank["calls"]}
            self.assertEqual({name: moved[name] for name in MOVED},
                             {name: of[min(rank["rank"], 1)] for name, of in MOVED.items()})
        self.assertGreater(ranks[1]["late"]["sender_ns"], LATE_NS // 2)
        # 1000 Mbit/s carry 2.4 GB in no less.
        self.assertGreater(self.predicted()[0]["run_s"], LONG * 8e-9)
        self.exported()

    @each(KINDS)
    def test_handlers_of_signals_that_call_mpi(self, interface):
        ran = self.recorded(*mpiexec(interface, 1), program("interrupted", interface))
        self.succeeds(ran, "all right", warns="MPI was called while a call was being recorded")
        [rank] = self.ranks()
        self.assertEqual((rank["threads"], rank["paused_ns"], rank["end"]), (1, 0, "finalized"))
        ran = self.fishplate("trace", "stat", self.trace)
        self.assertIn("the traces of 1 of 1 ranks end before MPI_Finalize", ran.out + ran.err, str(ran))

    @each(KINDS)
    def test_functions_that_mpi_calls_and_requests_that_are_freed(self, interface):
        command = [*mpiexec(interface, 3), INTERFACES[interface][1] / "unusual", "freed", "called", "last"]
        self.succeeds(self.recorded(*command), "all right", warns="9 calls returned an error")
        ranks = self.ranks()
        for rank in ranks[:2]:
            moved = {call["call"]: (call["sent"], call["received"]) for call in rank["calls"]}
            # What receives have got that nobody waits for is not known.
            wanted = {"MPI_Isend": (10 + (1 << 18), 0), "MPI_Ssend_init": (2 * 20, 0),
                      "MPI_Recv_init": (0, 0), "MPI_Sendrecv": (4 * 30, 4 * 30), "MPI_Bcast": (0, 0)}
            self.assertEqual({name: moved[name] for name in wanted}, wanted)
        for rank in ranks:
            # One fails; the others are made by an error handler, by the operation, by an attribute.
            made = {call["call"]: call for call in rank["calls"]}
            sends = made["MPI_Send"]["count"] - 1
            self.assertEqual([made["MPI_Send"]["sent"], made["MPI_Irecv"]["received"]], [5 * sends] * 2)
            self.assertGreaterEqual(sends, 3 + 1)
        self.succeeds(self.fishplate("trace", "show", self.trace, "--rank", 1), "receive of 40 B from 0 on 0, tag 19")
        self.predicted()
        self.exported()

    def exported(self):
        """The trace as a program in GOAL comes to its end as well."""
        program = self.folder / "trace.goal"
        self.succeeds(self.fishplate("trace", "export", self.trace, "--output", program))
        self.succeeds(self.fishplate("predict", program, "one=1000"))

    @each(KINDS)
    def test_sessions(self, interface):
        self.succeeds(self.recorded(*mpiexec(interface, 3), program("sessions", interface)), "all right")
        self.assertEqual([calls(rank)["MPI_Allreduce"] for rank in self.ranks()], [100] * 3)
        self.assertEqual([rank["end"] for rank in self.ranks()], ["finalized"] * 3)
        self.predicted()

    @each((*of_mpi, prefix) for of_mpi in [("mpich", "libmpi.so.12", "44000000"), ("openmpi", "libmpi.so.40", "ompi_mpi_comm_world")]
          for prefix in ("MPI_", "PMPI_"))
    def test_functions_that_are_looked_up(self, interface, library, world, prefix):
        script = [sys.executable, LOOKED_UP, stack(interface).parent / "lib" / library, world, prefix]
        ran = self.recorded(*mpiexec(interface, 2), *script)
        if prefix == "PMPI_":
            self.says(self.succeeds(ran, "all right", warns="past the library"), "python.* began MPI past the library: by PMPI_Init")
            return
        self.succeeds(ran, "all right")
        self.assertEqual([calls(rank)["MPI_Barrier"] for rank in self.ranks()], [100] * 2)
        self.predicted()

    def test_a_session_after_the_end(self):
        ran = self.recorded(*mpiexec("mpich", 1), program("sessions"), "twice")
        self.succeeds(ran, "MPI was begun again after its end: the profile ends there",
                      warns="MPI was begun again")

    @each(KINDS)
    def test_worlds_that_others_have_started(self, interface):
        ran = self.recorded(*mpiexec(interface, 1), program("spawning", interface))
        self.succeeds(ran, "all right", "2 MPI programs ran")
        told = "2 ranks that others have started (MPI_Comm_spawn) left out"
        self.succeeds(self.fishplate("predict", self.trace, "one=1000"), told, warns="left out")

    @each([("mpich", ["start"]), ("openmpi", ["port", "socket", "start"])])
    def test_programs_that_connect_to_each_other(self, interface, ways):
        # (MPICH 5.0.2 from PyPI opens no port.)
        ran = self.recorded(*mpiexec(interface, 2), program("connecting", interface), *ways)
        self.succeeds(ran, "all right", "2 MPI programs ran")
        worlds = json.loads(self.record.read_text())["worlds"]
        [ranks] = [world["ranks"] for world in worlds if "MPI_Comm_spawn_multiple" in calls(world["ranks"][0])]
        for rank in ranks:
            made = {name: count for name, count in calls(rank).items() if name in every_call.ELSEWHERE}
            port = "MPI_Comm_accept" if rank["rank"] == 0 else "MPI_Comm_connect"
            wanted = {"port": port, "socket": "MPI_Comm_join", "start": "MPI_Comm_spawn_multiple"}
            self.assertEqual(made, {wanted[way]: 1 for way in ways})
            self.assertEqual((rank["late"]["unmatched"], set(rank["lost"].values())), (0, {0}))
        self.succeeds(self.fishplate("predict", self.trace, "one=1000"), "left out", warns="left out")

    def test_a_program_with_an_address_sanitizer(self):
        sanitized = [*mpiexec("mpich", 2), program("sanitized"), "fork"]
        leaks = {"ASAN_OPTIONS": "detect_leaks=0"}
        self.succeeds(self.fishplate("run", "--mpi", "mpich", "--", *sanitized, **AS_ROOT, **leaks, FISHPLATE_RAILS="lo"), "all right")
        self.succeeds(self.recorded(*sanitized, **leaks), "all right")
        self.assertEqual([calls(rank)["MPI_Isend"] for rank in self.ranks()], [2, 2])

    def test_a_container_a_rank(self):
        stats = self.folder / "stats"
        inside = ["unshare", "--pid", "--fork", program("profiled"), "counts"]
        run = [FISHPLATE, "run", "--mpi", "mpich", "--stats", stats, "--", "mpiexec", "-n", 4, *inside]
        ran = self.recorded(*run, FISHPLATE_RAILS="lo", MPIR_CVAR_NOLOCAL="1")
        self.succeeds(ran, "all right", "4 processes on 1 host")
        self.assertEqual({rank["pid"] for rank in self.ranks()}, {1})
        self.assertEqual([rank["rank"] for rank in self.ranks()], [0, 1, 2, 3])
        self.assertEqual(len(list(self.trace.glob("*.trace"))), 4)

    @each(["with blank", "with:colon"])
    def test_a_folder_whose_name_variables_cannot_hold(self, name):
        installed = self.folder / name
        shutil.copytree(FISHPLATE.parent.parent, installed, ignore=lambda folder, names:
                        [one for one in names if Path(folder) == FISHPLATE.parent.parent and one not in ("bin", "lib", "share")])
        cache = {"FISHPLATE_CACHE": str(self.folder / "cache")}
        for command in (["profile", "--output", self.record, "--"], ["run", "--"]):
            ran = self.run_command([installed / "bin" / "fishplate", *command, *mpiexec("mpich", 2),
                                    program("profiled"), "counts"], environment=cache | {"FISHPLATE_RAILS": "lo"})
            self.succeeds(ran, "all right")
            self.assertNotIn("cannot be preloaded", ran.err)
        self.assertEqual([calls(rank)["MPI_Isend"] for rank in self.ranks()], [11, 11])

    def test_every_function_is_known_or_has_nothing_to_record(self):
        known, fitting = set(every_call.table()), set()
        for interface, (headers, functions, recorded) in DECLARED.items():
            with self.subTest(interface):
                include = stack(interface).parent / "include"
                declared = unrecorded.declared(*[include / header for header in headers])
                self.assertEqual((len(declared), len(declared & known)), (functions, recorded))
                reasons = {name: unrecorded.reasons(name) for name in declared}
                self.assertEqual(sorted(name for name in declared - known if not reasons[name]), [])
                self.assertEqual(sorted(name for name in declared & known if reasons[name]), [])
                fitting.update(*reasons.values())
                if interface == "mpich":
                    self.assertEqual(known - declared, set())
        self.assertEqual(set(unrecorded.REASONS) - fitting, set())
        for at, words in enumerate(["in the headers", "recorded"]):
            [mpich, openmpi] = [DECLARED[interface][1 + at] for interface in KINDS]
            self.assertIn(f"| {words} | {mpich} | {openmpi} |", TRACE_GUIDE.read_text())

    @each(KINDS)
    def test_every_function_once(self, interface):
        mpi = stack(interface)
        [library] = (mpi.parent / "lib").glob("libmpi.so.[1-9][0-9]")
        symbols = self.run_command([tool("nm"), "-D", "--defined-only", library]).out.split()
        every = every_call.Program({symbol.partition("@")[0] for symbol in symbols})
        source, built = self.folder / "every.c", self.folder / "every"
        source.write_text(every.text())
        self.succeeds(self.run_command([mpi / "mpicc", "-w", "-I", PROGRAM_SOURCES, "-o", built, source]))
        self.succeeds(self.recorded(*mpiexec(interface, 2), built, self.folder / "file"), "all right")
        # Begin and end are no calls that a profile counts.
        counted = {name for name in every_call.table() if name in every.exists} - every_call.BEGIN_AND_END
        called = {name for rank in every.wanted for name in rank}
        self.assertEqual(counted - called, every_call.ELSEWHERE)
        ranks = self.ranks()
        for rank, wanted in zip(ranks, every.wanted):
            got = {call["call"]: [call["count"], call["sent"], call["received"]] for call in rank["calls"]}
            self.assertEqual(got, {name: one for name, one in wanted.items() if name in counted})
            self.assertEqual((rank["late"]["unmatched"], set(rank["lost"].values())), (0, {0}))
        for rank in range(len(ranks)):
            show = self.fishplate("trace", "show", self.trace, "--rank", rank)
            self.assertEqual(every_call.shown(self.succeeds(show).out), every.traced(rank))
        self.predicted()
        documented = re.search(r"\| called by a generated program \| (\d+) \| (\d+) \|", TRACE_GUIDE.read_text())
        self.assertEqual(len(called & counted), int(documented[1 + KINDS.index(interface)]))
