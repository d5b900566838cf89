"""Movements that PyTorch compiles, exports, differentiates and vectorizes: ``torch.compile(fullgraph=True)``,
``torch.export``, autograd, ``torch.func``.

``import trundle.torch`` makes them known to PyTorch as operators, ``torch.ops.trundle.roll`` and others. The functions
here are those to call: they take what the functions of the same names in ``trundle`` take, but for ``out`` and
``threads``. Where nothing is traced and no gradient is asked for, they are those functions. Tensors are on the CPU;
results are new and contiguous. PyTorch 2.5 or newer.

>>> import torch, trundle.torch
>>> x = torch.arange(4.0, requires_grad=True)
>>> y = trundle.torch.roll(x, 1)
>>> (y * torch.tensor([10.0, 20.0, 30.0, 40.0])).sum().backward()
>>> x.grad
tensor([20., 30., 40., 10.])

The gradient is the movement back. Forward mode (``torch.func.jvp``) is not there.
"""

# A movement has four sides here: what does it (`_moves`), the shape that it makes (`_fakes`), the movement back
# (`_gradients`), and the same movement with one more axis in front (`_batched`).

# What operators give is of any type to mypy.
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
from torch._functorch import autograd_function  # type: ignore[import-not-found, unused-ignore]
from torch.utils._python_dispatch import (  # type: ignore[import-not-found, unused-ignore]
    _disable_current_modes,
)

import trundle

from . import _trundle  # type: ignore[attr-defined]

__all__ = [
    "chain",
    "flip",
    "permute_dims",
    "rearrange",
    "reverse_sequence",
    "reverse_subsequences",
    "roll",
    "transpose",
]

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(f"trundle.torch needs PyTorch 2.5 or newer, and this is {torch.__version__}")

_is_compiling = torch.compiler.is_compiling
_ops = torch.ops.trundle


# The functions.


def roll(x: Tensor, shift: Any, axis: Any = None) -> Tensor:
    """Elements shifted along axes, in at one end what goes out at the other, as ``torch.roll`` and `trundle.roll`.

    Parameters
    ----------
    x : Tensor
    shift : int or sequence of int
        By how many places, towards larger indices; for each axis, or for all of them. Sizes of a traced tensor may be
        among them.
    axis : int or sequence of int, optional
        The axes; negative ones count from the end, repeated ones add. None: `x` is rolled as if it had one axis.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and where `shift` and `axis` do not go together.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> trundle.torch.roll(torch.arange(4), 1)
    tensor([3, 0, 1, 2])
    >>> rolled = torch.compile(lambda x: trundle.torch.roll(x, -1, 0), fullgraph=True, backend="eager")
    >>> rolled(torch.arange(4))
    tensor([1, 2, 3, 0])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.roll(x, shift, axis)
    shifts = _listed(shift)
    if axis is None:
        return _ops.roll.default(x, shifts, [])
    axes = _listed(axis)
    if len(shifts) == 1:
        shifts = shifts * max(len(axes), 1)
    elif len(axes) == 1:
        axes = axes * len(shifts)
    if not axes:
        # Without axes the operator takes all of them as one.
        shifts = [0]
    return _ops.roll.default(x, shifts, axes)


def flip(x: Tensor, axis: Any = None) -> Tensor:
    """Elements in the opposite order along axes, as ``torch.flip`` and `trundle.flip`.

    Parameters
    ----------
    x : Tensor
    axis : int or sequence of int, optional
        The axes; negative ones count from the end. None: all of them.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, or a repeated one.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> trundle.torch.flip(torch.arange(6).reshape(2, 3), 1)
    tensor([[2, 1, 0],
            [5, 4, 3]])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.flip(x, axis)
    return _ops.flip.default(x, list(range(x.ndim)) if axis is None else _listed(axis))


def permute_dims(x: Tensor, axes: Any) -> Tensor:
    """The axes in another order, as ``x.permute(axes).contiguous()`` and `trundle.permute_dims`.

    Parameters
    ----------
    x : Tensor
    axes : sequence of int
        Which axis of `x` stands where; negative ones count from the end.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        If the axes are no permutation of those of `x`.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> trundle.torch.permute_dims(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.permute_dims(x, axes)
    return _ops.permute_dims.default(x, list(axes))


def transpose(x: Tensor, order: Any = ()) -> Tensor:
    """The axes in another order, or inverted, as `trundle.transpose`; PyTorch's, of two axes, is ``permute_dims`` here.

    Parameters
    ----------
    x : Tensor
    order : sequence of int, optional
        Which axis of `x` stands where, none of them negative. Empty: the axes are inverted.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the order is not empty, and no permutation of the axes of `x`.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> trundle.torch.transpose(torch.arange(6).reshape(2, 3))
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.transpose(x, order)
    axes = list(order) or list(range(x.ndim))[::-1]
    if any(axis < 0 for axis in axes):
        raise ValueError(f"order {axes} must not have negative axes: permute_dims takes them")
    return _ops.permute_dims.default(x, axes)


def reverse_sequence(x: Tensor, lengths: Any, axis: int, batch_axis: int) -> Tensor:
    """The first elements of each sequence reversed, with a length for each index of the batch axis.

    Parameters
    ----------
    x : Tensor
    lengths : Tensor or sequence of int
        One for each index of `batch_axis`.
    axis : int
        Along which the elements are reversed.
    batch_axis : int
        Which sequence it is.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and lengths below 0 or over the axis; the latter are seen when elements are moved.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> trundle.torch.reverse_sequence(x, torch.tensor([2, 3]), axis=1, batch_axis=0)
    tensor([[2, 1, 3],
            [6, 5, 4]])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.reverse_sequence(x, lengths, axis, batch_axis)
    return _ops.reverse_sequence.default(x, _as_tensor(lengths), axis, batch_axis)


def reverse_subsequences(x: Tensor, lengths: Any, axis: int) -> Tensor:
    """The first elements of each row reversed, with a length for every position outside the axis.

    Parameters
    ----------
    x : Tensor
    lengths : Tensor or nested sequence of int
        In the shape of `x`, but 1 along `axis`. A length over the axis counts as the whole row.
    axis : int
        Along which the elements are reversed.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and lengths of another shape or below 0.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    >>> trundle.torch.reverse_subsequences(x, torch.tensor([[2], [99]]), axis=1)
    tensor([[2, 1, 3],
            [6, 5, 4]])
    """
    if not _is_compiling() and _is_plain(x):
        return trundle.reverse_subsequences(x, lengths, axis)
    return _ops.reverse_subsequences.default(x, _as_tensor(lengths), axis)


def rearrange(
    x: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, /, **sizes: Any
) -> Tensor:
    """Axes split, put in another order and merged, as ``einops.rearrange``; the result is no view.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensor
        Several tensors of one shape are stacked along a new first axis.
    pattern : str
        The axes of `x` by names, and behind an arrow those of the result.
    **sizes : int
        Sizes of axes that the shape of `x` does not say. Sizes of a traced tensor may be among them.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the pattern is none, does not fit the shape of `x`, or leaves a size open.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> images = torch.zeros(2, 56, 56, 96)
    >>> trundle.torch.rearrange(images, "b (h p) (w q) c -> (b h w) p q c", p=7, q=7).shape
    torch.Size([128, 7, 7, 96])
    """
    if isinstance(x, (list, tuple)):
        x = torch.stack(x)
    if not _is_compiling() and _is_plain(x):
        return trundle.rearrange(x, pattern, **sizes)
    text = pattern + "".join([f", {name}={{}}" for name in sizes])
    if "|" in text or "," in pattern or ("->" not in pattern and "→" not in pattern):
        raise ValueError(f"rearrange takes one pattern, as 'h w c -> c h w', not {text!r}")
    return _ops.chain.given(x, text, list(sizes.values()), [], [])


def chain(x: Tensor, text: str, /, **given: Any) -> Tensor:
    """Stages one after another, in as few passes over memory as can be, as ``trundle.chain(text)(x, **given)``.

    Parameters
    ----------
    x : Tensor
    text : str
        Stages, with ``|`` between them: patterns (``"h w c -> c h w"``) and calls (``"flip(axes=[2])"``).
    **given : Tensor or sequence of int
        What the text leaves open, by its names: lengths, indices, other tensors.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError, TypeError
        As `trundle.chain` and its call. NotImplementedError when a gradient goes through a stage that is no movement
        back and forth: one that repeats elements, leaves some out, or has several tensors.

    Notes
    -----
    Where sizes are symbols, as with ``dynamic=True``, patterns, ``transpose``, ``reshape``, ``roll``, ``flip``, ``rot90``
    and ``reverse`` keep them so; other stages make them numbers, and what is compiled is for these.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> image = torch.arange(12).reshape(2, 2, 3)
    >>> trundle.torch.chain(image, "flip(axes=[2]) | h w c -> c h w")[0]
    tensor([[ 2,  5],
            [ 8, 11]])
    >>> batch = torch.tensor([[1, 2, 0], [3, 4, 5]])
    >>> trundle.torch.chain(batch, "b t -> t b | reverse(axis=0, batch_axis=1, lengths=n)", n=torch.tensor([2, 3]))
    tensor([[2, 5],
            [1, 4],
            [0, 3]])
    """
    if "out" in given or "threads" in given:
        raise TypeError("chain() here has no 'out' and no 'threads'")
    if not _is_compiling() and _is_plain(x):
        return _chain(text)(x, **given)
    return _ops.chain.given(
        x, text, [], [_as_tensor(each) for each in given.values()], list(given)
    )


def _listed(given: Any) -> list[Any]:
    """One integer, or several, as a list. Sizes of traced tensors stay what they are."""
    return [given] if isinstance(given, (int, torch.SymInt)) else list(given)


def _as_tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else torch.as_tensor(given)


# What goes to trundle at once. An operator costs some microseconds, so whatever nobody watches passes by.

_modes = torch._C._len_torch_dispatch_stack
_transforms = torch._C._functorch.maybe_current_level
_trace = torch._C._get_tracing_state


def _is_plain(x: Any) -> bool:
    """Whether `x` is a tensor in memory as it lies there, that asks for no gradient, and nobody watches operators: no mode,
    as tracers have them, no transform of ``torch.func``, no ``torch.jit.trace``.
    """
    return (
        type(x) is Tensor
        and x.is_cpu
        and not x.requires_grad
        and not x.is_conj()
        and not x.is_neg()
        and not _modes()
        and _transforms() is None
        and _trace() is None
    )


# What does it.


@lru_cache(maxsize=256)
def _chain(text: str) -> trundle.Chain:
    return trundle.chain(text)


def _read(x: Tensor) -> Tensor:
    """A tensor as trundle reads it: gradients are seen to by who calls an operator."""
    return x.detach() if x.requires_grad else x


def _moves_roll(x: Tensor, shifts: list[int], axes: list[int]) -> Tensor:
    return trundle.roll(_read(x), shifts, axes or None)


def _moves_flip(x: Tensor, axes: list[int]) -> Tensor:
    return trundle.flip(_read(x), axes)


def _moves_permute_dims(x: Tensor, axes: list[int]) -> Tensor:
    return trundle.permute_dims(_read(x), axes)


def _moves_reverse_sequence(x: Tensor, lengths: Tensor, axis: int, batch_axis: int) -> Tensor:
    return trundle.reverse_sequence(_read(x), lengths, axis, batch_axis)


def _moves_reverse_subsequences(x: Tensor, lengths: Tensor, axis: int) -> Tensor:
    return trundle.reverse_subsequences(_read(x), lengths, axis)


def _moves_chain(
    x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: list[str]
) -> Tensor:
    stages = _chain(text.format(*sizes) if sizes else text)
    return stages(_read(x), **dict(zip(names, map(_read, given), strict=True)))


# The shapes. Sizes may be symbols, of which nothing is asked that need not be.


def _axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of bounds for a tensor of {rank} axes")
    return axis % rank


def _axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    return tuple(_axis(axis, rank) for axis in axes)


def _check_distinct(axes: Sequence[int]) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"axes {list(axes)} have a repeated axis")


def _fakes_roll(x: Tensor, shifts: list[int], axes: list[int]) -> Tensor:
    if axes and len(shifts) not in (1, len(axes)):
        raise ValueError(f"{len(shifts)} shifts do not go with {len(axes)} axes")
    _axes(axes, x.ndim)
    return x.new_empty(x.shape)


def _fakes_flip(x: Tensor, axes: list[int]) -> Tensor:
    _check_distinct(_axes(axes, x.ndim))
    return x.new_empty(x.shape)


def _fakes_permute_dims(x: Tensor, axes: list[int]) -> Tensor:
    return x.new_empty([x.shape[axis] for axis in _permutation(axes, x.ndim)])


def _permutation(axes: list[int], rank: int) -> tuple[int, ...]:
    order = _axes(axes, rank)
    _check_distinct(order)
    if len(order) != rank:
        raise ValueError(f"axes {axes} are {len(order)}, and the tensor has {rank}")
    return order


def _fakes_reverse_sequence(x: Tensor, lengths: Tensor, axis: int, batch_axis: int) -> Tensor:
    _check_distinct(_axes((axis, batch_axis), x.ndim))
    torch._check_value(lengths.ndim == 1, lambda: f"lengths must have 1 axis, not {lengths.ndim}")
    torch._check_value(
        lengths.shape[0] == x.shape[batch_axis],
        lambda: f"{lengths.shape[0]} lengths do not go with a batch axis of {x.shape[batch_axis]}",
    )
    return x.new_empty(x.shape)


def _fakes_reverse_subsequences(x: Tensor, lengths: Tensor, axis: int) -> Tensor:
    expected = list(x.shape)
    expected[_axis(axis, x.ndim)] = 1
    fits = lengths.ndim == x.ndim
    torch._check_value(fits, lambda: f"lengths have {lengths.ndim} axes, and x has {x.ndim}")
    for given, size in zip(lengths.shape, expected, strict=True):
        torch._check_value(
            given == size,
            lambda: f"lengths have shape {list(lengths.shape)}, and {expected} is needed",
        )
    return x.new_empty(x.shape)


def _fakes_chain(
    x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: list[str]
) -> Tensor:
    steps = _steps(x.shape, x.dtype, text, sizes, given, names)
    return x.new_empty(steps[-1].after if steps else x.shape)


# The movements back.


def _gradients_roll(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.roll.default(grad, [-shift for shift in ctx.shifts], ctx.axes), None, None


def _keeps_roll(ctx: Any, x: Tensor, shifts: list[int], axes: list[int]) -> None:
    ctx.shifts, ctx.axes = shifts, axes


def _gradients_flip(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.flip.default(grad, ctx.axes), None


def _keeps_axes(ctx: Any, x: Tensor, axes: list[int]) -> None:
    ctx.axes = axes


def _gradients_permute_dims(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.permute_dims.default(grad, _inverse(_axes(ctx.axes, grad.ndim))), None


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _gradients_reverse_sequence(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    (lengths,) = ctx.saved_tensors
    return _ops.reverse_sequence.default(grad, lengths, *ctx.axes), None, None, None


def _gradients_reverse_subsequences(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    (lengths,) = ctx.saved_tensors
    return _ops.reverse_subsequences.default(grad, lengths, *ctx.axes), None, None


def _keeps_lengths(ctx: Any, x: Tensor, lengths: Tensor, *axes: int) -> None:
    ctx.axes = axes
    ctx.save_for_backward(lengths)


def _gradients_chain(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    given = ctx.saved_tensors
    steps = _steps(ctx.shape, grad.dtype, ctx.text, ctx.sizes, given, ctx.names)
    back = [step.back() for step in reversed(steps)]
    return _run(grad, back, given, ctx.names), None, None, None, None


def _keeps_chain(
    ctx: Any, x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: list[str]
) -> None:
    ctx.shape, ctx.text, ctx.sizes, ctx.names = x.shape, text, sizes, names
    ctx.save_for_backward(*given)


def _checks_given(text: str, sizes: list[int], given: list[Tensor], names: list[str]) -> None:
    if any(each.requires_grad for each in given):
        raise NotImplementedError("no gradient goes to what a chain is given by name")


def _differentiated(
    operator: Any,
    moves: Callable[..., Tensor],
    gradients: Callable[..., Any],
    keeps: Callable[..., None],
    checks: Callable[..., None] | None,
) -> Callable[..., Tensor]:
    """What an operator does with tensors that gradients may be asked of.

    Not by `torch.library.register_autograd`, whose operators ``torch.func.grad`` refuses.
    """

    def below(keyset: Any, *arguments: Any) -> Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keyset & torch._C._after_autograd_keyset, *arguments)

    def forward(ctx: Any, keyset: Any, *arguments: Any) -> Tensor:
        keeps(ctx, *arguments)
        return below(keyset, *arguments)

    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, *gradients(ctx, grad)

    def of_kind(kind: Any) -> Any:
        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(f"trundle_{operator._opname}", (kind,), members)

    # Transforms come to an operator one after another; for the one whose turn it is there is a kind of its own.
    function = of_kind(torch.autograd.Function)
    function_of_transform = of_kind(torch.autograd.function._SingleLevelFunction)

    def with_gradient(keyset: Any, x: Tensor, *arguments: Any) -> Tensor:
        is_asked = torch.is_grad_enabled()
        if is_asked and checks is not None:
            checks(*arguments)
        if not (is_asked and x.requires_grad):
            # What goes on from here would come to the same, some microseconds later.
            return moves(x, *arguments) if _is_plain(x) else below(keyset, x, *arguments)
        if _transforms() is None:
            return function.apply(keyset, x, *arguments)
        with autograd_function.enable_single_level_autograd_function():  # type: ignore[attr-defined, unused-ignore]
            return function_of_transform.apply(keyset, x, *arguments)

    return with_gradient


# One more axis in front, as ``torch.func.vmap`` has it.


def _in_front(x: Tensor, axis: int | None, size: int) -> Tensor:
    """The tensors of a batch one after another: `x` itself for each of them, if it is not of the batch."""
    return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)


def _behind(axes: Iterable[int]) -> tuple[int, ...]:
    """Axes that are counted from the front, in a tensor with one more in front."""
    return tuple(axis + 1 for axis in axes)


def _batched_roll(info: Any, in_dims: Any, x: Tensor, shifts: Any, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    if axes:
        return _ops.roll.default(x, shifts, _behind(_axes(axes, x.ndim - 1))), 0
    rows = x.unsqueeze(-1).flatten(1)
    return _ops.roll.default(rows, shifts, [1] * len(shifts)).reshape(x.shape), 0


def _batched_flip(info: Any, in_dims: Any, x: Tensor, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    return _ops.flip.default(x, _behind(_axes(axes, x.ndim - 1))), 0


def _batched_permute_dims(info: Any, in_dims: Any, x: Tensor, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    return _ops.permute_dims.default(x, [0, *_behind(_axes(axes, x.ndim - 1))]), 0


def _batched_reverse_sequence(
    info: Any, in_dims: Any, x: Tensor, lengths: Tensor, axis: int, batch_axis: int
) -> tuple[Any, int]:
    size = info.batch_size
    x = _in_front(x, in_dims[0], size)
    axis, batch_axis = _behind(_axes((axis, batch_axis), x.ndim - 1))
    if in_dims[1] is None:
        return _ops.reverse_sequence.default(x, lengths, axis, batch_axis), 0
    # Both batches as one: the sequences of all tensors.
    x = x.movedim(batch_axis, 1)
    sequences = x.flatten(0, 1)
    moved = _ops.reverse_sequence.default(
        sequences, lengths.movedim(in_dims[1], 0).flatten(), axis - (axis > batch_axis), 0
    )
    return moved.reshape(x.shape).movedim(1, batch_axis), 0


def _batched_reverse_subsequences(
    info: Any, in_dims: Any, x: Tensor, lengths: Tensor, axis: int
) -> tuple[Any, int]:
    x = _in_front(x, in_dims[0], info.batch_size)
    lengths = _in_front(lengths, in_dims[1], info.batch_size)
    return _ops.reverse_subsequences.default(x, lengths, _axis(axis, x.ndim - 1) + 1), 0


def _batched_chain(
    info: Any, in_dims: Any, x: Tensor, text: str, sizes: Any, given: Any, names: Any
) -> tuple[Any, int]:
    size, of_given = info.batch_size, in_dims[3]
    x = _in_front(x, in_dims[0], size)
    if all(dim is None for dim in of_given):
        steps = [step.batched(size) for step in _steps(x.shape[1:], x.dtype, text, sizes, given, names)]
        if None not in steps:
            return _run(x, steps, given, names), 0
    # What cannot be said of all at once is done for one after another.
    each = [
        _ops.chain.given(
            x[at],
            text,
            sizes,
            [one if dim is None else one.select(dim, at) for one, dim in zip(given, of_given, strict=True)],
            names,
        )
        for at in range(size)
    ]
    return torch.stack(each), 0


# The steps of a chain, of which more is known than of its text: the shape that each makes, also where sizes are
# symbols, what takes it back, and the same for a batch.


class _Step:
    """A step that is done by a stage of the chain language."""

    after: tuple[Any, ...]
    """The shape that it makes."""

    def text(self) -> str:
        """The stage, with ``{}`` for each of `sizes`."""
        raise NotImplementedError

    def sizes(self) -> tuple[Any, ...]:
        return ()

    def back(self) -> _Step:
        """What takes it back."""
        raise NotImplementedError(f"no gradient goes through the stage {self.text()!r} of a chain")

    def batched(self, size: Any) -> _Step | None:
        """The same of so many tensors, along a first axis; None if no stage is that."""
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
        return _Permute.of(self.after, _inverse(self.order))

    def batched(self, size: Any) -> _Step:
        return _Permute((size, *self.after), (0, *_behind(self.order)))


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
        return _Roll((size, *self.after), self.shift, _behind(self.axes))


@dataclass(frozen=True)
class _Flip(_Step):
    after: tuple[Any, ...]
    axes: tuple[int, ...]

    def text(self) -> str:
        return f"flip(axes={list(self.axes)})"

    def back(self) -> _Step:
        return self

    def batched(self, size: Any) -> _Step:
        return _Flip((size, *self.after), _behind(self.axes))


@dataclass(frozen=True)
class _Reverse(_Step):
    after: tuple[Any, ...]
    axis: int
    batch_axis: int | None
    lengths: tuple[int, ...] | str
    """Those of the text, or the name of those that are given."""

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
    """One that is no movement back and forth, or of which no more is known."""

    after: tuple[Any, ...]
    stage: str

    def text(self) -> str:
        return self.stage


def _run(x: Tensor, steps: Sequence[Any], given: Sequence[Tensor], names: list[str]) -> Tensor:
    """Steps done as one chain, with what they have by names."""
    text = " | ".join(step.text() for step in steps)
    sizes = [size for step in steps for size in step.sizes()]
    return _ops.chain.given(x, text, sizes, list(given), names)


@lru_cache(maxsize=256)
def _stages(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The stages of a text, each with the names of what it leaves open. ``{}`` is a size that is given beside it."""
    if "{}" not in text:
        return tuple((stage, tuple(names)) for stage, names in _trundle.chain_stages(_chain(text)))
    # A size is no part of what may be wrong with a text.
    _chain(text.replace("{}", "1"))
    return tuple((stage.strip(), _names(stage)) for stage in text.split("|"))


def _names(stage: str) -> tuple[str, ...]:
    named = re.search(r"lengths=(\w+)", stage)
    return (named[1],) if named else ()


def _steps(
    shape: Sequence[Any],
    dtype: Any,
    text: str,
    sizes: Sequence[Any],
    given: Sequence[Tensor],
    names: Sequence[str],
) -> list[_Step]:
    """The steps that a text is for a tensor of a shape."""
    steps: list[_Step] = []
    after, rest = tuple(shape), iter(sizes)
    by_name = dict(zip(names, given, strict=True))
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
    """The arguments of a call, with `sizes` in the places of ``{}``. Without a name there is one list at most."""
    named = dict(_parsed(stage))
    if "" in named:
        named[""] = [next(sizes) if value == {} else value for value in named[""]]
    return {name or "numbers": value for name, value in named.items()}


@lru_cache(maxsize=256)
def _parsed(stage: str) -> tuple[tuple[str, Any], ...]:
    """The arguments of a call, which is written as one of Python is. What is a name there is one here."""
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
    return [_Roll(shape, tuple(shift), _axes(axes, len(shape)))]


def _flipped(shape: tuple[Any, ...], axes: list[int]) -> list[_Step]:
    _check_distinct(_axes(axes, len(shape)))
    return [_Flip(shape, _axes(axes, len(shape)))]


def _turned(shape: tuple[Any, ...], k: int, axes: list[int]) -> list[_Step]:
    first, second = _axes(axes, len(shape))
    _check_distinct((first, second))
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
    batch_axis = None if batch_axis is None else _axis(batch_axis, rank)
    lengths_of = lengths if isinstance(lengths, str) else tuple(lengths)
    return [_Reverse(shape, _axis(axis, rank), batch_axis, lengths_of)]


def _reshaped(shape: tuple[Any, ...], numbers: Sequence[Any] = ()) -> list[_Step]:
    known = prod(size for size in numbers if not _is_left(size))
    after = tuple(prod(shape) // known if _is_left(size) else size for size in numbers)
    torch._check_value(
        prod(after) == prod(shape),
        lambda: f"a tensor of shape {list(shape)} does not go into the sizes {list(numbers)}",
    )
    return [_Reshape(shape, after)]


def _is_left(size: Any) -> bool:
    """Whether a size is to be what the others leave."""
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
    """What a pattern does: axes split, put in another order, merged."""
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
    """The pattern with a name for each axis that an ellipsis is, as no axis is called otherwise."""
    pattern = pattern.replace("→", "->").replace("…", "...")
    left = pattern.split("->")[0]
    number = len(_groups(left.replace("...", "")))
    if rank < number or (rank > number and "..." not in left):
        raise ValueError(f"the pattern is for {number} axes, and the tensor has {rank}\n  {pattern}")
    return pattern.replace("...", " ".join(f"_{axis}" for axis in range(rank - number)))


def _groups(side: str) -> list[list[str]]:
    """The axes of a side, each as the names that it is merged of: none for ``1`` and ``()``."""
    groups = re.findall(r"\(([^)]*)\)|(\w+)", side)
    return [[name for name in (inner + alone).split() if name != "1"] for inner, alone in groups]


def _parts(group: list[str], size: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The sizes of what an axis of `size` is merged of, beside those that are known."""
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
    """The shape that a stage makes, as trundle plans it. A size that is a symbol becomes a number."""

    def like(of: Any, sizes: list[int]) -> Tensor:
        return torch.zeros((), dtype=of, device="cpu").expand(sizes)

    sizes = [int(size) for size in shape]
    of_given = {name: (each.dtype, [int(size) for size in each.shape]) for name, each in given.items()}
    with _disable_current_modes():
        known = {name: like(*each) for name, each in of_given.items()}
        return trundle.chain(stage).plan(like(dtype, sizes), **known).out_shape


# The operators. Results are contiguous whatever the strides of inputs are, so these need not be changed.

_library: Any = torch.library.Library("trundle", "DEF")  # type: ignore[no-untyped-call, unused-ignore]


def _define(
    schema: str,
    moves: Callable[..., Tensor],
    fakes: Callable[..., Tensor],
    gradients: Callable[..., Any],
    keeps: Callable[..., None],
    batched: Callable[..., Any],
    checks: Callable[..., None] | None = None,
) -> None:
    tags = [torch.Tag.pt2_compliant_tag]
    tags += [torch.Tag.flexible_layout] if hasattr(torch.Tag, "flexible_layout") else []
    _library.define(schema, tags=tuple(tags))
    name = schema.partition("(")[0]
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(_ops, packet), overload or "default")
    _library.impl(name, moves, "CPU")
    differentiated = _differentiated(operator, moves, gradients, keeps, checks)
    _library.impl(name, differentiated, "Autograd", with_keyset=True)
    torch.library.register_fake(f"trundle::{name}", fakes, lib=_library)
    torch.library.register_vmap(f"trundle::{name}", batched, lib=_library)


_define(
    "roll(Tensor x, SymInt[] shifts, int[] axes) -> Tensor",
    _moves_roll,
    _fakes_roll,
    _gradients_roll,
    _keeps_roll,
    _batched_roll,
)
_define(
    "flip(Tensor x, int[] axes) -> Tensor",
    _moves_flip,
    _fakes_flip,
    _gradients_flip,
    _keeps_axes,
    _batched_flip,
)
_define(
    "permute_dims(Tensor x, int[] axes) -> Tensor",
    _moves_permute_dims,
    _fakes_permute_dims,
    _gradients_permute_dims,
    _keeps_axes,
    _batched_permute_dims,
)
_define(
    "reverse_sequence(Tensor x, Tensor lengths, int axis, int batch_axis) -> Tensor",
    _moves_reverse_sequence,
    _fakes_reverse_sequence,
    _gradients_reverse_sequence,
    _keeps_lengths,
    _batched_reverse_sequence,
)
_define(
    "reverse_subsequences(Tensor x, Tensor lengths, int axis) -> Tensor",
    _moves_reverse_subsequences,
    _fakes_reverse_subsequences,
    _gradients_reverse_subsequences,
    _keeps_lengths,
    _batched_reverse_subsequences,
)
_define(
    "chain.given(Tensor x, str text, SymInt[] sizes, Tensor[] given, str[] names) -> Tensor",
    _moves_chain,
    _fakes_chain,
    _gradients_chain,
    _keeps_chain,
    _batched_chain,
    _checks_given,
)
# As one calls it by hand.
_library.define("chain(Tensor x, str text) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
_library.impl("chain", lambda x, text: _ops.chain.given(x, text, [], [], []), "CompositeImplicitAutograd")
