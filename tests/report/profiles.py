"""A profile as `fishplate profile` writes it (docs/guide/profile.md), made up: like a real one, and the same for the
same seed."""

import base64
import json
import math
import random
import struct
import zlib

HOSTS = ["node0", "node1"]
STEP_NS = 10_000_000
FIRST_STEP = 170_000_000_000
PLACES = [("exchange", "halo.c", 120), ("residual", "solver.c", 88), ("residual", "solver.c", 94), ("main", "app.c", 31), (None, None, None)]


def column(name, numbers):
    packed = zlib.compress(struct.pack(f"<{len(numbers)}I", *numbers), 4)
    return {"name": name, "data": base64.b64encode(packed).decode()}


def series(host, columns):
    return {"host": host, "step_ns": STEP_NS, "first_step": FIRST_STEP, "is_cut": False, "columns": [column(*named) for named in columns]}


def counts(count, time_ns, sent=0, received=0):
    return {"count": count, "time_ns": time_ns, "longest_ns": 3 * time_ns // max(count, 1), "sent": sent, "received": received}


def phase(rank, step):
    """Share of the time in MPI: start, iterations that wait for a slow rank, output."""
    if step < 150:
        return 0.9
    if step > 5600:
        return 0.15 + (0.8 if rank == 0 else 0)
    slow = 0.25 if rank == 5 else 0.55
    return slow * (1 if (step // 20) % 3 == 0 else 0.35) * (1.3 if 2500 < step < 3200 else 1)


def rank(number, ranks, steps, chance):
    host = HOSTS[number * len(HOSTS) // ranks]
    in_mpi, sent, received = [], [], []
    for step in range(steps):
        share = min(1.0, phase(number, step) * math.exp(chance.gauss(0, 0.2)))
        in_mpi.append(int(10_000 * share))
        busy = 150 <= step <= 5600 and (step // 20) % 3 == 0
        sent.append(int(chance.uniform(0.5, 1.2) * 4e5) if busy else chance.choice([0, 0, 800]))
        received.append(int(chance.uniform(0.5, 1.2) * 4e5) if busy else 0)
    run_ns, mpi_ns = steps * STEP_NS, sum(in_mpi) * 1000
    late = mpi_ns // (20 if number == 5 else 3)
    killed = {"unfinished": {"call": "MPI_Waitall", "place": 0, "for_ns": 3_200_000_000}}
    neighbours = [(number + distance) % ranks for distance in (1, -1, 2, -2)]
    return {
        "rank": number, "host": host, "pid": 4000 + number, "end": killed if number == 5 else "finalized",
        "started_ns": FIRST_STEP * STEP_NS, "run_ns": run_ns, "in_mpi_ns": mpi_ns, "paused_ns": 0, "threads": 1,
        "hidden_ns": run_ns // 5, "waited_ns": run_ns // 20,
        "late": {"sender_ns": late // 2, "receiver_ns": late // 10, "collective_ns": late * 4 // 10, "events": 32000, "unmatched": 3, "sampling": 2},
        "lost": {"requests": 0, "sites": 0, "communicators": 0},
        "calls": [
            {"call": "MPI_Waitall", **counts(5000, mpi_ns // 2, received=sum(received)), "errors": 0, "late_ns": late // 2},
            {"call": "MPI_Allreduce", **counts(10000, mpi_ns // 4, 80_000, 80_000), "errors": 0, "late_ns": late // 2},
            {"call": "MPI_Isend", **counts(20000, mpi_ns // 8, sum(sent)), "errors": 0, "late_ns": 0},
            {"call": "MPI_File_write_at_all", **counts(10, mpi_ns // 8, 1 << 28), "errors": 0, "late_ns": 0},
        ],
        "sites": [
            {"call": "MPI_Waitall", "place": 0, **counts(5000, mpi_ns // 2)},
            {"call": "MPI_Allreduce", "place": 1, **counts(9000, mpi_ns // 5, 70_000)},
            {"call": "MPI_Allreduce", "place": 2, **counts(1000, mpi_ns // 20, 10_000)},
            {"call": "MPI_Isend", "place": 0, **counts(20000, mpi_ns // 8, sum(sent))},
            {"call": "MPI_File_write_at_all", "place": 4, **counts(10, mpi_ns // 8, 1 << 28)},
        ],
        "sizes": [
            *({"way": "sent", "least": 1 << power, "messages": 3000 - 150 * abs(power - 13), "bytes": (3000 - 150 * abs(power - 13)) << power} for power in range(4, 20)),
            {"way": "collective", "least": 8, "messages": 10000, "bytes": 80000},
            {"way": "file", "least": 1 << 24, "messages": 10, "bytes": 10 << 24},
        ],
        "peers": [{"rank": peer, "sent": 5000 // distance, "sent_bytes": sum(sent) // 3 // distance, "received": 5000, "received_bytes": sum(sent) // 3}
                  for peer, distance in zip(neighbours, (1, 1, 20, 20))],
        "foreign": {"sent": 0, "sent_bytes": 0, "received": 0, "received_bytes": 0},
        "communicators": [
            {"id": 1, "name": "MPI_COMM_WORLD", "size": ranks, "calls": 30000, "time_ns": mpi_ns // 3, "sent": sum(sent), "received": sum(received)},
            {"id": 2 + number % 2, "name": "rows", "size": ranks // 2, "calls": 300, "time_ns": mpi_ns // 30, "sent": 900, "received": 900},
        ],
        "series": series(host, [("MPI, us", in_mpi), ("sent", sent), ("received", received)]),
    }


def interfaces(host, steps, chance):
    def moved(rate):
        return [int(chance.uniform(0.7, 1.0) * rate) if 150 <= step <= 5600 and (step // 20) % 3 == 0 else chance.randrange(300) for step in range(steps)]

    return series(host, [(f"{name} {way}", moved(rate)) for name, rate in (("r0", 1_200_000), ("r1", 300_000)) for way in ("sent", "received")])


def profile(ranks=8, steps=6000, seed=1):
    chance = random.Random(seed)
    all_ranks = [rank(number, ranks, steps, chance) for number in range(ranks)]
    places = [{"module": "/home/me/app", "offset": 4096 + 64 * at, "function": function, "file": file and f"/home/me/src/{file}", "line": line}
              for at, (function, file, line) in enumerate(PLACES)]
    world = {
        "size": ranks, "programs": ["/home/me/app"], "library": "MPICH Version: 5.0.2", "places": places, "ranks": all_ranks,
        "clocks": [{"hosts": ["node0"], "ahead_ns": 0, "uncertainty_ns": 0}, {"hosts": ["node1"], "ahead_ns": 812_000, "uncertainty_ns": 9_500}],
    }
    return {
        "schema": "fishplate-profile/1", "fishplate": "0.3.0", "command": ["mpiexec", "-hosts", "a,b", "-n", str(ranks), "./app", "--steps", "600"],
        "started": "2026-01-02T03:04:05Z", "exit_code": 137, "worlds": [world], "hosts": [interfaces(host, steps, chance) for host in HOSTS], "unreadable": [],
    }


def write(path, made_up):
    path.write_text(json.dumps(made_up))
    return path
