"""rearrange, compared with einops if it is installed."""

import numpy as np
import pytest
import trundle

from arrays import assert_new, random_array

# Published examples of einops.rearrange and of its tutorial.
IMAGES = (6, 16, 20, 3)

EXAMPLES = [
    ("b h w c -> b h w c", {}),
    ("b h w c -> (b h) w c", {}),
    ("b h w c -> h (b w) c", {}),
    ("b h w c -> b c h w", {}),
    ("b h w c -> b (c h w)", {}),
    ("b (h1 h) (w1 w) c -> (b h1 w1) h w c", {"h1": 2, "w1": 2}),
    ("b (h h1) (w w1) c -> b h w (c h1 w1)", {"h1": 2, "w1": 2}),
    ("b h w c -> w h b c", {}),
    ("b h w c -> h w c b", {}),
    ("(b1 b2) h w c -> b1 b2 h w c", {"b1": 2}),
    ("(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ("(b1 b2) h w c -> (b2 h) (b1 w) c", {"b1": 2}),
    ("b h (w w2) c -> (h w2) (b w) c", {"w2": 2}),
    ("b h w c -> h (w b) c", {}),
    ("(b1 b2) h w c -> (h b1) (w b2) c", {"b1": 3}),
    ("b h w c -> (h w b c)", {}),
    ("b h w c -> b h w c 1", {}),
    ("b h w c -> b 1 h w 1 c", {}),
    ("b h w c -> (b) h () w c", {}),
    ("... c -> c ...", {}),
    ("... h w c -> ... (h w) c", {}),
    ("b ... -> (b ...)", {}),
    ("b ... c -> c (...) b", {}),
    ("... -> (...)", {}),
    ("b (h p1) (w p2) c -> b (h w) (p1 p2 c)", {"p1": 4, "p2": 5}),
    ("b (h p1) (w p2) c -> (b h w) p1 p2 c", {"p1": 4, "w": 4}),
    ("  b   h w c->w  b(h   c) ", {}),
]


@pytest.mark.parametrize(("pattern", "sizes"), EXAMPLES)
def test_examples_of_einops(pattern, sizes, rng):
    einops = pytest.importorskip("einops")
    for dtype in ("u1", "f4", "c16"):
        x = random_array(dtype, IMAGES, rng)
        expected = np.asarray(einops.rearrange(x, pattern, **sizes))
        assert_new(trundle.rearrange(x, pattern, **sizes), x, expected)
        x = random_array(dtype, IMAGES[::-1], rng).T[::-1]
        expected = np.asarray(einops.rearrange(x, pattern, **sizes))
        assert_new(trundle.rearrange(x, pattern, **sizes), x, expected)


def test_without_einops(rng):
    x = random_array("u2", (4, 6, 3), rng)
    assert_new(trundle.rearrange(x, "h w c -> c h w"), x, x.transpose(2, 0, 1))
    expected = x.reshape(2, 2, 6, 3).transpose(1, 2, 0, 3).reshape(2, 12, 3)
    assert_new(trundle.rearrange(x, "(a h) w c -> h (w a) c", a=2), x, expected)
    assert_new(trundle.rearrange(x, "(a h) w c -> h (w a) c", a=np.int64(2), h=2), x, expected)
    assert_new(trundle.rearrange(x, "h w c -> 1 (h w c)"), x, x.reshape(1, -1))
    assert_new(trundle.rearrange(x, "…  c → c …"), x, x.transpose(2, 0, 1))


def test_lists_of_arrays_are_stacked(rng):
    images = [random_array("u1", (4, 6, 3), rng) for _ in range(5)]
    expected = np.stack(images, axis=3).reshape(4, -1)
    assert_new(trundle.rearrange(images, "b h w c -> h (w c b)"), images[0], expected)


def test_rank_0_and_no_elements():
    x = np.array(2.5)
    assert_new(trundle.rearrange(x, "->"), x, x)
    assert_new(trundle.rearrange(x, "-> 1 ()"), x, x.reshape(1, 1))
    x = np.zeros((3, 0, 2))
    assert_new(trundle.rearrange(x, "a b c -> (c b) a"), x, np.zeros((0, 3)))
    assert_new(trundle.rearrange(x, "a b (c d) -> a b c d", d=1), x, x.reshape(3, 0, 2, 1))


def random_pattern(rng):
    """Splits, moves and merges names."""
    names = list("abcdefgh"[: rng.integers(1, 8)])
    size_of = {name: int(rng.integers(1, 4)) for name in names}
    ellipsis = int(rng.integers(0, 3)) if rng.random() < 0.4 else None

    def grouped(names):
        groups, rest = [], list(names)
        while rest:
            size = int(rng.choice([0, 1, 1, 1, 2, 3]))
            groups.append(rest[:size])
            del rest[:size]
        return groups

    def text(groups, at):
        words = [
            group[0] if len(group) == 1 and rng.random() < 0.8 else f"({' '.join(group)})"
            for group in groups
        ]
        if ellipsis is not None:
            words.insert(at, "...")
        return " ".join(words)

    left = grouped(names)
    right = grouped(rng.permutation(names).tolist())
    at = int(rng.integers(0, len(left) + 1))
    shape = [int(np.prod([size_of[name] for name in group], dtype=int)) for group in left]
    if ellipsis is not None:
        shape[at:at] = rng.integers(1, 4, ellipsis).tolist()
    # One name of each split group may be left to be inferred.
    found = {group[rng.integers(len(group))] for group in left if group}
    sizes = {name: size_of[name] for name in names if name not in found or rng.random() < 0.2}
    return f"{text(left, at)} -> {text(right, int(rng.integers(0, len(right) + 1)))}", shape, sizes


def test_random_patterns_equal_einops(rng):
    einops = pytest.importorskip("einops")
    for _ in range(1500):
        pattern, shape, sizes = random_pattern(rng)
        x = random_array("u2", shape, rng)
        expected = np.asarray(einops.rearrange(x, pattern, **sizes))
        assert_new(trundle.rearrange(x, pattern, **sizes), x, expected, (pattern, shape, sizes))


# einops has its own errors; here they are ValueErrors.
REFUSED = [
    ("h w c -> h w", {}),
    ("h w -> w h", {}),
    ("h w c d -> d c w h", {}),
    ("h w c -> c h w d", {}),
    ("h w c -> h w c c", {}),
    ("h h c -> h c", {}),
    ("(h p) w c -> h p w c", {}),
    ("(h p) w c -> h p w c", {"p": 3}),
    ("(h p) w c -> h p w c", {"p": 2, "h": 3}),
    ("h w c -> c h w", {"h": 5}),
    ("h w c -> c h w", {"z": 5}),
    ("(h p) w c -> h p w c", {"p": 0}),
    ("(h p) w c -> h p w c", {"p": -2}),
    ("h (w c -> h w c", {}),
    ("h ((w c)) x -> h w c x", {}),
    ("h w c", {}),
    ("h w c -> c -> h w", {}),
    ("... ... c -> c ...", {}),
    ("... c -> c", {}),
    ("h w c -> h w c ...", {}),
    ("(... c) -> c ...", {}),
    ("h 2 c -> h c", {}),
    ("h w_ c -> c h w_", {}),
    ("1 w c -> w c", {}),
    ("h w c -> h w c | flip(0)", {}),
    ("flip(0)", {}),
    ("", {}),
]


@pytest.mark.parametrize(("pattern", "sizes"), REFUSED)
def test_refused_patterns(pattern, sizes):
    with pytest.raises(ValueError) as caught:
        trundle.rearrange(np.zeros((4, 6, 3)), pattern, **sizes)
    assert len(str(caught.value)) > 10


def test_the_caret_marks_the_error():
    with pytest.raises(ValueError) as caught:
        trundle.rearrange(np.zeros((4, 6, 3)), "(h p) w c -> h w (p d)", p=2)
    lines = str(caught.value).splitlines()
    [at] = [number for number, line in enumerate(lines) if set(line.strip()) == {"^"}]
    assert lines[at - 1][lines[at].index("^") :].startswith("d)")


@pytest.mark.parametrize("size", [1.5, 2.0, "2", None, [2]], ids=repr)
def test_sizes_must_be_integers(size):
    with pytest.raises(TypeError, match="p"):
        trundle.rearrange(np.zeros((4, 6)), "(h p) w -> h p w", p=size)


@pytest.mark.parametrize("size", [2**63, 2**100, -(2**100)])
def test_huge_sizes_are_refused(size):
    with pytest.raises(ValueError, match="p="):
        trundle.rearrange(np.zeros((4, 6)), "(h p) w -> h p w", p=size)


@pytest.mark.parametrize("name", ["a=4 | flip(0) | b c -> b c, b", "a=4, b", "", " ", "->", "\0"])
def test_sizes_must_have_names_of_axes(name):
    with pytest.raises(ValueError):
        trundle.rearrange(np.zeros((4, 6)), "a b -> b a", **{name: 6})


@pytest.mark.parametrize("pattern", [None, 1, b"a b -> b a", ["a b -> b a"]])
def test_patterns_must_be_strings(pattern):
    with pytest.raises(TypeError):
        trundle.rearrange(np.zeros((4, 6)), pattern)
