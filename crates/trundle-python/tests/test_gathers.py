"""take and take_along_axis.

Tests that are from numpy name the file and the test there.
"""

import numpy as np
import pytest
import trundle

from arrays import AxisError, assert_new, assert_same_bits, moved, random_array

X = np.arange(24.0).reshape(2, 3, 4)


def same(result, expected):
    np.testing.assert_array_equal(result, np.asarray(expected), strict=True)


# numpy/_core/tests/test_item_selection.py, TestTake.test_simple
@pytest.mark.parametrize("dtype", [int, "S1", np.dtype([("", "i2", 3)])])
@pytest.mark.parametrize(
    ("mode", "index", "source"),
    [
        ("raise", -1, 1),
        ("raise", 4, None),
        ("wrap", -1, 1),
        ("wrap", 4, 0),
        ("clip", -1, 0),
        ("clip", 4, 1),
    ],
)
def test_each_mode(dtype, mode, index, source, rng):
    x = random_array(dtype, (2, 2), rng)
    for shape in ((), (1, 1)):
        indices = np.full(shape, index)
        if source is None:
            with pytest.raises(IndexError, match="index 4 .* size 2"):
                trundle.take(x, indices, axis=1, mode=mode)
        else:
            expected = np.ndarray((2, *shape), x.dtype, np.ascontiguousarray(x[:, source]))
            assert_same_bits(trundle.take(x, indices, axis=1, mode=mode), expected)
    assert trundle.take(x, np.empty(0, int), axis=1, mode=mode).shape == (2, 0)


# numpy/_core/tests/test_multiarray.py, TestTake.test_raise, test_clip, test_wrap
def test_indices_out_of_range():
    for beyond in ([0, 1, 2], [-3]):
        with pytest.raises(IndexError):
            trundle.take(X, beyond, axis=0)
    same(trundle.take(X, [-1], axis=0)[0], X[1])
    same(trundle.take(X, [-1], axis=0, mode="clip")[0], X[0])
    same(trundle.take(X, [2], axis=0, mode="clip")[0], X[1])
    for index, source in ((-1, 1), (2, 0), (3, 1)):
        same(trundle.take(X, [index], axis=0, mode="wrap")[0], X[source])


# TestTake.test_ip_types, test_byteorder, test_record_array
def test_every_dtype(dtype, rng):
    x = random_array(dtype, (3, 4), rng)
    assert_new(trundle.take(x, range(3), axis=0), x, x)
    assert_new(trundle.take(x, [0, 2, 1], axis=0), x, moved(x, lambda p: p[[0, 2, 1]]))


# TestTake.test_out_overlap, test_ret_is_out
def test_out_that_overlaps():
    x = np.arange(5)
    out = x[2:5]
    assert trundle.take(x, [1, 2, 3], out=out, mode="wrap") is out
    same(x, [0, 1, 1, 2, 3])


# numpy/_core/tests/test_numeric.py, TestNonarrayArgs.test_take; test_regression.py, test_take_output
def test_lists_and_out():
    same(trundle.take([1, 2, 3, 4, 5], [1, 2, 4]), [2, 3, 5])
    x = np.arange(12).reshape(3, 4)
    out = np.zeros((3, 2), int)
    trundle.take(x, [0, 2], axis=1, out=out)
    same(out, x[:, [0, 2]])


# numpy/_core/tests/test_item_selection.py, TestTake.test_unicode_mode
def test_invalid_modes_are_refused():
    for mode in ("\u00e4", "Raise", "", "reflect"):
        with pytest.raises(ValueError, match="mode must be one of 'raise', 'wrap' and 'clip'"):
            trundle.take(X, 0, mode=mode)
    for mode in (1, b"wrap", 0.5):
        with pytest.raises(TypeError, match="mode must be a str"):
            trundle.take(X, 0, mode=mode)


def test_scalars_and_flat_arrays():
    same(trundle.take(5, 0), 5)
    same(trundle.take(np.array(5), [0, 0, -1]), [5, 5, 5])
    for axis in (0, -1):
        same(trundle.take(np.array(5), [0, 0], axis=axis), [5, 5])
    with pytest.raises(AxisError, match="axis 1 .*dimension 1"):
        trundle.take(5, 0, axis=1)
    result = trundle.take(X, 3)
    assert type(result) is np.ndarray and result.shape == () and result == 3
    same(trundle.take(X, [[23, -1], [0, 5]]), [[23.0, 23.0], [0.0, 5.0]])
    assert trundle.take(X, np.array(1), axis=1).shape == (2, 4)


def test_indices_may_be_integers_or_bools():
    x = np.arange(300)
    for dtype in "bBhHiIqQ":
        same(trundle.take(x, np.array([3, 0, 7], dtype)), [3, 0, 7])
        same(trundle.take(x, np.array([3, 0, 7], np.dtype(dtype).newbyteorder())), [3, 0, 7])
    same(trundle.take(x, [True, False]), [1, 0])
    same(trundle.take(x, ()), np.empty(0, int))
    same(trundle.take(x, np.arange(12).reshape(3, 4).T[::-1, ::2]), np.arange(12).reshape(3, 4).T[::-1, ::2])
    same(trundle.take(x, [2**63 - 1, -(2**63)], mode="clip"), [299, 0])
    same(trundle.take(x, [2**63 - 1, -(2**63)], mode="wrap"), [(2**63 - 1) % 300, -(2**63) % 300])


def test_take_of_regular_and_random_indices(rng):
    # Steps, runs and random order use different code.
    x = random_array("u2", (40, 50), rng)
    for indices in (
        range(39, -1, -1),
        range(3, 40, 5),
        [*range(20, 40), *range(20)],
        rng.permutation(40),
        [7] * 100,
        rng.integers(-40, 40, (7, 9)),
    ):
        indices = np.array(indices)
        assert_new(trundle.take(x, indices, axis=0), x, x[indices])
        assert_new(trundle.take(x.T, indices, axis=1), x, x.T[:, indices])
        assert_new(trundle.take(x.T, indices, axis=0), x, x.T[indices])


def test_take_refuses_invalid_arguments():
    for error, words, call in (
        (AxisError, "axis 3 .*3", lambda: trundle.take(X, 0, axis=3)),
        (AxisError, "axis -4 .*3", lambda: trundle.take(X, 0, axis=-4)),
        (TypeError, "axis", lambda: trundle.take(X, 0, axis=1.0)),
        (TypeError, "axis", lambda: trundle.take(X, 0, axis=(0, 1))),
        (IndexError, r"index 4 at \[1, 0\] .* size 4", lambda: trundle.take(X, [[0], [4]], axis=2)),
        (IndexError, r"index -25 at \[0\] .* size 24", lambda: trundle.take(X, [-25])),
        (IndexError, "18446744073709551615", lambda: trundle.take(X, np.array([2**64 - 1], "u8"))),
        (TypeError, "indices must be integers, not float64", lambda: trundle.take(X, [1.0])),
        (TypeError, "indices must be integers, not float64", lambda: trundle.take(X, np.empty(0))),
        (TypeError, "indices must be integers, not <U1", lambda: trundle.take(X, "a")),
        (TypeError, "indices must be integers, not object", lambda: trundle.take(X, None)),
        (TypeError, "indices is a masked array", lambda: trundle.take(X, np.ma.array([1]))),
    ):
        with pytest.raises(error, match=words):
            call()
    for mode in ("raise", "wrap", "clip"):
        with pytest.raises(IndexError, match="index 0 .* size 0, which has no elements"):
            trundle.take(np.empty((3, 0)), [0], axis=1, mode=mode)
    out = np.zeros((2, 3, 1))
    with pytest.raises(IndexError):
        trundle.take(X, [4], axis=2, out=out)
    assert not out.any()


@pytest.mark.parametrize("threads", [1, 3])
def test_out_is_filled_or_unchanged_after_an_error(threads):
    x = np.random.default_rng(0).random((300, 700)).astype(np.float32)
    rows, indices = np.array([3, -1, 3, 299]), np.full((300, 500), -2)
    out = np.zeros((4, 700), np.float32)
    assert trundle.take(x, rows, 0, out=out, threads=threads) is out
    same(out, x[rows])
    columns = np.asfortranarray(np.zeros((300, 4), np.float32))
    trundle.take(x, rows, 1, out=columns, threads=threads)
    same(columns, x[:, rows])
    along = np.zeros((300, 500), np.float32)
    assert trundle.take_along_axis(x, indices, 1, out=along, threads=threads) is along
    same(along, np.take_along_axis(x, indices, 1))
    # An index out of range, even the last one, is found before anything is written.
    rows[-1], indices[-1, -1] = 300, 700
    for call, given in ((trundle.take, rows), (trundle.take_along_axis, indices)):
        axis = 0 if call is trundle.take else 1
        result = out if call is trundle.take else along
        result[...] = 7
        with pytest.raises(IndexError, match="out of range|out of bounds"):
            call(x, given, axis, out=result, threads=threads)
        assert (result == 7).all()
    rows = np.arange(300)[::-1].copy()
    expected = x[rows]
    assert trundle.take(x, rows, 0, out=x, threads=threads) is x
    same(x, expected)
    for wrong in (np.zeros((4, 701), np.float32), np.zeros((300, 700)), np.zeros((300, 700), "i4")):
        with pytest.raises((TypeError, ValueError)):
            trundle.take(x, rows, 0, out=wrong)


@pytest.mark.parametrize("dtype", ["i1", "u2", "<i4", ">i4", ">i8", "i8", "u4", "u8"])
@pytest.mark.parametrize("is_strided", [False, True])
def test_dtypes_and_strides_of_indices(dtype, is_strided):
    x = np.arange(600.0).reshape(20, 30)
    rows = np.array([3, 19, 0, 7], dtype) if "u" in dtype else np.array([3, -1, -20, 7], dtype)
    indices = np.broadcast_to(rows[:, None], (4, 30)).copy()
    if is_strided:
        rows, indices = np.repeat(rows, 2)[::2], indices[::-1]
    same(trundle.take(x, rows, 0), x[rows])
    same(trundle.take_along_axis(x, indices, 0), np.take_along_axis(x, indices, 0))
    changed, expected = x.copy(), x.copy()
    trundle.put_along_axis(changed, indices, 5.0, 0)
    np.put_along_axis(expected, indices, 5.0, 0)
    same(changed, expected)
    # Too large for the axis and, for unsigned 8-byte integers, for a signed integer.
    rows[1] = np.iinfo(dtype).max
    with pytest.raises(IndexError):
        trundle.take(x, rows, 0)


def test_chains_raise_the_same_errors():
    chain = trundle.chain("take(indices=n, axis=1)")
    same(chain(X, n=[2, 0]), X[:, [2, 0]])
    with pytest.raises(IndexError, match=r"index 3 at \[1\] .* size 3"):
        chain(X, n=[0, 3])
    with pytest.raises(IndexError, match=r"index 9 [\s\S]*\^"):
        trundle.chain("take([9], axis=0)")(X)


# numpy/lib/tests/test_shape_base.py, TestTakeAlongAxis.test_argequivalent
def test_sorted_by_argsort(rng):
    x = rng.random((3, 4, 5))
    for axis in (0, 1, 2, -1, -3):
        same(trundle.take_along_axis(x, x.argsort(axis), axis=axis), np.sort(x, axis))
        highest = np.expand_dims(x.argmax(axis), axis)
        same(trundle.take_along_axis(x, highest, axis=axis), x.max(axis, keepdims=True))
        lowest = np.expand_dims(x.argmin(axis), axis)
        same(trundle.take_along_axis(x, lowest, axis), x.min(axis, keepdims=True))
    same(trundle.take_along_axis(x, x.argsort()), np.sort(x))
    same(trundle.take_along_axis(x, x.argsort(None), axis=None), np.sort(x, None))


# TestTakeAlongAxis.test_invalid
def test_take_along_axis_refuses_invalid_arguments():
    x, indices = np.ones((10, 10)), np.ones((10, 2), int)
    assert trundle.take_along_axis(x, indices, axis=1).shape == (10, 2)
    for error, words, call in (
        (ValueError, "2 axes, not 0", lambda: trundle.take_along_axis(x, np.array(1), axis=1)),
        (IndexError, "indices must be integers, not bool", lambda: trundle.take_along_axis(x, indices.astype(bool), 1)),
        (IndexError, "indices must be integers, not float64", lambda: trundle.take_along_axis(x, indices * 1.0, 1)),
        (AxisError, "axis 10 .*2", lambda: trundle.take_along_axis(x, indices, axis=10)),
        (AxisError, "axis -3 .*2", lambda: trundle.take_along_axis(x, indices, axis=-3)),
        (ValueError, "1 axis, not 2: axis=None", lambda: trundle.take_along_axis(x, indices, axis=None)),
        (AxisError, "axis -1 .*0", lambda: trundle.take_along_axis(np.array(1.0), np.array(0))),
        (IndexError, r"index -11 at \[0, 0\] .* size 10", lambda: trundle.take_along_axis(x, [[-11]], axis=0)),
        (IndexError, r"\[3, 2\] .*\[10, 10\]: sizes 3 and 10 along axis 0", lambda: trundle.take_along_axis(x, indices[:3])),
        (TypeError, "axis", lambda: trundle.take_along_axis(x, indices, axis=1.0)),
    ):
        with pytest.raises(error, match=words):
            call()


# TestTakeAlongAxis.test_empty, test_broadcast
def test_sizes_of_0_and_1():
    assert trundle.take_along_axis(np.ones((3, 4, 5)), np.ones((3, 0, 5), int), axis=1).shape == (3, 0, 5)
    assert trundle.take_along_axis(np.ones((3, 4, 1)), np.ones((1, 2, 5), int), axis=1).shape == (3, 2, 5)
    same(trundle.take_along_axis(5, [0, -1], axis=None), [5, 5])


def test_axis_none_differs_from_the_default():
    x = np.array([[3, 1, 2], [0, 5, 4]])
    same(trundle.take_along_axis(x, [[0], [1]]), [[3], [5]])
    same(trundle.take_along_axis(x, [4, 0], None), [5, 3])
    same(trundle.take_along_axis(x, [4, 0], axis=None, axes=None), [5, 3])
    same(trundle.take_along_axis(x, [[1, 0, 1]], axes=0), [[0, 1, 4]])
    same(trundle.take_along_axis(x, [[1, 0, 1]], axis=None, axes=0), [[0, 1, 4]])
    with pytest.raises(TypeError, match="both axis and axes"):
        trundle.take_along_axis(x, [[1, 0, 1]], axis=0, axes=0)


class Tagged(np.ndarray):
    pass


def test_flat_take_along_axis_drops_the_subclass():
    x = np.arange(6).reshape(2, 3).view(Tagged)
    assert type(trundle.take_along_axis(x, [0], axis=None)) is np.ndarray
    assert type(trundle.take_along_axis(x, [[0], [0]])) is Tagged
    assert type(trundle.take(x, [0])) is Tagged


def test_out_may_be_the_indices():
    x = np.arange(12).reshape(3, 4)
    indices = np.array([[3, 2, 1, 0], [0, 0, 1, 1], [2, 3, 2, 3]])
    expected = np.take_along_axis(x, indices, 1)
    assert trundle.take_along_axis(x, indices, 1, out=indices) is indices
    same(indices, expected)
