#!/usr/bin/env python3
"""Append to random stores and replace random regions, and compare the stores with what zarr-python and xarray write.

    pip install zarr==3.1.6 xarray==2026.9.0
    crates/trundle-zarr/tests/appending.py target/release/trundle --count 200 --kills 100
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import xarray as xr
import zarr

TYPES = ["u1", "<i2", ">i4", "f4", "f8", "c16", ">f8", "?", "<U3", "S3", "O", [("a", "<i4"), ("b", "S2")]]
V2_CODECS = [None, numcodecs.Zstd(5), numcodecs.Blosc("lz4", 3), numcodecs.GZip(2), numcodecs.Zlib(4), numcodecs.BZ2(1)]
V3_CODECS = [
    [],
    [zarr.codecs.ZstdCodec(level=1, checksum=True)],
    [zarr.codecs.BloscCodec(cname="zstd", clevel=2, shuffle="shuffle", typesize=4)],
    [zarr.codecs.GzipCodec(level=1), zarr.codecs.Crc32cCodec()],
]


def elements(rng, dtype, shape):
    """Return a random array with many elements that equal the fill value 0. Objects are strings of variable length."""
    many = rng.integers(0, 4 if rng.random() < 0.3 else 200, shape)
    if dtype == "O":
        return np.frompyfunc(lambda number: "é" * (number % 50) + str(number) if number % 3 else "", 1, 1)(many)
    if np.dtype(dtype).names:
        made = np.zeros(shape, dtype)
        for name in made.dtype.names:
            made[name] = many.astype("i4").astype(made.dtype[name])
        return made
    return many.astype("i4").astype(dtype)


def create(rng, group, version, name, values, names):
    """Create an array in a group, with random chunks, shards, order, codecs and fill value."""
    rank = values.ndim
    if version == 2 and values.dtype.names and rng.random() < 0.5:
        values = values.astype(values.dtype.newbyteorder(">"))
    chunks = tuple(int(rng.integers(1, 6)) for _ in range(rank))
    is_text = values.dtype.kind == "O"
    options = {"shape": values.shape, "dtype": str if is_text else values.dtype, "chunks": chunks}
    if is_text:
        options["fill_value"] = "" if rng.random() < 0.5 else "é22"
    elif values.dtype.kind not in "USV":
        options["fill_value"] = values.dtype.type(rng.integers(0, 2))
    elif values.dtype.kind == "V":
        options["fill_value"] = elements(rng, values.dtype, [1])[0]
    if version == 2:
        options["compressors"] = V2_CODECS[rng.integers(len(V2_CODECS))]
        options["order"] = "F" if rng.random() < 0.4 and not is_text else "C"
        options["attributes"] = {"_ARRAY_DIMENSIONS": names}
        if rng.random() < 0.3:
            options["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
    else:
        options["compressors"] = V3_CODECS[rng.integers(len(V3_CODECS))]
        options["dimension_names"] = names
        # zarr-python 3.1 fails with shards of structures. Strings in shards, or in another order, are not decoded.
        if rng.random() < 0.4 and not values.dtype.names and not is_text:
            options["shards"] = tuple(int(chunk * rng.integers(1, 4)) for chunk in chunks)
        elif rng.random() < 0.4 and not is_text:
            options["filters"] = [zarr.codecs.TransposeCodec(order=[int(i) for i in rng.permutation(rank)])]
        if rng.random() < 0.2:
            options["chunk_key_encoding"] = {"name": "v2", "separator": "."}
    array = group.create_array(name, **options)
    array.attrs["units"] = "K"
    if values.size:
        array[...] = values


def store(rng, path, version, arrays):
    """Write arrays, each with its axis names, to a new store."""
    group = zarr.create_group(path, zarr_format=version, attributes={"title": path.name})
    for name, (values, names) in arrays.items():
        create(rng, group, version, name, values, names)
    if version == 2 or rng.random() < 0.5:
        if rng.random() < 0.7:
            zarr.consolidate_metadata(path, zarr_format=version)


def documents(path):
    """Return the metadata of all nodes, by path."""
    names = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"]
    found = [file for name in names for file in path.rglob(name)]
    return {str(file.relative_to(path)): json.loads(file.read_text()) for file in found}


def run(program, *arguments):
    """Run the program, and return its exit code and its messages."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def same(one, other):
    """Return whether two arrays have the same elements; zarr-python does not keep the byte order of version 3."""
    # zarr-python reads strings of variable length as numpy's StringDType.
    one, other = (each.astype("O") if each.dtype.kind == "T" else each for each in (one, other))
    native = [each.dtype.newbyteorder("=") for each in (one, other)]
    return native[0] == native[1] and np.array_equal(one, other)


def compare(path, other, arrays, label):
    """Compare a store with one that zarr-python has written, and with the arrays that it must have."""
    found = documents(path)
    for name, document in documents(other).items():
        if found.get(name) != document:
            sys.exit(f"{label}: {name} is\n{found.get(name)}\nnot\n{document}")
    group = zarr.open_group(path, mode="r")
    for name, values in arrays.items():
        if not same(group[name][...], values):
            sys.exit(f"{label}: {name} is\n{group[name][...]}\nnot\n{values}")


def one_case(program, folder, seed):
    """Append to a random store, or replace a region of it."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    sizes = [int(rng.integers(1, 12)) for _ in range(rank)]
    axis = int(rng.integers(rank))
    names = ["time" if i == axis else "xyz"[i] for i in range(rank)]
    added = int(rng.integers(0, 9))
    is_region = rng.random() < 0.4
    if is_region:
        begin = int(rng.integers(0, sizes[axis]))
        added = int(rng.integers(0, sizes[axis] - begin + 1))
    else:
        sizes[axis] = begin = int(rng.integers(0, 12))
    dtype = TYPES[rng.integers(len(TYPES))]
    own = [added if i == axis else size for i, size in enumerate(sizes)]
    old = {"a": (elements(rng, dtype, sizes), names), "t": (elements(rng, "i8", sizes[axis : axis + 1]), ["time"])}
    new = {"a": (elements(rng, dtype, own), names), "t": (elements(rng, "i8", [added]), ["time"])}
    if rng.random() < 0.5:
        old["n"] = elements(rng, "O", sizes[axis : axis + 1]), ["time"]
        new["n"] = elements(rng, "O", [added]), ["time"]
    if rng.random() < 0.5:
        fixed = elements(rng, "f4" if rng.random() < 0.5 else "O", [3, 2])
        old["fixed"] = new["fixed"] = (fixed, ["p", "q"])
    target, source, expected = folder / "all.zarr", folder / "new.zarr", folder / "expected.zarr"
    store(rng, target, int(rng.integers(2, 4)), old)
    store(rng, source, int(rng.integers(2, 4)), new)
    shutil.copytree(target, expected)
    group = zarr.open_group(expected, mode="r+", use_consolidated=False)
    arrays = {}
    for name, (values, axes) in old.items():
        there = values.copy()
        if "time" in axes:
            at = axes.index("time")
            if not is_region:
                shape = list(values.shape)
                shape[at] += added
                group[name].resize(tuple(shape))
                there = np.concatenate([values, new[name][0]], axis=at)
            place = tuple(slice(begin, begin + added) if i == at else slice(None) for i in range(values.ndim))
            there[place] = new[name][0]
            if added:
                group[name][place] = new[name][0]
        arrays[name] = there
    metadata = documents(expected)
    version = 2 if ".zgroup" in metadata else 3
    if ".zmetadata" in metadata or "consolidated_metadata" in metadata.get("zarr.json", {}):
        zarr.consolidate_metadata(expected, zarr_format=version)
    where = ["--region", f"time={begin}:{begin + added}"] if is_region else ["--append", "time"]
    label = f"seed {seed}: {where} of {sizes}"
    # xarray takes the fill value as a mask in version 2, and not in version 3.
    arguments = ["convert", source, "-o", target, *where, "--quiet", "--ignore-attrs", "_FillValue"]
    if rng.random() < 0.5:
        arguments += ["--verify"]
    if rng.random() < 0.3:
        arguments += ["--max-mem", "128M"]
    code, messages = run(program, *arguments)
    if code != 0:
        sys.exit(f"{label}: exit code {code}: {messages}")
    compare(target, expected, arrays, label)
    leftovers = [entry.name for entry in folder.iterdir() if entry.name.startswith(".trundle")]
    if leftovers:
        sys.exit(f"{label}: left {leftovers}")


def compare_with_xarray(program, folder, version, consolidated):
    """Append to a data set and replace a region as xarray does."""
    def data_set(begin, end):
        rng = np.random.default_rng(begin)
        lat, time = np.linspace(-40, 40, 9), np.datetime64("2020-01-01", "ns") + np.arange(begin, end) * np.timedelta64(1, "D")
        shape = (end - begin, 9, 5)
        days = np.array([f"day {each}" * (each % 4) for each in range(begin, end)], "O")
        zones = np.array([f"zone {each}" for each in range(9)], "O")
        return xr.Dataset(
            {"t2m": (("time", "lat", "lon"), rng.normal(size=shape).astype("f4"), {"units": "K"}), "land": (("lat",), np.arange(9))},
            coords={"time": time, "lat": lat, "lon": np.arange(5), "day": (("time",), days), "zone": (("lat",), zones)},
            attrs={"title": f"from day {begin}"},
        )

    encoding = {"t2m": {"chunks": (4, 3, 5)}, "time": {"chunks": (4,), "units": "days since 2020-01-01", "dtype": "i8"}}
    units = {"time": encoding["time"]}
    target, new, expected = folder / "all.zarr", folder / "new.zarr", folder / "expected.zarr"
    options = {"zarr_format": version, "consolidated": consolidated}
    data_set(0, 10).to_zarr(target, encoding=encoding, **options)
    shutil.copytree(target, expected)
    data_set(10, 17).to_zarr(new, encoding=units, **options)
    data_set(10, 17).to_zarr(expected, append_dim="time", **options)
    parts = [["--append", "time"], ["--region", "time=2:9"]]
    for where in parts:
        code, messages = run(program, "convert", new, "-o", target, *where, "--quiet")
        if code != 0:
            sys.exit(f"xarray, version {version}, {where}: {messages}")
        one, other = (xr.open_zarr(path, consolidated=consolidated).load() for path in (target, expected))
        other.attrs = data_set(0, 10).attrs
        if not one.identical(other):
            sys.exit(f"xarray, version {version}, {where}: the program made\n{one}\nand xarray\n{other}")
        shutil.rmtree(new)
        data_set(2, 9).to_zarr(new, encoding=units, **options)
        data_set(2, 9).drop_vars(["lat", "lon", "land", "zone"]).to_zarr(expected, region={"time": slice(2, 9)}, **options)


def kill_appends(program, folder, kills, seed):
    """Kill appends at random moments. The array must be the old or the new one, and --resume must finish it."""
    rng = random.Random(seed)
    target, new, before = folder / "all.zarr", folder / "new.zarr", folder / "before.zarr"
    numbers = np.arange(46 * 40 * 40, dtype="f8").reshape(46, 40, 40)
    for path, part in ((before, numbers[:23]), (new, numbers[23:])):
        group = zarr.create_group(path)
        array = group.create_array("a", shape=part.shape, dtype="f8", chunks=(5, 4, 4), dimension_names=["t", "y", "x"])
        array[...] = part
        for name, dtype, values in (("t", "f8", part[:, 0, 0]), ("n", str, part[:, 0, 0].astype(str).astype("O"))):
            array = group.create_array(name, shape=part.shape[:1], dtype=dtype, chunks=(5,), dimension_names=["t"])
            array[...] = values
        zarr.consolidate_metadata(path)
    names = numbers[:, 0, 0].astype(str).astype("O")
    expected = {"a": (numbers[:23], numbers), "t": (numbers[:23, 0, 0], numbers[:, 0, 0]), "n": (names[:23], names)}
    command = [program, "convert", str(new), "-o", str(target), "--append", "t", "--quiet"]

    def state():
        """Return whether each array is the new one."""
        group = zarr.open_group(target, mode="r", use_consolidated=False)
        listed = zarr.open_group(target, mode="r")
        are_new = {}
        for name, (old, whole) in expected.items():
            for own in (group[name][...], listed[name][...]):
                are_new[name] = same(own, whole)
                if not are_new[name] and not same(own, old):
                    sys.exit(f"kill, seed {seed}: {name} is neither the old array nor the new one")
        return are_new

    def leftovers(ending):
        return [entry for entry in folder.iterdir() if entry.name.startswith(".trundle") and entry.name.endswith(ending)]

    shutil.copytree(before, target)
    begin = time.monotonic()
    subprocess.run(command, check=True)
    whole = time.monotonic() - begin
    counts, kill = {"begun": 0, "half": 0, "over": 0, "not begun": 0}, 0
    while kill < kills:
        shutil.rmtree(target)
        shutil.copytree(before, target)
        child = subprocess.Popen(command)
        if kill % 2:
            # While the new chunks are moved into the store.
            while child.poll() is None and not leftovers(".append"):
                pass
            time.sleep(rng.random() * whole / 10)
        else:
            time.sleep(rng.random() * whole)
        child.kill()
        if child.wait() == 0:
            counts["over"] += 1
            kill += kill % 2 == 0
            continue
        kill += 1
        are_new = state()
        half, begun = leftovers(".append"), leftovers(".part")
        counts["half" if half else "begun" if begun else "not begun"] += 1
        if half and kill % 3 == 0:
            code, messages = run(*command)
            if code == 0 or "--resume" not in messages:
                sys.exit(f"kill: another append is not refused: {messages}")
        code, messages = run(*command, "--resume")
        if code != 0:
            if all(are_new.values()) and "nothing to resume" in messages:
                continue
            if half or begun and json_of(begun[0]) or "nothing to resume" not in messages:
                sys.exit(f"kill: --resume fails: {messages}")
            subprocess.run(command, check=True)
        if not all(state().values()) or leftovers(""):
            sys.exit(f"kill: after --resume the array is not the new one, or there are {leftovers('')}")
    print(f"{kill} kills: {counts}", flush=True)


def json_of(folder):
    """Return whether the record of an unfinished append is complete."""
    try:
        return bool(json.loads((folder / "record.json").read_text()))
    except (OSError, ValueError):
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    program = arguments.program.resolve()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            one_case(program, Path(folder), seed)
    for version, consolidated in ((2, True), (2, False), (3, True), (3, False)):
        with tempfile.TemporaryDirectory() as folder:
            compare_with_xarray(program, Path(folder), version, consolidated)
    if arguments.kills:
        with tempfile.TemporaryDirectory() as folder:
            kill_appends(program, Path(folder), arguments.kills, arguments.seed)
    print(f"{arguments.count} stores and four data sets are as zarr-python and xarray write them")


if __name__ == "__main__":
    main()
