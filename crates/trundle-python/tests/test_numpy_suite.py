"""numpy's own tests of the same functions, run on trundle.

Each test names the tests of numpy. Tests of views are left out, because trundle always copies.
"""

import itertools

import numpy as np
import pytest
import trundle

from arrays import AxisError


def same(result, expected):
    np.testing.assert_array_equal(result, np.asarray(expected), strict=True)


# numpy/_core/tests/test_numeric.py, TestRoll.test_roll1d
def test_roll_of_a_row():
    same(trundle.roll(np.arange(10), 2), [8, 9, 0, 1, 2, 3, 4, 5, 6, 7])


# TestRoll.test_roll2d
@pytest.mark.parametrize(
    ("shift", "axis", "expected"),
    [
        (1, None, [[9, 0, 1, 2, 3], [4, 5, 6, 7, 8]]),
        (1, 0, [[5, 6, 7, 8, 9], [0, 1, 2, 3, 4]]),
        (1, 1, [[4, 0, 1, 2, 3], [9, 5, 6, 7, 8]]),
        (1, (0, 1), [[9, 5, 6, 7, 8], [4, 0, 1, 2, 3]]),
        ((1, 0), (0, 1), [[5, 6, 7, 8, 9], [0, 1, 2, 3, 4]]),
        ((-1, 0), (0, 1), [[5, 6, 7, 8, 9], [0, 1, 2, 3, 4]]),
        ((0, 1), (0, 1), [[4, 0, 1, 2, 3], [9, 5, 6, 7, 8]]),
        ((0, -1), (0, 1), [[1, 2, 3, 4, 0], [6, 7, 8, 9, 5]]),
        ((1, 1), (0, 1), [[9, 5, 6, 7, 8], [4, 0, 1, 2, 3]]),
        ((-1, -1), (0, 1), [[6, 7, 8, 9, 5], [1, 2, 3, 4, 0]]),
        (1, (0, 0), [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),
        (1, (1, 1), [[3, 4, 0, 1, 2], [8, 9, 5, 6, 7]]),
        (6, 1, [[4, 0, 1, 2, 3], [9, 5, 6, 7, 8]]),
        (-4, 1, [[4, 0, 1, 2, 3], [9, 5, 6, 7, 8]]),
    ],
)
def test_roll_of_two_rows(shift, axis, expected):
    same(trundle.roll(np.arange(10).reshape(2, 5), shift, axis=axis), expected)


# TestRoll.test_roll_empty
def test_roll_of_an_empty_array():
    same(trundle.roll(np.array([]), 1), np.array([]))


# TestRoll.test_roll_unsigned_shift, test_roll_big_int
def test_roll_by_unsigned_and_large_numbers():
    x = np.arange(4)
    same(trundle.roll(x, np.uint16(2)), [2, 3, 0, 1])
    same(trundle.roll(x, np.uint64(2**63 + 2)), [2, 3, 0, 1])
    same(trundle.roll(x, 2**100), x)


# TestMoveaxis.test_move_to_end, test_move_new_position, test_preserve_order, test_move_multiples
@pytest.mark.parametrize(
    ("shape", "source", "destination", "expected"),
    [
        ((5, 6, 7), 0, -1, (6, 7, 5)),
        ((5, 6, 7), 1, -1, (5, 7, 6)),
        ((5, 6, 7), 2, -1, (5, 6, 7)),
        ((5, 6, 7), -1, -1, (5, 6, 7)),
        ((1, 2, 3, 4), 0, 1, (2, 1, 3, 4)),
        ((1, 2, 3, 4), 1, 2, (1, 3, 2, 4)),
        ((1, 2, 3, 4), 1, -1, (1, 3, 4, 2)),
        ((1, 2, 3, 4), 0, 0, (1, 2, 3, 4)),
        ((1, 2, 3, 4), 3, -1, (1, 2, 3, 4)),
        ((1, 2, 3, 4), -1, 3, (1, 2, 3, 4)),
        ((1, 2, 3, 4), [0, -1], [0, -1], (1, 2, 3, 4)),
        ((1, 2, 3, 4), [2, 0], [2, 0], (1, 2, 3, 4)),
        ((1, 2, 3, 4), range(4), range(4), (1, 2, 3, 4)),
        ((0, 1, 2, 3), [0, 1], [2, 3], (2, 3, 0, 1)),
        ((0, 1, 2, 3), [2, 3], [0, 1], (2, 3, 0, 1)),
        ((0, 1, 2, 3), [0, 1, 2], [2, 3, 0], (2, 3, 0, 1)),
        ((0, 1, 2, 3), [3, 0], [1, 0], (0, 3, 1, 2)),
        ((0, 1, 2, 3), [0, 3], [0, 1], (0, 3, 1, 2)),
    ],
)
def test_moveaxis_shapes(shape, source, destination, expected):
    assert trundle.moveaxis(np.zeros(shape), source, destination).shape == expected


# TestMoveaxis.test_errors
@pytest.mark.parametrize(
    ("source", "destination", "error", "words"),
    [
        (3, 0, AxisError, "source"),
        (-4, 0, AxisError, "source"),
        (0, 5, AxisError, "destination"),
        ([0, 0], [0, 1], ValueError, "repeated.*source|source.*twice"),
        ([0, 1], [1, 1], ValueError, "repeated.*destination|destination.*twice"),
        (0, [0, 1], ValueError, "same number|equal"),
        ([0, 1], [0], ValueError, "same number|equal"),
    ],
)
def test_moveaxis_errors(source, destination, error, words):
    with pytest.raises(error, match=words):
        trundle.moveaxis(np.zeros((1, 2, 3)), source, destination)


# TestMoveaxis.test_array_likes; its masked array is refused here
def test_moveaxis_of_a_list():
    result = trundle.moveaxis([1, 2, 3], 0, 0)
    assert type(result) is np.ndarray
    same(result, [1, 2, 3])


# numpy/_core/tests/test_multiarray.py, TestMethods.test_transpose
def test_transpose_of_two_axes():
    x = np.array([[1, 2], [3, 4]])
    same(trundle.transpose(x), [[1, 3], [2, 4]])
    same(trundle.permute_dims(x, (1, 0)), [[1, 3], [2, 4]])
    for axes in ((0,), (0, 0), (0, 1, 2)):
        with pytest.raises(ValueError):
            trundle.permute_dims(x, axes)
        with pytest.raises(ValueError):
            trundle.transpose(x, axes)


# TestMethods.test_swapaxes
def test_swapaxes_of_every_pair():
    x = np.arange(24).reshape(1, 2, 3, 4)
    for axis1, axis2 in ((-5, 0), (4, 0), (0, -5), (0, 4)):
        with pytest.raises(AxisError):
            trundle.swapaxes(x, axis1, axis2)
    last = x
    for axis1, axis2 in itertools.product(range(-4, 4), repeat=2):
        for source in (x, last):
            result = trundle.swapaxes(source, axis1, axis2)
            for index in np.ndindex(source.shape):
                swapped = list(index)
                swapped[axis1], swapped[axis2] = swapped[axis2], swapped[axis1]
                assert result[tuple(swapped)] == source[index]
            last = result


# numpy/lib/tests/test_function_base.py, TestFlip.test_axes
def test_flip_axes_out_of_range():
    for shape, axis in [((4,), 1), ((4, 4), 2), ((4, 4), -3), ((4, 4), (0, 3))]:
        with pytest.raises(AxisError):
            trundle.flip(np.ones(shape), axis=axis)


# TestFlip.test_basic_lr, test_basic_ud, test_default_axis
def test_flip_of_two_rows():
    square = np.add.outer(np.arange(4), np.arange(4))
    same(trundle.flip(square, axis=1), square[:, ::-1])
    same(trundle.flip(square, axis=0), square[::-1, :])
    rows = [[0, 1, 2], [3, 4, 5]]
    same(trundle.flip(rows, axis=1), [[2, 1, 0], [5, 4, 3]])
    same(trundle.flip(rows, axis=0), [[3, 4, 5], [0, 1, 2]])
    same(trundle.flip(rows), [[5, 4, 3], [2, 1, 0]])


# TestFlip.test_3d_swap_axis0, test_3d_swap_axis1, test_3d_swap_axis2, test_multiple_axes
@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (0, [[[4, 5], [6, 7]], [[0, 1], [2, 3]]]),
        (1, [[[2, 3], [0, 1]], [[6, 7], [4, 5]]]),
        (2, [[[1, 0], [3, 2]], [[5, 4], [7, 6]]]),
        ((), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
        ((0, 2), [[[5, 4], [7, 6]], [[1, 0], [3, 2]]]),
        ((1, 2), [[[3, 2], [1, 0]], [[7, 6], [5, 4]]]),
    ],
)
def test_flip_of_a_cube(axis, expected):
    same(trundle.flip(np.arange(8).reshape(2, 2, 2), axis=axis), expected)


# TestFlip.test_4d
def test_flip_equals_a_flip_between_swapaxes():
    x = np.arange(120).reshape(2, 3, 4, 5)
    for axis in range(4):
        same(trundle.flip(x, axis=axis), x.swapaxes(0, axis)[::-1].swapaxes(axis, 0))


# numpy/fft/tests/test_helper.py, TestFFTShift.test_definition
def test_fftshift_of_frequencies():
    for size in (9, 10):
        frequencies = np.fft.fftfreq(size, 1 / size)
        inverse = trundle.fftshift(frequencies)
        same(inverse, np.arange(-(size // 2), (size + 1) // 2, dtype="f8"))
        same(trundle.ifftshift(inverse), frequencies)


# TestFFTShift.test_inverse
@pytest.mark.parametrize("size", [1, 4, 9, 100, 211])
def test_ifftshift_undoes_fftshift(size):
    x = np.random.default_rng(size).random(size)
    same(trundle.ifftshift(trundle.fftshift(x)), x)


# TestFFTShift.test_axes_keyword
def test_fftshift_axes():
    frequencies = [[0, 1, 2], [3, 4, -4], [-3, -2, -1]]
    shifted = [[-1, -3, -2], [2, 0, 1], [-4, 3, 4]]
    for both in ((0, 1), None):
        same(trundle.fftshift(frequencies, axes=both), shifted)
        same(trundle.ifftshift(shifted, axes=both), frequencies)
    same(trundle.fftshift(frequencies, axes=0), trundle.fftshift(frequencies, axes=(0,)))
    same(trundle.ifftshift(shifted, axes=0), trundle.ifftshift(shifted, axes=(0,)))


# TestFFTShift.test_uneven_dims
@pytest.mark.parametrize(
    ("axes", "shifted"),
    [
        (0, [[4, 5], [0, 1], [2, 3]]),
        ((0,), [[4, 5], [0, 1], [2, 3]]),
        (1, [[1, 0], [3, 2], [5, 4]]),
        ((0, 1), [[5, 4], [1, 0], [3, 2]]),
        ([0, 1], [[5, 4], [1, 0], [3, 2]]),
        (None, [[5, 4], [1, 0], [3, 2]]),
    ],
)
def test_fftshift_of_uneven_sizes(axes, shifted):
    frequencies = [[0, 1], [2, 3], [4, 5]]
    same(trundle.fftshift(frequencies, axes=axes), shifted)
    same(trundle.ifftshift(shifted, axes=axes), frequencies)


# TestFFTShift.test_equal_to_original
def test_fftshift_equals_a_take():
    for rows, columns in itertools.product(range(16), repeat=2):
        x = np.arange(rows * columns).reshape(rows, columns)
        for axes in (0, 1, None, (0,), (0, 1)):
            there = back = x
            for axis in (0, 1) if axes is None else np.atleast_1d(axes):
                size = x.shape[axis]
                indices = np.arange(size)
                there = there.take((indices + (size + 1) // 2) % max(size, 1), axis)
                back = back.take((indices + size // 2) % max(size, 1), axis)
            same(trundle.fftshift(x, axes), there)
            same(trundle.ifftshift(x, axes), back)


# numpy/_core/tests/test_api.py, test_copyto and test_copyto_permut, without casts and `where`
def test_copyto():
    x = np.zeros((2, 3), "i4")
    trundle.copyto(x, np.array([[3, 1, 5], [4, 2, 6]], "i4"))
    same(x, np.array([[3, 1, 5], [4, 2, 6]], "i4"))
    trundle.copyto(x[:, :2], x[::-1, 1::-1])
    same(x, np.array([[2, 4, 5], [1, 3, 6]], "i4"))
    trundle.copyto(x[:, 1:], x[:, :2])
    same(x, np.array([[2, 2, 4], [1, 1, 3]], "i4"))
    with pytest.raises(TypeError):
        trundle.copyto([1, 2, 3], np.array([2, 3, 4]))


# numpy/_core/tests/test_api.py, test_copyto_fromscalar
def test_copyto_of_a_number():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    trundle.copyto(x, np.float32(1.5))
    same(x, np.full((2, 3), 1.5, "f4"))
    trundle.copyto(x.T, np.float32(2.5))
    same(x, np.full((2, 3), 2.5, "f4"))
