"""What was sent before must not matter: a size is measured several times in one run of a program, each time after another
history, in an order that each round draws anew."""

import random
import statistics

KI, MI = 1 << 10, 1 << 20
# Sizes that come before the one in question. `again`: that one itself, long enough for a rule to latch.
HISTORIES = {
    "small": [8, KI],
    "large": [MI, 4 * MI],
    "middle": [128 * KI, 128 * KI],
    "up": [KI, 16 * KI, 256 * KI],
    "down": [MI, 64 * KI, 2 * KI],
    "mixed": [256 * KI, 8, 64 * KI, 2 * MI],
    "again": [],
}
# The first time.
NOTHING = "nothing"
# Largest ratio of the slowest history to the fastest one.
BOUND = 1.05


class Order:
    """The sizes of one run: which of them are measured, and after what."""

    def __init__(self, size, seed):
        names = list(HISTORIES)
        random.Random(seed).shuffle(names)
        self.sizes, self.after = [size], {0: NOTHING}
        for name in names:
            self.sizes += HISTORIES[name] or [size]
            self.after[len(self.sizes)] = name
            self.sizes.append(size)

    def values_by_history(self, values):
        """Of the values of all sizes, in order."""
        return {name: values[at] for at, name in self.after.items()}


def measure(row, size, rounds, run):
    """Runs the row's program with a size after each history; `run` takes sizes and returns values in their order. Medians over
    the rounds, by history, and the order of each round."""
    found, orders = {}, []
    for at in range(rounds):
        order = Order(size, f"{row.name} {size} {at}")
        orders.append([order.after[place] for place in sorted(order.after)])
        for name, value in order.values_by_history(run(order.sizes)).items():
            found.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in found.items()}, orders


def report(row, size, medians, orders):
    """A line a history, and one with the worst ratio. Returns whether it is missed."""
    best = (min if row.lower_is_better() else max)(medians.values())
    ratio = lambda value: value / best if row.lower_is_better() else best / value
    for name, value in sorted(medians.items(), key=lambda item: -ratio(item[1])):
        print(f"{row.name:24} {size:>8}  after {name:8} {value:>10.2f}  ratio {ratio(value):5.3f}")
    worst = max(map(ratio, medians.values()))
    print(f"{row.name:24} {size:>8}  worst of {len(medians)} histories {worst:5.3f}  at most {BOUND:.2f}: "
          f"{'holds' if worst <= BOUND else 'MISSED'}  (orders: {'; '.join(', '.join(order) for order in orders)})", flush=True)
    return worst > BOUND
