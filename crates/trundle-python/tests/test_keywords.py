"""Keywords: `axis` and `axes` are synonyms; errors name unknown and missing arguments."""

import numpy as np
import pytest
import trundle

from arrays import assert_new, random_array

X = np.arange(12).reshape(3, 4)
L = [2, 0, 4]
COLUMN = [[2], [0], [4]]

# The same call with the name in the signature, and with the synonym.
SYNONYMS = {
    "roll": (lambda x, **k: trundle.roll(x, 1, **k), {"axis": 0}, {"axes": 0}),
    "roll two": (lambda x, **k: trundle.roll(x, 1, **k), {"axis": (0, 1)}, {"axes": (0, 1)}),
    "flip": (trundle.flip, {"axis": 1}, {"axes": 1}),
    "flip all": (trundle.flip, {"axis": None}, {"axes": None}),
    "permute_dims": (trundle.permute_dims, {"axes": (1, 0)}, {"axis": (1, 0)}),
    "rot90": (trundle.rot90, {"axes": (1, 0)}, {"axis": (1, 0)}),
    "fftshift": (trundle.fftshift, {"axes": 0}, {"axis": 0}),
    "ifftshift": (trundle.ifftshift, {"axes": (0, 1)}, {"axis": (0, 1)}),
    "take": (lambda x, **k: trundle.take(x, [2, 0], **k), {"axis": 1}, {"axes": 1}),
    "take_along_axis": (lambda x, **k: trundle.take_along_axis(x, [[2], [0], [3]], **k), {"axis": 1}, {"axes": 1}),
    "repeat": (lambda x, **k: trundle.repeat(x, 2, **k), {"axis": 1}, {"axes": 1}),
    "sliding_window_view": (
        lambda x, **k: trundle.sliding_window_view(x, (2, 3), **k),
        {"axis": (1, 0)},
        {"axes": (1, 0)},
    ),
    "reverse_subsequences": (
        lambda x, **k: trundle.reverse_subsequences(x, COLUMN, **k),
        {"axis": 1},
        {"axes": 1},
    ),
    "reverse_sequence": (
        lambda x, **k: trundle.reverse_sequence(x, L, batch_axis=0, **k),
        {"axis": 1},
        {"axes": 1},
    ),
}


@pytest.mark.parametrize("name", SYNONYMS)
def test_axis_and_axes_are_synonyms(name, rng):
    call, own, other = SYNONYMS[name]
    x = random_array("i4", (3, 4), rng)
    assert_new(call(x, **other), x, call(x, **own))
    out = np.zeros_like(call(x, **own))
    assert call(x, **other, out=out, threads=1) is out
    np.testing.assert_array_equal(out, call(x, **own))


@pytest.mark.parametrize("name", [name for name in SYNONYMS if name != "flip all"])
def test_axis_and_axes_together_are_refused(name):
    call, own, other = SYNONYMS[name]
    with pytest.raises(TypeError, match="both axis and axes"):
        call(X, **own, **other)


def test_none_does_not_conflict_with_the_synonym(rng):
    x = random_array("i4", (3, 4), rng)
    assert_new(trundle.flip(x, axis=1, axes=None), x, x[:, ::-1])
    assert_new(trundle.permute_dims(x, axes=None, axis=(1, 0)), x, x.T)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("flip(axes=[1])", "flip(axis=1)"),
        ("roll(shift=1, axes=0)", "roll(shift=1, axis=0)"),
        ("slice([0], [2], axes=[1])", "slice([0], [2], axis=[1])"),
        ("reverse(axis=1, lengths=[1, 2, 3])", "reverse(axes=1, lengths=[1, 2, 3])"),
    ],
)
def test_axis_and_axes_are_synonyms_in_chains(one, other):
    assert trundle.chain(one) == trundle.chain(other)


@pytest.mark.parametrize("name", ["roll", "flip", "transpose", "fftshift", "pad"])
def test_unknown_keywords_are_named(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'zzz'$"):
        getattr(trundle, name)(X, zzz=0)


def test_positional_only_arguments_are_not_keywords():
    for call in (
        lambda: trundle.roll(x=X, shift=1),
        lambda: trundle.roll(X, 1, x=X),
        lambda: trundle.copyto(X.copy(), src=X),
    ):
        with pytest.raises(TypeError, match="positional-only arguments passed as keyword"):
            call()


MISSING = {
    "shift": lambda: trundle.roll(X),
    "axes": lambda: trundle.permute_dims(X),
    "lengths": lambda: trundle.reverse_sequence(X, axis=1, batch_axis=0),
    "axis": lambda: trundle.reverse_sequence(X, L, batch_axis=0),
    "batch_axis": lambda: trundle.reverse_sequence(X, L, axis=1),
    "destination": lambda: trundle.moveaxis(X, 0),
    "axis2": lambda: trundle.swapaxes(X, 0),
    "a": lambda: trundle.swapaxes(axis1=0, axis2=1),
    "repeats": lambda: trundle.repeat(X, axis=0),
    "reps": lambda: trundle.tile(X),
    "shape": lambda: trundle.broadcast_to(X),
    "window_shape": lambda: trundle.sliding_window_view(X, axis=0),
    "pad_width": lambda: trundle.pad(X, mode="edge"),
}


@pytest.mark.parametrize("name", MISSING)
def test_errors_name_the_missing_argument(name):
    with pytest.raises(TypeError, match=f"missing .*argument.*'{name}'"):
        MISSING[name]()



def test_ascontiguousarray_with_the_dtype_of_x(rng):
    x = random_array("f4", (3, 4), rng).T
    for dtype in ("f4", np.float32, np.dtype("f4"), None):
        assert_new(trundle.ascontiguousarray(x, dtype), x, x)
        assert_new(trundle.ascontiguousarray(x, dtype=dtype), x, x)
    for dtype in ("f8", np.int32, ">f4"):
        with pytest.raises(TypeError, match="x has elements of type float32, not .*does not cast"):
            trundle.ascontiguousarray(x, dtype)
    with pytest.raises(TypeError):
        trundle.ascontiguousarray(x, "no such type")


def test_copyto_accepts_numpys_keywords():
    dst = np.zeros(3, int)
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        trundle.copyto(dst, dst + 1, casting=casting)
    trundle.copyto(dst, dst + 1, "unsafe", True)
    trundle.copyto(dst, dst + 1, where=True)
    assert dst.tolist() == [7] * 3
    with pytest.raises(ValueError, match="casting must be one of no, .*not 'safely'"):
        trundle.copyto(dst, dst, casting="safely")
    for mask in (False, dst > 0, 1):
        with pytest.raises(TypeError, match="where must be True"):
            trundle.copyto(dst, dst + 1, where=mask)
    with pytest.raises(TypeError, match="does not cast"):
        trundle.copyto(dst, np.zeros(3), casting="unsafe")
    assert dst.tolist() == [7] * 3


def test_rearrange_takes_only_sizes_as_keywords():
    for name in ("out", "threads"):
        words = rf"not an axis of .*trundle.chain\(pattern\)\(x, {name}="
        with pytest.raises(TypeError, match=words):
            trundle.rearrange(X, "a b -> b a", **{name: X})
    # They are names of axes.
    assert trundle.rearrange(X, "(out b) threads -> threads b out", out=3, threads=4).shape == (4, 1, 3)
    with pytest.raises(TypeError, match="out must be an integer"):
        trundle.rearrange(X, "(out b) c -> out b c", out=X)


def test_rearrange_with_swapped_arguments_gives_a_hint():
    with pytest.raises(TypeError, match="pattern must be a str, not ndarray: the array comes first"):
        trundle.rearrange("a b -> b a", X)
    with pytest.raises(TypeError, match="pattern must be a str, not int$"):
        trundle.rearrange(X, 1)
