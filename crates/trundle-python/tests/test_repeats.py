"""repeat, tile, broadcast_to and sliding_window_view: numpy's own tests, and errors.

Tests that are from numpy name the file and the test there.
"""

import numpy as np
import pytest
import trundle

from arrays import AxisError, assert_new, random_array

X = np.arange(24.0).reshape(2, 3, 4)
ROW = np.array([1, 2, 3, 4, 5, 6])
ROWS = ROW.reshape(2, 3)


def same(result, expected):
    np.testing.assert_array_equal(result, np.asarray(expected), strict=True)


# numpy/_core/tests/test_multiarray.py, TestRepeat.test_basic, test_broadcast1, test_axis_spec, test_broadcast2
def test_repeat():
    same(trundle.repeat(ROW, [1, 3, 2, 1, 1, 2]), [1, 2, 2, 2, 3, 3, 4, 5, 6, 6])
    same(trundle.repeat(ROW, 2), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    same(trundle.repeat(ROWS, [2, 1], axis=0), [[1, 2, 3], [1, 2, 3], [4, 5, 6]])
    same(trundle.repeat(ROWS, [1, 3, 2], axis=1), [[1, 2, 2, 2, 3, 3], [4, 5, 5, 5, 6, 6]])
    same(trundle.repeat(ROWS, 2, axis=0), [[1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6]])
    same(trundle.repeat(ROWS, 2, axis=1), [[1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6]])


# numpy/_core/tests/test_numeric.py, TestNonarrayArgs.test_repeat
def test_repeat_of_a_list():
    same(trundle.repeat([1, 2, 3], 2), [1, 1, 2, 2, 3, 3])


def test_repeat_counts_of_any_form():
    same(trundle.repeat(5, 3), [5, 5, 5])
    same(trundle.repeat(np.array(5), [3], axis=-1), [5, 5, 5])
    same(trundle.repeat(ROWS, [2]), ROW.repeat(2))
    same(trundle.repeat(ROWS, np.int8(2), axis=-1), ROWS.repeat(2, 1))
    same(trundle.repeat(ROWS, np.array([0, 3], "u1"), axis=0), ROWS.repeat([0, 3], 0))
    same(trundle.repeat(ROWS, [True, False], axis=0), ROWS[:1])
    same(trundle.repeat(ROWS, 0, axis=0), ROWS[:0])
    same(trundle.repeat(ROWS, 1), ROW)
    same(trundle.repeat(ROWS.T, range(6)), ROWS.T.repeat(range(6)))
    same(trundle.repeat(np.empty((0, 3)), (), axis=0), np.empty((0, 3)))
    same(trundle.repeat([], 4), np.empty(0))


def test_repeat_refuses_invalid_arguments():
    for error, words, call in (
        (ValueError, "repeats must not be negative, got -1", lambda: trundle.repeat(X, -1)),
        (ValueError, "repeats must not be negative, got -3", lambda: trundle.repeat(X, [1, -3], axis=0)),
        (ValueError, "3 elements, got 2", lambda: trundle.repeat(X, [1, 2], axis=1)),
        (ValueError, "24 elements, got 3", lambda: trundle.repeat(X, [1, 2, 3])),
        (ValueError, "2 elements, got 0", lambda: trundle.repeat(X, [], axis=0)),
        (ValueError, "1 axis or none, not 2", lambda: trundle.repeat(X, [[1, 2, 3]], axis=1)),
        (TypeError, "repeats must be integers, not float64", lambda: trundle.repeat(X, 1.5)),
        (TypeError, "repeats must be integers, not float64", lambda: trundle.repeat(X, [1.0, 2.0], axis=0)),
        (TypeError, "repeats must be integers, not <U1", lambda: trundle.repeat(X, "2")),
        (AxisError, "axis 3 .*3", lambda: trundle.repeat(X, 2, axis=3)),
        (AxisError, "axis 1 .*1", lambda: trundle.repeat(5, 2, axis=1)),
        (TypeError, "axis", lambda: trundle.repeat(X, 2, axis=(0, 1))),
    ):
        with pytest.raises(error, match=words):
            call()
    for repeats in (2**62, [2**62, 2**62], [2**60, 1]):
        with pytest.raises(MemoryError):
            trundle.repeat(X, repeats, axis=0)


# numpy/lib/tests/test_shape_base.py, TestTile.test_basic
def test_tile():
    row, square = np.array([0, 1, 2]), [[1, 2], [3, 4]]
    same(trundle.tile(row, 2), [0, 1, 2, 0, 1, 2])
    same(trundle.tile(row, (2, 2)), [[0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 2]])
    same(trundle.tile(row, (1, 2)), [[0, 1, 2, 0, 1, 2]])
    same(trundle.tile(square, 2), [[1, 2, 1, 2], [3, 4, 3, 4]])
    same(trundle.tile(square, (2, 1)), [[1, 2], [3, 4], [1, 2], [3, 4]])
    same(trundle.tile(square, (2, 2)), [[1, 2, 1, 2], [3, 4, 3, 4]] * 2)


# TestTile.test_tile_one_repetition_on_array_gh4679
def test_tile_once_is_a_new_array():
    x = np.arange(5)
    for reps in (1, (), (1, 1)):
        assert_new(trundle.tile(x, reps), x, np.tile(x, reps))


# TestTile.test_empty
def test_tile_of_an_empty_array():
    assert trundle.tile([[], []], 2).shape == (2, 0)
    assert trundle.tile([[[]]], (3, 2, 5)).shape == (3, 2, 0)


# TestTile.test_kroncompare
@pytest.mark.parametrize("reps", [(2,), (1, 2), (2, 1), (2, 2), (2, 3, 2), (3, 2)])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 4, 3), (3, 2, 3), (4, 3, 2, 4), (2, 2)])
def test_tile_is_a_kronecker_product(reps, shape, rng):
    x = rng.integers(0, 10, shape)
    same(trundle.tile(x, reps), np.kron(np.ones(reps, x.dtype), x))


def test_tile_refuses_invalid_arguments():
    for error, words, call in (
        (ValueError, "reps must not be negative, got -1", lambda: trundle.tile(X, -1)),
        (ValueError, "reps must not be negative, got -2", lambda: trundle.tile(X, (1, -2))),
        (ValueError, "reps: 1180591620717411303424 is more", lambda: trundle.tile(X, 2**70)),
        (TypeError, "reps must be an integer or a sequence", lambda: trundle.tile(X, 1.5)),
        (TypeError, "reps must be an integer or a sequence", lambda: trundle.tile(X, "2")),
        (TypeError, "reps must be an integer or a sequence", lambda: trundle.tile(X, {2: 1})),
        (ValueError, "flat sequence", lambda: trundle.tile(X, [[1, 2]])),
        (TypeError, "missing 1 required positional argument: 'reps'", lambda: trundle.tile(X)),
    ):
        with pytest.raises(error, match=words):
            call()


# numpy/lib/tests/test_stride_tricks.py, test_broadcast_to_succeeds
@pytest.mark.parametrize(
    ("x", "shape", "expected"),
    [
        (np.array(0), (0,), np.empty(0, int)),
        (np.array(0), (1,), [0]),
        (np.array(0), (3,), [0, 0, 0]),
        (np.array(7), (), 7),
        (np.ones(1), (1,), np.ones(1)),
        (np.ones(1), (2,), np.ones(2)),
        (np.ones(1), (1, 2, 3), np.ones((1, 2, 3))),
        (np.arange(3), (3,), [0, 1, 2]),
        (np.arange(3), (1, 3), [[0, 1, 2]]),
        (np.arange(3), (2, 3), [[0, 1, 2], [0, 1, 2]]),
        (np.ones(0), 0, np.ones(0)),
        (np.ones(1), 1, np.ones(1)),
        (np.ones(1), 2, np.ones(2)),
        (np.ones(1), np.array([2, 2]), np.ones((2, 2))),
        (np.ones(1), (0,), np.ones(0)),
        (np.ones((1, 2)), (0, 2), np.ones((0, 2))),
        (np.ones((2, 1)), (2, 0), np.ones((2, 0))),
    ],
)
def test_broadcast_to(x, shape, expected):
    assert_new(trundle.broadcast_to(x, shape), x, np.asarray(expected))


# test_broadcast_to_raises
@pytest.mark.parametrize(
    ("own", "shape"),
    [
        ((0,), ()),
        ((1,), ()),
        ((3,), ()),
        ((3,), (1,)),
        ((3,), (2,)),
        ((3,), (4,)),
        ((1, 2), (2, 1)),
        ((1, 1), (1,)),
        ((1,), -1),
        ((1,), (-1,)),
        ((1, 2), (-1, 2)),
    ],
)
def test_broadcast_to_refuses_shapes_that_do_not_fit(own, shape):
    words = "-1" if "-1" in str(shape) else rf"\[{', '.join(map(str, own))}\] .*\[{', '.join(map(str, shape))}\]"
    with pytest.raises(ValueError, match=words):
        trundle.broadcast_to(np.zeros(own), shape)


def test_invalid_shapes_are_refused():
    for shape in (3.0, (3.0,), None, "3", {3: 1}):
        with pytest.raises(TypeError, match="shape"):
            trundle.broadcast_to(np.zeros(3), shape)
    with pytest.raises(MemoryError):
        trundle.broadcast_to(np.zeros(1), (2**40, 2**20))


def grid():
    rows, columns = np.ogrid[:3, :4]
    return 10 * rows + columns


# numpy/lib/tests/test_stride_tricks.py, TestSlidingWindowView.test_1d, test_2d, test_2d_with_axis,
# test_2d_repeated_axis, test_2d_without_axis
def test_windows():
    same(trundle.sliding_window_view(np.arange(5), 2), [[0, 1], [1, 2], [2, 3], [3, 4]])
    x = grid()
    corners = [[[[r, r + 1], [r + 10, r + 11]] for r in range(s, s + 3)] for s in (0, 10)]
    same(trundle.sliding_window_view(x, (2, 2)), corners)
    columns = [[[0, 10, 20], [1, 11, 21], [2, 12, 22], [3, 13, 23]]]
    same(trundle.sliding_window_view(x, 3, 0), columns)
    twice = [[[[s, s + 1, s + 2], [s + 1, s + 2, s + 3]]] for s in (0, 10, 20)]
    same(trundle.sliding_window_view(x, (2, 3), (1, 1)), twice)
    blocks = [[[[s + 10 * i + j for j in range(3)] for i in range(2)] for s in (r, r + 1)] for r in (0, 10)]
    same(trundle.sliding_window_view(x, (2, 3)), blocks)


def test_windows_of_views(rng):
    windows = np.lib.stride_tricks.sliding_window_view
    x = random_array("u2", (40, 50), rng)
    for view in (x, x.T, x[::-2, 3::3], np.broadcast_to(x[:1], (9, 50))):
        for window, axis in (((3, 4), None), (5, 1), (2, -2), ((2, 3), (1, 0)), ((), ()), ((9, 1), (0, 0)), ((1, 0), None)):
            expected = windows(view, window, axis)
            result = trundle.sliding_window_view(view, window, axis)
            assert_new(result, view, expected)
            out = np.zeros(expected.shape[::-1], "u2").T
            assert trundle.sliding_window_view(view, window, axis, out=out) is out
            same(out, expected)
    same(trundle.sliding_window_view(5, ()), 5)


# TestSlidingWindowView.test_errors
def test_windows_refuse_invalid_arguments():
    x = grid()
    for error, words, call in (
        (ValueError, "window_shape must not be negative, got -1", lambda: trundle.sliding_window_view(x, (-1, 3))),
        (ValueError, "got 1 for 2", lambda: trundle.sliding_window_view(x, (1,))),
        (ValueError, "got 2 for 1", lambda: trundle.sliding_window_view(x, (1, 2), axis=0)),
        (ValueError, "a window of 5 along axis 1 .* size 4", lambda: trundle.sliding_window_view(x, (1, 5))),
        (ValueError, "a window of 3 along axis 0 .* size 2", lambda: trundle.sliding_window_view(x, (2, 3), (0, 0))),
        (AxisError, "axis 2 .*2", lambda: trundle.sliding_window_view(x, 1, axis=2)),
        (TypeError, "window_shape", lambda: trundle.sliding_window_view(x, 1.0)),
        (TypeError, "axis", lambda: trundle.sliding_window_view(x, 1, axis=1.0)),
    ):
        with pytest.raises(error, match=words):
            call()


def test_windows_may_overlap_their_source():
    memory = np.arange(40)
    expected = np.lib.stride_tricks.sliding_window_view(memory[:12].copy(), 3)
    out = memory[5:35].reshape(10, 3)
    trundle.sliding_window_view(memory[:12], 3, out=out)
    same(out, expected)
    same(memory[:5], range(5))
