"""The examples of docs/chains.md, and the class."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
import trundle

from arrays import assert_new, assert_same_bits, moved, random_array, reversed_subsequences

IMAGE, VOLUME, BATCH = (4, 6, 3), (2, 3, 4), (3, 4)


def patches(p):
    return p.reshape(2, 2, 2, 3, 3).transpose(0, 2, 1, 3, 4).reshape(4, 18)


def image_from_patches(p):
    return p.reshape(2, 2, 2, 3, 3).transpose(0, 2, 1, 3, 4).reshape(4, 6, 3)


# Each example of the page, its shape, and the numpy equivalent.
EXAMPLES = {
    "h w c -> c h w": (IMAGE, lambda p: p.transpose(2, 0, 1)),
    "(h p) (w q) c -> (h w) (p q c), p=2, q=3": (IMAGE, patches),
    "(h w) (p q c) -> (h p) (w q) c, h=2, p=2, q=3": ((4, 18), image_from_patches),
    "... c -> c (...)": (VOLUME, lambda p: p.transpose(2, 0, 1).reshape(4, 6)),
    "b t -> b 1 t 1": (BATCH, lambda p: p.reshape(3, 1, 4, 1)),
    "h w c → c h w": (IMAGE, lambda p: p.transpose(2, 0, 1)),
    "… c -> c …": (VOLUME, lambda p: p.transpose(2, 0, 1)),
    "() b t -> t b ()": ((1, 3, 4), lambda p: p.transpose(2, 1, 0)),
    "broadcast(3, 2, 4)": ((2, 1), lambda p: np.broadcast_to(p, (3, 2, 4))),
    "broadcast(2, -1, 4)": ((3, 1), lambda p: np.broadcast_to(p, (2, 3, 4))),
    "flip(axes=[1])": (IMAGE, lambda p: np.flip(p, 1)),
    "flip(0, 1)": (IMAGE, lambda p: np.flip(p, (0, 1))),
    "flip(-1)": (IMAGE, lambda p: np.flip(p, -1)),
    'pad(width=[[0, 0], [1, 2]], mode="edge")': (BATCH, lambda p: np.pad(p, [(0, 0), (1, 2)], "edge")),
    "pad(1, reflect)": (BATCH, lambda p: np.pad(p, 1, "reflect")),
    "pad([3, 2], symmetric) | transpose()": (BATCH, lambda p: np.pad(p, (3, 2), "symmetric").T),
    "pad(2, wrap) | roll(1, 0)": (BATCH, lambda p: np.roll(np.pad(p, 2, "wrap"), 1, 0)),
    "repeat(repeats=2, axis=1)": (IMAGE, lambda p: np.repeat(p, 2, 1)),
    "reshape(2, -1, 4)": (IMAGE, lambda p: p.reshape(2, -1, 4)),
    "reverse(axis=1, lengths=[2, 9, 0])": (
        BATCH,
        lambda p: reversed_subsequences(p, np.array([[2], [9], [0]]), 1),
    ),
    "reverse(axis=1, lengths=[2, 4, 3], batch_axis=0)": (
        BATCH,
        lambda p: reversed_subsequences(p, np.array([[2], [4], [3]]), 1),
    ),
    "roll(shift=[-1, 2], axes=[0, 1])": (IMAGE, lambda p: np.roll(p, (-1, 2), (0, 1))),
    "roll(shift=100000000000, axes=-1)": (IMAGE, lambda p: np.roll(p, 10**11 % 3, -1)),
    "slice(starts=[0], stops=[5], axes=[1], steps=[2])": (IMAGE, lambda p: p[:, 0:5:2]),
    "slice(starts=[1, -2], stops=[3, 100])": (IMAGE, lambda p: p[1:3, -2:100]),
    "tile(2, 1)": (BATCH, lambda p: np.tile(p, (2, 1))),
    "transpose(2, 0, 1)": (IMAGE, lambda p: p.transpose(2, 0, 1)),
    "transpose()": (IMAGE, lambda p: p.T),
    "flip(axes=[2]) | h w c -> c h w": (IMAGE, lambda p: np.flip(p, 2).transpose(2, 0, 1)),
    "slice(starts=[-1], stops=[-9], axes=[2], steps=[-2]) | reshape(2, -1) | tile(1, 2)": (
        VOLUME,
        lambda p: np.tile(p[:, :, ::-2].reshape(2, -1), (1, 2)),
    ),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples(text, rng):
    shape, move = EXAMPLES[text]
    for dtype in ("u1", "f4", "c16", "S3"):
        x = random_array(dtype, shape, rng)
        assert_new(trundle.chain(text)(x), x, moved(x, move))
        x = random_array(dtype, shape[::-1], rng).T[::-1]
        assert_new(trundle.chain(text)(x, threads=2), x, moved(x, move))


def test_stages_can_be_separate_arguments(rng):
    x = random_array("u2", IMAGE, rng)
    one_text = trundle.chain("flip(axes=[2]) | h w c -> c h w | roll(shift=1, axes=0)")
    for chain in (
        trundle.chain("flip(axes=[2])", "h w c -> c h w", "roll(shift=1, axes=0)"),
        trundle.chain("flip(axes=[2]) | h w c -> c h w", "roll(shift=1, axes=0)"),
    ):
        assert chain == one_text
        assert_new(chain(x), x, np.roll(np.flip(x, 2).transpose(2, 0, 1), 1, 0))


def check_pads(count, rng):
    for _ in range(count):
        x = random_array("u2", tuple(rng.integers(1, 6, rng.integers(1, 4))), rng)
        mode = rng.choice(["edge", "reflect", "symmetric", "wrap"])
        width = rng.integers(0, 12, (x.ndim, 2))
        # numpy 1 is wrong for padding wider than the array.
        if np.lib.NumpyVersion(np.__version__) < "2.0.0":
            width = np.minimum(width, np.array(x.shape)[:, None] - 1)
        padded = trundle.chain(f"pad(width={width.tolist()}, mode={mode})")(x)
        assert (padded == np.pad(x, width, mode)).all(), (x.shape, width, mode)


def test_pads_equal_numpy(rng):
    check_pads(500, rng)


def test_an_empty_chain_copies(rng):
    chain = trundle.chain()
    for shape in (IMAGE, (), (0,)):
        x = random_array("f4", shape, rng)
        assert_new(chain(x), x, x)
    assert chain.plan(np.zeros(3)).passes == 1
    assert eval(repr(chain)) == chain
    assert pickle.loads(pickle.dumps(chain)) == chain


def test_random_chains_equal_separate_stages(rng):
    stages = [
        ("flip(axes=[0])", lambda p: np.flip(p, 0)),
        ("flip(1)", lambda p: np.flip(p, 1)),
        ("roll(shift=[3, -2], axes=[0, 2])", lambda p: np.roll(p, (3, -2), (0, 2))),
        ("roll(shift=1, axes=1)", lambda p: np.roll(p, 1, 1)),
        ("transpose()", lambda p: p.T),
        ("transpose(1, 2, 0)", lambda p: p.transpose(1, 2, 0)),
        ("a b c -> c a b", lambda p: p.transpose(2, 0, 1)),
        ("a b c -> a (b c) 1", lambda p: p.reshape(p.shape[0], -1, 1)),
        ("tile(1, 2, 1)", lambda p: np.tile(p, (1, 2, 1))),
        ("repeat(2, -1)", lambda p: np.repeat(p, 2, -1)),
        ("pad([0, 1], edge)", lambda p: np.pad(p, (0, 1), "edge")),
        ("pad([[1, 0], [0, 2], [0, 0]], reflect)", lambda p: np.pad(p, [(1, 0), (0, 2), (0, 0)], "reflect")),
        ("pad([[0, 0], [2, 1], [0, 3]], wrap)", lambda p: np.pad(p, [(0, 0), (2, 1), (0, 3)], "wrap")),
        ("slice(starts=[0], stops=[1000], axes=[1], steps=[2])", lambda p: p[:, ::2]),
        ("slice(starts=[-1], stops=[-1000], axes=[0], steps=[-1])", lambda p: p[::-1]),
    ]
    for _ in range(300):
        chosen = rng.integers(0, len(stages), rng.integers(1, 7))
        x = random_array("u2", tuple(rng.integers(1, 7, 3)), rng)
        expected = x
        for stage in chosen:
            expected = stages[stage][1](expected)
        texts = [stages[stage][0] for stage in chosen]
        assert_new(trundle.chain(*texts)(x), x, expected, texts)


SAME = [
    ("flip(0)", "flip(axes=[0])"),
    ("flip(axes=0)", "flip( axes = [ 0 ] )"),
    ("roll(1, 0)", "roll(shift=[1], axes=[0])"),
    ("transpose(2,0,1)", "transpose(2, 0, 1)"),
    ("flip(0)|flip(1)", "flip(0)  |  flip(1)"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_chains_with_equal_operators_are_equal(one, other):
    one, other = trundle.chain(one), trundle.chain(other)
    assert one == other and not one != other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


def test_other_chains_and_types_are_not_equal():
    one = trundle.chain("flip(0)")
    for other in (
        trundle.chain("flip(1)"),
        trundle.chain("flip(0) | flip(0)"),
        trundle.chain(),
        "flip(0)",
        None,
        1,
    ):
        assert one != other and not one == other
    with pytest.raises(TypeError):
        one < trundle.chain("flip(1)")  # noqa: B015


@pytest.mark.parametrize("text", EXAMPLES)
def test_repr_evaluates_to_an_equal_chain(text):
    chain = trundle.chain(text)
    assert repr(chain).startswith("trundle.chain('")
    assert eval(repr(chain)) == chain
    assert isinstance(chain, trundle.Chain)


@pytest.mark.parametrize("text", EXAMPLES)
def test_pickles_and_copies(text, rng):
    chain = trundle.chain(text)
    x = random_array("f4", EXAMPLES[text][0], rng)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(chain, protocol))
        assert again == chain and hash(again) == hash(chain)
        assert_new(again(x), x, chain(x))
    assert copy.copy(chain) == copy.deepcopy(chain) == chain


def test_a_plan_describes_the_move_without_running_it():
    x = np.zeros((480, 640, 3), "u1")
    plan = trundle.chain("flip(axes=[2]) | h w c -> c h w").plan(x)
    assert isinstance(plan, trundle.Plan)
    assert (plan.passes, plan.out_shape, plan.scratch_bytes) == (1, (3, 480, 640), 0)
    assert (
        type(plan.passes) is int
        and type(plan.out_shape) is tuple
        and type(plan.scratch_bytes) is int
    )
    text = str(plan)
    assert "480" in text and len(text.splitlines()) > 1
    assert not x.any()


# Rolls rows, then across them, which is not a roll of the first tensor.
SEVERAL_PASSES = (
    "tile(1, 2) | roll(1, 0)",
    "reshape(5, -1) | roll(1, 0)",
    "reshape(-1, 6) | roll(1, 0)",
    "transpose()",
)


def several_passes(p):
    rolled = np.roll(np.tile(p, (1, 2)), 1, 0)
    rolled = np.roll(rolled.reshape(5, -1), 1, 0)
    return np.roll(rolled.reshape(-1, 6), 1, 0).T


def test_a_plan_of_several_passes_has_scratch(rng):
    chain = trundle.chain(*SEVERAL_PASSES)
    x = random_array("f4", (6, 5), rng)
    plan = chain.plan(x, threads=2)
    assert plan.passes > 1 and plan.scratch_bytes > 0
    assert plan.out_shape == (6, 10)
    assert_new(chain(x), x, several_passes(x))


def test_plan_refuses_arguments_that_do_not_fit():
    chain = trundle.chain("a b -> b a")
    with pytest.raises(ValueError, match=r"\^"):
        chain.plan(np.zeros(3))
    with pytest.raises(ValueError, match="threads"):
        chain.plan(np.zeros((2, 3)), threads=0)
    with pytest.raises(TypeError):
        chain.plan(np.array([[None]]))


# Invalid texts, or texts that do not fit a shape.
REFUSED_TEXTS = {
    "(h p) (w q) c -> h w (p q c), p=2": "splits into",
    "(h p) w c -> h w (p d), p=2": '"d"',
    "flip(0) | nothing(1)": "nothing",
    "flip(0": "",
    "flip(0) |": "",
    "| flip(0)": "",
    "h w": "",
    "h h -> h": "",
    "h w -> h": "",
    "roll(shift=[1, 2], axes=[0]": "",
    "reverse(axis=0, lengths=[-1])": "",
}


@pytest.mark.parametrize("text", REFUSED_TEXTS)
def test_refused_texts(text):
    with pytest.raises(ValueError) as caught:
        trundle.chain(text)
    message = str(caught.value)
    assert REFUSED_TEXTS[text] in message
    assert "^" in message and (text in message)


def test_the_caret_marks_the_error():
    with pytest.raises(ValueError) as caught:
        trundle.chain("flip(0)", "(h p) w c -> h w (p d), p=2")
    lines = str(caught.value).splitlines()
    [at] = [number for number, line in enumerate(lines) if set(line.strip()) == {"^"}]
    assert lines[at - 1][lines[at].index("^") :].startswith("d), p=2")
    with pytest.raises(ValueError) as caught:
        trundle.chain("flip(0) | h (w p) c -> h w (p c), p=4")(np.zeros(IMAGE))
    lines = str(caught.value).splitlines()
    [at] = [number for number, line in enumerate(lines) if set(line.strip()) == {"^"}]
    start, end = lines[at].index("^"), lines[at].rindex("^") + 1
    assert lines[at - 1][start:end] == "(w p)"
    assert "stage 2" in lines[0] and "[4, 6, 3]" in lines[0]


REFUSED_SHAPES = [
    ("h w -> w h", IMAGE),
    ("flip(3)", IMAGE),
    ("flip(0, -3)", IMAGE),
    ("transpose(1, 0)", IMAGE),
    ("transpose(0, -1)", BATCH),
    ("reshape(2, -1, 5)", IMAGE),
    ("reshape(5, 5)", IMAGE),
    ("roll(shift=1, axes=3)", IMAGE),
    ("roll(shift=[1, 2, 3], axes=[0, 1])", IMAGE),
    ("reverse(axis=1, lengths=[2, 5, 3], batch_axis=0)", BATCH),
    ("reverse(axis=1, lengths=[2, 5])", BATCH),
    ("flip(0) | reshape(7) | flip(0)", BATCH),
]


@pytest.mark.parametrize(("text", "shape"), REFUSED_SHAPES)
def test_refused_shapes(text, shape):
    chain = trundle.chain(text)
    out = np.zeros(shape)
    with pytest.raises(ValueError, match=r"\^"):
        chain(np.ones(shape), out=out)
    assert not out.any()


@pytest.mark.parametrize("stage", [b"flip(0)", 1, None, ["flip(0)"], ("flip(0)",), np.flip])
def test_stages_must_be_strings(stage):
    with pytest.raises(TypeError):
        trundle.chain(stage)
    with pytest.raises(TypeError):
        trundle.chain("flip(0)", stage)


def test_one_chain_for_many_shapes_and_dtypes(rng):
    chain = trundle.chain("a b -> b a", "flip(0)")
    for _ in range(3):
        for dtype in ("u1", "f8", "V5"):
            for shape in ((2, 3), (70, 40), (0, 4), (1, 1)):
                x = random_array(dtype, shape, rng)
                assert_new(chain(x), x, x.T[::-1])


def test_threads_may_share_a_chain(rng):
    chain = trundle.chain(*SEVERAL_PASSES)
    inputs = [
        random_array(dtype, (6 * n, 50 * n), rng)
        for n in (1, 2, 5)
        for dtype in ("u1", "f4", "c16")
    ]
    expected = [several_passes(x) for x in inputs]
    wrong = []

    def work(offset):
        for turn in range(60):
            i = (turn + offset) % len(inputs)
            if chain(inputs[i]).tobytes() != expected[i].tobytes():
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(offset,)) for offset in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_subclasses_become_plain_arrays():
    x = np.arange(1, 7).reshape(2, 3).view(np.recarray)
    result = trundle.chain("a b -> b a")(x)
    assert type(result) is np.ndarray
    assert_same_bits(result, np.array([[1, 4], [2, 5], [3, 6]]))


TIME_MAJOR = ("b t -> t b", "reverse(axis=0, batch_axis=1, lengths=lengths)")


def time_major(x, lengths):
    return reversed_subsequences(x, np.asarray(lengths).reshape(-1, 1), 1).T


def test_lengths_are_passed_at_the_call(rng):
    chain = trundle.chain(*TIME_MAJOR)
    for turn in range(20):
        x = random_array(("u1", "f4", "c16")[turn % 3], (5, 7), rng)
        n = rng.integers(0, 8, 5)
        expected = time_major(x, n)
        for lengths in (n, n.astype("u1"), n.tolist(), tuple(n), list(n), n[::-1].copy()[::-1]):
            assert_new(chain(x, lengths=lengths), x, expected)
        out = np.zeros((7, 5), x.dtype)
        assert chain(x, lengths=n, out=out, threads=2) is out
        assert_same_bits(out, expected)


def test_lengths_are_read_at_every_call(rng):
    chain = trundle.chain(*TIME_MAJOR)
    x, n = random_array("u2", (2, 3), rng), np.array([3, 1])
    assert_new(chain(x, lengths=n), x, time_major(x, [3, 1]))
    n[:] = [1, 2]
    assert_new(chain(x, lengths=n), x, time_major(x, [1, 2]))
    assert_new(chain(x[::-1], lengths=n), x, time_major(x[::-1], [1, 2]))
    # The same numbers in another shape.
    open_lanes = trundle.chain("reverse(axis=1, lengths=n)")
    y = random_array("u2", (2, 3, 2), rng)
    lanes = np.array([[[1, 2]], [[3, 0]]])
    expected = reversed_subsequences(y, lanes, 1)
    assert_new(open_lanes(y, n=lanes), y, expected)
    assert_new(open_lanes(y, n=lanes.ravel()), y, expected)
    with pytest.raises(ValueError):
        open_lanes(y, n=lanes.reshape(4, 1, 1))


def test_stages_with_different_and_shared_lengths(rng):
    x = random_array("u2", (3, 4), rng)
    chain = trundle.chain("reverse(1, n, 0)", "flip(0)", "reverse(1, m, 0)", "reverse(1, n, 0)")

    def step(p, lengths):
        return reversed_subsequences(p, np.reshape(lengths, (3, 1)), 1)

    n, m = [4, 2, 0], [1, 3, 3]
    assert_new(chain(x, m=m, n=n), x, step(step(step(x, n)[::-1], m), n))
    assert chain.plan(x, n=n, m=m).out_shape == (3, 4)


def test_threads_may_share_an_open_chain(rng):
    chain = trundle.chain(*TIME_MAJOR)
    x = random_array("u2", (40, 50), rng)
    wrong = []

    def work(seed):
        own = np.random.default_rng(seed)
        for _ in range(40):
            n = own.integers(0, 51, 40)
            if chain(x, lengths=n).tobytes() != time_major(x, n).tobytes():
                wrong.append(n)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


BATCHES = np.zeros((3, 4))

REFUSED_LENGTHS = {
    "none": (TypeError, {}, "'lengths' of stage 2 are missing"),
    "another name": (TypeError, {"lenghts": [1, 2, 3]}, "'lenghts'; it takes lengths"),
    "one more": (TypeError, {"lengths": [1, 2, 3], "zzz": [1]}, "'zzz'; it takes lengths"),
    "floats": (TypeError, {"lengths": [1.0, 2, 3]}, "lengths must be integers"),
    "too long": (ValueError, {"lengths": [1, 2, 5]}, r"length 5 at index 2 [\s\S]*\^"),
    "below 0": (ValueError, {"lengths": [1, -2, 3]}, "length -2 at index 1"),
    "too few": (ValueError, {"lengths": [1, 2]}, r"got 2 and 3[\s\S]*\^"),
    "two axes": (ValueError, {"lengths": [[1, 2, 3]]}, "lengths must have 1 axis"),
}


@pytest.mark.parametrize("name", REFUSED_LENGTHS)
def test_invalid_lengths_are_refused(name):
    error, lengths, words = REFUSED_LENGTHS[name]
    chain = trundle.chain(*TIME_MAJOR)
    for call in (chain, chain.plan):
        with pytest.raises(error, match=words):
            call(BATCHES, **lengths)


def test_a_chain_without_open_lengths_refuses_lengths():
    with pytest.raises(TypeError, match="'lengths'; it has no open names"):
        trundle.chain("flip(0)")(BATCHES, lengths=[1, 2, 3])


@pytest.mark.parametrize("name", ["out", "threads"])
def test_lengths_cannot_have_the_name_of_a_keyword(name):
    with pytest.raises(ValueError, match=f"lengths={name}: "):
        trundle.chain(f"reverse(1, lengths={name})")


@pytest.mark.parametrize("file", ["lens.npy", "'lens'", '"n"', "a/b", "n-1"])
def test_lengths_are_not_read_from_files(file):
    with pytest.raises(ValueError, match=r"chains do not read files here[\s\S]*\^[\s\S]*lengths=n"):
        trundle.chain(f"reverse(1, lengths={file})")


@pytest.mark.parametrize(
    "printed",
    [
        str(np.array([1, 2])),
        str(np.arange(2000)),
        # Output of numpy 2 for a list of its integers; the output of older versions is valid.
        "[np.int64(1), np.int64(2)]",
        repr(np.array([1, 2])),
        "tensor([1, 2])",
    ],
)
def test_printed_lengths_are_refused_with_a_hint(printed):
    with pytest.raises(ValueError, match=r"at the call, as chain\(.*or write lengths.tolist\(\)"):
        trundle.chain("flip(0)", f"reverse(axis=1, batch_axis=0, lengths={printed})", "flip(1)")


def test_other_errors_do_not_hint_at_printed_lengths():
    for text in (
        "reverse(1, lengths=[1, -2])",
        "reverse(1, lengths=[1, 2]",
        "flip([0 1]) | reverse(1, lengths=[1, 2])",
        "reverse(1, lengths=[1, 2]) | flip([0 1])",
    ):
        with pytest.raises(ValueError) as caught:
            trundle.chain(text)
        assert "tolist" not in str(caught.value)


def test_equality_of_open_chains():
    one = trundle.chain(*TIME_MAJOR)
    assert one == trundle.chain("b t -> t b | reverse(0, lengths, 1)")
    assert hash(one) == hash(trundle.chain("b t -> t b | reverse(0, lengths, 1)"))
    for other in (
        "b t -> t b | reverse(0, n, 1)",
        "b t -> t b | reverse(0, lengths)",
        "b t -> t b | reverse(0, [], 1)",
        "reverse(0, lengths, 1)",
        "reverse(0, lengths, 1) | b t -> t b",
    ):
        assert one != trundle.chain(other)
    again = pickle.loads(pickle.dumps(one))
    assert again == one == copy.deepcopy(one) == eval(repr(one))
    x = np.arange(6).reshape(2, 3)
    assert_new(again(x, lengths=[2, 3]), x, time_major(x, [2, 3]))



def test_chains_are_joined(rng):
    x = random_array("u2", (3, 4), rng)
    one, other = trundle.chain("flip(0)"), trundle.chain("a b -> b a", "roll(1, 0)")
    both = trundle.chain("flip(0) | a b -> b a | roll(1, 0)")
    for joined in (one | other, one | str(other), "flip(0)" | other, trundle.chain() | one | other):
        assert joined == both and hash(joined) == hash(both)
        assert_new(joined(x), x, both(x))
    assert one | trundle.chain() == one == trundle.chain() | one == one | ""
    assert str(one | other) == "flip(0) | a b -> b a | roll(1, 0)"
    lengths = trundle.chain("reverse(1, n, 0)")
    assert_new((lengths | one)(x, n=[1, 2, 3]), x, lengths(x, n=[1, 2, 3])[::-1])


def test_chains_join_only_chains_and_strings():
    one = trundle.chain("flip(0)")
    for other in (1, None, ["flip(0)"], b"flip(0)"):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \|"):
            one | other
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \|"):
            other | one
    with pytest.raises(ValueError, match="flop"):
        one | "flop(1)"
    for other in (one, "flip(0)"):
        with pytest.raises(TypeError, match=r"join chains by \|, as in a \| b, not by \+"):
            one + other
    with pytest.raises(TypeError, match="unsupported operand"):
        one + 1


def test_the_class_makes_chains():
    assert trundle.Chain("flip(0)", "flip(1)") == trundle.chain("flip(0) | flip(1)")
    assert trundle.Chain() == trundle.chain()
    with pytest.raises(ValueError, match=r"flop[\s\S]*\^"):
        trundle.Chain("flop(1)")
    with pytest.raises(TypeError, match="each stage must be a str"):
        trundle.Chain(1)


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_an_empty_text_is_not_a_stage(blank):
    assert trundle.chain(blank) == trundle.chain()
    assert trundle.chain(str(trundle.chain())) == trundle.chain()
    with pytest.raises(ValueError, match="empty stage"):
        trundle.chain("flip(0)", blank)


def test_weak_references():
    chain = trundle.chain("flip(0)")
    seen = weakref.ref(chain)
    assert seen() is chain and weakref.WeakSet([chain])
    del chain
    gc.collect()
    assert seen() is None


def test_plans_are_not_pickled():
    plan = trundle.chain("flip(0)").plan(BATCHES)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle the chain"):
            copied(plan)


def test_the_class_documents_the_call():
    words = trundle.Chain.__doc__
    assert "chain(x, /, *, out=None, threads=None, **given)" in words and "TypeError" in words
