#!/usr/bin/env python3
"""Make the stores that tests/stores.rs reads. zarr-python writes them with each codec: the numbers 0, 1, 2, ... as f32
with the shape (5, 7, 9), in chunks of (3, 4, 5).

    pip install zarr==3.1.6
    python3 crates/trundle-zarr/tests/make.py
"""

import shutil
from pathlib import Path

import numcodecs
import numpy as np
import zarr
import zarr.codecs.numcodecs

STORES = Path(__file__).parent / "stores"

NUMBERS = np.arange(5 * 7 * 9, dtype="f4").reshape(5, 7, 9)


def make(name, chunks=(3, 4, 5), dtype="f4", **named):
    array = zarr.create_array(STORES / name, shape=NUMBERS.shape, chunks=chunks, dtype=dtype, **named)
    array[:] = NUMBERS


shutil.rmtree(STORES, ignore_errors=True)
STORES.mkdir()
for name, compressor in [
    ("v2-zstd", numcodecs.Zstd()),
    ("v2-blosc", numcodecs.Blosc("lz4")),
    ("v2-gzip", numcodecs.GZip()),
    ("v2-zlib", numcodecs.Zlib()),
    ("v2-lz4", numcodecs.LZ4()),
    ("v2-bz2", numcodecs.BZ2()),
    ("v2-adler32", numcodecs.Adler32()),
]:
    make(name, dtype=">f4", zarr_format=2, compressors=compressor, order="F" if name == "v2-zstd" else "C")
make("v2-shuffle", zarr_format=2, compressors=None, filters=[numcodecs.Shuffle(4)])
make("v3-zstd", compressors=[zarr.codecs.ZstdCodec()])
make("v3-blosc", compressors=[zarr.codecs.BloscCodec(cname="zstd")])
make("v3-gzip-transposed", compressors=[zarr.codecs.GzipCodec()], filters=[zarr.codecs.TransposeCodec(order=(2, 0, 1))])
make("v3-big", serializer=zarr.codecs.BytesCodec(endian="big"), compressors=None)
make("v3-lz4", compressors=[zarr.codecs.numcodecs.LZ4()])
make("v3-sharded", chunks=(1, 4, 3), shards=(3, 4, 6))
