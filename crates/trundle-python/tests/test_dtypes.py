"""All functions, dtypes and views, bit by bit."""

import numpy as np
import pytest
import trundle

from arrays import (
    DTYPES,
    VIEWS,
    assert_new,
    assert_same_bits,
    bytes_of,
    moved,
    random_array,
    reversed_subsequences,
)
from test_paddings import padded


def lengths_for(p):
    """Lengths for axis 1 of an array of rank 3, from 0 to more than its size."""
    rows = np.arange(p.shape[0] * p.shape[2], dtype="u4") * 7
    return (rows % (p.shape[1] + 2)).reshape(p.shape[0], 1, p.shape[2])


def batch_lengths_for(p):
    return np.arange(p.shape[0]) * 5 % (p.shape[1] + 1)


def spread_batch_lengths(p):
    batch = batch_lengths_for(p).reshape(-1, 1, 1)
    return np.broadcast_to(batch, (p.shape[0], 1, p.shape[2]))


def indices_for(p):
    """Indices for axis 1 of an array of rank 3, some of them negative."""
    size = p.shape[1]
    indices = np.arange(p.shape[0] * 3 * p.shape[2]).reshape(p.shape[0], 3, p.shape[2]) * 7
    return indices % (2 * size) - size if size else indices[:, :0]


# Calls of trundle, and the numpy equivalents.
CALLS = {
    "roll flat": (lambda x: trundle.roll(x, 7), lambda p: np.roll(p, 7)),
    "roll one axis": (lambda x: trundle.roll(x, -2, axis=1), lambda p: np.roll(p, -2, 1)),
    "roll last axis": (lambda x: trundle.roll(x, 3, axis=-1), lambda p: np.roll(p, 3, -1)),
    "roll axes": (
        lambda x: trundle.roll(x, (1, 2, -3), axis=(0, 1, 2)),
        lambda p: np.roll(p, (1, 2, -3), (0, 1, 2)),
    ),
    "permute_dims": (lambda x: trundle.permute_dims(x, (0, 2, 1)), lambda p: p.transpose(0, 2, 1)),
    "transpose": (lambda x: trundle.transpose(x, (1, 0, 2)), lambda p: p.transpose(1, 0, 2)),
    "transpose inverted": (trundle.transpose, lambda p: p.T),
    "rot90": (trundle.rot90, np.rot90),
    "flip": (trundle.flip, np.flip),
    "flip one axis": (lambda x: trundle.flip(x, axis=1), lambda p: np.flip(p, 1)),
    "flip last axis": (lambda x: trundle.flip(x, axis=-1), lambda p: np.flip(p, -1)),
    "reverse_subsequences": (
        lambda x: trundle.reverse_subsequences(x, lengths_for(x), axis=1),
        lambda p: reversed_subsequences(p, lengths_for(p), 1),
    ),
    "reverse_sequence": (
        lambda x: trundle.reverse_sequence(x, batch_lengths_for(x), axis=1, batch_axis=0),
        lambda p: reversed_subsequences(p, spread_batch_lengths(p), 1),
    ),
    "take": (
        lambda x: trundle.take(x, [[4, 0], [-1, 7]], axis=0, mode="wrap"),
        lambda p: np.take(p, [[4, 0], [-1, 7]], axis=0, mode="wrap"),
    ),
    "take flat": (
        lambda x: trundle.take(x, range(-x.size, x.size, 2)),
        lambda p: np.take(p, range(-p.size, p.size, 2)) if p.size else p.reshape(0),
    ),
    "take_along_axis": (
        lambda x: trundle.take_along_axis(x, indices_for(x), axis=1),
        lambda p: np.take_along_axis(p, indices_for(p), 1),
    ),
    "repeat": (lambda x: trundle.repeat(x, 3), lambda p: p.repeat(3)),
    "repeat each": (
        lambda x: trundle.repeat(x, range(x.shape[1]), axis=1),
        lambda p: p.repeat(np.arange(p.shape[1]), 1),
    ),
    "tile": (
        lambda x: trundle.tile(x, (2, 1, 2)),
        lambda p: np.tile(p, (2, 1, 2)),
    ),
    "broadcast_to": (
        lambda x: trundle.broadcast_to(x, (2, *x.shape)),
        lambda p: np.broadcast_to(p, (2, *p.shape)),
    ),
    "sliding_window_view": (
        lambda x: trundle.sliding_window_view(x, min(2, x.shape[1]), axis=1),
        lambda p: np.lib.stride_tricks.sliding_window_view(p, min(2, p.shape[1]), axis=1),
    ),
    "pad": (
        lambda x: trundle.pad(x, ((1, 2), (0, 0), (3, 0)), mode="symmetric"),
        lambda p: padded(p, ((1, 2), (0, 0), (3, 0)), "symmetric"),
    ),
    "ascontiguousarray": (trundle.ascontiguousarray, np.copy),
    "moveaxis": (lambda x: trundle.moveaxis(x, 0, -1), lambda p: np.moveaxis(p, 0, -1)),
    "swapaxes": (lambda x: trundle.swapaxes(x, 0, 2), lambda p: np.swapaxes(p, 0, 2)),
    "fftshift": (trundle.fftshift, np.fft.fftshift),
    "ifftshift": (trundle.ifftshift, np.fft.ifftshift),
    "rearrange": (
        lambda x: trundle.rearrange(x, "a b c -> c (b a)"),
        lambda p: p.transpose(2, 1, 0).reshape(p.shape[2], -1) if p.size else p.reshape(5, 0),
    ),
    "chain": (
        trundle.chain("flip(axes=[1]) | a b c -> b c a"),
        lambda p: np.flip(p, 1).transpose(1, 2, 0),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_view(name, dtype, rng):
    call, move = CALLS[name]
    for view, make in VIEWS.items():
        x = make(dtype, rng)
        before = bytes_of(x).tobytes()
        assert_new(call(x), x, moved(x, move), view)
        assert bytes_of(x).tobytes() == before, view


@pytest.mark.parametrize("view", VIEWS)
def test_copyto_from_every_view(view, dtype, rng):
    x = VIEWS[view](dtype, rng)
    dst = random_array(dtype, x.shape, rng)
    assert trundle.copyto(dst, x) is None
    assert_same_bits(dst, moved(x, np.copy))


RANKS = {
    "roll flat": (lambda x: trundle.roll(x, 5), lambda p: np.roll(p, 5)),
    "transpose": (trundle.transpose, lambda p: p.T),
    "flip": (trundle.flip, np.flip),
    "ascontiguousarray": (trundle.ascontiguousarray, np.atleast_1d),
    "chain of none": (trundle.chain(), lambda p: p),
    "rearrange": (lambda x: trundle.rearrange(x, "... -> ..."), lambda p: p),
}


@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (9,), (2, 3), (2, 1, 3, 2, 1, 2, 2), (1,) * 20, (2,) * 12]
)
def test_every_rank(name, shape, rng):
    call, move = RANKS[name]
    for dtype in ("u1", "f4", "c16", "S5"):
        x = random_array(dtype, shape, rng)
        assert_new(call(x), x, moved(x, move), dtype)


def test_elements_without_bytes():
    x = np.zeros((2, 3), np.dtype([]))
    for result in (trundle.roll(x, 1, axis=0), trundle.flip(x), trundle.ascontiguousarray(x)):
        assert (result.shape, result.dtype) == (x.shape, x.dtype)
    assert trundle.transpose(x).shape == (3, 2)


@pytest.mark.parametrize("dtype", ["S0", "U0"])
def test_zero_width_strings_become_empty_strings(dtype):
    x = np.zeros((70, 90), [("text", dtype), ("number", "i4")])["text"]
    assert x.itemsize == 0
    for call in (trundle.transpose, trundle.ascontiguousarray, lambda x: trundle.roll(x, 1)):
        # The result may reuse this memory.
        used = np.full(x.size * np.copy(x).itemsize, 255, "u1")
        del used
        result = call(x)
        assert result.dtype == np.copy(x).dtype
        assert not any(result.tobytes())


def test_metadata_and_titles_of_dtypes_are_kept(rng):
    plain = np.dtype("f4", metadata={"unit": "m"})
    titled = np.dtype([(("a title", "a"), "f4"), ("b", "u1")])
    for dtype in (plain, titled):
        x = random_array(dtype, (4, 5), rng)
        for call in (
            lambda x: trundle.roll(x, 1),
            trundle.transpose,
            trundle.flip,
            trundle.fftshift,
        ):
            result = call(x)
            assert result.dtype == dtype
            assert result.dtype.metadata == dtype.metadata
            assert result.dtype.fields == dtype.fields


def test_elements_of_any_size(rng):
    for itemsize in [*range(1, 40), 63, 64, 65, 100, 128, 255, 1000]:
        x = random_array(f"V{itemsize}", (9, 11), rng)
        assert_new(trundle.transpose(x), x, moved(x, np.transpose), itemsize)
        assert_new(trundle.flip(x), x, moved(x, np.flip), itemsize)
        assert_new(trundle.roll(x, 3, axis=1), x, moved(x, lambda p: np.roll(p, 3, 1)), itemsize)


def test_views_have_the_properties_in_their_names(rng):
    """Checks that the views have the properties in their names, for a dtype that can be unaligned."""
    made = {name: make(np.dtype("f8"), rng) for name, make in VIEWS.items()}
    assert not made["unaligned"].flags.aligned and not made["packed field"].flags.aligned
    assert made["packed field"].strides[2] % 8 == 3
    assert min(made["negative"].strides) < 0 and 0 in made["broadcast"].strides
    assert not made["read-only"].flags.writeable and made["fortran"].flags.f_contiguous
    assert len(DTYPES) >= 30
