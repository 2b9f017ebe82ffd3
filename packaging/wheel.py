"""The wheel: what `make install` puts below a prefix, and the Python module `fishplate`."""

import base64
import hashlib
import zipfile
from pathlib import Path

import licences
from description import HERE, ROOT, fill
from elf import glibc, machine

# What one is ready to fetch to try something.
MOST_BYTES = 15_000_000
# Zip files know no earlier time; a fixed one makes equal wheels of equal files.
TIME = (1980, 1, 1, 0, 0, 0)


class Writer:
    """A wheel that is being written."""

    def __init__(self, file):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, executable=False):
        """A file with these bytes."""
        entry = zipfile.ZipInfo(name, TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record):
        """Writes the list of all files, which does not list itself with a sum."""
        self.add(record, "\n".join([*self.record, f"{record},,", ""]).encode())
        self.zip.close()


def place(below):
    """Where a file of a prefix goes: scripts and data of a wheel come below the prefix of the environment again."""
    if below.parts[0] == "bin":
        return Path("scripts", *below.parts[1:])
    if below.parts[0] == "lib":
        # `pip install --target` leaves out what a wheel has in `lib`; the program looks there as well.
        return Path("data", "share", "fishplate", "lib", below.name)
    return Path("data", below)


def build(description, prefix, out):
    """Makes the wheel of what is below `prefix`; its file."""
    binaries = [prefix / "bin" / "fishplate", *sorted((prefix / "lib" / "fishplate").iterdir())]
    major, minor = glibc(binaries)
    platform = f"manylinux_{major}_{minor}_{machine(binaries[0])[0]}"
    name = f"fishplate-{description.version}"
    info = f"{name}.dist-info"
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}-py3-none-{platform}.whl"
    for old in out.glob("fishplate-*.whl"):
        old.unlink()
    wheel = Writer(file)
    for source in sorted((HERE / "python" / "fishplate").glob("*.py")):
        wheel.add(f"fishplate/{source.name}", source.read_bytes())
    for source in sorted(path for path in prefix.rglob("*") if path.is_file()):
        below = source.relative_to(prefix)
        wheel.add(f"{name}.data/{place(below)}", source.read_bytes(), below.parts[0] == "bin")
    for licence in ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]:
        wheel.add(f"{info}/licenses/{licence}", (ROOT / licence).read_bytes())
    wheel.add(f"{info}/licenses/THIRD-PARTY", licences.text().encode())
    wheel.add(f"{info}/METADATA", fill("METADATA.in", description.fields()).encode())
    tag = f"Wheel-Version: 1.0\nGenerator: fishplate\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
    wheel.add(f"{info}/WHEEL", tag.encode())
    wheel.close(f"{info}/RECORD")
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"packaging: {file} has {size} bytes; a wheel shall have at most {MOST_BYTES}")
    return file
