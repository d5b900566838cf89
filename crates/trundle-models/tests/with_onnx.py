#!/usr/bin/env python3
"""Runs ONNX's own operator tests through the program and compares the results bit for bit.

Tests of movement operators also run with each other opset version that accepts the same model. Tests of arithmetic,
also in loops, run with constants instead of inputs. Then this script compares exported PyTorch modules (with_torch.py),
random resizes, and random loops (onnx_loops.py) with ONNX's reference implementation.

    pip install onnx==1.23.2 numpy==2.4.6
    crates/trundle-models/tests/with_onnx.py target/release/trundle --count 200
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_resize

import onnx_loops

# Tests run if their models consist of these operators only.
OPERATORS = {
    *("CenterCropPad", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Dropout", "Expand", "EyeLike", "Flatten"),
    *("Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "TensorScatter"),
    *("Identity", "If", "Pad", "Range", "Reshape", "Resize", "ReverseSequence", "Shape", "Size", "Slice", "SpaceToDepth"),
    *("Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Upsample"),
}

# Tests of these operators get constants instead of inputs, because arithmetic needs known values.
ARITHMETIC = {
    *("Abs", "Add", "And", "Cast", "CastLike", "Ceil", "Clip", "Div", "Equal", "Floor", "Greater", "GreaterOrEqual"),
    *("Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "ReduceMax"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "Round", "Sign", "Sqrt", "Sub", "Sum", "Where", "Xor"),
}

# Tests of these operators run if the bodies consist of the operators above.
LOOPS = {"Loop", "Scan"}

# Valid reasons to refuse arithmetic: types smaller than a byte, strings, and results out of range.
NOT_COMPUTED = ("arithmetic", "a float, is not supported", "conversion of numbers to", "out of range", "is divided by 0", "beyond 2^53", "strings", "has no elements along", "which has batches")

# Tests that must be refused, with a part of the message.
REFUSED = {
    "test_if_opt": "graphs or lists of tensors",
    "test_if_seq": "graphs or lists of tensors",
    "test_identity_opt": "only tensors are supported",
    "test_identity_sequence": "only tensors are supported",
    "test_resize_*_cubic*": "computes",
    "test_resize_*_linear*": "computes",
    "test_resize_tf_crop_and_resize*": "computes",
    "test_scatter_elements_with_duplicate_indices": "computes",
    "test_scatter_elements_with_reduction_*": "computes",
    "test_scatternd_add*": "computes",
    "test_scatternd_max*": "computes",
    "test_scatternd_min*": "computes",
    "test_scatternd_multiply*": "computes",
    "test_training_dropout": "this node is training",
    "test_training_dropout_default": "this node is training",
    "test_training_dropout_default_mask": "this node is training",
    "test_training_dropout_mask": "this node is training",
}

# Attributes whose default has the same effect as omitting them.
NEUTRAL = {
    *("allowzero", "dtype", "k", "upper", "antialias", "axes", "end", "keep_aspect_ratio_policy", "mode", "num_outputs", "start", "stash_type"),
}

# Values that exist only since an opset.
SINCE = {"half_pixel_symmetric": 19, "wrap": 19}


def save(path, array):
    """Saves an array. Elements of types that .npy does not have are saved as their bits."""
    array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype.num >= 256:
        array = array.view(f"u{array.dtype.itemsize}")
    if array.dtype.kind == "O":
        array = array.astype(str)
    np.save(path, array)


def run_model(program, model, inputs):
    """Returns the outputs by name, or the error message."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        arguments = []
        for info, array in zip(model.graph.input, inputs, strict=True):
            if info.type.HasField("tensor_type"):
                save(folder / f"in{len(arguments)}.npy", array)
                arguments += ["--input", f"{info.name}={folder}/in{len(arguments)}.npy"]
        out = folder / "out"
        command = [program, "run", str(folder / "model.onnx"), "--out-dir", str(out), *arguments, "--quiet", "--verify"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 2, 3):
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
        if done.returncode:
            return None, done.stderr.strip()
        return {info.name: np.load(out / f"{info.name}.npy") for info in model.graph.output}, None


def difference(model, found, expected):
    """Returns a description of the first difference, or None."""
    for info, array in zip(model.graph.output, expected, strict=True):
        if isinstance(array, TensorProto):
            array = numpy_helper.to_array(array)
        own, array = found[info.name], np.asarray(array)
        if array.dtype.kind == "O":
            array = array.astype(str)
        equal = own.shape == array.shape and own.dtype.itemsize == array.dtype.itemsize
        if not equal or own.tobytes() != array.tobytes():
            found, due = (f"{each.dtype} {each.shape} {each.tolist()}" for each in (own, array))
            return f"{info.name} is {found}, not {due}"
    return None


def expected_refusal(name):
    """Returns a part of the message, if the test must be refused."""
    return next((says for pattern, says in REFUSED.items() if Path(name).match(pattern)), None)


def opset_variants(model):
    """Returns the model, and for a single operator, the model with each other opset version that accepts it."""
    (opset,) = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    yield opset, model
    if len(model.graph.node) != 1 or model.functions:
        return
    (node,) = model.graph.node
    used = {attribute.name for attribute in node.attribute}
    words = {attribute.s.decode() for attribute in node.attribute if attribute.type == onnx.AttributeProto.STRING}
    own = onnx.defs.get_schema(node.op_type, opset)
    for schema in onnx.defs.get_all_schemas_with_history():
        is_none = schema.name != node.op_type or schema.domain or schema.since_version == own.since_version
        if is_none or schema.deprecated:
            continue
        single = onnx.defs.OpSchema.FormalParameterOption.Single
        required = [entry for entry in schema.inputs if entry.option == single]
        inputs = [entry.name for entry in schema.inputs][: len(node.input)]
        takes = (
            inputs == [entry.name for entry in own.inputs][: len(node.input)]
            and len(required) <= len(node.input)
            and all(name for name, _ in zip(node.input, required, strict=False))
            and used <= set(schema.attributes)
            and set(schema.attributes) - used - NEUTRAL <= set(own.attributes)
            and all(SINCE.get(word, 0) <= schema.since_version for word in words)
        )
        if takes:
            other = onnx.ModelProto()
            other.CopyFrom(model)
            del other.opset_import[:]
            other.opset_import.append(helper.make_opsetid("", schema.since_version))
            yield schema.since_version, other


def check_test(program, test):
    """Returns whether the test passed or was refused, the number of other opsets, and what went wrong."""
    counts, wrong = Counter(), []
    due = expected_refusal(test.name)
    for (opset, model), (inputs, expected) in itertools.product(opset_variants(test.model), test.data_sets):
        is_first = model is test.model
        found, refusal = run_model(program, model, inputs)
        if due:
            if refusal is None or due not in refusal:
                wrong.append(f"{test.name}, opset {opset}: refused by {due!r}, got {refusal}")
            counts["refused" if is_first else "refused in other opsets"] += 1
            continue
        problem = refusal or difference(model, found, expected)
        if problem:
            wrong.append(f"{test.name}, opset {opset}: {problem}")
        else:
            counts["passed" if is_first else "passed in other opsets"] += 1
    return counts, wrong


def with_constants(model, inputs):
    """Replaces inputs by constants."""
    own = onnx.ModelProto()
    own.CopyFrom(model)
    for info, array in zip(model.graph.input, inputs, strict=True):
        if not info.type.HasField("tensor_type"):
            return None
        dims, kind = np.shape(array), info.type.tensor_type.elem_type
        if isinstance(array, TensorProto):
            tensor = TensorProto()
            tensor.CopyFrom(array)
            tensor.name = info.name
            own.graph.initializer.append(tensor)
            continue
        values = np.asarray(array)
        if kind == TensorProto.STRING:
            tensor = helper.make_tensor(info.name, kind, dims, [str(text).encode() for text in values.ravel()])
        else:
            tensor = numpy_helper.from_array(values, info.name)
        own.graph.initializer.append(tensor)
    del own.graph.input[:]
    return own


def check_arithmetic(program, test):
    """Runs a test of arithmetic on constants. Returns whether it passed or was refused, and what went wrong."""
    counts, wrong = Counter(), []
    for inputs, expected in test.data_sets:
        model = with_constants(test.model, inputs)
        if model is None:
            continue
        found, refusal = run_model(program, model, [])
        if refusal:
            counts["refused"] += 1
            if not any(says in refusal for says in NOT_COMPUTED):
                wrong.append(f"{test.name}: {refusal}")
            continue
        problem = difference(model, found, expected)
        # Sums and powers in f32 may differ in the last bit.
        if problem and not all(
            np.allclose(found[info.name], array, rtol=1e-6, atol=0, equal_nan=True)
            for info, array in zip(model.graph.output, expected, strict=True)
        ):
            wrong.append(f"{test.name}: {problem}")
        counts["nearly" if problem else "passed"] += 1
    return counts, wrong


def check_module(program, name, model):
    """Compares a PyTorch module of with_torch.py with the reference."""
    sizes = name.split(" ")[2].split("+")
    shapes = [[int(size) for size in shape.split("x")] for shape in sizes]
    inputs = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in shapes]
    infos = [info.name for info in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, dict(zip(infos, inputs, strict=True)))
    found, refusal = run_model(program, model, inputs)
    problem = refusal or difference(model, found, expected)
    return f"{name}: {problem}" if problem else ""


def some_resize(chance):
    """Returns a nearest-neighbour resize, and its data."""
    rank = chance.randint(1, 4)
    sizes = [chance.randint(1, 9) for _ in range(rank)]
    data = np.arange(int(np.prod(sizes)), dtype=np.float32).reshape(sizes) + 1
    axes = chance.sample(range(rank), chance.randint(1, rank))
    modes = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"]
    mode = chance.choice([*modes, "align_corners", "asymmetric", "tf_crop_and_resize"])
    attributes = {
        "mode": "nearest",
        "coordinate_transformation_mode": mode,
        "nearest_mode": chance.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
        "axes": axes,
    }
    names, inputs = ["x", "", "", ""], {"x": data}
    if mode == "tf_crop_and_resize":
        names[1] = "roi"
        begins = [chance.choice([0, 0.25, 0.5, -0.25]) for _ in axes]
        inputs["roi"] = np.array(begins + [begin + chance.choice([0.25, 0.5, 1]) for begin in begins], np.float32)
        attributes["extrapolation_value"] = chance.choice([0.0, -7.5])
    # In these modes, the reference deviates if scales are given: it ignores that the part makes the output smaller,
    # and compares the output size with 1 before rounding it down.
    only_sizes = mode in ("tf_crop_and_resize", "pytorch_half_pixel")
    if chance.random() < 0.5 or only_sizes:
        names[3] = "sizes"
        inputs["sizes"] = np.array([chance.randint(1, 20) for _ in axes], np.int64)
        if not only_sizes:
            attributes["keep_aspect_ratio_policy"] = chance.choice(["stretch", "not_larger", "not_smaller"])
    else:
        names[2] = "scales"
        scales = [0.5, 1.0, 1.5, 2.0, 3.0, 0.75, 1.25, 2.7, 0.6, 1.9]
        inputs["scales"] = np.array([chance.choice(scales) for _ in axes], np.float32)
    while not names[-1]:
        names.pop()
    return attributes, names, inputs


class Coordinates:
    """Records the reference's coordinates. For a coordinate within a rounding error above an integer, the reference
    uses the integer in one place but not in another. Except in mode ceil, it then reads the element before the right
    one."""

    def __init__(self):
        self.made = []
        self.original = op_resize._compute_x_ori
        op_resize._compute_x_ori = self

    def __call__(self, *arguments):
        found = self.original(*arguments)
        self.made.append(found[0])
        return found

    def is_inexact(self, mode):
        """Returns whether the reference may have read a wrong element since the last call."""
        made, self.made = self.made, []
        above = (axis[(axis != np.floor(axis)) & (axis + 1 == np.floor(axis + 1))] for axis in made)
        return mode != "ceil" and any(axis.size for axis in above)


def check_resize(program, chance, coordinates):
    """Returns whether the resize was valid."""
    attributes, names, inputs = some_resize(chance)
    node = helper.make_node("Resize", names, ["y"], **attributes)
    types = {"sizes": TensorProto.INT64}
    infos = [
        helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), array.shape)
        for name, array in inputs.items()
    ]
    graph = helper.make_graph([node], "resize", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    try:
        expected = ReferenceEvaluator(model).run(None, inputs)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, UnboundLocalError):
        return 0
    if coordinates.is_inexact(attributes["nearest_mode"]):
        return 0
    found, refusal = run_model(program, model, list(inputs.values()))
    problem = refusal or difference(model, found, expected)
    if problem:
        sys.exit(f"{attributes} of {inputs}: {problem}")
    return 1


def check_loop(program, make, chance):
    model, inputs, expected = make(chance)
    found, refusal = run_model(program, model, list(inputs.values()))
    problem = refusal or difference(model, found, expected)
    return f"{make.__name__} of {inputs}: {problem}\n{onnx.printer.to_text(model)}" if problem else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=100, help="how many random resizes, loops and scans")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="name every test")
    arguments = parser.parse_args()
    # The package warns about tests that compute, which it creates with the others.
    warnings.filterwarnings("ignore")
    program = str(arguments.program.resolve())

    def operators(test):
        nodes = [*test.model.graph.node, *(node for function in test.model.functions for node in function.node)]
        return {node.op_type for node in nodes}

    def has_loop(test):
        """Returns whether the model has loops, and otherwise only supported operators."""
        nodes, found = list(test.model.graph.node), set()
        while nodes:
            node = nodes.pop()
            found.add(node.op_type)
            nodes += [own for attribute in node.attribute for own in attribute.g.node]
        return bool(found & LOOPS) and found <= LOOPS | ARITHMETIC | OPERATORS

    every = [test for test in collect_testcases(None) if test.model is not None]
    tests = [test for test in every if operators(test) <= OPERATORS]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda test: check_test(program, test), tests))
    counts, wrong = Counter(), []
    for test, (own, problems) in zip(tests, results, strict=True):
        counts += own
        wrong += problems
        if arguments.verbose:
            print(test.name, "wrong" if problems else dict(own))
    summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"ONNX {onnx.__version__}, {len(tests)} tests: {summary}")
    unused = [pattern for pattern in REFUSED if not any(Path(test.name).match(pattern) for test in tests)]
    wrong += [f"no test is called {pattern}" for pattern in unused]
    if wrong:
        sys.exit("\n".join(wrong))
    arithmetic = [test for test in every if (operators(test) and operators(test) <= ARITHMETIC) or has_loop(test)]
    if sum(map(has_loop, arithmetic)) < 5:
        sys.exit("tests of loops are missing")
    counts = Counter()
    with ThreadPoolExecutor() as pool:
        for own, problems in pool.map(lambda test: check_arithmetic(program, test), arithmetic):
            counts += own
            wrong += problems
    summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{len(arithmetic)} tests of arithmetic on constants: {summary}")
    if wrong:
        sys.exit("\n".join(wrong))
    with zipfile.ZipFile(Path(__file__).with_name("torch_modules.zip")) as archive:
        modules = {name: onnx.load_from_string(archive.read(name)) for name in archive.namelist()}
    with ThreadPoolExecutor() as pool:
        wrong = [each for each in pool.map(lambda name: check_module(program, name, modules[name]), modules) if each]
    print(f"{len(modules) - len(wrong)} of {len(modules)} modules of PyTorch")
    if wrong or len(modules) < 210:
        sys.exit("\n".join(wrong) or "modules are missing")
    chance, coordinates = random.Random(arguments.seed), Coordinates()
    equal = sum(check_resize(program, chance, coordinates) for _ in range(arguments.count))
    if equal < arguments.count // 2:
        sys.exit(f"the reference made only {equal} of {arguments.count} resizes")
    print(f"{equal} resizes equal the reference's")
    for make in (onnx_loops.some_loop, onnx_loops.some_scan):
        seeds = range(arguments.seed, arguments.seed + arguments.count)
        with ThreadPoolExecutor() as pool:
            wrong = [each for each in pool.map(lambda seed: check_loop(program, make, random.Random(seed)), seeds) if each]
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"{arguments.count} models of {make.__name__} equal the reference")


if __name__ == "__main__":
    main()
