"""Destinations and numbers of threads."""

import numpy as np
import pytest
import trundle

from arrays import (
    VIEWS,
    assert_new,
    assert_same_bits,
    bytes_of,
    moved,
    random_array,
    reversed_subsequences,
)
from test_dtypes import indices_for
from test_paddings import padded

LENGTHS = np.arange(15, dtype="u4").reshape(3, 1, 5) % 6

# Each function that has out, for shape (3, 4, 5), and the numpy equivalent.
CALLS = {
    "roll": (lambda x, **rest: trundle.roll(x, 3, **rest), lambda p: np.roll(p, 3)),
    "roll axes": (
        lambda x, **rest: trundle.roll(x, (1, -2), axis=(0, 2), **rest),
        lambda p: np.roll(p, (1, -2), (0, 2)),
    ),
    "permute_dims": (
        lambda x, **rest: trundle.permute_dims(x, (2, 0, 1), **rest),
        lambda p: p.transpose(2, 0, 1),
    ),
    "transpose": (trundle.transpose, lambda p: p.T),
    "flip": (lambda x, **rest: trundle.flip(x, axis=(0, 2), **rest), lambda p: np.flip(p, (0, 2))),
    "reverse_subsequences": (
        lambda x, **rest: trundle.reverse_subsequences(x, LENGTHS, axis=1, **rest),
        lambda p: reversed_subsequences(p, LENGTHS, 1),
    ),
    "reverse_sequence": (
        lambda x, **rest: trundle.reverse_sequence(x, [4, 0, 3], axis=1, batch_axis=0, **rest),
        lambda p: reversed_subsequences(p, np.array([4, 0, 3]).reshape(3, 1, 1).repeat(5, 2), 1),
    ),
    "ascontiguousarray": (trundle.ascontiguousarray, np.copy),
    "moveaxis": (
        lambda x, **rest: trundle.moveaxis(x, 0, 2, **rest),
        lambda p: np.moveaxis(p, 0, 2),
    ),
    "swapaxes": (
        lambda x, **rest: trundle.swapaxes(x, 0, 1, **rest),
        lambda p: np.swapaxes(p, 0, 1),
    ),
    "rot90": (
        lambda x, **rest: trundle.rot90(x, -1, (1, 2), **rest),
        lambda p: np.rot90(p, -1, (1, 2)),
    ),
    "take": (
        lambda x, **rest: trundle.take(x, [[4, 0], [-1, 7]], axis=0, mode="wrap", **rest),
        lambda p: np.take(p, [[4, 0], [-1, 7]], axis=0, mode="wrap"),
    ),
    "take flat": (
        lambda x, **rest: trundle.take(x, range(-x.size, x.size, 2), **rest),
        lambda p: np.take(p, range(-p.size, p.size, 2)) if p.size else p.reshape(0),
    ),
    "take_along_axis": (
        lambda x, **rest: trundle.take_along_axis(x, indices_for(x), axis=1, **rest),
        lambda p: np.take_along_axis(p, indices_for(p), 1),
    ),
    "repeat": (lambda x, **rest: trundle.repeat(x, 3, **rest), lambda p: p.repeat(3)),
    "repeat each": (
        lambda x, **rest: trundle.repeat(x, range(x.shape[1]), axis=1, **rest),
        lambda p: p.repeat(np.arange(p.shape[1]), 1),
    ),
    "tile": (
        lambda x, **rest: trundle.tile(x, (2, 1, 2), **rest),
        lambda p: np.tile(p, (2, 1, 2)),
    ),
    "broadcast_to": (
        lambda x, **rest: trundle.broadcast_to(x, (2, *x.shape), **rest),
        lambda p: np.broadcast_to(p, (2, *p.shape)),
    ),
    "sliding_window_view": (
        lambda x, **rest: trundle.sliding_window_view(x, min(2, x.shape[1]), axis=1, **rest),
        lambda p: np.lib.stride_tricks.sliding_window_view(p, min(2, p.shape[1]), axis=1),
    ),
    "pad": (
        lambda x, **rest: trundle.pad(x, ((1, 2), (0, 0), (3, 0)), mode="symmetric", **rest),
        lambda p: padded(p, ((1, 2), (0, 0), (3, 0)), "symmetric"),
    ),
    "fftshift": (trundle.fftshift, np.fft.fftshift),
    "ifftshift": (trundle.ifftshift, np.fft.ifftshift),
    "chain": (
        trundle.chain("a b c -> c (a b)", "roll(shift=1, axes=0)"),
        lambda p: np.roll(p.transpose(2, 0, 1).reshape(5, 12), 1, 0),
    ),
    "chain of several passes": (
        trundle.chain(
            "a b c -> (a b) c", "roll(1, 0)", "reshape(6, 10)", "roll(1, 0)", "tile(2, 1)"
        ),
        lambda p: np.tile(np.roll(np.roll(p.reshape(12, 5), 1, 0).reshape(6, 10), 1, 0), (2, 1)),
    ),
}


@pytest.fixture(params=CALLS)
def call_and_move(request):
    return CALLS[request.param]


def out_views(shape, dtype, rng):
    """All kinds of strides, filled with bytes to overwrite."""
    rank = len(shape)
    wide = tuple(2 * size for size in shape)
    record = np.dtype([("before", "u1"), ("x", dtype), ("after", "u2")])
    yield random_array(dtype, shape, rng)
    yield random_array(dtype, shape[::-1], rng).T
    yield random_array(dtype, shape, rng)[(np.s_[::-1],) * rank]
    yield random_array(dtype, wide, rng)[(np.s_[::2],) * rank]
    yield random_array(dtype, wide, rng)[(np.s_[::-2],) * rank]
    yield random_array(record, shape, rng)["x"]
    yield random_array(dtype, (*shape[1:], shape[0]), rng).transpose(rank - 1, *range(rank - 1))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c16", "V3", ">u4"])
def test_out_of_any_strides(call_and_move, dtype, rng):
    call, move = call_and_move
    for view in ("contiguous", "fortran", "negative", "broadcast", "unaligned"):
        x = VIEWS[view](np.dtype(dtype), rng)
        expected = moved(x, move)
        for out in out_views(expected.shape, np.dtype(dtype), rng):
            assert call(x, out=out) is out
            assert_same_bits(out, expected, (view, out.strides))


def test_only_the_elements_of_out_are_written(call_and_move, rng):
    call, move = call_and_move
    x = random_array("u2", (3, 4, 5), rng)
    expected = moved(x, move)
    margins = tuple(2 * size + 2 for size in expected.shape)
    within = (np.s_[1:-1:2],) * expected.ndim
    whole = random_array("u2", margins, rng)
    whole_expected = whole.copy()
    whole_expected[within] = expected
    call(x, out=whole[within])
    assert_same_bits(whole, whole_expected)


def test_out_that_does_not_fit_is_refused(call_and_move, rng):
    call, move = call_and_move
    x = random_array("f4", (3, 4, 5), rng)
    shape = moved(x, move).shape
    read_only = np.zeros(shape, "f4")
    read_only.flags.writeable = False
    row = np.zeros(1000, "f4")
    same_row = np.lib.stride_tricks.as_strided(row, shape, (0,) * len(shape))
    step = (4,) * len(shape) if len(shape) > 1 else (2,)
    refused = [
        (ValueError, np.zeros((*shape, 1), "f4")),
        (ValueError, np.zeros(shape[:-1], "f4")),
        (ValueError, np.zeros((shape[0] + 1, *shape[1:]), "f4")),
        (ValueError, np.zeros((1, *shape), "f4")),
        (ValueError, read_only),
        (ValueError, same_row),
        (ValueError, np.lib.stride_tricks.as_strided(row, shape, step)),
        # Each element overlaps the previous one.
        (ValueError, np.lib.stride_tricks.as_strided(row, shape, (120, 60, 20, 2)[-len(shape) :])),
        (TypeError, np.zeros(shape, "f8")),
        (TypeError, np.zeros(shape, "i4")),
        (TypeError, np.zeros(shape, ">f4")),
        (TypeError, np.zeros(shape, object)),
        (TypeError, np.ma.zeros(shape, "f4")),
        (TypeError, np.zeros(shape, "f4").tolist()),
        (TypeError, 0),
        (TypeError, (np.zeros(shape, "f4"),)),
    ]
    for error, out in refused:
        with pytest.raises(error, match="out"):
            call(x, out=out)
        assert not np.asarray(out).any(), out
    assert not row.any()


def test_out_with_strides_of_0_along_sizes_of_1(rng):
    x = random_array("f4", (1, 6), rng)
    out = np.lib.stride_tricks.as_strided(np.zeros(6, "f4"), (1, 6), (0, 4))
    assert trundle.flip(x, out=out) is out
    assert_same_bits(out, x[:, ::-1])
    empty = np.lib.stride_tricks.as_strided(np.zeros(6, "f4"), (0, 6), (0, 0))
    assert trundle.flip(x[:0], out=empty) is empty


def test_out_whose_elements_are_interleaved_without_overlap(rng):
    x = random_array("u2", (3, 4), rng)
    # The rows interleave, at bytes 0, 4, 8, 12 and at 6, 10, 14, 18.
    memory = np.zeros(10, "u2")
    out = np.lib.stride_tricks.as_strided(memory, (2, 4), (6, 4))
    assert trundle.flip(x[:2], out=out) is out
    assert_same_bits(out, x[1::-1, ::-1])


# The source and the destination are views of the same square.
SQUARE_VIEWS = {
    "itself": np.s_[:60, :60],
    "reversed": np.s_[59::-1, 59::-1],
    "rows reversed": np.s_[59::-1, :60],
    "one row on": np.s_[1:61, :60],
    "one column on": np.s_[:60, 1:61],
    "half on": np.s_[30:90, 30:90],
    "elsewhere": np.s_[60:, 60:],
    "stepped": np.s_[::2, ::2],
    "stepped back": np.s_[::-2, ::-2],
    "between": np.s_[1::2, 1::2],
}

SQUARE_INDICES = np.arange(3600).reshape(60, 60) * 7 % 60

SQUARE_CALLS = {
    "roll flat": (lambda x, **rest: trundle.roll(x, 1, **rest), lambda p: np.roll(p, 1)),
    "roll flat back": (lambda x, **rest: trundle.roll(x, -61, **rest), lambda p: np.roll(p, -61)),
    "roll": (
        lambda x, **rest: trundle.roll(x, (1, -7), axis=(0, 1), **rest),
        lambda p: np.roll(p, (1, -7), (0, 1)),
    ),
    "flip": (trundle.flip, np.flip),
    "flip rows": (lambda x, **rest: trundle.flip(x, axis=0, **rest), lambda p: np.flip(p, 0)),
    "transpose": (trundle.transpose, lambda p: p.T),
    "reverse": (
        lambda x, **rest: trundle.reverse_sequence(x, range(60), axis=1, batch_axis=0, **rest),
        lambda p: reversed_subsequences(p, np.arange(60).reshape(60, 1), 1),
    ),
    "take": (
        lambda x, **rest: trundle.take(x, range(58, -62, -2), axis=0, **rest),
        lambda p: p.take(range(58, -62, -2), 0),
    ),
    "take_along_axis": (
        lambda x, **rest: trundle.take_along_axis(x, SQUARE_INDICES, axis=1, **rest),
        lambda p: np.take_along_axis(p, SQUARE_INDICES, 1),
    ),
    "ascontiguousarray": (trundle.ascontiguousarray, np.copy),
    "chain": (
        trundle.chain("roll(1, 0) | reshape(40, 90) | roll(1, 0) | reshape(60, 60)"),
        lambda p: np.roll(np.roll(p, 1, 0).reshape(40, 90), 1, 0).reshape(60, 60),
    ),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("written", SQUARE_VIEWS)
@pytest.mark.parametrize("name", SQUARE_CALLS)
def test_out_may_overlap_x(name, written, transposed, rng):
    call, move = SQUARE_CALLS[name]
    for dtype in ("u1", "f4", "V3"):
        for read in SQUARE_VIEWS.values():
            memory = random_array(dtype, (120, 120), rng)
            x, out = memory[read], memory[SQUARE_VIEWS[written]]
            out = out.T if transposed else out
            expected = moved(x, move)
            outside = np.ones((120, 120), bool)
            outside[SQUARE_VIEWS[written]] = False
            kept = bytes_of(memory)[outside]
            assert call(x, out=out) is out
            assert_same_bits(out, expected, read)
            assert (bytes_of(memory)[outside] == kept).all()


@pytest.mark.parametrize("shape", [(1000,), (3, 0), (), (1,), (7, 11, 13)])
def test_in_place(shape, rng):
    for call, move in [
        (lambda x, **rest: trundle.roll(x, 1, **rest), lambda p: np.roll(p, 1)),
        (trundle.flip, np.flip),
    ]:
        x = random_array("i4", shape, rng)
        expected = moved(x, move)
        assert call(x, out=x) is x
        assert_same_bits(x, expected)


def test_large_overlap(rng):
    x = random_array("u4", (1500, 1500), rng)
    expected = x.T.copy()
    trundle.transpose(x, out=x)
    assert_same_bits(x, expected)
    flat = x.reshape(-1)
    expected = np.concatenate([flat[:1], np.roll(flat[:-1], 5)])
    trundle.roll(flat[:-1], 5, out=flat[1:])
    assert_same_bits(flat, expected)


def test_out_may_overlap_the_lengths():
    x = np.arange(1, 13, dtype="i8").reshape(3, 4)
    out = np.zeros((3, 4), "i8")
    out[:, 2] = (2, 3, 4)
    expected = reversed_subsequences(x, out[:, 2:3].copy(), 1)
    trundle.reverse_subsequences(x, out[:, 2:3], axis=1, out=out)
    assert_same_bits(out, expected)


def test_out_for_lists():
    out = np.zeros(3)
    assert trundle.flip([1.0, 2.0, 3.0], out=out) is out
    assert out.tolist() == [3, 2, 1]
    with pytest.raises(TypeError, match="out"):
        trundle.flip([1, 2, 3], out=out)
    assert out.tolist() == [3, 2, 1]


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 64, np.int8(2), True, 2**64 - 1, 2**70])
def test_threads(call_and_move, threads, rng):
    call, move = call_and_move
    x = random_array("f4", (3, 4, 5), rng)
    assert_new(call(x, threads=threads), x, moved(x, move))


@pytest.mark.parametrize("threads", [0, -1, np.int64(0), -(2**70)])
def test_fewer_than_one_thread_is_refused(call_and_move, threads):
    call, move = call_and_move
    x = np.ones((3, 4, 5), "f4")
    out = np.zeros_like(moved(x, move))
    with pytest.raises(ValueError, match="threads"):
        call(x, out=out, threads=threads)
    assert not out.any()


@pytest.mark.parametrize("threads", ["a", "2", 1.5, 2.0, (2,), [1, 2]], ids=repr)
def test_threads_that_are_not_integers_are_refused(call_and_move, threads):
    call, _ = call_and_move
    with pytest.raises((TypeError, ValueError), match="threads"):
        call(np.ones((3, 4, 5), "f4"), threads=threads)


def test_threads_of_copyto_and_rearrange():
    dst = np.zeros((3, 4))
    trundle.copyto(dst, 1.0, threads=2)
    assert dst.all()
    with pytest.raises(ValueError, match="threads"):
        trundle.copyto(dst, 0.0, threads=0)
    assert dst.all()
    # Here it is the name of an axis.
    x = np.arange(6)
    result = trundle.rearrange(x, "(threads out) -> out threads", threads=2)
    assert_new(result, x, x.reshape(2, 3).T)
