"""What was sent before must not matter: a size is measured in runs of a program that begin with different histories, in an
order that each round draws anew."""

import random
import statistics

KI, MI = 1 << 10, 1 << 20
# Sizes that come before the one in question; `again`: that one itself, for longer.
HISTORIES = {
    "nothing": [],
    "small": [8, KI],
    "large": [MI, 4 * MI],
    "middle": [64 * KI, 128 * KI],
    "up": [KI, 16 * KI, 256 * KI],
    "down": [MI, 64 * KI, 2 * KI],
    "mixed": [256 * KI, 8, 64 * KI, 2 * MI],
    "again": None,
}
# So often the size itself is measured after that; the last time counts, when its own messages have been many.
TURNS = 2
# Largest ratio of the slowest history to the fastest one.
BOUND = 1.05


def sizes_of(history, size):
    """All sizes of a run."""
    before = HISTORIES[history]
    return ([size] * 4 if before is None else before) + [size] * TURNS


def measure(row, size, rounds, run):
    """Runs the row's program once a history and round; `run` takes sizes and returns values in their order. Medians over the
    rounds, by history."""
    found = {name: [] for name in HISTORIES}
    for at in range(rounds):
        names = list(HISTORIES)
        random.Random(f"{row.name} {size} {at}").shuffle(names)
        for name in names:
            found[name].append(run(sizes_of(name, size))[-1])
    return {name: statistics.median(values) for name, values in found.items()}


def report(row, size, medians):
    """A line a history, the worst first, and one for all. Returns whether it is missed."""
    best = (min if row.lower_is_better() else max)(medians.values())
    ratio = lambda value: value / best if row.lower_is_better() else best / value
    worst_first = sorted(medians.items(), key=lambda item: -ratio(item[1]))
    for name, value in worst_first:
        print(f"{row.name:28} {size:>8}  after {name:8} {value:>10.2f}  ratio {ratio(value):5.3f}")
    worst = ratio(worst_first[0][1])
    print(f"{row.name:28} {size:>8}  worst of {len(medians)} histories {worst:5.3f}  at most {BOUND:.2f}: "
          f"{'holds' if worst <= BOUND else 'MISSED'}", flush=True)
    return worst > BOUND
