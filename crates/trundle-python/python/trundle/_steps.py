"""The steps of a chain. `trundle.torch` uses them to trace, differentiate and vectorize chains.

Each step knows its output shape, which may have symbolic sizes. Most steps have an inverse, for gradients, and a form
for a batch of tensors.
"""

# To mypy, operators return Any.
# mypy: no-warn-return-any

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
from torch import Tensor
from torch.utils._python_dispatch import (  # type: ignore[import-not-found, unused-ignore]
    _disable_current_modes,
)

import trundle

from . import _trundle  # type: ignore[attr-defined]

_ops = torch.ops.trundle


@lru_cache(maxsize=256)
def chain_of(text: str) -> trundle.Chain:
    return trundle.chain(text)


def axis_of(axis: int, rank: int) -> int:
    """Returns the axis counted from the front."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of bounds for a tensor of {rank} axes")
    return axis % rank


def axes_of(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    return tuple(axis_of(axis, rank) for axis in axes)


def check_distinct(axes: Sequence[int]) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"axes {list(axes)} have a repeated axis")


def inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def behind(axes: Iterable[int]) -> tuple[int, ...]:
    """Returns the numbers that the axes have behind a new first axis, the batch axis."""
    return tuple(axis + 1 for axis in axes)


class _Step:
    """A step of a chain, which can be written as one stage of the chain language."""

    after: tuple[Any, ...]
    """The output shape."""

    def text(self) -> str:
        """The stage as a string, with ``{}`` for each of `sizes`."""
        raise NotImplementedError

    def sizes(self) -> tuple[Any, ...]:
        return ()

    def back(self) -> _Step:
        raise NotImplementedError(f"no gradient goes through the stage {self.text()!r} of a chain")

    def batched(self, size: Any) -> _Step | None:
        """The same step for `size` tensors along a new first axis. None if no stage does that."""
        return None


@dataclass(frozen=True)
class _Reshape(_Step):
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    def text(self) -> str:
        return f"reshape({', '.join('{}' for _ in self.after)})"

    def sizes(self) -> tuple[Any, ...]:
        return self.after

    def back(self) -> _Step:
        return _Reshape(self.after, self.before)

    def batched(self, size: Any) -> _Step:
        return _Reshape((size, *self.before), (size, *self.after))


@dataclass(frozen=True)
class _Permute(_Step):
    after: tuple[Any, ...]
    order: tuple[int, ...]

    @staticmethod
    def of(before: tuple[Any, ...], order: Sequence[int]) -> _Permute:
        return _Permute(tuple(before[axis] for axis in order), tuple(order))

    def text(self) -> str:
        return f"transpose({', '.join(map(str, self.order))})"

    def back(self) -> _Step:
        return _Permute.of(self.after, inverse(self.order))

    def batched(self, size: Any) -> _Step:
        return _Permute((size, *self.after), (0, *behind(self.order)))


@dataclass(frozen=True)
class _Roll(_Step):
    after: tuple[Any, ...]
    shift: tuple[int, ...]
    axes: tuple[int, ...]

    def text(self) -> str:
        return f"roll(shift={list(self.shift)}, axes={list(self.axes)})"

    def back(self) -> _Step:
        return _Roll(self.after, tuple(-shift for shift in self.shift), self.axes)

    def batched(self, size: Any) -> _Step:
        return _Roll((size, *self.after), self.shift, behind(self.axes))


@dataclass(frozen=True)
class _Flip(_Step):
    after: tuple[Any, ...]
    axes: tuple[int, ...]

    def text(self) -> str:
        return f"flip(axes={list(self.axes)})"

    def back(self) -> _Step:
        return self

    def batched(self, size: Any) -> _Step:
        return _Flip((size, *self.after), behind(self.axes))


@dataclass(frozen=True)
class _Reverse(_Step):
    after: tuple[Any, ...]
    axis: int
    batch_axis: int | None
    lengths: tuple[int, ...] | str
    """The lengths, or the name of the tensor that holds them."""

    def text(self) -> str:
        batch = "" if self.batch_axis is None else f"batch_axis={self.batch_axis}, "
        lengths = self.lengths if isinstance(self.lengths, str) else list(self.lengths)
        return f"reverse(axis={self.axis}, {batch}lengths={lengths})"

    def back(self) -> _Step:
        return self

    def batched(self, size: Any) -> _Step | None:
        after, axis = (size, *self.after), self.axis + 1
        if self.batch_axis is not None:
            return _Reverse(after, axis, self.batch_axis + 1, self.lengths)
        if isinstance(self.lengths, str):
            return None
        return _Reverse(after, axis, None, self.lengths * int(size))


@dataclass(frozen=True)
class _Other(_Step):
    """A stage without a gradient and without a batched form."""

    after: tuple[Any, ...]
    stage: str

    def text(self) -> str:
        return self.stage


def run(x: Tensor, steps: Sequence[Any], given: Sequence[Tensor], names: str) -> Tensor:
    """Runs steps as one chain, with the tensors `given` for `names`."""
    text = " | ".join(step.text() for step in steps)
    sizes = [size for step in steps for size in step.sizes()]
    return _ops.chain.given(x, text, sizes, list(given), names)


def given_by_name(names: str, given: Sequence[Tensor]) -> dict[str, Tensor]:
    """Returns the tensors by name.

    `names` is one string with commas, because ``torch.jit.trace`` does not accept lists of strings.
    """
    return dict(zip(names.split(",") if names else [], given, strict=True))


@lru_cache(maxsize=256)
def _stages(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The stages of a chain, each with the names of the tensors that the caller gives.

    ``{}`` in the text stands for a size, which is passed separately.
    """
    if "{}" not in text:
        return tuple((stage, tuple(names)) for stage, names in _trundle.chain_stages(chain_of(text)))
    # This checks the syntax, for which the sizes do not matter.
    chain_of(text.replace("{}", "1"))
    return tuple((stage.strip(), _names(stage)) for stage in text.split("|"))


def _names(stage: str) -> tuple[str, ...]:
    named = re.search(r"lengths=(\w+)", stage)
    return (named[1],) if named else ()


def steps_of(
    shape: Sequence[Any],
    dtype: Any,
    text: str,
    sizes: Sequence[Any],
    given: Sequence[Tensor],
    names: str,
) -> list[_Step]:
    steps: list[_Step] = []
    after, rest = tuple(shape), iter(sizes)
    by_name = given_by_name(names, given)
    stages = _stages(text)
    _check_names({name for _, names in stages for name in names}, by_name)
    for stage, open_names in stages:
        reader = _READERS.get(stage.partition("(")[0])
        if "->" in stage:
            steps += _steps_of_pattern(stage, rest, after)
        elif reader is not None:
            steps += reader(after, **_arguments(stage, rest))
        else:
            of_stage = {name: by_name[name] for name in open_names}
            steps.append(_Other(_planned(stage, dtype, after, of_stage), stage))
        after = steps[-1].after if steps else after
    return steps


def _check_names(needed: set[str], given: dict[str, Tensor]) -> None:
    for name in needed - given.keys():
        raise TypeError(f"{name!r} of the chain is missing: give {name}=...")
    for name in given.keys() - needed:
        raise TypeError(f"the chain has no {name!r}")


def _arguments(stage: str, sizes: Any) -> dict[str, Any]:
    """The arguments of a call, with the next of `sizes` for each ``{}``. Positional arguments form one list."""
    named = dict(_parsed(stage))
    if "" in named:
        named[""] = [next(sizes) if value == {} else value for value in named[""]]
    return {name or "numbers": value for name, value in named.items()}


@lru_cache(maxsize=256)
def _parsed(stage: str) -> tuple[tuple[str, Any], ...]:
    """The arguments of a call in Python's syntax. A bare name becomes a string."""
    call = ast.parse(stage, mode="eval").body
    assert isinstance(call, ast.Call)

    def value(node: ast.expr) -> Any:
        return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)

    named = [(keyword.arg or "", value(keyword.value)) for keyword in call.keywords]
    unnamed = [("", [value(argument) for argument in call.args])] if call.args else []
    return (*unnamed, *named)


def _transposed(shape: tuple[Any, ...], numbers: Sequence[int] = ()) -> list[_Step]:
    rank = len(shape)
    if numbers and sorted(numbers) != list(range(rank)):
        raise ValueError(
            f"the order {list(numbers)} is for {len(numbers)} axes, and the tensor has {rank}"
        )
    return [_Permute.of(shape, numbers or range(rank)[::-1])]


def _rolled(shape: tuple[Any, ...], shift: list[int], axes: list[int]) -> list[_Step]:
    if len(shift) not in (1, len(axes)):
        raise ValueError(f"{len(shift)} shifts do not go with {len(axes)} axes")
    return [_Roll(shape, tuple(shift), axes_of(axes, len(shape)))]


def _flipped(shape: tuple[Any, ...], axes: list[int]) -> list[_Step]:
    check_distinct(axes_of(axes, len(shape)))
    return [_Flip(shape, axes_of(axes, len(shape)))]


def _turned(shape: tuple[Any, ...], k: int, axes: list[int]) -> list[_Step]:
    first, second = axes_of(axes, len(shape))
    check_distinct((first, second))
    order = list(range(len(shape)))
    order[first], order[second] = second, first
    swapped = _Permute.of(shape, order)
    turns: list[list[_Step]] = [
        [],
        [swapped, _Flip(swapped.after, (first,))],
        [_Flip(shape, (first, second))],
        [swapped, _Flip(swapped.after, (second,))],
    ]
    return turns[k % 4]


def _reversed(
    shape: tuple[Any, ...], axis: int, lengths: list[int] | str, batch_axis: int | None = None
) -> list[_Step]:
    rank = len(shape)
    batch_axis = None if batch_axis is None else axis_of(batch_axis, rank)
    lengths_of = lengths if isinstance(lengths, str) else tuple(lengths)
    return [_Reverse(shape, axis_of(axis, rank), batch_axis, lengths_of)]


def _reshaped(shape: tuple[Any, ...], numbers: Sequence[Any] = ()) -> list[_Step]:
    known = prod(size for size in numbers if not _is_left(size))
    after = tuple(prod(shape) // known if _is_left(size) else size for size in numbers)
    torch._check_value(
        prod(after) == prod(shape),
        lambda: f"a tensor of shape {list(shape)} does not go into the sizes {list(numbers)}",
    )
    return [_Reshape(shape, after)]


def _is_left(size: Any) -> bool:
    """-1 stands for the size that follows from the others."""
    return isinstance(size, int) and size == -1


_READERS: dict[str, Callable[..., list[_Step]]] = {
    "transpose": _transposed,
    "roll": _rolled,
    "flip": _flipped,
    "rot90": _turned,
    "reverse": _reversed,
    "reshape": _reshaped,
}


def _steps_of_pattern(stage: str, sizes: Any, shape: tuple[Any, ...]) -> list[_Step]:
    """The steps of a pattern: split, permute and merge axes."""
    pattern, *given = stage.split(",")
    known = {}
    for each in given:
        name, _, size = each.partition("=")
        known[name.strip()] = next(sizes) if size.strip() == "{}" else int(size)
    left, right = map(_groups, _spread(pattern, len(shape)).split("->"))
    for group, size in zip(left, shape, strict=True):
        known |= _parts(group, size, known)
    split = [name for group in left for name in group]
    moved = [name for group in right for name in group]
    split_sizes = tuple(known[name] for name in split)
    moved_sizes = tuple(known[name] for name in moved)
    steps: list[_Step] = []
    if any(len(group) != 1 for group in left):
        steps.append(_Reshape(shape, split_sizes))
    if split != moved:
        steps.append(_Permute(moved_sizes, tuple(map(split.index, moved))))
    if any(len(group) != 1 for group in right):
        merged = tuple(prod(known[name] for name in group) for group in right)
        steps.append(_Reshape(moved_sizes, merged))
    return steps


def _spread(pattern: str, rank: int) -> str:
    """Replaces an ellipsis by names that no other axis has."""
    pattern = pattern.replace("→", "->").replace("…", "...")
    left = pattern.split("->")[0]
    number = len(_groups(left.replace("...", "")))
    if rank < number or (rank > number and "..." not in left):
        raise ValueError(f"the pattern is for {number} axes, and the tensor has {rank}\n  {pattern}")
    return pattern.replace("...", " ".join(f"_{axis}" for axis in range(rank - number)))


def _groups(side: str) -> list[list[str]]:
    """The axes of one side, each as a list of the merged names: empty for ``1`` and ``()``."""
    groups = re.findall(r"\(([^)]*)\)|(\w+)", side)
    return [[name for name in (inner + alone).split() if name != "1"] for inner, alone in groups]


def repetition(
    pattern: str, sizes: dict[str, Any]
) -> tuple[str, list[Any], str, dict[str, Any]]:
    """Splits a pattern that repeats axes into stages.

    Returns a pattern that inserts an axis of size 1 for each new axis, the size to which each axis is expanded, a
    pattern that merges the axes, and the entries of `sizes` that the first pattern needs. A size of -1 keeps an axis;
    an ellipsis keeps several. Uses only methods of strings, which `torch.compile` supports.
    """
    left, _, right = pattern.replace("→", "->").replace("…", "...").partition("->")
    of_x, behind_arrow = _words(left), _words(right)
    moved = [word for word in behind_arrow if word not in ("(", ")", "1")]
    new = [word for word in moved if word not in of_x]
    names = [word for word in new if not word.isdecimal()]
    if len(set(names)) != len(names):
        raise ValueError(f"a new axis occurs twice in the pattern {pattern!r}")
    for name in sizes:
        if name not in of_x and name not in names:
            raise ValueError(f"the pattern {pattern!r} has no axis {name!r}")
    ordered = f"{left} -> {' '.join(['1' if word in new else word for word in moved])}"
    longer = [_length(word, sizes) if word in new else ... if word == "..." else -1 for word in moved]
    numbers = iter(range(len(moved)))
    named = [
        f"a{next(numbers)}" if word in moved and word != "..." else word for word in behind_arrow
    ]
    split = [word for word in named if word not in ("(", ")", "1")]
    merged = f"{' '.join(split)} -> {' '.join(named)}"
    return ordered, longer, merged, {name: sizes[name] for name in sizes if name in of_x}


def _words(side: str) -> list[str]:
    for word in ("(", ")", "..."):
        side = side.replace(word, f" {word} ")
    return side.split()


def _length(axis: str, sizes: dict[str, Any]) -> Any:
    """The size of a new axis: a number in the pattern, or an entry of `sizes`."""
    length = int(axis) if axis.isdecimal() else sizes.get(axis)
    if length is None:
        raise ValueError(f"the new axis {axis!r} has no size: give {axis}=...")
    if torch.compiler.is_compiling():
        # PyTorch 2.6 compiles no check with a message.
        torch._check_value(length >= 0)
    else:
        torch._check_value(length >= 0, lambda: f"the new axis {axis!r} must have a size of 0 or more")
    return length


def _parts(group: list[str], size: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The sizes of the names in `group` that are not `known`. The group is merged into an axis of `size`."""
    unknown = [name for name in group if name not in known]
    if group == unknown and len(group) == 1:
        return {group[0]: size}
    product = prod(known[name] for name in group if name in known)
    rest = size // product if unknown and product != 0 else 1
    torch._check_value(
        product * rest == size,
        lambda: f"axis ({' '.join(group)}) of size {size} does not split into {known}",
    )
    return dict.fromkeys(unknown, rest)


def _planned(
    stage: str, dtype: Any, shape: tuple[Any, ...], given: dict[str, Tensor]
) -> tuple[int, ...]:
    """The output shape of a stage, from a plan. Symbolic sizes become numbers."""

    def like(of: Any, sizes: list[int]) -> Tensor:
        return torch.zeros((), dtype=of, device="cpu").expand(sizes)

    sizes = [int(size) for size in shape]
    of_given = {name: (each.dtype, [int(size) for size in each.shape]) for name, each in given.items()}
    with _disable_current_modes():
        known = {name: like(*each) for name, each in of_given.items()}
        return trundle.chain(stage).plan(like(dtype, sizes), **known).out_shape
