"""Runs on the first host of a testbed, beside an MPI job that exchanges messages, and floods the job in several ways in turn.

    flooded.py RANKS PROGRAM STOPFILE SECONDS ROUNDS KINDS COMMAND...

Starts COMMAND, which must run PROGRAM until STOPFILE is there; waits until that says "connected". For each of KINDS (names of
`FLOODS`, with commas): looks at the job for SECONDS; then, ROUNDS times, for SECONDS under the flood, until what that took of the
job is given back, and for SECONDS beside a process that computes for as long as the flood did; for SECONDS after it all. Prints a
line of JSON for each; then lets PROGRAM end, and exits as COMMAND does.
"""

import collections
import json
import os
import random
import re
import socket
import struct
import sys
import time
from pathlib import Path

from intruder import Attack, during, hello, inodes

# Connections that a flood keeps open.
KEPT = 2000
# Processes that connect to sockets of shared memory: as many stopped a rank once.
LOCAL_FLOODS = 3
# Who is neither root nor the user of the job.
NOBODY = 65534
# Descriptors that come and go without a flood: links on trial.
SPARE = 8
# By then a process has closed what a flood has left to it; connections may stay unproven for 10 s.
GIVEN_BACK_S = 30
# A page is written every 0.1 s.
PATIENCE_S = 30


def open_connection(target):
    """A connection that is being set up."""
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(target)
    return one


def connections(job, until, words):
    """Connections to all listeners in turn, which say `words(target)` and stay open, the newest of them."""
    kept = collections.deque()
    while time.monotonic() < until:
        for target in job.listening:
            try:
                one = open_connection(target)
            except OSError:
                continue
            try:
                one.send(words(target))
            except OSError:
                pass  # Not connected yet, or refused.
            kept.append(one)
            if len(kept) > KEPT:
                kept.popleft().close()


def idle(job, until):
    """Connections that say nothing."""
    connections(job, until, lambda target: b"")


def begun(job, until):
    """Connections that say half of a first line."""
    connections(job, until, lambda target: hello(0)[:30])


def named(job, until):
    """Connections with a right first line: the endpoint's own id, which who sees packets knows."""
    connections(job, until, lambda target: hello(job.wire.names.get(target[0], 0)))


def garbage(job, until):
    """Connections that say something else, and are closed."""
    while time.monotonic() < until:
        for target in job.listening:
            try:
                with open_connection(target) as one:
                    one.send(os.urandom(random.randrange(1, 3000)))
            except OSError:
                pass


def checksum(words):
    """That of IP and TCP."""
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def half_open(job, until):
    """Connections from addresses where nobody is: the kernel answers the first packet, and no other comes."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    while time.monotonic() < until:
        for address, port in job.listening:
            to = socket.inet_aton(address)
            source = to[:3] + bytes([random.randrange(100, 250)])
            tcp = struct.pack(">HHIIBBHHH", random.randrange(1024, 65536), port, random.getrandbits(32), 0, 5 << 4, 2, 65535, 0, 0)
            sum_ = checksum(source + to + struct.pack(">HH", socket.IPPROTO_TCP, len(tcp)) + tcp)
            tcp = tcp[:16] + struct.pack(">H", sum_) + tcp[18:]
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, socket.IPPROTO_TCP, 0, source, to)
            try:
                raw.sendto(ip + tcp, (address, 0))
            except OSError:
                pass  # The queue is full.


def datagrams(job, until):
    """Datagrams of all lengths to the ports that the job has."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setblocking(False)
    targets = [(address, port) for process in job.processes for address, port in ports(process, "udp")]
    words = [os.urandom(length) for length in (8, 40, 200, 1400)]
    sent = 0
    while time.monotonic() < until:
        for target in targets:
            try:
                out.sendto(words[sent % len(words)], target)
            except OSError:
                pass
            sent += 1


def local(job, until):
    """Another user of the host connects to the sockets at which ranks share memory."""
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    names = sockets_of_memory()
    while time.monotonic() < until:
        for name in names:
            with socket.socket(socket.AF_UNIX) as one:
                one.setblocking(False)
                one.connect_ex(f"\0{name}")


FLOODS = {flood.__name__: flood for flood in [idle, begun, named, garbage, half_open, datagrams, local]}


def sockets_of_memory():
    """Names in the abstract namespace of this host."""
    return re.findall(r"@(fishplate-[0-9a-f]{16})\n", Path("/proc/self/net/unix").read_text())


def ports(process, kind):
    """Addresses that a process has sockets at."""
    found, own = [], inodes(process)
    for line in Path(f"/proc/{process}/net/{kind}").read_text().splitlines()[1:]:
        fields = line.split()
        address, port = fields[1].split(":")
        if fields[9] in own:
            found.append((socket.inet_ntoa(struct.pack("<I", int(address, 16))), int(port, 16)))
    return found


def compute(seconds, until):
    """Takes so much processor time until then, evenly, as far as others leave it that."""
    begin = time.monotonic()
    while (now := time.monotonic()) < until:
        if time.process_time() < seconds * (now - begin) / (until - begin):
            continue
        time.sleep(0.002)


def beside(work, count):
    """Starts `count` processes that do `work`; call what it returns to wait for them and have their processor time."""
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            try:
                work()
            except BaseException as error:  # pylint: disable=broad-except
                print(f"flooded: {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)

    def wait():
        seconds = 0
        for child in children:
            _, status, usage = os.wait4(child, 0)
            if status:
                sys.exit("flooded: a flood has failed")
            seconds += usage.ru_utime + usage.ru_stime
        return seconds

    return wait


class Job(Attack):
    """The processes of the program, and what they show of themselves."""

    def carried(self):
        """Bytes that all have sent, and when that was written."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            pages, at = [self.page(process) for process in self.processes], time.monotonic()
            if all(pages):
                return sum(rail["tx_bytes"] for page in pages for rail in page["rails"]), at
            if at > deadline:
                sys.exit("flooded: not all ranks have a page")

    def page(self, process):
        """What `fishplate top` would read of a process; none while that is being written."""
        # Hosts have folders of their own.
        for file in Path(f"/proc/{process}/root/dev/shm").glob("fishplate-live-*"):
            try:
                page = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            if page["pid"] == process:
                return page
        return None

    def begin(self):
        """From now on, the most memory is counted."""
        for process in self.processes:
            Path(f"/proc/{process}/clear_refs").write_text("5")

    def memory_kib(self, name):
        """Of each process."""
        status = [Path(f"/proc/{process}/status").read_text() for process in self.processes]
        return [int(re.search(rf"{name}:\s+(\d+)", text)[1]) for text in status]

    def files(self):
        """How many each process has open."""
        return [len(os.listdir(f"/proc/{process}/fd")) for process in self.processes]

    def watch(self, seconds):
        """MB/s of all, and the most memory and files of each, during so many seconds."""
        self.begin()
        (before, begin), files = self.carried(), self.files()
        until = begin + seconds
        while time.monotonic() < until:
            time.sleep(0.05)
            files = [max(pair) for pair in zip(files, self.files())]
        after, end = self.carried()
        return (after - before) / (end - begin) / 1e6, self.memory_kib("VmHWM"), files


def processes(kind):
    """That flood at once."""
    return LOCAL_FLOODS if kind == "local" else 1


def under(job, kind, seconds, quiet_files):
    """MB/s under a flood, the most memory and files of each process, the processor time of the flood, and how many files of a
    process stay open."""
    count = processes(kind)
    # It begins before the job is looked at, and ends after.
    until = time.monotonic() + seconds + 0.3
    wait = beside(lambda: FLOODS[kind](job, until), count)
    rate, memory, files = job.watch(seconds)
    taken = wait()
    files_left = lambda: max(now - before for now, before in zip(job.files(), quiet_files))
    deadline = time.monotonic() + GIVEN_BACK_S
    # The least of all looks: links on trial come and go.
    left = files_left()
    while left > SPARE and time.monotonic() < deadline:
        time.sleep(0.05)
        left = min(left, files_left())
    return rate, memory, files, taken, left


def beside_burner(job, kind, seconds, taken):
    """MB/s beside processes that compute for so many seconds in all, and the most memory and files of each process."""
    count = processes(kind)
    until = time.monotonic() + seconds + 0.3
    wait = beside(lambda: compute(taken / count, until), count)
    watched = job.watch(seconds)
    wait()
    return watched


def flooded(job, kind, seconds, rounds):
    """What one flood costs the job."""
    quiet_rate, quiet_memory, quiet_files = job.watch(seconds)
    grown = lambda now, before: max(new - old for new, old in zip(now, before))
    turns = []
    for _ in range(rounds):
        rate, memory, files, taken, left = under(job, kind, seconds, quiet_files)
        turn = {"rate": rate, "processor_s": taken, "memory_kib": grown(memory, quiet_memory),
                "files": grown(files, quiet_files), "files_left": left}
        # The job's own memory and files grow too.
        turn["rate_beside"], quiet_memory, quiet_files = beside_burner(job, kind, seconds, taken)
        turns.append(turn)
    after_rate, _, _ = job.watch(seconds)
    most = {name: max(turn[name] for turn in turns) for name in ("processor_s", "memory_kib", "files", "files_left")}
    return {"flood": kind, "ranks": job.ranks, "rates": [(turn["rate"], turn["rate_beside"]) for turn in turns],
            "rate_before": quiet_rate, "rate_after": after_rate, **most}


def main():
    ranks, program, stop, seconds, rounds, kinds, *command = sys.argv[1:]
    job = Job(ranks, program)

    def floods():
        for kind in kinds.split(","):
            if kind == "local" and not sockets_of_memory():
                sys.exit("flooded: no rank listens for memory")
            print(json.dumps(flooded(job, kind, float(seconds), int(rounds))), flush=True)

    during(command, job, stop, floods)


if __name__ == "__main__":
    main()
