#!/usr/bin/env python3
"""Compares small moves of the Python package with `numpy.copyto` of the same view, on one thread.

    python3 bench/small_moves.py [--cases N] [--seed S] [--widths BYTES...] [--worst N]

Each case is a random view of an array. The array has 20 kB to 4 MB, 2 to 4 axes (some of size 2 to 7), and elements of
1, 2, 3, 4, 8 or 16 bytes. The axes of the view are in random order, and some are reversed. `trundle.copyto` with
`threads=1` and `numpy.copyto` alternately copy the view to the same array, which is cached if it fits. The results are
compared bit for bit. The output is how many times faster trundle is than numpy, by the shortest times. Below 1, numpy
is faster.

For each class of cases (what happens to the source's innermost axis, and the width of elements), prints the number of
cases, the share of ratios below 0.9, and the median and the smallest ratio; then the worst cases, as Python code that
makes the view of `x`.
"""

import argparse
import math
import random
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import trundle

LEAST_BYTES, MOST_BYTES = 20_000, 4_000_000

WIDTHS = [1, 2, 3, 4, 8, 16]

# Calls are repeated for this long, so that the time to read the clock is negligible.
TURN_SECONDS = 100e-6

# Slow cases get more measurements, because the machine may have been busy.
TURNS, MORE_TURNS = 5, 15

BEHIND, FAR_BEHIND = 0.9, 0.6


@dataclass
class Case:
    """A view of an array of `shape`, with axes in the order `order`, some of them reversed."""

    width: int
    shape: tuple[int, ...]
    order: tuple[int, ...]
    reversed: tuple[bool, ...]

    def __str__(self) -> str:
        view = f"x.transpose{self.order}"
        if any(self.reversed):
            view += f"[{', '.join('::-1' if each else ':' for each in self.reversed)}]"
        return f"x = np.empty({self.shape}, 'V{self.width}'); {view}"

    def view(self, x: np.ndarray) -> np.ndarray:
        return x.transpose(self.order)[tuple(slice(None, None, -1 if each else 1) for each in self.reversed)]

    def kind(self) -> str:
        """Describes what happens to the source's innermost axis, and how long the axis is."""
        long = self.shape[-1]
        size = str(long) if long < 4 else "4 to 7" if long < 8 else "8 or more"
        kept = self.order[-1] == len(self.shape) - 1
        return f"{'kept' if kept else 'moved'}, {size}"


def random_case(rng: random.Random, widths: list[int]) -> Case:
    width = rng.choice(widths)
    rank = rng.randint(2, 4)
    elements = math.exp(rng.uniform(math.log(LEAST_BYTES), math.log(MOST_BYTES))) / width
    shape: list[int] = []
    for axes_left in range(rank, 1, -1):
        each = elements ** (1 / axes_left)
        size = rng.randint(2, 7) if rng.random() < 0.4 else round(math.exp(rng.gauss(math.log(each), 0.5)))
        # Multiples of small powers of two are drawn more often.
        if size > 8 and rng.random() < 0.4:
            size -= size % rng.choice([8, 16, 32])
        shape.append(max(size, 1))
        elements = max(elements / shape[-1], 2)
    shape.append(round(elements))
    rng.shuffle(shape)
    while True:
        order = rng.sample(range(rank), rank)
        reversed_some = rng.random() < 0.3
        reverse = [reversed_some and rng.random() < 0.5 for _ in order]
        if any(reverse) or order != sorted(order):
            return Case(width, tuple(shape), tuple(order), tuple(reverse))


def seconds(call, calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def speed(case: Case) -> float:
    """Checks the result and returns how many times faster trundle is than numpy."""
    count = math.prod(case.shape) * case.width
    x = np.random.default_rng(0).integers(0, 256, count, np.uint8).view(f"V{case.width}").reshape(case.shape)
    # numpy is fastest with arithmetic types. There is no such type of 3 bytes.
    types = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.float64, 16: np.complex128}
    if case.width in types:
        x = x.view(types[case.width])
    view = case.view(x)
    out, expected = np.zeros(view.shape, x.dtype), np.zeros(view.shape, x.dtype)
    calls = [lambda: trundle.copyto(out, view, threads=1), lambda: np.copyto(out, view)]
    np.copyto(expected, view)
    calls[0]()
    if out.tobytes() != expected.tobytes():
        raise SystemExit(f"trundle's result is wrong: {case}")
    number = max(1, round(TURN_SECONDS / seconds(calls[1], 1)))
    least = [math.inf, math.inf]
    for turn in range(TURNS + MORE_TURNS):
        if turn >= TURNS and least[1] / least[0] >= BEHIND:
            break
        for index, call in enumerate(calls):
            least[index] = min(least[index], seconds(call, number))
    return least[1] / least[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other cases (0)")
    parser.add_argument("--widths", type=int, nargs="+", choices=WIDTHS, default=WIDTHS, help="bytes of elements")
    parser.add_argument("--worst", type=int, default=20, help="how many of the worst are named (20)")
    options = parser.parse_args()

    rng = random.Random(options.seed)
    cases = [random_case(rng, options.widths) for _ in range(options.cases)]
    speeds = [(speed(case), case) for case in cases]

    classes = defaultdict(list)
    for each, case in speeds:
        classes[case.kind(), case.width].append(each)
        classes["all", ""].append(each)
    print(f"{'innermost axis of the source':30} {'bytes':>5} {'cases':>6} {'< 0.9':>6} {'median':>7} {'least':>6}")
    for (kind, width), each in sorted(classes.items(), key=lambda item: (item[0][0] == "all", str(item[0]))):
        behind = sum(one < BEHIND for one in each) / len(each)
        median = statistics.median(each)
        print(f"{kind:30} {width:>5} {len(each):6} {behind:6.1%} {median:7.2f} {min(each):6.2f}")
    print(f"below {FAR_BEHIND}: {sum(each < FAR_BEHIND for each, _ in speeds)}\n")
    for each, case in sorted(speeds, key=lambda item: item[0])[: options.worst]:
        print(f"{each:.2f}  {case}")


if __name__ == "__main__":
    main()
