"""The visualization: the same picture on any number of ranks, and what is told when something is wrong."""

from support import MpiTest, app

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
        line = self.verified(ranks, "visualization", *options, "--output", picture)
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

    def test_what_is_wrong_is_told(self):
        nowhere = self.folder / "none" / "a.png"
        for code, option, value, ranks, text in [
            (2, "--image", "640", 1, "visualization: --image: '640'; allowed: WIDTHxHEIGHT, each from 8 to 16384"),
            (2, "--surface", "cube", 1, "visualization: --surface: 'cube'; allowed: gyroid.sphere"),
            (2, "--size", "1", 1, "visualization: --size: '1'; allowed: a whole number from 2 to 4096"),
            (2, "--class", "S", 1, "visualization: unknown option '--class'; allowed: --repeats, --size"),
            (6, "--output", nowhere, 3, f"--output: cannot write {nowhere}: No such file or directory"),
            (6, "--output", "/dev/full", 2, "--output: cannot write /dev/full: No space left on device"),
        ]:
            with self.subTest(value):
                command = [app("visualization"), "--size", "20", "--frames", "1", option, value]
                self.refuses(code, command, text, ranks=ranks)
