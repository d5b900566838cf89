#!/usr/bin/env python3
"""Exchange random stores between the program, zarr-python and tensorstore, and compare what each reads.

    pip install zarr==3.1.6 tensorstore==0.1.86
    crates/trundle-zarr/tests/with_zarr_python.py target/release/trundle --count 200
"""

import argparse
import gzip
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numcodecs
import numpy as np
import tensorstore
import zarr

# The small limits below apply to the data that are moved, not to the memory of the program itself.
os.environ["TRUNDLE_OWN_MEMORY"] = "0"

TYPES = ["u1", "<i2", ">i4", "f4", "f8", "c16", ">c8", ">f8", "?", "<U5", ">U3", "<M8[s]", ">m8[25us]", "S5", "V3"]
STRUCTURES = [[("a", "<i4"), ("b", "<f8")], [("a", "u1"), ("b", "<U2"), ("c", "S3")], [("a", "?"), ("b", "<M8[s]"), ("c", "V5")]]
# zarr-python 3.1 stores big-endian fields in version 3 as if they were little-endian.
BIG_ENDIAN = [[("a", ">i4"), ("b", "u1"), ("c", ">f8")], [("a", "<i2"), ("b", ">c16")]]

# zarr-python 3.1 fails with shards of raw bytes and structures.
HAS_SHARDS_OF_BYTES = tuple(map(int, zarr.__version__.split(".")[:2])) > (3, 1)

# Each codec of version 2, with the codecs that the program writes instead of it in version 3.
V2_CODECS = [
    (None, []),
    (numcodecs.Zstd(5), [zarr.codecs.ZstdCodec(level=5)]),
    (numcodecs.Blosc("lz4hc", 3, numcodecs.Blosc.BITSHUFFLE), "blosc"),
    (numcodecs.GZip(2), [zarr.codecs.GzipCodec(level=2)]),
    (numcodecs.Zlib(4), [zarr.codecs.GzipCodec(level=4)]),
    (numcodecs.BZ2(1), [zarr.codecs.ZstdCodec(level=9)]),
    (numcodecs.Adler32(), [zarr.codecs.Crc32cCodec()]),
    (numcodecs.LZ4(), "blosc"),
]

V3_CODECS = [
    [],
    [zarr.codecs.ZstdCodec(level=-2, checksum=True)],
    [zarr.codecs.BloscCodec(cname="zstd", clevel=2, shuffle="noshuffle", typesize=4)],
    [zarr.codecs.BloscCodec(cname="blosclz", clevel=9, shuffle="shuffle", blocksize=4096)],
    [zarr.codecs.GzipCodec(level=1), zarr.codecs.Crc32cCodec()],
]

# Values of --codec, with the corresponding codecs of zarr-python.
CODEC_OPTIONS = {
    "none": [],
    "zstd:7": [zarr.codecs.ZstdCodec(level=7)],
    "gzip:9,crc32c": [zarr.codecs.GzipCodec(level=9), zarr.codecs.Crc32cCodec()],
    "blosc:lz4:1:bitshuffle": "blosc",
    "blosc:zlib": "blosc",
}


def some_array(chance):
    """Return a random array whose elements are as distinct as their type allows."""
    rank = chance.randint(1, 4)
    shape = [chance.randint(1, [400, 60, 24, 14][rank - 1]) for _ in range(rank)]
    if chance.random() < 0.03:
        shape[chance.randrange(rank)] = 0
    count = math.prod(shape)
    if chance.random() < 0.25:
        dtype = np.dtype(chance.choice(STRUCTURES))
        array = np.zeros(shape, dtype)
        for name in dtype.names:
            field = dtype[name]
            numbers = np.arange(count) % 250
            array[name] = (numbers.astype("S3" if field.kind == "V" else field)).astype(field).reshape(shape)
        return array
    return (np.arange(count) * 7 + 3).astype(chance.choice(TYPES)).reshape(shape)


def some_filters(chance, dtype):
    """Return filters for an array of version 2, and the codecs that the program writes instead of them."""
    number = dtype.str
    filters = [([numcodecs.CRC32(location=chance.choice(["start", "end"]))], [zarr.codecs.Crc32cCodec()])]
    if dtype.kind in "iu" or number in ("<f4", "<f8", ">f8"):
        filters += [([numcodecs.Delta(number)], [])] * 3
    if number in ("<f4", "<f8"):
        filters += [([numcodecs.BitRound(7)], []), ([numcodecs.BitRound(9), numcodecs.Quantize(2, number)], [])]
    if dtype.kind == "b":
        filters += [([numcodecs.PackBits()], [])] * 3
    return chance.choice(filters) if chance.random() < 0.5 else (None, [])


def uneven_store(chance, path, array):
    """Write a store of version 3 in chunks of different sizes. zarr-python 3.1 does not have them."""
    # The chunks of the older grid end where the array ends.
    is_rectangular = chance.random() < 0.3 and array.size > 0
    edges = []
    for size in array.shape:
        cuts = sorted(chance.sample(range(1, size), min(size - 1, chance.randint(0, 5)))) if size > 1 else []
        ends = [*cuts, max(size, 1) + (0 if is_rectangular else chance.randint(0, 2))]
        edges.append([end - begin for begin, end in zip([0, *ends], ends)])
    folder = Path(path)
    like = zarr.create_array(zarr.storage.MemoryStore(), shape=(1,), dtype=array.dtype, **fill_of(array.dtype))
    document = like.metadata.to_dict()
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]
    lengths = [[[edge, 1] if chance.random() < 0.3 else edge for edge in axis] for axis in edges]
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": lengths}}
    if is_rectangular:
        grid = {"name": "rectangular", "configuration": {"chunk_shape": edges}}
    names = ["zarr_format", "node_type", "data_type", "chunk_key_encoding", "fill_value", "attributes"]
    document = {name: document[name] for name in names} | {"chunk_grid": grid, "codecs": codecs, "shape": array.shape}
    folder.mkdir()
    (folder / "zarr.json").write_text(json.dumps(document))
    begins = [list(itertools.accumulate([0, *axis]))[:-1] for axis in edges]
    for index in itertools.product(*(range(len(axis)) for axis in edges)):
        if chance.random() < 0.1 or array.size == 0:
            part = tuple(slice(begins[axis][i], begins[axis][i] + edges[axis][i]) for axis, i in enumerate(index))
            array[part] = np.array(like.fill_value, array.dtype)
            continue
        chunk = np.zeros([edges[axis][i] for axis, i in enumerate(index)], array.dtype)
        part = tuple(slice(begins[axis][i], begins[axis][i] + edges[axis][i]) for axis, i in enumerate(index))
        chunk[tuple(slice(0, size) for size in array[part].shape)] = array[part]
        file = folder.joinpath("c", *map(str, index))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(chunk.tobytes(), 1))
    if HAS_SHARDS_OF_BYTES and grid["name"] == "rectilinear":
        zarr.config.set({"array.rectilinear_chunks": True})
        if not equal(zarr.open_array(path, mode="r")[...], array):
            sys.exit(f"zarr-python reads other elements of {document}")
    return array


def fill_of(dtype):
    """Return a fill value of zeros where zarr-python needs one."""
    return {"fill_value": np.zeros((), dtype)[()]} if dtype.names else {}


def some_store(chance, path, array):
    """Write the array, or sometimes only a part of it, with zarr-python to a store of a random kind. Return the
    contents of the store, its kind, and the codecs that the program must keep."""
    chunks = tuple(chance.randint(1, size + 2) for size in array.shape)
    native = array.dtype.newbyteorder("=")
    kind = chance.choice(["2", "3", "sharded", "transposed", "uneven"])
    if kind == "uneven":
        return uneven_store(chance, path, array.astype(native)), kind, [zarr.codecs.GzipCodec(level=1)]
    if kind == "sharded" and native.kind == "V" and not HAS_SHARDS_OF_BYTES:
        kind = "3"
    same = {"shape": array.shape, "store": path}
    kept = chance.choice(V3_CODECS)
    fill = 0
    if native.kind in "SV":
        fill = np.zeros((), native)[()] if chance.random() < 0.5 or array.size == 0 else array.flat[array.size // 2]
        same["fill_value"] = fill
    if kind == "2":
        if array.dtype.names and chance.random() < 0.5:
            dtype = np.dtype(chance.choice(BIG_ENDIAN))
            array = (np.arange(array.size * dtype.itemsize) % 251).astype("u1").view(dtype).reshape(array.shape)
            fill = array.flat[0] if array.size else np.zeros((), dtype)[()]
        compressor, kept = chance.choice(V2_CODECS)
        filters, first = some_filters(chance, array.dtype)
        kept = kept if kept == "blosc" or not first else [*first, *kept]
        compressor, kept = (None, first) if first and kept == "blosc" else (compressor, kept)
        store = zarr.create_array(
            **same | {"fill_value": fill},
            dtype=array.dtype,
            chunks=chunks,
            zarr_format=2,
            order=chance.choice("CF"),
            filters=filters,
            compressors=compressor,
        )
    elif kind == "3":
        store = zarr.create_array(**same, dtype=native, chunks=chunks, compressors=kept)
    elif kind == "sharded":
        chunks = tuple(chance.randint(1, 5) for _ in array.shape)
        shards = tuple(chunk * chance.randint(1, 4) for chunk in chunks)
        store = zarr.create_array(**same, dtype=native, chunks=chunks, shards=shards, compressors=kept)
    else:
        order = chance.sample(range(array.ndim), array.ndim)
        filters = [zarr.codecs.TransposeCodec(order=tuple(order))]
        store = zarr.create_array(**same, dtype=native, chunks=chunks, filters=filters, compressors=kept)
    if chance.random() < 0.3:
        # Where nothing is written, elements have the fill value, and most chunks have no file.
        part = tuple(slice(chance.randint(0, size), None) for size in array.shape)
        store[part] = array[part]
        array = store[...]
    else:
        store[...] = array
        # Some filters round the elements.
        array = store[...]
    if kept and kind != "2" and isinstance(kept[0], zarr.codecs.BloscCodec):
        # If the codec states no element size, zarr-python adds it.
        kept = list(store.compressors)
    return array, kind, kept


def some_chain(chance, array):
    """Return a random chain and its result, which numpy computes."""
    stages = []
    for _ in range(chance.randint(1, 3)):
        axis = chance.randrange(array.ndim)
        match chance.choice(["transpose", "roll", "flip"]):
            case "transpose":
                order = chance.sample(range(array.ndim), array.ndim)
                stages.append(f"transpose({','.join(map(str, order))})")
                array = array.transpose(order)
            case "roll":
                shift = chance.randint(-50, 50)
                stages.append(f"roll(shift={shift}, axes={axis})")
                array = np.roll(array, shift, axis)
            case "flip":
                stages.append(f"flip(axes={axis})")
                array = np.flip(array, axis)
    return " | ".join(stages), array


def some_chunks(chance, array):
    """Return options for the chunks of the output, and the chunks and shards that zarr-python should find."""
    sizes = [chance.randint(1, 12) for _ in array.shape]
    shards = [size * chance.randint(1, 4) for size in sizes]
    options = ["--chunks", ",".join(map(str, sizes))]
    match chance.randrange(3 if array.dtype.kind != "V" or HAS_SHARDS_OF_BYTES else 2):
        case 0:
            return [], None
        case 1:
            return options, (tuple(sizes), None)
        case _:
            return [*options, "--shards", ",".join(map(str, shards))], (tuple(sizes), tuple(shards))


def try_move(program, *arguments):
    """Run the program. Return False if it needs more memory or cannot avoid moving data; exit on other errors."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    refused = ("of memory are needed", "metadata only:")
    if done.returncode and not any(why in done.stderr for why in refused):
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")
    return done.returncode == 0


def equal(found, expected):
    """Return whether the elements are equal; one "not a time" equals another."""
    if expected.dtype.kind in "SV":
        return found.tobytes() == expected.astype(expected.dtype.newbyteorder("=")).tobytes()
    return np.array_equal(found, expected, equal_nan=expected.dtype.kind in "Mm")


def check_read(what, store, out, expected):
    """Check that zarr-python and tensorstore read the expected elements."""
    if store.dtype != expected.dtype.newbyteorder("=") or not equal(store[...], expected):
        sys.exit(f"{what}: zarr-python reads other elements")
    # tensorstore supports neither fixed-length strings nor times nor these structures.
    if expected.dtype.kind not in "UMmSV":
        kvstore = {"driver": "file", "path": str(out)}
        found = tensorstore.open({"driver": "zarr3", "kvstore": kvstore}).result().read().result()
        if not np.array_equal(found, expected):
            sys.exit(f"{what}: tensorstore reads other elements")


def zipped(chance, store):
    """Pack a store in an archive, with or without a folder around it, and with members that others replace."""
    archive = store.with_suffix(".zip")
    root = chance.choice([store, store.parent])
    with zipfile.ZipFile(archive, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as new:
        for file in filter(Path.is_file, store.rglob("*")):
            if chance.random() < 0.2:
                new.writestr(str(file.relative_to(root)), b"{}")
            new.write(file, file.relative_to(root))
    return archive


def check(program, folder, chance):
    """Move one array from a store or an .npy file to a store and back. Return 1, or 0 if the memory did not suffice."""
    array = some_array(chance)
    source = folder / "x.npy"
    kind, codecs = "npy", [zarr.codecs.ZstdCodec(level=3)]
    if chance.random() < 0.7:
        source = folder / "x.zarr"
        array, kind, codecs = some_store(chance, str(source), array)
        if chance.random() < 0.3:
            source = zipped(chance, source)
    else:
        np.save(source, array)
    chain, expected = some_chain(chance, array)
    chunks, sizes = some_chunks(chance, expected)
    memory = ["--max-mem", chance.choice(["8K", "40K", "200K", "1M", "64M"])]
    verify = ["--verify"] * chance.randrange(2)
    out = folder / "y.zarr"
    arguments = ["apply", str(source), chain, "-o", str(out), *chunks, *memory, *verify]
    if chance.random() < 0.4:
        option = chance.choice(list(CODEC_OPTIONS))
        codecs = CODEC_OPTIONS[option]
        arguments += ["--codec", option]
    if not try_move(program, *arguments):
        return 0
    what = f"{kind} {array.dtype.str} {array.shape}: {arguments}"
    store = zarr.open_array(out, mode="r")
    if sizes and (store.chunks, store.shards) != sizes:
        sys.exit(f"{what}: chunks of {store.chunks}, shards of {store.shards}")
    check_read(what, store, out, expected)
    if codecs == "blosc":
        is_kept = [type(codec) for codec in store.compressors] == [zarr.codecs.BloscCodec]
    else:
        is_kept = list(store.compressors) == codecs
    if not is_kept:
        sys.exit(f"{what}: codecs {store.compressors}, not {codecs}")
    # Move the output again, by changing only its metadata if possible.
    order = chance.sample(range(expected.ndim), expected.ndim)
    again = folder / "z.zarr"
    chain = f"transpose({','.join(map(str, order))})"
    if try_move(program, "apply", str(out), chain, "-o", str(again), "--metadata-only", *memory, *verify):
        turned = zarr.open_array(again, mode="r")
        check_read(f"{what}, {chain} --metadata-only", turned, again, expected.transpose(order))
        out, expected = again, expected.transpose(order)
    back = folder / "back.npy"
    if try_move(program, "apply", str(out), "roll(shift=0, axes=0)", "-o", str(back), *memory):
        read = np.load(back)
        if not equal(read, expected):
            sys.exit(f"{what}: the program reads other elements from its own store")
    return 1


WORDS = ["", "", "Oslo", "Żnin", "naïve 🦀", "x" * 300, "a b"]


def check_strings(program, folder, chance):
    """Check a random array of strings of variable length in a group, moved and not moved."""
    version, shape = chance.choice([2, 3]), [chance.randint(1, 9) for _ in range(chance.randint(1, 3))]
    chunk = tuple(chance.randint(1, size) for size in shape)
    values = np.array([chance.choice(WORDS) for _ in range(math.prod(shape))], object).reshape(shape)
    fill = chance.choice(["", "none"])
    root = zarr.open_group(folder / "t.zarr", mode="w", zarr_format=version)
    options = {"filters": [numcodecs.VLenUTF8()], "compressors": chance.choice(V2_CODECS)[0]}
    if version == 3:
        options = {"compressors": chance.choice(V3_CODECS) or None}
    made = root.create_array("s", shape=shape, chunks=chunk, dtype="str", fill_value=fill, **options)
    root.create_array("n", shape=shape, dtype="i4")[...] = 1
    if chance.random() < 0.3:
        corner = tuple(slice(0, chance.randint(0, size)) for size in shape)
        whole = np.full(shape, fill, object)
        whole[corner] = values[corner]
        made[corner], values = values[corner], whole
    else:
        made[...] = values
    axis, shift = chance.randrange(len(shape)), chance.randint(-9, 9)
    order = chance.sample(range(len(shape)), len(shape))
    indices = [chance.randrange(shape[axis]) for _ in range(chance.randint(1, 5))]
    stages = f"roll(shift={shift}, axes={axis}) | take(indices={indices}, axis={axis}) | transpose({','.join(map(str, order))})"
    expected = np.take(np.roll(values, shift, axis), indices, axis).transpose(order)
    more = ["--codec", chance.choice(["none", "zstd:1", "gzip:1,crc32c", "blosc", "shuffle,zstd:2"])] if chance.random() < 0.5 else []
    for command, right in [(["convert"], values), (["apply", stages], expected)]:
        out = folder / "o.zarr"
        arguments = [command[0], str(folder / "t.zarr"), *command[1:], "-o", str(out), "--verify", "--force", "--quiet", *more]
        subprocess.run([program, *arguments], check=True, stderr=subprocess.DEVNULL)
        read = np.asarray(zarr.open_group(out, mode="r")["s"][...]).astype(object)
        if read.tolist() != right.tolist():
            sys.exit(f"{arguments} of strings of version {version}: {read}, not {right}")
        if command == ["convert"]:
            # The chunks of strings that are not moved are copied.
            keys = {path.relative_to(out / "s") for path in (out / "s").rglob("*") if path.is_file()}
            stored = [path for path in (folder / "t.zarr" / "s").rglob("*") if path.is_file() and path.name[0] not in ".z"]
            assert len(keys) == len(stored) + 1, (keys, stored)
            for path in stored:
                assert (out / "s" / path.relative_to(folder / "t.zarr" / "s")).read_bytes() == path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # Fixed-length strings have no specification yet, so zarr-python warns about them.
    warnings.filterwarnings("ignore", module="zarr")
    warnings.filterwarnings("ignore", module="zipfile")
    chance = random.Random(arguments.seed)
    enough = 0
    for _ in range(arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            enough += check(str(arguments.program.resolve()), Path(folder), chance)
            check_strings(str(arguments.program.resolve()), Path(folder), chance)
    if enough < arguments.count // 2:
        sys.exit(f"only {enough} of {arguments.count} had enough memory")
    print(f"zarr-python {zarr.__version__} and tensorstore read the same elements from {enough} stores")


if __name__ == "__main__":
    main()
