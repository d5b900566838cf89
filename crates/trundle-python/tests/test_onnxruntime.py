"""The operators of the domain `trundle` in ONNX Runtime."""

import concurrent.futures
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import trundle

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, ValueInfoProto, helper, numpy_helper  # noqa: E402

CHANCE = np.random.default_rng(0)


def inner_model(nodes, inputs, outputs, constants=()):
    """Inputs have names, but no types or shapes."""
    named = lambda names: [ValueInfoProto(name=name) for name in names]
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(constants).items()]
    graph = helper.make_graph(nodes, "moved", named(inputs), named(outputs), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def move(model, inputs, outputs, name="moved"):
    return helper.make_node("Move", inputs, outputs, domain="trundle", name=name, model=model)


def typed(name, element=TensorProto.FLOAT, sizes=None):
    return helper.make_tensor_value_info(name, element, sizes)


def serialized_model(nodes, inputs, outputs, between=(), initializers=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers), value_info=list(between))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("trundle", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def session(nodes, inputs, outputs, between=(), initializers=(), threads=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if threads:
        options.intra_op_num_threads = threads
    options.register_custom_ops_library(trundle.onnx_library())
    model = serialized_model(nodes, inputs, outputs, between, initializers)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, **attributes)


TURNED = inner_model([node("Transpose", ["a"], ["b"], perm=[2, 0, 1])], ["a"], ["b"])


def rolled(name, axis, shift, size):
    """The nodes and constants of a roll, as exporters write it."""
    constants = {f"{name}_{word}": np.array([number]) for word, number in {
        "zero": 0, "cut": size - shift, "end": 2**62, "axis": axis,
    }.items()}  # fmt: skip
    of = lambda *words: [f"{name}_{word}" for word in words]
    nodes = [
        node("Slice", [name, *of("cut", "end", "axis")], of("last")),
        node("Slice", [name, *of("zero", "cut", "axis")], of("first")),
        node("Concat", of("last", "first"), of("rolled"), axis=axis),
    ]
    return nodes, constants


def windows():
    """2 x 2, for batches of any size."""
    first, constants = rolled("x", 1, 1, 6)
    second, more = rolled("x_rolled", 2, 1, 8)
    sizes = {"cut": np.array([-1, 3, 2, 4, 2, 5]), "rows": np.array([-1, 4, 5])}
    nodes = [
        *first,
        *second,
        node("Reshape", ["x_rolled_rolled", "cut"], ["parts"]),
        node("Transpose", ["parts"], ["sorted"], perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", ["sorted", "rows"], ["windows"]),
    ]
    return inner_model(nodes, ["x"], ["windows"], {**constants, **more, **sizes})


def windows_of(x):
    x = np.roll(x, (1, 1), (1, 2)).reshape(-1, 3, 2, 4, 2, 5)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, 4, 5)


@pytest.mark.parametrize("sizes", [None, ["n", 6, 8, 5], [3, 6, 8, 5]])
def test_a_move_node_runs_a_model(sizes):
    run = session([move(windows(), ["x"], ["y"])], [typed("x", sizes=sizes)], [typed("y")])
    for batch in [3] if sizes == [3, 6, 8, 5] else [3, 1, 0, 3, 7]:
        x = CHANCE.random((batch, 6, 8, 5), np.float32)
        (y,) = run.run(None, {"x": x})
        assert y.shape == (12 * batch, 4, 5) and (y == windows_of(x)).all()


def test_output_shapes_are_known_if_input_sizes_are():
    run = session([move(windows(), ["x"], ["y"])], [typed("x", sizes=[3, 6, 8, 5])], [typed("y")])
    assert run.get_outputs()[0].shape == [36, 4, 5]


@pytest.mark.parametrize("sizes", [None, ["n", "m", "k"], [2, 3, 4]])
def test_inputs_and_outputs_may_have_different_types(sizes):
    model = inner_model(
        [
            node("Transpose", ["a"], ["turned"], perm=[2, 0, 1]),
            node("Shape", ["a"], ["sizes"]),
            node("Concat", ["i", "sizes"], ["more"], axis=0),
            node("Identity", ["flags"], ["same"]),
        ],
        ["a", "i", "flags"],
        ["sizes", "turned", "more", "same", "flags"],
    )
    kinds = {"sizes": TensorProto.INT64, "turned": TensorProto.DOUBLE, "more": TensorProto.INT64}
    kinds |= {"same": TensorProto.BOOL, "flags": TensorProto.BOOL}
    names = [*kinds]
    # Types come from the graph.
    run = session(
        [
            move(model, ["x", "i", "f"], names),
            *(node("Identity", [name], [f"{name}_out"]) for name in names),
        ],
        [typed("x", TensorProto.DOUBLE, sizes), typed("i", TensorProto.INT64), typed("f", TensorProto.BOOL)],
        [typed(f"{name}_out", kind) for name, kind in kinds.items()],
        [typed(name, kind) for name, kind in kinds.items()],
    )
    x, flags = CHANCE.random((2, 3, 4)), np.array([True, False])
    given = {"x": x, "i": np.array([7, 8]), "f": flags}
    made = dict(zip(names, run.run(None, given), strict=True))
    assert made["sizes"].tolist() == [2, 3, 4] and made["more"].tolist() == [7, 8, 2, 3, 4]
    assert (made["turned"] == x.transpose(2, 0, 1)).all()
    assert (made["same"] == flags).all() and (made["flags"] == flags).all()


def test_sizes_may_be_computed_within_the_model():
    nodes = [
        node("Shape", ["x"], ["sizes"]),
        node("Gather", ["sizes", "zero"], ["batch"]),
        node("Concat", ["batch", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["rows"]),
        node("Transpose", ["rows"], ["y"], perm=[0, 2, 1]),
    ]
    model = inner_model(nodes, ["x"], ["y"], {"zero": np.array([0]), "rest": np.array([-1, 3])})
    run = session([move(model, ["x"], ["y"])], [typed("x", sizes=["n", "m"])], [typed("y")])
    for sizes in [(2, 12), (5, 6), (2, 12), (1, 3)]:
        x = CHANCE.random(sizes, np.float32)
        (y,) = run.run(None, {"x": x})
        assert (y == x.reshape(sizes[0], -1, 3).transpose(0, 2, 1)).all()


def test_shapes_and_indices_may_be_inputs():
    nodes = [
        node("Reshape", ["x", "shape"], ["shaped"]),
        node("Transpose", ["shaped"], ["turned"], perm=[1, 0]),
        node("Gather", ["turned", "rows"], ["y"]),
    ]
    model = inner_model(nodes, ["x", "shape", "rows"], ["y"])
    numbers = TensorProto.INT64
    run = session(
        [move(model, ["x", "s", "r"], ["y"])],
        [typed("x", sizes=["n"]), typed("s", numbers, [2]), typed("r", numbers, ["k"])],
        [typed("y")],
    )
    for _ in range(60):
        columns = int(CHANCE.integers(1, 5))
        x = CHANCE.random(12 * columns, np.float32)
        rows = CHANCE.integers(0, columns, CHANCE.integers(0, 4))
        (y,) = run.run(None, {"x": x, "s": np.array([-1, columns]), "r": rows})
        assert (y == x.reshape(-1, columns).T[rows]).all()


NUMBERS = {
    "FLOAT": np.float32, "DOUBLE": np.float64, "FLOAT16": np.float16, "UINT8": np.uint8, "INT8": np.int8,
    "UINT16": np.uint16, "INT16": np.int16, "UINT32": np.uint32, "INT32": np.int32, "UINT64": np.uint64,
    "INT64": np.int64, "BOOL": np.bool_,
}  # fmt: skip
# Types that numpy lacks, as unsigned integers of the same bits.
BITS = {
    "BFLOAT16": np.uint16, "FLOAT8E4M3FN": np.uint8, "FLOAT8E4M3FNUZ": np.uint8, "FLOAT8E5M2": np.uint8,
    "FLOAT8E5M2FNUZ": np.uint8,
}  # fmt: skip


@pytest.mark.parametrize("sizes", [None, [5, 3, 4]])
@pytest.mark.parametrize("kind", [*NUMBERS, *BITS])
def test_every_type_moves(kind, sizes):
    element = getattr(TensorProto, kind)
    run = session([move(TURNED, ["x"], ["y"])], [typed("x", element, sizes)], [typed("y", element)])
    if kind in NUMBERS:
        x = CHANCE.integers(0, 100, (5, 3, 4)).astype(NUMBERS[kind])
        (y,) = run.run(None, {"x": x})
        assert y.dtype == x.dtype and (y == x.transpose(2, 0, 1)).all()
        return
    x = CHANCE.integers(0, 256, (5, 3, 4)).astype(BITS[kind])
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, element)
    (y,) = run.run_with_ort_values(["y"], {"x": value})
    assert y.element_type() == element and y.shape() == [4, 5, 3]
    bits = np.ctypeslib.as_array(
        (np.ctypeslib.as_ctypes_type(x.dtype) * x.size).from_address(y.data_ptr())
    )
    assert (bits.reshape(4, 5, 3) == x.transpose(2, 0, 1)).all()


@pytest.mark.parametrize("sizes", [(4, 2, 5), (3, 1, 5), (3, 3, 3)])
@pytest.mark.parametrize("kind, least", [("INT4", -8), ("UINT4", 0)])
def test_packed_types_move(kind, least, sizes):
    element = getattr(TensorProto, kind)
    numbers = CHANCE.integers(least, least + 16, sizes)
    x = helper.make_tensor("x", element, sizes, numbers.reshape(-1).tolist())
    one = numpy_helper.from_array(np.array(1, np.float32), "one")
    run = session(
        [move(TURNED, ["x"], ["y"]), node("DequantizeLinear", ["y", "one"], ["z"])],
        [], [typed("z")], [typed("y", element)], [x, one],
    )  # fmt: skip
    (z,) = run.run(None, {})
    assert (z == numbers.transpose(2, 0, 1)).all()


STRINGS = np.array([["", "a\0b", "ünï"], ["long " * 20, "x", "\0"]], dtype=object)


def test_strings_move():
    nodes = [node("Transpose", ["t"], ["b"], perm=[1, 0]), node("Identity", ["n"], ["m"])]
    model = inner_model(nodes, ["t", "n"], ["b", "m"])
    strings, numbers = TensorProto.STRING, TensorProto.INT32
    run = session(
        [move(model, ["t", "n"], ["b", "m"])],
        [typed("t", strings), typed("n", numbers)],
        [typed("b", strings), typed("m", numbers)],
    )
    n = np.arange(3, dtype=np.int32)
    for t in [STRINGS[:, :1], STRINGS, STRINGS[:0]]:
        b, m = run.run(None, {"t": t, "n": n})
        assert b.shape == t.T.shape and (b == t.T).all() and (m == n).all()


def test_chains_move_strings():
    one = session(
        [node("Chain", ["t"], ["u"], domain="trundle", chain="flip(axes=[1]) | a b -> b a")],
        [typed("t", TensorProto.STRING)], [typed("u", TensorProto.STRING)],
    )  # fmt: skip
    (u,) = one.run(None, {"t": STRINGS})
    assert (u == STRINGS[:, ::-1].T).all()


def test_models_may_have_no_inputs():
    model = inner_model([node("Transpose", ["k"], ["y"], perm=[1, 0])], [], ["y"], {"k": np.arange(6).reshape(2, 3)})
    run = session([move(model, [], ["y"])], [], [typed("y", TensorProto.INT64)])
    assert run.run(None, {})[0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_move_nodes_work_among_other_operators():
    run = session(
        [
            node("Relu", ["x"], ["a"]),
            move(TURNED, ["a"], ["b"], "first"),
            move(TURNED, ["b"], ["c"], "second"),
            node("Neg", ["c"], ["y"]),
        ],
        [typed("x", sizes=["n", 3, 4])], [typed("y")], [typed("b"), typed("c")],
    )  # fmt: skip
    x = CHANCE.random((2, 3, 4), np.float32) - np.float32(0.5)
    (y,) = run.run(None, {"x": x})
    assert (y == -np.maximum(x, 0).transpose(1, 2, 0)).all()


def test_threads_may_share_a_session():
    run = session([move(windows(), ["x"], ["y"])], [typed("x", sizes=["n", 6, 8, 5])], [typed("y")])

    def one(seed):
        x = np.random.default_rng(seed).random((1 + seed % 23, 6, 8, 5), np.float32)
        return (run.run(None, {"x": x})[0] == windows_of(x)).all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(300)))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_tensors_move(threads):
    run = session([move(TURNED, ["x"], ["y"])], [typed("x")], [typed("y")], threads=threads)
    for sizes in [(300, 200, 100), (2, 3, 1_000_000)]:
        x = CHANCE.random(sizes, np.float32)
        (y,) = run.run(None, {"x": x})
        assert (y == x.transpose(2, 0, 1)).all()


ONE_THREAD = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import test_onnxruntime as tests
threads = lambda: len(os.listdir("/proc/self/task"))
run = tests.session([tests.move(tests.TURNED, ["x"], ["y"])], [tests.typed("x")], [tests.typed("y")], threads=1)
x = np.zeros((300, 200, 100), np.float32)
before = threads()
run.run(None, {"x": x})
assert threads() == before, (before, threads())
"""


@pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="threads are counted by Linux")
def test_only_the_threads_of_the_session_are_used():
    folder = str(pathlib.Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", ONE_THREAD, folder], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def refusal(make):
    with pytest.raises(Exception) as refused:
        make()
    return str(refused.value)


def test_invalid_models_are_refused():
    of = lambda model, outputs=("y",): lambda: session(
        [move(model, ["x"], [*outputs], "the node")],
        [typed("x", sizes=[2, 3, 4])],
        [typed(name) for name in outputs],
    )
    bends = inner_model([node("Relu", ["a"], ["b"])], ["a"], ["b"])
    two = inner_model([node("Transpose", ["a"], ["c"])], ["a", "b"], ["c"])
    for make, message in [
        (of(b"no model\0at all"), "not an ONNX model"),
        (of(b""), "not an ONNX model"),
        (of(bends), "Relu (1 node), which computes"),
        (of(two), "wrong number of inputs: the model takes 2, got 1"),
        (of(TURNED, ["y", "z"]), "wrong number of outputs: the model gives 1, the node has 2"),
    ]:
        refused = refusal(make)
        assert 'trundle.Move "the node": ' in refused and message in refused
    missing = node("Move", ["x"], ["y"], domain="trundle", name="the node")
    refused = refusal(lambda: session([missing], [typed("x")], [typed("y")]))
    assert 'trundle.Move "the node": attribute model: ' in refused
    outside = inner_model([node("Transpose", ["k"], ["y"])], [], ["y"], {"k": np.arange(6).reshape(2, 3)})
    model = onnx.ModelProto.FromString(outside)
    initializer = model.graph.initializer[0]
    initializer.ClearField("raw_data")
    initializer.data_location = TensorProto.EXTERNAL
    initializer.external_data.add(key="location", value="weights")
    make = lambda: session([move(model.SerializeToString(), [], ["y"])], [], [typed("y", TensorProto.INT64)])
    assert "weights" in refusal(make) or "external" in refusal(make)


def test_arithmetic_on_elements_is_refused():
    adds = inner_model([node("Add", ["a", "a"], ["b"])], ["a"], ["b"])
    run = session([move(adds, ["x"], ["y"], "the node")], [typed("x", sizes=[3])], [typed("y")])
    refused = refusal(lambda: run.run(None, {"x": np.zeros(3, np.float32)}))
    assert 'trundle.Move "the node": ' in refused and "Add" in refused


def test_inputs_that_do_not_fit_are_refused():
    run = session([move(windows(), ["x"], ["y"], "the node")], [typed("x")], [typed("y")])
    for sizes in [(3, 6, 8, 4), (3,), ()]:
        refused = refusal(lambda sizes=sizes: run.run(None, {"x": np.zeros(sizes, np.float32)}))
        assert 'trundle.Move "the node": ' in refused
    x = CHANCE.random((2, 6, 8, 5), np.float32)
    assert (run.run(None, {"x": x})[0] == windows_of(x)).all()


def test_outputs_of_another_type_are_refused():
    model = inner_model([node("Shape", ["a"], ["b"])], ["a"], ["b"])
    run = session([move(model, ["x"], ["y"])], [typed("x")], [typed("y", TensorProto.DOUBLE)])
    refused = refusal(lambda: run.run(None, {"x": np.zeros((2, 3), np.float32)}))
    assert "output 0: is of i64, but the graph states f64" in refused


def session_of_operator(kind, inputs, element=TensorProto.FLOAT, sizes=None, **attributes):
    """All inputs except the first are int64."""
    made = node(kind, inputs, ["y"], domain="trundle", name="the node", **attributes)
    others = [typed(name, TensorProto.INT64) for name in inputs[1:]]
    return session([made], [typed("x", element, sizes), *others], [typed("y", element)])


@pytest.mark.parametrize("sizes", [None, ["n", 5, 7]])
def test_rolls(sizes):
    run = session_of_operator("Roll", ["x", "shift", "axes"], sizes=sizes)
    for _ in range(60):
        x = CHANCE.random((CHANCE.integers(0, 4), 5, 7), np.float32)
        axes = CHANCE.integers(-3, 3, CHANCE.integers(0, 4))
        shift = CHANCE.integers(-9, 9, len(axes))
        (y,) = run.run(None, {"x": x, "shift": shift, "axes": axes})
        assert (y == np.roll(x, tuple(shift), tuple(axes))).all()
    x = CHANCE.random((2, 5, 7), np.float32)
    for shift, axes in [(np.array(3), np.array([0, 2])), (np.array([3]), np.array([0, 2]))]:
        (y,) = run.run(None, {"x": x, "shift": shift, "axes": axes})
        assert (y == np.roll(x, (3, 3), (0, 2))).all()
    (y,) = run.run(None, {"x": x, "shift": np.array(3), "axes": np.array(-1)})
    assert (y == np.roll(x, 3, -1)).all()


def test_rolls_that_do_not_fit_are_refused():
    run = session_of_operator("Roll", ["x", "shift", "axes"])
    x = np.zeros((2, 3), np.float32)
    for shift, axes, message in [
        ([1, 2, 3], [0, 1], "shift and axes must have the same length, got 3 and 2"),
        ([1], [2], "axis"),
        ([[1]], [0], "shift must have at most 1 axis, got 2"),
    ]:
        given = {"x": x, "shift": np.array(shift), "axes": np.array(axes)}
        refused = refusal(lambda given=given: run.run(None, given))
        assert 'trundle.Roll "the node": ' in refused and message in refused


def reversed_rows(x, lengths, axis):
    y = x.copy()
    rows, lengths = np.moveaxis(y, axis, -1), np.moveaxis(lengths, axis, -1)
    for at in np.ndindex(rows.shape[:-1]):
        length = min(int(lengths[at][0]), x.shape[axis])
        rows[at][:length] = rows[at][:length][::-1].copy()
    return y


@pytest.mark.parametrize("axis", [1, -1, 0])
def test_reverse_subsequences_reverses_the_first_elements(axis):
    run = session_of_operator("ReverseSubsequences", ["x", "lengths"], TensorProto.INT32, axis=axis)
    for _ in range(30):
        sizes = tuple(CHANCE.integers(1, 6, 3))
        x = CHANCE.integers(0, 99, sizes).astype(np.int32)
        rows = tuple(1 if at == axis % 3 else size for at, size in enumerate(sizes))
        lengths = CHANCE.integers(0, 9, rows)
        (y,) = run.run(None, {"x": x, "lengths": lengths})
        assert (y == reversed_rows(x, lengths, axis)).all()


def test_lengths_that_do_not_fit_are_refused():
    run = session_of_operator("ReverseSubsequences", ["x", "lengths"], axis=1)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    good = np.array([[2], [3]])
    assert run.run(None, {"x": x, "lengths": good})[0].tolist() == [[1, 0, 2], [5, 4, 3]]
    for lengths, message in [
        (good.T, "lengths must have shape [2, 1], got [1, 2]"),
        (np.array([[2], [-1]]), "lengths must be 0 or more, got -1"),
    ]:
        refused = refusal(lambda lengths=lengths: run.run(None, {"x": x, "lengths": lengths}))
        assert 'trundle.ReverseSubsequences "the node": ' in refused and message in refused
    refused = refusal(lambda: session_of_operator("ReverseSubsequences", ["x", "lengths"]))
    assert 'trundle.ReverseSubsequences "the node": attribute axis: ' in refused


@pytest.mark.parametrize("sizes", [None, ["n", 3, "k"], [2, 3, 4]])
def test_chains(sizes):
    for text, want in [
        ("flip(axes=[2]) | roll(shift=1, axes=0)", lambda x: np.roll(x[..., ::-1], 1, 0)),
        ("h w c -> c (h w)", lambda x: x.transpose(2, 0, 1).reshape(x.shape[2], -1)),
        ("pad(width=1, value=5)", lambda x: np.pad(x, 1, constant_values=5)),
        ("concat(_, _, axis=0)", lambda x: np.concatenate([x, x])),
    ]:
        run = session_of_operator("Chain", ["x"], TensorProto.INT16, sizes, chain=text)
        for batch in [2] if sizes == [2, 3, 4] else [2, 3, 2, 0]:
            x = CHANCE.integers(0, 99, (batch, 3, 4)).astype(np.int16)
            (y,) = run.run(None, {"x": x})
            assert y.shape == want(x).shape and (y == want(x)).all()
            if sizes == [2, 3, 4]:
                assert run.get_outputs()[0].shape == [*want(x).shape]


def test_chains_that_do_not_fit_are_refused():
    for text, message in [
        ("flop(axes=[2])", "flop"),
        ("concat(_, b, axis=0)", "the chain must take one tensor, but takes 2"),
        ("reverse(axis=0, lengths=file.npy)", "chains do not read files here"),
    ]:
        refused = refusal(lambda text=text: session_of_operator("Chain", ["x"], chain=text))
        assert 'trundle.Chain "the node": ' in refused and message in refused
    run = session_of_operator("Chain", ["x"], chain="flip(axes=[2])")
    refused = refusal(lambda: run.run(None, {"x": np.zeros((2, 3), np.float32)}))
    assert 'trundle.Chain "the node": stage 1 does not fit shape [2, 3]' in refused


def test_strings_cannot_be_padded_with_numbers():
    run = session_of_operator("Chain", ["x"], TensorProto.STRING, chain="pad(width=1, value=5)")
    refused = refusal(lambda: run.run(None, {"x": STRINGS}))
    assert 'trundle.Chain "the node": ' in refused and "5" in refused


def test_the_library_may_be_registered_repeatedly():
    for _ in range(3):
        run = session_of_operator("Chain", ["x"], chain="flip(0)")
        assert run.run(None, {"x": np.arange(3, dtype=np.float32)})[0].tolist() == [2, 1, 0]
