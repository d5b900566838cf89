"""Test random HDF5 and netCDF-4 files. Files of h5py and netCDF4 are read, moved and compared with numpy; h5py reads
the program's files; and netCDF-4 files that become Zarr stores are compared in xarray.

    python with_h5py.py TRUNDLE [--count 200] [--seed 1]

Needs h5py, numcodecs and numpy. The last part needs netCDF4, xarray and zarr, and is skipped without them.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import h5py
import numpy as np
import plugins

# The small limits below apply to the data that are moved, not to the memory of the program itself.
os.environ["TRUNDLE_OWN_MEMORY"] = "0"

TYPES = [
    "?", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4",
    "<f8", ">f8", "<c8", ">c8", "<c16", "S3",
]


ATTRIBUTES = {"text": "m² s-1", "empty": "", "texts": ["a", "", "é"], "list": [1, 2], "float": 0.5, "true": True}


def run(*arguments, absent="panicked"):
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))}\n{done.stderr}"
    assert absent not in done.stderr, done.stderr
    return done.stdout


def elements(rng, dtype, shape):
    """Return random elements. Floats can have any bits of finite numbers."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)], dtype).reshape(shape)
    if dtype.kind == "S":
        return np.array([rng.choice([b"a", b"bcd", b""]) for _ in range(count)], dtype).reshape(shape)
    if rng.random() < 0.5:
        return (np.arange(count) % 101).astype(dtype).reshape(shape)
    values = np.frombuffer(rng.randbytes(count * dtype.itemsize), dtype).reshape(shape)
    return values if dtype.kind in "iu" else np.where(np.isfinite(values), values, 1).astype(dtype)


def check_attributes(attributes):
    for key, expected in ATTRIBUTES.items():
        found = attributes[key]
        assert np.array_equal(found, expected) and type(found) is not np.bytes_, (key, found)


def same(found, expected):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), (found.dtype, expected.dtype)
    assert np.array_equal(found, expected), (found, expected)


def stored(dataset):
    """Return the filters of a dataset as trundle keeps them: with deflate of level 4 instead of filters that it only reads."""
    compression = (dataset.compression, dataset.compression_opts)
    if dataset.compression == "lzf" or dataset.scaleoffset is not None:
        compression = ("gzip", 4)
    made = dataset.id.get_create_plist()
    if any(made.get_filter(at)[0] in plugins.ALL for at in range(made.get_nfilters())):
        return ("gzip", 4), True, False
    return compression, dataset.shuffle, dataset.fletcher32


def dataset(rng, group, name):
    """Write a random dataset and return its contents."""
    dtype = np.dtype(rng.choice(TYPES))
    axes = rng.choice([0, 1, 2, 2, 3, 4])
    shape = tuple(rng.choice([1, 2, 3, 5, 8, 13, 21]) for _ in range(axes))
    values = elements(rng, dtype, shape)
    options = {}
    kinds = ["plain", "chunks", "chunks", "chunks", "never", "plugin", "plugin"]
    kind = rng.choice(kinds) if axes else "plain"
    if kind in ["chunks", "plugin"]:
        options["chunks"] = tuple(rng.randint(1, size) for size in shape)
        options["maxshape"] = tuple(rng.choice([size, size, None, size + 9]) for size in shape)
    if kind == "plugin":
        chosen = rng.choice(plugins.filters(rng, dtype.itemsize))
        plugins.dataset(group, name, values, chosen=chosen, shuffle=rng.random() < 0.3, **options)
        return values
    if kind == "chunks":
        options["compression"] = rng.choice([None, "gzip", "gzip", "lzf"])
        options["shuffle"] = rng.random() < 0.5
        options["fletcher32"] = rng.random() < 0.3
        if dtype.kind in "iu" and rng.random() < 0.1:
            options.update(scaleoffset=0, compression=None, fletcher32=False)
    if kind == "never" or rng.random() < 0.4:
        options["fillvalue"] = elements(rng, dtype, (1,))[0]
    made = group.create_dataset(name, shape=shape, dtype=dtype, **options)
    fill = options.get("fillvalue", np.zeros((), dtype))
    if kind == "chunks" and "fillvalue" in options and rng.random() < 0.5:
        # A part of the dataset is never written.
        corner = tuple(slice(0, rng.randint(0, size)) for size in shape)
        whole = np.full(shape, fill, dtype)
        whole[corner] = values[corner]
        made[corner] = values[corner]
        return whole
    if kind == "never":
        return np.full(shape, fill, dtype)
    made[...] = values
    if kind == "chunks" and axes and options["maxshape"][0] is None and rng.random() < 0.3:
        # The file may keep chunks that lie beyond the new edge.
        made.resize(rng.randint(1, shape[0]), axis=0)
        values = values[: made.shape[0]]
    return values


def chain(rng, axes):
    """Return a random chain, a function that does the same with numpy, and the source axis of each axis."""
    stages, moves, axes_of = [], [], list(range(axes))
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["flip", "roll", "transpose"])
        axis = rng.randrange(axes)
        if kind == "flip":
            stages.append(f"flip(axes={axis})")
            moves.append(lambda x, axis=axis: np.flip(x, axis))
        elif kind == "roll":
            shift = rng.randint(-9, 9)
            stages.append(f"roll(shift={shift}, axes={axis})")
            moves.append(lambda x, shift=shift, axis=axis: np.roll(x, shift, axis))
        else:
            order = rng.sample(range(axes), axes)
            stages.append(f"transpose({','.join(map(str, order))})")
            moves.append(lambda x, order=order: np.transpose(x, order))
            axes_of = [axes_of[axis] for axis in order]
    def move(x):
        for each in moves:
            x = each(x)
        return x
    return " | ".join(stages), move, axes_of


def check_reads(rng, trundle, folder):
    """Check that the program reads a file that h5py wrote."""
    path = folder / rng.choice(["a.h5", "a.nc", "a.dat"])
    expected = {}
    libver = rng.choice([("earliest", "latest"), ("earliest", "v108"), ("v110", "v110"), "latest", None])
    options = {"userblock_size": 1024} if rng.random() < 0.1 else {}
    with h5py.File(path, "w", libver=libver, track_order=rng.random() < 0.5, **options) as file:
        for at in range(rng.choice([1, 2, 3, 12])):
            name = rng.choice([f"x{at}", f"g/y{at}", f"g/h{at % 3}/z{at}"])
            expected[name] = dataset(rng, file, name)
            for number in range(rng.choice([0, 1, 12])):
                file[name].attrs[f"a{number}"] = number
            if rng.random() < 0.3:
                file[name].attrs.update(ATTRIBUTES)
        file.attrs.update(ATTRIBUTES)
    if path.suffix == ".dat" and options:
        path = path.rename(folder / "a.h5")
    run(trundle, "convert", path, "-o", folder / "all.npz", "--force", "--verify")
    with np.load(folder / "all.npz") as found:
        assert sorted(found.files) == sorted(expected), (found.files, expected.keys())
        for name, values in expected.items():
            same(found[name], values)
    name = rng.choice(list(expected))
    values = expected[name]
    if values.ndim:
        stages, move, _ = chain(rng, values.ndim)
        out = folder / "moved.npy"
        small = ["--max-mem", "1M"] if rng.random() < 0.5 else []
        run(trundle, "apply", path, stages, "--tensor", name, "--only", "-o", out, "--force", *small)
        same(np.load(out), move(values))
    run(trundle, "cmp", path, folder / "all.npz")
    return path, expected


def check_writes(rng, trundle, folder, path, expected):
    """Check that h5py reads a file that the program wrote."""
    out = folder / rng.choice(["out.h5", "out.nc"])
    if len({values.ndim for values in expected.values()}) == 1 and next(iter(expected.values())).ndim:
        stages, move, axes_of = chain(rng, next(iter(expected.values())).ndim)
    else:
        stages, move, axes_of = None, lambda x: x, None
    command = ["apply", path, stages] if stages else ["convert", path]
    small = ["--max-mem", "4M"] if rng.random() < 0.5 else []
    run(trundle, *command, "-o", out, "--force", "--verify", *small)
    with h5py.File(out) as file, h5py.File(path) as source:
        found = []
        file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        assert sorted(found) == sorted(expected), (found, expected.keys())
        for name, values in expected.items():
            moved = move(values)
            same(np.array(file[name][()], file[name].dtype), moved)
            made, given = file[name], source[name]
            assert (made.chunks is None) == (given.chunks is None), (made.chunks, given.chunks)
            if given.chunks and 0 not in given.shape:
                of = axes_of or range(given.ndim)
                assert stored(made) == stored(given), (stored(made), stored(given))
                assert made.maxshape == tuple(given.maxshape[axis] for axis in of), (made.maxshape, given.maxshape)
                if not stages or "roll" not in stages:
                    chunks = [given.chunks[axis] for axis in of]
                    assert [*made.chunks] == chunks or "flip" in (stages or ""), (made.chunks, chunks)
            if "text" in file[name].attrs:
                check_attributes(file[name].attrs)
        check_attributes(file.attrs)
    run(trundle, "cmp", out, out)
    with h5py.File(out, "a") as file:
        # The library can extend the program's datasets.
        for name in found:
            if file[name].maxshape and file[name].maxshape[0] is None:
                last = file[name].shape[0]
                file[name].resize(last + 7, axis=0)
                assert np.all(file[name][last:] == file[name].fillvalue), name
                file[name][last:] = expected[name].flat[0]
                same(np.array(file[name][:last], file[name].dtype), move(expected[name]))


WORDS = ["", "", "Oslo", "a", "Żnin", "naïve 🦀", "x" * 500, "two words"]


def words(rng, shape, is_ascii):
    """Return random strings, as objects."""
    chosen = [word for word in WORDS if word.isascii() or not is_ascii]
    count = int(np.prod(shape))
    found = [rng.choice(chosen) + rng.choice(["", str(rng.randrange(50))]) for _ in range(count)]
    return np.array(found, object).reshape(shape)


def check_strings(rng, trundle, folder, has_zarr):
    """Check strings of variable length: h5py and zarr-python read them after random moves between the formats."""
    path, axes = folder / "t.h5", rng.choice([0, 1, 1, 2, 2, 3])
    expected, types = {}, {}
    with h5py.File(path, "w", libver=rng.choice([None, "latest"])) as file:
        for at in range(rng.randint(1, 3)):
            name, is_ascii = rng.choice([f"t{at}", f"g/t{at}"]), rng.random() < 0.3
            shape = tuple(rng.choice([1, 2, 3, 5, 8, 40]) for _ in range(axes))
            values = words(rng, shape, is_ascii)
            types[name], options = h5py.string_dtype("ascii" if is_ascii else "utf-8"), {}
            kind = rng.choice(["plain", "compact", "chunks", "chunks", "never"]) if axes else "plain"
            if kind == "chunks":
                options["chunks"] = tuple(rng.randint(1, size) for size in shape)
                options["compression"] = rng.choice([None, "gzip", "lzf"])
                options["shuffle"] = rng.random() < 0.5
                options["maxshape"] = (None, *shape[1:])
            if kind == "compact" and values.size * 16 < 60_000:
                made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                made.set_layout(h5py.h5d.COMPACT)
                space, intermediate = h5py.h5s.create_simple(shape), h5py.h5p.create(h5py.h5p.LINK_CREATE)
                intermediate.set_create_intermediate_group(True)
                of = h5py.h5t.py_create(types[name], logical=True)
                made = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), of, space, made, intermediate))
            else:
                made = file.create_dataset(name, shape, types[name], **options)
            made.attrs["units"] = "é"
            if kind == "never":
                values = np.full(shape, "", object)
            elif kind == "chunks" and rng.random() < 0.5:
                # The elements of a part are null pointers.
                corner = tuple(slice(0, rng.randint(0, size)) for size in shape)
                whole = np.full(shape, "", object)
                whole[corner] = values[corner]
                made[corner] = values[corner]
                values = whole
            else:
                made[()] = values if axes else values[()]
            expected[name] = values
        file["n"] = 7
    small = ["--max-mem", "32M"] if rng.random() < 0.5 else []
    stages, move = "", lambda x: x
    if axes and rng.random() < 0.8:
        stages, move, _ = chain(rng, axes)
    command = ["apply", path, stages, "--tensor", "*t[0-9]"] if stages else ["convert", path]
    outputs = [folder / name for name in ["o.h5", "o.nc", "o.zarr"][: 2 + has_zarr]]
    rng.shuffle(outputs)
    for out in outputs:
        codec = ["--codec", rng.choice(["zstd:1", "gzip:1,crc32c", "blosc", "none"])] if out.suffix == ".zarr" else []
        run(trundle, *command, "-o", out, "--force", "--verify", *small, *codec)
        check_texts(out, {name: move(values) for name, values in expected.items()}, types)
        # Converts each output to every format.
        for last in outputs:
            again = folder / f"again{last.suffix}"
            run(trundle, "convert", out, "-o", again, "--force", "--verify", *small)
            check_texts(again, {name: move(values) for name, values in expected.items()}, types)
            run(trundle, "cmp", out, again)
    with h5py.File(path) as source, h5py.File(folder / "o.h5") as file:
        for name, values in expected.items():
            made, given = file[name], source[name]
            assert (made.chunks is None) == (given.chunks is None), (made.chunks, given.chunks)
            if given.chunks:
                assert stored(made) == stored(given), (stored(made), stored(given))
            assert h5py.check_string_dtype(made.dtype) == h5py.check_string_dtype(given.dtype)
            assert made.attrs["units"] == "é"
    with h5py.File(folder / "o.h5", "a") as file:
        # The library can change the program's datasets.
        for name, values in expected.items():
            file[name][()] = move(values) if axes else values[()]
    check_texts(folder / "o.h5", {name: move(values) for name, values in expected.items()}, types)


def check_texts(path, expected, types):
    for name, values in expected.items():
        if path.suffix == ".zarr":
            import zarr

            found = np.asarray(zarr.open_group(path, mode="r")[name][()]).astype(object)
        else:
            with h5py.File(path) as file:
                found = np.asarray(file[name].asstr()[()], object)
        assert found.shape == values.shape and found.tolist() == values.tolist(), (path, name, found, values)


def check_many_chunks(rng, trundle, folder):
    """Check that the library finds, adds, replaces and removes chunks in an index of several levels."""
    values = np.array(elements(rng, "i4", (700, 11, 3)))
    values[values == 0] = 1
    values[100:200] = 0
    with h5py.File(folder / "many.h5", "w") as file:
        options = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("x", data=values, chunks=(1, 2, 3), maxshape=(None, None, 3), **options)
    out = folder / "moved.h5"
    run(trundle, "flip", folder / "many.h5", "--axes", "0", "-o", out, "--force", "--verify")
    values = values[::-1]
    with h5py.File(out, "a") as file:
        made = file["x"]
        same(made[...], values)
        # Chunks of zeros are not stored.
        assert made.id.get_num_chunks() == 600 * 6
        assert made.id.get_chunk_info_by_coord((3, 4, 0)).size > 0
        made.resize((1500, 40, 3))
        made[700:] = elements(rng, "i4", (800, 40, 3))
        made[:50, :11] = values[:50] = elements(rng, "i4", (50, 11, 3))
        made.resize((300, 7, 3))
    run(trundle, "convert", out, "-o", folder / "again.h5", "--force", "--verify")
    for path in [out, folder / "again.h5"]:
        with h5py.File(path) as file:
            same(file["x"][...], values[:300, :7])


def check_netcdf(rng, trundle, folder):
    """Check that xarray reads the same from a netCDF-4 file after its conversion to Zarr and back."""
    import netCDF4
    import xarray

    path = folder / "n.nc"
    sizes = {"time": rng.randint(0, 9), "lat": rng.randint(1, 9), "lon": rng.randint(1, 9), "none": 2}
    unlimited = {name for name in sizes if name == "time" or sizes["time"] and rng.random() < 0.2}
    with netCDF4.Dataset(path, "w") as file:
        file.title = "a title"
        for name, size in sizes.items():
            file.createDimension(name, None if name in unlimited else size)
        for name in ["time", "lat", "lon"]:
            made = file.createVariable(name, "f8", (name,))
            made.units = "days since 2000-01-01" if name == "time" else "degrees"
            made[:] = np.arange(sizes[name])
        for name, names in [("place", ("place",)), ("words", ("time", "place")), ("motto", ())]:
            if name == "place":
                file.createDimension("place", 3)
            chunks = [rng.randint(1, 2) for _ in names] if rng.random() < 0.5 and names else None
            made = file.createVariable(name, str, names, chunksizes=chunks)
            made.long_name = "m² and more"
            shape = [{**sizes, "place": 3}[axis] for axis in names]
            values = words(rng, shape, False)
            if name == "place":
                values = np.array(["Oslo", "", "Żnin"], object)
            if values.size:
                made[...] = values if names else values[()]
        for at in range(rng.randint(1, 4)):
            names = rng.sample(list(sizes), rng.randint(1, 4))
            packed = rng.random() < 0.5
            fill = rng.choice([None, -9, float("nan")]) if not packed else -32768
            options = {}
            if rng.random() < 0.7:
                # The plugin Blosc refuses chunks that do not become smaller.
                options = {"compression": rng.choice(["zlib", "zlib", "zstd", "bzip2"]), "complevel": rng.randint(1, 9)}
            options.update(shuffle=rng.random() < 0.5, fletcher32=rng.random() < 0.3)
            if rng.random() < 0.5:
                options["chunksizes"] = [rng.randint(1, max(sizes[name], 1)) for name in names]
            made = file.createVariable(
                f"v{at}", "i2" if packed else rng.choice(["f4", "f8"]), names, fill_value=fill, **options
            )
            made.set_auto_maskandscale(False)
            made.long_name = f"variable {at}"
            made.valid_range = np.array([-5, 99], made.dtype)
            if packed:
                made.scale_factor, made.add_offset = 0.25, 10.0
            shape = [sizes[name] for name in names]
            values = elements(rng, "i2", shape).astype(made.dtype) % 100
            if fill is not None and values.size:
                values.flat[0] = fill
            made[:] = values
    with netCDF4.Dataset(path) as file:
        # An unlimited dimension without data has no length.
        sizes = {name: made.size for name, made in file.dimensions.items()}
    expected = xarray.open_dataset(path, decode_times=False).load()
    for out in [folder / "n.zarr", folder / "again.nc"]:
        run(trundle, "convert", path, "-o", out, "--force")
        kind = {"engine": "zarr", "consolidated": False} if out.suffix == ".zarr" else {}
        found = xarray.open_dataset(out, decode_times=False, **kind).load()
        xarray.testing.assert_identical(found, expected)
    check_structure(path, folder / "again.nc")
    if all(sizes.values()):
        dims = rng.sample(["time", "lat", "lon"], rng.randint(1, 3))
        run(trundle, "flip", path, "--dims", ",".join(dims), "-o", folder / "flipped.nc", "--force", "--verify")
        check_structure(path, folder / "flipped.nc", dims)
        # A variable may have fewer elements than its unlimited dimension.
        path = pathlib.Path(shutil.copy(path, folder / "grown.nc"))
        with netCDF4.Dataset(path, "a") as file:
            made = file.createVariable("short", "i4", ("time", "lat"), zlib=True)
            made[: sizes["time"] // 2] = 7
        run(trundle, "convert", path, "-o", folder / "short.nc", "--force", "--verify", absent="moved along")
        check_structure(path, folder / "short.nc")
        with netCDF4.Dataset(path) as one, netCDF4.Dataset(folder / "short.nc") as two:
            assert one["short"].shape == two["short"].shape
            # netCDF4 may return random values beyond the elements.
            assert np.all(two["short"][: sizes["time"] // 2] == 7)


def check_dimensions(trundle, folder):
    """Check that unlimited dimensions of the same name and different lengths stay separate."""
    import netCDF4

    def values(path):
        with netCDF4.Dataset(path) as file:
            groups = [file, *file.groups.values()]
            return {f"{group.path}/{name}": made[:].tolist() for group in groups for name, made in group.variables.items()}

    one, out = folder / "same.nc", folder / "same-out.nc"
    with netCDF4.Dataset(one, "w") as file:
        for name, size in [("g", 2), ("h", 4)]:
            group = file.createGroup(name)
            group.createDimension("time", None)
            group.createVariable("u", "i4", ("time",))[:] = np.arange(size)
    expected = {"/g/u": [0, 1], "/h/u": [0, 1, 2, 3]}
    run(trundle, "convert", one, "-o", out, "--force")
    assert values(out) == expected, values(out)
    with netCDF4.Dataset(one, "w") as file:
        file.createDimension("time", None)
        file.createVariable("time", "i4", ("time",))[:] = [1, 2]
        file.createVariable("a", "i4", ("time",))[:] = [3, 4]
        group = file.createGroup("g")
        group.createDimension("time", None)
        group.createVariable("u", "i4", ("time",))[:] = np.arange(4)
    expected = {"//time": [1, 2], "//a": [3, 4], "/g/u": [0, 1, 2, 3]}
    run(trundle, "convert", one, "-o", out, "--force")
    assert values(out) == expected, values(out)
    # An axis that was cut is no longer the dimension.
    run(trundle, "apply", one, "slice(starts=[0],stops=[1],axes=[0])", "--tensor", "a", "-o", out, "--force")
    assert values(out) == {**expected, "//a": [3]}, values(out)
    with h5py.File(folder / "labels.h5", "w") as file:
        for name, size in [("a", 2), ("b", 4)]:
            file.create_dataset(name, data=np.arange(size), maxshape=(None,), chunks=(1,)).dims[0].label = "t"
        file.create_dataset("c", data=np.arange(2)).dims[0].label = "t"
    run(trundle, "convert", folder / "labels.h5", "-o", out, "--force")
    assert values(out) == {"//a": [0, 1], "//b": [0, 1, 2, 3], "//c": [0, 1]}, values(out)
    with netCDF4.Dataset(out) as file:
        # netCDF cannot extend contiguous variables.
        assert not file.dimensions["t"].isunlimited() and file["c"].dimensions == ("t",)


def check_structure(path, other, moved=()):
    """Check that netCDF4 sees the same dimensions, filters and, along axes that were not moved, chunks."""
    import netCDF4

    with netCDF4.Dataset(path) as one, netCDF4.Dataset(other) as two:
        dimensions = [
            {name: (made.size, made.isunlimited()) for name, made in file.dimensions.items()} for file in [one, two]
        ]
        used = {name for made in one.variables.values() for name in made.dimensions}
        expected = {name: size for name, size in dimensions[0].items() if name in used}
        assert dimensions[1] == expected, dimensions
        for name, made in one.variables.items():
            filters = made.filters()
            if filters and (filters["zstd"] or filters["bzip2"]):
                filters.update(zlib=True, complevel=4, shuffle=True, zstd=False, bzip2=False)
            assert two[name].filters() == filters, (name, filters, two[name].filters())
            chunks, found = made.chunking(), two[name].chunking()
            assert (chunks == "contiguous") == (found == "contiguous"), (name, chunks, found)
            for axis, size, own in zip(made.dimensions, chunks, found) if chunks != "contiguous" else []:
                assert axis in moved or size == own, (name, chunks, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trundle", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    trundle = arguments.trundle.resolve()
    try:
        import netCDF4, xarray, zarr  # noqa: F401, E401
        has_netcdf = True
    except ImportError:
        has_netcdf = False
        print("skipped: netCDF-4, because netCDF4, xarray or zarr is not installed")
    with tempfile.TemporaryDirectory() as folder:
        check_many_chunks(random.Random(arguments.seed), trundle, pathlib.Path(folder))
        if has_netcdf:
            check_dimensions(trundle, pathlib.Path(folder))
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            try:
                path, expected = check_reads(rng, trundle, pathlib.Path(folder))
                check_writes(rng, trundle, pathlib.Path(folder), path, expected)
                if seed % 2 == 0:
                    check_strings(rng, trundle, pathlib.Path(folder), has_netcdf)
                if has_netcdf and seed % 4 == 0:
                    check_netcdf(rng, trundle, pathlib.Path(folder))
            except BaseException:
                print(f"--seed {seed} --count 1 failed")
                raise
    print(f"{arguments.count} files: all elements equal h5py's")


if __name__ == "__main__":
    main()
