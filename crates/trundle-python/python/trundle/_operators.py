"""PyTorch operators that move elements, ``torch.ops.trundle``.

Importing this module defines the operators. Users call the functions of `trundle.torch` instead.
"""

# Each movement has four functions here: the movement itself (`_moves`), the resulting shape (`_fakes`), the
# inverse movement (`_gradients`), and the movement with one more leading axis (`_batched`).

# To mypy, operators return Any.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
from torch import Tensor
from torch._functorch import autograd_function  # type: ignore[import-not-found, unused-ignore]

import trundle

from ._steps import (
    axes_of,
    axis_of,
    behind,
    chain_of,
    check_distinct,
    given_by_name,
    inverse,
    run,
    steps_of,
)

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(f"trundle.torch needs PyTorch 2.5 or newer, and this is {torch.__version__}")

# Plain tensors are passed to trundle directly, because a PyTorch operator adds some microseconds to a call.

_ops = torch.ops.trundle
_modes = torch._C._len_torch_dispatch_stack
_transforms = torch._C._functorch.maybe_current_level
_trace = torch._C._get_tracing_state


def is_plain(x: Any) -> bool:
    """Whether `x` is a plain tensor, and PyTorch is not tracing or transforming the code.

    A plain tensor is on a CPU or a CUDA GPU, requires no gradient, and has neither the conjugate nor the negative bit.
    """
    return (
        type(x) is Tensor
        and (x.is_cpu or x.is_cuda)
        and not x.requires_grad
        and not x.is_conj()
        and not x.is_neg()
        and not _modes()
        and _transforms() is None
        and _trace() is None
    )



def _read(x: Tensor) -> Tensor:
    """Detaches a tensor for trundle; the caller of an operator handles gradients."""
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
    x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: str
) -> Tensor:
    stages = chain_of(text.format(*sizes) if sizes else text)
    return stages(_read(x), **given_by_name(names, [_read(each) for each in given]))


# Shapes. Sizes may be symbols, so they are compared only where necessary.


def _fakes_roll(x: Tensor, shifts: list[int], axes: list[int]) -> Tensor:
    if axes and len(shifts) not in (1, len(axes)):
        raise ValueError(f"{len(shifts)} shifts do not go with {len(axes)} axes")
    axes_of(axes, x.ndim)
    return x.new_empty(x.shape)


def _fakes_flip(x: Tensor, axes: list[int]) -> Tensor:
    check_distinct(axes_of(axes, x.ndim))
    return x.new_empty(x.shape)


def _fakes_permute_dims(x: Tensor, axes: list[int]) -> Tensor:
    return x.new_empty([x.shape[axis] for axis in _permutation(axes, x.ndim)])


def _permutation(axes: list[int], rank: int) -> tuple[int, ...]:
    order = axes_of(axes, rank)
    check_distinct(order)
    if len(order) != rank:
        raise ValueError(f"axes {axes} are {len(order)}, and the tensor has {rank}")
    return order


def _fakes_reverse_sequence(x: Tensor, lengths: Tensor, axis: int, batch_axis: int) -> Tensor:
    check_distinct(axes_of((axis, batch_axis), x.ndim))
    torch._check_value(lengths.ndim == 1, lambda: f"lengths must have 1 axis, not {lengths.ndim}")
    torch._check_value(
        lengths.shape[0] == x.shape[batch_axis],
        lambda: f"{lengths.shape[0]} lengths do not go with a batch axis of {x.shape[batch_axis]}",
    )
    return x.new_empty(x.shape)


def _fakes_reverse_subsequences(x: Tensor, lengths: Tensor, axis: int) -> Tensor:
    expected = list(x.shape)
    expected[axis_of(axis, x.ndim)] = 1
    fits = lengths.ndim == x.ndim
    torch._check_value(fits, lambda: f"lengths have {lengths.ndim} axes, and x has {x.ndim}")
    for given, size in zip(lengths.shape, expected, strict=True):
        torch._check_value(
            given == size,
            lambda: f"lengths have shape {list(lengths.shape)}, and {expected} is needed",
        )
    return x.new_empty(x.shape)


def _fakes_chain(
    x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: str
) -> Tensor:
    steps = steps_of(x.shape, x.dtype, text, sizes, given, names)
    return x.new_empty(steps[-1].after if steps else x.shape)



def _gradients_roll(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.roll.default(grad, [-shift for shift in ctx.shifts], ctx.axes), None, None


def _keeps_roll(ctx: Any, x: Tensor, shifts: list[int], axes: list[int]) -> None:
    ctx.shifts, ctx.axes = shifts, axes


def _gradients_flip(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.flip.default(grad, ctx.axes), None


def _keeps_axes(ctx: Any, x: Tensor, axes: list[int]) -> None:
    ctx.axes = axes


def _gradients_permute_dims(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    return _ops.permute_dims.default(grad, inverse(axes_of(ctx.axes, grad.ndim))), None


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
    steps = steps_of(ctx.shape, grad.dtype, ctx.text, ctx.sizes, given, ctx.names)
    back = [step.back() for step in reversed(steps)]
    return run(grad, back, given, ctx.names), None, None, None, None


def _keeps_chain(
    ctx: Any, x: Tensor, text: str, sizes: list[int], given: list[Tensor], names: str
) -> None:
    ctx.shape, ctx.text, ctx.sizes, ctx.names = x.shape, text, sizes, names
    ctx.save_for_backward(*given)


def _checks_given(text: str, sizes: list[int], given: list[Tensor], names: str) -> None:
    if any(each.requires_grad for each in given):
        raise NotImplementedError("no gradient goes to what a chain is given by name")


def _differentiated(
    operator: Any,
    moves: Callable[..., Tensor],
    gradients: Callable[..., Any],
    keeps: Callable[..., None],
    checks: Callable[..., None] | None,
) -> Callable[..., Tensor]:
    """Returns the autograd implementation of an operator.

    Does not use `torch.library.register_autograd`, because ``torch.func.grad`` refuses such operators.
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

    # Transforms of ``torch.func`` are applied one after another. The current one needs a function class of its own.
    function = of_kind(torch.autograd.Function)
    function_of_transform = of_kind(torch.autograd.function._SingleLevelFunction)

    def with_gradient(keyset: Any, x: Tensor, *arguments: Any) -> Tensor:
        is_asked = torch.is_grad_enabled()
        if is_asked and checks is not None:
            checks(*arguments)
        if not (is_asked and x.requires_grad):
            # Redispatching a plain tensor takes some microseconds.
            return moves(x, *arguments) if is_plain(x) else below(keyset, x, *arguments)
        if _transforms() is None:
            return function.apply(keyset, x, *arguments)
        with autograd_function.enable_single_level_autograd_function():  # type: ignore[attr-defined, unused-ignore]
            return function_of_transform.apply(keyset, x, *arguments)

    return with_gradient


# Movements with one more leading axis, for ``torch.func.vmap``.


def _in_front(x: Tensor, axis: int | None, size: int) -> Tensor:
    """Moves the batch axis to the front. Repeats a tensor that has no batch axis."""
    return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)


def _batched_roll(info: Any, in_dims: Any, x: Tensor, shifts: Any, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    if axes:
        return _ops.roll.default(x, shifts, behind(axes_of(axes, x.ndim - 1))), 0
    rows = x.unsqueeze(-1).flatten(1)
    return _ops.roll.default(rows, shifts, [1] * len(shifts)).reshape(x.shape), 0


def _batched_flip(info: Any, in_dims: Any, x: Tensor, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    return _ops.flip.default(x, behind(axes_of(axes, x.ndim - 1))), 0


def _batched_permute_dims(info: Any, in_dims: Any, x: Tensor, axes: Any) -> tuple[Any, int]:
    x = x.movedim(in_dims[0], 0)
    return _ops.permute_dims.default(x, [0, *behind(axes_of(axes, x.ndim - 1))]), 0


def _batched_reverse_sequence(
    info: Any, in_dims: Any, x: Tensor, lengths: Tensor, axis: int, batch_axis: int
) -> tuple[Any, int]:
    size = info.batch_size
    x = _in_front(x, in_dims[0], size)
    axis, batch_axis = behind(axes_of((axis, batch_axis), x.ndim - 1))
    if in_dims[1] is None:
        return _ops.reverse_sequence.default(x, lengths, axis, batch_axis), 0
    # Merge the batch of vmap and the batch axis: all sequences of all tensors form one batch.
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
    return _ops.reverse_subsequences.default(x, lengths, axis_of(axis, x.ndim - 1) + 1), 0


def _batched_chain(
    info: Any, in_dims: Any, x: Tensor, text: str, sizes: Any, given: Any, names: Any
) -> tuple[Any, int]:
    size, of_given = info.batch_size, in_dims[3]
    x = _in_front(x, in_dims[0], size)
    if all(dim is None for dim in of_given):
        steps = [step.batched(size) for step in steps_of(x.shape[1:], x.dtype, text, sizes, given, names)]
        if None not in steps:
            return run(x, steps, given, names), 0
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


# Operators. Results are contiguous for inputs of any strides, so PyTorch need not copy the inputs.

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
    for key in ("CPU", "CUDA"):
        _library.impl(name, moves, key)
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
    "chain.given(Tensor x, str text, SymInt[] sizes, Tensor[] given, str names) -> Tensor",
    _moves_chain,
    _fakes_chain,
    _gradients_chain,
    _keeps_chain,
    _batched_chain,
    _checks_given,
)
# A short form of `chain.given` for a chain without sizes and given tensors.
_library.define("chain(Tensor x, str text) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
_library.impl("chain", lambda x, text: _ops.chain.given(x, text, [], [], ""), "CompositeImplicitAutograd")
