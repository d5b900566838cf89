#!/usr/bin/env python3
"""Make the files for tests/files.rs and the program's tests. They hold the numbers 0, 1, 2, ... with the shape (5, 7),
in chunks of (2, 3), with each chunk index and each filter, in the layouts of old and new library versions.

    pip install h5py==3.16.0 netCDF4==1.7.5.1.post1 numcodecs==0.16.6
    python3 crates/trundle-hdf5/tests/make.py
"""

import random
import shutil
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import plugins

FILES = Path(__file__).parent / "files"

NUMBERS = np.arange(35, dtype="i2").reshape(5, 7)

# The library chooses the chunk index by the maximum shape.
GROWTH = {"fixed": None, "bounded": (9, 20), "long": (None, 7), "free": (None, None)}

FILTERS = {
    "plain": {},
    "gzip": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "scale": {"scaleoffset": 0},
}


def chunked(file):
    for growth, most in GROWTH.items():
        for filters in ["plain", "gzip"]:
            made = {"chunks": (2, 3), "maxshape": most, **FILTERS[filters]}
            file.create_dataset(f"{growth}/{filters}", data=NUMBERS, **made)
    for filters in ["lzf", "scale"]:
        file.create_dataset(f"fixed/{filters}", data=NUMBERS, chunks=(2, 3), **FILTERS[filters])
    file.create_dataset("one", data=NUMBERS, chunks=(5, 7), compression="gzip")
    part = file.create_dataset("part", shape=(5, 7), dtype=">i4", chunks=(2, 3), fillvalue=-7)
    part[:2, :3] = 1
    file.create_dataset("never", shape=(5, 7), dtype="f4", fillvalue=2.5)


def whole(file):
    file["big"] = NUMBERS.astype(">f8")
    file["complex"] = NUMBERS.astype("c8")
    file["half"] = NUMBERS.astype("f2")
    file["bool"] = NUMBERS % 3 == 0
    file["text"] = np.array([b"a", b"bcd"])
    file["scalar"] = 3.5
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(NUMBERS.shape)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16LE, space, compact).write(
        h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS
    )
    file["big"].attrs["units"] = "m"
    file["big"].attrs["list"] = [1.5, 2]
    file["big"].attrs["names"] = ["one", "two"]
    file["big"].attrs["number"] = np.int16(-5)
    # These are more attributes than the library keeps in an object header.
    for number in range(9):
        file["half"].attrs[f"a{number}"] = number


def typed(file):
    """Write attributes of types that JSON lacks."""
    file["x"] = np.arange(2)
    file["x"].attrs["opaque"] = np.void(b"ab")
    file["x"].attrs["single"] = np.float32(0.1)
    file.create_group("g").attrs["complex"] = 1 + 2j
    file["g"].attrs["small"] = np.int8(3)


def large(file):
    """Write attributes that are too large for an object header."""
    file["x"] = np.arange(2)
    file["x"].attrs["numbers"] = np.ones(61_000, "i1")
    file["x"].attrs["complex"] = np.zeros(7600, "c8")


def refused(file):
    file["words"] = np.array(["a", "bc"], dtype=object)
    file["structure"] = np.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    file["reference"] = np.array([file["big"].ref], dtype=h5py.ref_dtype)
    file["nothing"] = h5py.Empty("f4")
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    file["same"] = h5py.SoftLink("/big")
    file["dangling"] = h5py.SoftLink("/nowhere")
    file["loop"] = file["/"]
    file["long double"] = np.zeros(2, np.longdouble)
    layout = h5py.VirtualLayout((4,), dtype="i4")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(4,))
    file.create_virtual_dataset("virtual", layout)


def netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.title = "numbers"
        file.createDimension("time", None)
        file.createDimension("x", 7)
        file.createDimension("none", 2)
        file.createVariable("x", "f4", ("x",))[:] = np.arange(7)
        file["x"].units = "m"
        made = file.createVariable("t2m", "f4", ("time", "x"), zlib=True, fill_value=float("nan"))
        made[:] = NUMBERS
        made.long_name = "temperature"
        packed = file.createVariable("packed", "i2", ("time", "none"), fill_value=-1)
        packed.set_auto_maskandscale(False)
        packed.scale_factor = 0.5
        packed[:] = np.arange(10).reshape(5, 2)
        # This variable has the name of a dimension, but is not the coordinate variable of that dimension.
        file.createVariable("none", "i4", ("x",))[:] = np.arange(7)
        file.createGroup("g").createVariable("y", "f8", ("x",))[:] = np.arange(7)


def plugin_filters(file):
    rng = random.Random(1)
    for number, chosen in enumerate(plugins.filters(rng, 2)):
        plugins.dataset(file, f"x{number}", NUMBERS, (5, 7), chosen, shuffle=number % 2 == 0)


def netcdf_plugin_filters(path):
    """Write with the plugins of netCDF-C."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 5)
        file.createDimension("x", 7)
        for name in ["zstd", "bzip2", "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd"]:
            options = {"compression": name, "blosc_shuffle": len(name) % 3, "fletcher32": name == "zstd"}
            file.createVariable(name, "f8", ("y", "x"), chunksizes=(5, 7), **options)[:] = NUMBERS


shutil.rmtree(FILES, ignore_errors=True)
FILES.mkdir()
for name, libver, make in [
    ("old-chunked", ("earliest", "v108"), chunked),
    ("new-chunked", ("v110", "v110"), chunked),
    ("newest-chunked", "latest", chunked),
    ("old-whole", ("earliest", "v108"), whole),
    ("new-whole", ("v110", "v110"), whole),
]:
    with h5py.File(FILES / f"{name}.h5", "w", libver=libver) as file:
        make(file)
with h5py.File(FILES / "refused.h5", "w", libver=("earliest", "latest"), userblock_size=512) as file:
    file["big"] = NUMBERS.astype(">f8")
    refused(file)
with h5py.File(FILES / "typed.h5", "w") as file:
    typed(file)
with h5py.File(FILES / "large.h5", "w", libver="latest") as file:
    large(file)
netcdf(FILES / "climate.nc")
with h5py.File(FILES / "plugins.h5", "w", libver="latest") as file:
    plugin_filters(file)
netcdf_plugin_filters(FILES / "plugins.nc")
