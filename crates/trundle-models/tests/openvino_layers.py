"""Random movement layers of OpenVINO. A layer in which OpenVINO may deviate from the specification has the specified
result."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


class Elements(np.ndarray):
    """Elements of the tensor's type, by index. Index 0 is a zero."""


@dataclass
class Layer:
    """A layer and its other inputs: lists of integers of one type, and elements."""

    name: str
    version: str
    inputs: list = field(default_factory=list)
    attributes: dict = field(default_factory=dict)
    # The specified result for an array.
    specified: Callable | None = None

    def __str__(self):
        return f"{self.name}-{self.version.removeprefix('opset')}"


def axis_number(chance, axis, rank):
    """Returns the number of an axis, counted from the front or from the end."""
    return axis - rank if chance.random() < 0.3 else axis


def subset(chance, rank):
    return chance.sample(range(rank), chance.randint(1, rank))


def elements(sizes):
    return (np.arange(np.prod(sizes)) % 50 + 70).astype(int).reshape(sizes).view(Elements)


def transpose(chance, sizes):
    return Layer("Transpose", "opset1", [chance.sample(range(len(sizes)), len(sizes))])


def roll(chance, sizes):
    axes = [chance.randrange(-len(sizes), len(sizes)) for _ in range(chance.randint(1, len(sizes) + 1))]
    if len(axes) == 1 and chance.random() < 0.5:
        # OpenVINO refuses one shift for several axes, which the specification allows.
        return Layer("Roll", "opset7", [chance.randint(-9, 9), axes])
    return Layer("Roll", "opset7", [[chance.randint(-9, 9) for _ in axes], axes])


def reverse(chance, sizes):
    axes = subset(chance, len(sizes))
    specified = lambda data: np.flip(data, axes)
    if chance.random() < 0.5:
        return Layer("Reverse", "opset1", [axes], {"mode": "index"}, specified)
    return Layer("Reverse", "opset1", [np.isin(range(len(sizes)), axes)], {"mode": "mask"}, specified)


def reverse_sequence(chance, sizes):
    if len(sizes) < 2:
        return None
    batch, sequence = chance.sample(range(len(sizes)), 2)
    lengths = [chance.randint(1, sizes[sequence]) for _ in range(sizes[batch])]
    if chance.random() < 0.2:
        lengths = np.array(lengths, np.float32)
    attributes = {"batch_axis": axis_number(chance, batch, len(sizes)), "seq_axis": axis_number(chance, sequence, len(sizes))}
    return Layer("ReverseSequence", "opset1", [lengths], attributes)


def factors(chance, count, most):
    """Sizes with this product."""
    sizes = []
    while len(sizes) < most and (count > 1 or chance.random() < 0.3):
        sizes.append(chance.choice([each for each in range(1, count + 1) if count % each == 0]))
        count //= sizes[-1]
    if count > 1 or not sizes:
        sizes.append(count)
    chance.shuffle(sizes)
    return sizes


def reshape(chance, sizes):
    to = factors(chance, math.prod(sizes), 5)
    special = chance.random() < 0.5
    if special:
        to = [0 if number < len(sizes) and sizes[number] == size else size for number, size in enumerate(to)]
    if chance.random() < 0.5:
        to[chance.randrange(len(to))] = -1
    return Layer("Reshape", "opset1", [to], {"special_zero": special})


def squeeze(chance, sizes):
    ones = [axis for axis, size in enumerate(sizes) if size == 1]
    version = chance.choice(["opset1", "opset15"])
    if chance.random() < 0.3:
        return Layer("Squeeze", version) if ones and len(ones) < len(sizes) else None
    attributes = {}
    axes = ones
    if version == "opset15" and chance.random() < 0.5:
        attributes, axes = {"allow_axis_skip": True}, list(range(len(sizes)))
    if not axes:
        return None
    axes = chance.sample(axes, chance.randint(1, len(axes)))
    if all(axis in axes for axis in range(len(sizes))):
        return None
    return Layer("Squeeze", version, [[axis_number(chance, axis, len(sizes)) for axis in axes]], attributes)


def unsqueeze(chance, sizes):
    rank = len(sizes) + chance.randint(1, 2)
    if rank > 6:
        return None
    axes = chance.sample(range(rank), rank - len(sizes))
    return Layer("Unsqueeze", "opset1", [[axis_number(chance, axis, rank) for axis in axes]])


def cuts(chance, count):
    """Returns arbitrary starts, stops and steps."""
    far = [-(2**31) + 1, 2**31 - 1]
    bounds = [[chance.choice([*range(-9, 10), *far]) for _ in range(count)] for _ in range(2)]
    return [*bounds, [chance.choice([1, 1, 2, 3, -1, -2]) for _ in range(count)]]


def part(size, start, stop, step):
    """Returns a slice. A backward slice that starts before the first element starts at the first one instead."""
    return slice(max(start, -size) if step < 0 and start is not None else start, stop, step)


def slice_of(chance, sizes):
    axes = subset(chance, len(sizes))
    if chance.random() < 0.3:
        return Layer("Slice", "opset8", cuts(chance, len(axes)))
    return Layer("Slice", "opset8", [*cuts(chance, len(axes)), [axis_number(chance, axis, len(sizes)) for axis in axes]])


def strided_slice(chance, sizes):
    """Entries of all kinds: axis, new axis, shrunk axis, ellipsis."""
    own = chance.randint(0, len(sizes))
    kinds = chance.choices(["part", "part", "all", "shrink_axis"], k=own)
    kinds += ["new_axis"] * chance.choice([0, 0, 0, 1, 2])
    chance.shuffle(kinds)
    ellipsis = chance.randint(0, len(kinds)) if chance.random() < 0.3 else None
    if ellipsis is not None:
        kinds.insert(ellipsis, "ellipsis")
    elif not kinds:
        return None
    if len(sizes) - kinds.count("shrink_axis") + kinds.count("new_axis") not in range(1, 7):
        return None
    bounds = cuts(chance, len(kinds))
    kept = [[kind == "all" or kind == "part" and chance.random() < 0.5 for kind in kinds] for _ in range(2)]
    axis, index = 0, []
    for number, kind in enumerate(kinds):
        if kind == "shrink_axis":
            begin = chance.randrange(-sizes[axis], sizes[axis])
            for entries, entry in zip(bounds, (begin, begin + 1, 1)):
                entries[number] = entry
        if kind in ("part", "all"):
            begin, end = (None if keeps[number] else entries[number] for keeps, entries in zip(kept, bounds))
            index.append(part(sizes[axis], begin, end, bounds[2][number]))
        else:
            index.append({"new_axis": None, "shrink_axis": bounds[0][number], "ellipsis": ...}[kind])
        axis += {"ellipsis": len(sizes) - own, "new_axis": 0}.get(kind, 1)
    masks = {
        **{f"{name}_mask": [int(kind == name) for kind in kinds] for name in ("new_axis", "shrink_axis", "ellipsis")},
        **{f"{name}_mask": [int(keeps) for keeps in mask] for name, mask in zip(("begin", "end"), kept)},
    }
    specified = lambda data: data[tuple(index)]
    if all(step == 1 for step in bounds[2]):
        return Layer("StridedSlice", "opset1", bounds[:2], masks, specified)
    return Layer("StridedSlice", "opset1", bounds, masks, specified)


def tile(chance, sizes):
    repeats = [chance.choice([1, 1, 2, 3]) for _ in range(chance.randint(1, len(sizes) + 1))]
    return Layer("Tile", "opset1", [repeats], specified=lambda data: np.tile(data, repeats))


def block_order(chance):
    return chance.choice(["blocks_first", "depth_first"])


def depth_to_space(chance, sizes):
    if len(sizes) not in (3, 4, 5):
        return None
    blocks = [block for block in (2, 3, 4) if sizes[1] % block ** (len(sizes) - 2) == 0]
    if not blocks:
        return None
    return Layer("DepthToSpace", "opset1", [], {"block_size": chance.choice(blocks), "mode": block_order(chance)})


def space_to_depth(chance, sizes):
    if len(sizes) not in (3, 4, 5):
        return None
    blocks = [block for block in (2, 3, 4) if all(size % block == 0 for size in sizes[2:])]
    if not blocks:
        return None
    return Layer("SpaceToDepth", "opset1", [], {"block_size": chance.choice(blocks), "mode": block_order(chance)})


def equal_parts(chance, sizes):
    """Returns an axis and a number of equal parts, or None."""
    found = [(axis, parts) for axis, size in enumerate(sizes) for parts in range(2, size + 1) if size % parts == 0]
    return chance.choice(found) if found else None


def shuffle_channels(chance, sizes):
    found = equal_parts(chance, sizes)
    if not found or len(sizes) > 4:
        return None
    axis, group = found
    return Layer("ShuffleChannels", "opset1", [], {"axis": axis_number(chance, axis, len(sizes)), "group": group})


def split(chance, sizes):
    found = equal_parts(chance, sizes)
    if not found:
        return None
    axis, parts = found
    return Layer("Split", "opset1", [axis_number(chance, axis, len(sizes))], {"num_splits": parts})


def variadic_split(chance, sizes):
    axis = chance.randrange(len(sizes))
    count = chance.randint(1, min(4, sizes[axis]))
    cuts = [0, *sorted(chance.sample(range(1, sizes[axis]), count - 1)), sizes[axis]]
    lengths = [end - begin for begin, end in zip(cuts, cuts[1:])]
    if chance.random() < 0.3:
        lengths[chance.randrange(count)] = -1
    return Layer("VariadicSplit", "opset1", [axis_number(chance, axis, len(sizes)), lengths])


def pad(chance, sizes):
    mode = chance.choice(["constant", "constant", "edge", "reflect", "symmetric"])
    version = chance.choice(["opset1", "opset12"])
    most = {"reflect": lambda size: size - 1, "symmetric": lambda size: size}.get(mode, lambda size: 3)
    pads = [[chance.choice([0, 0, chance.randint(0, most(size))]) for size in sizes] for _ in range(2)]
    if version == "opset12":
        for axis, size in enumerate(sizes):
            # OpenVINO reads out of bounds if no data is left.
            if chance.random() < 0.3:
                pads[chance.randint(0, 1)][axis] = -chance.randint(0, size - 1)
    value = [elements([])] if mode == "constant" and chance.random() < 0.7 else []
    return Layer("Pad", version, [*pads, *value], {"pad_mode": mode})


def broadcast(chance, sizes):
    mode = chance.choice(["numpy", "bidirectional", "explicit"])
    if mode == "explicit":
        rank = chance.randint(len(sizes), min(6, len(sizes) + 2))
        axes = sorted(chance.sample(range(rank), len(sizes)))
        to = [chance.choice([1, 2, 3]) for _ in range(rank)]
        for axis, size in zip(axes, sizes):
            to[axis] = to[axis] if size == 1 else size
        return Layer("Broadcast", chance.choice(["opset1", "opset3"]), [to, axes], {"mode": mode})
    to = [chance.choice([1, 2, 3]) if size == 1 else size for size in sizes]
    to = [chance.choice([1, 2, 3]) for _ in range(chance.randint(0, min(2, 6 - len(sizes))))] + to
    if mode == "bidirectional":
        to = [1 if chance.random() < 0.3 else size for size in to]
        to = to[chance.randint(0, len(to) - 1) :]
        return Layer("Broadcast", "opset3", [to], {"mode": mode})
    return Layer("Broadcast", chance.choice(["opset1", "opset3"]), [to], {"mode": mode})


def batch_to_space(chance, sizes):
    if len(sizes) < 2 or sizes[0] == 1:
        return None
    block = [1] * len(sizes)
    batch = sizes[0]
    for axis in chance.sample(range(1, len(sizes)), len(sizes) - 1):
        block[axis] = chance.choice([side for side in (1, 2, 3) if batch % side == 0])
        batch //= block[axis]
    crops = [[0] + [chance.randint(0, size * side // 2) for size, side in zip(sizes[1:], block[1:])] for _ in range(2)]

    def specified(data):
        split = data.reshape(*block[1:], -1, *sizes[1:])
        rank = len(sizes)
        order = [rank - 1, *(axis for at in range(rank - 1) for axis in (rank + at, at))]
        spread = split.transpose(order).reshape(-1, *(size * side for size, side in zip(sizes[1:], block[1:])))
        kept = (slice(begin, size - end) for size, begin, end in zip(spread.shape, *crops))
        return spread[tuple(kept)]

    return Layer("BatchToSpace", "opset2", [block, *crops], specified=specified)


def space_to_batch(chance, sizes):
    if len(sizes) < 2:
        return None
    block = [1] + [chance.randint(1, 3) for _ in sizes[1:]]
    begins = [0] + [chance.randint(0, 3) for _ in sizes[1:]]
    # Pads to whole blocks.
    ends = [0] + [-(size + begin) % side for size, begin, side in zip(sizes[1:], begins[1:], block[1:])]

    def specified(data):
        padded = np.pad(data, list(zip(begins, ends)))
        parts = [(size // side, side) for size, side in zip(padded.shape[1:], block[1:])]
        split = padded.reshape(padded.shape[0], *(size for part in parts for size in part))
        order = [*range(2, split.ndim, 2), 0, *range(1, split.ndim, 2)]
        return split.transpose(order).reshape(-1, *(part[0] for part in parts))

    return Layer("SpaceToBatch", "opset2", [block, begins, ends], specified=specified)


def shape_of(chance, sizes):
    if chance.random() < 0.5:
        return Layer("ShapeOf", "opset1")
    return Layer("ShapeOf", "opset3", [], {"output_type": chance.choice(["i32", "i64"])})


def identity(chance, sizes):
    return Layer("Identity", "opset16", specified=lambda data: data)


# The formulas of the specification's own program.
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
    """Removes a rounding error near an integer."""
    return x + 1 - 1 if (x + 1) % 1 == 0 else x


def interpolated(data, axes, to, scales, attributes):
    """Interpolates as specified, except that axes of unchanged size are not resized, as in OpenVINO, and that rounding
    errors have no effect."""
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


def interpolate(chance, sizes):
    rank = len(sizes)
    if rank not in (4, 5):
        return None
    axes = chance.sample(range(2, rank), chance.randint(1, rank - 2))
    to = [chance.randint(1, 20) for _ in axes]
    if chance.random() < 0.2:
        return interpolate_1(chance, axes, to)
    coordinates = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
    attributes = {
        "coordinate_transformation_mode": chance.choice(coordinates),
        "nearest_mode": chance.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]),
        "shape_calculation_mode": "sizes",
    }
    if chance.random() < 0.3:
        attributes["pads_begin"] = [0, 0] + [chance.randint(0, 2) for _ in sizes[2:]]
        attributes["pads_end"] = [0, 0] + [chance.randint(0, 2) for _ in sizes[2:]]
    by, scales, known_scales = to, np.ones(len(axes), np.float32), [None] * len(axes)
    if chance.random() < 0.5:
        attributes["shape_calculation_mode"] = "scales"
        known_scales = [chance.choice([0.5, 1.5, 2.0, 3.0, 0.75, 1.25]) for _ in axes]
        by = scales = np.array(known_scales, np.float32)
    attributes["mode"] = "nearest"
    version, inputs = chance.choice([("opset4", [to, scales]), ("opset11", [by])])
    specified = lambda data: interpolated(data, axes, to, known_scales, attributes)
    return Layer("Interpolate", version, [*inputs, axes], attributes, specified)


def interpolate_1(chance, axes, to):
    # OpenVINO treats axes as a set.
    axes = sorted(axes)
    attributes = {"axes": np.array(axes), "mode": "nearest", "align_corners": chance.random() < 0.5}
    mode = "align_corners" if attributes["align_corners"] else "asymmetric"
    equivalent = {"coordinate_transformation_mode": mode, "nearest_mode": "simple"}
    specified = lambda data: interpolated(data, axes, to, [None] * len(axes), equivalent)
    return Layer("Interpolate", "opset1", [to], attributes, specified)


def more_sizes(chance, least, most):
    return [chance.randint(1, 5) for _ in range(chance.randint(least, most))]


def some_indices(chance, size, shape, back=True):
    entries = [chance.randint(-size if back else 0, size - 1) for _ in range(math.prod(shape))]
    return np.array(entries, int).reshape(shape)


def many_indices(chance, sizes, shape, back=True):
    """Returns indices of several axes together."""
    return np.stack([some_indices(chance, size, shape, back) for size in sizes], -1)


def gather(chance, sizes):
    axis = chance.randrange(len(sizes))
    version = chance.choice(["opset1", "opset7", "opset8", "opset8"])
    batch = 0 if version == "opset1" else chance.randint(0, axis)
    if math.prod(sizes[:axis]) == 1:
        # OpenVINO reads out of bounds.
        batch = 0
    shape = [*sizes[:batch], *more_sizes(chance, 0, 2)]
    indices = some_indices(chance, sizes[axis], shape, version == "opset8")
    if version == "opset8" and chance.random() < 0.3:
        # An index that is out of range reads zeros.
        indices.flat[0] = chance.choice([sizes[axis], -sizes[axis] - 1, 1000])
    attributes = {}
    if version != "opset1":
        attributes = {"batch_dims": batch - len(shape) if shape[batch:] and chance.random() < 0.3 else batch}
    outside = (indices < -sizes[axis]) | (indices >= sizes[axis])

    def specified(data):
        result = np.empty([*sizes[:axis], *shape[batch:], *sizes[axis + 1 :]], data.dtype)
        for position in np.ndindex(*sizes[:batch]):
            result[position] = data[position].take(np.where(outside, 0, indices)[position], axis - batch)
            result[(*position, *(slice(None),) * (axis - batch), outside[position])] = 0
        return result

    return Layer("Gather", version, [indices, axis_number(chance, axis, len(sizes))], attributes, specified)


def gather_elements(chance, sizes):
    axis = chance.randrange(len(sizes))
    shape = [*sizes[:axis], chance.randint(1, 9), *sizes[axis + 1 :]]
    indices = some_indices(chance, sizes[axis], shape)
    return Layer("GatherElements", "opset6", [indices], {"axis": axis_number(chance, axis, len(sizes))})


def gather_nd(chance, sizes):
    batch = chance.randint(0, len(sizes) - 1)
    together = chance.randint(1, len(sizes) - batch)
    shape = [*sizes[:batch], *more_sizes(chance, 0, 2)]
    indices = many_indices(chance, sizes[batch : batch + together], shape)
    return Layer("GatherND", chance.choice(["opset5", "opset8"]), [indices], {"batch_dims": batch})


def scatter_elements(chance, sizes):
    axis = chance.randrange(len(sizes))
    version, attributes = chance.choice(
        [("opset3", {}), ("opset12", {}), ("opset12", {"reduction": "none", "use_init_val": False})]
    )
    shape = [chance.randint(1, size) for size in sizes]
    indices, new = some_indices(chance, sizes[axis], shape, version == "opset12"), elements(shape)

    def specified(data):
        data = data.copy()
        for position in np.ndindex(*shape):
            data[(*position[:axis], indices[position], *position[axis + 1 :])] = new[position]
        return data

    inputs = [indices, new, axis_number(chance, axis, len(sizes))]
    return Layer("ScatterElementsUpdate", version, inputs, attributes, specified)


def scatter_nd(chance, sizes):
    together = chance.randint(1, len(sizes))
    shape = more_sizes(chance, 0, 2)
    version, attributes = chance.choice([("opset4", {}), ("opset15", {}), ("opset15", {"reduction": "none"})])
    indices = many_indices(chance, sizes[:together], shape, version == "opset15")
    new = elements([*shape, *sizes[together:]])

    def specified(data):
        data = data.copy()
        for position in np.ndindex(*shape):
            data[tuple(indices[position])] = new[position]
        return data

    return Layer("ScatterNDUpdate", version, [indices, new], attributes, specified)


def scatter_update(chance, sizes):
    axis = chance.randrange(len(sizes))
    # OpenVINO refuses a scalar index without an axis, which the specification allows.
    shape = more_sizes(chance, 1, 2)
    indices = some_indices(chance, sizes[axis], shape, False)
    new = elements([*sizes[:axis], *shape, *sizes[axis + 1 :]])

    def specified(data):
        data = data.copy()
        for position in np.ndindex(*shape):
            data[(slice(None),) * axis + (indices[position],)] = new[(slice(None),) * axis + position]
        return data

    return Layer("ScatterUpdate", "opset3", [indices, new, axis_number(chance, axis, len(sizes))], specified=specified)


def slice_scatter(chance, sizes):
    axes = subset(chance, len(sizes))
    by_order = chance.random() < 0.3
    if by_order:
        axes = list(range(len(axes)))
    lists = cuts(chance, len(axes))
    cut = [slice(None)] * len(sizes)
    for axis, *bounds in zip(axes, *lists):
        cut[axis] = part(sizes[axis], *bounds)
    new = elements(np.empty(sizes)[tuple(cut)].shape)
    if new.size == 0:
        # OpenVINO does not support empty constants.
        return None

    def specified(data):
        data = data.copy()
        data[tuple(cut)] = new
        return data

    named = [] if by_order else [[axis_number(chance, axis, len(sizes)) for axis in axes]]
    return Layer("SliceScatter", "opset15", [new, *lists, *named], specified=specified)


def extract_image_patches(chance, sizes):
    if len(sizes) != 4:
        return None
    names = {"sizes": 4, "strides": 5, "rates": 3}
    attributes = {name: [chance.randint(1, most) for _ in range(2)] for name, most in names.items()}
    attributes["auto_pad"] = chance.choice(["same_upper", "same_lower", "valid"])
    return Layer("ExtractImagePatches", "opset3", [], attributes)


# Each function returns a layer for a tensor of the given sizes, or None.
LAYERS = [
    *(transpose, roll, reverse, reverse_sequence, reshape, squeeze, unsqueeze, slice_of, strided_slice, tile),
    *(depth_to_space, space_to_depth, shuffle_channels, split, variadic_split, pad, broadcast, batch_to_space),
    *(space_to_batch, shape_of, identity, interpolate, interpolate, gather, gather_elements, gather_nd),
    *(scatter_elements, scatter_nd, scatter_update, slice_scatter, extract_image_patches),
]
