"""PyTorch tensors."""

import ctypes
import gc

import numpy as np
import pytest
import trundle

from test_kinds import ALL, WITH_OUT

torch = pytest.importorskip("torch")

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
]
DTYPES = [getattr(torch, name) for name in NAMES if hasattr(torch, name)]


def is_shared(dtype):
    """Whether this version of PyTorch supports the dtype in DLPack."""
    try:
        torch.zeros(1, dtype=dtype).__dlpack__()
    except (RuntimeError, BufferError, ValueError, TypeError):
        return False
    return True


def random_tensor(dtype, shape, rng):
    top = 2 if dtype == torch.bool else 256
    size = int(np.prod(shape, dtype=int)) * torch.empty(0, dtype=dtype).element_size()
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(
        bytearray(rng.integers(0, top, size, dtype="u1").tobytes()), dtype=dtype
    ).reshape(shape)


def raw(tensor):
    """The bytes of the elements, in row-major order, one element per row."""
    packed = tensor.contiguous()
    width = packed.element_size()
    data = ctypes.string_at(packed.data_ptr(), packed.numel() * width)
    return np.frombuffer(data, "u1").reshape(*tensor.shape, width)


def moved(tensor, move):
    """The bytes of the elements, in the order that `move` gives to their positions."""
    positions = move(np.arange(tensor.numel()).reshape(tuple(tensor.shape)))
    return raw(tensor).reshape(tensor.numel(), tensor.element_size())[positions]


def assert_bits(tensor, expected):
    assert tuple(tensor.shape) == expected.shape[:-1]
    np.testing.assert_array_equal(raw(tensor), expected)


VIEWS = {
    "contiguous": lambda t: t[:3, :4].contiguous(),
    "transposed": lambda t: t[:4, :3].t(),
    "stepped": lambda t: t[::2, 1::2][:3, :4],
    "expanded": lambda t: t[:3, :1].expand(3, 4),
    "one element": lambda t: t[0, 0].expand(3, 4),
    "offset": lambda t: t[2:5, 3:7],
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_every_dtype_and_view(name, dtype, rng):
    call, move = ALL[name]
    whole = random_tensor(dtype, (8, 9), rng)
    if not is_shared(dtype):
        with pytest.raises((RuntimeError, BufferError, ValueError, TypeError)):
            call(whole[:3, :4])
        return
    before = raw(whole).copy()
    for view in VIEWS.values():
        x = view(whole)
        result = call(x)
        assert type(result) is torch.Tensor and result.dtype == dtype
        assert result.is_contiguous() and result.device.type == "cpu"
        assert_bits(result, moved(x, move))
        result.zero_()
    np.testing.assert_array_equal(raw(whole), before)


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name, rng):
    call, move = WITH_OUT[name]
    for dtype in (torch.uint8, torch.bfloat16, torch.float32, torch.complex128):
        x = random_tensor(dtype, (3, 4), rng)
        expected = moved(x, move)
        *outer, rows, columns = expected.shape[:-1]
        for out in (
            torch.zeros(*outer, rows, columns, dtype=dtype),
            torch.zeros(*outer, columns, rows, dtype=dtype).transpose(-1, -2),
            torch.zeros(*outer, 2 * rows, 3 * columns, dtype=dtype)[..., ::2, ::3],
        ):
            assert call(x, out=out) is out
            assert_bits(out, expected)


def test_out_that_does_not_fit_is_refused():
    x = torch.ones(3, 4)
    for out, error in [
        (torch.zeros(4, 3), ValueError),
        (torch.zeros(3, 1).expand(3, 4), ValueError),
        (torch.zeros(8).as_strided((3, 4), (1, 1)), ValueError),
        (torch.zeros(3, 4, dtype=torch.float64), TypeError),
        (np.zeros((3, 4), "f4"), TypeError),
        ([0.0], TypeError),
    ]:
        with pytest.raises(error):
            trundle.flip(x, out=out)
        assert not np.asarray(out).any()
    with pytest.raises(TypeError, match="out"):
        trundle.flip(np.ones((3, 4), "f4"), out=torch.zeros(3, 4))


def test_out_may_overlap_x(rng):
    x = random_tensor(torch.int16, (60, 60), rng)
    expected = moved(x, np.transpose)
    assert trundle.transpose(x, out=x) is x
    assert_bits(x, expected)
    flat = x.reshape(-1)
    expected = moved(flat[:-1], lambda p: np.roll(p, 3))
    trundle.roll(flat[:-1], 3, out=flat[1:])
    assert_bits(flat[1:], expected)


def test_functions_equal_torch(rng):
    x = random_tensor(torch.int32, (3, 4, 5), rng)
    for ours, theirs in [
        (trundle.roll(x, 7), torch.roll(x, 7)),
        (trundle.roll(x, (1, -2), axis=(0, 2)), torch.roll(x, (1, -2), (0, 2))),
        (trundle.flip(x, axis=(0, 2)), torch.flip(x, (0, 2))),
        (trundle.permute_dims(x, (2, 0, 1)), x.permute(2, 0, 1)),
        (trundle.moveaxis(x, 0, 2), torch.movedim(x, 0, 2)),
        (trundle.swapaxes(x, 0, -1), torch.swapaxes(x, 0, -1)),
        (trundle.fftshift(x, (0, 1)), torch.fft.fftshift(x, (0, 1))),
        (trundle.ifftshift(x), torch.fft.ifftshift(x)),
    ]:
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 5)])
def test_shapes(shape, rng):
    x = random_tensor(torch.float32, shape, rng)
    assert_bits(trundle.roll(x, 3), moved(x, lambda p: np.roll(p, 3)))
    assert_bits(trundle.flip(x), moved(x, np.flip))
    assert_bits(trundle.transpose(x), moved(x, np.transpose))
    assert tuple(trundle.ascontiguousarray(x).shape) == (shape or (1,))


def test_results_own_their_memory(rng):
    expected, results = [], []
    for _ in range(6):
        x = random_tensor(torch.int32, (1000, 1500), rng)
        expected.append(torch.roll(x, 1001))
        results.append(trundle.roll(x, 1001))
        del x
        trundle.roll(results[0], 1)
        gc.collect()
    starts = {result.data_ptr() for result in results}
    assert len(starts) == len(results)
    for result, right in zip(results, expected):
        assert torch.equal(result, right)
    results[0].add_(1)
    assert torch.equal(results[0], expected[0] + 1)
    shared = results[0].numpy()
    del result, results
    gc.collect()
    trundle.flip(expected[1])
    np.testing.assert_array_equal(shared, (expected[0] + 1).numpy())


def test_gradients_are_refused():
    x = torch.ones(3, 4, requires_grad=True)
    for tensor in (x, x * 2, torch.nn.Parameter(torch.ones(2))):
        with pytest.raises((RuntimeError, BufferError, ValueError, TypeError)):
            trundle.flip(tensor)
    with pytest.raises((RuntimeError, BufferError, ValueError, TypeError)):
        trundle.flip(torch.zeros(3, 4), out=x)
    assert torch.equal(trundle.flip(x.detach()), torch.ones(3, 4))
    with torch.no_grad():
        assert (x == 1).all()


def test_plain_tensors_need_no_python_functions(monkeypatch, rng):
    """Functions of Python take many times as long as a small move."""
    x = random_tensor(torch.bfloat16, (3, 4), rng)
    trundle.flip(x)

    def refuse(*_, **__):
        raise AssertionError("a function of Python was called")

    for name in ("__dlpack__", "__dlpack_device__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    monkeypatch.setattr(torch, "from_dlpack", refuse)
    out = torch.zeros_like(x)
    assert_bits(trundle.flip(x), moved(x, np.flip))
    assert trundle.roll(x, 5, out=out) is out
    assert_bits(out, moved(x, lambda p: np.roll(p, 5)))
    # They need __dlpack__, or are refused.
    with pytest.raises((AssertionError, BufferError)):
        trundle.flip(x.clone().requires_grad_())


def test_subclasses_become_plain_tensors():
    class Named(torch.Tensor):
        # The module with the functions for the class.
        __module__ = "torch"

    x = torch.arange(6.0).reshape(2, 3)
    for tensor in (x.as_subclass(Named), torch.nn.Parameter(x, requires_grad=False)):
        result = trundle.flip(tensor)
        assert type(result) is torch.Tensor and torch.equal(result, torch.flip(x, (0, 1)))
        with pytest.raises(TypeError, match="out must be the same kind of array"):
            trundle.flip(x, out=tensor)


def test_tensors_are_refused_during_tracing():
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    x, out = torch.ones(2, 3), torch.zeros(2, 3)
    trundle.flip(x)
    with fake_tensor.FakeTensorMode():
        for call in (lambda: trundle.flip(x), lambda: trundle.flip(x, out=out)):
            with pytest.raises(Exception, match="Fake"):
                call()
    assert not out.any()


def test_lazy_tensors_are_refused_as_out():
    x = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]])
    for dtype, out in [
        (x.dtype, torch.zeros_like(x).conj()),
        (torch.float32, torch.zeros_like(x).conj().imag),
        (torch.float32, torch._neg_view(torch.zeros(2, 2))),
    ]:
        before = out.clone()
        with pytest.raises((RuntimeError, BufferError), match="bit"):
            trundle.flip(torch.ones(2, 2, dtype=dtype), out=out)
        with pytest.raises((RuntimeError, BufferError), match="bit"):
            trundle.flip(out)
        assert torch.equal(out, before)


def test_lazy_tensors_are_refused_or_right():
    """Deferred conjugation and negation are not in the memory."""
    x = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]])
    lazy = [x.conj(), x.conj().imag, x.t().conj()]
    worked = 0
    for tensor in lazy + [each.resolve_conj().resolve_neg() for each in lazy]:
        try:
            result = trundle.flip(tensor)
        except (RuntimeError, BufferError, ValueError, TypeError):
            continue
        assert torch.equal(result, torch.flip(tensor, (0, 1)))
        worked += 1
    # Tensors whose operations are in the memory are not refused.
    assert worked >= len(lazy)


def test_tensors_without_memory_are_refused():
    zeros = torch._efficientzerotensor(5, 4)
    # Its address is 16, which is not valid memory.
    for tensor in (zeros, zeros[1:]):
        with pytest.raises(BufferError, match="clone"):
            trundle.flip(tensor)
        assert torch.equal(trundle.flip(tensor.clone()), torch.zeros(tensor.shape))
    for tensor in (torch.ones(3, 4).to_sparse(), torch.empty(3, 4, device="meta")):
        with pytest.raises((RuntimeError, BufferError, ValueError, TypeError)):
            trundle.flip(tensor)


def test_threads_and_errors():
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(trundle.transpose(x, threads=2), x.t())
    with pytest.raises(ValueError, match="threads"):
        trundle.transpose(x, threads=0)
    with pytest.raises(IndexError, match="axis"):
        trundle.flip(x, axis=2)
    with pytest.raises(ValueError):
        trundle.permute_dims(x, (0, 0))


def test_lengths_and_copyto():
    x = torch.arange(8).reshape(2, 4)
    result = trundle.reverse_sequence(x, torch.tensor([2, 3]), axis=1, batch_axis=0)
    assert result.tolist() == [[1, 0, 2, 3], [6, 5, 4, 7]]
    result = trundle.reverse_subsequences(x, np.array([[2], [9]]), axis=1)
    assert result.tolist() == [[1, 0, 2, 3], [7, 6, 5, 4]]
    dst = torch.zeros(2, 4, dtype=x.dtype)
    trundle.copyto(dst, torch.arange(4))
    assert dst.tolist() == [[0, 1, 2, 3]] * 2
    with pytest.raises(TypeError):
        trundle.copyto(dst, torch.arange(4.0))
    with pytest.raises(ValueError):
        trundle.copyto(dst[:, :1].expand(2, 4), x)
