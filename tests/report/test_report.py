#!/usr/bin/env python3
"""Opens a report in a headless browser, clicks and hovers: `make test-report`.

FISHPLATE names the program (default build/bin/fishplate). With REPORT_PICTURES=FOLDER, pictures of the page stay there.
"""

import base64
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import pagetest
import records


class ReportPage(pagetest.PageTest):
    @classmethod
    def make(cls, folder):
        """Of a record that is like a real one."""
        record = records.write(folder / "record.jsonl", records.record())
        page = folder / "report.html"
        subprocess.run([pagetest.FISHPLATE, "report", record, "-o", page], check=True, stderr=subprocess.DEVNULL)
        return page

    def test_nothing_goes_wrong_and_nothing_is_fetched(self):
        super().test_nothing_goes_wrong_and_nothing_is_fetched()
        self.assertGreater(len(self.find("svg.plot")), 20)

    def test_the_legend_takes_a_stack_out_of_all_charts_and_brings_it_back(self):
        lines = self.find(".plot g.stack.s1")
        self.assertTrue(all(line.is_displayed() for line in lines))
        entry = self.find(".legend label.s1")[0]
        self.run_script("arguments[0].scrollIntoView()", entry)
        entry.click()
        self.assertFalse(any(line.is_displayed() for line in lines))
        self.assertTrue(self.find(".plot g.stack.s0")[0].is_displayed())
        self.assertIn("line-through", entry.value_of_css_property("text-decoration"))
        self.picture("without-a-stack")
        entry.click()
        self.assertTrue(all(line.is_displayed() for line in lines))

    def hover(self, plot, mark):
        self.pointer(plot).move_to_element(mark).perform()

    def test_the_pointer_shows_the_values_of_all_visible_stacks(self):
        plot = self.find("#benchmark-bandwidth svg.plot")[0]
        mark = self.find("#benchmark-bandwidth svg.plot g.s3 path[data-place='64 KiB']")[0]
        tip = self.find("#tip")[0]
        self.assertFalse(tip.is_displayed())
        self.hover(plot, mark)
        self.assertTrue(tip.is_displayed())
        self.assertEqual(len(tip.text.splitlines()), 1 + len(records.STACKS))
        self.assertTrue(tip.text.startswith("64 KiB\n"), tip.text)
        self.assertIn(f"Fishplate {mark.get_attribute('data-value')}", tip.text)
        self.picture("hover")
        self.run_script("document.getElementById('show-s1').click()")
        self.hover(plot, self.find("#benchmark-bandwidth svg.plot .caption")[0])
        self.hover(plot, mark)
        self.assertNotIn("Open MPI", tip.text)
        self.hover(plot, self.find("#benchmark-bandwidth h2")[0])
        self.assertFalse(tip.is_displayed())

    def test_the_theme_switches_and_auto_follows_the_system(self):
        def ground():
            return self.run_script("return getComputedStyle(document.body).backgroundColor")

        def system(theme):
            feature = {"name": "prefers-color-scheme", "value": theme}
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

        system("light")
        light = ground()
        self.find(".theme label:has(#theme-dark)")[0].click()
        dark = ground()
        self.assertNotEqual(light, dark)
        self.picture("dark")
        self.find(".theme label:has(#theme-light)")[0].click()
        system("dark")
        self.assertEqual(ground(), light)
        self.find(".theme label:has(#theme-auto)")[0].click()
        self.assertEqual(ground(), dark)
        system("light")
        self.assertEqual(ground(), light)
        self.picture("light")

    def test_it_works_without_scripts(self):
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        self.addCleanup(self.driver.execute_cdp_cmd, "Emulation.setScriptExecutionDisabled", {"value": False})
        self.driver.get(self.page.as_uri())
        self.find(".legend label.s1")[0].click()
        self.assertFalse(self.find(".plot g.stack.s1")[0].is_displayed())
        hints = self.find("#benchmark-bandwidth .plot g.s3 path title")
        self.assertIn("Fishplate, 1 B: ", hints[0].get_attribute("textContent"))

    def test_words_in_charts_do_not_overlap_and_stay_inside(self):
        overlaps = self.run_script("""
            const bad = [];
            for (const plot of document.querySelectorAll("svg.plot, svg.shares")) {
                const frame = plot.getBoundingClientRect();
                const boxes = [...plot.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
                boxes.forEach(([name, box], index) => {
                    if (box.left < frame.left - 1 || box.right > frame.right + 1) bad.push(`${name} leaves its chart`);
                    for (const [other, its] of boxes.slice(index + 1)) {
                        const apart = box.right <= its.left || its.right <= box.left || box.bottom - 3 <= its.top || its.bottom - 3 <= box.top;
                        if (!apart) bad.push(`${name} and ${other} in ${plot.getAttribute("aria-label")}`);
                    }
                });
            }
            return bad;""")
        self.assertEqual(overlaps, [])

    def test_it_prints_on_white_with_a_legend_beside_the_charts(self):
        self.find(".theme label:has(#theme-dark)")[0].click()
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.addCleanup(self.driver.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"media": ""})
        self.assertEqual(self.run_script("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertTrue(self.find("#benchmark-latency .legend.printed")[0].is_displayed())
        self.assertFalse(self.find("fieldset.legend")[0].is_displayed())
        pdf = base64.b64decode(self.driver.print_page())
        self.assertTrue(pdf.startswith(b"%PDF"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
