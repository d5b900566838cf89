#!/usr/bin/env python3
"""Compares random chains of scatters, joins, pads and other operators, run in tiny tiles, with numpy.

    crates/trundle-cli/tests/random_commands.py target/debug/trundle --count 1000

Each chain runs with a few KiB of memory, or as numbered tasks in any order. Either the result must equal numpy's, or
the program must ask for more memory and write nothing. The printed seed reproduces the commands. Needs numpy.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

MOST_ELEMENTS = 6000


class Chain:
    """A random tensor, a chain of stages, and numpy's result of that chain."""

    def __init__(self, chance, folder):
        self.chance, self.folder, self.files = chance, folder, 0
        self.array = self.values(self.sizes(chance.choice([1, 24, 120, 120, 600, 2000])))
        self.source = self.array
        self.stages = []
        self.save("x", self.source if chance.random() < 0.7 else np.asfortranarray(self.source))

    def sizes(self, elements):
        """Returns the sizes of at most four axes, with about this many elements."""
        sizes = []
        while elements > 1 and len(sizes) < 3:
            sizes.append(min(elements, self.chance.randint(1, 12)))
            elements //= sizes[-1]
        return [*sizes, max(elements, 1)]

    def values(self, sizes):
        return np.frombuffer(self.chance.randbytes(4 * int(np.prod(sizes))), "<i4").reshape(sizes)

    def save(self, name, array):
        np.save(self.folder / f"{name}.npy", array)
        return f"{name}.npy"

    def file(self, array):
        self.files += 1
        return self.save(f"f{self.files}", array)

    def axis(self):
        return self.chance.randrange(self.array.ndim)

    def indices(self, size, sizes):
        """Returns random indices, some of them negative."""
        count = int(np.prod(sizes))
        return np.array([self.chance.randrange(-size, size) for _ in range(count)], "i8").reshape(sizes)

    def add(self, stage, array):
        self.stages.append(stage)
        self.array = np.ascontiguousarray(array)

    # Operators.

    def scatter_nd(self):
        together = self.chance.randint(1, min(3, self.array.ndim))
        counts = [self.chance.randint(1, 4), *([self.chance.randint(1, 3)] if self.chance.random() < 0.3 else [])]
        along = [self.indices(size, counts) for size in self.array.shape[:together]]
        updates = self.values([*counts, *self.array.shape[together:]])
        array = self.array.copy()
        for position in np.ndindex(*counts):
            array[tuple(each[position] for each in along)] = updates[position]
        self.add(f"scatter_nd(_, {self.file(updates)}, indices={self.file(np.stack(along, -1))})", array)

    def put_along_axis(self):
        axis = self.axis()
        sizes = list(self.array.shape)
        sizes[axis] = self.chance.randint(1, 4)
        indices, values, array = self.indices(self.array.shape[axis], sizes), self.values(sizes), self.array.copy()
        for position in np.ndindex(*sizes):
            to = list(position)
            to[axis] = indices[position]
            array[tuple(to)] = values[position]
        self.add(f"put_along_axis(_, {self.file(values)}, indices={self.file(indices)}, axis={axis})", array)

    def slicing(self):
        axis = self.axis()
        start, step = self.chance.randrange(self.array.shape[axis]), self.chance.choice([1, 1, 2])
        stop = self.chance.randint(start + 1, self.array.shape[axis])
        index = (*[slice(None)] * axis, slice(start, stop, step))
        return index, f"starts=[{start}], stops=[{stop}], axes=[{axis}], steps=[{step}]"

    def slice(self):
        index, arguments = self.slicing()
        self.add(f"slice({arguments})", self.array[index])

    def slice_scatter(self):
        index, arguments = self.slicing()
        array = self.array.copy()
        updates = self.values(array[index].shape)
        array[index] = updates
        self.add(f"slice_scatter(_, {self.file(updates)}, {arguments})", array)

    def concat(self):
        axis = self.axis()
        sizes = list(self.array.shape)
        sizes[axis] = self.chance.randint(0, 4)
        parts = [("_", self.array)] + [(self.file(other), other) for other in [self.values(sizes)]]
        self.chance.shuffle(parts)
        names = ", ".join(name for name, _ in parts)
        self.add(f"concat({names}, axis={axis})", np.concatenate([part for _, part in parts], axis))

    def stack(self):
        other, axis = self.values(self.array.shape), self.chance.randint(0, self.array.ndim)
        parts = [("_", self.array), (self.file(other), other)]
        self.chance.shuffle(parts)
        names = ", ".join(name for name, _ in parts)
        self.add(f"stack({names}, axis={axis})", np.stack([part for _, part in parts], axis))

    def pad(self):
        mode = self.chance.choice(["constant", "constant", "edge", "symmetric", "reflect", "wrap"])
        width = [[self.chance.choice([0, 0, 1, 3]) for _ in range(2)] for _ in self.array.shape]
        if mode == "constant":
            return self.add(f"pad(width={width}, value=7)", np.pad(self.array, width, constant_values=7))
        self.add(f'pad(width={width}, mode="{mode}")', np.pad(self.array, width, mode))

    def transpose(self):
        order = self.chance.sample(range(self.array.ndim), self.array.ndim)
        self.add(f"transpose({', '.join(map(str, order))})", self.array.transpose(order))

    def flip(self):
        axis = self.axis()
        self.add(f"flip({axis})", np.flip(self.array, axis))

    def roll(self):
        axis, shift = self.axis(), self.chance.randint(-9, 9)
        self.add(f"roll(shift=[{shift}], axes=[{axis}])", np.roll(self.array, shift, axis))

    def reshape(self):
        sizes = list(self.array.shape)
        at = self.axis()
        factors = [size for size in range(1, sizes[at] + 1) if sizes[at] % size == 0]
        size = self.chance.choice(factors)
        sizes[at : at + 1] = [size, sizes[at] // size]
        if self.chance.random() < 0.6:
            at = self.chance.randrange(len(sizes) - 1)
            sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
        self.add(f"reshape({', '.join(map(str, sizes))})", self.array.reshape(sizes))

    def take(self):
        axis = self.axis()
        indices = self.indices(self.array.shape[axis], [self.chance.randint(1, 9)])
        self.add(f"take({self.file(indices)}, {axis})", np.take(self.array, indices, axis))

    def take_along_axis(self):
        axis = self.axis()
        sizes = list(self.array.shape)
        sizes[axis] = self.chance.randint(1, 5)
        indices = self.indices(self.array.shape[axis], sizes)
        self.add(f"take_along_axis({self.file(indices)}, {axis})", np.take_along_axis(self.array, indices, axis))

    def tile(self):
        repeats = [self.chance.choice([1, 1, 2]) for _ in self.array.shape]
        self.add(f"tile({', '.join(map(str, repeats))})", np.tile(self.array, repeats))

    def repeat(self):
        axis = self.axis()
        self.add(f"repeat(repeats=2, axis={axis})", np.repeat(self.array, 2, axis))

    def broadcast(self):
        count = self.chance.randint(1, 3)
        sizes = [count, *self.array.shape]
        self.add(f"broadcast({', '.join(map(str, sizes))})", np.broadcast_to(self.array, sizes))

    def windows(self):
        axis = self.axis()
        if self.array.shape[axis] > 1:
            windows = np.lib.stride_tricks.sliding_window_view(self.array, 2, axis)
            self.add(f"windows(size=[2], step=[1], axes=[{axis}])", windows)

    def half_roll(self):
        axes = self.chance.sample(range(self.array.ndim), min(self.array.ndim, self.chance.randint(1, 3)))
        written = ", ".join(map(str, axes))
        name, word = self.chance.choice([("fftshift", "half"), ("ifftshift", "-half")])
        call = self.chance.choice([f"{name}({written})", f"roll({word}, [{written}])"])
        self.add(call, getattr(np.fft, name)(self.array, axes))

    def rot90(self):
        if self.array.ndim > 1:
            axes, k = self.chance.sample(range(self.array.ndim), 2), self.chance.randint(-2, 3)
            self.add(f"rot90(k={k}, axes={axes})", np.rot90(self.array, k, axes))


SCATTERS = [Chain.scatter_nd, Chain.put_along_axis, Chain.slice_scatter]
OTHERS = [
    Chain.slice, Chain.concat, Chain.concat, Chain.stack, Chain.pad, Chain.pad, Chain.transpose, Chain.flip, Chain.roll,
    Chain.reshape, Chain.take, Chain.take_along_axis, Chain.tile, Chain.repeat, Chain.broadcast, Chain.windows,
    Chain.rot90, Chain.half_roll,
]


def random_chain(chance, folder):
    """Returns a chain with at least one scatter."""
    chain = Chain(chance, folder)
    stages = chance.choices(OTHERS + SCATTERS, k=chance.randint(1, 4)) + [chance.choice(SCATTERS)]
    chance.shuffle(stages)
    for stage in stages:
        if 0 < chain.array.size <= MOST_ELEMENTS and chain.array.ndim < 7:
            stage(chain)
    return chain


class Fault(Exception):
    """A wrong result or exit code."""


def run(program, folder, *command):
    """Returns whether the memory was enough."""
    environment = {**os.environ, "TRUNDLE_NUM_THREADS": "1", "TRUNDLE_OWN_MEMORY": "0", "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        [program, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode == 3 and "memory are needed" in done.stderr:
        return False
    if done.returncode != 0:
        raise Fault(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[:400]}")
    return True


def check(program, folder, chance):
    """Returns the outcome."""
    chain = random_chain(chance, folder)
    text = " | ".join(chain.stages)
    command = ["apply", "x.npy", text, "-o", "o.npy"]
    how = "in numbered tasks" if chance.random() < 0.25 else "with little memory"
    # Scatters take about 24 bytes for each element.
    least = 24 * chain.array.size if chance.random() < 0.7 else 0
    if how == "with little memory":
        command += ["--max-mem", str(least + chance.choice([4, 5, 6, 8, 12, 40]) * 1024)]
        if chance.random() < 0.2:
            command.append("--verify")
        is_done = run(program, folder, *command, "--quiet")
    else:
        command += ["--max-mem", "1M"]
        is_done = run(program, folder, "plan", *command, "--tasks", "plan.json", "--task-size", "4K", "--json")
        if is_done:
            for stage in json.loads((folder / "plan.json").read_text())["tasks"]["stages"]:
                numbers = [str(stage["first"] + number) for number in range(stage["tasks"])]
                chance.shuffle(numbers)
                # Several tasks in one process, and one task twice.
                at = chance.randint(0, len(numbers))
                for some in filter(None, (numbers[:at], numbers[at:] + numbers[:1])):
                    run(program, folder, "task", "plan.json", *some, "--quiet")
            run(program, folder, "finish", "plan.json")
    if not is_done:
        if (folder / "o.npy").exists():
            raise Fault(f"{' '.join(command)}: refused, but there is an output")
        return "refused: memory"
    found = np.load(folder / "o.npy")
    if found.shape != chain.array.shape or not np.array_equal(found, chain.array):
        raise Fault(f"{' '.join(command)}: wrong elements")
    return f"right {how}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--count", type=int, default=1000, help="how many commands")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = arguments.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    print(f"seed {given.seed}", flush=True)
    outcomes, faults = {}, 0
    for number in range(given.count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = check(program, pathlib.Path(folder), random.Random(f"{given.seed} {number}"))
            except Fault as fault:
                print(f"{number}: {fault}", flush=True)
                outcome, faults = "fault", faults + 1
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    if faults:
        sys.exit(f"{faults} of {given.count} commands failed; run again with --seed {given.seed}")


if __name__ == "__main__":
    main()
