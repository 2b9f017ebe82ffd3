"""The Debian package."""

import gzip
import hashlib
import shutil
import tempfile
from email.utils import formatdate
from pathlib import Path

import licences
from description import ROOT, fill, maintainer, run
from elf import glibc, machine


def build(description, prefix, out):
    """Makes the package of what is below `prefix`; its file."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder) / "stage"
        shutil.copytree(prefix, stage / "usr")
        # The temporary folder's own mode is for nobody else.
        stage.chmod(0o755)
        as_debian_has_it(description, stage / "usr")
        architecture = write_control(description, stage)
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"fishplate_{description.version}_{architecture}.deb"
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, file, failed="dpkg-deb failed")
    return file


def write_control(description, stage):
    """What dpkg reads; the architecture."""
    binaries = [stage / "usr" / "bin" / "fishplate", *(stage / "usr" / "lib" / "fishplate").iterdir()]
    architecture = machine(binaries[0])[1]
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    kib = sum((file.stat().st_size + 1023) // 1024 for file in files)
    version = ".".join(map(str, glibc(binaries)))
    fields = description.fields(architecture=architecture, glibc=version, kib=kib, maintainer=maintainer(),
                                long_description=debian_text(description.packaging["description"]))
    control = stage / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(fill("control.in", fields))
    sums = [f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(stage)}\n" for file in files]
    (control / "md5sums").write_text("".join(sums))
    return architecture


def as_debian_has_it(description, prefix):
    """Licences, changelog and manual pages as Debian's policy asks, completion where its zsh looks."""
    docs = prefix / "share" / "doc" / "fishplate"
    docs.mkdir(parents=True, exist_ok=True)
    names = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]
    texts = [(ROOT / name).read_text() for name in names]
    (docs / "copyright").write_text("\n".join([*texts, licences.text()]))
    for name in names:
        (docs / name).unlink(missing_ok=True)
    entry = (f"fishplate ({description.version}) unstable; urgency=medium\n\n  * CHANGELOG.md says what has changed.\n\n"
             f" -- {maintainer()}  {formatdate()}\n")
    compress(docs / "changelog.gz", entry.encode())
    for page in sorted((prefix / "share" / "man").rglob("*.1")):
        compress(page.with_name(page.name + ".gz"), page.read_bytes())
        page.unlink()
    site = prefix / "share" / "zsh" / "site-functions"
    shutil.move(site, site.with_name("vendor-completions"))


def compress(file, content):
    """Without a time, so that equal contents are equal files."""
    file.write_bytes(gzip.compress(content, 9, mtime=0))


def debian_text(text):
    """A long description: each line begins with a space, an empty one has a dot."""
    return "\n".join(f" {line}" if line else " ." for line in text.strip().splitlines())
