#!/usr/bin/env python3
"""Counts tuned constants and lines of code of the crates that run in an MPI process.

    bench/source_counts.py              of the working tree
    bench/source_counts.py 35f839a      of a commit
    bench/source_counts.py --list       the constants as well

One rule: a tuned constant is a `const` whose type is a number or a time and whose value is written in digits; one that is
derived from others by name is none, nor is the position or the value of something in a format. So tests, simulations and the
files of formats and interfaces (FORMATS) do not count, nor do rails of libfabric's providers and shared memory (APART). Lines
are all lines of `src` but those of APART, tests and comments included."""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["engine", "link-core", "rails", "provider"]
# The second one is that of older commits.
FOLDERS = ["transport", "crates"]
APART = re.compile(r"/ofi|shared_memory")
FORMATS = re.compile(r"/(wire|sys|ffi|handshake|encryption|trial|netlink|address|info|link_name)(/|\.rs|_)")
TESTS = re.compile(r"/tests?\.rs|/test_pair\.rs")
CONSTANT = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?const (\w+): (?:[ui](?:8|16|32|64|size)|f32|f64|Duration) = ([^;]*);", re.M)
# Another constant, or a number that stands for none.
NAMED = re.compile(r"\b[A-Z][A-Z0-9_]+\b")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def sources(commit):
    """Paths and contents."""
    if commit:
        for path in git("ls-tree", "-r", "--name-only", commit, *FOLDERS).split():
            if path.endswith(".rs"):
                yield path, git("show", f"{commit}:{path}")
    else:
        for path in sorted((ROOT / FOLDERS[0]).rglob("*.rs")):
            yield str(path.relative_to(ROOT)), path.read_text()


def constants(text):
    code = text.split("#[cfg(test)]\nmod tests {")[0]
    return [(name, value) for name, value in CONSTANT.findall(code) if re.search(r"\d", value) and not NAMED.search(value)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="instead of the working tree")
    parser.add_argument("--list", action="store_true", help="print the constants")
    given = parser.parse_args()
    counts, lines, found = dict.fromkeys(CRATES, 0), dict.fromkeys(CRATES, 0), []
    for path, text in sources(given.commit):
        crate = path.split("/")[1]
        if crate not in CRATES or path.split("/")[2] != "src" or APART.search(path):
            continue
        lines[crate] += text.count("\n")
        if not FORMATS.search(path) and not TESTS.search(path):
            found += [(path, *each) for each in constants(text)]
            counts[crate] += len(constants(text))
    if given.list:
        for path, name, value in found:
            print(f"{path}: {name} = {value}")
    for crate in CRATES:
        print(f"{crate:9} {counts[crate]:4} constants {lines[crate]:6} lines")
    print(f"{'all':9} {sum(counts.values()):4} constants {sum(lines.values()):6} lines")


if __name__ == "__main__":
    main()
