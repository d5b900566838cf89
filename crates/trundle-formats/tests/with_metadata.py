#!/usr/bin/env python3
"""Converts random attributes, groups, names, dimensions and fill values between all pairs of containers. Between HDF5
and netCDF, attributes must also keep their types.

    with_metadata.py TRUNDLE [--count 200] [--seed 1]

Needs h5py, netCDF4, numpy, safetensors and zarr 3. The library that defines a format writes the input or reads the
output. A warning of the run has to name each difference.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import warnings

import h5py
import netCDF4
import numpy as np
import zarr
from safetensors import safe_open
from safetensors.numpy import save_file

# The small limits below apply to the data that are moved, not to the memory of the program itself.
os.environ["TRUNDLE_OWN_MEMORY"] = "0"
warnings.filterwarnings("ignore")

NAMES = ["x", "lat", "lon", "time", "t2m", "größe", "a b", "name.with-dots", "温度"]
AXES = ["lat", "lon", "time", "x", "größe", "n"]
SIZES = {"lat": 2, "lon": 3, "time": 4, "x": 2, "größe": 1, "n": 5}
TYPES = ["f4", "f8", "i2", "i4", "u1", "u8", "i8"]
KEYS = ["units", "title", "scale_factor", "größe", "a key", "count", "list", "flag", "long_name", "missing_value"]
VALUES = ["K", "", "m² s-1", 5, -3, 0.5, 1e300, True, False, [1, 2], [0.5, 2.5], ["a", "", "é"], "7", "null", "[1]"]
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
KINDS = ["zarr2", "zarr3", "h5", "nc", "npz", "safetensors", "npy"]
INTERNAL = {
    "DIMENSION_LIST", "DIMENSION_LABELS", "CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates", "REFERENCE_LIST",
    "_NCProperties",
}


class Tensor:
    """A tensor as a library reads or writes it."""

    def __init__(self, values, dims=None, attributes=None, fill=None):
        self.values, self.dims, self.attributes, self.fill = values, dims, attributes or {}, fill


class Tree:
    """The tensors of a file and the attributes of its groups, by path; `whole`: the file is an unnamed tensor."""

    def __init__(self, tensors, groups=None, whole=False, is_texts=False):
        self.tensors, self.groups, self.whole, self.is_texts = tensors, groups or {}, whole, is_texts


def some_attributes(rng, kind):
    values = list(VALUES)
    if kind.startswith("zarr"):
        values += [{"a": [1, {"b": None}]}, None, [1, "two"]]
    if kind != "safetensors":
        values += [math.nan, [1.5, -math.inf]]
    if kind in ("h5", "nc"):
        values += [np.array(rng.choice([1, [1], [1, 2], [0, 99, 5]]), rng.choice(NUMBERS)) for _ in range(8)]
        values += [np.array([1.5, math.nan], "f4"), np.array([], "f4"), np.float32(0.1)]
    if kind == "h5":
        values += [np.float16(0.1), 1 + 2j, np.array([1, 1j * math.inf], "c8"), np.ones((2, 3), rng.choice(NUMBERS))]
        values += [np.zeros((2, 0), "i2"), h5py.Empty("f4"), np.bytes_(b"abc"), np.array([b"a", b"bcd"]), np.void(b"ab")]
        values += [np.array([["a", "b"], ["c", "d"]], object), np.array([(1, 0.5)], "i2,f8"), np.array([1, 2], ">i4")]
    if kind == "nc":
        # netCDF has no booleans, and empty strings become empty arrays of numbers.
        values = [value for value in values if not isinstance(value, bool) and str(value) != ""]
    return {key: rng.choice(values) for key in rng.sample(KEYS, rng.choice([0, 0, 1, 2, 4]))}


def some_tree(rng, kind):
    """Returns a random tree that a file of this kind can hold."""
    holds_groups, holds_names = kind in ("zarr2", "zarr3", "h5", "nc"), kind != "npy"
    whole = not holds_names or kind.startswith("zarr") and rng.random() < 0.3
    paths = [""] + ([rng.choice(["g", "größe", "a b"]), "deep/er"] if holds_groups and rng.random() < 0.5 else [])
    tensors, groups = {}, {}
    count = 1 if whole else rng.choice([1, 1, 2, 4])
    axes_of = {}
    for _ in range(count):
        path, name = rng.choice(paths), rng.choice(NAMES)
        name = name if not path else f"{path}/{name}"
        is_taken = any(f"{other}/".startswith(f"{name}/") or f"{name}/".startswith(f"{other}/") for other in [*tensors, *paths])
        if name in tensors or is_taken:
            continue
        dims = rng.sample(AXES, rng.choice([0, 1, 1, 2, 3]))
        shape = tuple(SIZES[axis] for axis in dims)
        dtype = np.dtype(rng.choice(TYPES))
        values = np.array([rng.randrange(100) for _ in range(math.prod(shape))], dtype).reshape(shape)
        named = kind == "nc" or holds_groups and rng.random() < 0.7
        attributes = some_attributes(rng, kind) if holds_groups else {}
        fill = np.array(rng.choice([0, 0, 7]), dtype) if holds_groups and kind != "nc" else None
        tensors[name] = Tensor(values, list(dims) if named and dims else None, attributes, fill)
    if not tensors:
        return some_tree(rng, kind)
    if holds_groups and not whole:
        used = {name.rsplit("/", 1)[0] if "/" in name else "" for name in tensors}
        groups = {path: some_attributes(rng, kind) for path in {"", *used}}
    elif kind == "safetensors":
        groups = {"": {key: rng.choice(["K", "m² s-1", "7", "plain"]) for key in rng.sample(KEYS, rng.choice([0, 1, 2]))}}
    return Tree(tensors, groups, whole, kind == "safetensors")


def write(tree, kind, path):
    """Writes a tree with the library that defines the format."""
    if kind.startswith("zarr"):
        version = int(kind[-1])
        root = None if tree.whole else zarr.open_group(path, mode="w", zarr_format=version)
        for group, attributes in tree.groups.items():
            (root.require_group(group) if group else root).attrs.update(attributes)
        for name, tensor in tree.tensors.items():
            store = {"store": path} if tree.whole else {"store": root.store, "name": name}
            dims = {"dimension_names": tensor.dims} if version == 3 and tensor.dims else {}
            more = {"_ARRAY_DIMENSIONS": tensor.dims} if version == 2 and tensor.dims else {}
            made = zarr.create_array(
                **store, data=tensor.values, zarr_format=version, fill_value=tensor.fill, overwrite=tree.whole,
                attributes={**tensor.attributes, **more}, **dims,
            )
            tensor.fill = made.fill_value
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            for group, attributes in tree.groups.items():
                (file.require_group(group) if group else file).attrs.update(attributes)
            for name, tensor in tree.tensors.items():
                made = file.create_dataset(name, data=tensor.values, fillvalue=tensor.fill)
                made.attrs.update(tensor.attributes)
                for axis, label in enumerate(tensor.dims or []):
                    made.dims[axis].label = label
    elif kind == "nc":
        with netCDF4.Dataset(path, "w") as file:
            for axis in {axis for tensor in tree.tensors.values() for axis in tensor.dims or []}:
                file.createDimension(axis, SIZES[axis])
            for group, attributes in tree.groups.items():
                (file.createGroup(group) if group else file).setncatts(attributes)
            for name, tensor in tree.tensors.items():
                made = file.createVariable(name, tensor.values.dtype, tensor.dims or [])
                made.set_auto_maskandscale(False)
                made[...] = tensor.values
                made.setncatts(tensor.attributes)
    elif kind == "npz":
        np.savez(path, **{name: tensor.values for name, tensor in tree.tensors.items()})
    elif kind == "npy":
        np.save(path, next(iter(tree.tensors.values())).values)
    else:
        save_file({name: np.array(tensor.values, order="C") for name, tensor in tree.tensors.items()}, path, tree.groups[""] or None)


def plain(value):
    """Converts an attribute to its JSON equivalent."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, h5py.Empty):
        return []
    return plain(value.item()) if isinstance(value, np.generic) else value


def read(kind, path):
    """Reads a tree with the library that defines the format."""
    tensors, groups = {}, {}
    if kind == "zarr":
        root = zarr.open(path, mode="r")
        whole = isinstance(root, zarr.Array)
        arrays = [("", root)] if whole else [(name, node) for name, node in root.members(max_depth=None)]
        for name, node in arrays:
            if isinstance(node, zarr.Array):
                dims = node.metadata.dimension_names
                tensors[name] = Tensor(node[...], list(dims) if dims else None, dict(node.attrs), node.fill_value)
            else:
                groups[name] = dict(node.attrs)
        if not whole:
            groups[""] = dict(root.attrs)
        return Tree(tensors, groups, whole)
    if kind in ("h5", "nc"):
        with h5py.File(path) as file:
            def visit(name, node):
                attributes = {key: plain(value) for key, value in node.attrs.items() if key not in INTERNAL}
                if not isinstance(node, h5py.Dataset):
                    groups[name] = attributes
                elif not str(node.attrs.get("NAME", "")).count("not a netCDF variable"):
                    dims = [dim[0].name.rsplit("/", 1)[-1] if len(dim) else dim.label for dim in node.dims]
                    if node.attrs.get("CLASS") == b"DIMENSION_SCALE":
                        dims = [name.rsplit("/", 1)[-1]]
                    tensors[name.replace("_nc4_non_coord_", "")] = Tensor(node[()], dims if any(dims) else None, attributes, node.fillvalue)
            file.visititems(visit)
            groups[""] = {key: plain(value) for key, value in file.attrs.items()}
        if kind == "nc":
            with netCDF4.Dataset(path) as file:
                def check(group, prefix):
                    for name, variable in group.variables.items():
                        found = tensors[prefix + name]
                        # netCDF gives an unnamed axis the name of another axis of its length, or one like phony_dim_0.
                        phony = found.dims is None or any(dim.startswith("phony") for dim in variable.dimensions)
                        assert phony or list(variable.dimensions) == found.dims, (name, variable.dimensions, found.dims)
                        assert set(found.attributes) <= set(variable.ncattrs()), (name, variable.ncattrs(), found.attributes)
                    own = groups.get(prefix.rstrip("/"), {})
                    assert set(own) <= set(group.ncattrs()), (prefix, group.ncattrs(), own)
                    for name, below in group.groups.items():
                        check(below, f"{prefix}{name}/")
                check(file, "")
        return Tree(tensors, groups)
    if kind == "npz":
        with np.load(path) as file:
            return Tree({name: Tensor(file[name]) for name in file.files})
    if kind == "npy":
        return Tree({"": Tensor(np.load(path))}, whole=True)
    with safe_open(path, "numpy") as file:
        return Tree({name: Tensor(file.get_tensor(name)) for name in file.keys()}, {"": dict(file.metadata() or {})})


def decoded_attributes(attributes):
    """Decodes the attributes of a format that holds only strings: JSON becomes its value."""
    def text(value):
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value
    return {key: text(value) for key, value in attributes.items()}


def same(one, other):
    """Returns whether two attributes are equivalent. In HDF5, a list of one equals its element."""
    one, other = plain(one), plain(other)
    while isinstance(one, list) and len(one) == 1:
        one = one[0]
    while isinstance(other, list) and len(other) == 1:
        other = other[0]
    if isinstance(other, str) and not isinstance(one, str):
        # HDF5 has neither objects nor lists of mixed types, so the program stores them as JSON.
        try:
            other = json.loads(other)
        except ValueError:
            return False
    return equal(one, other) and isinstance(one, bool) == isinstance(other, bool)


def equal(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other or one != one and other != other


def is_of_netcdf(type_id, shape):
    """Returns whether netCDF has attributes of this type and shape."""
    number = {h5py.h5t.INTEGER: 1, h5py.h5t.FLOAT: 4}.get(type_id.get_class())
    is_string = type_id.get_class() == h5py.h5t.STRING
    return is_string or number is not None and type_id.get_size() >= number and len(shape or ()) <= 1


def exact_attributes(path):
    """Returns the type, the kind of the dataspace, whether netCDF has the type, and the value of each attribute in HDF5."""
    found = {}
    with h5py.File(path) as file:
        def visit(name, node):
            for key in set(node.attrs) - INTERNAL:
                attribute = h5py.h5a.open(node.id, key.encode())
                space = attribute.get_space()
                kind = attribute.get_type().encode(), space.get_simple_extent_type()
                is_in_netcdf = is_of_netcdf(attribute.get_type(), attribute.shape)
                found[name.replace("_nc4_non_coord_", ""), key] = *kind, is_in_netcdf, repr(node.attrs[key])
        visit("", file)
        file.visititems(visit)
    return found


def differences(source, target, out):
    """Returns the attributes that differ between two HDF5 files. netCDF lacks some types."""
    before, after = exact_attributes(source), exact_attributes(target)
    is_same = lambda key: before.get(key) == after.get(key) or out == "nc" and not before[key][2]
    return [(key, before.get(key), after.get(key)) for key in {*before, *after} if not is_same(key)]


class Comparison:
    """Collects the differences between two trees that the program's warnings do not name."""

    def __init__(self, messages):
        self.messages, self.wrong = messages, []

    def expect_named(self, what, *words):
        if not all(str(word) in self.messages for word in words):
            self.wrong.append(what)

    def attributes(self, where, before, after, *words):
        for key in before:
            if key not in after:
                self.expect_named(f"{where}: attribute {key} is lost", key, *words)
            elif not same(before[key], after[key]):
                self.expect_named(f"{where}: attribute {key} was {before[key]!r} and is {after[key]!r}", key, *words)
        for key in after:
            if key not in before and key != "_FillValue":
                self.wrong.append(f"{where}: attribute {key} is new: {after[key]!r}")


def without_booleans(attributes):
    """Converts booleans to integers, as netCDF stores them."""
    return {key: int(value) if isinstance(value, (bool, np.bool_)) else value for key, value in attributes.items()}


def compare(before, after, messages, move, out):
    """Compares the trees before and after a move, and returns the differences that no warning names."""
    found = Comparison(messages)
    if out == "nc":
        for tensor in before.tensors.values():
            tensor.attributes = without_booleans(tensor.attributes)
        before.groups = {path: without_booleans(own) for path, own in before.groups.items()}
    names = {name: name for name in before.tensors}
    if before.whole or after.whole:
        [name] = before.tensors
        if not before.whole and after.whole and out != "npy":
            found.wrong.append("the name is lost")
        names = {name: next(iter(after.tensors), None)}
    if sorted(names.values(), key=str) != sorted(after.tensors):
        return [f"tensors {sorted(names)} became {sorted(after.tensors)}"]
    order = move["order"]
    for name, tensor in before.tensors.items():
        moved = after.tensors[names[name]]
        is_moved = tensor.values.ndim == move["rank"]
        expected = move["of"](tensor.values) if is_moved else tensor.values
        if not np.array_equal(np.asarray(moved.values), expected):
            found.wrong.append(f"{name}: other elements")
        dims = [tensor.dims[axis] for axis in order] if tensor.dims and is_moved and order else tensor.dims
        if (dims or None) != (moved.dims or None):
            [found.expect_named(f"{name}: axes {dims} are {moved.dims}", dim) for dim in dims or [f"{moved.dims} are new"]]
        # The attributes of a file with a single tensor belong to the tensor.
        own, others = dict(tensor.attributes), dict(moved.attributes)
        if before.whole and not after.whole and out == "safetensors":
            others.update(decoded_attributes(after.groups.get("", {})))
        if before.whole and before.groups:
            own.update(before.groups[""])
        found.attributes(name, own, others)
        fill = 0 if tensor.fill is None else tensor.fill
        if fill and moved.fill is None:
            found.expect_named(f"{name}: fill value {fill} is lost", "fill values")
        elif moved.fill is not None and not np.array_equal(np.asarray(fill), np.asarray(moved.fill)) and tensor.fill is not None:
            found.wrong.append(f"{name}: fill value {fill} is {moved.fill}")
    if not before.whole:
        nested = out == "safetensors"
        for path, attributes in before.groups.items():
            if nested and path:
                text = after.groups[""].get(f"{path}/") if attributes else "{}"
                found.attributes(path, attributes, json.loads(text or "{}"))
                continue
            others = after.groups.get(path, {})
            if nested:
                others = {key: value for key, value in others.items() if not key.endswith("/")}
                others = decoded_attributes(others)
            attributes = decoded_attributes(attributes) if before.is_texts else attributes
            words = [f"{path}/"] if path and out in ("npz", "npy") else []
            if words and attributes:
                found.expect_named(f"{path}: attributes are lost", *words)
                continue
            found.attributes(path or "the root", attributes, others)
    return found.wrong


def some_move(rng, tree):
    """Returns a command, the axis order of its result, and the equivalent numpy function."""
    ranks = {tensor.values.ndim for tensor in tree.tensors.values()}
    rank = ranks.pop() if len(ranks) == 1 else 0
    kind = rng.choice(["convert", "flip", "transpose"]) if rank else "convert"
    if kind == "convert":
        return ["convert"], {"order": None, "rank": -1, "of": None}
    if kind == "flip":
        axis = rng.randrange(rank)
        return ["flip", "--axes", str(axis)], {"order": None, "rank": rank, "of": lambda x: np.flip(x, axis)}
    order = rng.sample(range(rank), rank)
    command = ["transpose", "--order", ",".join(map(str, order))]
    return command, {"order": order, "rank": rank, "of": lambda x: np.transpose(x, order)}


def check(rng, trundle, folder, seed):
    kind = KINDS[seed % len(KINDS)]
    out = ["zarr", "h5", "nc", "npz", "safetensors", "npy"][seed // len(KINDS) % 6]
    tree = some_tree(rng, kind)
    if out == "npy" and len(tree.tensors) > 1:
        out = "npz"
    source = folder / f"source.{kind.rstrip('23')}"
    target = folder / f"target.{out}"
    write(tree, kind, str(source))
    command, move = some_move(rng, tree)
    arguments = [str(trundle), command[0], str(source), *command[1:], "-o", str(target), "--quiet"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    what = f"{kind} to {out}: {' '.join(command)}"
    assert done.returncode == 0, f"{what}: {done.stderr}"
    wrong = compare(tree, read(out, str(target)), done.stderr, move, out)
    if {kind, out} <= {"h5", "nc"}:
        wrong += differences(source, target, out)
    assert not wrong, f"{what}: {wrong}\nmessages: {done.stderr}"
    return bool(done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trundle", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true", help="continue after a failure")
    arguments = parser.parse_args()
    failed = warned = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                warned += check(random.Random(seed), arguments.trundle.resolve(), pathlib.Path(folder), seed)
            except AssertionError as error:
                print(f"--seed {seed} --count 1: {error}")
                failed += 1
                if not arguments.go_on:
                    break
    print(f"{arguments.count} files, {warned} with warnings, {failed} wrong")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
