"""The NAS benchmarks: each verifies its result on 1, 2 and 4 ranks, counts what it sends, is run by `fishplate bench`."""

import json

from support import MpiTest, app, json_lines

NAS = ["ep", "is", "cg", "mg", "ft", "lu", "bt", "sp"]
SQUARE = ["bt", "sp"]  # what runs on a square number of ranks
RANKS = [1, 2, 4]
CALLS = ("messages", "bytes", "collectives", "collective_bytes")


def cg_on_four(n, iterations):
    """By the specification: 25 steps and a residual, each a product. On a grid of two by two ranks a product is a sum
    over a row of the grid and a transposition, for which the two on the diagonal send nothing; the numbers are summed
    over a row too: two in each step, three beside the steps, of which one is of two numbers."""
    products, numbers = 26, 2 * 25 + 3
    vectors = products * (4 + 2)
    messages = iterations * (vectors + 4 * numbers)
    return messages, iterations * (vectors * n // 2 * 8 + 4 * (numbers + 1) * 8), 0, 0


def is_on_four(log2_keys, buckets):
    """Ten times the buckets' counts with the five tested keys, a count for each rank, and all keys."""
    each_time = 4 * (buckets + 5) * 4 + 4 * 4 * 4 + (1 << log2_keys) * 4
    return 0, 0, 10 * 3 * 4, 10 * each_time


def lu_on_four(n, iterations):
    """Ranks two by two: four edges between them. In each iteration a sweep forward and one backward send an edge of
    the points inside the cube for each plane, then faces two deep are exchanged; in the end the norms are summed."""
    half, values = n // 2, 5 * 8
    edges, faces = 2 * 4 * (n - 2), 4 * 2
    sent = edges * (half - 1) * values + faces * 2 * half * n * values
    return iterations * (edges + faces), iterations * sent, 4, 4 * values


def flow_on_four(points, iterations, forward, backward):
    """Two by two by two cells; in each step a face two points deep to six sides, five values a point, and a border for
    each way of three sweeps, so many values a line of inner points."""
    half = points // 2
    each_rank = 6 * half * half * 2 * 5 + 3 * (half - 1) ** 2 * (forward + backward)
    return iterations * 4 * 12, iterations * 4 * each_rank * 8, 0, 0


# What is sent on four ranks, by calculation.
ON_FOUR = {"ep": (0, 0, 8, 4 * 12 * 8), "is": is_on_four(16, 512), "cg": cg_on_four(1400, 15),
           "bt": flow_on_four(12, 60, 30, 5), "sp": flow_on_four(12, 100, 22, 10),
           "lu": lu_on_four(12, 50)}


class Apps(MpiTest):
    def run_all(self, ranks):
        """The lines of all programs in one testbed, class S."""
        names = [name for name in NAS if ranks != 2 or name not in SQUARE]
        runs = [f"mpiexec -n {ranks} {app(name)} --class S --json" for name in names]
        ran = self.ends_well(self.script("\n".join(runs), ["--mpi", "mpich"]))
        lines = {line["benchmark"]: line for line in ran.json()}
        self.assertEqual(list(lines), names, str(ran))
        return lines

    def test_class_s_is_verified(self):
        for ranks in RANKS:
            for name, line in self.run_all(ranks).items():
                with self.subTest(name, ranks=ranks):
                    self.is_told(line, ranks)
                    if ranks == 4 and name in ON_FOUR:
                        self.assertEqual(tuple(line[key] for key in CALLS), ON_FOUR[name])

    def is_told(self, line, ranks):
        text = json.dumps(line)
        self.assertEqual((line["kind"], line["metric"], line["unit"]), ("result", "run_time", "s"), text)
        self.assertEqual((line["ranks"], line["options"]["class"], line["checked"]), (ranks, "S", True), text)
        self.assertEqual(line["value"], line["repeat_values"][0], text)
        inside = line["communication_seconds"]
        self.assertLessEqual(inside["min"], inside["mean"], text)
        self.assertLessEqual(inside["mean"], inside["max"], text)
        self.assertLessEqual(inside["max"], line["value"] * 1.001, text)

    def test_what_is_wrong_is_told(self):
        self.refuses(2, [app("is"), "--class", "D"], "is: --class: 'D'; allowed: S.W.A.B.C")
        self.refuses(2, [app("ep"), "--sizes", 8], "ep: unknown option '--sizes'; allowed: --class, --repeats, --json")
        self.refuses(2, [app("cg")], "cg: started with 3 ranks; allowed: a power of two", ranks=3)
        self.refuses(2, [app("bt")], "bt: started with 3 ranks; allowed: a square number, at most 16", ranks=3)

    def test_too_little_memory_is_told_before_it_is_taken(self):
        little = self.temporary_folder() / "meminfo"
        little.write_text("MemTotal: 200000 kB\nMemAvailable: 100000 kB\n")
        script = f"mount --bind {little} /proc/meminfo && exec {app('is')} --class B"
        self.ends_with(4, self.run_command(["unshare", "-rm", "sh", "-c", script]),
                       "is: rank 0: no memory: 1 rank of this host need.* MB; there are 102 MB")

    def test_repeats_are_told_and_their_median_is_the_value(self):
        ran = self.run_command([app("is"), "--repeats", "3", "--json"])
        [line] = ran.json()
        self.assertEqual((len(line["repeat_values"]), line["iterations"]), (3, 3), str(ran))
        self.assertEqual(line["value"], sorted(line["repeat_values"])[1], str(ran))

    def test_bench_runs_them(self):
        record = self.temporary_folder() / "record.jsonl"
        asked = ["--stacks", "mpich-tcp", "--benchmarks", "is:--class=S", "--links", "lan=400+100", "--rounds", "1"]
        ran = self.ends_well(self.fishplate("bench", *asked, "--record", record, timeout=300))
        samples = {line["metric"]: line for line in json_lines(record, "sample")}
        self.assertEqual(set(samples), {"run_time", "communication_time"}, str(ran))
        for sample in samples.values():
            self.assertEqual((sample["unit"], sample["size_bytes"], sample["options"]["class"]), ("s", None, "S"))
        self.assertLess(samples["communication_time"]["value"], samples["run_time"]["value"])
