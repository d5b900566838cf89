"""Element types, views, and expected results, bit by bit."""

import os

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# The longest versions of the tests, as in CI.
ALL = os.environ.get("TRUNDLE_TESTS") == "all"

# numpy 1.24 only has it in the top-level module.
AxisError = getattr(np, "exceptions", np).AxisError

# Padding between and after the fields.
PADDED = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [1, 8], "itemsize": 24})
NESTED = np.dtype([("id", "<u2"), ("at", [("x", "f4"), ("y", ">i8")]), ("tags", "S3", (2, 2))])

NUMPY_DTYPES = [
    *(np.dtype(code) for code in "?bBhHiIqQefdgFDG"),
    *(
        np.dtype(code)
        for code in ("M8[ns]", "m8[D]", "M8[25us]", "S5", "U3", "V7", "S1", "V16", "V33")
    ),
    *(np.dtype(code).newbyteorder() for code in ("i2", "f4", "c16", "M8[s]", "U2", "g")),
    PADDED,
    NESTED,
    np.dtype([("a", "u1"), ("b", "u4")], align=True),
]

ML_NAMES = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float4_e2m1fn",
    "int4",
    "uint4",
    "int2",
]

ML_DTYPES = [np.dtype(getattr(ml_dtypes, name)) for name in ML_NAMES if hasattr(ml_dtypes, name)]

DTYPES = NUMPY_DTYPES + ML_DTYPES


def random_array(dtype, shape, rng):
    """C-contiguous random bytes, including NaNs with payloads and padding that is not zero."""
    dtype = np.dtype(dtype)
    # The bytes of a bool are 0 and 1.
    top = 2 if dtype == np.bool_ else 256
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    return np.ndarray(shape, dtype, rng.integers(0, top, size, dtype="u1"))


def packed_field(dtype, shape, rng):
    """A field of packed records: unaligned, with strides that are not multiples of the item size."""
    record = np.dtype([("before", "u1"), ("x", dtype), ("after", "u2")])
    whole = random_array("u1", (*shape, record.itemsize), rng)
    if dtype == np.bool_:
        whole %= 2
    return np.ndarray(shape, record, whole)["x"]


def unaligned(dtype, shape, rng):
    whole = random_array(
        "?" if dtype == np.bool_ else "u1", np.prod(shape, dtype=int) * dtype.itemsize + 1, rng
    )
    return np.ndarray(shape, dtype, whole, offset=1)


def read_only(dtype, shape, rng):
    array = random_array(dtype, shape, rng)
    array.flags.writeable = False
    return array


# Arrays of rank 3.
VIEWS = {
    "contiguous": lambda dtype, rng: random_array(dtype, (3, 4, 5), rng),
    "fortran": lambda dtype, rng: random_array(dtype, (5, 4, 3), rng).T,
    "transposed": lambda dtype, rng: random_array(dtype, (5, 3, 4), rng).transpose(1, 2, 0),
    "negative": lambda dtype, rng: random_array(dtype, (3, 4, 5), rng)[::-1, :, ::-1],
    "stepped": lambda dtype, rng: random_array(dtype, (6, 4, 15), rng)[::2, :, 1::3],
    "negative steps": lambda dtype, rng: random_array(dtype, (7, 9, 5), rng)[::-2, -1::-2, :],
    "broadcast": lambda dtype, rng: np.broadcast_to(random_array(dtype, (3, 1, 5), rng), (3, 4, 5)),
    "one element": lambda dtype, rng: np.broadcast_to(random_array(dtype, (), rng), (3, 4, 5)),
    "packed field": lambda dtype, rng: packed_field(dtype, (3, 4, 5), rng),
    "packed field, reversed": lambda dtype, rng: packed_field(dtype, (5, 4, 3), rng).T[:, ::-1],
    "unaligned": lambda dtype, rng: unaligned(dtype, (3, 4, 5), rng),
    "read-only": lambda dtype, rng: read_only(dtype, (3, 4, 5), rng),
    "sizes of one": lambda dtype, rng: random_array(dtype, (1, 7, 1), rng),
    "no elements": lambda dtype, rng: random_array(dtype, (3, 0, 5), rng),
    # Wide enough for tiles, with remainders in both directions.
    "tiles": lambda dtype, rng: random_array(dtype, (2, 37, 67), rng),
    "tiles, transposed": lambda dtype, rng: random_array(dtype, (67, 37, 2), rng).T,
}


class _Bytes:
    """Memory of any dtype in the array interface."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "shape": (*array.shape, array.dtype.itemsize),
            "strides": (*array.strides, 1),
            "typestr": "|u1",
            # An empty array may have a null pointer, which numpy refuses.
            "data": (array.__array_interface__["data"][0] or 1, True),
        }


def bytes_of(array):
    """Returns the bytes of the elements, including padding, as an additional last axis."""
    return np.asarray(_Bytes(array))


def array_of(raw, dtype):
    return np.ndarray(raw.shape[:-1], dtype, np.ascontiguousarray(raw))


def moved(x, move):
    """Returns the result of `move` for x, without numpy's own copies of x's elements.

    Applies `move` to the positions of the elements, and then gathers their bytes.
    """
    positions = move(np.arange(x.size).reshape(x.shape))
    raw = np.array(bytes_of(x)).reshape(x.size, x.dtype.itemsize)[positions]
    return array_of(raw, x.dtype)


def assert_same_bits(actual, expected, note=""):
    """Compares shape, dtype with byte order, and bytes."""
    assert actual.shape == expected.shape, note
    assert actual.dtype == expected.dtype, note
    assert actual.dtype.byteorder == expected.dtype.byteorder, note
    differ = (bytes_of(actual) != bytes_of(expected)).any(axis=-1)
    positions = np.argwhere(differ)
    where = positions[:5].tolist()
    assert not differ.any(), (
        f"{note} {actual.dtype}: {len(positions)} elements differ, first at {where}"
    )


def assert_new(result, x, expected, note=""):
    """Checks that the result owns its memory, is in C order and equals `expected` bit by bit."""
    assert type(result) is np.ndarray, note
    assert_same_bits(result, expected, note)
    flags = result.flags
    assert flags.c_contiguous and flags.owndata and flags.writeable and flags.aligned, note
    assert not np.may_share_memory(result, x), note


def reversed_subsequences(x, lengths, axis):
    """The definition, element by element. `lengths` has the shape of x, but size 1 on the axis."""
    result = np.array(x)
    for index in np.ndindex(x.shape):
        at, row = index[axis], (*index[:axis], 0, *index[axis + 1 :])
        length = min(int(lengths[row]), x.shape[axis])
        if at < length:
            result[index] = x[(*index[:axis], length - 1 - at, *index[axis + 1 :])]
    return result
