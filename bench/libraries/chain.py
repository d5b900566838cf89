"""Parses the chains in records of trundle-bench and simplifies their transposes."""

import ast
import math
import re
from dataclasses import dataclass

import numpy as np

MOST_CHANNELS = 7


class Unsupported(Exception):
    """The library does not have the operator, or does not support these elements."""


def parse(chain):
    """Returns the name, arguments and keyword arguments of each operator."""
    operators = []
    for stage in chain.split(" | "):
        name, arguments = re.fullmatch(r"(\w+)\((.*)\)", stage).groups()
        # Records abbreviate the lengths, which follow a rule.
        arguments = re.sub(r"lengths=(\[.*\]|lengths)", "lengths=None", arguments)
        call = ast.parse(f"f({arguments})", mode="eval").body
        operators.append(
            (
                name,
                [ast.literal_eval(each) for each in call.args],
                {each.arg: ast.literal_eval(each.value) for each in call.keywords},
            )
        )
    return operators


def lengths(count, size):
    """Returns the lengths that trundle-bench uses: pseudorandom numbers in 0..=size."""
    scatter = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (scatter % np.uint64(size + 1)).astype(np.int64)


def broadcast_shift(shift, axes):
    return tuple(shift) * len(axes) if len(shift) == 1 else tuple(shift)


def run_shape(operators, shape):
    shape = tuple(shape)
    for name, arguments, _ in operators:
        if name == "transpose":
            shape = tuple(shape[i] for i in arguments) if arguments else shape[::-1]
        elif name == "reshape":
            elements, known = math.prod(shape), math.prod(each for each in arguments if each != -1)
            shape = tuple(elements // known if each == -1 else each for each in arguments)
    return shape


def merged(order, shape):
    """Simplifies a transpose: drops axes of size 1, and merges axes that remain next to each other."""
    order = order or range(len(shape))[::-1]
    runs = []
    kept = [axis for axis, size in enumerate(shape) if size != 1]
    for axis in (kept.index(axis) for axis in order if axis in kept):
        if runs and runs[-1][-1] + 1 == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    in_source = sorted(runs)
    sizes = (math.prod(shape[kept[axis]] for axis in run) for run in in_source)
    return tuple(map(in_source.index, runs)), tuple(sizes)


@dataclass(frozen=True)
class Matrices:
    """A transpose that is a batch of matrix transposes, with elements of `width` bytes."""

    count: int
    rows: int
    columns: int
    width: int

    @classmethod
    def of(cls, order, x):
        order, sizes = merged(order, x.shape)
        width = x.itemsize
        if order and order[-1] == len(order) - 1:
            width *= sizes[-1]
            order, sizes = order[:-1], sizes[:-1]
        if order == (1, 0):
            return cls(1, *sizes, width)
        if order == (0, 2, 1):
            return cls(*sizes, width)
        raise Unsupported


@dataclass(frozen=True)
class Planes:
    """Images whose channels become planes (`split`), or whose planes become channels."""

    count: int
    pixels: int
    channels: int
    split: bool
    is_reversed: bool

    @classmethod
    def of(cls, operators, x):
        """Returns None for operators of other kinds."""
        names = [name for name, _, _ in operators]
        is_reversed = names == ["flip", "transpose"] and operators[0][2]["axes"] == [x.ndim - 1]
        if names != ["transpose"] and not is_reversed:
            return None
        try:
            matrices = Matrices.of(operators[-1][1], x)
        except Unsupported:
            return None
        count, rows, columns = matrices.count, matrices.rows, matrices.columns
        if matrices.width != x.itemsize or is_reversed and columns != x.shape[-1]:
            return None
        if columns <= MOST_CHANNELS:
            return cls(count, rows, columns, True, is_reversed)
        if rows <= MOST_CHANNELS and not is_reversed:
            return cls(count, columns, rows, False, False)
        return None
