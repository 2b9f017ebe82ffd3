"""The visualization: the same picture on any number of ranks, and what is told when something is wrong."""

from support import FISHPLATE, MpiTest, app, stack, testbed

RANKS = [1, 2, 3, 4]
# Whole tiles, of 20 rows.
WIDTH, HEIGHT, FRAMES = 200, 160, 2


def on_four():
    """By calculation, of one pass each: two steps, of half the image and a quarter, for each rank; agreements on the
    range of distances and on whether anything was drawn; the pieces of the picture."""
    image = WIDTH * HEIGHT * 8
    collectives = 4 * (16 + 4) + image
    return FRAMES * 4 * 2, FRAMES * 4 * (image // 2 + image // 4), FRAMES * 4 * 3, FRAMES * collectives


class Visualization(MpiTest):
    def setUp(self):
        self.folder = self.temporary_folder()

    def draw(self, ranks, *options):
        """The line and the picture, drawn over two rails."""
        picture = self.folder / "picture.png"
        command = ["mpiexec", "-n", ranks, app("visualization"), *options, "--json", "--output", picture]
        ran = self.run_command([*testbed(), "--", FISHPLATE, "run", "--mpi", "mpich", "--", *command])
        self.assertEqual(ran.code, 0, str(ran))
        [line] = ran.json()
        self.assertEqual((line["kind"], line["checked"], line["ranks"]), ("result", True, ranks), str(ran))
        return line, picture.read_bytes()

    def test_the_picture_is_the_same_on_any_number_of_ranks(self):
        """Each also compares its own with one that rank 0 draws alone."""
        options = ["--size", "40", "--image", f"{WIDTH}x{HEIGHT - 3}", "--frames", "2"]
        drawn = {ranks: self.draw(ranks, *options)[1] for ranks in RANKS}
        first = drawn[1]
        self.assertEqual((first[:8], first[16:24]), (b"\x89PNG\r\n\x1a\n", b"\0\0\0\xc8\0\0\0\x9d"))
        for ranks in RANKS:
            self.assertEqual(drawn[ranks], first, f"{ranks} ranks")

    def test_a_sphere_covers_a_circle(self):
        line, _ = self.draw(2, "--surface", "sphere", "--size", "50", "--frames", "1")
        self.assertEqual(line["options"]["surface"], "sphere")

    def test_what_is_sent_is_as_calculated(self):
        options = ["--size", "32", "--image", f"{WIDTH}x{HEIGHT}", "--frames", FRAMES, "--passes", "1"]
        line, _ = self.draw(4, *options)
        calls = tuple(line[key] for key in ("messages", "bytes", "collectives", "collective_bytes"))
        self.assertEqual(calls, on_four())
        self.assertEqual(line["options"]["image"], f"{WIDTH}x{HEIGHT}")

    def refuses(self, code, options, *texts, ranks=1):
        """One message, and its exit code."""
        start = [f"{stack('mpich')}/mpiexec", "-n", ranks] if ranks > 1 else []
        ran = self.run_command([*start, app("visualization"), "--size", "20", "--frames", "1", *options])
        self.assertEqual(ran.code, code, str(ran))
        self.says(ran, *texts)

    def test_what_is_wrong_is_told(self):
        self.refuses(2, ["--image", "640"], "visualization: --image: '640'; allowed: WIDTHxHEIGHT, each from 8 to 16384")
        self.refuses(2, ["--surface", "cube"], "visualization: --surface: 'cube'; allowed: gyroid.sphere")
        self.refuses(2, ["--size", "1"], "visualization: --size: '1'; allowed: a whole number from 2 to 4096")
        self.refuses(2, ["--class", "S"], "visualization: unknown option '--class'; allowed: --repeats, --size")
        nowhere = self.folder / "none" / "a.png"
        self.refuses(6, ["--output", nowhere], f"--output: cannot write {nowhere}: No such file or directory", ranks=3)
        self.refuses(6, ["--output", "/dev/full"], "--output: cannot write /dev/full: No space left on device", ranks=2)
