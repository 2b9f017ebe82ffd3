"""What the changelog says of a version."""

import re
import sys

from description import ROOT


def section(version):
    """Its section, for the page of a release."""
    text = (ROOT / "CHANGELOG.md").read_text()
    found = re.search(rf"^## \[{re.escape(version)}\].*?(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"make release: CHANGELOG.md has no section [{version}]")
    if "unreleased" in found[0].splitlines()[0]:
        print(f"make release: CHANGELOG.md calls {version} unreleased: its heading lacks the date", file=sys.stderr)
    return found[0].strip() + "\n"
