"""Functions that move the elements of tensors, and that PyTorch can compile (``torch.compile(fullgraph=True)``), export
(``torch.export``), differentiate (autograd) and vectorize (``torch.func``).

``import trundle.torch`` registers PyTorch operators such as ``torch.ops.trundle.roll``. Call the functions of this
module, not the operators. The functions take the arguments of the functions with the same names in ``trundle``, except
``out`` and ``threads``. But `repeat` works as ``einops.repeat``. If nothing is traced and no gradient is needed, the
functions call ``trundle`` directly. Tensors may be on the CPU or on an NVIDIA GPU. Lengths and indices must be on the
CPU. Results are new and contiguous. Requires PyTorch 2.5 or newer.

>>> import torch, trundle.torch
>>> x = torch.arange(4.0, requires_grad=True)
>>> y = trundle.torch.roll(x, 1)
>>> (y * torch.tensor([10.0, 20.0, 30.0, 40.0])).sum().backward()
>>> x.grad
tensor([20., 30., 40., 10.])

The gradient is the inverse movement. Forward mode (``torch.func.jvp``) is not supported.
"""

# To mypy, operators return Any.
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



def roll(
    x: Tensor, shift: Any = None, axis: Any = None, *, shifts: Any = None, dims: Any = None
) -> Tensor:
    """Shifts elements along axes, with wrap-around, as ``torch.roll`` and `trundle.roll`.

    Parameters
    ----------
    x : Tensor
    shift : int or sequence of int
        The shifts, one for each axis or one for all axes. Positive shifts are towards larger indices. May contain sizes
        of a traced tensor.
    axis : int or sequence of int, optional
        The axes. Negative axes count from the end. If an axis is repeated, its shifts are added. If None, `x` is rolled
        as if it were flat.
    shifts, dims
        PyTorch's names of `shift` and `axis`.

    Returns
    -------
    Tensor
        With the shape of `x`.

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and if `shift` and `axis` have different lengths.

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
        # Without axes, the operator would roll the flat tensor.
        shifts = [0]
    return _ops.roll.default(x, shifts, axes)


def flip(x: Tensor, axis: Any = None, *, dims: Any = None) -> Tensor:
    """Reverses elements along axes, as ``torch.flip`` and `trundle.flip`.

    Parameters
    ----------
    x : Tensor
    axis : int or sequence of int, optional
        The axes. Negative axes count from the end. If None, all axes.
    dims
        PyTorch's name of `axis`.

    Returns
    -------
    Tensor
        With the shape of `x`.

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
    """Permutes the axes, as ``x.permute(axes).contiguous()`` and `trundle.permute_dims`.

    Parameters
    ----------
    x : Tensor
    axes : sequence of int
        The axes of `x` in their new order. Negative axes count from the end.
    dims
        PyTorch's name of `axes`.

    Returns
    -------
    Tensor
        With the shape ``[x.shape[a] for a in axes]``.

    Raises
    ------
    IndexError, ValueError
        If `axes` is not a permutation of the axes of `x`.

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
    """Permutes or reverses the axes, as `trundle.transpose`.

    For ``torch.transpose``, which swaps two axes, use ``permute_dims``.

    Parameters
    ----------
    x : Tensor
    order : sequence of int, optional
        The axes of `x` in their new order, without negative numbers. If empty, the order of the axes is reversed.

    Returns
    -------
    Tensor
        With the shape ``[x.shape[a] for a in order]``.

    Raises
    ------
    ValueError
        If `order` is neither empty nor a permutation of the axes of `x`.

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
    """Reverses the first elements of each sequence, as `trundle.reverse_sequence` and ReverseSequence of ONNX.

    Parameters
    ----------
    x : Tensor
    lengths : Tensor or sequence of int
        The numbers of elements to reverse, one for each index of `batch_axis`. Each is from 0 to the size of `axis`.
    axis : int
        The axis along which elements are reversed. A negative axis counts from the end.
    batch_axis : int
        The axis with one sequence for each index.

    Returns
    -------
    Tensor
        With the shape of `x`.

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and for lengths below 0 or greater than the size of the axis. Lengths are
        checked when elements are moved.

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
    """Reverses the first elements of each row, as `trundle.reverse_subsequences` and DirectML's operator.

    Parameters
    ----------
    x : Tensor
    lengths : Tensor or nested sequence of int
        The numbers of elements to reverse, with the shape of `x`, but size 1 along `axis`. A length greater than the
        size of the axis reverses the whole row.
    axis : int
        The axis along which elements are reversed. A negative axis counts from the end.

    Returns
    -------
    Tensor
        With the shape of `x`.

    Raises
    ------
    IndexError, ValueError
        For an axis out of range, and for lengths of another shape or below 0.

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
    """Splits, permutes and merges axes, as ``einops.rearrange``, but returns a copy, not a view.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensor
        Several tensors of one shape are stacked along a new first axis.
    pattern : str
        The names of the axes of `x`, an arrow, and the axes of the result.
    **sizes : int
        The sizes of axes that cannot be computed from the shape of `x`. May contain sizes of a traced tensor.

    Returns
    -------
    Tensor
        With one axis for each entry on the right of the pattern.

    Raises
    ------
    ValueError
        If the pattern is invalid, does not fit the shape of `x`, or needs more sizes.

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
    """Repeats elements along new axes of a pattern, as ``einops.repeat``.

    In contrast, `trundle.repeat` works as ``numpy.repeat``.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensor
        Several tensors of one shape are stacked along a new first axis.
    pattern : str
        The names of the axes of `x`, an arrow, and the axes of the result. The result has all axes of `x`, and new axes
        with a name or a number.
    **sizes : int
        The sizes of new axes, and of axes whose sizes cannot be computed from the shape of `x`. May contain sizes of a
        traced tensor.

    Returns
    -------
    Tensor
        With one axis for each entry on the right of the pattern.

    Raises
    ------
    ValueError
        If the pattern is invalid, does not fit the shape of `x`, or needs more sizes.

    Notes
    -----
    The gradient is the sum over the new axes, computed by PyTorch.

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
    """Applies a chain of operators in as few passes over memory as possible, as ``trundle.chain(text)(x)``.

    Parameters
    ----------
    x : Tensor
    text : str
        Stages, separated by ``|``: patterns (``"h w c -> c h w"``) and calls (``"flip(axes=[2])"``).
    **given : Tensor or sequence of int
        The values of the names in the chain: lengths, indices and other tensors.

    Returns
    -------
    Tensor
        The result of the last operator.

    Raises
    ------
    ValueError, TypeError
        If the text is not a chain, or the chain does not fit `x` or the given values, as in `trundle.chain`.
    NotImplementedError
        For a gradient through a stage that has no inverse, because it repeats elements, drops elements, or takes
        several tensors.

    Notes
    -----
    With symbolic sizes (``dynamic=True``), sizes stay symbolic in patterns, ``transpose``, ``reshape``, ``roll``,
    ``flip``, ``rot90`` and ``reverse``. With any other stage, the code is compiled for the actual sizes.

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
    """The value of an argument with two names."""
    if value is not None and other is not None:
        raise TypeError(f"got both {name} and {synonym}: they are one argument")
    return other if value is None else value


def _listed(given: Any) -> list[Any]:
    """Converts one or more integers to a list. Sizes of traced tensors stay symbolic."""
    if isinstance(given, (int, torch.SymInt)) or (isinstance(given, Tensor) and given.ndim == 0):
        return [_size(given)]
    return [_size(each) for each in given]


def _size(given: Any) -> Any:
    """In ``torch.jit.trace``, a size is a tensor."""
    return int(given) if isinstance(given, Tensor) else given


def _as_tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else torch.as_tensor(given)
