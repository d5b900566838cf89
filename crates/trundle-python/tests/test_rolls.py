"""All forms of shift and axis."""

import operator

import numpy as np
import pytest
import trundle

from arrays import assert_new, moved, random_array


class Index:
    """An integer only by __index__."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


@pytest.fixture
def x(rng):
    return random_array("i4", (4, 5, 6), rng)


SHIFTS_AND_AXES = [
    (0, None),
    (1, None),
    (-1, None),
    (119, None),
    (120, None),
    (-1000, None),
    ((1, 2), None),
    ([1, -4, 7], None),
    (np.array([3, 4]), None),
    (2, 0),
    (2, -1),
    (-2, 1),
    (60, 2),
    (np.int8(-3), np.uint8(1)),
    (np.array(2), np.array(1)),
    ((1,), (2,)),
    ([1, 2], [0, 1]),
    ((1, 2, 3), (0, 1, 2)),
    ((3, 2, 1), (-1, -2, -3)),
    (np.array([1, 2]), np.array([2, 0])),
    (np.array([1, 2], ">u2"), (np.int32(2), 0)),
    (range(3), range(3)),
    (2, (0, 1, 2)),
    ([2], (0, 1)),
    ((1, 2, 5), 1),
    ((1, 2, 5), [1]),
    ((1, 2), (1, 1)),
    ((1, 2), (1, -2)),
    (1, (0, 0, 0)),
    ((), ()),
    (3, ()),
    ([], 0),
]


@pytest.mark.parametrize(("shift", "axis"), SHIFTS_AND_AXES, ids=repr)
def test_roll_equals_numpy(x, shift, axis):
    result = trundle.roll(x, shift, axis=axis)
    assert_new(result, x, np.roll(x, shift, axis))


HUGE = [2**31, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1, 2**64, 2**100, -(2**100), 10**300 + 7]


@pytest.mark.parametrize("shift", HUGE)
def test_shifts_of_any_size(x, shift):
    assert_new(trundle.roll(x, shift), x, np.roll(x, shift % x.size))
    assert_new(trundle.roll(x, shift, axis=1), x, np.roll(x, shift % 5, 1))
    both = trundle.roll(x, (shift, shift - 1), axis=(2, 2))
    assert_new(both, x, np.roll(x, (2 * shift - 1) % 6, 2))
    assert_new(trundle.roll(x, (shift, -shift), axis=(0, 0)), x, x)
    assert_new(trundle.roll(x, (shift, 3)), x, np.roll(x, (shift + 3) % x.size))
    assert_new(trundle.roll(x, [Index(shift), 3]), x, np.roll(x, (shift + 3) % x.size))
    indices = trundle.roll(x, [Index(shift), Index(3)], axis=(1, 2))
    assert_new(indices, x, np.roll(x, (shift % 5, 3), (1, 2)))
    of_both = trundle.roll(x, shift, axis=(1, 2))
    assert_new(of_both, x, np.roll(x, (shift % 5, shift % 6), (1, 2)))


def test_shifts_and_axes_may_be_iterators(x):
    assert_new(trundle.roll(x, iter([2])), x, np.roll(x, 2))
    assert_new(trundle.roll(x, iter([2]), axis=iter([0, 1])), x, np.roll(x, 2, (0, 1)))
    assert_new(trundle.roll(x, iter([1, 2]), axis=iter([0, 1])), x, np.roll(x, (1, 2), (0, 1)))
    assert_new(trundle.roll(x, iter([2**100]), axis=[0]), x, x)


@pytest.mark.parametrize("shift", range(-13, 14))
def test_every_shift_of_each_axis(x, shift):
    for axis in (0, 1, 2):
        assert_new(trundle.roll(x, shift, axis=axis), x, np.roll(x, shift, axis))


def test_objects_with_index_are_integers(x):
    result = trundle.roll(x, Index(2), axis=Index(1))
    assert_new(result, x, np.roll(x, 2, 1))
    result = trundle.roll(x, (Index(2), True), axis=[Index(1), 0])
    assert_new(result, x, np.roll(x, (2, 1), (1, 0)))
    result = trundle.roll(x, np.uint64(2**63 + 2), axis=1)
    assert_new(result, x, np.roll(x, (2**63 + 2) % 5, 1))


def test_rank_0():
    x = np.array(7.5)
    for shift in (0, 3, (1, 2)):
        assert_new(trundle.roll(x, shift), x, x)
    assert_new(trundle.roll(x, (), axis=()), x, x)
    # numpy's fftshift fails without axes.
    assert_new(trundle.fftshift(x), x, x)
    assert_new(trundle.ifftshift(x), x, x)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_arrays_without_elements(shape):
    x = np.zeros(shape, "f4")
    for shift in (0, 1, -5, 2**100):
        assert_new(trundle.roll(x, shift), x, x)
        assert_new(trundle.roll(x, shift, axis=-1), x, x)
        assert_new(trundle.roll(x, shift, axis=tuple(range(x.ndim))), x, x)
    assert_new(trundle.fftshift(x), x, x)


def test_axis_by_position(x):
    for shift, axis in ((1, 0), ((1, 2), (0, -1)), (-3, None)):
        assert_new(trundle.roll(x, shift, axis), x, np.roll(x, shift, axis))
    assert_new(trundle.roll(x, shift=1, axis=0), x, np.roll(x, 1, 0))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize(
    "axes",
    [None, 0, 1, -1, (0,), (0, 1), [2, 0], (-1, 0, 1), (), (1, 1), np.int64(2), (np.uint8(1), 0)],
    ids=repr,
)
def test_shifts_of_spectra(name, axes, rng):
    trundles, numpys = getattr(trundle, name), getattr(np.fft, name)
    # numpy treats a numpy integer as a list of axes.
    numpy_axes = operator.index(axes) if isinstance(axes, np.integer) else axes
    for shape in ((4, 5, 6), (1, 2, 3), (7, 1, 1)):
        x = random_array("c8", shape, rng)
        expected = moved(x, lambda p: numpys(p, numpy_axes))
        assert_new(trundles(x, axes), x, expected)
        assert_new(trundles(x, axes=axes), x, expected)


def test_ifftshift_undoes_fftshift(rng):
    for size in range(1, 40):
        x = random_array("f8", (size,), rng)
        assert_new(trundle.ifftshift(trundle.fftshift(x)), x, x)
