"""Functions that move the elements of arrays: roll, transpose, flip, take, pad and others, and chains of them.

The functions take numpy arrays, torch tensors, and any array with ``__dlpack__`` on the CPU, and return arrays of the
same kind. They also move torch tensors and CuPy arrays on an NVIDIA GPU, on the current stream of torch or CuPy.
Results are new and C-contiguous unless ``out`` is given. Elements keep their bits, whatever their dtype is; only object
dtypes are refused. A chain runs in one pass over memory if its operators can be combined.

>>> import numpy as np, trundle
>>> bgr = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
>>> trundle.ascontiguousarray(bgr[..., ::-1].transpose(2, 0, 1))
array([[[ 2,  5],
        [ 8, 11]],
<BLANKLINE>
       [[ 1,  4],
        [ 7, 10]],
<BLANKLINE>
       [[ 0,  3],
        [ 6,  9]]], dtype=uint8)

Most functions have these keywords:

out
    An array for the result, of the same kind as ``x``, with the shape and dtype of the result and any strides. It may
    overlap ``x``; the result is the same as if ``x`` was copied first. With ``out=x``, a large array is moved in place
    if possible. The function returns ``out``.
threads
    The maximum number of threads, 1 or more. If None, the number of cores available to the process. Ignored on a GPU.

``axis`` and ``axes`` are synonyms in all functions.

Functions release the GIL if they move more than a few KiB. Ctrl-C interrupts a long move, but not a move in place.
"""

from . import zarr
from ._trundle import (
    Chain,
    Model,
    ModelPlan,
    Plan,
    __version__,
    ascontiguousarray,
    broadcast_to,
    chain,
    concatenate,
    copyto,
    fftshift,
    flip,
    ifftshift,
    moveaxis,
    onnx_library,
    pad,
    permute_dims,
    put_along_axis,
    rearrange,
    repeat,
    reverse_sequence,
    reverse_subsequences,
    roll,
    rot90,
    sliding_window_view,
    split,
    stack,
    swapaxes,
    take,
    take_along_axis,
    tile,
    transpose,
    tune,
)

_NAMED_HERE = {
    "permute": "permute_dims",
    "concat": "concatenate",
    "cat": "concatenate",
    "fliplr": "flip(x, axis=1)",
    "flipud": "flip(x, axis=0)",
    "copy": "ascontiguousarray",
    "contiguous": "ascontiguousarray",
    "gather": "take_along_axis",
    "scatter": "put_along_axis",
    "unfold": "sliding_window_view",
    "expand": "broadcast_to",
}


def __getattr__(name: str) -> object:
    """Imports ``trundle.torch`` on first use, and adds hints to errors for names of other libraries."""
    hint = ""
    if name == "torch":
        import importlib

        try:
            return importlib.import_module(".torch", __name__)
        except ImportError as error:
            # An older PyTorch lacks modules of newer versions.
            if (error.name or "").partition(".")[0] != "torch":
                raise
            hint = ": it needs PyTorch 2.5 or newer"
    elif name in _NAMED_HERE:
        hint = f"; use trundle.{_NAMED_HERE[name]}"
    raise AttributeError(f"module 'trundle' has no attribute {name!r}{hint}")


__all__ = sorted(name for name in globals() if not name.startswith("_"))
