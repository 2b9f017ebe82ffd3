"""A page that `fishplate` makes, in a headless browser: what the tests of all pages have in common.

FISHPLATE names the program (default build/bin/fishplate). With REPORT_PICTURES=FOLDER, pictures of the page stay there.
"""

import os
import tempfile
import unittest
from pathlib import Path

import browser

ROOT = Path(__file__).resolve().parents[2]
FISHPLATE = os.environ.get("FISHPLATE") or ROOT / "build" / "bin" / "fishplate"


class PageTest(unittest.TestCase):
    # What names of pictures begin with.
    pictures = ""

    @classmethod
    def make(cls, folder):
        """Makes the page in a folder, and returns its path."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fishplate-page-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.driver = browser.start(cls.folder / "browser")
        cls.addClassCleanup(cls.driver.quit)
        cls.page = cls.make(cls.folder)

    def setUp(self):
        self.driver.get(self.page.as_uri())

    def run_script(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def picture(self, name, element=None):
        if element:
            self.run_script("arguments[0].scrollIntoView()", element)
        if folder := os.environ.get("REPORT_PICTURES"):
            (Path(folder) / f"{self.pictures}{name}.png").write_bytes(self.driver.get_screenshot_as_png())

    def test_nothing_goes_wrong_and_nothing_is_fetched(self):
        self.assertEqual([entry for entry in self.driver.get_log("browser") if "favicon" not in entry["message"]], [])
        self.assertEqual(self.run_script("return performance.getEntriesByType('resource').length"), 0)

    def test_a_phone_scrolls_tables_not_the_page(self):
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.addCleanup(self.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), 390)
        self.picture("phone")
