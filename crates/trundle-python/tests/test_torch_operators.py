"""trundle.torch: compiled, exported, differentiated and batched calls, compared with PyTorch's own functions
and einops."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trundle

torch = pytest.importorskip("torch", minversion="2.5")

import trundle.torch as tt  # noqa: E402
from trundle import _operators  # noqa: E402

LENGTHS = torch.tensor([2, 0, 3])
EACH = torch.tensor([[[2], [9], [0], [1], [3]]] * 3)

# Functions of a tensor of 3 x 5 x 4, and the PyTorch equivalents.
CALLS = {
    "roll": (lambda x: tt.roll(x, 1, 0), lambda x: torch.roll(x, 1, 0)),
    "roll of several axes": (
        lambda x: tt.roll(x, (1, -7), (0, -1)),
        lambda x: torch.roll(x, (1, -7), (0, -1)),
    ),
    "roll of an axis twice": (lambda x: tt.roll(x, (1, 2), 1), lambda x: torch.roll(x, 3, 1)),
    "roll of several axes alike": (
        lambda x: tt.roll(x, 2, (0, 2)),
        lambda x: torch.roll(x, (2, 2), (0, 2)),
    ),
    "roll of all as one": (lambda x: tt.roll(x, 7), lambda x: torch.roll(x, 7)),
    "roll of all as one, twice": (lambda x: tt.roll(x, (7, 2)), lambda x: torch.roll(x, 9)),
    "roll of no axis": (lambda x: tt.roll(x, 1, ()), lambda x: x.clone()),
    "roll by a size": (
        lambda x: tt.roll(x, x.shape[1] // 2, 1),
        lambda x: torch.roll(x, x.shape[1] // 2, 1),
    ),
    "flip": (lambda x: tt.flip(x, 1), lambda x: torch.flip(x, (1,))),
    "flip of two axes": (lambda x: tt.flip(x, (0, -1)), lambda x: torch.flip(x, (0, 2))),
    "flip of all axes": (lambda x: tt.flip(x), lambda x: torch.flip(x, (0, 1, 2))),
    "permute_dims": (lambda x: tt.permute_dims(x, (2, 0, -2)), lambda x: x.permute(2, 0, 1)),
    "transpose": (lambda x: tt.transpose(x), lambda x: x.permute(2, 1, 0)),
    "transpose in an order": (lambda x: tt.transpose(x, (1, 2, 0)), lambda x: x.permute(1, 2, 0)),
    "reverse_sequence": (
        lambda x: tt.reverse_sequence(x, LENGTHS, 1, 0),
        lambda x: reversed_rows(x, [[n] * 4 for n in (2, 0, 3)]),
    ),
    "reverse_sequence from the end": (
        lambda x: tt.reverse_sequence(x, LENGTHS, -2, -3),
        lambda x: reversed_rows(x, [[n] * 4 for n in (2, 0, 3)]),
    ),
    "reverse_subsequences": (
        lambda x: tt.reverse_subsequences(x, EACH, 2),
        lambda x: reversed_rows(x.transpose(1, 2), EACH[..., 0].tolist()).transpose(1, 2),
    ),
    "rearrange": (
        lambda x: tt.rearrange(x, "a b (c d) -> (c a) b d", d=2),
        lambda x: x.reshape(3, 5, 2, 2).permute(2, 0, 1, 3).reshape(6, 5, 2),
    ),
    "rearrange by a size": (
        lambda x: tt.rearrange(x, "a b (c d) -> (d a) b c", c=x.shape[2] // 2),
        lambda x: x.reshape(3, 5, 2, 2).permute(3, 0, 1, 2).reshape(6, 5, 2),
    ),
    "repeat": (
        lambda x: tt.repeat(x, "a b c -> 1 c (a 2) b"),
        lambda x: x.permute(2, 0, 1).repeat_interleave(2, 1)[None],
    ),
    "repeat by a size": (
        lambda x: tt.repeat(x, "... (c d) -> (n ...) d c", n=x.shape[0] - 1, d=2),
        lambda x: x.reshape(15, 2, 2).repeat(2, 1, 1).transpose(1, 2),
    ),
    "chain": (
        lambda x: tt.chain(x, "flip(axes=[2]) | a b c -> c a b | roll(1, axis=0)"),
        lambda x: torch.roll(torch.flip(x, (2,)).permute(2, 0, 1), 1, 0),
    ),
    "chain of names of axes": (
        lambda x: tt.chain(x, "a b c -> b (c a) | flip(dim=b)"),
        lambda x: torch.flip(x.permute(1, 2, 0).reshape(5, 12), (0,)),
    ),
    "chain of turns": (
        lambda x: tt.chain(x, "rot90(k=1, axes=[0, 2]) | rot90(k=-1, axes=[1, 2]) | rot90(2)"),
        lambda x: torch.rot90(torch.rot90(torch.rot90(x, 1, (0, 2)), -1, (1, 2)), 2, (0, 1)),
    ),
    "chain of new sizes": (
        lambda x: tt.chain(x, "reshape(-1, 2, 6) | transpose()"),
        lambda x: x.reshape(-1, 2, 6).permute(2, 1, 0),
    ),
    "chain with lengths": (
        lambda x: tt.chain(x, "reverse(axis=1, batch_axis=0, lengths=n)", n=LENGTHS),
        lambda x: reversed_rows(x, [[n] * 4 for n in (2, 0, 3)]),
    ),
    "chain with lengths in the text": (
        lambda x: tt.chain(x, f"a b c -> b a c | reverse(1, {[2, 3] * 10})"),
        lambda x: reversed_rows(x.transpose(0, 1), [[2, 3, 2, 3]] * 5),
    ),
    "chain of nothing": (lambda x: tt.chain(x, ""), lambda x: x.clone()),
}

# Stages without a gradient, their arguments and the PyTorch equivalents.
WITHOUT_GRADIENT = {
    "slice": ("slice(starts=[1], stops=[9], axes=[1], steps=[2])", {}, lambda x: x[:, 1:9:2]),
    "tile": ("a b c -> c b a | tile(2, 1, 1)", {}, lambda x: x.permute(2, 1, 0).repeat(2, 1, 1)),
    "pad": ("pad(1, value=9)", {}, lambda x: torch.nn.functional.pad(x, (1,) * 6, value=9)),
    "take": ("take(i, axis=1)", {"i": torch.tensor([4, 0])}, lambda x: x[:, [4, 0]]),
    "concat": ("concat(_, y, axis=0) | flip(0)", {"y": torch.ones(1, 5, 4)}, lambda x: torch.cat([x, torch.ones(1, 5, 4)]).flip(0)),
}


def reversed_rows(x, lengths):
    """The definition, with a length for each index of axes 0 and 2, along axis 1."""
    result = x.clone()
    for at, row in enumerate(lengths):
        for lane, length in enumerate(row):
            n = min(length, x.shape[1])
            result[at, :n, lane] = x[at, :n, lane].flip(0)
    return result


def example(shape=(3, 5, 4), dtype=torch.float32):
    return torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)


def compiled(function, backend="aot_eager", **options):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend=backend, **options)


def assert_new(result, expected):
    """Checks that a result is a new contiguous tensor with the expected elements."""
    assert type(result) is torch.Tensor and result.dtype == expected.dtype
    assert result.is_contiguous() and torch.equal(result, expected)


def gradient(function, x, weights):
    """The gradient of the weighted sum of a result: the weights at the positions of their sources."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad((function(x) * weights).sum(), x)[0]



def test_torch_is_imported_on_first_use():
    code = "import trundle, sys; assert 'torch' not in sys.modules; trundle.torch; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", CALLS)
def test_functions_equal_torch(name):
    ours, theirs = CALLS[name]
    for dtype in (torch.float32, torch.bool, torch.bfloat16, torch.complex64, torch.int16):
        x = example(dtype=dtype)
        assert_new(ours(x), theirs(x))
        for view in (
            example((4, 5, 3), dtype).permute(2, 1, 0),
            example((6, 5, 8), dtype)[::2, :, 1::2],
            example((1, 5, 1), dtype).expand(3, 5, 4),
        ):
            assert_new(ours(view), theirs(view))


@pytest.mark.parametrize("name", CALLS)
def test_operators_equal_torch(name, monkeypatch):
    """Also if tensors are not plain."""
    ours, theirs = CALLS[name]
    for module in (tt, _operators):
        monkeypatch.setattr(module, "is_plain", lambda x: False)
    x = example((4, 5, 3)).permute(2, 1, 0)
    assert_new(ours(x), theirs(x))


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_stages_without_a_gradient(name):
    text, given, theirs = WITHOUT_GRADIENT[name]
    x = example()
    assert_new(tt.chain(x, text, **given), theirs(x))
    for dynamic in (False, True):
        function = compiled(lambda x, given: tt.chain(x, text, **given), dynamic=dynamic)
        assert_new(function(x, given), theirs(x))
    result = tt.chain(x.requires_grad_(), text, **given)
    assert torch.equal(result, theirs(x))
    with pytest.raises(NotImplementedError, match=f"no gradient goes through the stage '{name}"):
        result.sum().backward()


def test_chain_refuses_out_and_threads():
    for keyword in ({"threads": 1}, {"out": example()}):
        with pytest.raises(TypeError, match="threads"):
            tt.chain(example(), "flip(0)", **keyword)


def test_gradients_of_extra_inputs_are_refused():
    x, y = example(), torch.ones(3, 5, 4, requires_grad=True)
    for start in (x, x.clone().requires_grad_()):
        with pytest.raises((NotImplementedError, RuntimeError, ValueError, BufferError), match="gradient|grad"):
            tt.chain(start, "concat(_, y)", y=y)
    with torch.no_grad():
        assert tt.chain(x.clone().requires_grad_(), "concat(_, y)", y=y).shape == (6, 5, 4)


def test_plain_tensors_bypass_the_operators(monkeypatch):
    """An operator takes many times as long as a small move."""
    x = example()
    expected = {name: theirs(x) for name, (_, theirs) in CALLS.items()}

    class Refusing:
        def __getattr__(self, name):
            raise AssertionError(f"the operator {name} was called")

    monkeypatch.setattr(tt, "_ops", Refusing())
    for name, (ours, _) in CALLS.items():
        assert torch.equal(ours(x), expected[name])
    z = torch.ones(3, dtype=torch.complex64)
    watched = (x.clone().requires_grad_(), torch.nn.Parameter(x), x.to("meta"), z.conj(), z.conj().imag)
    for tensor in watched:
        with pytest.raises(AssertionError, match="was called"):
            tt.flip(tensor, 0)


def test_lazy_tensors():
    z = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]])
    for x in (z.conj(), z.t().conj(), z.conj().imag, torch._neg_view(z.real)):
        assert torch.equal(tt.flip(x, 1), torch.flip(x, (1,)))
        assert torch.equal(tt.chain(x, "a b -> b a"), x.t())
        assert torch.equal(compiled(lambda x: tt.roll(x, 1))(x), torch.roll(x, 1))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 5)])
def test_shapes(shape):
    axes = tuple(range(len(shape)))
    for function, theirs in [
        (lambda x: tt.roll(x, 3), lambda x: torch.roll(x, 3)),
        (lambda x: tt.flip(x), lambda x: torch.flip(x, axes)),
        (lambda x: tt.transpose(x), lambda x: x.permute(axes[::-1])),
        (lambda x: tt.rearrange(x, "... -> (...)"), lambda x: x.reshape(-1)),
        (lambda x: tt.chain(x, "transpose() | reshape(-1)"), lambda x: x.permute(axes[::-1]).reshape(-1)),
    ]:
        x = example(shape)
        assert_new(function(x), theirs(x))
        assert_new(compiled(function)(x), theirs(x))
        weights = torch.rand(theirs(x).shape)
        assert torch.equal(gradient(function, x, weights), gradient(theirs, x, weights))
        assert_new(torch.func.vmap(function)(torch.stack([x, x])), torch.stack([theirs(x)] * 2))


def test_to_one_element_without_axes():
    x = example((1, 1))
    function = lambda x: tt.rearrange(x, "1 () ->")  # noqa: E731
    assert function(x).shape == compiled(function)(x).shape == ()
    assert gradient(function, x, 5).tolist() == [[5]]
    assert torch.func.vmap(function)(example((3, 1, 1))).tolist() == [0, 1, 2]


def test_inference_and_modes():
    x = example()
    with torch.inference_mode():
        assert torch.equal(tt.roll(example(), 1), torch.roll(example(), 1))
        assert torch.equal(tt.roll(x, 1), torch.roll(x, 1))
    with torch.no_grad():
        assert not tt.roll(x.clone().requires_grad_(), 1).requires_grad
    assert tt.permute_dims(x.to("meta"), (2, 0, 1)).shape == (4, 3, 5)
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake_tensor.FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        assert tt.rearrange(fake, "a b c -> (a b) c").shape == (15, 4)
        assert type(tt.flip(fake)) is fake_tensor.FakeTensor


def test_errors_for_traced_tensors_name_trundle_torch():
    for transform in (torch.func.vmap, lambda f: torch.func.grad(lambda v: f(v).sum())):
        with pytest.raises(TypeError, match="trundle.torch"):
            transform(lambda v: trundle.roll(v, 1))(example())



@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_compiled(name, dynamic):
    ours, theirs = CALLS[name]
    x, weights = example(), torch.rand(theirs(example()).shape)
    function = compiled(ours, dynamic=dynamic)
    assert_new(function(x), theirs(x))
    view = example((4, 5, 3)).permute(2, 1, 0)
    assert_new(function(view), theirs(view))
    expected = gradient(theirs, x, weights)
    assert torch.equal(gradient(ours, x, weights), expected)
    assert torch.equal(gradient(function, x, weights), expected)


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler of C++")
def test_compiled_by_inductor():
    def ours(x):
        windows = tt.rearrange(tt.roll(x * 2, -1, 1), "b (h p) c -> (b h) p c", p=2)
        return tt.chain(windows + 1, "flip(2) | w p c -> c w p").sum(1) / 3

    def theirs(x):
        windows = torch.roll(x * 2, -1, 1).reshape(-1, 2, 4) + 1
        return torch.flip(windows, (2,)).permute(2, 0, 1).sum(1) / 3

    x, weights = example((3, 6, 4)), torch.rand(4, 2)
    function = compiled(ours, "inductor")
    torch.testing.assert_close(function(x), theirs(x))
    torch.testing.assert_close(gradient(function, x, weights), gradient(theirs, x, weights))


# Functions of tensors of any sizes; the first size is even.
OF_ANY_SIZE = {
    "roll": lambda x: tt.roll(x, (x.shape[0] // 2, 1), (0, 2)),
    "roll of all as one": lambda x: tt.roll(x, 5),
    "flip": lambda x: tt.flip(x, (0, 2)),
    "permute_dims": lambda x: tt.permute_dims(x, (2, 0, 1)),
    "transpose": lambda x: tt.transpose(x),
    "rearrange": lambda x: tt.rearrange(x, "(a two) b c -> b (c a) two", two=2),
    "rearrange the rest": lambda x: tt.rearrange(x, "a ... -> (...) a"),
    "repeat": lambda x: tt.repeat(x, "(a two) b ... -> (a n) ... (3 b) two", two=2, n=x.shape[1]),
    "chain": lambda x: tt.chain(x, "flip(axes=[2]) | a b c -> (c a) b | roll(1, axis=0)"),
    "chain of turns": lambda x: tt.chain(x, "rot90(k=1, axes=[0, 2]) | transpose(1, 0, 2)"),
    "chain with lengths": lambda x: tt.chain(
        x, "reverse(axis=1, batch_axis=0, lengths=n)", n=torch.ones(x.shape[0], dtype=torch.int64)
    ),
    "reverse_sequence": lambda x: tt.reverse_sequence(
        x, torch.full((x.shape[0],), 2), axis=1, batch_axis=0
    ),
    "reverse_subsequences": lambda x: tt.reverse_subsequences(
        x, torch.full((x.shape[0], 1, x.shape[2]), 2), axis=1
    ),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_compiled_once_for_all_sizes(name):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")
    function = compiled(OF_ANY_SIZE[name], counter, dynamic=True)
    for shape in ((4, 3, 5), (6, 5, 3), (8, 7, 9)):
        x = example(shape).requires_grad_()
        result, expected = function(x), OF_ANY_SIZE[name](x)
        assert torch.equal(result, expected)
        weights = torch.rand(result.shape)
        (ours,) = torch.autograd.grad((result * weights).sum(), x)
        (eager,) = torch.autograd.grad((expected * weights).sum(), x)
        assert torch.equal(ours, eager)
    assert counter.frame_count == 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_exported(name, strict):
    class Model(torch.nn.Module):
        def forward(self, x):
            return OF_ANY_SIZE[name](x)

    batch = torch.export.Dim("half", min=2, max=64)
    sizes = {"x": {0: 2 * batch, 1: torch.export.Dim("b", min=2, max=64)}}
    exported = torch.export.export(Model(), (example((4, 3, 5)),), dynamic_shapes=sizes, strict=strict)
    operators = {str(node.target) for node in exported.graph.nodes}
    assert any(operator.startswith("trundle.") for operator in operators)
    for shape in ((4, 3, 5), (8, 6, 5)):
        assert torch.equal(exported.module()(example(shape)), OF_ANY_SIZE[name](example(shape)))


@pytest.mark.filterwarnings("ignore")  # sizes become numbers, and TorchScript is old
@pytest.mark.parametrize("name", CALLS)
def test_traced_for_torchscript(name):
    ours, theirs = CALLS[name]
    traced = torch.jit.trace(ours, example())
    assert torch.equal(traced(example() + 1), theirs(example() + 1))


def test_other_stages_fix_the_sizes():
    text = "a b c -> c b a | tile(2, 1, 1)"
    function = compiled(lambda x: tt.chain(x, text), dynamic=True)
    for shape in ((4, 3, 5), (6, 5, 3)):
        assert torch.equal(function(example(shape)), example(shape).permute(2, 1, 0).repeat(2, 1, 1))


def test_mistakes_raise_errors_while_tracing():
    x = example()
    for function, error in [
        (lambda x: tt.roll(x, 1, 3), "out of bounds"),
        (lambda x: tt.roll(x, (1, 2, 3), (0, 1)), "do not go"),
        (lambda x: tt.flip(x, (0, 0)), "repeated"),
        (lambda x: tt.permute_dims(x, (0, 1)), "has 3"),
        (lambda x: tt.transpose(x, (0, 1, -1)), "negative"),
        (lambda x: tt.rearrange(x, "a b -> b a"), "2 axes"),
        (lambda x: tt.rearrange(x, "(a a2) b c -> a a2 b c", a=2), "split"),
        (lambda x: tt.rearrange(x, "a b c -> a b"), "c"),
        (lambda x: tt.rearrange(x, "a b c -> a b c", z=2), "z"),
        (lambda x: tt.chain(x, "flop(0)"), "flop"),
        (lambda x: tt.chain(x, "reverse(1, n, 0)"), "n"),
        (lambda x: tt.chain(x, "flip(0)", n=LENGTHS), "n"),
        (lambda x: tt.reverse_sequence(x, LENGTHS[:2], 1, 0), "2"),
        (lambda x: tt.reverse_subsequences(x, EACH[:2], 2), "2"),
        (lambda x: tt.reverse_subsequences(x, EACH[0], 2), "2"),
    ]:
        with pytest.raises((ValueError, IndexError, TypeError, RuntimeError)):
            function(x)
        with pytest.raises(Exception, match=error):
            compiled(function)(x)
        with pytest.raises((ValueError, IndexError, TypeError, RuntimeError), match=error):
            function(x.to("meta"))



@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_gradients(name):
    ours, _ = CALLS[name]
    x = torch.rand(3, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ours, x, fast_mode=True)
    assert torch.autograd.gradgradcheck(ours, x, fast_mode=True)


@pytest.mark.parametrize("name", CALLS)
def test_batches(name):
    ours, theirs = CALLS[name]
    for axis in (0, 1, 3, -1):
        batch = torch.movedim(example((2, 3, 5, 4)), 0, axis).contiguous()
        expected = torch.stack([theirs(each) for each in batch.unbind(axis)])
        assert torch.equal(torch.func.vmap(ours, in_dims=axis)(batch), expected)
    nested = torch.func.vmap(torch.func.vmap(ours))(example((2, 2, 3, 5, 4)))
    assert torch.equal(nested[1, 0], theirs(example((2, 2, 3, 5, 4))[1, 0]))
    # A call without a batched argument.
    alone = torch.func.vmap(lambda y: ours(example()) + y)(torch.zeros(2, *theirs(example()).shape))
    assert torch.equal(alone[1], theirs(example()))


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_batches(name):
    ours, theirs = CALLS[name]
    weights = torch.rand(theirs(example()).shape)

    def of(function):
        return lambda x: (function(x) * weights).sum()

    assert torch.equal(torch.func.grad(of(ours))(example()), gradient(theirs, example(), weights))
    batch = example((2, 3, 5, 4))
    expected = torch.stack([gradient(theirs, each, weights) for each in batch])
    assert torch.equal(torch.func.vmap(torch.func.grad(of(ours)))(batch), expected)
    function = compiled(torch.func.vmap(torch.func.grad(of(ours))))
    assert torch.equal(function(batch), expected)
    summed = torch.func.grad(lambda x: (torch.func.vmap(ours)(x) * weights).sum())
    assert torch.equal(summed(batch), expected)


def test_batches_of_lengths():
    x, lengths = example((2, 3, 5, 4)), torch.tensor([[2, 0, 3], [5, 4, 1]])
    by_sequence = torch.stack([tt.reverse_sequence(a, n, 1, 0) for a, n in zip(x, lengths)])
    result = torch.func.vmap(lambda a, n: tt.reverse_sequence(a, n, 1, 0))(x, lengths)
    assert torch.equal(result, by_sequence)
    text = "reverse(axis=1, batch_axis=0, lengths=n)"
    assert torch.equal(torch.func.vmap(lambda a, n: tt.chain(a, text, n=n))(x, lengths), by_sequence)
    result = torch.func.vmap(lambda a, n: tt.reverse_sequence(a, n, -3, 2), (3, 1))(
        x.permute(2, 3, 1, 0), lengths.t()
    )
    assert torch.equal(result, by_sequence.permute(0, 2, 3, 1))
    result = torch.func.vmap(lambda n: tt.reverse_sequence(x[0], n, 1, 0))(lengths)
    assert torch.equal(result[1], tt.reverse_sequence(x[0], lengths[1], 1, 0))
    each = torch.stack([EACH, EACH.flip(1)], 1)
    result = torch.func.vmap(lambda a, n: tt.reverse_subsequences(a, n, 2), (0, 1))(x, each)
    assert torch.equal(result[1], tt.reverse_subsequences(x[1], each[:, 1], 2))
    result = torch.func.vmap(lambda n: tt.reverse_subsequences(x[0], n, -1), 1)(each)
    assert torch.equal(result[1], tt.reverse_subsequences(x[0], each[:, 1], 2))


SAMPLES = {
    "roll": [([1, -2], [0, -1]), ([3], [])],
    "flip": [([0, -1],), ([],)],
    "permute_dims": [([1, -1, 0],)],
    "reverse_sequence": [(LENGTHS, 1, 0)],
    "reverse_subsequences": [(EACH, -1)],
    "chain": [
        ("flip(0) | a b c -> (b c) a", [], [], ""),
        ("a (b b2) c -> a b (c b2), b2={} | roll(shift=[1], axes=[0])", [1], [], ""),
        ("reverse(axis=1, batch_axis=0, lengths=n)", [], [LENGTHS], "n"),
    ],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_operators_pass_torchs_opcheck(name):
    operator = getattr(torch.ops.trundle, name)
    operator = operator.given if name == "chain" else operator.default
    for arguments in SAMPLES[name]:
        for x in (
            example(),
            example().requires_grad_(),
            example((4, 5, 3)).permute(2, 1, 0).requires_grad_(),
            example(dtype=torch.complex64).requires_grad_(),
        ):
            torch.library.opcheck(operator, (x, *arguments))


# Comparisons with einops, also compiled.

FIVE_AXES = [
    "... -> ...",
    "v w x y z -> v w x y z",
    "v w x y z ... -> ... v w x y z",
    "v w x y z ... -> v ... w x y z",
    "... v w x y z -> ... v w x y z",
    "v ... z -> v ... z",
    "v ... -> v ...",
    "v ... x y z -> v (...) x y z",
    "v w x y z -> (v w) x y z",
    "v w ... -> (v w) ...",
    "v w x y z -> v w (x y) z",
    "... x y z -> ... (x y) z",
    "v w x y z -> (v w x y z)",
    "... -> (...)",
    "v w x y z -> w (x y z) v",
    "v w ... -> w (...) v",
    "v w x y z -> w (v x y) z",
    "v w ... z -> w (v ...) z",
    "v w x y z -> z y x w v",
    "v w x y z -> (z y) x (w v)",
    "v w x y z -> v (w) (x y z)",
    "v w x y z -> v 1 w x () y z 1",
    "v  w x   y z->z(w  x)y v",
]

WITH_SIZES = [
    ("b h w c -> b (c h w)", (2, 3, 4, 5), {}),
    ("b h w c -> b (c h w)", (2, 3, 4, 5), {"c": 5}),
    ("b c (h p) (w q) -> b (c p q) h w", (2, 3, 4, 6), {"p": 2, "q": 2}),
    ("b c (h p) (w q) -> (b h w) (p q c)", (2, 3, 4, 6), {"p": 2, "w": 3}),
    ("b ... c -> c b ...", (2, 3, 4), {"b": 2}),
    ("(p q) c (r s) v -> v s (p c) (q r)", (6, 3, 4, 2), {"q": 2, "s": 2}),
    ("b c () () -> c b", (2, 3, 1, 1), {}),
    ("b 1 c -> b c", (2, 1, 3), {}),
    ("a -> () () a ()", (4,), {}),
    ("(x text) pattern -> text x pattern", (4, 3), {"x": 2, "text": 2}),
    ("(a b) -> a b", (6,), {"a": 6}),
    ("(a b) ... -> b (a ...)", (6, 2, 2), {"a": 2, "b": 3}),
    ("a aa aa1 a1a1 -> a1a1 (aa a) aa1", (2, 3, 4, 5), {}),
    ("(a b) c -> a (b c)", (0, 3), {"b": 2}),
    ("->", (), {}),
    ("-> 1 1", (), {}),
]


def patterns_of_einops():
    for pattern in FIVE_AXES:
        yield pattern, (2, 3, 4, 5, 6), {}
    yield from WITH_SIZES


def check_against_einops(pattern, shape, sizes, functions):
    einops = pytest.importorskip("einops")

    def theirs(x):
        return einops.rearrange(x, pattern, **sizes)

    x = example(shape)
    expected = theirs(x)
    weights = torch.rand(expected.shape)
    for function in functions:
        assert_new(function(x), expected)
        assert torch.equal(gradient(function, x, weights), gradient(theirs, x, weights))


@pytest.mark.parametrize(("pattern", "shape", "sizes"), [*patterns_of_einops()])
def test_rearrange_equals_einops(pattern, shape, sizes):
    def ours(x):
        return tt.rearrange(x, pattern, **sizes)

    static, dynamic = compiled(ours), compiled(ours, dynamic=True)
    check_against_einops(pattern, shape, sizes, [ours, static, dynamic])


def test_rearrange_equals_einops_for_random_orders(rng):
    for rank in range(1, 9):
        order = rng.permutation(rank)
        left, right = (" ".join(f"axis{axis}" for axis in axes) for axes in (range(rank), order))
        function = lambda x: tt.rearrange(x, f"{left}->{right}")  # noqa: B023, E731
        check_against_einops(f"{left} -> {right}", (2,) * rank, {}, [function, compiled(function)])


def test_random_patterns_equal_einops(rng):
    pytest.importorskip("einops")
    from test_rearrange import random_pattern

    for number in range(200):
        pattern, shape, sizes = random_pattern(rng)
        function = lambda x: tt.rearrange(x, pattern, **sizes)  # noqa: B023, E731
        # Compiling takes a tenth of a second for each.
        functions = [function, compiled(function, dynamic=True)] if number % 10 == 0 else [function]
        check_against_einops(pattern, shape, sizes, functions)
        fake = function(example(shape).to("meta"))
        assert fake.shape == function(example(shape)).shape


def test_lists_are_stacked():
    einops = pytest.importorskip("einops")
    parts = [example((2, 3, 4)) + n for n in range(3)]

    def ours(*parts):
        return tt.rearrange(list(parts), "n a b c -> a (b n) c")

    expected = einops.rearrange(parts, "n a b c -> a (b n) c")
    assert_new(ours(*parts), expected)
    assert_new(compiled(ours)(*parts), expected)
    ours_of, theirs_of = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    weights = torch.rand(expected.shape)
    (compiled(ours)(*ours_of) * weights).sum().backward()
    (einops.rearrange(theirs_of, "n a b c -> a (b n) c") * weights).sum().backward()
    for mine, theirs in zip(ours_of, theirs_of):
        assert torch.equal(mine.grad, theirs.grad)


REPEATED = [
    ("h w -> h w c", (2, 3), {"c": 3}),
    ("h w -> (h 2) (3 w)", (2, 3), {}),
    ("h (w v) -> v (2 h) n w", (2, 6), {"v": 2, "n": 3}),
    ("... d -> b () (...) 1 d", (2, 3, 4), {"b": 2}),
    ("... -> 2 ... n", (), {"n": 3}),
    ("1 () d -> b (1 1) (1 n) (d 1)", (1, 1, 4), {"b": 2, "n": 1}),
    ("a b → (b a)", (2, 3), {}),
    ("… b -> 2 … b", (2, 3), {}),
    ("a b -> a b n", (2, 3), {"n": 0}),
    ("a b -> a b n", (0, 3), {"n": 2}),
    ("->2", (), {}),
]


@pytest.mark.parametrize(("pattern", "shape", "sizes"), REPEATED)
def test_repeat_equals_einops(pattern, shape, sizes):
    einops = pytest.importorskip("einops")

    def ours(x):
        return tt.repeat(x, pattern, **sizes)

    def theirs(x):
        plain = pattern.replace("→", "->").replace("…", "...")
        return einops.repeat(x, plain, **sizes)

    x = example(shape)
    expected = theirs(x)
    weights = torch.rand(expected.shape, dtype=torch.float64)
    summed = gradient(theirs, x.double(), weights)
    for function in (ours, compiled(ours), compiled(ours, dynamic=True)):
        assert_new(function(x), expected)
        torch.testing.assert_close(gradient(function, x.double(), weights), summed)
    assert_new(torch.func.vmap(ours)(torch.stack([x, x])), torch.stack([expected] * 2))


@pytest.mark.parametrize(
    ("pattern", "sizes", "error"),
    [
        ("a b -> a b n", {}, "n"),
        ("a b -> a b n n", {"n": 2}, "twice"),
        ("a b -> a n", {"n": 2}, "b"),
        ("a b -> a a b", {}, "a"),
        ("a b -> a b n", {"n": 2, "z": 2}, "z"),
        ("a b -> ... a b", {}, "..."),
        ("a b c -> a b c n", {"n": 2}, "3 axes"),
        ("2 b -> b", {}, "2"),
        ("a b", {}, ""),
        ("flip(0)", {}, ""),
    ],
)
def test_invalid_repeats_are_refused(pattern, sizes, error):
    einops = pytest.importorskip("einops")
    x = example((2, 3))
    with pytest.raises((einops.EinopsError, ValueError, RuntimeError, TypeError)):
        einops.repeat(x, pattern, **sizes)
    with pytest.raises(ValueError, match=re.escape(error)):
        tt.repeat(x, pattern, **sizes)
    with pytest.raises((ValueError, RuntimeError)):
        compiled(lambda x: tt.repeat(x, pattern, **sizes))(x)


def test_negative_repeats_are_refused():
    with pytest.raises(ValueError, match="0 or more"):
        tt.repeat(example((2, 3)), "a b -> a b n", n=-1)


def test_sizes_computed_from_a_shape():
    """One compiled function for tensors of several ranks."""
    einops = pytest.importorskip("einops")

    def of(rearrange):
        def function(x):
            first, second, *_ = x.shape
            x = rearrange(x, "(a two) b ... -> b (a ...) two", two=2)
            return rearrange(x, "b (a rest) two -> (two a b) rest", a=first // 2) + second

        return function

    for dynamic in (False, True):
        function = compiled(of(tt.rearrange), dynamic=dynamic)
        for shape in ((4, 5, 6, 3), (6, 3, 4, 2, 3), (8, 7, 2)):
            x = example(shape)
            assert torch.equal(function(x), of(einops.rearrange)(x))


def test_patterns_that_change_with_the_call():
    einops = pytest.importorskip("einops")

    def of(rearrange):
        return lambda x, name: rearrange(x, f"a b{name} c -> c (a b{name})") + 1

    function = compiled(of(tt.rearrange))
    for size in (2, 5, 9):
        for name in ("", "1", "_other"):
            x = example((size, size + 1, 3))
            assert torch.equal(function(x, name), of(einops.rearrange)(x, name))


@pytest.mark.parametrize(
    ("pattern", "shape", "sizes"),
    [
        ("b c h w -> b (c h w)", (10,), {}),
        ("b c h w -> b (c h w)", (2, 3, 4), {}),
        ("b c h w -> b (c h w)", (2, 3, 4, 5), {"c": 4}),
        ("b (h p) -> b h p", (2, 5), {"p": 2}),
        ("b ... c -> c b ...", (2,), {}),
        ("b ... c -> c b ...", (5, 10), {"b": 10}),
        ("b 1 c -> b c", (2, 2, 3), {}),
        ("b (...) -> b ...", (2, 3), {}),
        ("(...) -> (...)", (2,), {}),
        ("a b -> a 2 b", (2, 3), {}),
        ("a b -> a", (2, 3), {}),
        ("a a -> a", (2, 2), {}),
        ("a b", (2, 3), {}),
        ("a b -> b a | flip(0)", (2, 3), {}),
        ("flip(0)", (2, 3), {}),
        ("a b -> b a, a=2", (2, 3), {}),
    ],
)
def test_einops_and_trundle_refuse_invalid_patterns(pattern, shape, sizes):
    einops = pytest.importorskip("einops")
    x = example(shape)
    with pytest.raises((einops.EinopsError, ValueError)):
        einops.rearrange(x, pattern, **sizes)
    with pytest.raises(ValueError):
        tt.rearrange(x, pattern, **sizes)
    with pytest.raises(ValueError):
        tt.rearrange(x.to("meta"), pattern, **sizes)
    with pytest.raises((ValueError, RuntimeError)):
        compiled(lambda x: tt.rearrange(x, pattern, **sizes))(x)



@pytest.mark.parametrize("name", ["", *tt.__all__])
def test_examples_run(name):
    text = (getattr(tt, name) if name else tt).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {}, name or "trundle.torch", None, 0)
    assert examples.examples
    report = []
    assert doctest.DocTestRunner().run(examples, out=report.append).failed == 0, "".join(report)
    if name:
        assert "Error" in text


def test_every_operator_is_a_function_of_the_module():
    assert torch.equal(torch.ops.trundle.chain(example(), "flip(0)"), example().flip(0))
    for name in ("roll", "flip", "permute_dims", "reverse_sequence", "reverse_subsequences", "chain"):
        assert callable(getattr(torch.ops.trundle, name)) and name in tt.__all__


def test_examples_of_the_guide_run():
    guide = Path(__file__).parents[3] / "docs" / "python.md"
    if not guide.exists():
        pytest.skip("the guide is missing")
    section = guide.read_text(encoding="utf-8").split("## PyTorch: compiled, exported, differentiated\n")[1].split("\n## ")[0]
    names = {}
    blocks = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        # Needs no C++ compiler.
        exec(block.replace("torch.compile(", "torch.compile(backend='aot_eager', "), names)
