#!/usr/bin/env python3
"""Opens the page of a profile in a headless browser, zooms and hovers: `make test-report`.

FISHPLATE names the program (default build/bin/fishplate). With REPORT_PICTURES=FOLDER, pictures of the page stay there.
"""

import json
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import pagetest

# A real one, of NAS MG on four ranks.
EXAMPLE = pagetest.ROOT / "docs" / "examples" / "profile.json"

# What is drawn: whether pixels differ from each other.
COLOURS = """
    const [canvas] = arguments;
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size;"""


class ProfilePage(pagetest.PageTest):
    pictures = "profile-"

    @classmethod
    def make(cls, folder):
        """Of the example, as if a rank had been killed."""
        profile, record = json.loads(EXAMPLE.read_text()), folder / "profile.json"
        profile["worlds"][0]["ranks"][2]["end"] = {"unfinished": {"call": "MPI_Waitall", "place": 0, "for_ns": 3_200_000_000}}
        record.write_text(json.dumps({**profile, "exit_code": 137}))
        command = [pagetest.FISHPLATE, "profile", "--read", record]
        cls.table = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
        return folder / "profile.html"

    def setUp(self):
        from selenium.webdriver.support.ui import WebDriverWait

        super().setUp()
        WebDriverWait(self.driver, 20).until(lambda driver: self.run_script("return document.documentElement.dataset.drawn"))

    def test_the_table_fits_a_terminal(self):
        lines = [line for line in self.table.splitlines() if not line.startswith(("!", "page: "))]
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertLessEqual(len(lines), 50)

    def test_nothing_goes_wrong_and_nothing_is_fetched(self):
        super().test_nothing_goes_wrong_and_nothing_is_fetched()
        for section in self.find("section"):
            self.picture(section.find_element("css selector", "h2").text.lower().replace(" ", "-"), section)

    def test_every_picture_shows_something(self):
        canvases = self.find("canvas")
        self.assertEqual(len(canvases), 5)
        for canvas in canvases:
            self.assertGreater(self.run_script(COLOURS, canvas), 20, canvas.get_attribute("data-panel"))

    def test_buttons_and_a_drag_zoom_in(self):
        output = self.find(".controls output")[0]
        whole = self.seconds(output)[2]
        self.assertEqual(self.seconds(output), [0, whole, whole])
        self.find("[data-zoom=in]")[0].click()
        self.is_about(output, whole / 4, whole * 3 / 4, whole / 1200)
        heat = self.find("canvas[data-panel=heat]")[0]
        self.pointer(heat).move_to_element(heat).click_and_hold().move_by_offset(60, 0).release().perform()
        # Not shorter than ten steps of its time, 10 ms each.
        self.is_about(output, whole / 2 - 0.05, whole / 2 + 0.05, whole / 200)
        self.picture("zoomed")
        self.pointer(heat).double_click(heat).perform()
        self.assertEqual(self.seconds(output), [0, whole, whole])

    def seconds(self, output):
        """Begin and end of what is shown, and the length of the whole."""
        return [float(number) for number in re.fullmatch(r"([\d.]+) s to ([\d.]+) s of ([\d.]+) s", output.text).groups()]

    def is_about(self, output, begin, end, delta):
        """What is shown, in seconds, to `delta`; it is longer than nothing."""
        shown = self.seconds(output)
        self.assertLess(shown[0], shown[1])
        for found, wanted in zip(shown, (begin, end)):
            self.assertAlmostEqual(found, wanted, delta=delta)

    def test_the_pointer_shows_values(self):
        tip = self.find("#tip")[0]
        for panel, words in (("share", "in MPI: "), ("bytes", "received: "), ("rails", "r1 sent: "), ("heat", "rank "), ("matrix", " messages")):
            canvas = self.find(f"canvas[data-panel={panel}]")[0]
            self.pointer(canvas).move_to_element(canvas).perform()
            self.assertTrue(tip.is_displayed(), panel)
            self.assertIn(words, tip.text)
        self.picture("hover")

    def test_the_theme_switches(self):
        canvas = self.find("canvas[data-panel=heat]")[0]
        before = self.run_script("return arguments[0].toDataURL()", canvas)
        self.find(".theme label:has(#theme-dark)")[0].click()
        self.assertNotEqual(self.run_script("return arguments[0].toDataURL()", canvas), before)
        for number, section in enumerate(self.find("header, section.timeline, section.sizes, section.matrix")):
            self.picture(f"dark-{number}", section)


if __name__ == "__main__":
    unittest.main(verbosity=2)
