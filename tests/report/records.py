"""Records as `fishplate bench` writes them (docs/reference/record.md), made up: like real ones, and the same for the
same seed."""

import json
import math
import random

# What they make of the rails, and microseconds of a message.
STACKS = {"MPICH over tcp": (0.80, 14.0), "Open MPI": (0.97, 12.5), "MPICH over UCX, all rails": (0.88, 10.5), "Fishplate": (0.985, 11.0)}
ALL_RAILS = {"Fishplate", "Open MPI"}
# Rails in Mbit/s, and their delay one way in microseconds.
LINKS = {"lan": ([1000, 250], 0), "campus": ([1000, 250], 100), "wan-1ms": ([1000, 250], 1000), "wan-10ms": ([500, 500], 10000)}
SIZES = [1 << power for power in range(23)]
# Metric, unit, sizes, options of each run, and what else a manifest says of a benchmark.
BENCHMARKS = {
    "latency": ("latency", "us", SIZES, [{}], {}),
    "bandwidth": ("bandwidth", "MB/s", SIZES, [{"window": 64}], {}),
    "bcast": ("latency", "us", SIZES[::3], [{}], {"title": "Broadcast"}),
    "barrier": ("latency", "us", [None], [{}], {}),
    "message_rate": ("message_rate", "1/s", [64], [{"pairs": pairs} for pairs in (1, 2, 4, 8)], {"axis": "pairs"}),
    "bandwidth_over_delay": ("bandwidth", "MB/s", [65536, 1 << 20], [{"window": 64}], {"axis": "link.delay_us"}),
}
# A cell that could not be measured.
MISSING = {"stack": "MPICH over UCX, all rails", "link": "campus", "benchmark": "bcast"}
STATEMENTS = [
    ("W2", "Small-message latency grows by the one-way delay.", "holds", "8 B: 10.02 ms over 10 ms", {"ratio": 1.002}),
    ("W10", "A window of 64 fills the link at 10 ms from messages of 64 KiB.", "does-not-hold", "61 % of the rate", {"share": 0.61}),
    ("M7", "Multirail doubles the bandwidth over InfiniBand.", "cannot-be-tested", "there is no InfiniBand here", {}),
]


def manifest(rounds):
    return {
        "kind": "manifest", "schema": "fishplate-record/1", "fishplate": "0.1.0", "started": "2026-01-02T03:04:05Z",
        "title": "MPI stacks over two rails, from one rack to another continent",
        "machine": {"cpu": "Imaginary CPU 9000", "cores": 2, "memory_bytes": 8 << 30, "kernel": "Linux 6.1.0", "hostname": "lab"},
        "load": 0.12, "stacks": [{"name": name, "version": f"{name} 5.0, as it says itself"} for name in STACKS], "links": list(LINKS),
        "benchmarks": [{"name": name, **more} for name, (*_, more) in BENCHMARKS.items()],
        "rounds": rounds, "seeds": {"links": 7, "contents": 1}, "options": {"seconds": 0.5},
    }


def link(name, chance):
    rates, delay_us = LINKS[name]
    rails = [
        {"name": f"r{number}", "rate_mbit": rate, "delay_us": delay_us, "loss": 0, "queue_bytes": 262144,
         "measured_mbit": round(rate * chance.uniform(0.98, 1.0), 2),
         "round_trip_us": {"mean": round(2 * delay_us + chance.uniform(38, 60), 1), "p99": round(2 * delay_us + 110.5, 1)}}
        for number, rate in enumerate(rates)
    ]
    return {"kind": "link", "name": name, "rails": rails, "emulator_cpu": 0.31}


def model(metric, stack, link_name, size, options):
    """A value without noise, by latency and what the stack makes of the rails."""
    efficiency, overhead_us = STACKS[stack]
    rates, delay_us = LINKS[link_name]
    rate = (sum(rates) if stack in ALL_RAILS else max(rates)) / 8 * efficiency  # bytes a microsecond
    if metric == "latency":
        return overhead_us + delay_us + (size or 0) / rate
    if metric == "message_rate":
        return 1e6 / (overhead_us / 40 + (size + 60) / rate) * min(1, options["pairs"] / 4)
    window = options["window"] * size
    return window / (overhead_us / 4 * options["window"] + 2 * delay_us + window / rate)


def cell(chance, stack, link_name, benchmark, number):
    """All lines of one cell: samples, rails, and that it is complete."""
    metric, unit, sizes, variants, _ = BENCHMARKS[benchmark]
    where = {"stack": stack, "link": link_name, "benchmark": benchmark, "round": number}
    for options in variants:
        for size in sizes:
            value = round(model(metric, stack, link_name, size, options) * math.exp(chance.gauss(0, 0.012)), 6)
            yield where | {
                "kind": "sample", "ranks": 8 if benchmark in ("bcast", "barrier") else 2, "size_bytes": size, "metric": metric,
                "unit": unit, "value": value, "percentiles": {"p50": value, "p99": round(value * 1.4, 6)},
                "iterations": 1000, "checked": False, "options": options,
            }
    if stack in ALL_RAILS and benchmark == "bandwidth":
        rates = LINKS[link_name][0]
        rails = [{"name": f"r{number}", "bytes": rate * 10**6, "messages": rate, "share": rate / sum(rates), "retransmitted": number * 3,
                  "rate_bytes_per_s": rate * 1e6 / 8} for number, rate in enumerate(rates)]
        yield where | {"kind": "rails", "rails": rails}
    yield where | {"kind": "cell", "load": 0.9, "emulator_cpu": 0.3, "seconds": 4.5}


def record(seed=1, rounds=5):
    """All lines."""
    chance = random.Random(seed)
    yield manifest(rounds)
    yield from (link(name, chance) for name in LINKS)
    yield {"kind": "skipped", **MISSING, "reason": "UCX found no transport between the hosts"}
    for number in range(rounds):
        for benchmark in BENCHMARKS:
            for link_name in LINKS:
                for stack in STACKS:
                    if (stack, link_name, benchmark) != tuple(MISSING.values()):
                        yield from cell(chance, stack, link_name, benchmark, number)
    for name, text, verdict, why, values in STATEMENTS:
        yield {"kind": "statement", "id": name, "text": text, "verdict": verdict, "why": why, "values": values}


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
