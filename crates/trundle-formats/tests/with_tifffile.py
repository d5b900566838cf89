#!/usr/bin/env python3
"""Writes random TIFF files with tifffile, moves their tensors with random chains, and compares all elements with numpy.
tifffile must give the same shapes and axis names.

    with_tifffile.py TRUNDLE [--count 300] [--seed 1]

Needs imagecodecs, numpy and tifffile.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile

import numpy as np
import tifffile

# The small limits below apply to the data that are moved, not to the memory of the program itself.
os.environ["TRUNDLE_OWN_MEMORY"] = "0"

INTEGERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
COMPRESSIONS = [None, None, "zlib", "lzw", "zstd", "packbits"]


def some_values(rng, shape, dtype):
    """Values that compress, with some that do not."""
    values = np.arange(math.prod(shape), dtype="u8").reshape(shape)
    noise = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 1 << 63, shape, "u8")
    values = np.where(noise % 3 == 0, noise, values * rng.choice([0, 1, 257]))
    if dtype.startswith("f") or dtype.startswith("c"):
        return (values.astype("f8") / 7 % 1000 - 300).astype(dtype)
    return values.astype(dtype)


def some_storage(rng, dtype, is_ome=False):
    """Random options for how a page is stored."""
    options = {"compression": rng.choice(COMPRESSIONS)}
    if rng.random() < 0.4:
        options["tile"] = (16 * rng.choice([1, 1, 2, 4]), 16 * rng.choice([1, 2, 3]))
    elif rng.random() < 0.7:
        options["rowsperstrip"] = rng.choice([1, 2, 3, 7, 16, 100])
    is_compressed = options["compression"] in ("zlib", "lzw", "zstd")
    if is_compressed and dtype[0] in "ui" and rng.random() < 0.5:
        options["predictor"] = 2
    if is_compressed and dtype[0] == "f" and rng.random() < 0.5:
        options["predictor"] = 3
    return options


def page_shape(rng):
    shape = [rng.choice([1, 5, 17, 33, 64]), rng.choice([1, 3, 16, 31, 70])]
    samples = rng.choice([1, 1, 1, 3, 4, 2])
    if samples == 1:
        return shape, {"photometric": "minisblack"}
    planar = rng.choice(["contig", "separate"])
    photometric = "rgb" if samples in (3, 4) else "minisblack"
    return [samples, *shape] if planar == "separate" else [*shape, samples], {"photometric": photometric, "planarconfig": planar}


def write_plain(rng, path):
    """Pages without a description, and sometimes of several shapes or with pages of reduced resolution."""
    dtype = rng.choice(INTEGERS + FLOATS + COMPLEX)
    with tifffile.TiffWriter(path, bigtiff=rng.random() < 0.4, byteorder=rng.choice("<>")) as file:
        for _ in range(rng.choice([1, 1, 1, 2])):
            page, how = page_shape(rng)
            storage = some_storage(rng, dtype)
            for _ in range(rng.choice([1, 1, 2, 5])):
                file.write(some_values(rng, page, dtype), metadata=None, **how, **storage, contiguous=False)
                if rng.random() < 0.1:
                    small = some_values(rng, [4, 4], dtype)
                    file.write(small, metadata=None, photometric="minisblack", subfiletype=1)
    if rng.random() < 0.2:
        break_chain(rng, path)


def break_chain(rng, path):
    """Lets a directory beyond the end of the file follow the directory of a random page."""
    with tifffile.TiffFile(path) as file:
        at, (order, is_big) = rng.choice([page.offset for page in file.pages]), (file.byteorder, file.is_bigtiff)
    data = bytearray(path.read_bytes())
    count, field, word = ("Q", 20, "Q") if is_big else ("H", 12, "I")
    (fields,) = struct.unpack_from(order + count, data, at)
    struct.pack_into(order + word, data, at + struct.calcsize(count) + fields * field, len(data) + 2 * rng.randrange(1000))
    path.write_bytes(data)


def write_shaped(rng, path):
    """tifffile's default: the shape is in the description of the first page of each series."""
    dtype = rng.choice(INTEGERS + FLOATS + COMPLEX)
    with tifffile.TiffWriter(path, bigtiff=rng.random() < 0.4, byteorder=rng.choice("<>")) as file:
        count = rng.choice([1, 1, 1, 2, 3])
        for _ in range(count):
            page, how = page_shape(rng)
            shape = rng.choices([1, 2, 3, 4], k=rng.choice([0, 1, 1, 2])) + page
            storage = some_storage(rng, dtype)
            names = {"axes": "".join(rng.sample("TZRPALQ", len(shape) - len(page))) + axes_of(page, how)}
            metadata = names if rng.random() < 0.5 else {}
            below = 1 if rng.random() < 0.15 else 0
            # tifffile finds no series after one in a single page, and cannot read such a page with planes.
            is_planar = how.get("planarconfig") == "separate"
            truncate = count == 1 and not below and not is_planar and storage["compression"] is None and rng.random() < 0.3 and "tile" not in storage
            file.write(
                some_values(rng, shape, dtype), metadata=metadata, **how, **storage,
                **({"subifds": 1} if below else {}), truncate=truncate,
            )
            if below:
                small = [1 if size == 1 else max(1, size // 2) if index >= len(shape) - len(page) and size > 4 else size for index, size in enumerate(shape)]
                file.write(some_values(rng, small, dtype), metadata={}, subfiletype=1, **how)


def axes_of(page, how):
    return {2: "YX", 3: "SYX" if how.get("planarconfig") == "separate" else "YXS"}[len(page)]


def write_imagej(rng, path):
    dtype = rng.choice(["u1", "u2", "f4"])
    frames, slices, channels = (rng.choice([1, 1, 2, 3]) for _ in range(3))
    y, x = rng.choice([5, 17, 33]), rng.choice([3, 16, 31])
    shape, axes, how = [frames, slices, channels, y, x], "TZCYX", {}
    if dtype == "u1" and rng.random() < 0.3:
        shape, axes, how = [frames, slices, channels, y, x, 3], "TZCYXS", {"photometric": "rgb"}
    storage = {"compression": rng.choice([None, None, None, "zlib"])}
    values = some_values(rng, shape, dtype)
    kept = rng.random() < 0.5
    tifffile.imwrite(path, values, imagej=True, metadata={"axes": axes}, truncate=kept and storage["compression"] is None, **how, **storage)


def write_ome(rng, path):
    """OME-TIFF with random orders of axes, several images, levels and pages in another order."""
    dtype = rng.choice(["u1", "u2", "u4", "i1", "i2", "i4", "f4", "f8", "c8", "c16"])
    count = rng.choice([1, 1, 1, 2, 3])
    with tifffile.TiffWriter(path, ome=True, bigtiff=rng.random() < 0.4, byteorder=rng.choice("<>")) as file:
        for number in range(count):
            page, how = page_shape(rng)
            if rng.random() < 0.6:
                page, how = page[:2] if len(page) == 2 else [17, 16], {"photometric": "minisblack"}
            leading = rng.sample("TZC", rng.choice([0, 1, 2, 3]))
            shape = [rng.choice([1, 2, 3]) for _ in leading] + page
            axes = "".join(leading) + axes_of(page, how)
            metadata = {"axes": axes, "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm"}
            if rng.random() < 0.5:
                metadata["Name"] = f"image {number}"
            storage = some_storage(rng, dtype)
            below = 1 if rng.random() < 0.15 and min(page) > 4 else 0
            file.write(some_values(rng, shape, dtype), metadata=metadata, **how, **storage, **({"subifds": 1} if below else {}))
            if below:
                small = [size // 2 if size > 4 else size for size in page]
                file.write(some_values(rng, shape[: len(leading)] + small, dtype), subfiletype=1, **how)
    # tifffile cannot read levels of planes in another order.
    if count == 1 and not below and rng.random() < 0.5:
        shuffle_planes(rng, path)


def shuffle_planes(rng, path):
    """Replaces the list of planes by one that names each page, in another order."""
    with tifffile.TiffFile(path) as file:
        text, pages = file.ome_metadata, len(file.pages)
    sizes = {axis: int(re.search(f'Size{axis}="(\\d+)"', text)[1]) for axis in "TZC"}
    samples = int((re.search(r'SamplesPerPixel="(\d+)"', text) or ["", "1"])[1])
    sizes["C"] //= samples
    if math.prod(sizes.values()) != pages:
        return
    order = list(range(pages))
    rng.shuffle(order)
    planes = [(t, z, c) for t in range(sizes["T"]) for z in range(sizes["Z"]) for c in range(sizes["C"])]
    data = "".join(
        f'<TiffData IFD="{ifd}" FirstT="{t}" FirstZ="{z}" FirstC="{c}" PlaneCount="1"/>'
        for ifd, (t, z, c) in zip(order, planes)
    )
    text = re.sub(r"<TiffData.*(/>|</TiffData>)", data, text, flags=re.S)
    tifffile.tiffcomment(path, text.encode())


WRITERS = [write_plain, write_shaped, write_imagej, write_ome, write_ome]


def expected_names(axes):
    """The names of axes for tifffile's letters; `None` if they are not named."""
    names = [{"I": "page", "Q": "page", "S": "s" if "C" in axes else "c"}.get(letter, letter.lower()) for letter in axes]
    return names


def some_chain(rng, values):
    """A random chain, and its result by numpy."""
    rank, steps = values.ndim, []
    letters = [f"a{axis}" for axis in range(rank)]
    order = list(range(rank))
    rng.shuffle(order)
    steps.append(f"{' '.join(letters)} -> {' '.join(letters[axis] for axis in order)}")
    moved = values.transpose(order)
    if rng.random() < 0.6:
        axis = rng.randrange(rank)
        steps.append(f"flip(axes=[{axis}])")
        moved = np.flip(moved, axis)
    if rng.random() < 0.6:
        axis, shift = rng.randrange(rank), rng.choice([-3, 1, 2, 5])
        steps.append(f"roll(shift=[{shift}], axes=[{axis}])")
        moved = np.roll(moved, shift, axis)
    return " | ".join(steps), moved


def check(rng, trundle, folder, number):
    writer = rng.choice(WRITERS)
    ending = rng.choice([".tif", ".tiff", ".ome.tif"] if writer is write_ome else [".tif", ".tiff", ".btf"])
    path = folder / f"x{number}{ending}"
    writer(rng, path)
    run = lambda *args: subprocess.run([trundle, *args], capture_output=True, text=True)
    info = run("info", "--json", path)
    assert info.returncode == 0, (path, info.stderr)
    tensors = json.loads(info.stdout)["tensors"]
    moved = 0
    with tifffile.TiffFile(path) as file:
        # trundle leaves out pages of reduced resolution.
        series = [one for one in file.series if not one.keyframe.is_reduced]
        assert len(tensors) == len(series), (path, info.stdout, series)
        for index, (tensor, one) in enumerate(zip(tensors, series)):
            values, axes = one.asarray(), one.axes
            where = (path, writer.__name__, tensor, one.shape, axes)
            assert tuple(tensor["shape"]) == values.shape == tuple(one.shape), where
            names, own = expected_names(axes), tensor.get("dimension_names")
            if one.kind == "shaped" and len(set(names)) < len(names):
                # Sizes of 1 let tifffile use a letter twice.
                names = own
            if one.kind == "shaped" and own is None:
                own = [None] * values.ndim
                names = own
            assert own == names, (*where, names)
            assert len(tensors) == 1 or tensor["name"] in (one.name, str(index)), where
            chain, expected = some_chain(rng, values)
            out = folder / "out.npy"
            command = ["apply", path, chain, "-o", out, "--force", "--quiet", "--verify"]
            command += ["--max-mem", rng.choice(["8M", "1G"])]
            command += ["--tensor", tensor["name"], "--only"] if len(tensors) > 1 else []
            done = run(*command)
            assert done.returncode == 0, (*where, chain, done.stderr)
            got = np.load(out)
            assert got.dtype.newbyteorder("=") == values.dtype.newbyteorder("="), (*where, got.dtype, values.dtype)
            assert got.shape == expected.shape and (got.tobytes() == expected.astype(got.dtype).tobytes()), (*where, chain)
            moved += 1
    path.unlink()
    return writer.__name__, moved


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trundle")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trundle = str(pathlib.Path(args.trundle).resolve())
    counts, tensors = {}, 0
    folder = pathlib.Path(tempfile.mkdtemp())
    for number in range(args.count):
        rng = random.Random(f"{args.seed} {number}")
        kind, moved = check(rng, trundle, folder, number)
        counts[kind] = counts.get(kind, 0) + 1
        tensors += moved
    print(f"{args.count} files, {tensors} tensors: all elements are as tifffile reads them ({counts})")


main()
