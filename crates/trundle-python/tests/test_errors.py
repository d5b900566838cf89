"""numpy's exceptions, with messages that name argument and values."""

import importlib.metadata
import re

import numpy as np
import pytest
import trundle

from arrays import AxisError

X = np.arange(24.0).reshape(2, 3, 4)

# The call, the numpy equivalent, and a pattern of the message.
AS_NUMPY = {
    "roll axis": (lambda: trundle.roll(X, 1, axis=3), lambda: np.roll(X, 1, axis=3), "axis 3 .*3"),
    "roll axis below": (
        lambda: trundle.roll(X, 1, axis=-4),
        lambda: np.roll(X, 1, axis=-4),
        "axis -4 .*3",
    ),
    "roll one of axes": (
        lambda: trundle.roll(X, 1, axis=(0, 5)),
        lambda: np.roll(X, 1, axis=(0, 5)),
        "axis.* 5 .*3",
    ),
    "roll axis of rank 0": (
        lambda: trundle.roll(3.0, 1, axis=0),
        lambda: np.roll(3.0, 1, axis=0),
        "axis 0 .*0",
    ),
    "permute_dims": (
        lambda: trundle.permute_dims(X, (0, 1, 3)),
        lambda: np.transpose(X, (0, 1, 3)),
        "ax[ei]s.* 3 .*3",
    ),
    "permute_dims below": (
        lambda: trundle.permute_dims(X, (0, 1, -4)),
        lambda: np.transpose(X, (0, 1, -4)),
        "ax[ei]s.* -4 .*3",
    ),
    "flip": (lambda: trundle.flip(X, axis=3), lambda: np.flip(X, axis=3), "axis 3 .*3"),
    "flip one of axes": (
        lambda: trundle.flip(X, axis=(0, -4)),
        lambda: np.flip(X, axis=(0, -4)),
        "axis.* -4 .*3",
    ),
    "flip of rank 0": (
        lambda: trundle.flip(np.array(1), axis=0),
        lambda: np.flip(np.array(1), axis=0),
        "axis 0 .*0",
    ),
    "moveaxis source": (
        lambda: trundle.moveaxis(X, 3, 0),
        lambda: np.moveaxis(X, 3, 0),
        "source.*3",
    ),
    "moveaxis destination": (
        lambda: trundle.moveaxis(X, 0, -4),
        lambda: np.moveaxis(X, 0, -4),
        "destination.*-4",
    ),
    "swapaxes 1": (lambda: trundle.swapaxes(X, 3, 0), lambda: np.swapaxes(X, 3, 0), "axis1.*3"),
    "swapaxes 2": (lambda: trundle.swapaxes(X, 0, -4), lambda: np.swapaxes(X, 0, -4), "axis2.*-4"),
    "fftshift": (lambda: trundle.fftshift(X, 3), lambda: np.fft.fftshift(X, 3), "ax[ei]s.* 3 .*3"),
    "ifftshift": (
        lambda: trundle.ifftshift(X, (0, -4)),
        lambda: np.fft.ifftshift(X, (0, -4)),
        "ax[ei]s.* -4 .*3",
    ),
    "permute_dims repeated": (
        lambda: trundle.permute_dims(X, (0, 1, 1)),
        lambda: np.transpose(X, (0, 1, 1)),
        "axes",
    ),
    "permute_dims also negative": (
        lambda: trundle.permute_dims(X, (0, 2, -1)),
        lambda: np.transpose(X, (0, 2, -1)),
        "axes",
    ),
    "permute_dims short": (
        lambda: trundle.permute_dims(X, (0, 1)),
        lambda: np.transpose(X, (0, 1)),
        "axes.*2.*3",
    ),
    "permute_dims long": (
        lambda: trundle.permute_dims(X, range(4)),
        lambda: np.transpose(X, range(4)),
        "axes.*4.*3",
    ),
    "permute_dims empty": (
        lambda: trundle.permute_dims(X, ()),
        lambda: np.transpose(X, ()),
        "axes.*0.*3",
    ),
    "flip repeated": (
        lambda: trundle.flip(X, axis=(0, 0)),
        lambda: np.flip(X, axis=(0, 0)),
        "axis",
    ),
    "flip also negative": (
        lambda: trundle.flip(X, axis=(0, -3)),
        lambda: np.flip(X, axis=(0, -3)),
        "axis",
    ),
    "moveaxis source repeated": (
        lambda: trundle.moveaxis(X, [0, 0], [0, 1]),
        lambda: np.moveaxis(X, [0, 0], [0, 1]),
        "source",
    ),
    "moveaxis destination repeated": (
        lambda: trundle.moveaxis(X, [0, 1], [1, -2]),
        lambda: np.moveaxis(X, [0, 1], [1, -2]),
        "destination",
    ),
    "moveaxis of other lengths": (
        lambda: trundle.moveaxis(X, [0, 1], [1]),
        lambda: np.moveaxis(X, [0, 1], [1]),
        "source.*destination",
    ),
    "roll two and three": (
        lambda: trundle.roll(X, (1, 2), axis=(0, 1, 2)),
        lambda: np.roll(X, (1, 2), axis=(0, 1, 2)),
        "shift.*2.*3",
    ),
    "roll none and three": (
        lambda: trundle.roll(X, (), axis=(0, 1, 2)),
        lambda: np.roll(X, (), axis=(0, 1, 2)),
        "shift",
    ),
    "roll 2-D shift": (
        lambda: trundle.roll(X, np.ones((1, 2), int), axis=(0, 1)),
        lambda: np.roll(X, np.ones((1, 2), int), axis=(0, 1)),
        "shift",
    ),
    "roll nested shift": (
        lambda: trundle.roll(X, [[1, 2]], axis=(0, 1)),
        lambda: np.roll(X, [[1, 2]], axis=(0, 1)),
        "shift",
    ),
    "roll shift None": (lambda: trundle.roll(X, None), lambda: np.roll(X, None), "shift"),
    "roll axis 1.0": (
        lambda: trundle.roll(X, 1, axis=1.0),
        lambda: np.roll(X, 1, axis=1.0),
        "axis",
    ),
    "roll axis of text": (
        lambda: trundle.roll(X, 1, axis="0"),
        lambda: np.roll(X, 1, axis="0"),
        "axis",
    ),
    "permute_dims 2.0": (
        lambda: trundle.permute_dims(X, (0, 1, 2.0)),
        lambda: np.transpose(X, (0, 1, 2.0)),
        "axes",
    ),
    "permute_dims of text": (
        lambda: trundle.permute_dims(X, "012"),
        lambda: np.transpose(X, "012"),
        "axes",
    ),
    "permute_dims array of floats": (
        lambda: trundle.permute_dims(X, np.arange(3.0)),
        lambda: np.transpose(X, np.arange(3.0)),
        "axes",
    ),
    "flip 1.0": (lambda: trundle.flip(X, axis=1.0), lambda: np.flip(X, axis=1.0), "axis"),
    "flip of text": (lambda: trundle.flip(X, axis="a"), lambda: np.flip(X, axis="a"), "axis"),
    "moveaxis 0.5": (lambda: trundle.moveaxis(X, 0.5, 1), lambda: np.moveaxis(X, 0.5, 1), "source"),
    "moveaxis None": (
        lambda: trundle.moveaxis(X, 0, None),
        lambda: np.moveaxis(X, 0, None),
        "destination",
    ),
    "swapaxes 1.0": (lambda: trundle.swapaxes(X, 0, 1.0), lambda: np.swapaxes(X, 0, 1.0), "axis2"),
    "swapaxes of a tuple": (
        lambda: trundle.swapaxes(X, (0,), 1),
        lambda: np.swapaxes(X, (0,), 1),
        "axis1",
    ),
    "fftshift 1.0": (lambda: trundle.fftshift(X, 1.0), lambda: np.fft.fftshift(X, 1.0), "axes"),
    "ragged lists": (
        lambda: trundle.roll([[1], [2, 3]], 1),
        lambda: np.array([[1], [2, 3]], int),
        "inhomogeneous|sequence",
    ),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_errors_have_numpys_type(name):
    call, numpys, words = AS_NUMPY[name]
    with pytest.raises(Exception) as theirs:
        numpys()
    with pytest.raises(theirs.type, match=words):
        call()


# Calls that numpy accepts, refuses differently or does not have.
UNLIKE_NUMPY = {
    "roll 1.5": (TypeError, lambda: trundle.roll(X, 1.5), "shift"),
    "roll 1.0 along an axis": (TypeError, lambda: trundle.roll(X, 1.0, axis=0), "shift"),
    "roll text": (TypeError, lambda: trundle.roll(X, "1"), "shift"),
    "roll an array of floats": (TypeError, lambda: trundle.roll(X, np.ones(1)), "shift"),
    "roll one of floats": (TypeError, lambda: trundle.roll(X, (1, 2.0), axis=(0, 1)), "shift"),
    "roll 2-D shift, flat": (ValueError, lambda: trundle.roll(X, np.ones((1, 2), int)), "shift"),
    "roll 2-D axis": (ValueError, lambda: trundle.roll(X, 1, axis=np.zeros((1, 1), int)), "axis"),
    "roll huge axis": (AxisError, lambda: trundle.roll(X, 1, axis=2**70), "axis"),
    "flip huge axis": (AxisError, lambda: trundle.flip(X, axis=-(2**63) - 1), "axis"),
    "swapaxes huge axis": (AxisError, lambda: trundle.swapaxes(X, 2**70, 0), "axis1"),
    "fftshift beyond": (AxisError, lambda: trundle.fftshift(X, 3), "ax[ei]s"),
    "transpose negative": (
        AxisError,
        lambda: trundle.transpose(X, (0, 1, -1)),
        "order.* -1 .*permute_dims",
    ),
    "roll by bytes": (TypeError, lambda: trundle.roll(X, b"1"), "shift .*not bytes"),
    "roll by a bytearray": (TypeError, lambda: trundle.roll(X, bytearray(b"1")), "shift .*not byte"),
    "roll by a dict": (TypeError, lambda: trundle.roll(X, {1: 2}), "shift .*not dict"),
    "roll by a set": (TypeError, lambda: trundle.roll(X, {1, 2}, (0, 1)), "shift .*not set"),
    "roll along a set": (TypeError, lambda: trundle.roll(X, 1, frozenset([0])), "axis .*frozenset"),
    "roll by bytes in a list": (TypeError, lambda: trundle.roll(X, [b"1"]), "shift .*not bytes"),
    "flip along a dict": (TypeError, lambda: trundle.flip(X, {0: 1}), "axis .*not dict"),
    "transpose by bytes": (TypeError, lambda: trundle.transpose(X, b"\0\1\2"), "order .*bytes"),
    "transpose repeated": (ValueError, lambda: trundle.transpose(X, (0, 1, 1)), "order.* 1 "),
    "transpose beyond": (ValueError, lambda: trundle.transpose(X, (0, 1, 3)), "order.* 3 .*3"),
    "transpose huge": (ValueError, lambda: trundle.transpose(X, (0, 1, 2**64)), "order"),
    "transpose short": (ValueError, lambda: trundle.transpose(X, (0, 1)), "order.*2.*3"),
    "transpose long": (ValueError, lambda: trundle.transpose(X, range(4)), "order.*4.*3"),
    "transpose 2-D": (ValueError, lambda: trundle.transpose(X, np.array([[0, 1, 2]])), "order"),
    "transpose floats": (TypeError, lambda: trundle.transpose(X, (0.0, 1, 2)), "order"),
    "transpose text": (TypeError, lambda: trundle.transpose(X, "012"), "order"),
}


@pytest.mark.parametrize("name", UNLIKE_NUMPY)
def test_errors_that_differ_from_numpy(name):
    error, call, words = UNLIKE_NUMPY[name]
    with pytest.raises(error, match=words):
        call()


def subsequences(lengths, axis=1):
    return trundle.reverse_subsequences(X, lengths, axis=axis)


def sequence(lengths, axis=1, batch_axis=0):
    return trundle.reverse_sequence(X, lengths, axis=axis, batch_axis=batch_axis)


FITTING = np.ones((2, 1, 4), "u4")

REVERSALS = {
    "subsequences, a length below 0": (
        ValueError,
        lambda: subsequences(-FITTING.astype(int)),
        "length.*-1",
    ),
    "subsequences, one length below 0": (
        ValueError,
        lambda: subsequences(np.where(np.arange(8).reshape(2, 1, 4) == 6, -7, 2)),
        "length.*-7",
    ),
    "subsequences, floats": (
        TypeError,
        lambda: subsequences(np.ones((2, 1, 4))),
        "lengths.*float64",
    ),
    "subsequences, objects": (TypeError, lambda: subsequences(FITTING.astype(object)), "lengths"),
    "subsequences, masked": (
        TypeError,
        lambda: subsequences(np.ma.masked_array(FITTING)),
        "lengths",
    ),
    "subsequences, dates": (TypeError, lambda: subsequences(FITTING.astype("m8[s]")), "lengths"),
    "subsequences, not 1 on the axis": (
        ValueError,
        lambda: subsequences(np.ones((2, 3, 4), int)),
        "lengths",
    ),
    "subsequences, one": (ValueError, lambda: subsequences(np.ones((1, 1, 1), int)), "lengths"),
    "subsequences, of rank 2": (ValueError, lambda: subsequences(np.ones((2, 4), int)), "lengths"),
    "subsequences, a number": (ValueError, lambda: subsequences(2), "lengths"),
    "subsequences, of another axis": (ValueError, lambda: subsequences(FITTING, axis=0), "lengths"),
    "subsequences, axis beyond": (AxisError, lambda: subsequences(FITTING, axis=3), "axis.* 3 .*3"),
    "subsequences, axis below": (
        AxisError,
        lambda: subsequences(FITTING, axis=-4),
        "axis.* -4 .*3",
    ),
    "subsequences, two axes": (TypeError, lambda: subsequences(FITTING, axis=(0, 1)), "axis"),
    "subsequences, no axis": (TypeError, lambda: subsequences(FITTING, axis=None), "axis"),
    "subsequences, axis 1.0": (TypeError, lambda: subsequences(FITTING, axis=1.0), "axis"),
    "subsequences, of rank 0": (
        AxisError,
        lambda: trundle.reverse_subsequences(5, 1, axis=0),
        "axis",
    ),
    "sequence, too long": (ValueError, lambda: sequence([2, 4]), "length.*4.*3"),
    "sequence, far too long": (
        ValueError,
        lambda: sequence(np.array([2**64 - 1, 1], "u8")),
        "length.*3",
    ),
    "sequence, below 0": (ValueError, lambda: sequence([-1, 1]), "length.*-1"),
    "sequence, floats": (TypeError, lambda: sequence([1.0, 2.0]), "lengths"),
    "sequence, short": (ValueError, lambda: sequence([1]), "length.*1.*2"),
    "sequence, long": (ValueError, lambda: sequence([1, 2, 3]), "length.*3.*2"),
    "sequence, 2-D": (ValueError, lambda: sequence([[1, 2]]), "lengths"),
    "sequence, a number": (ValueError, lambda: sequence(2), "lengths"),
    "sequence, the same axis": (ValueError, lambda: sequence([1, 2, 3], 1, 1), "batch.axis"),
    "sequence, the same axis from the end": (
        ValueError,
        lambda: sequence([1, 2, 3], 1, -2),
        "batch.axis",
    ),
    "sequence, axis beyond": (AxisError, lambda: sequence([1, 2], 3, 0), "axis.* 3 .*3"),
    "sequence, batch axis beyond": (
        AxisError,
        lambda: sequence([1, 2], 1, -4),
        "batch.axis.* -4 .*3",
    ),
    "sequence, no batch axis": (TypeError, lambda: sequence([1, 2], 1, None), "batch.axis"),
}


@pytest.mark.parametrize("name", REVERSALS)
def test_refused_reversals(name):
    error, call, words = REVERSALS[name]
    with pytest.raises(error, match=words):
        call()


# Wrong positional or keyword arguments, repeated or missing ones.
WRONG_CALLS = {
    "roll without shift": lambda: trundle.roll(X),
    "roll x by name": lambda: trundle.roll(x=X, shift=1),
    "roll with axis and axes": lambda: trundle.roll(X, 1, axis=0, axes=0),
    "roll with axis twice": lambda: trundle.roll(X, 1, 0, axis=0),
    "roll out by position": lambda: trundle.roll(X, 1, 0, X.copy()),
    "permute_dims without axes": lambda: trundle.permute_dims(X),
    "permute_dims x by name": lambda: trundle.permute_dims(x=X, axes=(0, 1, 2)),
    "transpose by positions": lambda: trundle.transpose(X, 0, 1, 2),
    "transpose out by position": lambda: trundle.transpose(X, (), X.copy()),
    "flip out by position": lambda: trundle.flip(X, 0, X.copy()),
    "reverse_subsequences without lengths": lambda: trundle.reverse_subsequences(X, axis=1),
    "reverse_subsequences without axis": lambda: trundle.reverse_subsequences(X, FITTING),
    "reverse_sequence without batch_axis": lambda: trundle.reverse_sequence(X, [1, 2], axis=1),
    "ascontiguousarray with another dtype": lambda: trundle.ascontiguousarray(X, "f4"),
    "copyto without src": lambda: trundle.copyto(X.copy()),
    "copyto by name": lambda: trundle.copyto(dst=X.copy(), src=X),
    "moveaxis without destination": lambda: trundle.moveaxis(X, 0),
    "swapaxes without axis2": lambda: trundle.swapaxes(X, 0),
    "fftshift out by position": lambda: trundle.fftshift(X, None, X.copy()),
    "take without indices": lambda: trundle.take(X),
    "take indices by name": lambda: trundle.take(X, indices=0),
    "take mode by position": lambda: trundle.take(X, 0, 0, "wrap"),
    "take_along_axis out by position": lambda: trundle.take_along_axis(X, [0], None, X.copy()),
    "repeat without repeats": lambda: trundle.repeat(X, axis=0),
    "tile x by name": lambda: trundle.tile(x=X, reps=2),
    "broadcast_to out by position": lambda: trundle.broadcast_to(X, X.shape, X.copy()),
    "sliding_window_view without window_shape": lambda: trundle.sliding_window_view(X),
    "pad out by position": lambda: trundle.pad(X, 1, "edge", X.copy()),
    "rearrange without pattern": lambda: trundle.rearrange(X),
    "rearrange pattern by name": lambda: trundle.rearrange(X, pattern="a b c -> c b a"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_raise_type_errors(name):
    with pytest.raises(TypeError):
        WRONG_CALLS[name]()


def test_axis_errors_state_the_axis_and_the_rank():
    with pytest.raises(AxisError) as caught:
        trundle.flip(X, axis=5)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, IndexError)
    message = str(caught.value)
    assert "5" in message and "3" in message and not message.endswith(".")


class Failing:
    """Its error must be passed on."""

    def __index__(self):
        raise ZeroDivisionError("of its own")


class Unreadable:
    def __array__(self, *_, **__):
        raise ZeroDivisionError("of its own")


def test_errors_of_arguments_are_passed_on():
    for call in (
        lambda: trundle.roll(X, Failing()),
        lambda: trundle.roll(X, (1, Failing()), axis=(0, 1)),
        lambda: trundle.roll(X, 1, axis=Failing()),
        lambda: trundle.permute_dims(X, (0, 1, Failing())),
        lambda: trundle.swapaxes(X, 0, Failing()),
        lambda: trundle.flip(X, threads=Failing()),
        lambda: trundle.flip(Unreadable()),
        lambda: trundle.take(X, Unreadable()),
        lambda: trundle.take(X, 0, axis=Failing()),
        lambda: trundle.tile(X, (1, Failing())),
        lambda: trundle.pad(X, {0: Failing()}, mode="edge"),
        lambda: trundle.pad(X, Unreadable(), mode="edge"),
    ):
        with pytest.raises(ZeroDivisionError, match="of its own"):
            call()


def test_names_from_other_libraries_give_hints():
    for name, hint in [("permute", "permute_dims"), ("concat", "concatenate"), ("fliplr", "flip(x, axis=1)")]:
        with pytest.raises(AttributeError, match=re.escape(f"'{name}'; use trundle.{hint}")):
            getattr(trundle, name)
    with pytest.raises(AttributeError, match="module 'trundle' has no attribute 'nothing'$"):
        _ = trundle.nothing
    # `hasattr` works whether PyTorch is installed, too old or missing.
    try:
        is_new = tuple(map(int, importlib.metadata.version("torch").split(".")[:2])) >= (2, 5)
    except importlib.metadata.PackageNotFoundError:
        is_new = False
    assert hasattr(trundle, "torch") == is_new
    if not is_new:
        with pytest.raises(AttributeError, match="'torch': it needs PyTorch 2.5 or newer$"):
            _ = trundle.torch


def test_results_larger_than_memory_raise_memory_errors():
    # More than the address space, so that no system overcommits it.
    wide = np.broadcast_to(np.uint8(0), (2**40, 2**20))
    for call in (
        trundle.ascontiguousarray,
        trundle.transpose,
        trundle.flip,
        trundle.chain("flip(0)"),
    ):
        with pytest.raises(MemoryError):
            call(wide)
    with pytest.raises((MemoryError, ValueError)):
        trundle.chain("tile(4611686018427387904, 4)")(np.zeros((2, 2)))


def test_out_is_unchanged_after_an_error():
    out = np.zeros((2, 3, 4))
    for call in (
        lambda: trundle.roll(X, 1, axis=3, out=out),
        lambda: trundle.flip(X, axis=(0, 0), out=out),
        lambda: trundle.reverse_subsequences(X, FITTING * 0.5, axis=1, out=out),
        lambda: trundle.reverse_sequence(X, [2, 4], axis=1, batch_axis=0, out=out),
        lambda: trundle.reverse_sequence(X, [2, -1], axis=1, batch_axis=0, out=out),
        lambda: trundle.take(X, [0, 1, 3], axis=1, out=out),
        lambda: trundle.take_along_axis(X, np.full((2, 3, 4), -4), axis=1, out=out),
        lambda: trundle.pad(X, {0: -1, 1: 1}, mode="wrap", out=out),
        lambda: trundle.broadcast_to(X[:, 1:], (2, 3, 4), out=out),
        lambda: trundle.repeat(X, [3, -1], axis=0, out=out),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            call()
        assert not out.any()
