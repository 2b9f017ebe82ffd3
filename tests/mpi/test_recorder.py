"""What a recorder must not disturb, and must not mistake: programs do under `fishplate profile --trace` what they do without,
and what they did is replayed."""

import json

from support import AS_ROOT, FISHPLATE, INTERFACES, MpiTest, mpiexec, stack

KINDS = ["mpich", "openmpi"]
# Of `unusual`: the longest message; what each rank sends by buffered sends; how late the sender was, in all.
LONG = 2300 << 20
BUFFERED = 3 << 22
LATE_NS = 20 * 10_000_000


class Recorder(MpiTest):
    def setUp(self):
        self.begin()

    def begin(self):
        self.folder = self.temporary_folder()
        self.trace, self.record = self.folder / "trace", self.folder / "profile.json"

    def recorded(self, *command, **environment):
        """The run of a command, recorded and traced."""
        profile = [FISHPLATE, "profile", "--trace", self.trace, "--output", self.record, "--"]
        return self.run_command([*profile, *command], environment=AS_ROOT | environment)

    def ranks(self):
        [world] = json.loads(self.record.read_text())["worlds"]
        return world["ranks"]

    def predicted(self):
        """The time that a run takes at 1000 Mbit/s."""
        ran = self.run_command([FISHPLATE, "predict", "--json", self.trace, "--ranks-per-node", 1, "one=1000"])
        self.succeeds(ran)
        return json.loads(ran.out)[0]["run_s"]

    def test_calls_that_do_not_return_and_calls_within_calls(self):
        for interface in KINDS:
            with self.subTest(interface):
                command = [*mpiexec(interface, 3), INTERFACES[interface][1] / "leaving"]
                run = [FISHPLATE, "run", "--mpi", INTERFACES[interface][0], "--", *command]
                self.succeeds(self.run_command(run, environment=AS_ROOT | {"FISHPLATE_RAILS": "lo"}), "all right")
                self.succeeds(self.recorded(*command), "all right", warns="21 calls returned an error")
                for rank in self.ranks():
                    calls = {call["call"]: (call["count"], call["errors"]) for call in rank["calls"]}
                    self.assertEqual({name: calls[name] for name in ("MPI_Bcast", "MPI_Send", "MPI_Sendrecv")},
                                     {"MPI_Bcast": (5, 5), "MPI_Send": (2, 2), "MPI_Sendrecv": (7, 0)})
                    # One of them by a function that MPI has called.
                    self.assertEqual(calls["MPI_Comm_free"], (4 + 1, 0))
                    names = {comm["name"]: comm["calls"] for comm in rank["communicators"]}
                    self.assertEqual(names["in reverse"], 2)
                    self.assertEqual((rank["late"]["unmatched"], rank["threads"]), (0, 1))
                self.predicted()
                self.begin()

    def test_what_is_easily_taken_for_something_else(self):
        for interface in KINDS:
            with self.subTest(interface):
                what = ["cancel", "buffered", "long", "communicators", "paused"]
                ran = self.recorded(*mpiexec(interface, 3), INTERFACES[interface][1] / "unusual", *what)
                self.succeeds(ran, "all right")
                ranks = self.ranks()
                sent = {call["call"]: call["sent"] for call in ranks[0]["calls"]}
                self.assertEqual(sent["MPI_Bsend"] + sent["MPI_Ibsend"] + sent["MPI_Bsend_init"], BUFFERED)
                self.assertEqual(sent["MPI_Send"], 300 + LONG + 20 * 10 + 50 + 20 * 10)
                [got] = [call["received"] for call in ranks[1]["calls"] if call["call"] == "MPI_Recv"]
                self.assertEqual(got, 300 + BUFFERED + LONG + 300 + 20 * 10 + 20 * 10)
                # What it has received that it had asked for while recording was off.
                self.assertEqual([peer["received_bytes"] for peer in ranks[1]["peers"] if peer["rank"] == 0],
                                 [got + 1 + 50])
                self.assertGreater(ranks[1]["late"]["sender_ns"], LATE_NS // 2)
                # 1000 Mbit/s carry 2.4 GB in no less.
                self.assertGreater(self.predicted(), LONG * 8e-9)
                self.begin()
