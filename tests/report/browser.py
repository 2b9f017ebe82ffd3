"""A headless Chromium, where there is one: `chromium` and its driver from the system, Selenium from PyPI."""

import shutil
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

import pypi

SELENIUM = "selenium-4.36.0"


def selenium():
    """Makes Selenium importable, from PyPI the first time."""
    folder = pypi.cache() / SELENIUM
    if not (folder / "complete").exists():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unittest.SkipTest(f"no folder for Selenium (FISHPLATE_CACHE names another one): {error}") from error
        done = pypi.install(sys.executable, SELENIUM, "--root-user-action=ignore", "--upgrade", "--target", folder)
        if done.returncode != 0:
            raise unittest.SkipTest(f"{SELENIUM} cannot be had from PyPI: {done.stderr.strip()[-500:]}")
        (folder / "complete").touch()
    sys.path.insert(0, str(folder))


def start(profile):
    """A browser of 1240 by 1600 pixels with an empty profile, and its driver."""
    programs = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "chromedriver": ("chromedriver",)}
    found = {}
    for program, names in programs.items():
        found[program] = next(filter(None, map(shutil.which, names)), None)
        if found[program] is None:
            raise unittest.SkipTest(f"there is no {program} (Debian: packages chromium and chromium-driver)")
    selenium()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    # Containers have a small /dev/shm and often no sandbox for root; the page is our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--window-size=1240,1600", "--force-device-scale-factor=1", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(found["chromedriver"]))
