"""Moves the elements of arrays: rolls, transposes and reverses them, exactly, at the speed of memory, and in one pass
however many steps are chained.

numpy arrays in, numpy arrays out. Tensors of torch, and any array with ``__dlpack__`` on the CPU, in and the same kind
out. Tensors of torch and arrays of CuPy on a GPU of NVIDIA's are moved there, on the stream on which their library works. Results are new and C-contiguous, unless ``out`` is given. Elements are moved and never looked at: every bit
pattern of every dtype but object stays as it is.

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

The keywords that most functions have:

out
    Where the result goes: an array of the same kind as ``x``, with the result's shape and dtype and any strides. It is
    returned. It may overlap ``x``: the result is then as if ``x`` had been copied first. If it is ``x`` itself, large
    arrays are moved in place where that can be, without a copy.
threads
    How many threads may move at once, 1 or more. None: as many as the process has cores. On a GPU it says nothing.

``axis`` and ``axes`` are the same argument, whichever of them a function has.

The interpreter lock is released while more than a few KiB are moved, and Ctrl-C stops a long move, but one
in place, for whose end it waits.
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

# What other libraries call a function of this package.
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
    """``trundle.torch``, which is imported when it is first used, and a hint for names of other libraries."""
    hint = ""
    if name == "torch":
        import importlib

        try:
            return importlib.import_module(".torch", __name__)
        except ImportError as error:
            # An older PyTorch lacks modules that a newer one has.
            if (error.name or "").partition(".")[0] != "torch":
                raise
            hint = ": it needs PyTorch 2.5 or newer"
    elif name in _NAMED_HERE:
        hint = f"; use trundle.{_NAMED_HERE[name]}"
    raise AttributeError(f"module 'trundle' has no attribute {name!r}{hint}")


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
