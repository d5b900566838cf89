"""ascontiguousarray and copyto."""

import numpy as np
import pytest
import trundle

from arrays import VIEWS, assert_new, assert_same_bits, moved, random_array


def test_a_contiguous_array_is_copied_too(rng):
    x = random_array("f4", (3, 4), rng)
    result = trundle.ascontiguousarray(x)
    assert_new(result, x, x)
    assert result is not x


def test_rank_0_becomes_rank_1():
    x = np.array(2.5)
    result = trundle.ascontiguousarray(x)
    assert result.shape == np.ascontiguousarray(x).shape == (1,)
    assert_new(result, x, x.reshape(1))
    out = np.zeros(1)
    assert trundle.ascontiguousarray(x, out=out) is out
    assert out[0] == 2.5


def test_a_new_array_has_numpys_default_strides(rng):
    # Strides are arbitrary along axes of size 1 and in empty arrays.
    for shape in ((1, 5, 1), (3, 0, 2), (1, 1), (2, 3)):
        x = random_array("f4", shape, rng)
        assert trundle.ascontiguousarray(x.T).strides == np.empty(shape[::-1], "f4").strides


BROADCASTS = [
    ((), (3, 4)),
    ((1,), (3, 4)),
    ((4,), (3, 4)),
    ((3, 1), (3, 4)),
    ((1, 4), (3, 4)),
    ((1, 1, 1, 4), (3, 4)),
    ((3, 4), (3, 4)),
    ((5, 1, 7), (2, 5, 6, 7)),
    ((1,), (0,)),
    ((3, 0), (2, 3, 0)),
    ((), ()),
    ((1, 1), ()),
]


@pytest.mark.parametrize(("src_shape", "dst_shape"), BROADCASTS)
def test_src_broadcasts(src_shape, dst_shape, rng):
    for dtype in ("u1", "f4", "c16", "S5", "V3"):
        src = random_array(dtype, src_shape, rng)
        dst, expected = (np.zeros(dst_shape, dtype) for _ in range(2))
        trundle.copyto(dst, src)
        np.copyto(expected, src)
        assert_same_bits(dst, expected)


@pytest.mark.parametrize(
    ("src_shape", "dst_shape"),
    [
        ((3, 4), (3, 5)),
        ((3, 4), (4, 3)),
        ((2, 3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((2,), ()),
        ((3,), (0,)),
        ((0,), (3,)),
    ],
)
def test_src_that_does_not_broadcast_is_refused(src_shape, dst_shape):
    dst = np.zeros(dst_shape)
    with pytest.raises(ValueError):
        np.copyto(dst, np.ones(src_shape))
    with pytest.raises(ValueError, match="src"):
        trundle.copyto(dst, np.ones(src_shape))
    assert not dst.any()


@pytest.mark.parametrize(
    "view", ["fortran", "transposed", "negative", "stepped", "packed field", "unaligned"]
)
def test_dst_of_any_strides(view, dtype, rng):
    dst = VIEWS[view](dtype, rng)
    src = random_array(dtype, dst.shape, rng)
    trundle.copyto(dst, src)
    assert_same_bits(dst, src)
    src = random_array(dtype, (dst.shape[0], 1, dst.shape[2]), rng)
    trundle.copyto(dst, src)
    assert_same_bits(dst, moved(src, lambda p: np.broadcast_to(p, dst.shape)))


def test_bytes_between_the_elements_of_dst_are_kept(rng):
    whole = random_array("u1", (20, 30), rng)
    expected = whole.copy()
    src = random_array("u1", (10, 10), rng)
    trundle.copyto(whole[::2, 1::3], src)
    expected[::2, 1::3] = src
    assert_same_bits(whole, expected)


def test_src_may_overlap_dst(rng):
    for write, read in [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[:], np.s_[::-1]),
        (np.s_[::2], np.s_[:500]),
        (np.s_[100:900], np.s_[:1]),
    ]:
        x = random_array("u4", (1000,), rng)
        expected = x.copy()
        expected[write] = x.copy()[read]
        trundle.copyto(x[write], x[read])
        assert_same_bits(x, expected)
    square = random_array("u4", (70, 70), rng)
    expected = square.T.copy()
    trundle.copyto(square, square.T)
    assert_same_bits(square, expected)


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i4", "V4", "c8"])
def test_copyto_does_not_cast(dtype):
    dst = np.zeros((2, 3), "f4")
    with pytest.raises(TypeError, match="dst|src"):
        trundle.copyto(dst, np.ones((2, 3), dtype))
    assert not dst.any()


def test_a_list_has_numpys_dtype_and_is_not_cast():
    dst = np.zeros((2, 3))
    trundle.copyto(dst, [1.0, 2.0, 3.0])
    assert_same_bits(dst, np.array([[1.0, 2, 3], [1, 2, 3]]))
    trundle.copyto(dst, 5.0)
    assert (dst == 5).all()
    with pytest.raises(TypeError, match="dst|src"):
        trundle.copyto(dst, [1, 2, 3])


def test_dst_that_cannot_be_written_is_refused():
    frozen = np.zeros((2, 3))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="dst"):
        trundle.copyto(frozen, np.ones((2, 3)))
    assert not frozen.any()
    row = np.zeros(3)
    for strides in ((0, 8), (4, 8), (8, 8)):
        dst = np.lib.stride_tricks.as_strided(row, (2, 2), strides)
        with pytest.raises(ValueError, match="dst|write some byte twice"):
            trundle.copyto(dst, np.ones((2, 2)))
    assert not row.any()
    for dst in ([0.0, 0.0], 1.0, None):
        with pytest.raises(TypeError, match="dst|write some byte twice"):
            trundle.copyto(dst, np.ones(2))
