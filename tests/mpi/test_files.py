"""Benchmarks of files: checked, through MPI-IO and POSIX; what they say of caches, of wrong options, of a full file system;
nothing of theirs is left behind."""

import shlex
import signal

from support import AS_ROOT, MpiTest, bench, json_lines, stack, testbed

CONTENT = {
    "io_contiguous": "--sizes 4K,100000",
    "io_tile": "--tiles 3x2 --tile 64x20 --overlap 5x3",
    "io_threads": "--sizes 16K --file-size 1M --threads 2",
}
BANDWIDTHS = {("write_bandwidth", "MB/s"), ("read_bandwidth", "MB/s")}
RATES = {("create_rate", "1/s"), ("stat_rate", "1/s"), ("remove_rate", "1/s")}
FEW_ITERATIONS = "--json --iterations 3 --warmup 1"


class Files(MpiTest):
    """Programs with a folder of the test's."""

    def setUp(self):
        self.path = self.temporary_folder()

    def no_files_left(self):
        self.assertEqual(list(self.path.iterdir()), [])

    def refuses(self, *command, **settings):
        """And nothing is left behind."""
        super().refuses(*command, **settings)
        self.no_files_left()


class Checked(Files):
    """Every program, with every byte that it reads checked."""

    def run_all(self, mpiexec, mpi, ranks, run=(), **settings):
        """All programs by MPI-IO and by POSIX, on two hosts."""
        script = []
        for access in ("mpiio", "posix"):
            more = f"--path {self.path} --access {access} {FEW_ITERATIONS}"
            script += [f"{mpiexec} {bench(name, mpi)} {options} --check {more}" for name, options in CONTENT.items()]
            script += [f"{mpiexec} {bench('io_metadata', mpi)} {more}"]
        collective = f"--calls collective --access mpiio --check --path {self.path} {FEW_ITERATIONS}"
        script += [f"{mpiexec} {bench('io_tile', mpi)} {CONTENT['io_tile']} {collective}"]
        lines = self.ends_well(self.script("\n".join(script), run, testbed("--rails", "0", "--"), **settings)).json()
        for name in [*CONTENT, "io_metadata"]:
            own = [line for line in lines if line["benchmark"] == name]
            self.assertEqual({line["options"]["access"] for line in own}, {"mpiio", "posix"}, name)
            self.assertEqual({line["ranks"] for line in own}, {ranks}, name)
            self.assertEqual({line["checked"] for line in own}, {name in CONTENT}, name)
            metrics = {(line["metric"], line["unit"]) for line in own}
            self.assertEqual(metrics, BANDWIDTHS if name in CONTENT else RATES, name)
            for line in own:
                self.assertGreater(line["value"], 0, str(line))
        calls = {line["options"]["calls"] for line in lines if line["benchmark"] == "io_tile"}
        self.assertEqual(calls, {"independent", "collective"})
        threads = [line["parameters"]["threads"] for line in lines if line["benchmark"] == "io_threads"]
        self.assertEqual(threads, [1, 2] * 4)
        self.no_files_left()

    def test_mpich(self):
        self.run_all("mpiexec -n 3", "mpich", 3, ("--mpi", "mpich"))

    def test_open_mpi(self):
        mpiexec = f"{stack('openmpi')}/mpiexec --bind-to none --map-by node:oversubscribe --mca pml ob1 --mca btl tcp,self"
        self.run_all(f"{mpiexec} --mca btl_tcp_if_include r0 -n 2", "openmpi", 2, **AS_ROOT)

    def test_each_operation_order_and_cache(self):
        one = f"{bench('io_threads')} --sizes 16K --file-size 1M --threads 1 --check --path {self.path} {FEW_ITERATIONS}"
        for operation, metrics in [("write", {"write_bandwidth"}), ("read", {"read_bandwidth"})]:
            for cache in ("drop", "keep"):
                options = f"--operation {operation} --order random --cache {cache}"
                lines = self.run_command(shlex.split(f"{one} {options}")).json()
                self.assertEqual({line["metric"] for line in lines}, metrics)
                self.assertEqual({line["options"]["cache"] for line in lines}, {cache})
        self.no_files_left()

    def test_bench_records_them(self):
        record = self.temporary_folder() / "record.jsonl"
        chosen = [f"io_contiguous:--path={self.path}", f"io_threads:--path:{self.path}:--file-size:1M"]
        few = ["--stacks", "mpich-tcp", "--links", "lan=0", "--rounds", "1", "--seconds", "0.01", "--checked"]
        self.succeeds(self.fishplate("bench", "--benchmarks", ",".join(chosen), *few, "--record", record))
        samples = json_lines(record, "sample")
        self.assertEqual({line["metric"] for line in samples}, {"write_bandwidth", "read_bandwidth"})
        self.assertEqual([line["options"].get("threads") for line in samples], [None, None, 1, 2, 1, 2])
        self.assertTrue(all(line["checked"] and "path" not in line["options"] for line in samples))
        self.succeeds(self.fishplate("report", record, "--markdown", "-"), "lan, read bandwidth")
        self.no_files_left()


class Ends(Files):
    """Whatever ends a run, its files go."""

    def test_signals(self):
        mpiexec = stack("mpich") / "mpiexec"
        long = ["--path", self.path, "--seconds", "60"]
        for number in (signal.SIGTERM, signal.SIGINT):
            for name in ("io_threads", "io_metadata"):
                size = ["--file-size", "1M"] if name == "io_threads" else []
                job = self.start([mpiexec, "-n", "2", bench(name), *long, *size])
                self.wait_for(job, lambda: list(self.path.rglob("file*")))
                job.process.send_signal(number)
                self.fails(self.finish(job))
                self.no_files_left()

    def test_an_output_that_nobody_reads(self):
        command = f"{bench('io_metadata')} --path {self.path} --iterations 10 | true"
        self.succeeds(self.run_command(["sh", "-c", command]))
        self.no_files_left()

    def test_a_full_file_system(self):
        fill = f"mount -t tmpfs -o size=1m,nr_inodes=200 none {self.path}"
        room = f"{bench('io_contiguous')} --sizes 2M --path {self.path} --access mpiio"
        names = f"{bench('io_metadata')} --path {self.path} --json"
        script = f"{fill}; {room}; echo code $?; {names}; echo code $?; ls {self.path}"
        ran = self.run_command([*testbed("--", "sh", "-c", script)])
        self.assertEqual(ran.out.splitlines(), ["code 6", "code 6"], str(ran))
        self.says(ran, r"io_contiguous: rank 0: cannot have files in .*: \d+ bytes are free there .the files take 2097152")
        self.says(ran, r"io_metadata: rank 0: cannot create .*/rank0/file\d+: No space left on device")


class Wrong(Files):
    """What a user can do wrong."""

    def test_options(self):
        contiguous, threads, tile = bench("io_contiguous"), bench("io_threads"), bench("io_tile")
        at = f"--path {self.path}"
        self.refuses(2, f"{contiguous}", "io_contiguous: --path: missing; allowed: a folder, or nfs://HOST/FOLDER")
        self.refuses(2, f"{contiguous} {at} --access nfs", "--path: .*; allowed with --access nfs: nfs://HOST/FOLDER")
        self.refuses(2, f"{contiguous} --path nfs://h/x --access posix", "allowed with --access mpiio and posix: a folder")
        self.refuses(2, f"{contiguous} --path nfs://h/x --cache drop", "--cache: allowed with --access nfs: keep")
        self.refuses(2, f"{contiguous} {at} --access mpiio --cache direct", "--cache: 'direct'; .*mpiio: drop, keep")
        self.refuses(2, f"{contiguous} {at} --connections 2", "--connections: allowed only together with --access nfs")
        self.refuses(2, f"{contiguous} {at} --sizes 0", "--sizes: 0; allowed: from 1 up")
        self.refuses(2, f"{tile} {at} --calls collective", "--calls collective: allowed only together with --access mpiio")
        self.refuses(2, f"{tile} {at} --overlap 9x9 --tile 9x9", "--overlap: 9x9; allowed: less than a tile, 9x9")
        self.refuses(2, f"{tile} {at} --tile 16384x16384", "--tile: 8589934592 bytes; allowed: at most 2147483647")
        wide = "--tiles 1024x1 --tile 4096x1 --element 4096"
        self.refuses(2, f"{tile} {at} {wide}", "--tiles: rows of 17179869184 bytes; allowed: at most 2147483647")
        self.refuses(2, f"{tile} {at} --tiles 2", "--tiles: '2'; allowed: WIDTHxHEIGHT")
        self.refuses(2, f"{threads} {at} --file-size 0", "--file-size: '0'; allowed: bytes from 1")
        self.refuses(2, f"{threads} {at} --file-size 512K --threads 3", "--file-size: 524288; allowed with 3 threads.*786432")
        self.refuses(2, f"{bench('io_metadata')} {at} --check", "io_metadata: unknown option '--check'")

    def test_places(self):
        contiguous = bench("io_contiguous")
        missing = f"{self.path}/missing"
        self.refuses(6, f"{contiguous} --path {missing}", f"cannot make the folder {missing}/.*: No such file or directory")
        self.refuses(6, f"{contiguous} --path {contiguous}", "cannot make the folder .*: Not a directory")
        odd = f"{contiguous} --path {self.path} --cache direct --sizes 1000"
        self.refuses(6, odd, "--cache direct in .*: sizes and offsets are no multiples of 4096 bytes")
        # Of the second rank's tile alone: it begins at byte 3840.
        shifted = "--tiles 17x1 --tile 1024x4 --element 4 --overlap 64x0"
        two = f"{bench('io_tile')} --path {self.path} --cache direct {shifted}"
        self.refuses(6, two, "--cache direct in .*: sizes and offsets are no multiples of 4096 bytes", ranks=2)
        nowhere = {"FISHPLATE_LIBNFS": "/nowhere/libnfs.so"}
        self.refuses(6, f"{contiguous} --path nfs://h/x", "cannot reach nfs://h/x: --access nfs needs libnfs 4 or 5: "
                     "/nowhere/libnfs.so.*FISHPLATE_LIBNFS can name the file", **nowhere)

    def test_the_variable_names_a_path(self):
        few = shlex.split(f"{bench('io_contiguous')} --sizes 4K --iterations 1")
        self.succeeds(self.run_command(few, environment={"FISHPLATE_STORAGE": str(self.path)}), "POSIX, ")
