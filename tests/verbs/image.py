"""What a guest boots: a kernel of Debian, and an archive with all its files, which it keeps in memory."""

import lzma
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from packages import run

HERE = Path(__file__).resolve().parent
# Folders that are parts of usr/ today, and that older packages still name.
MERGED = ("bin", "sbin", "lib", "lib64")
# Of Debian's packages, as tar takes it.
LEFT_OUT = ("boot", "lib/modules", "usr/share", "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/x86_64-linux-gnu/perl*")
# In the order in which they are loaded, each behind those that it needs.
MODULES = ["virtio_pci", "virtio_console", "virtio_net", "af_packet", "ipv6", "ib_uverbs", "rdma_ucm", "rdma_rxe", "crc32_generic"]


def kernel(guest):
    """The kernel, and the folder of its modules."""
    return next((guest / "boot").glob("vmlinuz-*")), next((guest / "lib" / "modules").iterdir())


def build(guest, path, same_places):
    """Writes the archive. `same_places`: files and folders of this machine that are where they are here."""
    busybox = guest / "bin" / "busybox"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "modules", *(f"usr/{name}" for name in MERGED)):
            (root / name).mkdir(parents=True)
        for name in MERGED:
            (root / name).symlink_to(f"usr/{name}")
        for name in ("init", "remote"):
            shutil.copy(HERE / name, root)
            (root / name).chmod(0o755)
        (root / "etc/hosts").write_text("127.0.0.1 localhost\n10.9.9.1 a\n10.9.9.2 b\n")
        add_modules(root / "modules", guest)
        copy(guest, ["."], root)
        for tool in run([busybox, "--list"], "cannot run BusyBox").split():
            if not os.path.lexists(root / "usr/bin" / tool):
                (root / "usr/bin" / tool).symlink_to("/usr/bin/busybox")
        copy("/", [place.relative_to("/") for place in same_places], root)
        with open(path, "wb") as out:
            # In the format that kernels unpack at their start.
            pack = f"{busybox} find . | {busybox} cpio -o -H newc -R 0:0"
            subprocess.run(["sh", "-c", pack], cwd=root, stdout=out, stderr=subprocess.DEVNULL, check=True)


def copy(folder, names, root):
    """What is not there yet of these names below a folder."""
    left_out = [f"--exclude=./{name}" for name in LEFT_OUT]
    with subprocess.Popen(["tar", "-C", folder, "-c", *left_out, *names], stdout=subprocess.PIPE) as packed:
        run(["tar", "-C", root, "-xp", "--keep-directory-symlink", "--skip-old-files", "--no-same-owner"], "cannot copy",
            stdin=packed.stdout)


def add_modules(out, guest):
    """Into a folder the modules of the kernel that the guests need, and a list of them in the order in which they have to be loaded."""
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
        (out / Path(module).name.removesuffix(".xz")).write_bytes(lzma.decompress(content) if module.endswith(".xz") else content)
    (out / "order").write_text("".join(f"{Path(module).name.removesuffix('.xz')}\n" for module in order))
