#!/usr/bin/env python3
"""Random layers of OpenVINO whose texts leave much to be read, beside what the texts say, and beside OpenVINO.

    pip install openvino==2026.4.1 numpy==2.4.6
    crates/trundle-models/tests/with_openvino.py target/release/trundle --count 300
"""

import argparse
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset1, opset2, opset3
from openvino.utils.node_factory import NodeFactory


def constant(entries, dtype=np.int64):
    return opset1.constant(np.array(entries, dtype))


def some_sizes(chance, least, most):
    return [chance.randint(1, 7) for _ in range(chance.randint(least, most))]


def batch_to_space(chance):
    sizes = some_sizes(chance, 3, 5)
    block = [1] + [chance.randint(1, 3) for _ in sizes[1:]]
    crops = [[0] + [chance.randint(0, size * side // 2) for size, side in zip(sizes[1:], block[1:])] for _ in range(2)]
    sizes[0] *= int(np.prod(block))
    # OpenVINO refuses an output without elements here, which its text allows.
    if any(size * side <= sum(cut) for size, side, *cut in zip(sizes[1:], block[1:], *(crop[1:] for crop in crops))):
        return batch_to_space(chance)
    return sizes, lambda x: opset2.batch_to_space(x, constant(block), *map(constant, crops))


def space_to_batch(chance):
    sizes = some_sizes(chance, 3, 5)
    block = [1] + [chance.randint(1, 3) for _ in sizes[1:]]
    begins = [0] + [chance.randint(0, 3) for _ in sizes[1:]]
    # As many as are missing to whole blocks.
    ends = [0] + [-(size + begin) % side for size, begin, side in zip(sizes[1:], begins[1:], block[1:])]

    def said(data):
        """What its text says."""
        padded = np.pad(data, list(zip(begins, ends)))
        parts = [(size // side, side) for size, side in zip(padded.shape[1:], block[1:])]
        split = padded.reshape(padded.shape[0], *(size for part in parts for size in part))
        order = [*range(2, split.ndim, 2), 0, *range(1, split.ndim, 2)]
        return split.transpose(order).reshape(-1, *(part[0] for part in parts))

    return sizes, lambda x: opset2.space_to_batch(x, constant(block), constant(begins), constant(ends)), said


def shape_of(chance):
    sizes = some_sizes(chance, 1, 5)
    if chance.random() < 0.5:
        return sizes, opset1.shape_of
    return sizes, lambda x: opset3.shape_of(x, output_type=chance.choice(["i32", "i64"]))


# Where an index lies in the data, and which index is the nearest, in the words of the text's own program.
ORIGINAL = {
    "half_pixel": lambda x, scale, resized, own: (x + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda x, scale, resized, own: (x + 0.5) / scale - 0.5 if resized > 1 else 0.0,
    "asymmetric": lambda x, scale, resized, own: x / scale,
    "tf_half_pixel_for_nn": lambda x, scale, resized, own: (x + 0.5) / scale,
    "align_corners": lambda x, scale, resized, own: 0 if resized == 1 else x * (own - 1) / (resized - 1),
}
NEAREST = {
    "round_prefer_floor": lambda x, scale: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, scale: math.floor(x + 0.5),
    "floor": lambda x, scale: math.floor(x),
    "ceil": lambda x, scale: math.ceil(x),
    "simple": lambda x, scale: math.ceil(x) if scale < 1 else int(x),
}


def whole(x):
    """A whole number where it is no more than a rounding from that."""
    return x + 1 - 1 if (x + 1) % 1 == 0 else x


def interpolated(data, axes, to, scales, attributes):
    """What the text of Interpolate says, but that an axis stays where it becomes no longer, as in OpenVINO itself, and
    that a rounding makes no difference."""
    pads = [attributes.get(name, [0] * data.ndim) for name in ("pads_begin", "pads_end")]
    data = np.pad(data, list(zip(*pads)))
    original = ORIGINAL[attributes["coordinate_transformation_mode"]]
    nearest = NEAREST[attributes["nearest_mode"]]
    for axis, size, scale in zip(axes, to, scales):
        own = data.shape[axis]
        resized, scale = (size, size / own) if scale is None else (math.floor(scale * own), scale)
        if scale == 1 and resized == own:
            continue
        indices = [nearest(whole(original(x, scale, resized, own)), scale) for x in range(resized)]
        data = data.take(np.array(indices, np.int64).clip(0, own - 1), axis)
    return data


def interpolate(chance):
    rank = chance.choice([4, 4, 4, 5])
    sizes = [chance.randint(1, 9) for _ in range(rank)]
    axes = chance.sample(range(2, rank), chance.randint(1, rank - 2))
    to = [chance.randint(1, 20) for _ in axes]
    if chance.random() < 0.2:
        # OpenVINO keeps them as a set.
        axes.sort()
        attributes = {"axes": np.array(axes), "mode": "nearest", "align_corners": chance.random() < 0.5}
        mode = "align_corners" if attributes["align_corners"] else "asymmetric"
        meant = {"coordinate_transformation_mode": mode, "nearest_mode": "simple"}
        return (
            sizes,
            lambda x: opset1.interpolate(x, constant(to), attributes),
            lambda data: interpolated(data, axes, to, [None] * len(axes), meant),
        )
    coordinates = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
    attributes = {
        "coordinate_transformation_mode": chance.choice(coordinates),
        "nearest_mode": chance.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]),
        "shape_calculation_mode": "sizes",
    }
    if chance.random() < 0.3:
        attributes["pads_begin"] = [0, 0] + [chance.randint(0, 2) for _ in sizes[2:]]
        attributes["pads_end"] = [0, 0] + [chance.randint(0, 2) for _ in sizes[2:]]
    by, scales, reckoned = constant(to), constant([1.0 for _ in axes], np.float32), [None] * len(axes)
    if chance.random() < 0.5:
        attributes["shape_calculation_mode"] = "scales"
        reckoned = [chance.choice([0.5, 1.5, 2.0, 3.0, 0.75, 1.25]) for _ in axes]
        by = scales = constant(reckoned, np.float32)
    attributes["mode"] = "nearest"
    version, inputs = chance.choice([("opset4", [constant(to), scales]), ("opset11", [by])])
    inputs.append(constant(axes))
    return (
        sizes,
        lambda x: NodeFactory(version).create("Interpolate", [x, *inputs], attributes),
        lambda data: interpolated(data, axes, to, reckoned, attributes),
    )


def some_indices(chance, size, count, back=True):
    return [chance.randint(-size if back else 0, size - 1) for _ in range(count)]


def created(name, version, attributes, *inputs):
    """A layer of x and of constants, of which updates are of the type of x."""

    def layer(x):
        dtype = x.get_element_type().to_dtype()
        own = [each.astype(dtype) if isinstance(each, Updates) else each for each in inputs]
        nodes = [opset1.constant(np.asarray(each)) for each in own]
        return NodeFactory(version).create(name, [x, *nodes], attributes)

    return layer


class Updates(np.ndarray):
    """Elements that are put somewhere."""


def updates(sizes):
    return (np.arange(np.prod(sizes)) % 50 + 70).reshape(sizes).view(Updates)


def index_type(chance):
    return chance.choice([np.int32, np.int64])


def gather(chance):
    sizes = some_sizes(chance, 1, 4)
    axis = chance.randrange(len(sizes))
    version = chance.choice(["opset1", "opset7", "opset8", "opset8"])
    batch = 0 if version == "opset1" else chance.randint(0, axis)
    shape = [*sizes[:batch], *some_sizes(chance, 0, 2)]
    indices = some_indices(chance, sizes[axis], int(np.prod(shape)), version == "opset8")
    if version == "opset8" and chance.random() < 0.3:
        # Zeros stand there.
        indices[0] = chance.choice([sizes[axis], -sizes[axis] - 1, 1000])
    attributes = {}
    if version != "opset1":
        attributes = {"batch_dims": batch - len(shape) if shape[batch:] and chance.random() < 0.3 else batch}
    called = axis - len(sizes) if chance.random() < 0.3 else axis
    indices = np.array(indices, index_type(chance)).reshape(shape)
    return sizes, created("Gather", version, attributes, indices, np.array(called))


def gather_elements(chance):
    sizes = some_sizes(chance, 1, 4)
    axis = chance.randrange(len(sizes))
    shape = [*sizes[:axis], chance.randint(1, 9), *sizes[axis + 1 :]]
    indices = np.array(some_indices(chance, sizes[axis], int(np.prod(shape))), index_type(chance)).reshape(shape)
    called = axis - len(sizes) if chance.random() < 0.3 else axis
    return sizes, created("GatherElements", "opset6", {"axis": called}, indices)


def gather_nd(chance):
    sizes = some_sizes(chance, 1, 5)
    batch = chance.randint(0, len(sizes) - 1)
    together = chance.randint(1, len(sizes) - batch)
    shape = [*sizes[:batch], *some_sizes(chance, 0, 2)]
    count = int(np.prod(shape))
    indices = [some_indices(chance, size, count) for size in sizes[batch : batch + together]]
    indices = np.array(indices, index_type(chance)).T.reshape(*shape, together)
    return sizes, created("GatherND", chance.choice(["opset5", "opset8"]), {"batch_dims": batch}, indices)


def scatter_elements(chance):
    sizes = some_sizes(chance, 1, 4)
    axis = chance.randrange(len(sizes))
    version, attributes = chance.choice(
        [("opset3", {}), ("opset12", {}), ("opset12", {"reduction": "none", "use_init_val": False})]
    )
    shape = [chance.randint(1, size) for size in sizes]
    indices = some_indices(chance, sizes[axis], int(np.prod(shape)), version == "opset12")
    indices, new = np.array(indices, index_type(chance)).reshape(shape), updates(shape)

    def said(data):
        data = data.copy()
        for place in np.ndindex(*shape):
            data[(*place[:axis], indices[place], *place[axis + 1 :])] = new[place]
        return data

    called = axis - len(sizes) if chance.random() < 0.3 else axis
    return sizes, created("ScatterElementsUpdate", version, attributes, indices, new, np.array(called)), said


def scatter_nd(chance):
    sizes = some_sizes(chance, 1, 4)
    together = chance.randint(1, len(sizes))
    shape = some_sizes(chance, 0, 2)
    version, attributes = chance.choice([("opset4", {}), ("opset15", {}), ("opset15", {"reduction": "none"})])
    indices = [some_indices(chance, size, int(np.prod(shape)), version == "opset15") for size in sizes[:together]]
    indices = np.array(indices, index_type(chance)).T.reshape(*shape, together)
    new = updates([*shape, *sizes[together:]])

    def said(data):
        data = data.copy()
        for place in np.ndindex(*shape):
            data[tuple(indices[place])] = new[place]
        return data

    return sizes, created("ScatterNDUpdate", version, attributes, indices, new), said


def scatter_update(chance):
    sizes = some_sizes(chance, 1, 4)
    axis = chance.randrange(len(sizes))
    # OpenVINO refuses one index without an axis, which its text allows.
    shape = some_sizes(chance, 1, 2)
    indices = some_indices(chance, sizes[axis], int(np.prod(shape)), False)
    indices = np.array(indices, index_type(chance)).reshape(shape)
    new = updates([*sizes[:axis], *shape, *sizes[axis + 1 :]])

    def said(data):
        data = data.copy()
        for place in np.ndindex(*shape):
            data[(slice(None),) * axis + (indices[place],)] = new[(slice(None),) * axis + place]
        return data

    called = axis - len(sizes) if chance.random() < 0.3 else axis
    return sizes, created("ScatterUpdate", "opset3", {}, indices, new, np.array(called)), said


def slice_scatter(chance):
    sizes = some_sizes(chance, 1, 4)
    axes = chance.sample(range(len(sizes)), chance.randint(1, len(sizes)))
    by_order = chance.random() < 0.3
    if by_order:
        axes = list(range(len(axes)))
    lists = [[chance.randint(-9, 9) for _ in axes], [chance.randint(-9, 9) for _ in axes]]
    steps = [chance.choice([1, 1, 2, 3, -1, -2]) for _ in axes]
    cut = [slice(None)] * len(sizes)
    for axis, start, stop, step in zip(axes, *lists, steps):
        cut[axis] = slice(start, stop, step)
    shape = np.empty(sizes)[tuple(cut)].shape
    if 0 in shape:
        # There are no constants without elements.
        return slice_scatter(chance)

    def said(data):
        data = data.copy()
        data[tuple(cut)] = new
        return data

    new = updates(shape)
    called = [axis - len(sizes) if chance.random() < 0.3 else axis for axis in axes]
    inputs = [np.array(entries, index_type(chance)) for entries in (*lists, steps, *([] if by_order else [called]))]
    return sizes, created("SliceScatter", "opset15", {}, new, *inputs), said


def extract_image_patches(chance):
    sizes = [chance.randint(1, 3), chance.randint(1, 4), chance.randint(1, 12), chance.randint(1, 12)]
    patch, strides, rates = ([chance.randint(1, most) for _ in range(2)] for most in (4, 5, 3))
    padding = chance.choice(["same_upper", "same_lower", "valid"])
    return sizes, lambda x: opset3.extract_image_patches(x, patch, strides, rates, padding)


GATHERS = [gather, gather_elements, gather_nd, extract_image_patches]
MOVES = [*GATHERS, scatter_elements, scatter_nd, scatter_update, slice_scatter]


def check(program, core, chance):
    """One layer, by both: which, and what is wrong. Where there is a text, that counts: OpenVINO reckons in f32, leaves
    axes whose size stays as they are whatever the scale, and has other elements where SpaceToBatch puts zeros."""
    make = chance.choice([batch_to_space, space_to_batch, shape_of, interpolate, interpolate, *MOVES])
    sizes, layer, *said = make(chance)
    dtype = np.dtype(chance.choice(["f4", "f4", "f8", "f2", "i4", "i8", "u1", "i1"]) if make in MOVES else "f4")
    x = opset1.parameter(sizes, dtype, name="x")
    made = layer(x)
    model = ov.Model([opset1.result(made, name="y")], [x], "layer")
    data = np.arange(1, np.prod(sizes) + 1)
    data = (data if dtype.itemsize > 2 else data % 100).astype(dtype).reshape(sizes)
    try:
        expected = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([data])[0]
    except RuntimeError as refused:
        print(f"OpenVINO refuses {make.__name__} of {sizes}: {str(refused).splitlines()[-1][:150]}")
        return make.__name__, None
    kind = make.__name__
    for text in said:
        own, expected = expected, text(data)
        if not np.array_equal(own, expected):
            kind += ", and not OpenVINO"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
        np.save(folder / "x.npy", data)
        command = [program, "run", str(folder / "model.xml"), "--input", f"x={folder}/x.npy", "--quiet", "--verify"]
        command += ["--out-dir", str(folder / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{make.__name__} of {sizes}: {done.stderr}\n{(folder / 'model.xml').read_text()}")
        (file,) = (folder / "out").iterdir()
        found = np.load(file)
    what = f"{made.get_type_name()} {made.get_type_info().version_id} {made.get_attributes()} of {sizes}"
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return kind, f"{what}: {found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
    differ = np.argwhere(found != expected)
    if len(differ):
        at = tuple(map(int, differ[0]))
        return kind, f"{what} to {found.shape}: {found[at]} at {at}, not {expected[at]}"
    return kind, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    program, chance = str(arguments.program.resolve()), random.Random(arguments.seed)
    core, counts = ov.Core(), Counter()
    wrong = []
    for _ in range(arguments.count):
        kind, problem = check(program, core, chance)
        counts[kind] += problem == ""
        wrong += [problem] if problem else []
    print(f"OpenVINO {ov.__version__}: as the texts say are {dict(counts)}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
