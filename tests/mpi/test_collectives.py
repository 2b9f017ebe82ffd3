"""Collective operations over clusters: results under three MPI interfaces, what is used, what the user is told."""

import re

from support import FISHPLATE, INTERFACES, MpiTest, each, json_lines, mpi_command, program, with_mpich
from test_mpi4py import ALL, main_py, suite_passes

THREE_CLUSTERS = """
cluster = [{ name = "a", hosts = 4 }, { name = "b", hosts = 2 }, { name = "c", hosts = 1 }]
wan = [
    { between = ["a", "b"], rails = [{ rate_mbit = 1000, delay = "1ms" }] },
    { between = ["a", "c"], rails = [{ rate_mbit = 1000, delay = "2ms" }] },
    { between = ["b", "c"], rails = [{ rate_mbit = 500, delay = "1ms" }] },
]
"""
# Of mpi4py's suite: blocking and non-blocking collectives, and requests.
MPI4PY = r"test_(cco_(buf|vec|nb_buf)|request)\.py"


class CollectivesTest(MpiTest):
    def setUp(self):
        self.folder = self.temporary_folder()
        self.log = self.folder / "used.jsonl"

    def lines(self):
        """What the library says it found and did."""
        lines = json_lines(self.log)
        self.log.unlink(missing_ok=True)
        return lines

    def used(self):
        """Of that, hosts of clusters, and calls by operation and algorithm."""
        lines = self.lines()
        hosts = [line["hosts"] for line in lines if "hosts" in line]
        return hosts, {(line["operation"], line["algorithm"]) for line in lines if "operation" in line}

    def given(self, ranks, *command, clusters, way="coordinators", **options):
        """A program on a testbed whose hosts are near, with clusters that the user names."""
        settings = {"FISHPLATE_CLUSTERS": clusters, "FISHPLATE_COLLECTIVES": way, "FISHPLATE_COLLECTIVES_LOG": str(self.log)}
        return self.mpi(ranks, *command, **settings, **options)


class Collectives(CollectivesTest):
    """Clusters that the user names."""

    @each(["node0;node1", "0-1;2,3", "0;1-3"])
    def test_clusters_that_the_user_names(self, clusters):
        self.succeeds(self.given(4, program("collectives"), clusters=clusters), "all right")
        _, used = self.used()
        self.assertIn(("bcast", "coordinators"), used)

    @each([
        ("0,1;2,3", [True, True], True),
        ("0;1-3", [False, True], True),
        ("0;1;2;3", [False] * 4, False),
    ])
    def test_what_hosts_reach_together_is_measured_where_there_are_several(self, clusters, inside, shares):
        self.succeeds(self.given(4, program("collectives"), clusters=clusters), "all right")
        found = self.lines()[0]
        pairs = len(inside) * (len(inside) - 1) // 2
        for key in ["inside_latencies_us", "inside_mb_per_s", "inside_shared_mb_per_s"]:
            self.assertEqual([number is not None for number in found[key]], inside, found)
        self.assertEqual([number is not None for number in found["shared_mb_per_s"]], [shares] * pairs, found)
        self.assertEqual([len(found["round_trips_us"]), len(found["rates_mb_per_s"])], [pairs, pairs], found)

    def test_mpi4py(self):
        # With more ranks than processors Open MPI's own non-blocking operations take minutes, so not always.
        openmpi = (4, "0,3;1;2") if ALL else (2, "0;1")
        for mpi, ranks, clusters in [("mpich", 4, "0,3;1;2"), ("openmpi", *openmpi)]:
            with self.subTest(mpi):
                ran = self.given(ranks, *main_py(MPI4PY), clusters=clusters, mpi=mpi, timeout=600)
                suite_passes(self, ran, ranks)
                _, used = self.used()
                for operation in ["bcast", "allgather", "alltoall", "allreduce", "reduce", "gather", "scatter"]:
                    self.assertIn((operation, "coordinators"), used, f"{mpi}: {used}")

    @each([
        ("FISHPLATE_COLLECTIVES", "fast", "cluster, native"), ("FISHPLATE_CLUSTERS", "a b", "clusters separated by ;"),
    ])
    def test_a_wrong_setting_is_told(self, variable, value, allowed):
        line = with_mpich(f"export {variable}='{value}' && mpiexec -n 2 {program('crowd')}")
        told = f'fishplate: {variable}="{value}" is not a valid setting; allowed: {allowed}'
        self.fails(self.script(line), re.escape(told))

    @each([("node0", "rank 1 on host node1 is in no cluster"), ("node0,1;node1", "rank 1 on host node1 is in two clusters")])
    def test_clusters_that_do_not_fit_are_told(self, clusters, told):
        ran = self.given(2, program("crowd"), clusters=clusters)
        # The program runs all the same.
        self.ends_well(ran, told=[f"fishplate: FISHPLATE_CLUSTERS: {told}: all collective operations are the MPI's own"])

    def test_ranks_that_have_not_loaded_it(self):
        job = mpi_command(1, program("crowd"), ":", "-n", 1, "env", "-u", "LD_PRELOAD", program("crowd"))
        told = "fishplate: 1 of 2 ranks have not said within 10 s where they are: all collective operations are the MPI's own"
        self.ends_well(self.run_command(job), told=[told])


class Distances(CollectivesTest):
    """Clusters that are found by the times that messages take, which other work changes."""

    def up(self, *options):
        """A lab until the end of the test; gives a function that runs a program there."""
        name = self.lab(*options)

        def run(interface, ranks, way, timeout=120):
            mpi, folder = INTERFACES[interface]
            settings = ["env", f"FISHPLATE_COLLECTIVES_LOG={self.log}"]
            mpiexec = ["mpiexec", "-n", ranks, folder / "collectives"]
            command = [FISHPLATE, "run", "--mpi", mpi, "--collectives", way, "--", *mpiexec]
            ran = self.fishplate("lab", "exec", "--name", name, "--", *settings, *command, timeout=timeout)
            return self.succeeds(ran, "all right")

        return run

    def test_two_clusters(self):
        run = self.up("--clusters", 2, "--hosts", 2, "--rails", "0", "--wan", "1000", "--delay", "1ms")
        moved = ["bcast", "allgather", "gather", "scatter", "alltoall", "reduce", "allreduce"]
        for interface, way, operations in [
            ("mpich", "coordinators", moved),
            ("mpich", "shared", ["bcast", "allgather", "reduce", "allreduce", "reduce_scatter"]),
            ("mpich", "direct", ["barrier", "gather", "scatter", "alltoall"]),
            ("standard", "coordinators", moved),
            ("openmpi", "coordinators", moved),
            ("openmpi", "shared", ["bcast", "allgather", "reduce", "allreduce", "reduce_scatter"]),
        ]:
            with self.subTest(f"{interface}, {way}"):
                run(interface, 4, way)
                [hosts], used = self.used()
                self.assertEqual(hosts, [["node0", "node1"], ["node2", "node3"]])
                for operation in operations:
                    self.assertIn((operation, way), used)

    def test_three_unequal_clusters(self):
        file = self.folder / "three.toml"
        file.write_text(THREE_CLUSTERS)
        run = self.up(file)
        for interface, way in [("mpich", "cluster"), ("mpich", "shared"), ("openmpi", "coordinators")]:
            with self.subTest(f"{interface}, {way}"):
                run(interface, 7, way)
                [hosts], _ = self.used()
                self.assertEqual(hosts, [["node0", "node1", "node2", "node3"], ["node4", "node5"], ["node6"]])
        run("mpich", 7, "native")
        self.assertEqual(self.used(), ([], set()))

    def test_hosts_that_are_near_are_left_alone(self):
        self.succeeds(self.given(4, program("collectives"), clusters="node*", way="cluster"), "all right")
        self.assertEqual(self.used(), ([], set()))
        self.succeeds(self.given(2, program("threads"), clusters="0;1"), "all right")
        self.assertIn(("allreduce", "coordinators"), self.used()[1])
