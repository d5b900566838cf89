"""Joined arrays equal numpy's."""

import itertools
import random

import numpy as np
import pytest

import trundle

from arrays import ALL, AxisError

COUNT = 100_000 if ALL else 3000


def same(got, expected):
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()
    assert got.flags.c_contiguous


def test_concatenate_passes_numpys_tests():
    row = np.arange(4)
    same(trundle.concatenate((row,)), row)
    same(trundle.concatenate((row, np.arange(3))), np.r_[row, np.arange(3)])
    # An array is iterated along its first axis.
    same(trundle.concatenate([row, row]), np.concatenate([row, row]))
    matrix = np.arange(12).reshape(3, 4)
    same(trundle.concatenate(matrix), np.concatenate(matrix))
    for axis in range(-2, 2):
        same(trundle.concatenate((matrix, matrix + 100), axis=axis), np.concatenate((matrix, matrix + 100), axis=axis))
        same(trundle.concatenate((matrix, matrix), axis), np.concatenate((matrix, matrix), axis))
    other = np.arange(5).reshape(1, 5, 1)
    same(trundle.concatenate((matrix, other), axis=None), np.concatenate((matrix, other), axis=None))
    same(trundle.concatenate((np.float64(1.5), other.astype(float)), axis=None), np.r_[1.5, np.arange(5.0)])
    # Only the sizes along the axis may differ.
    for axis in range(3):
        shapes = [[size if at == axis else at + 2 for at in range(3)] for size in (1, 2, 0, 3)]
        parts = [np.arange(np.prod(shape)).reshape(shape) for shape in shapes]
        same(trundle.concatenate(parts, axis), np.concatenate(parts, axis))


def test_concatenate_refuses_invalid_arguments():
    matrix = np.arange(6).reshape(2, 3)
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        trundle.concatenate([])
    with pytest.raises(ValueError, match="zero-dimensional arrays cannot be concatenated"):
        trundle.concatenate([np.array(1), np.array(2)])
    with pytest.raises(AxisError):
        trundle.concatenate([matrix, matrix], axis=2)
    with pytest.raises(AxisError):
        trundle.concatenate([matrix, matrix], axis=-3)
    with pytest.raises(ValueError, match=r"shape \[3, 3\], got \[3, 2\]"):
        trundle.concatenate([matrix, matrix.T])
    with pytest.raises(ValueError, match="rank|shape"):
        trundle.concatenate([matrix, np.arange(3)])
    with pytest.raises(TypeError, match=r"arrays\[1\] has elements of type float32, not int64"):
        trundle.concatenate([matrix, matrix.astype("f4")])
    with pytest.raises(TypeError):
        trundle.concatenate(5)
    with pytest.raises(ValueError, match="shape"):
        trundle.concatenate([matrix, matrix], out=np.empty((3, 3), matrix.dtype))
    with pytest.raises(TypeError, match="object"):
        trundle.concatenate([np.array([None])])


def test_stack_passes_numpys_tests():
    a, b = np.array([1, 2, 3]), np.array([4, 5, 6])
    same(trundle.stack((a, b)), np.array([[1, 2, 3], [4, 5, 6]]))
    same(trundle.stack((a, b), axis=1), np.array([[1, 4], [2, 5], [3, 6]]))
    same(trundle.stack([a, b]), np.stack([a, b]))
    same(trundle.stack(np.array([a, b])), np.stack(np.array([a, b])))
    same(trundle.stack([np.float32(1), np.float32(2)]), np.array([1, 2], "f4"))
    arrays = [np.random.default_rng(at).standard_normal((3, 4)) for at in range(10)]
    for axis, shape in zip([0, 1, 2, -1, -2, -3], [(10, 3, 4), (3, 10, 4), (3, 4, 10), (3, 4, 10), (3, 10, 4), (10, 3, 4)]):
        got = trundle.stack(arrays, axis)
        assert got.shape == shape
        same(got, np.stack(arrays, axis))
    same(trundle.stack([[], [], []], axis=1), np.stack([[], [], []], axis=1))
    out = np.zeros((3, 2), a.dtype)
    assert trundle.stack((a, b), axis=1, out=out) is out
    assert out.tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(ValueError, match="need at least one array to stack"):
        trundle.stack([])
    with pytest.raises(ValueError, match="shape"):
        trundle.stack([1, np.arange(3)])
    with pytest.raises(ValueError, match="shape"):
        trundle.stack([np.arange(2), np.arange(3)])
    with pytest.raises(AxisError):
        trundle.stack([a, b], axis=3)


def test_out_may_overlap_the_arrays():
    x = np.arange(12)
    expected = np.concatenate([x[6:], x[:6][::-1]])
    assert trundle.concatenate([x[6:], x[:6][::-1]], out=x) is x
    assert (x == expected).all()
    y = np.zeros((6, 4), "i8")
    trundle.concatenate([x.reshape(3, 4), x.reshape(3, 4) + 1], out=y[::-1])
    assert (y[::-1] == np.concatenate([x.reshape(3, 4), x.reshape(3, 4) + 1])).all()
    with pytest.raises(ValueError, match="read-only"):
        z = np.zeros(12, "i8")
        z.flags.writeable = False
        trundle.concatenate([x], out=z)


def random_view(chance, shape, dtype):
    order = chance.sample(range(len(shape)), len(shape))
    steps = [chance.choice([1, 1, 1, 2, -1]) for _ in shape]
    whole = np.frombuffer(
        chance.randbytes(int(np.prod([shape[at] * abs(steps[at]) for at in order])) * np.dtype(dtype).itemsize), dtype
    ).reshape([shape[at] * abs(steps[at]) for at in order])
    back = [order.index(at) for at in range(len(shape))]
    return whole.transpose(back)[tuple(slice(None, None, step) for step in steps)]


@pytest.mark.parametrize("join", ["concatenate", "stack"])
def test_random_calls_equal_numpy(join):
    chance = random.Random(7)
    for _ in range(COUNT):
        rank = chance.randrange(1, 5)
        shape = [chance.choice([0, 1, 2, 3, 5]) for _ in range(rank)]
        dtype = chance.choice(["u1", "<u2", ">i4", "f8", "c16", "S3", "M8[s]", "V5", "?"])
        axis = chance.randrange(-rank, rank)
        arrays = []
        for _ in range(chance.randrange(1, 5)):
            own = list(shape)
            if join == "concatenate":
                own[axis] = chance.choice([0, 1, 2, 4])
            arrays.append(random_view(chance, own, dtype))
        got = getattr(trundle, join)(arrays, axis=axis, threads=chance.choice([None, 1]))
        expected = getattr(np, join)(arrays, axis=axis)
        same(got, np.ascontiguousarray(expected).astype(arrays[0].dtype))


def test_large_arrays_with_several_threads():
    arrays = [np.random.default_rng(at).integers(0, 255, (300, 700 + at, 11), "u1") for at in range(3)]
    for axis in (0, 1, 2):
        parts = [array[:300, :700] for array in arrays]
        same(trundle.concatenate(parts, axis=axis), np.concatenate(parts, axis=axis))
        same(trundle.stack(parts, axis=axis), np.stack(parts, axis=axis))
    assert list(itertools.islice(trundle.concatenate(arrays, axis=1).shape, 3)) == [300, 2103, 11]


def test_torch_tensors_give_torch_tensors():
    torch = pytest.importorskip("torch")
    a, b = torch.arange(6).reshape(2, 3), torch.arange(6, 12).reshape(2, 3)
    got = trundle.concatenate([a, b.flip(0)], axis=1)
    assert isinstance(got, torch.Tensor)
    assert torch.equal(got, torch.cat([a, b.flip(0)], dim=1))
    assert torch.equal(trundle.stack([a, b]), torch.stack([a, b]))
    with pytest.raises(TypeError, match="kind"):
        trundle.concatenate([a, np.arange(6).reshape(2, 3)])
    with pytest.raises(TypeError):
        trundle.concatenate([a, b.float()])


def test_put_along_axis_passes_numpys_tests():
    # numpy's example: replaces the largest elements.
    base = np.array([[10, 30, 20], [60, 40, 50]])
    for axis in (0, 1, -1):
        ours, theirs = base.copy(), base.copy()
        largest = np.argmax(base, axis=axis, keepdims=True)
        assert trundle.put_along_axis(ours, largest, 99, axis) is None
        np.put_along_axis(theirs, largest, 99, axis)
        same(ours, theirs)
    ours = np.ones((3, 4, 1), "i8")
    trundle.put_along_axis(ours, np.arange(10, dtype="i8").reshape(1, 2, 5) % 4, 20, axis=1)
    assert (ours == 20).all()
    ours, theirs = np.zeros((2, 5)), np.zeros((2, 5))
    where = np.array([[0, 3, 3], [4, -1, 2]])
    for values in (np.arange(6.0).reshape(2, 3), np.arange(3.0), [[7.0], [8.0]], 2.5):
        trundle.put_along_axis(ours, where, values, axis=1)
        np.put_along_axis(theirs, where, values, axis=1)
        same(ours, theirs)
    out = np.empty((2, 5))
    before = ours.copy()
    assert trundle.put_along_axis(ours, where, -1.0, axis=1, out=out) is out
    same(ours, before)
    np.put_along_axis(theirs, where, -1.0, axis=1)
    same(out, theirs)
    with pytest.raises(IndexError, match=r"index 5 at \[0, 0\] is out of range for an axis of size 5"):
        trundle.put_along_axis(ours, [[5], [0]], 0.0, axis=1)
    same(ours, before)
    with pytest.raises(ValueError, match="broadcast"):
        trundle.put_along_axis(ours, where, np.zeros(4), axis=1)
    with pytest.raises(TypeError, match="values has elements of type int32, not float64"):
        trundle.put_along_axis(ours, where, np.zeros(3, "i4"), axis=1)
    with pytest.raises(AxisError):
        trundle.put_along_axis(ours, where, 0.0, axis=2)
    with pytest.raises(IndexError):
        trundle.put_along_axis(ours, where.astype(float), 0.0, axis=1)


def test_random_puts_equal_numpy():
    chance = random.Random(11)
    for _ in range(COUNT):
        shape = [chance.choice([1, 2, 3, 5]) for _ in range(chance.randrange(1, 4))]
        axis = chance.randrange(-len(shape), len(shape))
        own = [1 if chance.random() < 0.2 else size for size in shape]
        own[axis] = chance.choice([0, 1, 2, 4])
        size = shape[axis]
        where = np.array([chance.randrange(-size, size) for _ in range(int(np.prod(own)))], "i8").reshape(own)
        ours = random_view(chance, shape, chance.choice(["u1", "<i4", "f8", "V3"])).copy()
        positions = [count if at == axis % len(shape) else size for at, (size, count) in enumerate(zip(shape, own))]
        values = random_view(chance, [count if chance.random() < 0.8 else 1 for count in positions], ours.dtype)
        theirs = ours.copy()
        trundle.put_along_axis(ours, where, values, axis)
        np.put_along_axis(theirs, where, values, axis)
        same(ours, theirs)
