"""pad: numpy's own tests of the modes that move elements, and errors.

Tests that are from numpy name the test in numpy/lib/tests/test_arraypad.py. Expected results are computed
index by index, since numpy before 2.0 repeats mirrored elements differently.
"""

import types

import numpy as np
import pytest
import trundle

from arrays import AxisError, assert_new, moved, random_array

MODES = ["edge", "reflect", "symmetric", "wrap"]


def same(result, expected):
    np.testing.assert_array_equal(result, np.asarray(expected), strict=True)


def sources(mode, size, before, behind):
    """The source index of each index of a padded axis."""
    at = np.arange(-before, size + behind)
    if mode == "edge":
        return at.clip(0, size - 1)
    if mode == "wrap":
        return at % max(size, 1)
    if mode == "reflect" and size == 1:
        return at * 0
    last = 2 * size - 1 if mode == "symmetric" else 2 * size - 2
    at = at % max(last + (mode == "symmetric"), 1)
    return np.minimum(at, last - at)


def padded(p, widths, mode):
    """The definition: a pair of widths for each axis."""
    for axis, (before, behind) in enumerate(widths):
        p = p.take(sources(mode, p.shape[axis], before, behind), axis)
    return p


def test_the_definition_equals_numpy():
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("numpy before 2.0 repeats mirrored elements differently")
    for mode in MODES:
        for shape in [(1,), (2,), (5,), (3, 4)]:
            x = np.arange(np.prod(shape)).reshape(shape)
            for width in range(12):
                widths = [(width, 2 * width % 7)] * len(shape)
                same(padded(x, widths, mode), np.pad(x, widths, mode))


# TestEdge.test_check_simple
def test_edge():
    x = np.arange(12).reshape(4, 3)
    top, bottom = [0, 0, 0, 0, 1, 2, 2, 2], [9, 9, 9, 9, 10, 11, 11, 11]
    rows = [top, top, top, [3, 3, 3, 3, 4, 5, 5, 5], [6, 6, 6, 6, 7, 8, 8, 8], bottom, bottom, bottom, bottom]
    same(trundle.pad(x, ((2, 3), (3, 2)), "edge"), rows)


# TestEdge.test_check_width_shape_1_2
def test_one_pair_for_all_axes():
    same(trundle.pad([1, 2, 3], ((1, 2),), "edge"), [1, 1, 2, 3, 3, 3])
    for x in (np.arange(6).reshape(2, 3), np.arange(24).reshape(2, 3, 4)):
        same(trundle.pad(x, ((1, 2),), "edge"), trundle.pad(x, ((1, 2),) * x.ndim, "edge"))


# TestReflect.test_check_01 to test_check_04
@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (2, [3, 2, 1, 2, 3, 2, 1]),
        (3, [2, 3, 2, 1, 2, 3, 2, 1, 2]),
        (4, [1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]),
        ([1, 10], [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1]),
    ],
)
def test_reflect(width, expected):
    same(trundle.pad([1, 2, 3], width, "reflect"), expected)


# TestReflect.test_check_simple, test_check_large_pad, test_check_shape, test_check_05 to test_check_07, and the
# tests with the same names in TestSymmetric and TestWrap
@pytest.mark.parametrize("mode", MODES)
def test_widths_larger_than_the_array(mode):
    for x, widths in (
        (np.arange(100), [(25, 20)]),
        (np.array([[4, 5, 6], [6, 7, 8]]), [(5, 7), (5, 7)]),
        (np.array([[4, 5, 6]]), [(5, 7), (5, 7)]),
        (np.array([1, 2, 3, 4]), [(45, 10)]),
        (np.array([1, 2, 3, 4]), [(15, 2)]),
        (np.array([1, 2, 3, 4]), [(45, 3)]),
        (np.arange(12).reshape(3, 4), [(10, 12), (10, 12)]),
        (np.arange(4), [(1000, 3000)]),
    ):
        assert_new(trundle.pad(x, widths, mode), x, padded(x, widths, mode))


# TestSymmetric.test_check_01 to test_check_03
@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (2, [2, 1, 1, 2, 3, 3, 2]),
        (3, [3, 2, 1, 1, 2, 3, 3, 2, 1]),
        (6, [1, 2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3]),
    ],
)
def test_symmetric(width, expected):
    same(trundle.pad([1, 2, 3], width, "symmetric"), expected)


# TestWrap.test_check_01, test_check_02, test_pad_with_zero, test_repeated_wrapping,
# test_repeated_wrapping_multiple_origin
def test_wrap():
    same(trundle.pad([1, 2, 3], 3, "wrap"), [1, 2, 3, 1, 2, 3, 1, 2, 3])
    same(trundle.pad([1, 2, 3], 4, "wrap"), [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1])
    ones = np.ones((3, 5))
    same(trundle.pad(ones, (0, 5), "wrap")[:-5, :-5], ones)
    row = np.arange(5)
    same(trundle.pad(row, (12, 0), "wrap"), [*row[3:], *row, *row, *row])
    same(trundle.pad(row, (0, 12), "wrap"), [*row, *row, *row, *row[:2]])
    square = np.arange(4).reshape(2, 2)
    same(trundle.pad(square, [(1, 3), (3, 1)], "wrap"), np.tile(square, (5, 5))[1:7, 1:7])


# TestPadWidth.test_pad_width_as_ndarray, test_pad_dict_pad_width, and all documented forms
def test_forms_of_widths():
    x = np.arange(12).reshape(4, 3)
    for width, widths in (
        (2, [(2, 2), (2, 2)]),
        (np.int8(2), [(2, 2), (2, 2)]),
        (np.array(2, "u1"), [(2, 2), (2, 2)]),
        ((2,), [(2, 2), (2, 2)]),
        ([[2]], [(2, 2), (2, 2)]),
        ((1, 2), [(1, 2), (1, 2)]),
        (np.array([1, 2]), [(1, 2), (1, 2)]),
        (((1, 2),), [(1, 2), (1, 2)]),
        (((1,), (2,)), [(1, 1), (2, 2)]),
        (((2, 3), (3, 2)), [(2, 3), (3, 2)]),
        (np.array([[2, 3], [3, 2]]), [(2, 3), (3, 2)]),
        ([[0, 0], [0, 4]], [(0, 0), (0, 4)]),
        ({}, [(0, 0), (0, 0)]),
        ({0: 1}, [(1, 1), (0, 0)]),
        ({-1: (2, 3)}, [(0, 0), (2, 3)]),
        ({0: (0, 1), 1: 2}, [(0, 1), (2, 2)]),
        ({np.int64(1): (0, 1), -2: 2}, [(2, 2), (0, 1)]),
        (types.MappingProxyType({1: np.array([4, 0])}), [(0, 0), (4, 0)]),
    ):
        for mode in MODES:
            assert_new(trundle.pad(x, width, mode), x, padded(x, widths, mode), (width, mode))
    for width in (0, (1, 2), 3, [[1, 2]]):
        same(trundle.pad(5, width, "edge"), 5)
    same(trundle.pad(5, {}, "edge"), 5)


# TestPadWidth.test_zero_pad_width; TestConditionalShortcuts.test_zero_padding_shortcuts
@pytest.mark.parametrize("mode", MODES)
def test_widths_of_0(mode):
    for x in (np.arange(30).reshape(6, 5), np.empty((0, 3)), np.array(4)):
        for width in (0, (0, 0), np.zeros((x.ndim, 2), int)):
            assert_new(trundle.pad(x, width, mode), x, x)


# TestPadWidth.test_misshaped_pad_width, test_misshaped_pad_width_2
@pytest.mark.parametrize("mode", MODES)
def test_widths_of_another_shape_are_refused(mode):
    x = np.arange(30).reshape(6, 5)
    for width, shape in (
        ((4, 5, 6, 7), "[4]"),
        (((1,), (2,), (3,)), "[3, 1]"),
        (((1, 2), (3, 4), (5, 6)), "[3, 2]"),
        (((3, 4, 5), (0, 1, 2)), "[2, 3]"),
        ((((3,), (4,), (5,)), ((0,), (1,), (2,))), "[2, 3, 1]"),
        ([], "[0]"),
    ):
        with pytest.raises(ValueError) as caught:
            trundle.pad(x, width, mode)
        assert f"shape {shape} " in str(caught.value) and "[2, 2]" in str(caught.value)
    with pytest.raises(ValueError, match=r"\[2, 1\] .*\[1, 2\]"):
        trundle.pad([1, 2, 3], [[1], [2]], mode)


# TestPadWidth.test_negative_pad_width
@pytest.mark.parametrize("mode", MODES)
def test_negative_widths_are_refused(mode):
    x = np.arange(30).reshape(6, 5)
    for width in (-2, (-2,), (3, -2), ((5, 2), (-2, 3)), ((-2,), (2,)), {0: -2}, {1: (0, -2)}):
        with pytest.raises(ValueError, match="pad_width must not be negative, got -2"):
            trundle.pad(x, width, mode)


# TestPadWidth.test_bad_type
@pytest.mark.parametrize("mode", MODES)
def test_widths_that_are_not_integers_are_refused(mode):
    x = np.arange(30).reshape(6, 5)
    for width in ("3", "word", None, object(), 3.4, complex(1, -1), ((-2.1, 3), (3, 2)), [True, False]):
        with pytest.raises(TypeError, match="pad_width"):
            trundle.pad(x, width, mode)
    with pytest.raises(ValueError, match="inhomogeneous"):
        trundle.pad(x, ((2, 3, 4), (3, 2)), mode)
    for width in ({0: 1.5}, {0: "1"}, {0.5: 1}, {"0": 1}, {0: None}):
        with pytest.raises(TypeError, match="pad_width"):
            trundle.pad(x, width, mode)
    with pytest.raises(AxisError, match="pad_width: axis 2 .*2"):
        trundle.pad(x, {2: 1}, mode)
    with pytest.raises(ValueError, match="axis 0 takes a number or a pair, got 3 numbers"):
        trundle.pad(x, {0: (1, 2, 3)}, mode)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'pad_width'"):
        trundle.pad(x, mode=mode)


# TestEmptyArray.test_pad_empty_dimension, test_pad_non_empty_dimension
@pytest.mark.parametrize("mode", MODES)
def test_axes_without_elements(mode):
    with pytest.raises(ValueError, match=r"axis 0 has no elements to pad with \(width 4\)"):
        trundle.pad(np.zeros(0), 4, mode)
    with pytest.raises(ValueError, match=r"axis 1 has no elements to pad with \(width 1\)"):
        trundle.pad(np.zeros((2, 0)), ((0, 0), (1, 0)), mode)
    assert trundle.pad(np.ones((2, 0, 2)), ((3,), (0,), (1,)), mode).shape == (8, 0, 4)


# test_unsupported_mode, test_kwargs; the modes that compute values
def test_invalid_modes_are_refused():
    x = np.arange(4)
    for mode in ("foo", "Edge", ""):
        with pytest.raises(ValueError, match="mode must be one of constant, edge, reflect, symmetric, wrap, not"):
            trundle.pad(x, 1, mode)
    for mode in ("mean", "maximum", "minimum", "median", "linear_ramp", "empty"):
        with pytest.raises(ValueError, match=f'not "{mode}", which computes new elements'):
            trundle.pad(x, 1, mode)
    for mode in (1, b"edge", lambda *_: None):
        with pytest.raises(TypeError, match="mode must be a str"):
            trundle.pad(x, 1, mode)
    with pytest.raises(TypeError, match="unexpected keyword argument 'reflect_type'"):
        trundle.pad(x, 1, "reflect", reflect_type="odd")


# TestConstant
def test_constants_pass_numpys_tests(rng):
    row = np.arange(10)
    for values in (0, 5, (10, 20), ((4, 2),), -1):
        same(trundle.pad(row, (2, 3), constant_values=values), np.pad(row, (2, 3), constant_values=values))
        same(trundle.pad(row, (2, 3), "constant", constant_values=values), np.pad(row, (2, 3), constant_values=values))
    # Corners belong to the last axis.
    matrix = np.arange(6).reshape(2, 3)
    for values in (((1, 2), (3, 4)), ((1,), (3,)), ((7, 8),), 9):
        for widths in (1, ((1, 2), (3, 0)), ((0, 0), (2, 1)), (2, 3)):
            expected = np.pad(matrix, widths, constant_values=values)
            same(trundle.pad(matrix, widths, constant_values=values), expected)
    # As in numpy, floats are truncated to integers and rounded to floats.
    same(trundle.pad(row, 1, constant_values=1.9), np.pad(row, 1, constant_values=1.9))
    for kind in ("f2", "f4", "f8", "c8", ">f4"):
        x = rng.standard_normal(5).astype(kind)
        same(trundle.pad(x, 2, constant_values=0.1), np.pad(x, 2, constant_values=0.1))
    same(trundle.pad(np.array([True]), 1), np.array([False, True, False]))
    huge = 2**63 - 1
    same(trundle.pad(np.full(3, huge), 1, constant_values=-huge), np.pad(np.full(3, huge), 1, constant_values=-huge))
    words = np.array(["a", "bc"])
    same(trundle.pad(words, 1, constant_values="x"), np.array(["x", "a", "bc", "x"]))
    same(trundle.pad(np.empty((0, 2)), ((1, 0), (0, 1))), np.pad(np.empty((0, 2)), ((1, 0), (0, 1))))
    same(trundle.pad(np.float32(3), 1), np.pad(np.float32(3), 1))
    out = np.full((4, 4), 9)
    assert trundle.pad(matrix[:2, :2], 1, out=out) is out
    assert out.tolist() == np.pad(matrix[:2, :2], 1).tolist()
    # Before 2.0, numbers wrap around.
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(OverflowError):
            trundle.pad(np.zeros(2, "i1"), 1, constant_values=300)
    with pytest.raises(ValueError, match="broadcast"):
        trundle.pad(matrix, 1, constant_values=(1, 2, 3))
    with pytest.raises(ValueError, match="mode \"edge\" takes no constant_values"):
        trundle.pad(row, 1, "edge", constant_values=3)
    with pytest.raises(ValueError, match="shape"):
        trundle.pad(row, 1, out=np.zeros(11, row.dtype))


def test_random_constants_equal_numpy(rng):
    for _ in range(1500):
        shape = rng.integers(0, 5, rng.integers(0, 4))
        x = random_array(rng.choice(["u1", "<u2", "f8", "c16", ">i4"]), tuple(shape), rng)
        widths = rng.integers(0, 4, (len(shape), 2)).tolist()
        values = rng.integers(0, 100, (len(shape), 2)).tolist()
        if not len(shape):
            widths, values = 1, 1
        view = x[..., ::-1] if x.ndim and rng.integers(2) else x
        same(trundle.pad(view, widths, constant_values=values), np.pad(view, widths, constant_values=values))


def test_constants_for_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    got = trundle.pad(x, ((0, 0), (1, 2)), constant_values=2.5)
    assert torch.equal(got, torch.nn.functional.pad(x, (1, 2), value=2.5))
    half = x.to(torch.bfloat16)
    assert torch.equal(trundle.pad(half, 1), torch.nn.functional.pad(half, (1, 1, 1, 1)))
    with pytest.raises(TypeError, match="a type that numpy lacks"):
        trundle.pad(half, 1, constant_values=1)


# TestPadding... test_non_contiguous_array, test_dtype_persistence
@pytest.mark.parametrize("mode", MODES)
def test_every_dtype_and_view(mode, dtype, rng):
    widths = [(1, 4), (7, 0)]
    x = random_array(dtype, (6, 5), rng)
    for view in (x, x.T, x[::2, ::-1], x[:1]):
        assert_new(trundle.pad(view, widths, mode), view, moved(view, lambda p: padded(p, widths, mode)))


@pytest.mark.parametrize("mode", MODES)
def test_short_axes_with_large_widths(mode, rng):
    # More mirror images than an operator may have pieces.
    for shape, width in (((2,), 10000), ((2, 3), {0: (9001, 0), 1: (1, 2)}), ((3, 2), ((2, 1), (0, 30000)))):
        x = random_array("u2", shape, rng)
        widths = [(width, width)] if isinstance(width, int) else [width[axis] for axis in range(len(shape))]
        assert_new(trundle.pad(x, width, mode), x, padded(x, widths, mode))
    with pytest.raises(MemoryError):
        trundle.pad([1, 2], 2**60, mode)


def test_images(rng):
    # As large as tiles, with a destination.
    x = random_array("u1", (3, 200, 301), rng)
    out = np.zeros((3, 206, 307), "u1")
    for mode in MODES:
        expected = padded(x, [(0, 0), (3, 3), (3, 3)], mode)
        assert trundle.pad(x, {1: 3, 2: 3}, mode, out=out) is out
        same(out, expected)
