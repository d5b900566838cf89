"""Runs einops' own tests with `rearrange` and `repeat` replaced by the functions of `trundle.torch`: as single
calls, and compiled as a whole. numpy arrays are converted to PyTorch, so that einops' tests on numpy run too.

Results are also compared with the results of einops. LEFT_OUT has the reason for each test that is not run.
"""

import functools
import importlib
import inspect
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")
einops = pytest.importorskip("einops")
# Read when the tests are imported.
os.environ["EINOPS_TEST_BACKENDS"] = "torch"
pytest.importorskip("einops.tests.test_ops")

import einops.layers.torch  # noqa: E402
import trundle.torch as tt  # noqa: E402
from torch._dynamo.backends.debugging import aot_eager  # noqa: E402

MODULES = ("einsum", "examples", "layers", "ops", "other", "packing", "parsing")

COMPUTES = "it reduces or multiplies, and trundle does neither"
SHAPES = "it reads shapes or patterns, and moves nothing"
OTHERS = "it needs other libraries than PyTorch and numpy"
ARRAY_API = "it tests einops.array_api, whose functions are not replaced"
VIEWS = "packing reshapes, joins and cuts, for which trundle.torch has no functions"

LEFT_OUT = {
    "einsum.test_layer": COMPUTES,
    "einsum.test_functional": COMPUTES,
    "einsum.test_functional_symbolic": COMPUTES,
    "einsum.test_functional_errors": COMPUTES,
    "layers.test_rearrange_symbolic": OTHERS,
    "layers.test_reduce_imperative": COMPUTES,
    "layers.test_reduce_symbolic": OTHERS,
    "layers.test_torch_layers_scripting": "torch.jit.script takes no functions of Python packages",
    "layers.test_keras_layer": OTHERS,
    "layers.test_flax_layers": OTHERS,
    "layers.test_einmix_decomposition": COMPUTES,
    "layers.test_einmix_restrictions": COMPUTES,
    "ops.test_rearrange_array_api": ARRAY_API,
    "ops.test_reduce_array_api": ARRAY_API,
    "ops.test_reduction_imperatives": COMPUTES,
    "ops.test_reduction_symbolic": OTHERS,
    "ops.test_reduction_with_callable_imperatives": COMPUTES,
    "ops.test_enumerating_directions": SHAPES,
    "ops.test_gradients_imperatives": COMPUTES,
    "ops.test_tiling_imperatives": "it tests einops' own tile",
    "ops.test_tiling_symbolic": OTHERS,
    "ops.test_repeat_symbolic": OTHERS,
    "ops.test_repeat_array_api": ARRAY_API,
    "ops.test_reduction_imperatives_booleans": COMPUTES,
    "other.test_doctests_examples": "it tests einops' docstrings",
    "other.test_backends_installed": SHAPES,
    "other.test_optimize_transformations_numpy": "it tests how einops optimizes",
    "other.test_parse_shape_imperative": SHAPES,
    "other.test_underscore": SHAPES,
    "other.test_underscore_one": SHAPES,
    "other.test_underscore_several": SHAPES,
    "other.test_repeating": SHAPES,
    "other.test_ellipsis": SHAPES,
    "other.test_parse_with_anonymous_axes": SHAPES,
    "other.test_failures": SHAPES,
    "other.test_parse_shape_symbolic": OTHERS,
    "other.test_parse_shape_symbolic_ellipsis": OTHERS,
    "other.test_is_float_type": SHAPES,
    "other.test_einops_threading": "it tests how einops finds libraries",
    "packing.test_numpy_trivial": VIEWS,
    "packing.test_pack_unpack_with_numpy": VIEWS,
    "packing.test_pack_unpack_against_numpy": VIEWS,
    "packing.test_pack_unpack_array_api": ARRAY_API,
    "parsing.test_anonymous_axes": SHAPES,
    "parsing.test_elementary_axis_name": SHAPES,
    "parsing.test_invalid_expressions": SHAPES,
    "parsing.test_parse_expression": SHAPES,
}


def einops_tests():
    for name in MODULES:
        module = importlib.import_module(f"einops.tests.test_{name}")
        for member, function in inspect.getmembers(module, inspect.isfunction):
            if member.startswith("test_"):
                yield f"{name}.{member}", function


RUN = {name: function for name, function in einops_tests() if name not in LEFT_OUT}


def eager(function):
    return function


def compiled(function):
    def call(*arguments, **sizes):
        torch._dynamo.reset()
        return torch.compile(function, fullgraph=True, backend="aot_eager")(*arguments, **sizes)

    return call


class Replaced:
    def __init__(self, name, way):
        self.theirs, self.ours = getattr(einops, name), getattr(tt, name)
        self.way, self.calls = way(self.ours), 0

    def __call__(self, x, pattern, **sizes):
        if torch.compiler.is_compiling():
            return self.ours(x, pattern, **sizes)
        self.calls += 1
        expected = self.theirs(x, pattern, **sizes)
        result = self.moved(x, pattern, sizes)
        assert type(result) is type(expected) and result.dtype == expected.dtype
        assert torch.equal(torch.as_tensor(result), torch.as_tensor(expected))
        return result

    def moved(self, x, pattern, sizes):
        is_numpy = isinstance(x[0] if isinstance(x, list) else x, (np.ndarray, np.generic))
        if not is_numpy:
            return self.way(x, pattern, **sizes)
        tensors = [torch.as_tensor(part) for part in x] if isinstance(x, list) else torch.as_tensor(x)
        return self.way(tensors, pattern, **sizes).numpy()


class Rearrange(torch.nn.Module):
    def __init__(self, pattern, **sizes):
        super().__init__()
        self.pattern, self.sizes = pattern, sizes

    def forward(self, x):
        if not torch.compiler.is_compiling():
            Rearrange.calls += 1
        return tt.rearrange(x, self.pattern, **self.sizes)


class Graphs:
    """Needs no C++ compiler."""

    def __init__(self):
        self.operators = 0

    def __call__(self, graph, inputs):
        names = [str(node.target) for node in graph.graph.nodes]
        self.operators += sum(name.startswith("trundle.") for name in names)
        return aot_eager(graph, inputs)


@pytest.fixture(params=[eager, compiled], ids=lambda way: way.__name__)
def replaced(request, monkeypatch):
    """Replaces functions of einops in all modules that import them."""
    functions = {name: Replaced(name, request.param) for name in ("rearrange", "repeat")}
    modules = [einops, *(importlib.import_module(f"einops.tests.test_{name}") for name in MODULES)]
    for name, function in functions.items():
        for module in modules:
            if getattr(module, name, None) is function.theirs:
                monkeypatch.setattr(module, name, function)
    monkeypatch.setattr(einops.layers.torch, "Rearrange", Rearrange)
    monkeypatch.setattr(Rearrange, "calls", 0, raising=False)
    graphs = Graphs()
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=graphs))
    torch._dynamo.reset()
    yield lambda: sum(function.calls for function in functions.values()) + Rearrange.calls, graphs
    torch._dynamo.reset()


@pytest.mark.parametrize("name", RUN)
def test_einops_own_test_passes(name, replaced):
    # Sums in these tests are rounded, in an order that a compiler may change.
    torch.manual_seed(0)
    calls, graphs = replaced
    RUN[name]()
    assert calls() > 0
    assert "compile" not in name or graphs.operators > 0
