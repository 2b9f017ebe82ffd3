"""Runs on the first host of a testbed, beside an MPI job that exchanges messages, and disturbs it.

    intruder.py ATTACK RANKS PROGRAM STOPFILE COMMAND...

Starts COMMAND, which must run PROGRAM until STOPFILE is there; waits until that says "connected"; carries the attack
out; lets PROGRAM end; exits as COMMAND does. Everything it says is for the test: lines that begin with "intruder:".
"""

import errno
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

# docs/internals/wire.md
MAGIC = b"FiPl"
# What complaints begin with.
NAME = Path(sys.argv[0]).stem
VERSION = 11
HELLO, PROOF = 1, 3
CHALLENGE_LEN = 120
# In the place of a key share: the rails are not encrypted.
NO_SHARE = bytes(32)

ETH_P_ALL = 3
# A peer that answers at all does so at once.
PATIENCE_S = 30
# More than a process has descriptors for, and than the provider keeps unproven.
CROWD = 1500
# Idle connections of a storm, and ports below and above a listener's that it scans.
STORM = 10_000
SCANNED = 500


def say(text):
    print(f"intruder: {text}", flush=True)


def processes(program):
    """Numbers of the processes of a program, in the order in which they started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == Path(program).name[:15]:
                found.append(int(entry.name))
        except OSError:
            pass
    return sorted(found)


def sockets(process, kind):
    """Address, port and state of each socket of a process, `kind` being tcp or udp."""
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            own.update(re.findall(r"socket:\[(\d+)\]", os.readlink(entry)))
        except OSError:
            pass
    for fields in map(str.split, Path(f"/proc/{process}/net/{kind}").read_text().splitlines()[1:]):
        if fields[9] in own:
            address, port = (int(part, 16) for part in fields[1].split(":"))
            yield socket.inet_ntoa(struct.pack("<I", address)), port, fields[3]


def listeners(process):
    """Addresses of rails that an endpoint listens on: on one port, with a socket for each interface."""
    own = re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", Path(f"/proc/{process}/net/fib_trie").read_text())
    ports = [port for _, port, state in sockets(process, "tcp") if state == "0A"]
    return sorted((address, port) for address in own for port in set(ports) if ports.count(port) > 1)


def connect(address):
    return socket.create_connection(address, timeout=PATIENCE_S)


def keep(listening, count):
    """Connections that say nothing, to all listeners in turn; there is room for their files, and for some more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1000, max(count + 1000, most)))
    return [connect(listening[at % len(listening)]) for at in range(count)]


def read(connection, length):
    """So many bytes, or what came before the end."""
    got = b""
    while len(got) < length:
        try:
            part = connection.recv(length - len(got))
        except ConnectionResetError:
            break
        if not part:
            break
        got += part
    return got


def answer(attack, words, is_all=False):
    """What is answered to these words; `is_all`: the other side sees that nothing more comes."""
    with connect(attack.listening[0]) as connection:
        connection.sendall(words)
        try:
            if is_all:
                connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            # The other side has reset the connection before.
            if error.errno != errno.ENOTCONN:
                raise
        return read(connection, 64)


def preamble(kind, version=VERSION):
    return MAGIC + struct.pack("<HBB", version, kind, 0)


def hello(target, version=VERSION):
    return preamble(HELLO, version) + struct.pack("<QQ", 0xBAD, target) + bytes(range(16)) + NO_SHARE + bytes(8)


class Wire:
    """What passes on this host's rails in clear."""

    def __init__(self):
        self.names = {}
        self.found = threading.Event()
        for rail in os.environ["FISHPLATE_TESTBED_RAILS"].split(","):
            listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
            listener.bind((rail, ETH_P_ALL))
            threading.Thread(target=self.watch, args=[listener], daemon=True).start()

    def watch(self, listener):
        """Learns the names of endpoints from connections that are set up."""
        while True:
            packet = listener.recv(65536)
            at = packet.find(preamble(HELLO))
            if at >= 0 and len(packet) >= at + 24:
                address = socket.inet_ntoa(packet[16:20])
                self.names[address] = struct.unpack_from("<Q", packet, at + 16)[0]
                self.found.set()

    def target(self, listening):
        """An address among `listening` whose endpoint's name has passed, and that name."""
        if not self.found.wait(PATIENCE_S):
            sys.exit("intruder: no connection was seen")
        return next((address, self.names[address[0]]) for address in listening if address[0] in self.names)


def garbage(attack):
    """What is no Fishplate at all, in all lengths."""
    for bytes_ in [b"GET / HTTP/1.0\r\n\r\n", b"\0" * 4096, b"\xff", MAGIC[:3], preamble(99), preamble(PROOF)]:
        say(f"{len(bytes_)} bytes of garbage were answered with {len(answer(attack, bytes_, is_all=True))} bytes")


def version(attack):
    """A peer of tomorrow."""
    told = answer(attack, hello(0, VERSION + 6))
    say(f"answer {told[:4]} kind {told[6]} code {told[7]} version {struct.unpack_from('<H', told, 4)[0]}")


def stranger(attack):
    """Somebody who takes the job for another one, as after a reuse of its port."""
    told = answer(attack, hello(12345))
    say(f"kind {told[6]} code {told[7]}")


def token(attack):
    """Somebody who has seen everything that passed, and knows no token."""
    address, name = attack.wire.target(attack.listening)
    with connect(address) as connection:
        connection.sendall(hello(name))
        challenge = read(connection, CHALLENGE_LEN)
        say(f"challenge of {len(challenge)} bytes")
        connection.sendall(preamble(PROOF) + bytes(16) + bytes(32) + bytes(32) + bytes(32))
        answer = read(connection, 40)
        say(f"kind {answer[6]} code {answer[7]}, then {'the end' if not read(connection, 1) else 'more'}")


def crowd(attack):
    """Connections that say nothing, as many as there is room for."""
    attack.kept = keep(attack.listening[:1], CROWD)
    say(f"{len(attack.kept)} connections")


def storm(attack):
    """A port scan, garbage, and ten thousand connections that say nothing, all during the run."""
    opened = 0
    for address, port in attack.listening:
        for scanned in range(max(1, port - SCANNED), min(65536, port + SCANNED)):
            with socket.socket() as probe:
                probe.settimeout(PATIENCE_S)
                opened += probe.connect_ex((address, scanned)) == 0
    say(f"{opened} open ports")
    for turn in range(100):
        with connect(attack.listening[turn % len(attack.listening)]) as connection:
            connection.sendall(os.urandom(turn * 50))
    attack.kept = keep(attack.listening, STORM)
    say(f"{len(attack.kept)} idle connections")


def kill(attack):
    """A rank dies."""
    os.kill(attack.processes[-1], signal.SIGKILL)
    say("killed")


class Attack:
    """What attacks have to go by."""

    def __init__(self, ranks, program):
        self.wire = Wire()
        self.ranks, self.program = int(ranks), program

    def look(self):
        self.processes = processes(self.program)
        if len(self.processes) != self.ranks:
            sys.exit(f"{NAME}: there are {len(self.processes)} processes of {self.program}")
        rails = os.environ["FISHPLATE_TESTBED_ADDRESSES"].replace(";", ",").split(",")
        found = (address for process in self.processes for address in listeners(process))
        self.listening = [address for address in found if address[0] in rails]


def during(command, attack, stop, work):
    """Does `work` while a job runs, from when it says that it is connected; the file `stop` ends the job then. Ends as it does."""
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in job.stdout:
        print(line, end="", flush=True)
        if line.strip() == "connected":
            break
    else:
        sys.exit(job.wait() or f"{NAME}: the job ended too early")
    try:
        attack.look()
        work()
    finally:
        Path(stop).touch()
    for line in job.stdout:
        print(line, end="", flush=True)
    sys.exit(job.wait())


def main():
    name, ranks, program, stop, *command = sys.argv[1:]
    attack = Attack(ranks, program)
    during(command, attack, stop, lambda: ATTACKS[name](attack))


ATTACKS = {attack.__name__: attack for attack in [garbage, version, stranger, token, crowd, storm, kill]}

if __name__ == "__main__":
    main()
