"""Arithmetic layers on constants, compared with OpenVINO. The numbers are small enough for every type."""

import numpy as np
import openvino as ov
from openvino import opset1
from openvino.utils.node_factory import NodeFactory

BOOLEANS = {"LogicalAnd", "LogicalOr", "LogicalXor"}
BINARY = {
    *("Add", "Subtract", "Multiply", "Divide", "FloorMod", "Mod", "Power", "Maximum", "Minimum", "Equal", "NotEqual"),
    *("Less", "LessEqual", "Greater", "GreaterEqual", *BOOLEANS),
}
UNARY = {"Abs", "Ceiling", "Floor", "LogicalNot", "Negative", "Round", "Sign", "Sqrt"}
REDUCE = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceLogicalAnd", "ReduceLogicalOr"}
KINDS = sorted({*BINARY, *UNARY, *REDUCE, "Select", "Convert", "ConvertLike"})
TYPES = [np.int32, np.int64, np.float32]


def random_numbers(chance, sizes, dtype, least=-9):
    """Random numbers; some floats are halves."""
    count = int(np.prod(sizes))
    numbers = np.array([chance.randint(least, 9) for _ in range(count)])
    if dtype == np.float32:
        numbers = numbers + np.array([chance.choice([0, 0.5, 0.25]) for _ in range(count)])
    return numbers.astype(dtype).reshape(sizes)


def some_sizes(chance):
    """Two shapes that broadcast with each other."""
    sizes = [chance.randint(1, 3) for _ in range(chance.randint(0, 3))]
    part = sizes[chance.randint(0, len(sizes)) :]
    return sizes, [chance.choice([1, size]) for size in part]


def some_model(kind, chance):
    """Returns a model with one layer, whose inputs are constants."""

    def created(version, inputs, attributes=None):
        nodes = [opset1.constant(each) for each in inputs]
        return NodeFactory(version).create(kind, nodes, attributes or {})

    one, other = some_sizes(chance)
    dtype = chance.choice(TYPES)
    if kind in BINARY:
        inputs = [random_numbers(chance, one, dtype), random_numbers(chance, other, dtype)]
        if kind in BOOLEANS:
            inputs = [each > 0 for each in inputs]
        elif kind in ("Divide", "FloorMod", "Mod"):
            inputs[1][inputs[1] == 0] = 1
            # OpenVINO drops the sign of a remainder of zero, so floats have none.
            if kind != "Divide" and dtype == np.float32:
                inputs[0] += np.float32(0.125)
        elif kind == "Power":
            inputs[1] = np.array(chance.randint(0, 3)).astype(dtype)
        node = created("opset1", inputs)
    elif kind in REDUCE:
        one = one or [3]
        data = random_numbers(chance, one, dtype, -2)
        data = data > 0 if "Logical" in kind else np.floor(data).astype(dtype)
        axes = np.array(chance.sample(range(len(one)), chance.randint(1, len(one))), np.int64)
        node = created("opset1", [data, axes], {"keep_dims": chance.random() < 0.5})
    elif kind == "Select":
        shape = chance.choice([one, other])
        node = created("opset1", [random_numbers(chance, shape, dtype) > 0, random_numbers(chance, one, dtype), random_numbers(chance, other, dtype)])
    elif kind in ("Convert", "ConvertLike"):
        data, to = random_numbers(chance, one, dtype), chance.choice(TYPES)
        if kind == "Convert":
            element = {np.int32: "i32", np.int64: "i64", np.float32: "f32"}[to]
            node = created("opset1", [data], {"destination_type": element})
        else:
            node = created("opset1", [data, random_numbers(chance, other, to)])
    elif kind == "LogicalNot":
        node = created("opset1", [random_numbers(chance, one, dtype) > 0])
    elif kind == "Round":
        node = created("opset5", [random_numbers(chance, one, np.float32)], {"mode": chance.choice(["half_to_even", "half_away_from_zero"])})
    else:
        of_floats = kind in ("Sqrt", "Ceiling", "Floor")
        node = created("opset1", [random_numbers(chance, one, np.float32 if of_floats else dtype, 0 if kind == "Sqrt" else -9)])
    return ov.Model([opset1.result(node)], [])
