"""A codec for zarr-python that transposes chunks with trundle.

Use it in place of zarr-python's own codec, for Zarr version 3, wherever ``transpose`` is among the codecs::

    zarr.config.set({"codecs.transpose": "trundle.codecs.TransposeCodec"})

The stored data is the same, but reading and writing are faster: zarr-python's own codec returns views of chunks, and
zarr-python then copies the views element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import zarr.codecs  # type: ignore[import-not-found, unused-ignore]

import trundle

__all__ = ["TransposeCodec"]


class TransposeCodec(zarr.codecs.TransposeCodec):
    """The codec ``transpose`` of Zarr, version 3, which permutes the axes of a chunk.

    Parameters
    ----------
    order : iterable of int
        The axes of a chunk in the order of the encoded chunk, the slowest first.
    """

    def _encode_sync(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return _transposed(chunk_array, self.order, chunk_spec)

    def _decode_sync(self, chunk_array: Any, chunk_spec: Any) -> Any:
        inverse = tuple(self.order.index(axis) for axis in range(len(self.order)))
        return _transposed(chunk_array, inverse, chunk_spec)

    # Called by versions of zarr-python that have no synchronous methods.
    async def _encode_single(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return self._encode_sync(chunk_array, chunk_spec)

    async def _decode_single(self, chunk_array: Any, chunk_spec: Any) -> Any:
        return self._decode_sync(chunk_array, chunk_spec)


def _transposed(chunk: Any, order: tuple[int, ...], spec: Any) -> Any:
    """Returns the transposed chunk: a view if the array is not numpy's or holds Python objects, else a copy."""
    array = chunk.as_ndarray_like()
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        return chunk.transpose(order)
    return spec.prototype.nd_buffer.from_ndarray_like(trundle.transpose(array, order))
