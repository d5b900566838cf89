#!/usr/bin/env python3
"""Compares random models of OpenVINO's movement layers with OpenVINO.

If OpenVINO may deviate from the specification of a layer, the result is compared with the specification instead.

    pip install openvino==2026.4.1 numpy==2.4.6
    crates/trundle-models/tests/with_openvino.py target/release/trundle --count 300
"""

import argparse
import functools
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import Type, opset1
from openvino.utils.node_factory import NodeFactory

from openvino_arithmetic import KINDS, some_model
from openvino_layers import LAYERS, Elements, Layer

# How many integers each type represents exactly. OpenVINO stores some types as others.
NUMBERS = {
    **{"f32": 2**20, "f64": 2**20, "i32": 2**20, "i64": 2**20, "u32": 2**20, "u64": 2**20, "f16": 2048, "bf16": 256},
    **{"i16": 2**15, "u16": 2**15, "i8": 128, "u8": 256, "boolean": 2, "u4": 16, "i4": 8, "f8e4m3": 16, "f8e5m2": 8},
}
# The largest number of elements of an intermediate tensor.
MOST = 3000


def create(name, version, inputs, attributes):
    return NodeFactory(version).create(name, inputs, attributes)


def of_type(entries, element):
    """Returns `entries` as elements of a type."""
    numbers = np.asarray(entries)
    return opset1.constant(numbers % NUMBERS[element.get_type_name()], dtype=element)


class Model:
    """Inputs, and layers with the indices of the tensors that they read."""

    def __init__(self, seed, layers):
        self.chance = random.Random(seed)
        self.inputs = []
        self.layers = []
        # Types and elements of all lists, and the form of each in the model.
        self.lists = []
        self.forms = None
        count = self.chance.randint(2, layers) if layers > 1 and self.chance.random() < 0.7 else 1
        for _ in range(self.chance.choice([1, 1, 2, 3]) if count > 1 else 1):
            self.add_input()
        self.tensors = [parameter.output(0) for parameter in self.parameters()]
        while len(self.layers) < count:
            self.add_layer()
        self.forms = [self.form(entries) for entries in self.lists]
        self.results = self.chosen_results()

    def add_input(self):
        """Adds an input. It usually has the type and often has the sizes of the previous input."""
        if self.inputs and self.chance.random() < 0.7:
            sizes, element = self.inputs[-1]
            other = self.chance.sample(sizes, len(sizes))
            self.inputs.append((self.chance.choice([sizes, other]), element))
            return
        rank = self.chance.choice([1, 2, 3, 3, 4, 4, 4, 5])
        some = [1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9]
        sizes = self.chance.choices(some if rank < 5 else some[:9], k=rank)
        self.inputs.append((sizes, self.chance.choice([*NUMBERS, "f32", "f16", "u8", "i64"])))

    def parameters(self):
        inputs = enumerate(self.inputs)
        return [opset1.parameter(sizes, getattr(Type, element), f"x{at}") for at, (sizes, element) in inputs]

    def add_layer(self):
        """Adds a layer that fits a tensor, preferably a new one."""
        makes = self.chance.choice([*LAYERS, None])
        for read in self.reading_order():
            sizes = list(self.tensors[read].get_shape())
            layer, reads = (makes(self.chance, sizes), [read]) if makes else self.concat(read)
            if layer and self.try_add(layer, reads):
                return

    def reading_order(self):
        order = list(range(len(self.tensors)))
        self.chance.shuffle(order)
        if self.chance.random() < 0.6:
            order.sort(key=lambda tensor: -tensor)
        return order

    def concat(self, read):
        """Joins tensors that match along an axis."""
        tensor = self.tensors[read]
        axis = self.chance.randrange(len(tensor.get_shape()))

        def others(each):
            return each.get_element_type(), [size for at, size in enumerate(each.get_shape()) if at != axis]

        fitting = [at for at, each in enumerate(self.tensors) if others(each) == others(tensor)]
        reads = [read, *(self.chance.choice(fitting) for _ in range(self.chance.randint(1, 3)))]
        self.chance.shuffle(reads)
        return Layer("Concat", "opset1", [], {"axis": axis}), reads

    def try_add(self, layer, reads):
        """Adds a layer, unless its output is empty or too large, or OpenVINO refuses it."""
        before = len(self.lists)
        layer.index_type = self.chance.choice([np.int32, np.int64])
        try:
            made = self.made(layer, [self.tensors[at] for at in reads], self.keep_list).outputs()
        except RuntimeError:
            made = []
        sizes = [list(output.get_shape()) for output in made]
        if not made or any(not 0 < math.prod(each) <= MOST or not 0 < len(each) <= 6 for each in sizes):
            del self.lists[before:]
            return False
        self.layers.append((layer, reads))
        self.tensors += made
        return True

    def made(self, layer, tensors, listed):
        """Builds the nodes of a layer. `listed` creates its lists."""
        element = tensors[0].get_element_type()
        nodes = []
        for entries in layer.inputs:
            if isinstance(entries, Elements):
                nodes.append(listed(entries, element))
            elif isinstance(entries, np.ndarray) and entries.dtype.kind in "fb":
                nodes.append(opset1.constant(entries))
            else:
                nodes.append(listed(np.array(entries, layer.index_type), None))
        return create(layer.name, layer.version, [*tensors, *nodes], layer.attributes)

    def keep_list(self, entries, element):
        self.lists.append(entries)
        return constant(entries, element)

    def form(self, entries):
        """Picks the form of a list. Most lists are constants."""
        if self.chance.random() < 0.7:
            return constant
        steps = np.unique(np.diff(entries)) if entries.ndim == 1 else []
        forms = [as_parameter]
        if not isinstance(entries, Elements) and entries.ndim == 1:
            forms += [as_concat, as_reverse]
            forms += [as_range] if len(steps) == 1 and steps[0] and abs(entries).max() < 2**20 else []
            forms += [from_shape] * 3 if set(entries) <= set(self.inputs[0][0]) else []
        return self.chance.choice(forms)

    def chosen_results(self):
        """Returns all tensors that no layer reads, and some others, sometimes one of them twice."""
        read = {at for _, reads in self.layers for at in reads}
        results = [at for at in range(len(self.tensors)) if at not in read or self.chance.random() < 0.15]
        return results + self.chance.choices(results, k=self.chance.choice([0, 0, 0, 0, 1]))

    def built(self, by_specification=False, plain=True):
        """Builds the model, with lists as constants or in their forms, and the input data. With `by_specification`,
        layers with a specified result become gathers of its elements."""
        parameters = self.parameters()
        data = [of_type(np.arange(math.prod(sizes)).reshape(sizes) + 1 + 1000 * at, getattr(Type, element))
                for at, (sizes, element) in enumerate(self.inputs)]
        forms = iter([constant] * len(self.lists) if plain else self.forms)

        def listed(entries, element):
            node = next(forms)(entries, element, parameters[0])
            if node.get_type_name() == "Parameter":
                node.set_friendly_name(f"x{len(parameters)}")
                parameters.append(node)
                data.append(constant(entries, element))
            return node

        tensors = [parameter.output(0) for parameter in parameters]
        for layer, reads in self.layers:
            taken = [tensors[at] for at in reads]
            made = self.made(layer, taken, listed)
            if by_specification and layer.specified:
                made = as_specified(layer, taken[0])
            tensors += made.outputs()
        return ov.Model([opset1.result(tensors[at]) for at in self.results], parameters, "model"), data

    def __str__(self):
        layers = ", ".join(f"{layer} {layer.attributes} {[np.array(each).tolist() for each in layer.inputs]} of {reads}"
                           for layer, reads in self.layers)
        return f"{self.inputs}: {layers}"


# The forms of a list. The last argument is the Parameter of the first input.


def constant(entries, element, _=None):
    return of_type(entries, element) if element else opset1.constant(entries)


def as_parameter(entries, element, _):
    return opset1.parameter(entries.shape, element or entries.dtype)


def as_concat(entries, _, __):
    at = len(entries) // 2
    parts = [part for part in (entries[:at], entries[at:]) if len(part)]
    return create("Concat", "opset1", [constant(part, None) for part in parts], {"axis": 0})


def as_reverse(entries, _, __):
    lists = [constant(entries[::-1].copy(), None), constant(np.array([0]), None)]
    return create("Reverse", "opset1", lists, {"mode": "index"})


def as_range(entries, _, __):
    step = entries[1] - entries[0]
    ends = [constant(each, None) for each in (entries[0], entries[-1] + step, step)]
    return create("Range", "opset4", ends, {"output_type": Type(entries.dtype).get_type_name()})


def from_shape(entries, _, parameter):
    sizes = list(parameter.get_output_shape(0))
    shape = create("ShapeOf", "opset3", [parameter], {"output_type": Type(entries.dtype).get_type_name()})
    places = np.array([sizes.index(entry) for entry in entries])
    return create("Gather", "opset8", [shape, constant(places, None), constant(np.array(0), None)], {"batch_dims": 0})


def as_specified(layer, tensor):
    """Returns a gather of the specified result from a table: first the numbers of `elements`, then the tensor."""
    sizes, known = tuple(tensor.get_shape()), 128
    named = layer.specified(np.arange(math.prod(sizes)).reshape(sizes) + known)
    flat = create("Reshape", "opset1", [tensor, constant(np.array([-1]), None)], {"special_zero": False})
    table = create("Concat", "opset1", [of_type(np.arange(known), tensor.get_element_type()), flat], {"axis": 0})
    return create("Gather", "opset8", [table, constant(named, None), constant(np.array(0), None)], {"batch_dims": 0})


def raw(array):
    """Returns the bits of the elements, if numpy does not have the type."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array


def tensor_of(node):
    tensor = ov.Tensor(node.get_element_type(), node.get_output_shape(0))
    np.copyto(tensor.data, node.data.reshape(tensor.data.shape))
    return tensor


def by_openvino(core, model, data):
    """Type, sizes and bytes of each output, or the error."""
    try:
        request = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        request.infer([tensor_of(node) for node in data])
    except RuntimeError as refused:
        return "; ".join(line for line in str(refused).splitlines() if line and not line.startswith("Exception from"))
    outputs = [request.get_output_tensor(at) for at in range(len(model.outputs))]
    return [(each.element_type.get_type_name(), list(each.shape), each.data.tobytes()) for each in outputs]


def by_program(program, model, data, folder):
    """Type, sizes and bytes of each output, or the error."""
    ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
    command = [program, "run", str(folder / "model.xml"), "--out-dir", str(folder / "out"), "--json", "--verify"]
    for parameter, node in zip(model.get_parameters(), data):
        file, values = folder / f"{parameter.get_friendly_name()}.npy", node.data
        if node.get_element_type() == Type.bf16:
            values = values.view(np.uint16)
        elif node.get_element_type().bitwidth < 8:
            values = values.view(np.uint8).reshape(-1)
        np.save(file, values)
        command += ["--input", f"{file.stem}={file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{' '.join(command)}: {done.stderr}"
    outputs = json.loads(done.stdout)["outputs"]
    return [(each["dtype"], each["shape"], np.load(each["file"]).tobytes()) for each in outputs]


def filled(element, sizes, data):
    bits = math.prod(sizes) * getattr(Type, element).bitwidth
    return element, sizes, data[:-1] + bytes([data[-1] & (1 << bits % 8) - 1]) if bits % 8 else data


def difference(found, expected):
    """Returns a description of the first difference; an empty text if there is none."""
    if isinstance(found, str):
        return str(found)
    for at, (own, due) in enumerate(zip(found, expected, strict=True)):
        if own[:2] != due[:2]:
            return f"output {at} is {own[0]} {own[1]}, not {due[0]} {due[1]}"
        own, due = filled(*own), filled(*due)
        if own[2] != due[2]:
            byte = next(place for place, (one, other) in enumerate(zip(own[2], due[2])) if one != other)
            return f"output {at}, {own[0]} {own[1]}: byte {byte} is {own[2][byte]}, not {due[2][byte]}"
    return ""


def built_with_forms(model):
    """Builds the model with all lists in their forms; as constants, if OpenVINO infers wrong sizes for the forms."""
    try:
        return model.built(plain=False)
    except RuntimeError:
        return model.built()


def check(program, seed, layers):
    """Returns counts of the outcome, and the problem; an empty text if there is none."""
    core, model, counts = cached_core(), Model(seed, layers), Counter()
    kinds = [str(layer) for layer, _ in model.layers]
    expected = by_openvino(core, *model.built(by_specification=True))
    if isinstance(expected, str):
        counts["refused by OpenVINO"] += 1
        print(f"seed {seed}: OpenVINO refuses {', '.join(kinds)}: {expected[:150]}")
        return counts, ""
    folder = Path(tempfile.mkdtemp(prefix=f"openvino-{seed}-"))
    wrong = difference(by_program(program, *built_with_forms(model), folder), expected)
    if wrong:
        return counts, f"seed {seed}, {folder}: {wrong}\n  {model}"
    shutil.rmtree(folder)
    counts.update(set(kinds))
    counts["equal models"] += 1
    named = any(layer.specified for layer, _ in model.layers)
    # OpenVINO sometimes writes beyond packed elements.
    packed = any(getattr(Type, element).bitwidth < 8 for _, element in model.inputs)
    own = by_openvino(core, *model.built()) if named and not packed else expected
    if isinstance(own, str):
        counts["equal to the specification, and refused by OpenVINO"] += 1
    elif difference(own, expected):
        counts["equal to the specification, but not to OpenVINO"] += 1
    return counts, ""


def check_arithmetic(program, count):
    """Runs this many layers of each kind on constants in both, and returns the differences."""
    wrong, chance = [], random.Random(count)
    for kind in KINDS:
        for _ in range(count):
            model = some_model(kind, chance)
            expected = by_openvino(cached_core(), model, [])
            if isinstance(expected, str):
                wrong.append(f"OpenVINO refuses {kind}: {expected[:150]}")
                continue
            folder = Path(tempfile.mkdtemp(prefix=f"openvino-{kind}-"))
            problem = difference(by_program(program, model, [], folder), expected)
            if problem:
                wrong.append(f"{kind}, {folder}: {problem}")
            else:
                shutil.rmtree(folder)
    return wrong


@functools.cache
def cached_core():
    core = ov.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
    return core


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=100, help="how many models")
    parser.add_argument("--seed", type=int, default=0, help="of the first model; each later model has the next seed")
    parser.add_argument("--layers", type=int, default=8, help="how many layers a model has at most")
    arguments = parser.parse_args()
    counts, wrong = Counter(), []
    program = str(arguments.program.resolve())
    worker = ProcessPoolExecutor(1)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            counted, problem = worker.submit(check, program, seed, arguments.layers).result()
        except BrokenProcessPool:
            # OpenVINO sometimes reads out of bounds, which ends the process.
            counted, problem, worker = {"ended by OpenVINO": 1}, "", ProcessPoolExecutor(1)
            print(f"seed {seed}: OpenVINO ends the process: {Model(seed, arguments.layers)}")
        counts.update(counted)
        wrong += [problem] if problem else []
    print(f"OpenVINO {ov.__version__}: {dict(sorted(counts.items()))}")
    each = math.ceil(arguments.count / 60)
    problems = check_arithmetic(program, each)
    print(f"{len(KINDS) * each - len(problems)} of {len(KINDS) * each} arithmetic layers are equal")
    wrong += problems
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
