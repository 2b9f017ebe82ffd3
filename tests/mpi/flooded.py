"""Runs on the first host of a testbed, beside an MPI job that exchanges messages, and floods the job in several ways in turn.

    flooded.py RANKS PROGRAM STOPFILE SECONDS ROUNDS KINDS COMMAND...

Starts COMMAND, which must run PROGRAM until STOPFILE is there; waits until that says "connected". For each of KINDS (names of
`FLOODS`, with commas): looks at the job for SECONDS; then, ROUNDS times, for SECONDS under the flood, until what that took of the
job is given back, and for SECONDS beside a process that computes for as long as the flood did; for SECONDS after it all. Prints a
line of JSON for each; then lets PROGRAM end, and exits as COMMAND does.
"""

import collections
import json
import multiprocessing
import os
import random
import re
import resource
import socket
import struct
import sys
import time
from pathlib import Path

from intruder import Attack, during, hello, sockets

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
    targets = [(address, port) for process in job.processes for address, port, _ in sockets(process, "udp")]
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


FLOODS = {
    # Connections that say nothing, and half of a first line.
    "idle": lambda job, until: connections(job, until, lambda target: b""),
    "begun": lambda job, until: connections(job, until, lambda target: hello(0)[:30]),
    # With a right first line: the endpoint's own id, which who sees packets knows.
    "named": lambda job, until: connections(job, until, lambda target: hello(job.wire.names.get(target[0], 0))),
    **{flood.__name__: flood for flood in [garbage, half_open, datagrams, local]},
}


def sockets_of_memory():
    """Names in the abstract namespace of this host."""
    return re.findall(r"@(fishplate-[0-9a-f]{16})\n", Path("/proc/self/net/unix").read_text())


def compute(seconds, until):
    """Takes so much processor time until then, evenly, as far as others leave it that."""
    begin = time.monotonic()
    while (now := time.monotonic()) < until:
        if time.process_time() < seconds * (now - begin) / (until - begin):
            continue
        time.sleep(0.002)


def beside(work, count):
    """Starts `count` processes that do `work`; call what it returns to wait for them and have their processor time."""
    children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(count)]
    before = computed()
    for child in children:
        child.start()

    def wait():
        for child in children:
            child.join()
            if child.exitcode != 0:
                sys.exit("flooded: a flood has failed")
        return computed() - before

    return wait


def computed():
    """Processor time of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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

    def files(self):
        """How many each process has open."""
        return [len(os.listdir(f"/proc/{process}/fd")) for process in self.processes]

    def watch(self, seconds):
        """MB/s of all, and the most memory (KiB) and files of each, during so many seconds."""
        for process in self.processes:
            # From now on, the most memory is counted.
            Path(f"/proc/{process}/clear_refs").write_text("5")
        (before, begin), files = self.carried(), self.files()
        until = begin + seconds
        while time.monotonic() < until:
            time.sleep(0.05)
            files = [max(pair) for pair in zip(files, self.files())]
        after, end = self.carried()
        status = [Path(f"/proc/{process}/status").read_text() for process in self.processes]
        memory = [int(re.search(r"VmHWM:\s+(\d+)", text)[1]) for text in status]
        return (after - before) / (end - begin) / 1e6, memory, files

    def watch_beside(self, seconds, work, count):
        """The same while `count` processes do `work`, and their processor time. They begin before the look, and end after."""
        until = time.monotonic() + seconds + 0.3
        wait = beside(lambda: work(until), count)
        return *self.watch(seconds), wait()


def grown(now, before):
    """By how much the process has grown that has grown most."""
    return max(new - old for new, old in zip(now, before))


def files_left(job, before):
    """How many files of a process stay open. The least of all looks: links on trial come and go."""
    deadline = time.monotonic() + GIVEN_BACK_S
    left = grown(job.files(), before)
    while left > SPARE and time.monotonic() < deadline:
        time.sleep(0.05)
        left = min(left, grown(job.files(), before))
    return left


def flooded(job, kind, seconds, rounds):
    """What one flood costs the job."""
    count = LOCAL_FLOODS if kind == "local" else 1
    quiet_rate, quiet_memory, quiet_files = job.watch(seconds)
    turns = []
    for _ in range(rounds):
        rate, memory, files, taken = job.watch_beside(seconds, lambda until: FLOODS[kind](job, until), count)
        turn = {"rate": rate, "processor_s": taken, "memory_kib": grown(memory, quiet_memory),
                "files": grown(files, quiet_files), "files_left": files_left(job, quiet_files)}
        # The job's own memory and files grow too.
        burn = lambda until: compute(taken / count, until)
        turn["rate_beside"], quiet_memory, quiet_files, _ = job.watch_beside(seconds, burn, count)
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
