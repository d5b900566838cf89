"""Arrays of megabytes: several threads, without the GIL."""

import threading
import time

import numpy as np
import pytest
import trundle

from arrays import ALL, assert_new, random_array, reversed_subsequences

MIB = 1 << 20

CALLS = {
    "roll flat": (lambda x, **rest: trundle.roll(x, 12345, **rest), lambda p: np.roll(p, 12345)),
    "roll axes": (
        lambda x, **rest: trundle.roll(x, (100, -77), axis=(0, 1), **rest),
        lambda p: np.roll(p, (100, -77), (0, 1)),
    ),
    "transpose": (trundle.transpose, np.transpose),
    "flip": (trundle.flip, np.flip),
    "flip last": (lambda x, **rest: trundle.flip(x, axis=1, **rest), lambda p: p[:, ::-1]),
    "ascontiguousarray": (trundle.ascontiguousarray, np.copy),
    "fftshift": (trundle.fftshift, np.fft.fftshift),
    "chain": (
        trundle.chain("roll(1, 0) | (a b) c -> b c a, a=8"),
        lambda p: np.roll(p, 1, 0).reshape(8, -1, p.shape[1]).transpose(1, 2, 0),
    ),
}


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("name", CALLS)
def test_results(name, threads, rng):
    call, move = CALLS[name]
    for dtype, shape in [
        ("u1", (2048, 3001)),
        ("f4", (1000, 1531)),
        ("V3", (1024, 700)),
        ("c16", (504, 515)),
    ]:
        x = random_array(dtype, shape, rng)
        assert_new(call(x, threads=threads), x, move(x))
        view = x[:, ::-1].T[:480:2]
        assert_new(call(view, threads=threads), x, move(view))


def test_many_mib(rng):
    side = 4096 if ALL else 2048
    x = random_array("f4", (side, side), rng)
    for call, move in CALLS.values():
        np.testing.assert_array_equal(call(x).view("u4"), move(x).view("u4"))
    lengths = rng.integers(0, side + 1, side)
    result = trundle.reverse_sequence(x.view("u4"), lengths, axis=1, batch_axis=0)
    expected = x.view("u4").copy()
    for row, length in zip(expected, lengths):
        row[:length] = row[:length][::-1].copy()
    np.testing.assert_array_equal(result, expected)


def test_large_reversals(rng):
    x = random_array("u2", (300, 400, 31), rng)
    lengths = rng.integers(0, 401, (300, 1, 31))
    expected = np.take_along_axis(
        x,
        np.where(
            np.arange(400)[:, None] < lengths,
            lengths - 1 - np.arange(400)[:, None],
            np.arange(400)[:, None],
        ),
        axis=1,
    )
    assert_new(trundle.reverse_subsequences(x, lengths, axis=1), x, expected)
    # Both oracles agree.
    small, few = x[:3], lengths[:3]
    assert_new(reversed_subsequences(small, few, 1), x, expected[:3])


def test_large_results_own_their_memory(rng):
    """Memory is recycled, but not of live results."""
    x = random_array("i4", (3 * MIB,), rng)
    kept = []
    for shift in range(8):
        kept.append(trundle.roll(x, shift))
        trundle.roll(x, 1000 + shift)
    for shift, result in enumerate(kept):
        assert_new(result, x, np.roll(x, shift))
        assert not any(np.may_share_memory(result, other) for other in kept[:shift])
    # numpy may resize and free memory that it owns.
    grown = kept.pop()
    grown.resize(4 * MIB, refcheck=False)
    np.testing.assert_array_equal(grown[: 3 * MIB], np.roll(x, 7))
    assert not grown[3 * MIB :].any()


def test_numpy_never_gets_recycled_memory(rng):
    """Recycled memory is only used for results of trundle."""
    for _ in range(4):
        trundle.flip(random_array("u1", (8 * MIB,), rng))
        assert not np.zeros(8 * MIB, "u1").any()


def middle_half(start, end, stamps):
    quarter = (end - start) / 4
    return [stamp for stamp in stamps if start + quarter < stamp < end - quarter]


def slow_call():
    """Single-threaded calls, longer and longer until one takes 50 ms; returns its start and end."""
    rows = 4096
    while True:
        x = np.broadcast_to(np.arange(251, dtype="u1"), (rows, 251))
        start = time.perf_counter()
        trundle.roll(x, 1, axis=1, threads=1)
        end = time.perf_counter()
        if end - start > 0.05 or rows == 1 << 20:
            return start, end
        rows *= 2


def test_the_gil_is_released():
    """Another Python thread runs during a long call, not only before and after it."""
    stamps, done = [], threading.Event()

    def count():
        while not done.is_set():
            stamps.append(time.perf_counter())
            time.sleep(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        start, end = slow_call()
    finally:
        done.set()
        counter.join()
    assert end - start > 0.005, "the call is too fast for this test"
    assert len(middle_half(start, end, stamps)) >= 2


def test_several_threads_at_once(rng):
    inputs = [random_array("f4", (700 + i, 900), rng) for i in range(4)]
    # The pattern needs a multiple of 8 rows.
    moves = [CALLS[name] for name in CALLS if name != "chain"]
    expected = [[move(x) for _, move in moves] for x in inputs]
    wrong = []

    def work(i):
        for _ in range(4):
            for (call, _), right in zip(moves, expected[i]):
                if call(inputs[i]).tobytes() != right.tobytes():
                    wrong.append((i, call))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_one_input_for_several_threads_and_outputs(rng):
    x = random_array("u2", (1200, 1500), rng)
    outs = [np.zeros((1500, 1200), "u2") for _ in range(6)]
    workers = [
        threading.Thread(target=trundle.transpose, args=(x,), kwargs={"out": out}) for out in outs
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for out in outs:
        np.testing.assert_array_equal(out, x.T)
