"""Pages that the program writes, as examples to click on: of records in docs/examples/, and by simulation.

`make` writes them; for MkDocs, `on_files` puts them among its files, with a page that lists them.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Where `make` has put them, for the process of MkDocs.
FOLDER = "FISHPLATE_SITE_EXAMPLES"

# Page, what it shows, the guide of its command, and the commands, of which the last writes it.
PAGES = [
    ("demo", "MPI stacks side by side over rails of 1000 and 250 Mbit/s", "guide/demo.md",
     ["fishplate demo --from demo.json --output demo.html"]),
    ("report", "bandwidth of an MPI library over one adapter and over two, simulated", "guide/report.md",
     ["fishplate simulate multirail-2004 bandwidth --stack original --sizes 1K:4M --record original.jsonl",
      "fishplate simulate multirail-2004 bandwidth --stack multirail --sizes 1K:4M --record multirail.jsonl",
      "fishplate report original.jsonl multirail.jsonl --output report.html --title 'One adapter and two'"]),
    ("profile", "where the time of NAS MG goes, on four ranks over two rails", "guide/profile.md",
     ["fishplate profile --read profile.json"]),
    ("prediction", "the time that the same program would take on other networks", "guide/predict.md",
     ["fishplate predict trace one=1000 two=1000+250 far=1000/1ms --page prediction.html"]),
    ("paper", "what a paper measured, beside the model of its machines", "papers/reproduce.md",
     ["fishplate reproduce wan-2008 --output paper.html"]),
]


def make(program, folder):
    """Runs the commands of all pages in `folder`."""
    shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
    for page, _, _, commands in PAGES:
        for command in commands:
            words = [program, *shlex.split(command)[1:]]
            ran = subprocess.run(words, cwd=folder, capture_output=True, text=True)
            if ran.returncode != 0:
                sys.exit(f"make docs: `{command}` ended with {ran.returncode}: {ran.stderr.strip()[-500:]}")
        if not (folder / f"{page}.html").is_file():
            sys.exit(f"make docs: `{commands[-1]}` made no {page}.html")


def index():
    """The page that lists them."""
    rows = []
    for page, what, guide, commands in PAGES:
        how = "<br>".join(f"`{command}`" for command in commands)
        rows.append(f"| [{page}]({page}.html) | {what} | {how} | [{Path(guide).stem}](../{guide}) |")
    return "\n".join([
        "# Examples", "", "Pages that the program writes. Each is one file that needs no network, and follows the system's theme.", "",
        "| page | what it shows | made by | guide |", "|---|---|---|---|", *rows, ""])


def on_files(files, config):
    from mkdocs.structure.files import File  # `make` runs where there is none

    folder = Path(os.environ[FOLDER])
    files.append(File.generated(config, "examples/index.md", content=index()))
    for page, *_ in PAGES:
        files.append(File.generated(config, f"examples/{page}.html", content=(folder / f"{page}.html").read_text()))
    return files
