#!/usr/bin/env python3
"""Other libraries on the bench's cases, each in turn with a copy.

    cargo build --release -p trundle-bench
    python3 bench/rivals.py [--rounds N] [--threads N] [WORDS...]

WORDS select cases as they do for trundle-bench; without them, a handful is run. Each round runs
trundle-bench, which times trundle and the copy of the same bytes, and then each library, so that
all see the machine in about the same state. What is printed is the median over rounds of the copy's
time by the library's. Results are compared with numpy's first.

Of numpy, PyTorch, OpenVINO and ONNX Runtime, those are run that can be imported and have the
operators. Each writes to an array that is there, if it can; what it allocates is its own affair and
counts, as it does for its users.
"""

import argparse
import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BENCH = (
    Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent / "target"))
    / "release"
    / "trundle-bench"
)

# One of each kind, all in the bench's suites.
HANDFUL = [
    "other elements/2-d, powers of two",
    "other elements/nhwc to nchw",
    "other elements/nchw to nhwc",
    "other elements/four axes",
    "other elements/invert 4 axes",
    "other elements/keep the inner axis",
    "rolls/swin",
    "rolls/2-d",
    "rolls/1-d by 12345",
    "reverse sequences/256 batches",
    "reverse sequences/4096 rows",
    "small elements/2-d, powers of two u8",
    "small elements/2-d, powers of two u16",
    "pictures/chw to hwc u8 102x3x640x640",
    "chains/bgr hwc to rgb chw",
    "windows/swin",
    "windows/patches",
    "time-major/transpose, reverse, transpose f32 256x512x512",
]

# Bounds of slices: before the first element, and after the last.
FIRST, LAST = -(2**63), 2**63 - 1

NUMPY_TYPES = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32, "f64": np.float64}


class Unsupported(Exception):
    """A library has no such operator, or not for such elements."""


def parse(chain):
    """The operators of a chain as the record writes it: pairs of a name and arguments."""
    operators = []
    for stage in chain.split(" | "):
        name, arguments = re.fullmatch(r"(\w+)\((.*)\)", stage).groups()
        # Lengths are cut off there; the bench makes them by a rule.
        arguments = re.sub(r"lengths=\[.*\]", "lengths=None", arguments)
        call = ast.parse(f"f({arguments})", mode="eval").body
        operators.append(
            (
                name,
                [ast.literal_eval(each) for each in call.args],
                {each.arg: ast.literal_eval(each.value) for each in call.keywords},
            )
        )
    return operators


def lengths(count, size):
    """The lengths of the bench: a fixed scatter over 0..=size."""
    scatter = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (scatter % np.uint64(size + 1)).astype(np.int64)


def broadcast_shift(shift, axes):
    return tuple(shift) * len(axes) if len(shift) == 1 else tuple(shift)


class Numpy:
    name = "numpy"

    def __init__(self, threads):
        del threads  # it has one

    def prepare(self, operators, x):
        def run():
            y = x
            for name, arguments, named in operators:
                y = self.step(y, name, arguments, named)
            # Views, and results in the order of one, have not been moved yet.
            if np.may_share_memory(x, y) or not y.flags.c_contiguous:
                np.copyto(self.out, y)
                return self.out
            return y

        shape = run_shape(operators, x.shape)
        self.out = np.empty(shape, x.dtype)
        return run

    @staticmethod
    def step(y, name, arguments, named):
        if name == "transpose":
            return y.transpose(arguments or None)
        if name == "reshape":
            return y.reshape(arguments)
        if name == "flip":
            return np.flip(y, named["axes"])
        if name == "roll":
            shift = broadcast_shift(named["shift"], named["axes"])
            return np.roll(y, shift, tuple(named["axes"]))
        if name == "reverse" and "batch_axis" in named:
            axis, batch_axis = named["axis"], named["batch_axis"]
            z = y.copy()
            for batch, length in enumerate(lengths(y.shape[batch_axis], y.shape[axis])):
                index = [slice(None)] * y.ndim
                index[batch_axis] = batch
                index[axis] = slice(0, length)
                along = axis - (batch_axis < axis)
                z[tuple(index)] = np.flip(y[tuple(index)], along)
            return z
        raise Unsupported


def run_shape(operators, shape):
    shape = tuple(shape)
    for name, arguments, _ in operators:
        if name == "transpose":
            shape = tuple(shape[i] for i in arguments) if arguments else shape[::-1]
        elif name == "reshape":
            shape = tuple(arguments)
    return shape


class Torch:
    name = "PyTorch"

    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)

    def prepare(self, operators, x):
        torch = self.torch
        if x.dtype == np.uint16:
            x = x.view(np.int16)
        data = torch.from_numpy(x)
        out = torch.empty(run_shape(operators, x.shape), dtype=data.dtype)

        def run():
            y = data
            for name, arguments, named in operators:
                if name == "transpose":
                    y = y.permute(arguments or tuple(range(y.ndim))[::-1])
                elif name == "reshape":
                    y = y.reshape(arguments)
                elif name == "flip":
                    y = torch.flip(y, named["axes"])
                elif name == "roll":
                    shift = broadcast_shift(named["shift"], named["axes"])
                    y = torch.roll(y, shift, tuple(named["axes"]))
                else:
                    raise Unsupported
            return y if y.is_contiguous() else out.copy_(y)

        return run


class OpenVINO:
    name = "OpenVINO"

    def __init__(self, threads):
        import openvino

        self.openvino, self.ops = openvino, openvino.opset13
        self.core = openvino.Core()
        self.config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}

    def prepare(self, operators, x):
        request = self.compiled(operators, x).create_infer_request()
        request.set_input_tensor(self.openvino.Tensor(x, shared_memory=True))
        out = np.empty(run_shape(operators, x.shape), x.dtype)
        request.set_output_tensor(self.openvino.Tensor(out, shared_memory=True))

        def run():
            request.infer()
            return out

        return run

    def compiled(self, operators, x):
        """A model of the operators for arrays like `x`."""
        ops = self.ops
        data = ops.parameter(x.shape, dtype=x.dtype)
        y, shape = data, x.shape
        for name, arguments, named in operators:
            if name == "transpose":
                y = ops.transpose(y, arguments or list(range(len(shape)))[::-1])
            elif name == "reshape":
                y = ops.reshape(y, np.array(arguments), special_zero=False)
            elif name == "flip":
                axes, all_of_them = np.array(named["axes"]), np.ones(len(named["axes"]), np.int64)
                y = ops.slice(y, -all_of_them, all_of_them * FIRST, -all_of_them, axes)
            elif name == "roll":
                shift = list(broadcast_shift(named["shift"], named["axes"]))
                y = ops.roll(y, np.array(shift), np.array(named["axes"]))
            elif name == "take":
                y = ops.gather(y, np.array(arguments), named["axis"])
            elif name == "reverse" and "batch_axis" in named:
                axis, batch_axis = named["axis"], named["batch_axis"]
                table = lengths(shape[batch_axis], shape[axis]).astype(np.int32)
                y = ops.reverse_sequence(y, table, batch_axis, axis)
            else:
                raise Unsupported
            shape = run_shape([(name, arguments, named)], shape)
        model = self.openvino.Model([y], [data], "case")
        return self.core.compile_model(model, "CPU", self.config)


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, threads):
        import onnx
        import onnxruntime

        self.onnx, self.runtime, self.threads = onnx, onnxruntime, threads

    def list(self, name, entries):
        """A constant that is a list of integers."""
        return self.onnx.numpy_helper.from_array(np.array(entries, np.int64), name)

    def slice(self, source, result, bounds, constants):
        """A slice from starts to ends, along axes, at steps."""
        names = [f"{result}{which}" for which in ("starts", "ends", "axes", "steps")]
        constants.extend(map(self.list, names, bounds))
        return self.onnx.helper.make_node("Slice", [source, *names], [result])

    def prepare(self, operators, x):
        session = self.session(operators, x)
        binding = session.io_binding()
        binding.bind_cpu_input("x0", x)
        out = np.empty(run_shape(operators, x.shape), x.dtype)
        value = self.runtime.OrtValue.ortvalue_from_numpy(out)
        binding.bind_ortvalue_output(f"x{len(operators)}", value)

        def run():
            session.run_with_iobinding(binding)
            return value

        return run

    def session(self, operators, x):
        """A session for a model of the operators; its input is x0."""
        helper = self.onnx.helper
        nodes, constants, shape = [], [], x.shape
        for number, (name, arguments, named) in enumerate(operators):
            inputs, outputs = [f"x{number}"], [f"x{number + 1}"]
            if name == "transpose":
                order = arguments or list(range(len(shape)))[::-1]
                nodes.append(helper.make_node("Transpose", inputs, outputs, perm=order))
            elif name == "reshape":
                constants.append(self.list(f"sizes{number}", arguments))
                inputs.append(f"sizes{number}")
                nodes.append(helper.make_node("Reshape", inputs, outputs))
            elif name == "flip":
                axes = named["axes"]
                bounds = ([-1] * len(axes), [FIRST] * len(axes), axes, [-1] * len(axes))
                nodes.append(self.slice(inputs[0], outputs[0], bounds, constants))
            elif name == "roll":
                # As exporters write it: two slices and a concatenation an axis.
                shift = broadcast_shift(named["shift"], named["axes"])
                source = inputs[0]
                for axis, by in zip(named["axes"], shift):
                    at, parts = (-by) % shape[axis], [f"{source}r{axis}a", f"{source}r{axis}b"]
                    for part, bounds in zip(parts, ([at, LAST], [0, at])):
                        bounds = ([bounds[0]], [bounds[1]], [axis], [1])
                        nodes.append(self.slice(source, part, bounds, constants))
                    last = axis == named["axes"][-1]
                    source = outputs[0] if last else f"{outputs[0]}r{axis}"
                    nodes.append(helper.make_node("Concat", parts, [source], axis=axis))
            elif name == "take":
                constants.append(self.list(f"numbers{number}", arguments))
                inputs.append(f"numbers{number}")
                nodes.append(helper.make_node("Gather", inputs, outputs, axis=named["axis"]))
            elif name == "reverse" and {named["axis"], named.get("batch_axis")} == {0, 1}:
                axis, batch_axis = named["axis"], named["batch_axis"]
                table = lengths(shape[batch_axis], shape[axis])
                constants.append(self.onnx.numpy_helper.from_array(table, f"lengths{number}"))
                inputs.append(f"lengths{number}")
                axes = {"time_axis": axis, "batch_axis": batch_axis}
                nodes.append(helper.make_node("ReverseSequence", inputs, outputs, **axes))
            else:
                raise Unsupported
            shape = run_shape([(name, arguments, named)], shape)
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        source = helper.make_tensor_value_info("x0", kind, x.shape)
        result = helper.make_tensor_value_info(f"x{len(operators)}", kind, shape)
        graph = helper.make_graph(nodes, "case", [source], [result], constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
        )
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        return self.runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )


def bench(arguments):
    """The cases of a run of trundle-bench."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [str(BENCH), *arguments, "--json", str(record)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        suites = json.loads(record.read_text())["suites"]
    return [(suite["name"], case) for suite in suites for case in suite["cases"]]


def libraries(threads):
    """Those that can be imported."""
    found = []
    for library in (Numpy, Torch, OpenVINO, OnnxRuntime):
        try:
            found.append(library(threads))
        except ImportError as error:
            print(f"without {library.name}: {error}", file=sys.stderr)
    return found


def as_numpy(result, dtype):
    array = result.numpy() if hasattr(result, "numpy") else result
    return np.asarray(array).view(dtype)


def prepared(found, operators, x):
    """A function for each library that can run the case, compared with numpy's result."""
    runs, right = {}, None
    for library in found:
        try:
            run = library.prepare(operators, x)
            result = as_numpy(run(), x.dtype)
        except Unsupported:
            continue
        except Exception as error:  # each library has its own for what it cannot do
            print(f"  {library.name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if right is None:
            right = result.copy()
        elif not np.array_equal(result, right):
            sys.exit(f"{library.name} gives another result than {found[0].name}")
        runs[library.name] = run
    return runs


def is_common(operator):
    """Whether others have it: a length in every lane, nobody has."""
    name, _, named = operator
    return name != "reverse" or "batch_axis" in named


def numbers(sizes, dtype):
    """Elements that differ; numbers, since no library need keep the payloads of NaN."""
    return np.arange(np.prod(sizes), dtype=np.int64).astype(dtype).reshape(sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("words", nargs="*", default=HANDFUL)
    args = parser.parse_args()
    threads = ["--threads", str(args.threads)]
    found = libraries(args.threads)
    names = ["trundle", *(library.name for library in found)]
    print(f"fractions of a copy's speed, {args.threads} threads, medians of {args.rounds} rounds\n")
    print(f"| case | type | sizes | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}")
    for suite, case in bench([*threads, "--rounds", "1", *args.words]):
        operators = parse(case["chain"])
        if case["dtype"] not in NUMPY_TYPES or not all(map(is_common, operators)):
            continue
        x = numbers(case["sizes"], NUMPY_TYPES[case["dtype"]])
        runs = prepared(found, operators, x)
        shape = "x".join(map(str, case["sizes"]))
        label = f"{suite}/{case['name']} {case['dtype']} {shape}"
        fractions = {name: [] for name in names}
        for _ in range(args.rounds):
            ((_, own), *_) = bench([*threads, "--rounds", "3", label])
            fractions["trundle"].append(own["of_copy"])
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                fractions[name].append(own["copy_seconds"] / (time.perf_counter() - start))
        cells = [f"{statistics.median(all):.2f}" if all else "none" for all in fractions.values()]
        print(f"| {case['name']} | {case['dtype']} | {shape} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
