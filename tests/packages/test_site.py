#!/usr/bin/env python3
"""The site of the documentation (`make docs`): it is whole, its links lead somewhere, its examples can be clicked on."""

import subprocess
import sys
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mpi"))

from support import FISHPLATE, ROOT, built, class_folder

BUILD = ROOT / "packaging/site/build"
EXAMPLES = ["demo", "report", "profile", "prediction", "paper"]


class Page(HTMLParser):
    """Links of a page, and the places that links can name."""

    def __init__(self, file):
        super().__init__()
        self.links, self.places = [], {""}
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = class_folder(cls)
        built([BUILD, FISHPLATE, cls.site], "PyPI")
        cls.pages = {file: Page(file) for file in cls.site.rglob("*.html")}

    def test_links_lead_somewhere(self):
        self.assertGreater(len(self.pages), 50)
        for file, page in self.pages.items():
            if file.name == "404.html":  # Its links are of a site at the root of a server.
                continue
            for link in page.links:
                parts = urlsplit(link)
                if parts.scheme or parts.netloc:
                    continue
                target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
                target = target / "index.html" if target.is_dir() else target
                self.assertTrue(target.is_file(), f"{file}: {link}")
                # A place that a script makes is none that can be looked for.
                if target in self.pages and not parts.fragment.startswith("__"):
                    self.assertIn(unquote(parts.fragment), self.pages[target].places, f"{file}: {link}")

    def test_examples_can_be_clicked_on(self):
        listed = self.pages[self.site / "examples/index.html"].links
        for name in EXAMPLES:
            self.assertIn(f"{name}.html", listed)
            self.assertIn("<svg", (self.site / f"examples/{name}.html").read_text(), name)
        self.assertIn("examples/index.html", self.pages[self.site / "index.html"].links)

    def test_an_example_that_cannot_be_made_is_told(self):
        failed = subprocess.run([BUILD, "/bin/false", self.site / "other"], capture_output=True, text=True)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("make docs: `fishplate demo --from demo.json --output demo.html` ended with 1", failed.stderr)


if __name__ == "__main__":
    if not FISHPLATE.is_file():
        sys.exit(f"{FISHPLATE} is not there: run `make`")
    unittest.main(verbosity=2)
