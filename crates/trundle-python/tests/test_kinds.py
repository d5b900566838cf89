"""Subclasses of numpy arrays, objects that numpy converts, and arrays of other libraries through DLPack."""

import array
import types

import numpy as np
import pytest
import trundle

from arrays import assert_new, assert_same_bits, random_array, reversed_subsequences

LENGTHS = np.array([[2], [0], [4]])
INDICES = np.array([[3, 0], [-1, -2], [1, 1]])

# Functions that keep the class of an array, and functions that do not, for shape (3, 4).
KEEPING = {
    "roll": (lambda x, **rest: trundle.roll(x, 5, **rest), lambda p: np.roll(p, 5)),
    "roll axes": (
        lambda x, **rest: trundle.roll(x, (1, 2), axis=(0, 1), **rest),
        lambda p: np.roll(p, (1, 2), (0, 1)),
    ),
    "permute_dims": (lambda x, **rest: trundle.permute_dims(x, (1, 0), **rest), np.transpose),
    "transpose": (trundle.transpose, np.transpose),
    "flip": (lambda x, **rest: trundle.flip(x, axis=1, **rest), lambda p: np.flip(p, 1)),
    "reverse_subsequences": (
        lambda x, **rest: trundle.reverse_subsequences(x, LENGTHS, axis=1, **rest),
        lambda p: reversed_subsequences(p, LENGTHS, 1),
    ),
    "reverse_sequence": (
        lambda x, **rest: trundle.reverse_sequence(x, LENGTHS[:, 0], axis=1, batch_axis=0, **rest),
        lambda p: reversed_subsequences(p, LENGTHS, 1),
    ),
    "rot90": (trundle.rot90, np.rot90),
    "moveaxis": (lambda x, **rest: trundle.moveaxis(x, 0, 1, **rest), np.transpose),
    "swapaxes": (lambda x, **rest: trundle.swapaxes(x, 0, 1, **rest), np.transpose),
    "take": (
        lambda x, **rest: trundle.take(x, [2, 0, 0, -1, 1], axis=1, **rest),
        lambda p: p.take([2, 0, 0, 3, 1], 1),
    ),
    "take_along_axis": (
        lambda x, **rest: trundle.take_along_axis(x, INDICES, axis=1, **rest),
        lambda p: np.take_along_axis(p, INDICES, 1),
    ),
    "repeat": (lambda x, **rest: trundle.repeat(x, 2, 1, **rest), lambda p: p.repeat(2, 1)),
    "repeat each": (
        lambda x, **rest: trundle.repeat(x, [1, 0, 3], axis=0, **rest),
        lambda p: p.repeat([1, 0, 3], 0),
    ),
    "tile": (lambda x, **rest: trundle.tile(x, (2, 3), **rest), lambda p: np.tile(p, (2, 3))),
}

PLAIN = {
    "ascontiguousarray": (trundle.ascontiguousarray, np.copy),
    "fftshift": (trundle.fftshift, np.fft.fftshift),
    "ifftshift": (trundle.ifftshift, np.fft.ifftshift),
    "chain": (trundle.chain("a b -> b a"), np.transpose),
    "broadcast_to": (
        lambda x, **rest: trundle.broadcast_to(x, (2, 3, 4), **rest),
        lambda p: np.broadcast_to(p, (2, 3, 4)),
    ),
    "sliding_window_view": (
        lambda x, **rest: trundle.sliding_window_view(x, (2, 3), **rest),
        lambda p: np.lib.stride_tricks.sliding_window_view(p, (2, 3)),
    ),
    "pad": (
        lambda x, **rest: trundle.pad(x, ((1, 0), (2, 3)), mode="reflect", **rest),
        lambda p: np.pad(p, ((1, 0), (2, 3)), mode="reflect"),
    ),
}

REARRANGE = {
    "rearrange": (lambda x: trundle.rearrange(x, "a b -> (b a)"), lambda p: p.T.reshape(-1))
}

ALL = {**KEEPING, **PLAIN, **REARRANGE}
WITH_OUT = {**KEEPING, **PLAIN}



class Tagged(np.ndarray):
    def __array_finalize__(self, source):
        self.tag = getattr(source, "tag", None)
        self.finalized = type(source)


def tagged(x):
    x = x.view(Tagged)
    x.tag = ("a tag",)
    return x


@pytest.mark.parametrize("name", KEEPING)
def test_subclasses_are_kept(name, rng):
    call, move = KEEPING[name]
    x = tagged(random_array("f4", (3, 4), rng))
    result = call(x)
    assert type(result) is Tagged and result.tag is x.tag and result.finalized is Tagged
    assert_same_bits(np.asarray(result), move(np.asarray(x)))
    assert not np.may_share_memory(result, x) and result.flags.c_contiguous


@pytest.mark.parametrize("name", {**PLAIN, **REARRANGE})
def test_subclasses_become_plain_arrays(name, rng):
    call, move = ALL[name]
    x = tagged(random_array("f4", (3, 4), rng))
    assert_new(call(x), x, move(np.asarray(x)))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", KEEPING)
def test_subclasses_of_numpy_are_kept(name, tmp_path, rng):
    call, move = KEEPING[name]
    x = random_array("i4", (3, 4), rng)
    mapped = np.memmap(tmp_path / "x", "i4", "w+", shape=(3, 4))
    mapped[...] = x
    fields = [("a", "u2"), ("b", "u2")]
    for of_class in (x.view(np.matrix), mapped, x.view(fields).view(np.recarray)):
        result = call(of_class)
        assert type(result) is type(of_class)
        assert_same_bits(np.asarray(result).view("i4"), move(x))


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_may_be_of_a_subclass(name, rng):
    call, move = WITH_OUT[name]
    for x in (random_array("f4", (3, 4), rng), tagged(random_array("f4", (3, 4), rng))):
        expected = move(np.asarray(x))
        out = np.zeros(expected.shape, "f4").view(Tagged)
        out.tag = "of out"
        assert call(x, out=out) is out
        assert_same_bits(np.asarray(out), expected)
        assert out.tag == "of out"


def test_a_read_only_memmap(tmp_path, rng):
    x = random_array("f8", (30, 40), rng)
    x.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", "f8", "r", shape=(30, 40))
    assert_same_bits(np.asarray(trundle.transpose(mapped)), x.T)
    with pytest.raises(ValueError, match="out"):
        trundle.roll(mapped, 1, out=mapped)


def test_errors_of_a_subclass_are_passed_on():
    class Failing(np.ndarray):
        def __array_finalize__(self, source):
            if isinstance(source, Failing):
                raise ZeroDivisionError("of its own")

    x = np.zeros((3, 4)).view(Failing)
    with pytest.raises(ZeroDivisionError, match="of its own"):
        trundle.roll(x, 1)


@pytest.mark.parametrize("shape", [(3, 4), (2000, 3000)])
def test_a_subclass_that_resizes_new_arrays_is_refused(shape):
    class Shrinking(np.ndarray):
        def __array_finalize__(self, source):
            if isinstance(source, Shrinking):
                self.resize((1,) * self.ndim, refcheck=False)

    x = np.ndarray.__new__(Shrinking, shape)
    with pytest.raises(ValueError, match="Shrinking"):
        trundle.roll(x, 1)


@pytest.mark.parametrize("name", ALL)
def test_masked_arrays_are_refused(name):
    call, _ = ALL[name]
    with pytest.raises(TypeError, match="mask"):
        call(np.ma.masked_array(np.zeros((3, 4)), np.eye(3, 4)))
    if name in WITH_OUT:
        with pytest.raises(TypeError, match="out"):
            call(np.zeros((3, 4)), out=np.ma.zeros((3, 4)))


def test_masked_arrays_are_refused_by_copyto():
    with pytest.raises(TypeError, match="mask"):
        trundle.copyto(np.zeros(3), np.ma.zeros(3))
    with pytest.raises(TypeError, match="mask"):
        trundle.copyto(np.ma.zeros(3), np.zeros(3))



def references():
    yield np.full((3, 4), None)
    yield np.zeros((3, 4), [("a", "i4"), ("b", object)])
    yield np.zeros((3, 4), [("a", [("b", object, 2)])])
    yield [[None] * 4] * 3
    yield np.full((0, 4), None)
    if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
        yield np.full((3, 4), "text", np.dtypes.StringDType())


@pytest.mark.parametrize("name", ALL)
def test_references_are_refused(name):
    call, _ = ALL[name]
    message = "^[axm] has elements of type .*, which are references to Python objects"
    for x in references():
        with pytest.raises(TypeError, match=message):
            call(x)


def test_references_are_refused_by_copyto():
    for x in references():
        with pytest.raises(TypeError):
            trundle.copyto(np.zeros((3, 4)), x)
        if isinstance(x, np.ndarray):
            before = x.copy()
            with pytest.raises(TypeError):
                trundle.copyto(x, x.copy())
            with pytest.raises(TypeError):
                trundle.flip(x, out=x)
            assert (x == before).all()



class ArrayLike:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


LIKE_ARRAYS = {
    "nested lists": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
    "tuples of floats": ((1.0, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12)),
    "list of arrays": [np.arange(4, dtype="u2")] * 3,
    "texts": [list("abcd"), list("efgh"), list("ijkl")],
    "ranges": [range(4)] * 3,
    "an object with __array__": ArrayLike(np.arange(12, dtype=">i2").reshape(3, 4)),
    "memoryview": memoryview(bytes(range(12))).cast("B", (3, 4)),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("like", LIKE_ARRAYS)
def test_objects_that_numpy_converts(name, like):
    call, move = ALL[name]
    x = np.asarray(LIKE_ARRAYS[like])
    assert_new(call(LIKE_ARRAYS[like]), x, move(x))


@pytest.mark.parametrize(
    "number", [5, 2.5, True, 1j, "text", b"bytes", np.float32(2), np.datetime64("2020-01-01")]
)
def test_scalars(number):
    x = np.asarray(number)
    for call in (
        lambda x: trundle.roll(x, 3),
        trundle.flip,
        trundle.transpose,
        trundle.fftshift,
        trundle.chain(),
    ):
        assert_new(call(number), x, x)
    assert_new(trundle.ascontiguousarray(number), x, x.reshape(1))


def test_buffers():
    x = array.array("h", range(-5, 5))
    assert_new(trundle.roll(x, 3), np.asarray(x), np.roll(x, 3))



class Shared:
    """Has only the two methods of DLPack and the namespace of the Array API."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **keywords):
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)

    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(from_dlpack=lambda x: Shared(np.from_dlpack(x)))


class SharedWithoutVersion(Shared):
    """__dlpack__ has no version argument, only a stream."""

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__()

    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(from_dlpack=lambda x: SharedWithoutVersion(np.from_dlpack(x)))


class OnGpu(Shared):
    def __dlpack__(self, **keywords):
        raise AssertionError("an array on another device must not be requested")

    def __dlpack_device__(self):
        return (2, 0)


class OfJax(Shared):
    """Immutable, but not marked as read-only."""

    __module__ = "jaxlib._jax"


class WithoutNamespace(Shared):
    __array_namespace__ = None

    def __getattribute__(self, name):
        if name == "__array_namespace__":
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", [Shared, SharedWithoutVersion])
@pytest.mark.parametrize("name", ALL)
def test_dlpack(kind, name, rng):
    call, move = ALL[name]
    for dtype in ("u1", "i2", "f4", "f8", "c16", "i8", "f2"):
        for x in (random_array(dtype, (3, 4), rng), random_array(dtype, (8, 6), rng).T[::2, ::2]):
            result = call(kind(x))
            assert type(result) is kind
            assert_same_bits(result._array, move(x))
            assert not np.may_share_memory(result._array, x)
            if name in WITH_OUT:
                out = kind(np.zeros(move(x).shape, dtype))
                assert call(kind(x), out=out) is out
                assert_same_bits(out._array, move(x))


def test_out_must_be_of_the_same_kind():
    shared, plain = Shared(np.zeros((3, 4))), np.zeros((3, 4))
    for x, out in [
        (shared, plain),
        (plain, shared),
        (shared, [0.0]),
        (shared, SharedWithoutVersion(plain)),
    ]:
        with pytest.raises(TypeError, match="out"):
            trundle.flip(x, out=out)
    for out, error in [
        (Shared(np.zeros((3, 4), "f4")), TypeError),
        (Shared(np.zeros((4, 3))), ValueError),
        (Shared(np.broadcast_to(0.0, (3, 4))), (ValueError, BufferError)),
        (Shared(np.lib.stride_tricks.as_strided(plain, (3, 4), (8, 8))), ValueError),
    ]:
        with pytest.raises(error):
            trundle.flip(shared, out=out)
    assert not plain.any()


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="this numpy does not share read-only arrays"
)
def test_read_only_dlpack_arrays():
    frozen = np.arange(12.0).reshape(3, 4)
    frozen.flags.writeable = False
    result = trundle.flip(Shared(frozen))
    assert_same_bits(result._array, np.flip(frozen))
    with pytest.raises((ValueError, BufferError)):
        trundle.flip(Shared(np.ones((3, 4))), out=Shared(frozen))
    assert frozen[0, 1] == 1


def test_immutable_arrays_are_refused_as_out():
    result = trundle.flip(OfJax(np.arange(3)))
    assert result._array.tolist() == [2, 1, 0]
    out = OfJax(np.zeros(3, int))
    with pytest.raises(ValueError, match="out.*read-only"):
        trundle.flip(OfJax(np.arange(3)), out=out)
    with pytest.raises(ValueError, match="dst.*read-only"):
        trundle.copyto(out, OfJax(np.arange(3)))
    assert not out._array.any()


def test_arrays_on_another_device_are_refused():
    with pytest.raises((ValueError, BufferError), match="x.*device"):
        trundle.flip(OnGpu(np.zeros(3)))


def test_arrays_without_from_dlpack_need_out():
    with pytest.raises(TypeError, match="from_dlpack"):
        trundle.flip(WithoutNamespace(np.zeros(3)))
    out = WithoutNamespace(np.zeros(3))
    assert trundle.flip(WithoutNamespace(np.arange(3.0)), out=out) is out
    assert out._array.tolist() == [2, 1, 0]


def test_copyto_between_kinds():
    dst = np.zeros((2, 3))
    trundle.copyto(Shared(dst), Shared(np.arange(3.0)))
    assert dst.tolist() == [[0, 1, 2]] * 2


def test_lengths_of_any_kind():
    x = np.arange(8).reshape(2, 4)
    result = trundle.reverse_sequence(x, Shared(np.array([2, 3])), axis=1, batch_axis=0)
    assert result.tolist() == [[1, 0, 2, 3], [6, 5, 4, 7]]



@pytest.mark.parametrize("name", ALL)
def test_array_api_strict(name, rng):
    xp = pytest.importorskip("array_api_strict")
    call, move = ALL[name]
    for dtype in ("float32", "int64", "uint8", "bool", "complex128"):
        plain = random_array(dtype, (3, 4), rng)
        x = xp.asarray(plain)
        result = call(x)
        assert type(result) is type(x) and result.dtype == x.dtype
        assert_same_bits(np.from_dlpack(result), move(plain))
        # The result is usable by the library.
        assert xp.permute_dims(result, tuple(range(result.ndim))[::-1]).shape == result.shape[::-1]
        if name in WITH_OUT:
            out = xp.zeros(result.shape, dtype=x.dtype)
            assert call(x, out=out) is out
            assert_same_bits(np.from_dlpack(out), move(plain))


def test_array_api_strict_signatures_and_meaning(rng):
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray(random_array("int16", (3, 4, 5), rng))
    for ours, theirs in [
        (trundle.roll(x, 3), xp.roll(x, 3)),
        (trundle.roll(x, (1, -2), axis=(0, 2)), xp.roll(x, (1, -2), axis=(0, 2))),
        (trundle.flip(x), xp.flip(x)),
        (trundle.flip(x, axis=-1), xp.flip(x, axis=-1)),
        (trundle.permute_dims(x, (2, 0, 1)), xp.permute_dims(x, (2, 0, 1))),
        (trundle.moveaxis(x, 0, 2), xp.moveaxis(x, 0, 2)),
    ]:
        assert xp.all(ours == theirs)
