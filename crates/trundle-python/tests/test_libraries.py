"""Special objects of other libraries.

The libraries are large, so classes with the same names and behaviour replace most of them. Installed
libraries are tested directly.
"""

import importlib.util
import sys
import types

import numpy as np
import pytest
import trundle

from arrays import assert_new, assert_same_bits, random_array
from test_kinds import ALL, Shared


def is_installed(name):
    return importlib.util.find_spec(name) is not None


# Traced arrays have a shape, but no elements.


def traced_class(package, name, base=object, **members):
    return type(name, (base,), {"__module__": f"{package}._src.interpreters", **members})


def no_device(self):
    raise AttributeError(f"{type(self).__name__} has no attribute __dlpack_device__")


def no_elements(self, *_, **__):
    raise NotImplementedError("no elements")


TRACERS = {
    "jit": ("jax", "DynamicJaxprTracer", "jax.jit", "jax.pure_callback"),
    "vmap": ("jax", "BatchTracer", "jax.vmap", "jax.pure_callback"),
    "grad": ("jax", "LinearizeTracer", "jax.grad", "jax.pure_callback"),
    "jvp": ("jax", "JVPTracer", "jax.jvp", "jax.pure_callback"),
    "another of jax": ("jax", "NewTracer", "jax", "jax.pure_callback"),
    "torch.export": ("torch", "FakeTensor", "torch.export", "trundle.torch"),
    "torch.fx": ("torch", "Proxy", "torch.fx", "trundle.torch"),
    "tf.function": ("tensorflow", "SymbolicTensor", "tf.function", "tf.numpy_function"),
    "keras": ("keras", "KerasTensor", "a Keras model", "tf.numpy_function"),
}


@pytest.mark.parametrize("by_dlpack", [True, False])
@pytest.mark.parametrize("name", TRACERS)
def test_traced_arrays_are_refused_by_name(name, by_dlpack):
    package, kind, by, instead = TRACERS[name]
    shares = {"__dlpack__": no_elements, "__dlpack_device__": no_device} if by_dlpack else {}
    traced = traced_class(package, kind, __array__=no_elements, **shares)()
    words = f"x is traced by {by}.*{kind}.*{instead}"
    for call in (lambda: trundle.roll(traced, 1), lambda: trundle.chain("flip(0)")(traced)):
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(TypeError, match=f"lengths is traced by {by}"):
        trundle.reverse_sequence(np.zeros((2, 3)), traced, 1, 0)
    for function in (trundle.take, trundle.take_along_axis):
        with pytest.raises(TypeError, match=words):
            function(traced, [0])
        with pytest.raises(TypeError, match=f"indices is traced by {by}"):
            function(np.zeros((2, 3)), traced)
    for function in (trundle.repeat, trundle.tile, trundle.broadcast_to, trundle.sliding_window_view):
        with pytest.raises(TypeError, match=words):
            function(traced, 2)
    with pytest.raises(TypeError, match=words):
        trundle.pad(traced, 1, mode="edge")
    with pytest.raises(TypeError, match=f"n is traced by {by}"):
        trundle.chain("reverse(1, n, 0)")(np.zeros((2, 3)), n=traced)


def test_errors_of_untraced_objects_are_passed_on():
    broken = traced_class("jax", "Array", __dlpack__=no_elements, __dlpack_device__=no_device)()
    with pytest.raises(AttributeError, match="__dlpack_device__"):
        trundle.flip(broken)


@pytest.mark.skipif(not is_installed("jax"), reason="jax is not installed")
def test_jax():
    import jax
    import jax.numpy as jnp

    x = jnp.arange(12.0).reshape(3, 4)
    assert isinstance(trundle.roll(x, 1, 0), jax.Array)
    for by, transform in {
        "jax.jit": jax.jit,
        "jax.vmap": jax.vmap,
        "jax.grad": lambda f: jax.grad(lambda v: f(v).sum()),
    }.items():
        with pytest.raises(TypeError, match=f"x is traced by {by}.*jax.pure_callback"):
            transform(lambda v: trundle.roll(v, 1))(x)
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    by_callback = jax.jit(lambda v: jax.pure_callback(lambda a: trundle.roll(a, 1, 0), result, v))
    assert jnp.array_equal(by_callback(x), jnp.roll(x, 1, 0))


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed")
def test_arrays_traced_by_torch_are_refused():
    import torch

    x = torch.arange(12.0).reshape(3, 4)
    if hasattr(torch, "func"):
        for transform in (torch.func.vmap, lambda f: torch.func.grad(lambda v: f(v).sum())):
            with pytest.raises(TypeError, match="x is traced by torch.func"):
                transform(lambda v: trundle.roll(v, 1))(x)
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake_tensor.FakeTensorMode():
        fake = torch.empty(3, 4)
    with pytest.raises(TypeError, match="x is traced by torch.export.*FakeTensor"):
        trundle.roll(fake, 1)
    # A tensor with a gradient is not traced.
    with pytest.raises((RuntimeError, BufferError), match="grad"):
        trundle.roll(x.clone().requires_grad_(), 1)



class EagerTensor:
    """Like TensorFlow's tensors: DLPack of strings aborts the process."""

    def __init__(self, array):
        self.array = np.asarray(array)
        self.dtype = types.SimpleNamespace(
            name="string" if self.array.dtype == object else self.array.dtype.name,
            as_numpy_dtype=object if self.array.dtype == object else self.array.dtype.type,
        )

    def __dlpack__(self, *, stream=None, **_):
        assert self.array.dtype != object, "TensorFlow would have ended the process"
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        assert self.array.dtype != object, "TensorFlow would have ended the process"
        return (1, 0)

    def __array__(self, *_, **__):
        return self.array


class ResourceVariable:
    """Has a tensor, but is not one."""

    def __init__(self, value):
        self._value = value

    def value(self):
        return self._value

    def __array__(self, *_, **__):
        return self._value.array


class Capsule:
    """Wraps a capsule, because numpy requires an object with `__dlpack__`."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.fixture
def tensorflow(monkeypatch):
    def from_dlpack(capsule):
        assert type(capsule).__name__ == "PyCapsule"
        return EagerTensor(np.from_dlpack(Capsule(capsule)))

    module = types.ModuleType("tensorflow")
    module.experimental = types.SimpleNamespace(
        dlpack=types.SimpleNamespace(from_dlpack=from_dlpack)
    )
    module.stack = lambda tensors: EagerTensor(np.stack([tensor.array for tensor in tensors]))
    for kind in (EagerTensor, ResourceVariable):
        monkeypatch.setattr(kind, "__module__", "tensorflow.python.framework.ops")
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


@pytest.mark.parametrize("name", ALL)
def test_tensors_of_tensorflow(tensorflow, name, rng):
    call, move = ALL[name]
    # The arrays that replace tensors have bools in DLPack since numpy 1.25.
    has_bool = np.lib.NumpyVersion(np.__version__) >= "1.25.0"
    for dtype in ("f4", "i8", "c16", *(["?"] if has_bool else [])):
        x = random_array(dtype, (3, 4), rng)
        for given in (EagerTensor(x), ResourceVariable(EagerTensor(x))):
            result = call(given)
            assert type(result) is EagerTensor
            assert_same_bits(result.array, move(x))
            assert not np.may_share_memory(result.array, x)


def test_tensors_of_tensorflow_are_read_only(tensorflow):
    out = EagerTensor(np.zeros(3))
    with pytest.raises(ValueError, match="out array is read-only"):
        trundle.flip(EagerTensor(np.arange(3.0)), out=out)
    assert not out.array.any()


def test_strings_of_tensorflow_are_refused_before_sharing(tensorflow):
    for array in (np.array([b"a"], object), np.array(b"a", object)):
        with pytest.raises(TypeError, match="x has elements of type string.*references"):
            trundle.flip(EagerTensor(array))


def test_lengths_of_tensorflow(tensorflow):
    x = np.arange(8).reshape(2, 4)
    result = trundle.reverse_sequence(EagerTensor(x), EagerTensor([2, 3]), 1, 0)
    assert result.array.tolist() == [[1, 0, 2, 3], [6, 5, 4, 7]]


@pytest.mark.skipif(not is_installed("tensorflow"), reason="tensorflow is not installed")
def test_tensorflow():
    import tensorflow as tf

    x = tf.constant(np.arange(12.0).reshape(3, 4))
    theirs = tf.reverse_sequence(x, [2, 0, 4], seq_axis=1, batch_axis=0)
    ours = trundle.reverse_sequence(x, [2, 0, 4], axis=1, batch_axis=0)
    assert isinstance(ours, type(x)) and ours.dtype == x.dtype
    assert np.array_equal(ours, theirs)
    assert isinstance(trundle.flip(tf.Variable(x)), type(x))
    for name in ("bool", "uint8", "bfloat16", "half", "int64", "complex128"):
        y = tf.cast(x, name)
        assert trundle.transpose(y).dtype == y.dtype
        assert np.array_equal(trundle.transpose(y).numpy(), y.numpy().T)
    for strings in (tf.constant(["a"]), tf.constant("a")):
        with pytest.raises(TypeError, match="string"):
            trundle.flip(strings)
    with pytest.raises(TypeError, match="x is traced by tf.function"):
        tf.function(lambda v: trundle.flip(v))(x)
    with pytest.raises(ValueError, match="read-only"):
        trundle.flip(x, out=tf.zeros_like(x))



class Stackable(Shared):
    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(
            from_dlpack=lambda x: Stackable(np.from_dlpack(x)),
            stack=lambda all: Stackable(np.stack([one._array for one in all])),
        )


def test_lists_of_tensors_are_stacked_by_their_library(rng):
    parts = [random_array("f4", (2, 3), rng) for _ in range(4)]
    expected = np.stack(parts)
    for given in ([Stackable(part) for part in parts], tuple(Stackable(part) for part in parts)):
        result = trundle.rearrange(given, "n a b -> a n b")
        assert type(result) is Stackable
        assert_same_bits(result._array, expected.transpose(1, 0, 2))
        assert_same_bits(trundle.flip(given, 0)._array, expected[::-1])
    assert_new(trundle.flip(parts, 0), expected, expected[::-1])


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed")
def test_lists_of_torch_tensors_are_stacked():
    import torch

    parts = [torch.arange(6.0).reshape(2, 3) + n for n in range(4)]
    result = trundle.rearrange(parts, "n a b -> a n b")
    assert torch.equal(result, torch.stack(parts).permute(1, 0, 2))



class Lazy:
    """Has the method of Dask collections and xarray arrays that tells whether they consist of tasks."""

    def __init__(self, graph):
        self.graph = graph

    def __dask_graph__(self):
        return self.graph

    def __array__(self, *_, **__):
        assert self.graph is None, "the whole array would have been computed"
        return np.arange(3)


def test_lazy_arrays_are_not_computed():
    lazy = Lazy({"task": 1})
    for given in (lazy, [lazy, lazy]):
        with pytest.raises(TypeError, match=r"x is lazy .*x.compute\(\).*map_blocks"):
            trundle.roll(given, 1)
    assert trundle.flip(Lazy(None)).tolist() == [2, 1, 0]


def test_dask():
    da = pytest.importorskip("dask.array")

    x = np.arange(12).reshape(3, 4)
    lazy = da.from_array(x, chunks=(1, 4))
    with pytest.raises(TypeError, match="x is lazy"):
        trundle.flip(lazy)
    flipped = lazy.map_blocks(lambda block: trundle.flip(block, 1))
    assert np.array_equal(flipped.compute(), x[:, ::-1])


class Sparse:
    def toarray(self):
        raise AssertionError("toarray must not be called")


@pytest.mark.parametrize(
    "thing",
    [None, {1, 2}, {"a": 1}, object(), iter([1]), lambda: 1, Sparse()],
    ids=lambda thing: type(thing).__name__,
)
def test_objects_that_are_not_arrays_are_refused(thing):
    kind = type(thing).__name__
    with pytest.raises(TypeError, match=f"x must be an array .*not {kind}") as caught:
        trundle.roll(thing, 1)
    assert ("x.toarray()" in str(caught.value)) == isinstance(thing, Sparse)
    with pytest.raises(TypeError, match=f"src must be an array .*not {kind}"):
        trundle.copyto(np.zeros(3), thing)
