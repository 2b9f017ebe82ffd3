"""Two guests of QEMU, connected by cables that can be pulled."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import image

# Booting takes half a minute where the processors are busy.
BOOT_S = 240
CABLES = 3


class Guest:
    """One of them."""

    def __init__(self, number, qemu, files, folder):
        self.name, self.folder, self.tail = "ab"[number], folder, b""
        self.console, self.line, self.monitor = (folder / f"{self.name}.{kind}" for kind in ("console", "line", "monitor"))
        kernel, archive = files
        command = [
            qemu / "usr/bin/qemu-system-x86_64", "-L", qemu / "usr/share/qemu", "-L", qemu / "usr/share/seabios",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg",
            "-cpu", "max", "-m", "900", "-kernel", kernel, "-initrd", archive,
            "-append", f"console=ttyS0 quiet panic=-1 mitigations=off guest={number + 1}",
            "-serial", f"file:{self.console}", "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=line,path={self.line},server=on,wait=off", "-device", "virtserialport,chardev=line",
            "-monitor", f"unix:{self.monitor},server=on,wait=off",
        ]
        for cable in range(CABLES):
            side = "on" if number == 0 else "off"
            command += ["-netdev", f"stream,id=cable{cable},server={side},addr.type=unix,addr.path={folder}/cable{cable}",
                        "-device", f"virtio-net-pci,netdev=cable{cable},id=eth{cable},romfile=,"
                                   f"mac=52:54:00:00:0{cable}:0{number + 1}"]
        libraries = ":".join(str(qemu / part) for part in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"))
        self.errors = (folder / f"{self.name}.errors").open("w+")
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=self.errors,
                                        stderr=self.errors, start_new_session=True,
                                        env={**os.environ, "LD_LIBRARY_PATH": libraries})

    def connect(self):
        """Listens to it; what it says before that is lost."""
        wait_for(self.monitor, self)
        self.commands, self.socket = connected(self.monitor), connected(self.line)

    def run(self, command, limit_s):
        """Exit code and output of a shell line."""
        self.begin(command)
        return self.end(limit_s)

    def begin(self, command):
        self.socket.sendall(command.replace("\n", " ").encode() + b"\n")

    def end(self, limit_s):
        """Of what has begun."""
        output = self.read_until(b"exit code ", limit_s)
        code = self.read_until(b"\n", limit_s)
        return int(code), output.decode(errors="replace")

    def set_link(self, cable, state):
        """This end of a cable has its carrier, or loses it: `on` or `off`."""
        self.commands.sendall(f"set_link eth{cable} {state}\n".encode())

    def read_until(self, mark, limit_s):
        """What comes before a mark."""
        deadline = time.monotonic() + limit_s
        while mark not in self.tail:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                more = self.socket.recv(65536)
            except TimeoutError:
                more = b""
            if not more:
                raise RuntimeError(f"guest {self.name} says no more, or not within {limit_s} s:\n{self.said()}")
            self.tail += more
        found, self.tail = self.tail.split(mark, 1)
        return found

    def said(self):
        """What it has said last."""
        self.errors.seek(0)
        console = self.console.read_text(errors="replace") if self.console.exists() else ""
        return f"{self.errors.read()}--- console\n{console[-5000:]}\n--- output\n{self.tail.decode(errors='replace')[-5000:]}"

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.errors.close()


class Pair:
    """Both."""

    def __init__(self, qemu, guest, archive, folder):
        files, self.guests = (image.kernel(guest)[0], archive), []
        try:
            for number in range(2):
                self.guests.append(Guest(number, qemu, files, Path(folder)))
                self.guests[-1].connect()
            self.a, self.b = self.guests
            for one in self.guests:
                one.read_until(b"ready\n", BOOT_S)
        except BaseException:
            self.kill()
            raise

    def kill(self):
        for one in self.guests:
            one.kill()


def wait_for(path, guest):
    """Until QEMU has made a socket."""
    while not path.exists():
        if guest.process.poll() is not None:
            raise RuntimeError(f"QEMU has ended: {guest.said()}")
        time.sleep(0.02)


def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))
    return client
