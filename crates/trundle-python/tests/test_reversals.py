"""flip, reverse_subsequences and reverse_sequence."""

import numpy as np
import pytest
import trundle

from arrays import assert_new, moved, random_array, reversed_subsequences

INTEGERS = "bBhHiIqQ"


@pytest.fixture
def x(rng):
    return random_array("i4", (4, 5, 6), rng)


AXES = [
    None,
    0,
    1,
    -1,
    (),
    (0,),
    (0, 2),
    [-1, 0],
    (1, 2, 0),
    np.int32(2),
    (np.uint8(0), -2),
    np.array([0, 1]),
    range(3),
]


@pytest.mark.parametrize("axis", AXES, ids=repr)
def test_flip(x, axis):
    # numpy requires a tuple.
    as_tuple = axis if axis is None or np.ndim(axis) == 0 else tuple(axis)
    assert_new(trundle.flip(x, axis=axis), x, np.flip(x, as_tuple))


def test_flip_of_every_length(rng):
    for dtype in ("u1", "u2", "u4", "u8", "V16", "V3"):
        for size in range(140):
            x = random_array(dtype, (3, size), rng)
            assert_new(trundle.flip(x, axis=1), x, x[:, ::-1], (dtype, size))


def test_flip_of_rank_0():
    x = np.array(2.5)
    assert_new(trundle.flip(x), x, x)
    assert_new(trundle.flip(x, axis=()), x, x)


def test_flip_takes_the_axis_by_position(x):
    for axis in (0, -1, (0, 2), None):
        assert_new(trundle.flip(x, axis), x, np.flip(x, axis))


def test_reversals_take_their_axes_by_position(rng):
    x = random_array("i4", (3, 4), rng)
    lengths = np.array([[2], [0], [3]])
    expected = reversed_subsequences(x, lengths, 1)
    assert_new(trundle.reverse_subsequences(x, lengths, 1), x, expected)
    assert_new(trundle.reverse_sequence(x, lengths[:, 0], 1, 0), x, expected)
    assert_new(trundle.reverse_sequence(x, lengths[:, 0], -1, batch_axis=-2), x, expected)


# DirectML's example.
def test_subsequences_of_rows():
    x = np.arange(1, 13).reshape(3, 4)
    lengths = np.array([[2], [4], [3]], "u4")
    expected = [[2, 1, 3, 4], [8, 7, 6, 5], [11, 10, 9, 12]]
    assert_new(trundle.reverse_subsequences(x, lengths, axis=1), x, np.array(expected))


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2, np.int8(1)])
@pytest.mark.parametrize("integer", INTEGERS)
def test_subsequences_of_every_axis(x, axis, integer, rng):
    shape = list(x.shape)
    shape[axis] = 1
    lengths = rng.integers(0, 9, shape).astype(integer)
    expected = reversed_subsequences(x, lengths, axis % 3)
    assert_new(trundle.reverse_subsequences(x, lengths, axis=axis), x, expected)
    result = trundle.reverse_subsequences(x, lengths=lengths.tolist(), axis=axis)
    assert_new(result, x, expected)


@pytest.mark.parametrize(
    "length", [2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1]
)
def test_lengths_are_capped_at_the_size(length):
    x = np.arange(10).reshape(2, 5)
    lengths = np.array([[length], [0]], "u8")
    expected = [[4, 3, 2, 1, 0], [5, 6, 7, 8, 9]]
    assert_new(trundle.reverse_subsequences(x, lengths, axis=1), x, np.array(expected))
    if length < 2**63:
        lengths = lengths.astype("i8")
        assert_new(trundle.reverse_subsequences(x, lengths, axis=1), x, np.array(expected))


def test_lengths_in_any_layout(x, rng):
    lengths = rng.integers(0, 8, (4, 1, 6)).astype("i8")
    expected = reversed_subsequences(x, lengths, 1)
    wide = np.zeros((8, 1, 12), "i8")
    wide[::2, :, ::2] = lengths
    for layout in (
        np.asfortranarray(lengths),
        wide[::2, :, ::2],
        lengths[::-1, :, ::-1].copy()[::-1, :, ::-1],
        lengths.astype(">u4"),
        lengths.astype(">i8"),
        np.ndarray(lengths.shape, "i8", b"\0" + lengths.tobytes(), offset=1),
    ):
        assert_new(trundle.reverse_subsequences(x, layout, axis=1), x, expected)
    same = np.broadcast_to(np.uint32(3), (4, 1, 6))
    expected = reversed_subsequences(x, same, 1)
    assert_new(trundle.reverse_subsequences(x, same, axis=1), x, expected)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_lengths_may_be_a_matrix(x):
    rows = np.ones((2, 3), "i4") * 5
    lengths = np.matrix([[1, 2, 2]])
    expected = trundle.reverse_subsequences(rows, np.asarray(lengths), axis=0)
    assert_new(trundle.reverse_subsequences(rows, lengths, axis=0), rows, expected)


def test_lengths_of_every_row_length(rng):
    for size in range(80):
        x = random_array("u2", (size + 1, size), rng)
        lengths = np.arange(size + 1, dtype="u4")
        expected = reversed_subsequences(x, lengths[:, None], 1)
        assert_new(trundle.reverse_subsequences(x, lengths[:, None], axis=1), x, expected)
        expected = reversed_subsequences(np.array(x.T), lengths[None, :], 0)
        assert_new(trundle.reverse_subsequences(x.T, lengths[None, :], axis=0), x, expected)


# ONNX's examples.
def test_sequences_of_a_batch():
    x = np.arange(16.0).reshape(4, 4).T
    expected = [[3, 6, 9, 12], [2, 5, 8, 13], [1, 4, 10, 14], [0, 7, 11, 15]]
    result = trundle.reverse_sequence(x, [4, 3, 2, 1], axis=0, batch_axis=1)
    assert_new(result, x, np.array(expected, "f8"))
    x = np.arange(16.0).reshape(4, 4)
    expected = [[0, 1, 2, 3], [5, 4, 6, 7], [10, 9, 8, 11], [15, 14, 13, 12]]
    result = trundle.reverse_sequence(x, [1, 2, 3, 4], axis=1, batch_axis=0)
    assert_new(result, x, np.array(expected, "f8"))


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize(
    ("axis", "batch_axis"), [(a, b) for a in range(-3, 3) for b in range(3) if a % 3 != b]
)
def test_sequences_of_every_pair_of_axes(x, axis, batch_axis, integer, rng):
    lengths = rng.integers(0, x.shape[axis] + 1, x.shape[batch_axis]).astype(integer)
    along = [1, 1, 1]
    along[batch_axis] = -1
    shape = list(x.shape)
    shape[axis] = 1
    spread = np.broadcast_to(lengths.reshape(along), shape)
    expected = reversed_subsequences(x, spread, axis % 3)
    assert_new(trundle.reverse_sequence(x, lengths, axis=axis, batch_axis=batch_axis), x, expected)
    result = trundle.reverse_sequence(
        x, lengths[::-1].copy()[::-1], axis=axis, batch_axis=batch_axis - 3
    )
    assert_new(result, x, expected)


def test_arrays_without_elements():
    x = np.zeros((3, 0, 2), "f4")
    assert_new(trundle.flip(x), x, x)
    result = trundle.reverse_subsequences(x, np.ones((3, 1, 2), "u4"), axis=1)
    assert_new(result, x, x)
    result = trundle.reverse_subsequences(x, np.ones((1, 0, 2), "u4"), axis=0)
    assert_new(result, x, x)
    result = trundle.reverse_sequence(x, [0, 0, 0], axis=1, batch_axis=0)
    assert_new(result, x, x)


def test_reversals_undo_themselves(x, rng):
    lengths = rng.integers(0, 8, (4, 1, 6))
    once = trundle.reverse_subsequences(x, lengths, axis=1)
    assert_new(trundle.reverse_subsequences(once, lengths, axis=1), x, x)
    assert_new(trundle.flip(trundle.flip(x)), x, moved(x, np.copy))
