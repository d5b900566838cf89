"""A codec for zarr-python that transposes chunks at the speed of memory.

zarr-python takes it in place of its own after one line of configuration, in version 3 of Zarr and wherever it finds
``transpose`` among the codecs::

    zarr.config.set({"codecs.transpose": "trundle.codecs.TransposeCodec"})

What is stored is the same. zarr-python's own codec leaves chunks as views, which are then copied element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import zarr.codecs  # type: ignore[import-not-found, unused-ignore]

import trundle

__all__ = ["TransposeCodec"]


class TransposeCodec(zarr.codecs.TransposeCodec):
    """The codec ``transpose`` of Zarr, version 3: the axes of a chunk in another order.

    Parameters
    ----------
    order : iterable of int
        Which axis of a chunk stands where when it is encoded, the slowest first.
    """

    def _encode_sync(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return _transposed(chunk_array, self.order, chunk_spec)

    def _decode_sync(self, chunk_array: Any, chunk_spec: Any) -> Any:
        inverse = tuple(self.order.index(axis) for axis in range(len(self.order)))
        return _transposed(chunk_array, inverse, chunk_spec)

    # What versions of zarr-python call that have no others.
    async def _encode_single(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return self._encode_sync(chunk_array, chunk_spec)

    async def _decode_single(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return self._decode_sync(chunk_array, chunk_spec)


def _transposed(chunk: Any, order: tuple[int, ...], spec: Any) -> Any:
    """The chunk with its axes in this order; as a view where it is not of NumPy, or of Python's objects."""
    array = chunk.as_ndarray_like()
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        return chunk.transpose(order)
    return spec.prototype.nd_buffer.from_ndarray_like(trundle.transpose(array, order))
