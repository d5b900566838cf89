"""Movements that PyTorch compiles, exports, differentiates and vectorizes: ``torch.compile(fullgraph=True)``,
``torch.export``, autograd, ``torch.func``.

``import trundle.torch`` makes them known to PyTorch as operators, ``torch.ops.trundle.roll`` and others. The functions
here are those to call: they take what the functions of the same names in ``trundle`` take, but for ``out`` and
``threads``; `repeat` is that of einops. Where nothing is traced and no gradient is asked for, they are those functions. Tensors are on
the CPU or on a GPU of NVIDIA's, lengths and indices on the CPU; results are new and contiguous. PyTorch 2.5 or newer.

>>> import torch, trundle.torch
>>> x = torch.arange(4.0, requires_grad=True)
>>> y = trundle.torch.roll(x, 1)
>>> (y * torch.tensor([10.0, 20.0, 30.0, 40.0])).sum().backward()
>>> x.grad
tensor([20., 30., 40., 10.])

The gradient is the movement back. Forward mode (``torch.func.jvp``) is not there.
"""

# What operators give is of any type to mypy.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
from torch import Tensor

import trundle

from ._operators import is_plain
from ._steps import chain_of, repetition

__all__ = [
    "chain",
    "flip",
    "permute_dims",
    "rearrange",
    "repeat",
    "reverse_sequence",
    "reverse_subsequences",
    "roll",
    "transpose",
]

_is_compiling = torch.compiler.is_compiling
_ops = torch.ops.trundle


# The functions.


def roll(
    x: Tensor, shift: Any = None, axis: Any = None, *, shifts: Any = None, dims: Any = None
) -> Tensor:
    """Elements shifted along axes, in at one end what goes out at the other, as ``torch.roll`` and `trundle.roll`.

    Parameters
    ----------
    x : Tensor
    shift : int or sequence of int
        By how many places, towards larger indices; for each axis, or for all of them. Sizes of a traced tensor may be
        among them.
    axis : int or sequence of int, optional
        The axes; negative ones count from the end, repeated ones add. None: `x` is rolled as if it had one axis.
    shifts, dims
        PyTorch's names of `shift` and `axis`.

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
    shift, axis = _one_of("shift", shift, "shifts", shifts), _one_of("axis", axis, "dims", dims)
    if shift is None:
        raise TypeError("roll() missing required argument 'shift'")
    if not _is_compiling() and is_plain(x):
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


def flip(x: Tensor, axis: Any = None, *, dims: Any = None) -> Tensor:
    """Elements in the opposite order along axes, as ``torch.flip`` and `trundle.flip`.

    Parameters
    ----------
    x : Tensor
    axis : int or sequence of int, optional
        The axes; negative ones count from the end. None: all of them.
    dims
        PyTorch's name of `axis`.

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
    axis = _one_of("axis", axis, "dims", dims)
    if not _is_compiling() and is_plain(x):
        return trundle.flip(x, axis)
    return _ops.flip.default(x, list(range(x.ndim)) if axis is None else _listed(axis))


def permute_dims(x: Tensor, axes: Any = None, *, dims: Any = None) -> Tensor:
    """The axes in another order, as ``x.permute(axes).contiguous()`` and `trundle.permute_dims`.

    Parameters
    ----------
    x : Tensor
    axes : sequence of int
        Which axis of `x` stands where; negative ones count from the end.
    dims
        PyTorch's name of `axes`.

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
    axes = _one_of("axes", axes, "dims", dims)
    if axes is None:
        raise TypeError("permute_dims() missing required argument 'axes'")
    if not _is_compiling() and is_plain(x):
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
    if not _is_compiling() and is_plain(x):
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
    if not _is_compiling() and is_plain(x):
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
    if not _is_compiling() and is_plain(x):
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
    if not _is_compiling() and is_plain(x):
        return trundle.rearrange(x, pattern, **sizes)
    text = pattern + "".join([f", {name}={{}}" for name in sizes])
    if "|" in text or "," in pattern or ("->" not in pattern and "→" not in pattern):
        raise ValueError(f"rearrange takes one pattern, as 'h w c -> c h w', not {text!r}")
    return _ops.chain.given(x, text, [_size(size) for size in sizes.values()], [], "")


def repeat(
    x: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, /, **sizes: Any
) -> Tensor:
    """Elements repeated along new axes of a pattern, as ``einops.repeat``; what ``numpy.repeat`` does is `trundle.repeat`.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensor
        Several tensors of one shape are stacked along a new first axis.
    pattern : str
        The axes of `x` by names, and behind an arrow those of the result: all of `x`, and new ones, by names or as numbers.
    **sizes : int
        Sizes of the new axes, and of those that the shape of `x` does not say. Sizes of a traced tensor may be among them.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the pattern is none, does not fit the shape of `x`, or leaves a size open.

    Notes
    -----
    The gradient is the sum over the new axes, which PyTorch computes.

    Examples
    --------
    >>> import torch, trundle.torch
    >>> trundle.torch.repeat(torch.arange(4).reshape(2, 2), "h w -> (h 2) (w copies)", copies=3)
    tensor([[0, 0, 0, 1, 1, 1],
            [0, 0, 0, 1, 1, 1],
            [2, 2, 2, 3, 3, 3],
            [2, 2, 2, 3, 3, 3]])
    """
    if isinstance(x, (list, tuple)):
        x = torch.stack(x)
    lengths_of = {name: _size(size) for name, size in sizes.items()}
    ordered, longer, merged, of_x = repetition(pattern, lengths_of)
    x = rearrange(x, ordered, **of_x)
    rest = [-1] * (x.ndim + 1 - len(longer))
    lengths = [length for each in longer for length in (rest if each is ... else [each])]
    return rearrange(x.expand(lengths), merged)


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
    if not _is_compiling() and is_plain(x):
        return chain_of(text)(x, **given)
    return _ops.chain.given(
        x, text, [], [_as_tensor(each) for each in given.values()], ",".join(given)
    )


def _one_of(name: str, value: Any, synonym: str, other: Any) -> Any:
    """An argument that has two names, whichever was given."""
    if value is not None and other is not None:
        raise TypeError(f"got both {name} and {synonym}: they are one argument")
    return other if value is None else value


def _listed(given: Any) -> list[Any]:
    """One integer, or several, as a list. Sizes of traced tensors stay what they are."""
    if isinstance(given, (int, torch.SymInt)) or (isinstance(given, Tensor) and given.ndim == 0):
        return [_size(given)]
    return [_size(each) for each in given]


def _size(given: Any) -> Any:
    """A size, which ``torch.jit.trace`` has as a tensor."""
    return int(given) if isinstance(given, Tensor) else given


def _as_tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else torch.as_tensor(given)
