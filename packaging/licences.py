"""The licences of the crates that are in the program and the libraries, whose texts have to go with them."""

from pathlib import Path

from description import SHIPPED, metadata

NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def shipped_crates():
    """Crates of others whose code is shipped."""
    known = metadata("--filter-platform", "x86_64-unknown-linux-gnu")
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    open_ids = [key for key, package in packages.items() if package["name"] in SHIPPED]
    seen = set(open_ids)
    while open_ids:
        for dependency in nodes[open_ids.pop()]["deps"]:
            # Not what only tests or builds use.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]) and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                open_ids.append(dependency["pkg"])
    return sorted((packages[key] for key in seen if packages[key]["source"]), key=lambda package: package["name"])


def text():
    """All of them: name, version, licence, and what the crate's own files say; equal texts once."""
    crates_of = {}
    lines = ["Fishplate contains parts of these crates, and Rust's standard library (MIT OR Apache-2.0):", ""]
    for package in shipped_crates():
        lines.append(f"{package['name']} {package['version']}: {package['license']}")
        folder = Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.name.upper().startswith(NAMES) and file.is_file())
        for file in files:
            content = file.read_text(errors="replace").strip()
            crates_of.setdefault(content, []).append(f"{package['name']} ({file.name})")
    for content, crates in crates_of.items():
        lines += ["", "=" * 80, ", ".join(crates), "=" * 80, content]
    return "\n".join(lines) + "\n"
