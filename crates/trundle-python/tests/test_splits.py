"""Parts equal numpy's, but are new arrays."""

import random

import numpy as np
import pytest

import trundle

from arrays import ALL, AxisError

COUNT = 100_000 if ALL else 3000


def same(got, expected, x):
    assert type(got) is list and len(got) == len(expected)
    for part, other in zip(got, expected):
        assert type(part) is type(other)
        assert part.dtype == other.dtype
        assert part.shape == other.shape
        assert part.tobytes() == other.tobytes()
        assert part.flags.c_contiguous and part.flags.writeable
        assert not np.may_share_memory(part, x)


def check_split(x, *arguments, **keywords):
    same(trundle.split(x, *arguments, **keywords), np.split(x, *arguments, **keywords), x)


def test_split_passes_numpys_tests():
    row = np.arange(10)
    check_split(row, 2)
    check_split(row, 5)
    check_split(row, 1)
    matrix = np.array([row, row + 100])
    check_split(matrix, 2)
    check_split(matrix, 2, axis=-1)
    check_split(matrix, 5, 1)
    with pytest.raises(ValueError, match="array split does not result in an equal division"):
        trundle.split(row, 3)
    check_split(row, [1, 5, 7])
    check_split(row, [1, 5, 7, 10, 11, 12])
    check_split(row, [-3, 20])
    check_split(row, [-30, -2])
    check_split(row, [7, 3])
    check_split(row, [0, 0, 10, 10])
    check_split(row, [])
    check_split(row, (4,))
    check_split(row, np.array([2, 3], "u1"))
    check_split(row, np.array(2))
    check_split(matrix, [1, 5], axis=1)
    check_split(matrix, [0, 1, 2], axis=0)
    # Subclasses are kept; np.matrix keeps two axes.
    check_split(np.matrix(matrix), 2, axis=1)
    check_split(np.zeros((0, 3)), 2)
    check_split(np.zeros((3, 0)), [1], axis=0)
    check_split(np.zeros((3, 0)), 4, axis=1)


def test_indices_may_be_of_any_size():
    row = np.arange(4)
    for ends in ([2**63], [2**70, 2], [-(2**70), 3], [-(2**63), 2**63 - 1]):
        same(trundle.split(row, ends), np.split(row, [min(max(end, -99), 99) for end in ends]), row)
    assert [part.tolist() for part in trundle.split([[1, 2], [3, 4]], 2, axes=1)] == [[[1], [3]], [[2], [4]]]


def test_split_refuses_invalid_arguments():
    x = np.arange(6).reshape(2, 3)
    for sections in (0, -1, -(2**70)):
        with pytest.raises(ValueError, match=f"number of sections must be larger than 0, not {sections}"):
            trundle.split(x, sections)
    with pytest.raises(ValueError, match="equal division: 3 elements in 2 sections"):
        trundle.split(x, 2, axis=1)
    with pytest.raises(ValueError, match="equal division"):
        trundle.split(x, 2**70)
    for axis in (2, -3):
        with pytest.raises(AxisError):
            trundle.split(x, 1, axis=axis)
    with pytest.raises(AxisError):
        trundle.split(np.float32(1), 1)
    for ends in (1.5, [1.5], "12", [[1], [2]], None, {1: 2}):
        with pytest.raises((TypeError, ValueError)):
            trundle.split(x, ends)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'indices_or_sections'"):
        trundle.split(x)
    with pytest.raises(TypeError, match="both axis and axes"):
        trundle.split(x, 1, axis=0, axes=0)
    with pytest.raises(TypeError, match="object"):
        trundle.split(np.array([None]), 1)
    with pytest.raises(TypeError):
        trundle.split(x, 1, out=[x])


def test_random_calls_equal_numpy():
    chance = random.Random(11)
    for _ in range(COUNT):
        rank = chance.randrange(1, 5)
        shape = [chance.choice([0, 1, 2, 3, 4, 6]) for _ in range(rank)]
        dtype = np.dtype(chance.choice(["u1", "<u2", ">i4", "f8", "c16", "S3", "M8[s]", "V5", "?"]))
        x = np.frombuffer(chance.randbytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
        x = x.transpose(chance.sample(range(rank), rank))
        x = x[tuple(slice(None, None, chance.choice([1, 1, 2, -1])) for _ in shape)]
        axis = chance.randrange(-rank, rank)
        if chance.randrange(2):
            size = x.shape[axis]
            ends = chance.choice([number for number in range(1, 7) if size % number == 0])
        else:
            ends = [chance.randrange(-8, 9) for _ in range(chance.randrange(5))]
        threads = chance.choice([None, 1])
        same(trundle.split(x, ends, axis=axis, threads=threads), np.split(x, ends, axis=axis), x)


def test_concatenate_undoes_split():
    x = np.random.default_rng(3).integers(0, 255, (300, 700, 11), "u1").transpose(1, 0, 2)
    for axis in range(3):
        parts = trundle.split(x, [3, 5, 290], axis)
        assert (trundle.concatenate(parts, axis=axis) == x).all()


def test_torch_tensors_give_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
    got = trundle.split(x.T, 2)
    expected = torch.tensor_split(x.T, 2)
    assert type(got) is list and len(got) == 2
    for part, other in zip(got, expected):
        assert isinstance(part, torch.Tensor) and part.is_contiguous()
        assert torch.equal(part, other)
