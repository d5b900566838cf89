"""Chains of several arrays and of constants, compared with numpy."""

import pickle
import random

import arrays
import numpy as np
import pytest
import trundle
from numpy.testing import assert_array_equal

COUNT = 20_000 if arrays.ALL else 500
DTYPES = ["?", "i1", "<u2", ">i4", "f4", ">f8", "c8", ">c16", "f2", "<u8"]


def same(found, expected):
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)


def test_arrays_are_passed_by_name():
    a, b = np.arange(6.0).reshape(2, 3), np.ones((1, 3))
    joined = trundle.chain("concat(a, b, axis=0) | x y -> y x")
    same(joined(a=a, b=b), np.concatenate([a, b]).T)
    same(joined(b=a[::-1], a=b), np.concatenate([b, a[::-1]]).T)
    same(trundle.chain("concat(_, b, _)")(a, b=b), np.concatenate([a, b, a]))
    same(trundle.chain("stack(y, _, axis=-1) | pad(1, value=7)")(a, y=a + 1), np.pad(np.stack([a + 1, a], -1), 1, constant_values=7))
    indexed = trundle.chain("take(i, axis=1) | concat(_, more, axis=1)")
    same(indexed(a, i=[2, 0], more=a), np.concatenate([a[:, [2, 0]], a], 1))


def test_invalid_arrays_and_names_are_refused():
    a = np.arange(6.0).reshape(2, 3)
    joined = trundle.chain("concat(a, b, axis=0)")
    with pytest.raises(TypeError, match="the array 'b' is missing: give b=..."):
        joined(a=a)
    with pytest.raises(TypeError, match="takes no unnamed array"):
        joined(a, a=a, b=a)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'; it takes a, b"):
        joined(a=a, b=a, c=a)
    with pytest.raises(TypeError, match=r"the array is missing: call chain\(x\)"):
        trundle.chain("flip(0)")()
    with pytest.raises(TypeError, match="b has elements of type int64, not float64"):
        joined(a=a, b=a.astype("i8"))
    with pytest.raises(ValueError, match="chains do not read files here"):
        trundle.chain("concat(_, b.npy)")
    with pytest.raises(ValueError, match="already has a keyword of that name"):
        trundle.chain("concat(_, out)")
    with pytest.raises(ValueError, match="does not use the result of the previous stages"):
        trundle.chain("flip(0) | concat(a, b)")
    with pytest.raises(ValueError, match=r"a part must have shape \[2, 3\], got \[2, 2\]"):
        joined(a=a, b=a[:, :2])
    with pytest.raises(arrays.AxisError, match="axis 2 is out of range for rank 2"):
        trundle.chain("concat(_, b, axis=2)")(a, b=a)


def test_joined_and_pickled_chains_keep_array_names():
    a = np.arange(3)
    joined = "flip(0)" | trundle.chain("concat(_, b)") | "pad(1)"
    assert str(joined) == "flip(0) | concat(_, b) | pad(1)"
    same(joined(a, b=a), np.pad(np.concatenate([a[::-1], a]), 1))
    again = pickle.loads(pickle.dumps(joined))
    assert again == joined
    assert hash(again) == hash(joined)
    assert again != trundle.chain("flip(0) | concat(_, c) | pad(1)")
    plan = joined.plan(a, b=a)
    assert (plan.passes, plan.out_shape, plan.scratch_bytes) == (1, (8,), 0)
    assert "from constant 0 to output 0" in str(plan)


def test_out_may_overlap_the_inputs():
    x = np.arange(4.0)
    trundle.chain("concat(y, _)")(x[:2], y=x[1:3], out=x)
    same(x, np.array([1.0, 2.0, 0.0, 1.0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_has_the_dtype_of_the_array(dtype):
    x = np.array([[0, 1], [1, 0]], dtype=dtype)
    for value in [0, 1]:
        same(trundle.chain(f"pad(1, value={value})")(x), np.pad(x, 1, constant_values=value))
    if np.dtype(dtype).kind in "fc":
        for value in [-0.0, 1.5, np.inf, 0.1]:
            found = trundle.chain(f"pad([1, 0], value={value!r})")(x)
            expected = np.pad(x, [1, 0], constant_values=np.dtype(dtype).type(value))
            same(found, expected)
            assert found.tobytes() == expected.tobytes()
    else:
        with pytest.raises(ValueError, match="1.5 is not an element of type"):
            trundle.chain("pad(1, value=1.5)")(x)


def test_cached_plans_depend_on_dtype_strides_and_size():
    chain = trundle.chain("concat(_, b) | pad(1, value=1)")
    for _ in range(2):
        for dtype in ["i4", "f4", ">f4", "f8"]:
            for step in [1, 2, -1]:
                for size in [3, 4]:
                    a, b = np.arange(4, dtype=dtype), np.arange(size * abs(step), dtype=dtype)[::step]
                    expected = np.pad(np.concatenate([a, b]), 1, constant_values=1)
                    same(chain(a, b=b), expected.astype(dtype))


def test_only_zero_pads_types_that_are_not_numbers():
    words = np.array(["ab", "c"])
    same(trundle.chain("pad(1)")(words), np.array(["", "ab", "c", ""]))
    days = np.array(["2020-01-01"], "M8[D]")
    same(trundle.chain("pad([1, 0])")(days), np.array(["1970-01-01", "2020-01-01"], "M8[D]"))
    with pytest.raises(ValueError, match="1 is not an element of type bytes8"):
        trundle.chain("pad(1, value=1)")(words)


def test_arrays_of_other_libraries():
    torch = pytest.importorskip("torch")
    t = torch.arange(6).reshape(2, 3)
    found = trundle.chain("concat(_, more) | pad(1, value=-1)")(t, more=t)
    assert isinstance(found, torch.Tensor)
    assert torch.equal(found, torch.nn.functional.pad(torch.cat([t, t]), (1, 1, 1, 1), value=-1))
    half = torch.ones(2, dtype=torch.float16)
    assert torch.equal(trundle.chain("pad(1, value=0.5)")(half), torch.nn.functional.pad(half, (1, 1), value=0.5))
    with pytest.raises(TypeError, match="the same kind of array as the first"):
        trundle.chain("concat(_, b)")(t, b=t.numpy())


def random_view(chance, sizes, first):
    """An array of the given sizes, with any order of axes in memory, some backwards or with gaps."""
    elements = int(np.prod(sizes))
    base = np.arange(first, first + elements, dtype="i4").reshape(sizes)
    order = chance.sample(range(len(sizes)), len(sizes))
    permuted = np.ascontiguousarray(base.transpose(order)).transpose(np.argsort(order))
    axis = chance.randrange(len(sizes))
    cut = (slice(None),) * axis
    kind = chance.randrange(3)
    if kind == 0:
        return np.flip(np.flip(permuted, axis).copy(), axis)
    if kind == 1:
        gaps = np.repeat(permuted, 2, axis=axis)
        return gaps[(*cut, slice(None, None, 2))]
    return permuted


def test_random_chains_equal_numpy():
    chance = random.Random(5)
    for _ in range(COUNT):
        rank = chance.randint(1, 3)
        x = random_view(chance, [chance.randint(0, 4) for _ in range(rank)], 0)
        stages, given, expected, first = [], {}, x, x.size
        for number in range(chance.randint(1, 4)):
            axis = chance.randrange(expected.ndim)
            kind = chance.randrange(4)
            if kind == 0:
                sizes = list(expected.shape)
                sizes[axis] = chance.randint(0, 3)
                other = random_view(chance, sizes, first)
                first += other.size
                given[f"t{number}"] = other
                stages.append(f"concat(_, t{number}, axis={axis})")
                expected = np.concatenate([expected, other], axis)
            elif kind == 1 and expected.ndim < 5 and expected.size < 2000:
                stages.append(f"stack(_, _, axis={axis - expected.ndim - 1})")
                expected = np.stack([expected, expected], axis)
            elif kind == 2 and expected.size < 2000:
                width = [[chance.randrange(3), chance.randrange(3)] for _ in range(expected.ndim)]
                stages.append(f"pad({width}, value=-7)")
                expected = np.pad(expected, width, constant_values=-7)
            else:
                stages.append(f"roll(1, {axis}) | transpose()")
                expected = np.roll(expected, 1, axis).T
        chain = trundle.chain(*stages)
        same(chain(x, **given), expected)


def test_scatters_write_one_array_into_another():
    x = np.arange(6.0).reshape(2, 3)
    order, values = np.array([[2, 0], [1, 1]]), np.array([[10.0, 11.0], [12.0, 13.0]])
    expected = x.copy()
    np.put_along_axis(expected, order, values, axis=1)
    put = trundle.chain("put_along_axis(_, v, indices=i, axis=1)")
    same(put(x, v=values, i=order), expected)
    same(trundle.chain("put_along_axis(b, _, indices=i, axis=-1) | transpose()")(values, b=x, i=order), expected.T)
    assert put.plan(x, v=values, i=order).out_shape == (2, 3)
    # The same indices from the front and from the end, and others.
    for indices in [order, order - 3, np.array([[0]])]:
        expected = x.copy()
        np.put_along_axis(expected, indices, 7.0, axis=1)
        same(put(x, v=7.0, i=indices), expected)
    scatter = trundle.chain("flip(0) | scatter_nd(_, u, indices=i)")
    same(scatter(x, u=[9.0, 8.0, 7.0], i=[[0, 1], [1, 2], [0, 1]]), np.array([[3.0, 7.0, 5.0], [0.0, 1.0, 8.0]]))
    same(scatter(x, u=[[9.0, 8.0, 7.0]], i=[[-1]]), np.array([[3.0, 4.0, 5.0], [9.0, 8.0, 7.0]]))
    sliced = trundle.chain("slice_scatter(_, u, starts=[0], stops=[3], axes=[1], steps=[2])")
    same(sliced(x, u=values), np.array([[10.0, 1.0, 11.0], [12.0, 4.0, 13.0]]))
    out = np.zeros((3, 2)).T
    assert sliced(x, u=values, out=out) is out
    same(out, sliced(x, u=values))
    assert pickle.loads(pickle.dumps(put)) == put


def test_scatters_refuse_invalid_arguments():
    x, put = np.arange(4.0), trundle.chain("put_along_axis(_, v, indices=i, axis=0)")
    with pytest.raises(IndexError, match=r"index 4 at \[1\] is out of range for an axis of size 4"):
        put(x, v=x[:2], i=[0, 4])
    with pytest.raises(ValueError, match=r"shape \[3\] cannot be broadcast to \[2\]"):
        put(x, v=x[:3], i=[0, 1])
    with pytest.raises(TypeError, match="the indices 'i' of stage 1 are missing"):
        put(x, v=x)
    with pytest.raises(TypeError, match="the array 'v' is missing"):
        put(x, i=[0])
    with pytest.raises(TypeError, match="v has elements of type int64, not float64"):
        put(x, v=np.arange(4), i=[0])
    with pytest.raises(TypeError, match="i must be integers"):
        put(x, v=x, i=[0.5])
    with pytest.raises(ValueError, match=r"updates must have shape \[2\], got \[3\]"):
        trundle.chain("slice_scatter(_, u, starts=1, stops=3)")(x, u=x[:3])
    with pytest.raises(ValueError, match="takes 2 tensors, got 3"):
        trundle.chain("scatter_nd(_, a, b, indices=i)")


def test_random_scatters_equal_numpy():
    chance = random.Random(6)
    for _ in range(COUNT):
        rank = chance.randint(1, 4)
        sizes = [chance.randint(1, 4) for _ in range(rank)]
        x, axis = random_view(chance, sizes, 0), chance.randrange(rank)
        expected, kind = x.copy(), chance.randrange(3)
        if kind == 0:
            along = [chance.choice([1, size]) for size in sizes]
            along[axis] = chance.randint(1, 4)
            indices = np.array([chance.randint(-sizes[axis], sizes[axis] - 1) for _ in range(int(np.prod(along)))]).reshape(along)
            positions = [at if number == axis else size for number, (at, size) in enumerate(zip(along, sizes))]
            values = random_view(chance, [chance.choice([1, size]) for size in positions], 1000)
            np.put_along_axis(expected, indices, values, axis)
            text, given = f"put_along_axis(_, u, indices=i, axis={axis})", {"u": values, "i": indices}
        elif kind == 1:
            together, positions = chance.randint(1, rank), [chance.randint(0, 3) for _ in range(chance.randint(1, 2))]
            indices = np.array(
                [[chance.randint(-size, size - 1) for size in sizes[:together]] for _ in range(int(np.prod(positions)))],
                dtype="i8",
            ).reshape([*positions, together])
            values = random_view(chance, [*positions, *sizes[together:]], 1000)
            for at in np.ndindex(*positions):
                expected[tuple(indices[at])] = values[at]
            text, given = "scatter_nd(_, u, indices=i)", {"u": values, "i": indices}
        else:
            axes = sorted(chance.sample(range(rank), chance.randint(1, rank)))
            starts, stops, steps = ([chance.randint(0, 4) for _ in axes], [chance.randint(0, 4) for _ in axes], [chance.randint(1, 3) for _ in axes])
            region = [slice(None)] * rank
            for number, at in enumerate(axes):
                region[at] = slice(starts[number], stops[number], steps[number])
            values = random_view(chance, expected[tuple(region)].shape, 1000)
            expected[tuple(region)] = values
            text, given = f"slice_scatter(_, u, starts={starts}, stops={stops}, axes={axes}, steps={steps})", {"u": values}
        same(trundle.chain(text)(x, **given), expected)
        same(trundle.chain(f"flip({axis}) | {text} | transpose()")(np.flip(x, axis), **given), expected.T)
