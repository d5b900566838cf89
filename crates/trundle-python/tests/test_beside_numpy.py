"""Random calls of the functions that take, repeat and pad: the same bits or the same error as numpy.

Some thousand calls; with TRUNDLE_TESTS=all in the environment, a hundred thousand of each function.
"""

import numpy as np
import pytest
import trundle

from arrays import ALL, NUMPY_DTYPES, assert_new, assert_same_bits, moved, random_array
from test_paddings import MODES, padded

CALLS = 100_000 if ALL else 700

windows_of = np.lib.stride_tricks.sliding_window_view

# numpy 2.3 introduced this default.
LAST_AXIS_IS_DEFAULT = np.lib.NumpyVersion(np.__version__) >= "2.3.0"


def one_in(rng, many):
    return bool(rng.integers(many) == 0)


def pick(rng, items):
    return items[rng.integers(len(items))]


def draw_view(rng):
    """Any dtype and strides: transposed, reversed, stepped, broadcast."""
    rank = rng.integers(5)
    top = 7 if rank < 3 else 4
    shape = [int(size) for size in rng.integers(0 if one_in(rng, 8) else 1, top, rank)]
    if rank in (1, 2) and one_in(rng, 4):
        shape[rng.integers(rank)] = int(pick(rng, [17, 33, 64]))
    dtype = pick(rng, NUMPY_DTYPES)
    if one_in(rng, 2):
        return random_array(dtype, shape, rng)
    steps = [int(pick(rng, [1, 1, 2, -1, -2])) for _ in shape]
    whole = random_array(dtype, [size * abs(step) for size, step in zip(shape, steps)], rng)
    x = whole[(..., *(slice(None, None, step) for step in steps))]
    x = x.transpose(rng.permutation(rank))
    if one_in(rng, 4) and rank < 4:
        x = np.broadcast_to(x, [2, *(3 if size == 1 else size for size in x.shape)])
    return x


def draw_axis(rng, rank):
    """An axis for this rank, sometimes out of range."""
    if rank == 0 or one_in(rng, 25):
        return int(rng.integers(-rank - 2, rank + 2))
    return int(rng.integers(-rank, rank))


def draw_integers(rng, low, high, shape):
    """Integers of any dtype that can hold them, or a list."""
    values = rng.integers(low, max(high, low + 1), shape)
    kinds = ["i8", "i8", ">i8", "i4", "i2"] + ["u1", "u8", "u2"] * (low >= 0)
    return values.tolist() if one_in(rng, 3) else values.astype(pick(rng, kinds))


def size_along(x, axis):
    """The axis may be out of range, or None for the flat array."""
    if axis is None:
        return x.size
    return x.shape[axis] if -x.ndim <= axis < x.ndim else 1


def takes(rng, x):
    axis = None if one_in(rng, 4) else draw_axis(rng, x.ndim)
    size = size_along(x, axis)
    mode = pick(rng, ["raise", "raise", "wrap", "clip"])
    # numpy does not terminate otherwise.
    mode = "raise" if size == 0 else mode
    far = 2 * size + 3 if mode != "raise" else size + (1 if one_in(rng, 10) else 0)
    shape = [int(n) for n in rng.integers(0 if one_in(rng, 8) or size == 0 else 1, 5, rng.integers(3))]
    shape = [0] if size == 0 and not one_in(rng, 4) else shape
    indices = draw_integers(rng, -far if one_in(rng, 2) else 0, far, shape)
    return (
        lambda **rest: trundle.take(x, indices, axis, mode=mode, **rest),
        # numpy before 2.0 refuses unsigned indices.
        lambda p: np.take(p, np.array(indices, np.int64), axis, mode=mode),
    )


def takes_along(rng, x):
    axis = None if one_in(rng, 6) else draw_axis(rng, x.ndim)
    size = size_along(x, axis)
    shape = [int(pick(rng, [n, n, 1])) for n in x.shape]
    if axis is None:
        shape = [int(rng.integers(5))] if size else [0]
    elif -x.ndim <= axis < x.ndim:
        shape[axis] = int(rng.integers(6)) if size else 0
    if shape and one_in(rng, 20):
        shape[rng.integers(len(shape))] += 1
    shape = shape[1:] if one_in(rng, 30) else shape
    far = size + one_in(rng, 15)
    indices = np.array(draw_integers(rng, -far if one_in(rng, 2) else 0, far, shape))
    indices = indices.astype(int) if indices.size == 0 else indices
    if one_in(rng, 40) and axis is not None:
        indices = indices.astype(pick(rng, ["f8", "?"]))
    if axis in (-1, x.ndim - 1) and LAST_AXIS_IS_DEFAULT:
        return lambda **rest: trundle.take_along_axis(x, indices, **rest), lambda p: np.take_along_axis(p, indices)
    return (
        lambda **rest: trundle.take_along_axis(x, indices, axis, **rest),
        lambda p: np.take_along_axis(p, indices, axis),
    )


def repeats(rng, x):
    axis = None if one_in(rng, 4) else draw_axis(rng, x.ndim)
    low = -1 if one_in(rng, 20) else 0
    if one_in(rng, 2):
        counts = pick(rng, [int, np.int16, np.array, lambda n: [n]])(rng.integers(low, 5))
    else:
        counts = rng.integers(low, 4, size_along(x, axis) + one_in(rng, 15)).astype(pick(rng, ["i8", "i1", ">i4"]))
    counts = np.array(counts).reshape(1, -1) if one_in(rng, 40) else counts
    return lambda **rest: trundle.repeat(x, counts, axis, **rest), lambda p: np.repeat(p, counts, axis)


def tiles(rng, x):
    low = -1 if one_in(rng, 20) else 0 if one_in(rng, 4) else 1
    reps = int(rng.integers(low, 4)) if one_in(rng, 3) else rng.integers(low, 4, rng.integers(x.ndim + 3))
    reps = tuple(reps.tolist()) if not isinstance(reps, int) and one_in(rng, 2) else reps
    return lambda **rest: trundle.tile(x, reps, **rest), lambda p: np.tile(p, reps)


def broadcasts(rng, x):
    shape = [int(rng.integers(0, 5)) if size == 1 else size for size in x.shape]
    shape = [*(int(n) for n in rng.integers(0, 4, rng.integers(3))), *shape]
    if shape and one_in(rng, 8):
        shape[rng.integers(len(shape))] += int(pick(rng, [-1, 1]))
    shape = shape[1:] if one_in(rng, 15) else shape
    shape = shape[0] if len(shape) == 1 and one_in(rng, 2) else pick(rng, [tuple, list, np.array])(shape)
    shape = shape.astype(int) if isinstance(shape, np.ndarray) else shape
    return lambda **rest: trundle.broadcast_to(x, shape, **rest), lambda p: np.broadcast_to(p, shape)


def windows(rng, x):
    if one_in(rng, 2):
        axis = None
        window = tuple(int(rng.integers(0 if one_in(rng, 10) else 1, max(size, 1) + 1)) for size in x.shape)
        window = window[0] if len(window) == 1 and one_in(rng, 2) else window
    else:
        axis = [draw_axis(rng, x.ndim) for _ in range(rng.integers(3))]
        window = tuple(int(rng.integers(1, size_along(x, a) // len(axis) + 2)) for a in axis)
        axis, window = (axis[0], window[0]) if len(axis) == 1 and one_in(rng, 2) else (axis, window)
    if one_in(rng, 30) and isinstance(window, tuple):
        window = (*window, int(rng.integers(-1, 2)))
    return (
        lambda **rest: trundle.sliding_window_view(x, window, axis, **rest),
        lambda p: windows_of(p, window, axis),
    )


def pads(rng, x):
    top = 4 if one_in(rng, 2) else 3 * max(x.shape, default=1)
    top = max(min(top, 12) if x.ndim > 2 else top, 1)
    mode = pick(rng, MODES)
    low = -1 if one_in(rng, 30) else 0
    # Without axes, numpy fails to compute a minimum.
    form = rng.integers(6 if x.ndim else 4)
    shape = [(), (1,), (2,), (1, 2), (x.ndim, 2), (x.ndim, 1)][form]
    widths = rng.integers(low, top, shape)
    if 0 in x.shape and not one_in(rng, 5):
        widths = np.where(np.array(x.shape).reshape(-1, 1) == 0, 0, widths)
    if one_in(rng, 5) and widths.shape == (x.ndim, 2):
        given = {axis - x.ndim * int(rng.integers(2)): tuple(pair) for axis, pair in enumerate(widths.tolist())}
    else:
        given = widths.tolist() if one_in(rng, 2) else widths

    def by_definition(p):
        # numpy before 2.0 repeats mirrored elements differently. Its errors are the same, so call it anyway.
        as_numpy = np.pad(p, widths, mode)
        by_index = padded(p, np.broadcast_to(widths, (p.ndim, 2)), mode)
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            np.testing.assert_array_equal(as_numpy, by_index)
        return by_index

    return lambda **rest: trundle.pad(x, given, mode, **rest), by_definition


FUNCTIONS = [takes, takes_along, repeats, tiles, broadcasts, windows, pads]


def draw_out(rng, x, expected):
    """A destination with any strides, and, if they overlap, x in the same memory."""
    if one_in(rng, 3) and 0 < x.nbytes < 1 << 16:
        begin, other = (int(n) for n in rng.integers(0, x.nbytes + 1, 2))
        memory = random_array("u1", (x.nbytes + expected.nbytes + max(begin, other),), rng)
        within = np.ndarray(x.shape, x.dtype, memory, begin)
        return within, np.ndarray(expected.shape, x.dtype, memory, other)
    steps = [int(pick(rng, [1, 1, 2, -1])) for _ in expected.shape]
    order = rng.permutation(expected.ndim)
    whole = random_array(x.dtype, [expected.shape[axis] * abs(steps[axis]) for axis in order], rng)
    out = whole[(..., *(slice(None, None, steps[axis]) for axis in order))].transpose(np.argsort(order))
    return None, out


def numpy_skips_this_check(expected, raised):
    """For an empty result, numpy checks neither indices nor repeats."""
    is_skipped_check = isinstance(raised, IndexError) or "must not be negative" in str(raised)
    return expected.size == 0 and is_skipped_check


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_random_calls_equal_numpy(function):
    rng = np.random.default_rng([CALLS, FUNCTIONS.index(function)])
    refused = 0
    for number in range(CALLS):
        state = rng.bit_generator.state
        x = draw_view(rng)
        ours, numpys = function(rng, x)
        note = f"{function.__name__} {number} of {x.shape} {x.dtype}"
        try:
            expected = moved(x, numpys)
        except Exception as error:  # noqa: BLE001
            refused += 1
            with pytest.raises(Exception) as raised:
                ours()
            assert isinstance(raised.value, type(error)), (note, error, raised.value)
            continue
        try:
            result = ours(threads=pick(rng, [None, 1, 2]))
        except Exception as raised:  # noqa: BLE001
            assert numpy_skips_this_check(expected, raised), (note, raised)
            continue
        assert_new(result, x, expected, note)
        if one_in(rng, 3):
            within, out = draw_out(rng, x, expected)
            if within is not None:
                # The same call again, for the shared memory.
                within[...] = x
                again = np.random.default_rng()
                again.bit_generator.state = state
                draw_view(again)
                ours, numpys = function(again, within)
                expected = moved(within, numpys)
            assert ours(out=out) is out, note
            assert_same_bits(out, expected, note)
    assert refused > CALLS // 200, "too few of the random calls are errors"
