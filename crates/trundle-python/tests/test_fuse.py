"""Fused models give the same bits in ONNX Runtime."""

import random
import subprocess
import sys

import numpy as np
import pytest

import trundle

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

onnxruntime.set_default_logger_severity(3)


def fuse(path, fused, *options):
    command = [sys.executable, "-m", "trundle", "fuse", str(path), "-o", str(fused), *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def session(path, optimized=True):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.register_custom_ops_library(trundle.onnx_library())
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def same(path, fused, inputs):
    expected = session(path, optimized=False).run(None, inputs)
    for optimized in (False, True):
        got = session(fused, optimized).run(None, inputs)
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            assert one.dtype == other.dtype and one.shape == other.shape
            assert one.tobytes() == other.tobytes()


class Net:
    """Random movements, with sizes that are constant or computed from shapes, and exact computations."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.tensors, self.known = [], [], {}
        self.names = 0
        # For batches of 2 and 3: sizes that differ are not constants of the graph.
        self.live = {"x": ((2, 4, 6), (3, 4, 6)), "z": ((2, 6, 4), (3, 6, 4))}

    def name(self, kind):
        self.names += 1
        return f"{kind}{self.names}"

    def constant(self, values):
        name = self.name("c")
        array = np.array(values, np.int64)
        if self.random.random() < 0.3:
            value = numpy_helper.from_array(array)
            self.nodes.append(helper.make_node("Constant", [], [name], value=value))
        else:
            self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind, inputs, shapes, outputs=1, **attributes):
        names = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=self.name("n"), **attributes))
        for name, shape in zip(names, shapes):
            self.live[name] = shape
        return names[0]

    def pick(self):
        names = list(self.live)
        return self.random.choice(names[-6:])

    def sizes(self, of, shapes):
        """Sizes that depend on the batch are computed from a shape."""
        if shapes[0] == shapes[1] and self.random.random() < 0.7:
            return self.constant(shapes[0])
        parts = []
        for small, large in zip(*shapes):
            if small == large:
                parts.append(self.constant([small]))
                continue
            # A size of the tensor, times a number.
            axes = [at for at, pair in enumerate(zip(*self.live[of])) if pair[0] * large == pair[1] * small and pair[0] != pair[1]]
            if not axes:
                return None
            axis = self.random.choice(axes)
            shape, size = self.name("shape"), self.name("size")
            self.nodes.append(helper.make_node("Shape", [of], [shape]))
            self.nodes.append(helper.make_node("Gather", [shape, self.constant([axis])], [size]))
            have = self.live[of][0][axis]
            if small % have == 0:
                scaled, by = self.name("scaled"), self.constant([small // have])
                self.nodes.append(helper.make_node("Mul", [size, by], [scaled]))
            elif have % small == 0:
                scaled, by = self.name("scaled"), self.constant([have // small])
                self.nodes.append(helper.make_node("Div", [size, by], [scaled]))
            else:
                return None
            parts.append(scaled)
        whole = self.name("sizes")
        self.nodes.append(helper.make_node("Concat", parts, [whole], axis=0))
        return whole

    def step(self):
        kind = self.random.choice(
            ["Transpose"] * 3 + ["Reshape"] * 3 + ["Slice"] * 2 + ["Concat"] * 3
            + ["Split", "Gather", "Pad", "Tile", "Unsqueeze", "roll", "Relu", "Neg", "Add", "Shape", "Identity"]
        )
        of = self.pick()
        shapes = self.live[of]
        rank = len(shapes[0])
        axis = self.random.randrange(rank)
        if kind == "Transpose":
            order = self.random.sample(range(rank), rank)
            self.node(kind, [of], [tuple(tuple(shape[at] for at in order) for shape in shapes)], perm=order)
        elif kind == "Reshape":
            if self.random.random() < 0.5 and rank > 1:
                at = self.random.randrange(rank - 1)
                new = tuple(shape[:at] + (shape[at] * shape[at + 1],) + shape[at + 2 :] for shape in shapes)
            else:
                if shapes[0][axis] != shapes[1][axis] or shapes[0][axis] % 2 or rank > 4:
                    return
                new = tuple(shape[:axis] + (2, shape[axis] // 2) + shape[axis + 1 :] for shape in shapes)
            sizes = self.sizes(self.random.choice([of, self.pick()]), new)
            if sizes:
                self.node(kind, [of, sizes], [new])
        elif kind in ("Slice", "roll"):
            size = min(shape[axis] for shape in shapes)
            if size < 2:
                return
            at = self.random.randrange(1, size)
            given = lambda start, end: [of, self.constant([start]), self.constant([end]), self.constant([axis])]  # noqa: E731
            head = tuple(shape[:axis] + (at,) + shape[axis + 1 :] for shape in shapes)
            tail = tuple(shape[:axis] + (shape[axis] - at,) + shape[axis + 1 :] for shape in shapes)
            end = self.node("Slice", given(at, 2**62), [tail])
            if kind == "roll":
                start = self.node("Slice", given(0, at), [head])
                self.node("Concat", [end, start], [shapes], axis=axis)
        elif kind == "Concat":
            fit = lambda other: all(  # noqa: E731
                len(one) == len(two) and one[:axis] == two[:axis] and one[axis + 1 :] == two[axis + 1 :]
                for one, two in zip(shapes, self.live[other])
            )
            other = self.random.choice([name for name in self.live if fit(name)])
            joined = zip(shapes, self.live[other])
            new = tuple(one[:axis] + (one[axis] + two[axis],) + one[axis + 1 :] for one, two in joined)
            if max(new[1]) < 40:
                self.node(kind, [of, other], [new], axis=axis)
        elif kind == "Split":
            if shapes[0][axis] == shapes[1][axis] and shapes[0][axis] % 2 == 0:
                half = tuple(shape[:axis] + (shape[axis] // 2,) + shape[axis + 1 :] for shape in shapes)
                self.node(kind, [of], [half, half], outputs=2, axis=axis, num_outputs=2)
        elif kind == "Gather":
            size = min(shape[axis] for shape in shapes)
            at = [self.random.randrange(-size, size) for _ in range(3)]
            new = tuple(shape[:axis] + (3,) + shape[axis + 1 :] for shape in shapes)
            self.node(kind, [of, self.constant(at)], [new], axis=axis)
        elif kind == "Pad":
            new = tuple(shape[:axis] + (shape[axis] + 3,) + shape[axis + 1 :] for shape in shapes)
            pads = [int(at == axis) for at in range(rank)] + [2 * int(at == axis) for at in range(rank)]
            self.node(kind, [of, self.constant(pads)], [new])
        elif kind == "Tile":
            if np.prod(shapes[1]) < 2000 and shapes[1][axis] < 20:
                new = tuple(shape[:axis] + (2 * shape[axis],) + shape[axis + 1 :] for shape in shapes)
                self.node(kind, [of, self.constant([1 + int(at == axis) for at in range(rank)])], [new])
        elif kind == "Unsqueeze":
            if rank < 5:
                self.node(kind, [of, self.constant([axis])], [tuple(s[:axis] + (1,) + s[axis:] for s in shapes)])
        elif kind == "Add":
            fit = [name for name in self.live if self.live[name] == shapes]
            self.node(kind, [of, self.random.choice(fit)], [shapes])
        elif kind == "Shape":
            zeros, shape = self.name("zeros"), self.name("shape")
            self.nodes.append(helper.make_node("Shape", [of], [shape]))
            self.nodes.append(helper.make_node("ConstantOfShape", [shape], [zeros]))
            self.node("Add", [of, zeros], [shapes])
        else:
            self.node(kind, [of], [shapes])

    def model(self, steps):
        for _ in range(steps):
            self.step()
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for name in self.live if name not in read and name not in ("x", "z")]
        if len(outputs) > 4:
            outputs = self.random.sample(outputs, 4)
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
        inputs = [value("x", ["batch", 4, 6]), value("z", ["batch", 6, 4])]
        outputs = [value(name, [None] * len(self.live[name][0])) for name in outputs]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("seed", range(48))
def test_random_models_give_the_same_bits(seed, tmp_path):
    model = Net(seed).model(random.Random(seed).randrange(4, 30))
    if not model.graph.output:
        pytest.skip("the model has no outputs")
    path, fused = tmp_path / "model.onnx", tmp_path / "fused.onnx"
    onnx.save(model, path)
    if seed % 3 == 0:
        onnx.shape_inference.infer_shapes_path(str(path))
    fuse(path, fused)
    for batch in (2, 3, 2):
        made = np.random.default_rng(seed + batch)
        inputs = {
            "x": made.standard_normal((batch, 4, 6)).astype(np.float32),
            "z": made.standard_normal((batch, 6, 4)).astype(np.float32),
        }
        same(path, fused, inputs)
