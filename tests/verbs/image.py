"""What a guest boots: a kernel of Debian, and an archive with all its files, which it keeps in memory."""

import lzma
import os
import stat
from pathlib import Path

from packages import run

HERE = Path(__file__).resolve().parent
# Folders that are parts of usr/ today, and that older packages still name.
MERGED = ("bin", "sbin", "lib", "lib64")
# Of Debian's packages.
LEFT_OUT = ("boot/", "lib/modules/", "usr/share/", "usr/lib/x86_64-linux-gnu/gconv/", "usr/lib/x86_64-linux-gnu/perl")
# In the order in which they are loaded, each behind those that it needs.
MODULES = ["virtio_pci", "virtio_console", "virtio_net", "af_packet", "ipv6", "ib_uverbs", "rdma_ucm", "rdma_rxe", "crc32_generic"]


class Archive:
    """A cpio archive, in the format that kernels unpack at their start."""

    def __init__(self, path):
        self.out, self.names, self.folders = open(path, "wb"), set(), {""}

    def add(self, name, mode, content=b""):
        """A file, link or folder, once, behind the folders that it is in."""
        name = name.lstrip("/")
        if name.split("/")[0] in MERGED:
            name = f"usr/{name}"
        if name in self.names or name == "":
            return
        for at in [at for at, character in enumerate(name) if character == "/"]:
            if name[:at] not in self.folders:
                self.add(name[:at], stat.S_IFDIR | 0o755)
        self.names.add(name)
        if stat.S_ISDIR(mode):
            self.folders.add(name)
        self.write(name, mode, content)

    def write(self, name, mode, content):
        name = name.encode() + b"\0"
        numbers = [len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name
        for part in (head, content):
            self.out.write(part + bytes(-len(part) % 4))

    def add_path(self, path, name):
        """What is at a path of this machine."""
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            self.add(name, mode, os.readlink(path).encode())
        elif stat.S_ISDIR(mode):
            self.add(name, mode)
        elif stat.S_ISREG(mode):
            self.add(name, mode, path.read_bytes())

    def add_tree(self, folder, under="", left_out=()):
        """All that is below a folder."""
        for parent, folders, files in os.walk(folder):
            for name in sorted(folders + files):
                inside = str((Path(parent) / name).relative_to(folder))
                if not f"{inside}/".startswith(left_out):
                    self.add_path(Path(parent) / name, os.path.join(under, inside))

    def close(self):
        for name in MERGED:
            self.names.add(name)
            self.write(name, stat.S_IFLNK | 0o777, f"usr/{name}".encode())
        self.write("TRAILER!!!", 0, b"")
        self.out.close()


def kernel(guest):
    """The kernel, and the folder of its modules."""
    return next((guest / "boot").glob("vmlinuz-*")), next((guest / "lib" / "modules").iterdir())


def build(guest, path, same_places):
    """Writes the archive. `same_places`: files and folders of this machine that are where they are here."""
    archive = Archive(path)
    for name in ("proc", "sys", "dev", "tmp", "run", "root"):
        archive.add(name, stat.S_IFDIR | 0o755)
    for name in ("init", "remote"):
        archive.add(name, stat.S_IFREG | 0o755, (HERE / name).read_bytes())
    archive.add("etc/hosts", stat.S_IFREG | 0o644, b"127.0.0.1 localhost\n10.9.9.1 a\n10.9.9.2 b\n")
    add_modules(archive, guest)
    archive.add_tree(guest, left_out=LEFT_OUT)
    for tool in run([guest / "bin" / "busybox", "--list"], "cannot run BusyBox").split():
        archive.add(f"usr/bin/{tool}", stat.S_IFLNK | 0o777, b"/usr/bin/busybox")
    for place in same_places:
        archive.add_path(place, str(place))
        if place.is_dir() and not place.is_symlink():
            archive.add_tree(place, str(place))
    archive.close()


def add_modules(archive, guest):
    """The modules of the kernel that the guests need, and a list of them in the order in which they have to be loaded."""
    _, folder = kernel(guest)
    libraries = ":".join(str(guest / part) for part in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"))
    # It is called by its name; the link of that name leads out of the folder.
    run(["depmod", "-b", guest, folder.name], "cannot read the modules", executable=guest / "bin" / "kmod",
        env={"LD_LIBRARY_PATH": libraries})
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        module, others = line.split(":")
        needs[Path(module).name.split(".")[0].replace("-", "_")] = [module, *others.split()]
    order = []
    for name in MODULES:
        # Those that are in the kernel have no file.
        for module in reversed(needs.get(name, [])):
            if module not in order:
                order.append(module)
    for module in order:
        content = (folder / module).read_bytes()
        archive.add(f"modules/{Path(module).name.removesuffix('.xz')}", stat.S_IFREG | 0o644,
                    lzma.decompress(content) if module.endswith(".xz") else content)
    names = "".join(f"{Path(module).name.removesuffix('.xz')}\n" for module in order)
    archive.add("modules/order", stat.S_IFREG | 0o644, names.encode())
