"""Models: arguments, errors, and cached plans."""

import concurrent.futures
import copy
import pickle

import numpy as np
import pytest
import trundle

TYPES = {
    "f32": np.float32, "f16": np.float16, "f64": np.float64, "boolean": np.bool_, "u8": np.uint8,
    "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32,
    "u64": np.uint64, "i64": np.int64,
}  # fmt: skip


class Graph:
    """An IR, built layer by layer."""

    def __init__(self):
        self.layers, self.edges, self.weights = [], [], b""

    def layer(self, kind, attributes="", inputs=(), outputs=1, name=None):
        number = len(self.layers)
        name = name or f"{kind}{number}"
        ports = lambda first, count: "".join(
            f"<port id='{first + at}'/>" for at in range(count)
        )
        text = f"<layer id='{number}' name='{name}' type='{kind}' version='opset1'>"
        if attributes:
            text += f"<data {attributes}/>"
        if inputs:
            text += f"<input>{ports(0, len(inputs))}</input>"
        if outputs:
            text += f"<output>{ports(len(inputs), outputs)}</output>"
        self.layers.append(text + "</layer>")
        for port, (of, out) in enumerate(inputs):
            self.edges.append(
                f"<edge from-layer='{of}' from-port='{out}' to-layer='{number}' to-port='{port}'/>"
            )
        return number, len(inputs)

    def input(self, name, shape, dtype="f32"):
        return self.layer("Parameter", f"shape='{shape}' element_type='{dtype}'", name=name)

    def constant(self, values, dtype="i64"):
        data = np.asarray(values, TYPES[dtype])
        place = f"offset='{len(self.weights)}' size='{data.nbytes}'"
        self.weights += data.tobytes()
        shape = ",".join(map(str, data.shape))
        return self.layer("Const", f"element_type='{dtype}' shape='{shape}' {place}")

    def output(self, name, of):
        self.layer("Result", inputs=[of], outputs=0, name=name)

    def save(self, folder, name="model"):
        layers, edges = "".join(self.layers), "".join(self.edges)
        path = folder / f"{name}.xml"
        path.write_text(
            f"<net name='{name}' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>"
        )
        (folder / f"{name}.bin").write_bytes(self.weights)
        return path


def transposing_model(folder, dtype="f32", shape="?,3"):
    graph = Graph()
    x = graph.input("x", shape, dtype)
    graph.output("y", graph.layer("Transpose", inputs=[x, graph.constant([1, 0])]))
    return graph.save(folder)


def model_with_order_input(folder):
    """An order as an input, and an input that is passed through."""
    graph = Graph()
    x, order = graph.input("x", "?,?,?"), graph.input("order", "3", "i64")
    rest = graph.input("rest", "?", "u8")
    graph.output("y", graph.layer("Transpose", inputs=[x, order]))
    graph.output("same", rest)
    graph.output("again", rest)
    return graph.save(folder)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_moves(tmp_path, dtype):
    model = trundle.Model(transposing_model(tmp_path, dtype))
    assert model.inputs == {"x": (dtype, (None, 3))} and model.outputs == ("y",)
    for rows in [0, 1, 5, 1000]:
        x = np.arange(3 * rows).reshape(rows, 3).astype(TYPES[dtype])
        for given in [x, np.asfortranarray(x), x[::-1][::-1]]:
            y = model(x=given)["y"]
            assert y.dtype == x.dtype and y.flags.c_contiguous and (y == x.T).all()


def test_bfloat16_uses_ml_dtypes(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    y = trundle.Model(transposing_model(tmp_path, "bf16"))(x)["y"]
    assert y.dtype == x.dtype and (y == x.T).all()


def test_inputs_are_passed_by_position_or_name(tmp_path):
    model = trundle.Model(model_with_order_input(tmp_path))
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    rest = np.arange(5, dtype=np.uint8)
    for given in [
        model(x, [2, 0, 1], rest),
        model(x, order=[2, 0, 1], rest=rest, threads=1),
        model(rest=rest, x=x, order=np.array([2, 0, 1])),
    ]:
        assert list(given) == ["y", "same", "again"]
        assert (given["y"] == x.transpose(2, 0, 1)).all()
        assert (given["same"] == rest).all() and (given["again"] == rest).all()
        assert not np.shares_memory(given["same"], rest)
        assert not np.shares_memory(given["same"], given["again"])


def test_inputs_may_be_of_other_libraries(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    y = trundle.Model(transposing_model(tmp_path))(x)["y"]
    assert isinstance(y, np.ndarray) and (y == x.numpy().T).all()


def test_cached_plans_depend_on_shapes_and_orders(tmp_path):
    model = trundle.Model(model_with_order_input(tmp_path))
    chance = np.random.default_rng(1)
    for _ in range(200):
        x = chance.random(chance.integers(0, 4, 3), np.float32)
        order = chance.permutation(3)
        rest = chance.integers(0, 9, 4).astype(np.uint8)
        made = model(x, order, rest)
        assert (made["y"] == x.transpose(order)).all() and (made["again"] == rest).all()


def test_results_are_written_to_out(tmp_path):
    model = trundle.Model(model_with_order_input(tmp_path))
    x, rest = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.arange(5, dtype=np.uint8)
    y = np.empty((4, 3, 2), np.float32)
    made = model(x, [2, 1, 0], rest, out={"y": y})
    assert made["y"] is y and (y == x.T).all()
    for wrong in [
        np.empty((4, 3, 1), np.float32), np.empty((4, 3, 2), np.float64), [1],
        np.empty((2, 3, 4), np.float32).T, np.empty((4, 3, 4), np.float32)[:, :, ::2],
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"out: output 'y' must be a writeable C-contiguous"):
            model(x, [2, 1, 0], rest, out={"y": wrong})
    with pytest.raises(ValueError, match="out: the model has no output 'z'"):
        model(x, [2, 1, 0], rest, out={"z": y})
    y.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        model(x, [2, 1, 0], rest, out={"y": y})


def test_arrays_that_overlap_are_refused(tmp_path):
    model = trundle.Model(model_with_order_input(tmp_path))
    room = np.zeros(100, np.float32)
    x, rest = room[:24].reshape(2, 3, 4), np.arange(5, dtype=np.uint8)
    for first in [0, 23]:
        with pytest.raises(ValueError, match="overlaps"):
            model(x, [2, 1, 0], rest, out={"y": room[first : first + 24].reshape(4, 3, 2)})
    model(x, [2, 1, 0], rest, out={"y": room[24:48].reshape(4, 3, 2)})
    both = np.zeros(9, np.uint8)
    with pytest.raises(ValueError, match="overlaps"):
        model(x, [2, 1, 0], rest, out={"same": both[:5], "again": both[4:]})


def test_inputs_that_do_not_fit_are_refused(tmp_path):
    model = trundle.Model(transposing_model(tmp_path))
    x = np.zeros((2, 3), np.float32)
    for call, message in [
        (lambda: model(), "input 'x' is missing"),
        (lambda: model(x, x), "wrong number of inputs: the model takes 1, got 2"),
        (lambda: model(x, x=x), "input 'x' is given twice"),
        (lambda: model(y=x), "the model has no input 'y': it takes 'x'"),
        (lambda: model(x.astype(">f4")), "is of dtype float32, got >f4"),
        (lambda: model(x.astype(int)), r"got int64: trundle does not cast, pass x.astype\('float32'\)"),
        (lambda: model(np.ma.array(x)), "input 'x' is a masked array"),
        (lambda: model(x.astype(object)), "references to Python objects"),
        (lambda: model(x, threads="2"), "threads"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    for shape in [(2,), (2, 4), (2, 3, 1)]:
        with pytest.raises(ValueError, match=r"must have shape \[\?, 3\], got"):
            model(np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match="threads"):
        model(x, threads=0)


def test_invalid_and_unsupported_models_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot read") as raised:
        trundle.Model(tmp_path / "none.onnx")
    assert raised.value.errno == 2 and raised.value.filename == str(tmp_path / "none.onnx")
    other = tmp_path / "model.txt"
    other.write_text("no model")
    with pytest.raises(ValueError, match="not a model file"):
        trundle.Model(other)
    other = tmp_path / "model.onnx"
    other.write_bytes(b"no model")
    with pytest.raises(ValueError, match="model.onnx"):
        trundle.Model(str(other))
    graph = Graph()
    x = graph.input("x", "2")
    graph.output("y", graph.layer("Add", inputs=[x, x]))
    with pytest.raises(ValueError, match="Add"):
        trundle.Model(graph.save(tmp_path, "adds"))(np.zeros(2, np.float32))
    packed = trundle.Model(transposing_model(tmp_path, "u4"))
    with pytest.raises(TypeError, match="u4, which arrays cannot hold"):
        packed(np.zeros((2, 3), np.uint8))


def test_a_plan_describes_the_passes(tmp_path):
    model = trundle.Model(transposing_model(tmp_path))
    plan = model.plan(np.zeros((5, 3), np.float32))
    assert (plan.passes, plan.moved_bytes) == (1, 60)
    assert str(plan).startswith("1 pass over memory, 60 bytes")
    assert "Transpose" in str(model) and repr(model).startswith("trundle.Model(")
    with pytest.raises(TypeError, match="pickle the model"):
        pickle.dumps(plan)


def test_models_are_pickled_by_their_path(tmp_path):
    model = trundle.Model(transposing_model(tmp_path))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for again in [pickle.loads(pickle.dumps(model)), copy.copy(model)]:
        assert (again(x)["y"] == x.T).all() and again.inputs == model.inputs


def test_links_out_of_the_folder_need_follow_links(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    path = transposing_model(inside)
    (inside / "model.bin").rename(outside / "weights")
    (inside / "model.bin").symlink_to(outside / "weights")
    with pytest.raises(ValueError, match="link"):
        trundle.Model(path)
    model = trundle.Model(path, follow_links=True)
    for one in [model, pickle.loads(pickle.dumps(model))]:
        assert one(np.zeros((4, 3), np.float32))["y"].shape == (3, 4)


def test_threads_may_share_a_model(tmp_path):
    model = trundle.Model(transposing_model(tmp_path))

    def one(seed):
        x = np.random.default_rng(seed).random((1000 + seed % 3, 3), np.float32)
        return (model(x)["y"] == x.T).all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(200)))
