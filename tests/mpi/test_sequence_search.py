"""The sequence search: the same hits on any number of ranks and fragments, those of blastp where it is installed, and
what is told of files that are not as they should be."""

import shutil

from support import MpiTest, app

SEARCH = app("sequence_search")
# Three make the hits that these are compared with.
RANKS = [1, 2, 4]


class SequenceSearch(MpiTest):
    def setUp(self):
        self.folder = self.temporary_folder()

    def file(self, name, content=""):
        """A file of the test's."""
        path = self.folder / name
        path.write_text(content)
        return path

    def search(self, ranks, *options):
        return self.verified(ranks, SEARCH.name, *options)

    def make(self, proteins, seed=1):
        """A database with its queries, and the hits found when they were made."""
        names = [self.folder / name for name in ("database", "queries", "hits")]
        made = ["--make-database", proteins, "--seed", seed, "--database", names[0], "--queries", names[1]]
        self.search(3, *made, "--output", names[2])
        return names

    def test_hits_are_the_same_on_any_number_of_ranks_and_fragments(self):
        """Each search verifies its hits too."""
        database, queries, hits = self.make(100)
        lines = hits.read_text().splitlines()
        self.assertGreater(len(lines), 24)
        self.assertTrue(all(len(line.split("\t")) == 12 for line in lines), lines)
        for ranks in RANKS:
            # The last are more than there are proteins.
            for fragments in (1, 7, 150):
                with self.subTest(ranks=ranks, fragments=fragments):
                    other = self.folder / "other"
                    files = ["--database", database, "--queries", queries, "--output", other]
                    line = self.search(ranks, *files, "--fragments", fragments)
                    self.assertEqual(other.read_text().splitlines(), lines)
                    self.assertEqual(line["options"]["fragments"], fragments)

    def test_the_master_answers_each_request(self):
        """A request for each unit, and one more of each worker; as many answers."""
        database, queries, _ = self.make(50)
        line = self.search(4, "--database", database, "--queries", queries, "--fragments", "5")
        self.assertEqual((line["messages"], line["collectives"]), (2 * (5 * 8 + 3), 0))

    def test_a_database_of_its_own_is_not_left_behind(self):
        ran = self.run_command(["sh", "-c", f"cd {self.folder} && exec {SEARCH} --make-database 50"])
        self.ends_well(ran, "Verified")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_database_of_its_own_is_in_the_storage(self):
        storage = {"FISHPLATE_STORAGE": str(self.folder)}
        ran = self.ends_well(self.run_command([SEARCH, "--make-database", "50", "--json"], environment=storage))
        # A protein has at least 50 letters.
        self.assertGreater(ran.json()[0]["file_bytes"], 50 * 50)
        self.assertEqual(list(self.folder.iterdir()), [])
        for place, why in [
            ("/no/such/folder", "cannot make /no/such/folder/sequence_search-.*.fasta: No such file or directory"),
            ("nfs://host/export", "FISHPLATE_STORAGE: 'nfs://host/export'; MPI-IO reads folders only: allowed are a folder, or "
             "--database and --queries"),
        ]:
            ran = self.run_command([SEARCH, "--make-database", "50"], environment={"FISHPLATE_STORAGE": place})
            self.ends_with(6, ran, f"sequence_search: (rank 0: )?{why}")

    def test_hits_are_those_of_blastp(self):
        lacking = [name for name in ("blastp", "makeblastdb") if shutil.which(name) is None]
        if lacking:
            self.skipTest(f"{' and '.join(lacking)} of NCBI BLAST+ not installed")
        database, queries, hits = self.make(1500, seed=3)
        blast = self.folder / "blast"
        self.succeeds(self.run_command(["makeblastdb", "-in", database, "-dbtype", "prot", "-out", blast]))
        plain = ["-comp_based_stats", "0", "-seg", "no", "-outfmt", "6"]
        told = self.run_command(["blastp", "-query", queries, "-db", blast, *plain], environment={"OLD_FSC": "1"})
        self.succeeds(told)
        self.assertEqual(sorted(told.out.splitlines()), sorted(hits.read_text().splitlines()))

    def test_wrong_options_are_told(self):
        self.refuses(2, [SEARCH, "--database", "a"], "--database and --queries: one is missing; allowed: both or none")
        self.refuses(2, [SEARCH, "--make-database", "0"], "--make-database: '0'; allowed: a whole number from 1 to")
        self.refuses(2, [SEARCH, "--make-queries", "9"], "--make-queries: '9'; allowed: a whole number from 1 to 8")
        self.refuses(2, [SEARCH, "--database", "a", "--queries", "b", "--make-queries", "1"],
                     "--make-queries: allowed only where a database is made")
        self.refuses(2, [SEARCH, "--class", "S"], "sequence_search: unknown option '--class'")
        self.refuses(6, [SEARCH, "--output", "/dev/full"], "--output: cannot write /dev/full: No space left on device")

    def test_broken_files_are_told(self):
        good = self.file("good", ">a\nMKVLAAGIVGLLLAQWERTY\n")
        broken = {
            "": "is empty",
            "\n\n": "is no FASTA file: it has no protein",
            "MKV\n>a\nMKV\n": "is no FASTA file: byte 0 is before the first '>'",
            ">a\nMKV\n>b\n>c\nMKV\n": "is no FASTA file: protein b has no amino acids",
            ">a\nMKV\n>b\nMK1\n": "is no FASTA file: protein b has byte 0x31, which is no amino acid",
            ">a\nMKV\n> b\nMKV\n": "is no FASTA file: the protein at byte 7 has no name",
        }
        for content, why in broken.items():
            wrong = self.file("wrong", content)
            for ranks in (1, 3):
                with self.subTest(why, ranks=ranks):
                    for files in ((wrong, good), (good, wrong)):
                        options = ["--database", files[0], "--queries", files[1]]
                        self.refuses(6, [SEARCH, *options], f"sequence_search: {wrong} {why}", ranks=ranks)

    def test_files_that_cannot_be_read_or_made_are_told(self):
        good, absent = self.file("good", ">a\nMKVLAAGIVGLLLAQWERTY\n"), self.folder / "absent"
        for options in (["--database", absent, "--queries", good], ["--database", good, "--queries", absent]):
            self.refuses(6, [SEARCH, *options], f"sequence_search: cannot read {absent}: No such file or directory", ranks=2)
        folder = ["--database", self.folder, "--queries", good]
        self.refuses(6, [SEARCH, *folder], f"sequence_search: cannot read {self.folder}: Is a directory")
        made = ["--make-database", "5", "--database", good, "--queries", absent]
        self.refuses(6, [SEARCH, *made], f"sequence_search: {good} is already there, and is not overwritten", ranks=2)
        self.assertFalse(absent.exists())

    def test_a_full_disk_is_told(self):
        """Of a file system of 64 KiB."""
        made = "--make-database 1000 --database database --queries queries"
        mount = f"mount -t tmpfs -o size=64k none {self.folder} && cd {self.folder}"
        ran = self.run_command(["unshare", "-rm", "sh", "-c", f"{mount} && exec {SEARCH} {made}"])
        self.ends_with(6, ran, "sequence_search: cannot write database: ")
