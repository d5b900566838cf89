"""All forms of axes."""

import itertools

import numpy as np
import pytest
import trundle

from arrays import assert_new, random_array


@pytest.fixture
def x(rng):
    return random_array("u2", (2, 3, 4, 5), rng)


@pytest.mark.parametrize("rank", range(6))
def test_every_permutation(rank, rng):
    x = random_array("u2", (3, 5, 2, 4, 6)[:rank], rng)
    for axes in itertools.permutations(range(rank)):
        expected = x.transpose(axes)
        assert_new(trundle.permute_dims(x, axes), x, expected)
        negative = [axis - rank for axis in axes]
        assert_new(trundle.permute_dims(x, negative), x, expected)
        assert_new(trundle.transpose(x, axes or ()), x, expected)


FORMS = [
    tuple,
    list,
    np.array,
    lambda axes: np.array(axes, "u1"),
    lambda axes: [np.int8(a) for a in axes],
]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_permutation(x, form):
    axes = form((3, 1, 0, 2))
    expected = x.transpose(3, 1, 0, 2)
    assert_new(trundle.permute_dims(x, axes), x, expected)
    assert_new(trundle.permute_dims(x, axes=axes), x, expected)
    assert_new(trundle.transpose(x, axes), x, expected)
    assert_new(trundle.transpose(x, order=axes), x, expected)
    assert_new(trundle.permute_dims(x, range(4)), x, x)


@pytest.mark.parametrize("order", [(), [], np.array([], "i8")], ids=repr)
def test_an_empty_order_reverses_the_axes(x, order):
    assert_new(trundle.transpose(x, order), x, x.T)
    for rank in range(3):
        small = x[(0,) * (4 - rank)]
        assert_new(trundle.transpose(small, order), small, small.T)
    assert_new(trundle.transpose(x), x, x.T)


def test_order_is_in_gather_form(x):
    assert trundle.transpose(x, (1, 2, 3, 0)).shape == (3, 4, 5, 2)
    assert trundle.permute_dims(x, (1, 2, 3, 0)).shape == (3, 4, 5, 2)


def test_large_permutations(rng):
    # Whole tiles with remainders.
    for dtype in ("u1", "u2", "u4", "u8", "c16", "V3", "V32"):
        for shape, axes in [
            ((130, 67), (1, 0)),
            ((5, 130, 67), (2, 0, 1)),
            ((67, 3, 35), (2, 1, 0)),
        ]:
            x = random_array(dtype, shape, rng)
            assert_new(trundle.permute_dims(x, axes), x, x.transpose(axes))


MOVES = [
    (0, -1),
    (-1, 0),
    (2, 2),
    (np.int64(1), np.uint8(3)),
    ([0, 1], [2, 3]),
    ((0, 1), (-1, -2)),
    ([3, 0], (1, 0)),
    (np.array([0, 2]), np.array([3, 1])),
    (range(4), [1, 2, 3, 0]),
    ((), ()),
    ([1], 2),
]


@pytest.mark.parametrize(("source", "destination"), MOVES, ids=repr)
def test_moveaxis(x, source, destination):
    expected = np.moveaxis(x, source, destination)
    assert_new(trundle.moveaxis(x, source, destination), x, expected)
    assert_new(trundle.moveaxis(a=x, source=source, destination=destination), x, expected)


def test_moveaxis_of_every_axis(x):
    for source, destination in itertools.product(range(-4, 4), repeat=2):
        expected = np.moveaxis(x, source, destination)
        assert_new(trundle.moveaxis(x, source, destination), x, expected)


def test_rot90_of_every_plane(x):
    for axes in itertools.product(range(-4, 4), repeat=2):
        if (axes[0] - axes[1]) % 4 == 0:
            with pytest.raises(ValueError):
                np.rot90(x, 1, axes)
            with pytest.raises(ValueError, match="repeated axis in `axes`"):
                trundle.rot90(x, 1, axes)
            continue
        for k in range(-5, 6):
            assert_new(trundle.rot90(x, k, axes), x, np.rot90(x, k, axes))


def test_rot90_of_every_form(x):
    image = x[0, 0]
    assert_new(trundle.rot90(image), image, np.rot90(image))
    assert_new(trundle.rot90(x), x, np.rot90(x))
    assert_new(trundle.rot90(m=x, k=np.int8(-1), axes=[2, -1]), x, np.rot90(x, -1, (2, -1)))
    assert_new(trundle.rot90(x, axis=np.array([1, 0])), x, np.rot90(x, axes=(1, 0)))
    for k in (2**70 + 3, -(2**70) - 1, 2**63 - 1, -(2**63)):
        assert_new(trundle.rot90(x, k), x, np.rot90(x, k))
    for shape in [(0, 3), (3, 0, 2), (1, 4), (4, 1, 1)]:
        few = np.ones(shape, "f4")
        for k in range(4):
            assert_new(trundle.rot90(few, k), few, np.rot90(few, k))


@pytest.mark.parametrize(
    "refused, error, message",
    [
        (lambda x: trundle.rot90(x, 1, (0, 1, 2)), ValueError, "axes must be two axes, got 3"),
        (lambda x: trundle.rot90(x, 1, 0), ValueError, "axes must be two axes, got 1"),
        (lambda x: trundle.rot90(x, 4, (0, 4)), ValueError, "axis 4 .*4"),
        (lambda x: trundle.rot90(x, 1, (0, -5)), IndexError, "axis -5 .*4"),
        (lambda x: trundle.rot90(x[0, 0, 0]), ValueError, "axis 1 .*1"),
        (lambda x: trundle.rot90(x[0, 0, 0, 0]), ValueError, "axis 0 .*0"),
        (lambda x: trundle.rot90(x, 1.0), TypeError, "k must be an integer, not float"),
        (lambda x: trundle.rot90(x, [1]), TypeError, "k must be an integer, not list"),
        (lambda x: trundle.rot90(x, "1"), TypeError, "k must be an integer, not str"),
        (lambda x: trundle.rot90(k=1), TypeError, "missing 1 required positional argument: 'm'"),
        (lambda x: trundle.rot90(x, axes=(0, 1), axis=0), TypeError, "both axis and axes"),
        (lambda x: trundle.rot90(a=x), TypeError, "unexpected keyword argument 'a'"),
    ],
)
def test_rot90_refuses_invalid_arguments(x, refused, error, message):
    with pytest.raises(error, match=message):
        refused(x)


def test_swapaxes_of_every_pair(x):
    for axis1, axis2 in itertools.product(range(-4, 4), repeat=2):
        expected = np.swapaxes(x, axis1, axis2)
        assert_new(trundle.swapaxes(x, axis1, axis2), x, expected)
        result = trundle.swapaxes(a=x, axis1=np.int16(axis1), axis2=np.int64(axis2))
        assert_new(result, x, expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_arrays_without_elements(shape):
    x = np.zeros(shape, "f4")
    assert_new(trundle.transpose(x), x, x.T)
    assert_new(trundle.permute_dims(x, range(x.ndim)), x, x)
    assert_new(trundle.moveaxis(x, 0, -1), x, np.moveaxis(x, 0, -1))
    assert_new(trundle.swapaxes(x, 0, -1), x, np.swapaxes(x, 0, -1))


def test_rank_0():
    x = np.array(3, "i2")
    assert_new(trundle.permute_dims(x, ()), x, x)
    assert_new(trundle.transpose(x), x, x)
    assert_new(trundle.moveaxis(x, (), ()), x, x)


def test_the_highest_rank(rng):
    rank = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
    x = random_array("u2", (1,) * (rank - 3) + (3, 2, 5), rng)
    axes = rng.permutation(rank).tolist()
    for result, expected in [
        (trundle.transpose(x), x.T),
        (trundle.permute_dims(x, axes), x.transpose(axes)),
    ]:
        assert result.flags.c_contiguous
        np.testing.assert_array_equal(result, expected, strict=True)
