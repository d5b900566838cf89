"""Random arrays, views, functions and arguments, compared with numpy."""

import numpy as np
import pytest
import trundle

from arrays import DTYPES, assert_new, assert_same_bits, moved, random_array, reversed_subsequences

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

many = settings(
    max_examples=250, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)

INTS = st.one_of(st.integers(-9, 9), st.integers(-(2**70), 2**70))


@st.composite
def views(draw, max_rank=5):
    """An array of any dtype: sliced, with permuted axes, reversed, broadcast, unaligned."""
    dtype = draw(st.sampled_from(DTYPES))
    rank = draw(st.integers(0, max_rank))
    # Sometimes an axis as large as tiles, with fewer other axes.
    sizes = st.one_of(
        st.integers(0, 6), st.sampled_from([1, 17, 33, 70]) if rank < 3 else st.integers(1, 3)
    )
    shape = draw(st.lists(sizes, min_size=rank, max_size=rank))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = random_array(dtype, shape, rng)
    if draw(st.booleans()):
        record = np.dtype(
            [("before", f"V{draw(st.integers(0, 3))}"), ("x", dtype), ("after", "u1")]
        )
        whole = random_array(f"V{record.itemsize}", shape, rng)
        if dtype == np.bool_:
            whole = random_array("?", (*shape, record.itemsize), rng)
        x = np.ndarray(shape, record, whole)["x"]
    steps = st.sampled_from([1, 1, 1, 2, 3, -1, -2])
    # "..." keeps an array of rank 0.
    x = x[(..., *(slice(None, None, draw(steps)) for _ in range(rank)))]
    x = x.transpose(draw(st.permutations(range(rank))))
    if draw(st.integers(0, 3)) == 0:
        shape = [draw(st.sampled_from([1, 2, 5])) if size == 1 else size for size in x.shape]
        x = np.broadcast_to(x, [draw(st.integers(1, 3)), *shape])
    return x


def axes_of(rank):
    """Draws distinct axes, positive or negative."""
    return st.permutations(range(rank)).flatmap(
        lambda order: st.tuples(
            st.integers(0, rank),
            st.lists(st.booleans(), min_size=rank, max_size=rank),
        ).map(
            lambda drawn: tuple(
                axis - rank * below for axis, below in zip(order[: drawn[0]], drawn[1])
            )
        )
    )


def roll_by_python(p, shifts, axes):
    for shift, axis in zip(shifts, axes):
        p = np.roll(p, shift % max(p.shape[axis], 1), axis)
    return p


def rolls(draw, x):
    if x.ndim == 0 or draw(st.booleans()):
        shift = draw(INTS)
        return (
            lambda **rest: trundle.roll(x, shift, **rest),
            lambda p: np.roll(p, shift % max(p.size, 1)),
        )
    axes = draw(st.lists(st.integers(-x.ndim, x.ndim - 1), max_size=4))
    shifts = [draw(INTS) for _ in axes]
    return lambda **rest: trundle.roll(x, shifts, axis=axes, **rest), lambda p: roll_by_python(
        p, shifts, axes
    )


def permutations(draw, x):
    axes = draw(st.permutations(range(x.ndim)))
    negative = [axis - x.ndim * draw(st.booleans()) for axis in axes]
    return lambda **rest: trundle.permute_dims(x, negative, **rest), lambda p: p.transpose(axes)


def transposes(draw, x):
    order = draw(st.one_of(st.just(()), st.permutations(range(x.ndim))))
    return lambda **rest: trundle.transpose(
        x, order, **rest
    ), lambda p: p.transpose(order) if order else p.T


def flips(draw, x):
    axis = draw(st.one_of(st.none(), axes_of(x.ndim)))
    return lambda **rest: trundle.flip(x, axis=axis, **rest), lambda p: np.flip(p, axis)


def moves_of_axes(draw, x):
    source = draw(axes_of(x.ndim))
    destination = draw(axes_of(x.ndim).map(lambda axes: axes[: len(source)]))
    source = source[: len(destination)]
    return (
        lambda **rest: trundle.moveaxis(x, source, destination, **rest),
        lambda p: np.moveaxis(p, source, destination),
    )


def swaps(draw, x):
    if x.ndim == 0:
        return copies(draw, x)
    one, other = (draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2))
    return lambda **rest: trundle.swapaxes(x, one, other, **rest), lambda p: np.swapaxes(
        p, one, other
    )


def turns(draw, x):
    if x.ndim < 2:
        return copies(draw, x)
    axes = draw(st.permutations(range(x.ndim)))[:2]
    axes = [axis - x.ndim * draw(st.booleans()) for axis in axes]
    k = draw(st.one_of(st.integers(-5, 5), st.integers(-(2**70), 2**70)))
    return lambda **rest: trundle.rot90(x, k, axes, **rest), lambda p: np.rot90(p, k, axes)


def shifts_of_spectra(draw, x):
    if x.ndim == 0:
        return copies(draw, x)
    name = draw(st.sampled_from(["fftshift", "ifftshift"]))
    axes = draw(st.one_of(st.none(), axes_of(x.ndim)))
    return lambda **rest: getattr(trundle, name)(x, axes, **rest), lambda p: getattr(np.fft, name)(
        p, axes
    )


def copies(_, x):
    return lambda **rest: trundle.ascontiguousarray(x, **rest), np.atleast_1d


def reversals(draw, x):
    if x.ndim == 0:
        return copies(draw, x)
    axis = draw(st.integers(0, x.ndim - 1))
    shape = [*x.shape[:axis], 1, *x.shape[axis + 1 :]]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = draw(st.sampled_from([1, x.shape[axis] + 1, 2 * x.shape[axis] + 3, 2**62]))
    lengths = rng.integers(0, top, shape).astype(draw(st.sampled_from(["i8", "u8", ">i8"])))
    given = axis - x.ndim * draw(st.booleans())
    return (
        lambda **rest: trundle.reverse_subsequences(x, lengths, axis=given, **rest),
        lambda p: reversed_subsequences(p, lengths, axis),
    )


def chains(draw, x):
    if x.ndim == 0:
        return copies(draw, x)
    axes = draw(st.permutations(range(x.ndim)))
    shift, along = draw(st.integers(-(2**63), 2**63 - 1)), draw(st.integers(0, x.ndim - 1))
    turned = draw(st.integers(-x.ndim, x.ndim - 1))
    chain = trundle.chain(
        f"transpose({', '.join(map(str, axes))})", f"roll({shift}, {along})", f"flip({turned})"
    )
    return (
        lambda **rest: chain(x, **rest),
        lambda p: np.flip(roll_by_python(p.transpose(axes), [shift], [along]), turned),
    )


FUNCTIONS = [
    rolls,
    permutations,
    transposes,
    flips,
    moves_of_axes,
    swaps,
    turns,
    shifts_of_spectra,
    copies,
    reversals,
    chains,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@given(data=st.data())
@many
def test_random_calls_equal_numpy(function, data):
    x = data.draw(views())
    call, move = function(data.draw, x)
    threads = data.draw(st.sampled_from([None, 1, 2]))
    assert_new(call(threads=threads), x, moved(x, move))


@given(data=st.data())
@many
def test_out_equals_the_result(data):
    x = data.draw(views(max_rank=3))
    call, move = data.draw(st.sampled_from(FUNCTIONS))(data.draw, x)
    expected = moved(x, move)
    order = data.draw(st.permutations(range(expected.ndim)))
    steps = [data.draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in order]
    whole = [expected.shape[axis] * abs(step) for axis, step in zip(order, steps)]
    out = np.zeros(whole, expected.dtype)
    out = out[(..., *(slice(None, None, step) for step in steps))].transpose(np.argsort(order))
    assert out.shape == expected.shape
    assert call(out=out) is out
    assert_same_bits(out, expected)


@given(data=st.data())
@many
def test_out_may_overlap_x(data):
    size = data.draw(st.integers(1, 12))
    rank = data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from(["u1", "u2", "f8", "V3"]))
    memory = random_array(dtype, (2 * size,) * rank, rng)

    def part():
        starts = [data.draw(st.integers(0, size)) for _ in range(rank)]
        cut = memory[tuple(slice(start, start + size) for start in starts)]
        turned = tuple(slice(None, None, data.draw(st.sampled_from([1, -1]))) for _ in range(rank))
        return cut[turned].transpose(data.draw(st.permutations(range(rank))))

    x, out = part(), part()
    call, move = data.draw(st.sampled_from(FUNCTIONS))(data.draw, x)
    expected = moved(x, move)
    call(out=out)
    assert_same_bits(out, expected)


@given(data=st.data())
@many
def test_copyto_broadcasts_like_numpy(data):
    src = data.draw(views(max_rank=3))
    extra = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shape = [*extra, *(data.draw(st.integers(0, 4)) if size == 1 else size for size in src.shape)]
    dst = random_array(src.dtype, shape[::-1], np.random.default_rng(0)).T
    trundle.copyto(dst, src)
    assert_same_bits(dst, moved(src, lambda p: np.broadcast_to(p, shape)))


@given(data=st.data())
@many
def test_lengths_of_a_batch(data):
    x = data.draw(views(max_rank=4))
    if x.ndim < 2:
        return
    axis, batch_axis = data.draw(st.permutations(range(x.ndim)))[:2]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    lengths = rng.integers(0, x.shape[axis] + 1, x.shape[batch_axis])
    along = [1] * x.ndim
    along[batch_axis] = -1
    shape = [*x.shape[:axis], 1, *x.shape[axis + 1 :]]
    spread = np.broadcast_to(lengths.reshape(along), shape)
    result = trundle.reverse_sequence(x, lengths, axis=axis - x.ndim, batch_axis=batch_axis)
    assert_new(result, x, moved(x, lambda p: reversed_subsequences(p, spread, axis)))


@given(
    text=st.one_of(
        st.text(max_size=30),
        st.lists(
            st.sampled_from(
                "flip roll reshape tile ( ) [ ] = , | -> a b 1 0 -1 ... axes shift".split()
            )
        ).map(" ".join),
    )
)
@many
def test_any_text_is_a_chain_or_a_value_error(text):
    try:
        chain = trundle.chain(text)
    except ValueError:
        return
    assert eval(repr(chain)) == chain
    try:
        chain(np.zeros((2, 3)))
    except (ValueError, MemoryError):
        pass
