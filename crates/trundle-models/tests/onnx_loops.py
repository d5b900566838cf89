"""Random loops and scans of movement operators, with the results of ONNX's reference implementation."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TYPES = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}


class Nodes:
    """A graph under construction, with unique names."""

    def __init__(self, prefix, chance, around=None):
        self.prefix, self.chance = prefix, chance
        self.nodes = []
        # Constants are stored in the outermost graph or where they are read.
        self.around = around
        self.initializers = []

    def add(self, operator, *inputs, **attributes):
        """Adds a node and returns its output."""
        name = f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value):
        """Adds a constant: an initializer or a node, of this or the enclosing graph."""
        if self.around is not None and self.chance.random() < 0.3:
            return self.around.constant(value)
        array = np.array(value, np.int64)
        if self.chance.random() < 0.5:
            return self.add("Constant", value=numpy_helper.from_array(array))
        name = f"{self.prefix}c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def graph(self, inputs, outputs):
        """Inputs and outputs are names with types."""

        def info(name, kind):
            # Integers and booleans are scalars.
            return helper.make_tensor_value_info(name, TYPES[kind], None if kind == "f" else ())

        infos = [[info(*each) for each in side] for side in (inputs, outputs)]
        return helper.make_graph(self.nodes, self.prefix, *infos, self.initializers)


def reversed_along(nodes, of, axis):
    ends = [nodes.constant([value]) for value in (-1, -(2**62), axis, -1)]
    return nodes.add("Slice", of, *ends)


def rolled_by(nodes, of, axis, by):
    """Rolls by a number that is computed."""
    shape = nodes.add("Shape", of)
    size = nodes.add("Gather", shape, nodes.constant(axis))
    indices = nodes.add("Range", nodes.constant(0), size, nodes.constant(1))
    return nodes.add("Gather", of, nodes.add("Mod", nodes.add("Add", indices, by), size), axis=axis)


def append_first(nodes, of, axis):
    """Appends the first slice to the data."""
    first = nodes.add("Slice", of, nodes.constant([0]), nodes.constant([1]), nodes.constant([axis]))
    return nodes.add("Concat", of, first, axis=axis)


def reversed_if_even(nodes, of, axis, number):
    """Reverses the data if a number is even."""
    then, otherwise = (Nodes(f"{nodes.prefix}{len(nodes.nodes)}{side}_", nodes.chance, nodes) for side in "te")
    turned, same = reversed_along(then, of, axis), otherwise.add("Identity", of)
    is_even = nodes.add("Equal", nodes.add("Mod", number, nodes.constant(2)), nodes.constant(0))
    branches = {"then_branch": then.graph([], [(turned, "f")]), "else_branch": otherwise.graph([], [(same, "f")])}
    return nodes.add("If", is_even, **branches)


def rolled_in_loop(nodes, of, axis, number):
    """Moves the data in a nested loop with `number` iterations."""
    inner = Nodes(f"{nodes.prefix}{len(nodes.nodes)}_", nodes.chance, nodes)
    names = [f"{inner.prefix}{name}" for name in ("i", "goes", "data")]
    moved = rolled_by(inner, names[2], axis, inner.add("Add", names[0], number))
    body = inner.graph(list(zip(names, "ibf", strict=True)), [(names[1], "b"), (moved, "f")])
    truth = nodes.add("Equal", number, number)
    return nodes.add("Loop", number, truth, of, body=body)


def moved(nodes, of, rank, number, may_grow):
    """Moves the data at random, without changing sizes unless `may_grow`."""
    for _ in range(nodes.chance.randint(1, 3)):
        axis, way = nodes.chance.randrange(rank), nodes.chance.randrange(6)
        if way == 0:
            of = reversed_along(nodes, of, axis)
        elif way == 1:
            of = rolled_by(nodes, of, axis, number)
        elif way == 2:
            of = reversed_if_even(nodes, of, axis, number)
        elif way == 3:
            of = rolled_in_loop(nodes, of, axis, number)
        elif way == 4 and may_grow:
            of = append_first(nodes, of, axis)
        elif way == 5 and may_grow:
            of = nodes.add("Transpose", of, perm=nodes.chance.sample(range(rank), rank))
    return of


def model_of(outer, inputs, outputs):
    graph = outer.graph([(name, "f" if array.dtype == np.float32 else "i") for name, array in inputs.items()], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def some_loop(chance):
    """Returns a loop, its inputs, and the reference's outputs."""
    rank = chance.randint(1, 3)
    sizes = [chance.randint(1, 4) for _ in range(rank)]
    inputs = {"x": np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)}
    outer = Nodes("o", chance)
    body = Nodes("b", chance, outer)
    count, way = chance.randint(1, 5), chance.randrange(3)
    if way == 0:
        most = outer.constant(count)
    elif way == 1:
        most = outer.add("Gather", outer.add("Shape", "x"), outer.constant(0))
    else:
        inputs["m"], most = np.array(count), "m"
    zero = outer.constant(0)
    truth = outer.add("Equal", zero, zero)
    carried = moved(body, "data", rank, "i", may_grow=True)
    next_number = body.add("Add", "i", body.constant(1))
    goes = body.add("Less", next_number, body.constant(chance.randint(1, 5)))
    # Only for stacked lists does the reference follow the specification.
    first = body.add("Slice", body.add("Reshape", carried, body.constant([-1])), body.constant([0]), body.constant([1]))
    graph = body.graph([("i", "i"), ("goes", "b"), ("data", "f")], [(goes, "b"), (carried, "f"), (first, "f")])
    read = [chance.choice([most, most, ""]), truth, "x"]
    outer.nodes.append(helper.make_node("Loop", read, ["y", "stacked"], body=graph))
    model = model_of(outer, inputs, [("y", "f"), ("stacked", "f")])
    return model, inputs, ReferenceEvaluator(model).run(None, inputs)


def some_scan(chance):
    """Returns a scan, its inputs, and the reference's outputs. The reference can only scan the first axis forward, so
    other axes and directions are changed before the scan and changed back after it."""
    count, steps = chance.randint(1, 2), chance.randint(1, 4)
    state = np.arange(6, dtype=np.float32).reshape(2, 3)
    outer = Nodes("o", chance)
    body, zero = Nodes("b", chance, outer), outer.constant(0)
    inputs, straight = {"state": state}, {"state": state}
    cuts, ends, given, stacked = [], [], [("s", "f"), ("n", "i")], []
    for index in range(count):
        rank = chance.randint(1, 2)
        axis, is_backward = chance.randint(0, rank), chance.random() < 0.5
        sizes = [chance.randint(1, 3) for _ in range(rank)]
        sizes.insert(axis, steps)
        array = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes) + 100 * index
        inputs[f"x{index}"] = array
        array = np.moveaxis(array, axis, 0)
        straight[f"x{index}"] = np.ascontiguousarray(array[::-1] if is_backward else array)
        cuts.append((axis - chance.choice([0, rank + 1]), int(is_backward)))
        ends.append((chance.randint(0, rank), chance.randint(0, 1)))
        given.append((f"a{index}", "f"))
        stacked.append((body.add("Identity", moved(body, f"a{index}", rank, "n", may_grow=False)), "f"))
    carried = body.add("Identity", moved(body, "s", 2, "n", may_grow=False))
    number = body.add("Add", "n", body.constant(1))
    graph = body.graph(given, [(carried, "f"), (number, "i"), *stacked])
    names = [f"y{index}" for index in range(count)]

    def model(attributes):
        nodes = Nodes("o", chance)
        nodes.nodes, nodes.initializers = list(outer.nodes), outer.initializers
        read, gives = ["state", zero, *list(inputs)[1:]], ["end", "number", *names]
        nodes.nodes.append(helper.make_node("Scan", read, gives, body=graph, num_scan_inputs=count, **attributes))
        return model_of(nodes, inputs, [("end", "f"), *((name, "f") for name in names)])

    expected = ReferenceEvaluator(model({})).run(None, straight)
    for index, (axis, direction) in enumerate(ends):
        array = expected[1 + index]
        expected[1 + index] = np.moveaxis(array[::-1] if direction else array, 0, axis)
    own = {
        "scan_input_axes": [axis for axis, _ in cuts],
        "scan_input_directions": [direction for _, direction in cuts],
        "scan_output_axes": [axis for axis, _ in ends],
        "scan_output_directions": [direction for _, direction in ends],
    }
    return model(own), inputs, expected
