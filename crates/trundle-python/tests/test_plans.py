"""Successive calls never use the cached plan of another call."""

import itertools

import numpy as np
import pytest
import trundle

windows = np.lib.stride_tricks.sliding_window_view

# Each parameter, with several values.
CALLS = [
    (lambda x: trundle.ascontiguousarray(x), lambda x: np.ascontiguousarray(x)),
    *((lambda x, a=a: trundle.permute_dims(x, a), lambda x, a=a: np.transpose(x, a)) for a in [(0, 1), (1, 0)]),
    *((lambda x, a=a: trundle.transpose(x, a), lambda x, a=a: np.transpose(x, a or None)) for a in [(), (0, 1), (1, 0)]),
    *((lambda x, a=a: trundle.flip(x, axis=a), lambda x, a=a: np.flip(x, a)) for a in [None, 0, 1, (0, 1)]),
    *(
        (lambda x, s=s, a=a: trundle.roll(x, s, axis=a), lambda x, s=s, a=a: np.roll(x, s, axis=a))
        for s, a in itertools.product([1, 2], [None, 0, 1, (0, 1)])
    ),
    *(
        (lambda x, s=s, a=a: trundle.roll(x, s, axis=a), lambda x, s=s, a=a: np.roll(x, s, axis=a))
        for s, a in itertools.product([(1, 2), (2, 1)], [(0, 1), (1, 0)])
    ),
    *((lambda x, a=a: trundle.fftshift(x, axes=a), lambda x, a=a: np.fft.fftshift(x, axes=a)) for a in [0, 1, (0, 1)]),
    *((lambda x, a=a: trundle.ifftshift(x, axes=a), lambda x, a=a: np.fft.ifftshift(x, axes=a)) for a in [0, 1, (0, 1)]),
    *(
        (lambda x, k=k, a=a: trundle.rot90(x, k, a), lambda x, k=k, a=a: np.rot90(x, k, a))
        for k, a in itertools.product([1, 2, 3], [(0, 1), (1, 0)])
    ),
    (lambda x: trundle.swapaxes(x, 0, 1), lambda x: np.swapaxes(x, 0, 1)),
    (lambda x: trundle.moveaxis(x, 0, 1), lambda x: np.moveaxis(x, 0, 1)),
    (lambda x: trundle.rearrange(x, "a b -> b a"), lambda x: x.T),
    (lambda x: trundle.rearrange(x, "a b -> a b"), lambda x: x),
    (lambda x: trundle.rearrange(x, "(a c) b -> a b c", c=2), lambda x: x.reshape(-1, 2, x.shape[1]).transpose(0, 2, 1)),
    (lambda x: trundle.rearrange(x, "(a c) b -> a b c", a=2), lambda x: x.reshape(2, -1, x.shape[1]).transpose(0, 2, 1)),
    *(
        (lambda x, n=n, a=a: trundle.repeat(x, n, a), lambda x, n=n, a=a: np.repeat(x, n, a))
        for n, a in itertools.product([1, 2], [None, 0, 1])
    ),
    *((lambda x, n=n: trundle.tile(x, n), lambda x, n=n: np.tile(x, n)) for n in [1, 2, (2, 1), (1, 2), (2, 1, 1)]),
    *(
        (lambda x, n=n: trundle.broadcast_to(x, (*n, *x.shape)), lambda x, n=n: np.broadcast_to(x, (*n, *x.shape)))
        for n in [(), (1,), (2,), (1, 2), (2, 1)]
    ),
    *(
        (lambda x, n=n, a=a: trundle.sliding_window_view(x, n, a), lambda x, n=n, a=a: windows(x, n, a))
        for n, a in [(1, 0), (2, 0), (2, 1), ((1, 2), None), ((2, 1), None), ((2, 1), (1, 0))]
    ),
    *(
        (lambda x, n=n, m=m: trundle.pad(x, n, m), lambda x, n=n, m=m: np.pad(x, n, m))
        for n, m in itertools.product([1, 2, (1, 2), ((0, 1), (1, 0)), ((1, 0), (0, 1))], ["edge", "reflect", "symmetric", "wrap"])
    ),
    *(
        (lambda x, i=i, a=a: trundle.take(x, i, a), lambda x, i=i, a=a: np.take(x, i, a))
        for i, a in itertools.product([0, [0], [1, 0, 3], [3, 0, 1]], [None, 0, 1])
    ),
    *(
        (
            lambda x, n=n: trundle.reverse_sequence(x, n, axis=1, batch_axis=0),
            lambda x, n=n: np.stack([np.concatenate([row[:k][::-1], row[k:]]) for row, k in zip(x, itertools.cycle(n))]),
        )
        for n in [(1, 2, 3, 4), (4, 3, 2, 1)]
    ),
]


def arrays():
    whole = np.arange(96, dtype=np.int64)
    yield whole[:24].reshape(4, 6)
    yield whole[:16].reshape(4, 4)
    yield whole[:24].reshape(6, 4).T
    yield whole.reshape(8, 12)[::2, ::2]
    yield whole.reshape(8, 12)[::-2, ::2]
    yield whole.reshape(8, 12)[1::2, 1::2]
    yield whole[:24].reshape(4, 6).astype(np.int16)
    yield whole[:24].reshape(4, 6).astype(np.int8)


@pytest.mark.parametrize("threads", [None, 1])
def test_calls_never_use_the_plan_of_another_call(threads):
    work = list(itertools.product(CALLS, arrays()))
    for (ours, numpys), x in [*work, *work, *reversed(work)]:
        np.testing.assert_array_equal(ours(x), numpys(x))
    for x in arrays():
        spaced = np.zeros((2 * x.shape[0], x.shape[1]), x.dtype)[::2]
        for out in [np.zeros_like(x, order="C"), np.zeros_like(x, order="F"), spaced, spaced[:, ::-1]]:
            for axis in [0, 1]:
                trundle.flip(x, axis=axis, out=out, threads=threads)
                np.testing.assert_array_equal(out, np.flip(x, axis))


def test_a_chain_never_uses_the_plan_of_another_call():
    chain = trundle.chain("flip(0)", "a b -> b a")
    for x in [*arrays(), *arrays()]:
        for threads in [None, 1, 2]:
            np.testing.assert_array_equal(chain(x, threads=threads), np.flip(x, 0).T)
