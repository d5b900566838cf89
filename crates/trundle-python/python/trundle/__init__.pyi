"""The types of the package, written by hand; `python -m mypy.stubtest trundle` compares them with the package.

A function returns an array of the same type as its argument: numpy.ndarray with its dtype, torch.Tensor, or an
array of the Array API. For other arguments, such as lists, it returns a numpy.ndarray. The docstrings of the
functions are in the package: `help(trundle.roll)`.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    final,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import torch as torch
from . import zarr as zarr

__all__ = [
    "Chain",
    "Model",
    "ModelPlan",
    "Plan",
    "ascontiguousarray",
    "broadcast_to",
    "chain",
    "concatenate",
    "copyto",
    "fftshift",
    "flip",
    "ifftshift",
    "moveaxis",
    "onnx_library",
    "pad",
    "permute_dims",
    "put_along_axis",
    "rearrange",
    "repeat",
    "reverse_sequence",
    "reverse_subsequences",
    "roll",
    "rot90",
    "sliding_window_view",
    "split",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "transpose",
    "tune",
    "zarr",
]

__version__: str

@type_check_only
class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

_Array = TypeVar("_Array", bound=_DLPack)
_Scalar = TypeVar("_Scalar", bound=np.generic)

_Int: TypeAlias = SupportsIndex
_List: TypeAlias = Sequence[SupportsIndex] | NDArray[np.integer[Any]]
_Ints: TypeAlias = _Int | _List
_Widths: TypeAlias = _Ints | Sequence[_List] | Mapping[int, int | tuple[int, int]]
_IndexMode: TypeAlias = Literal["raise", "wrap", "clip"]
_PadMode: TypeAlias = Literal["constant", "edge", "reflect", "symmetric", "wrap"]

# These functions keep subclasses of numpy.ndarray.

@overload
def roll(
    x: _Array,
    /,
    shift: _Ints,
    axis: _Ints | None = None,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def roll(
    x: ArrayLike,
    /,
    shift: _Ints,
    axis: _Ints | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def rot90(
    m: _Array,
    k: _Int = 1,
    axes: _List = (0, 1),
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def rot90(
    m: ArrayLike,
    k: _Int = 1,
    axes: _List = (0, 1),
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def concatenate(
    arrays: Sequence[_Array], /, axis: _Int | None = 0, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def concatenate(
    arrays: Sequence[ArrayLike], /, axis: _Int | None = 0, *, out: NDArray[Any] | None = None, threads: _Int | None = None
) -> NDArray[Any]: ...
@overload
def stack(
    arrays: Sequence[_Array], /, axis: _Int = 0, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def stack(
    arrays: Sequence[ArrayLike], /, axis: _Int = 0, *, out: NDArray[Any] | None = None, threads: _Int | None = None
) -> NDArray[Any]: ...

@overload
def split(
    x: _Array, /, indices_or_sections: _Ints, axis: _Int = 0, *, threads: _Int | None = None
) -> list[_Array]: ...
@overload
def split(
    x: ArrayLike, /, indices_or_sections: _Ints, axis: _Int = 0, *, threads: _Int | None = None
) -> list[NDArray[Any]]: ...

@overload
def put_along_axis(
    x: _Array,
    indices: ArrayLike,
    values: ArrayLike,
    /,
    axis: _Int,
    *,
    out: None = None,
    threads: _Int | None = None,
) -> None: ...
@overload
def put_along_axis(
    x: _Array,
    indices: ArrayLike,
    values: ArrayLike,
    /,
    axis: _Int,
    *,
    out: _Array,
    threads: _Int | None = None,
) -> _Array: ...

@overload
def permute_dims(
    x: _Array, /, axes: _List, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def permute_dims(
    x: ArrayLike, /, axes: _List, *, out: NDArray[Any] | None = None, threads: _Int | None = None
) -> NDArray[Any]: ...

@overload
def transpose(
    x: _Array, /, order: _List = (), *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def transpose(
    x: ArrayLike,
    /,
    order: _List = (),
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def flip(
    x: _Array,
    /,
    axis: _Ints | None = None,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def flip(
    x: ArrayLike,
    /,
    axis: _Ints | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def reverse_subsequences(
    x: _Array,
    /,
    lengths: ArrayLike | _DLPack,
    axis: _Int,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def reverse_subsequences(
    x: ArrayLike,
    /,
    lengths: ArrayLike | _DLPack,
    axis: _Int,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def reverse_sequence(
    x: _Array,
    /,
    lengths: ArrayLike | _DLPack,
    axis: _Int,
    batch_axis: _Int,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def reverse_sequence(
    x: ArrayLike,
    /,
    lengths: ArrayLike | _DLPack,
    axis: _Int,
    batch_axis: _Int,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def moveaxis(
    a: _Array,
    source: _Ints,
    destination: _Ints,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def moveaxis(
    a: ArrayLike,
    source: _Ints,
    destination: _Ints,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def swapaxes(
    a: _Array, axis1: _Int, axis2: _Int, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def swapaxes(
    a: ArrayLike,
    axis1: _Int,
    axis2: _Int,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def take(
    x: _Array,
    indices: ArrayLike | _DLPack,
    /,
    axis: _Int | None = None,
    *,
    mode: _IndexMode = "raise",
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def take(
    x: ArrayLike,
    indices: ArrayLike | _DLPack,
    /,
    axis: _Int | None = None,
    *,
    mode: _IndexMode = "raise",
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def take_along_axis(
    x: _Array,
    indices: ArrayLike | _DLPack,
    /,
    axis: _Int | None = -1,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def take_along_axis(
    x: ArrayLike,
    indices: ArrayLike | _DLPack,
    /,
    axis: _Int | None = -1,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def repeat(
    x: _Array,
    /,
    repeats: _Ints | _DLPack,
    axis: _Int | None = None,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def repeat(
    x: ArrayLike,
    /,
    repeats: _Ints | _DLPack,
    axis: _Int | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def tile(
    x: _Array,
    /,
    reps: _Ints,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def tile(
    x: ArrayLike,
    /,
    reps: _Ints,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

def copyto(
    dst: _DLPack,
    src: ArrayLike | _DLPack,
    /,
    casting: str = "same_kind",
    where: Literal[True] = True,
    *,
    threads: _Int | None = None,
) -> None: ...

# These functions return the base class for subclasses of numpy.ndarray.

@overload
def ascontiguousarray(
    x: NDArray[_Scalar],
    /,
    dtype: DTypeLike | None = None,
    *,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def ascontiguousarray(
    x: _Array,
    /,
    dtype: Any = None,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def ascontiguousarray(
    x: ArrayLike,
    /,
    dtype: DTypeLike | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def fftshift(
    x: NDArray[_Scalar],
    axes: _Ints | None = None,
    *,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def fftshift(
    x: _Array, axes: _Ints | None = None, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def fftshift(
    x: ArrayLike,
    axes: _Ints | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def ifftshift(
    x: NDArray[_Scalar],
    axes: _Ints | None = None,
    *,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def ifftshift(
    x: _Array, axes: _Ints | None = None, *, out: _Array | None = None, threads: _Int | None = None
) -> _Array: ...
@overload
def ifftshift(
    x: ArrayLike,
    axes: _Ints | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def broadcast_to(
    x: NDArray[_Scalar],
    /,
    shape: _Ints,
    *,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def broadcast_to(
    x: _Array,
    /,
    shape: _Ints,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def broadcast_to(
    x: ArrayLike,
    /,
    shape: _Ints,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def sliding_window_view(
    x: NDArray[_Scalar],
    /,
    window_shape: _Ints,
    axis: _Ints | None = None,
    *,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def sliding_window_view(
    x: _Array,
    /,
    window_shape: _Ints,
    axis: _Ints | None = None,
    *,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def sliding_window_view(
    x: ArrayLike,
    /,
    window_shape: _Ints,
    axis: _Ints | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def pad(
    x: NDArray[_Scalar],
    /,
    pad_width: _Widths,
    mode: _PadMode = "constant",
    *,
    constant_values: ArrayLike = 0,
    out: NDArray[_Scalar] | None = None,
    threads: _Int | None = None,
) -> NDArray[_Scalar]: ...
@overload
def pad(
    x: _Array,
    /,
    pad_width: _Widths,
    mode: _PadMode = "constant",
    *,
    constant_values: ArrayLike = 0,
    out: _Array | None = None,
    threads: _Int | None = None,
) -> _Array: ...
@overload
def pad(
    x: ArrayLike,
    /,
    pad_width: _Widths,
    mode: _PadMode = "constant",
    *,
    constant_values: ArrayLike = 0,
    out: NDArray[Any] | None = None,
    threads: _Int | None = None,
) -> NDArray[Any]: ...

@overload
def rearrange(x: NDArray[_Scalar], pattern: str, /, **sizes: _Int) -> NDArray[_Scalar]: ...
@overload
def rearrange(x: _Array, pattern: str, /, **sizes: _Int) -> _Array: ...
@overload
def rearrange(x: ArrayLike, pattern: str, /, **sizes: _Int) -> NDArray[Any]: ...

def chain(*stages: str) -> Chain: ...

def onnx_library() -> str: ...

def tune(*, keep: bool = True) -> dict[str, Any]: ...

@final
class Chain:
    def __new__(cls, *stages: str) -> Chain: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Scalar],
        /,
        *,
        out: NDArray[_Scalar] | None = None,
        threads: _Int | None = None,
        **given: ArrayLike | _DLPack,
    ) -> NDArray[_Scalar]: ...
    @overload
    def __call__(
        self,
        x: _Array,
        /,
        *,
        out: _Array | None = None,
        threads: _Int | None = None,
        **given: ArrayLike | _DLPack,
    ) -> _Array: ...
    @overload
    def __call__(
        self,
        x: ArrayLike,
        /,
        *,
        out: NDArray[Any] | None = None,
        threads: _Int | None = None,
        **given: ArrayLike | _DLPack,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self,
        *,
        out: Any = None,
        threads: _Int | None = None,
        **given: ArrayLike | _DLPack,
    ) -> Any: ...
    def plan(
        self,
        x: ArrayLike | _DLPack | None = None,
        /,
        *,
        out: Any | None = None,
        threads: _Int | None = None,
        **given: ArrayLike | _DLPack,
    ) -> Plan: ...
    def __or__(self, other: Chain | str, /) -> Chain: ...
    def __ror__(self, other: str, /) -> Chain: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Model:
    def __new__(cls, path: str | PathLike[str], /, *, follow_links: bool = False) -> Model: ...
    @property
    def inputs(self) -> dict[str, tuple[str, tuple[int | str | None, ...] | None]]: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    def __call__(
        self,
        *arrays: ArrayLike | _DLPack,
        out: dict[str, NDArray[Any]] | None = None,
        threads: _Int | None = None,
        **named: ArrayLike | _DLPack,
    ) -> dict[str, NDArray[Any]]: ...
    def plan(
        self,
        *arrays: ArrayLike | _DLPack,
        threads: _Int | None = None,
        **named: ArrayLike | _DLPack,
    ) -> ModelPlan: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]: ...

@final
class ModelPlan:
    @property
    def passes(self) -> int: ...
    @property
    def moved_bytes(self) -> int: ...

@final
class Plan:
    @property
    def passes(self) -> int: ...
    @property
    def out_shape(self) -> tuple[int, ...]: ...
    @property
    def scratch_bytes(self) -> int: ...
