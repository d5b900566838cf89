"""``out=x`` has the same result as a copy."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import trundle

# Larger than the limit for copies, and not a multiple of tile sizes.
SIDE = 411

SQUARE = {
    "roll": (lambda x, **to: trundle.roll(x, 12345, **to), lambda x: np.roll(x, 12345)),
    "roll of axes": (
        lambda x, **to: trundle.roll(x, (7, -30), axis=(0, 1), **to),
        lambda x: np.roll(x, (7, -30), (0, 1)),
    ),
    "fftshift": (trundle.fftshift, np.fft.fftshift),
    "ifftshift": (trundle.ifftshift, np.fft.ifftshift),
    "flip": (trundle.flip, np.flip),
    "flip of an axis": (lambda x, **to: trundle.flip(x, axis=0, **to), lambda x: np.flip(x, 0)),
    "transpose": (trundle.transpose, np.transpose),
    "rot90": (trundle.rot90, np.rot90),
    "moveaxis": (lambda x, **to: trundle.moveaxis(x, 0, 1, **to), lambda x: np.moveaxis(x, 0, 1)),
    "reverse_sequence": (
        lambda x, **to: trundle.reverse_sequence(x, np.arange(SIDE), axis=1, batch_axis=0, **to),
        lambda x: np.stack([np.r_[row[:n][::-1], row[n:]] for n, row in enumerate(x)]),
    ),
    "chain": (
        trundle.chain("flip(axes=[1]) | a b -> b a | roll(shift=[5], axes=[1])"),
        lambda x: np.roll(x[:, ::-1].T, 5, 1),
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c16", "V3", "U3"])
@pytest.mark.parametrize("name", SQUARE)
def test_in_place_results_equal_copies(name, dtype, threads, rng):
    move, expected = SQUARE[name]
    dtype = np.dtype(dtype)
    x = rng.integers(0, 256, SIDE * SIDE * dtype.itemsize, dtype=np.uint8)
    if dtype.kind == "U":
        x = x.reshape(-1, 4)[:, :1].copy().astype("u4").ravel()
    x = x.view(dtype).reshape(SIDE, SIDE)
    wanted = expected(x.copy())
    assert move(x, out=x, threads=threads) is x
    assert x.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", SQUARE)
def test_views_of_any_strides(name, rng):
    move, expected = SQUARE[name]
    whole = rng.standard_normal((2 * SIDE, SIDE + 3))
    before = whole.copy()
    x = whole[::-2, 1 : SIDE + 1]
    wanted = expected(x.copy())
    move(x, out=x)
    np.testing.assert_array_equal(x, wanted)
    # Elements outside the view are unchanged.
    x[...] = before[::-2, 1 : SIDE + 1]
    np.testing.assert_array_equal(whole, before)


@pytest.mark.parametrize("sizes", [(300, 500), (509, 251), (5, 70, 90, 3), (2, 3, 50_000)])
def test_a_transpose_in_the_same_memory(sizes, rng):
    x = rng.standard_normal(sizes).astype("f4")
    wanted = np.ascontiguousarray(x.T)
    out = x.reshape(sizes[::-1])
    trundle.transpose(x, out=out)
    np.testing.assert_array_equal(out, wanted)


def test_a_plan_states_how_it_handles_overlap(rng):
    x = rng.standard_normal((SIDE, SIDE))
    turn = trundle.chain("a b -> b a")
    plan = turn.plan(x, out=x)
    assert str(plan).startswith("in place, 1 pass over the tensor")
    assert plan.passes == 1
    assert plan.scratch_bytes < x.nbytes // 8
    # Other overlaps are copied.
    rows = np.zeros((SIDE + 1, SIDE))
    plan = turn.plan(rows[1:], out=rows[:-1])
    assert str(plan).startswith(f"x is copied first, {x.nbytes} bytes")
    assert plan.scratch_bytes == x.nbytes
    assert not str(turn.plan(x, out=np.empty_like(x))).startswith(("in place", "x is copied"))


PEAK = """
import resource
import numpy as np
import trundle

x = np.arange(8192 * 4096, dtype="f4").reshape(8192, 4096)
square = x[:4096]
trundle.flip(x[:512], out=x[:512])  # starts the threads
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
trundle.roll(x, 1000, axis=0, out=x)
trundle.roll(x, 1000, axis=1, out=x)
trundle.roll(x, 12345678, out=x)
trundle.fftshift(x, out=x)
trundle.flip(x, out=x)
trundle.transpose(square, out=square)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_moves_in_place_use_little_memory():
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK)], capture_output=True, text=True, check=True
    )
    # The array has 128 MiB.
    assert int(run.stdout) < 8 * 1024, run.stdout
