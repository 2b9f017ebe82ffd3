"""A page that `fishplate` makes, in a headless browser: what the tests of all pages have in common.

FISHPLATE names the program (default build/bin/fishplate). With REPORT_PICTURES=FOLDER, pictures of the page stay there.
"""

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "packaging"))

import pypi

FISHPLATE = os.environ.get("FISHPLATE") or ROOT / "build" / "bin" / "fishplate"


def browser(profile):
    """A browser of 1240 by 1600 pixels with an empty profile, and its driver."""
    programs = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "chromedriver": ("chromedriver",)}
    found = {}
    for program, names in programs.items():
        found[program] = next(filter(None, map(shutil.which, names)), None)
        if found[program] is None:
            raise unittest.SkipTest(f"there is no {program} (Debian: packages chromium and chromium-driver)")
    try:
        environment = pypi.programs("selenium-4.36.0", "make test-report").parent
    except SystemExit as error:
        raise unittest.SkipTest(str(error)) from error
    sys.path[:0] = map(str, environment.glob("lib/python*/site-packages"))
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    # Containers have a small /dev/shm and often no sandbox for root; the page is our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--window-size=1240,1600", "--force-device-scale-factor=1", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(found["chromedriver"]))


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
        cls.driver = browser(cls.folder / "browser")
        cls.addClassCleanup(cls.driver.quit)
        cls.page = cls.make(cls.folder)

    def setUp(self):
        self.driver.get(self.page.as_uri())

    def run_script(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def pointer(self, shown):
        """What the pointer can do, once an element is shown in the middle."""
        from selenium.webdriver import ActionChains

        self.run_script("arguments[0].scrollIntoView({block: 'center'})", shown)
        return ActionChains(self.driver)

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
