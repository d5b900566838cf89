#!/usr/bin/env python3
"""Compares trundle's nodes in ONNX Runtime with the built-in ones: the cost of a call, and large tensors.

With one thread, this is CPU time; with several threads, the shortest time of several rounds. Needs onnx and
onnxruntime.
"""

import argparse
import time

import numpy as np
import onnxruntime
import trundle
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper


def inner(nodes, inputs, outputs, constants=()):
    named = lambda names: [ValueInfoProto(name=name) for name in names]
    initializers = [numpy_helper.from_array(value, name) for name, value in dict(constants).items()]
    graph = helper.make_graph(nodes, "moved", named(inputs), named(outputs), initializers)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def move(model, given, made):
    return helper.make_node("Move", [given], [made], domain="trundle", model=model)


def session(nodes, sizes, threads, constants=(), between=()):
    typed = lambda name, sizes=None: helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
    initializers = [numpy_helper.from_array(value, name) for name, value in dict(constants).items()]
    types = [typed(name) for name in between]
    graph = helper.make_graph(nodes, "graph", [typed("x", sizes)], [typed("y")], initializers, value_info=types)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("trundle", 1)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if between:
        # Otherwise, consecutive transposes would be merged.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.register_custom_ops_library(trundle.onnx_library())
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def seconds(sessions, x, threads):
    """Returns the times of each session. Inputs and outputs are allocated in advance."""
    bound = []
    for one in sessions:
        (y,) = one.run(None, {"x": x})
        binding, room = one.io_binding(), onnxruntime.OrtValue.ortvalue_from_numpy(y)
        binding.bind_cpu_input("x", x)
        binding.bind_ortvalue_output("y", room)
        bound.append((one, binding, room, y))
    assert all(np.array_equal(y, bound[0][3]) for _, _, _, y in bound)
    clock = time.thread_time if threads == 1 else time.perf_counter
    times, rounds = [[] for _ in bound], 15
    runs = max(1, min(2000, int(3e8 / max(x.nbytes, 1) / rounds)))
    for _ in range(rounds):
        for (one, binding, _, _), taken in zip(bound, times, strict=True):
            start = clock()
            for _ in range(runs):
                one.run_with_iobinding(binding)
            taken.append((clock() - start) / runs)
    return [min(taken) if threads > 1 else sorted(taken)[rounds // 2] for taken in times]


def turned(kind, count):
    names = ["x", *(f"t{number}" for number in range(1, count)), "y"]
    model = inner([helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0])], ["a"], ["b"])
    node = {
        "Transpose": lambda a, b: helper.make_node("Transpose", [a], [b], perm=[1, 0]),
        "Move": lambda a, b: move(model, a, b),
        "Chain": lambda a, b: helper.make_node("Chain", [a], [b], domain="trundle", chain="a b -> b a"),
    }[kind]
    return [node(*pair) for pair in zip(names, names[1:])], names[1:-1]


def windows(batch, size, channels, window, shift):
    """Shifted windows as exporters write them: slices and concatenations, reshape, transpose, reshape."""
    constants, nodes = {}, []
    for axis, (source, target) in enumerate([("x", "h"), ("h", "w")], start=1):
        numbers = {"zero": 0, "shift": shift, "end": 2**62, "axis": axis}
        constants |= {f"{target}_{word}": np.array([number]) for word, number in numbers.items()}
        of = lambda *words, target=target: [f"{target}_{word}" for word in words]
        nodes += [
            helper.make_node("Slice", [source, *of("shift", "end", "axis")], of("last")),
            helper.make_node("Slice", [source, *of("zero", "shift", "axis")], of("first")),
            helper.make_node("Concat", of("last", "first"), [target], axis=axis),
        ]
    parts = size // window
    constants["cut"] = np.array([batch, parts, window, parts, window, channels])
    constants["rows"] = np.array([-1, window * window, channels])
    nodes += [
        helper.make_node("Reshape", ["w", "cut"], ["parts"]),
        helper.make_node("Transpose", ["parts"], ["sorted"], perm=[0, 1, 3, 2, 4, 5]),
        helper.make_node("Reshape", ["sorted", "rows"], ["y"]),
    ]
    return nodes, constants


def compare(name, nodes, constants, sizes, threads):
    x = np.random.default_rng(0).random(sizes, np.float32)
    one = [move(inner(nodes, ["x"], ["y"], constants), "x", "y")]
    own, moved = seconds([session(nodes, sizes, threads, constants), session(one, sizes, threads)], x, threads)
    size = f"{x.nbytes / 2**20:.0f} MiB"
    print(f"| {name}, {size} | {threads} | {own * 1e3:.2f} ms | {moved * 1e3:.2f} ms | {own / moved:.1f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    threads_of_cases = arguments.parse_args().threads
    x = np.zeros((8, 8), np.float32)
    print("8 x 8 numbers: microseconds of a call of one node, and of each node more")
    for kind in ["Transpose", "Move", "Chain"]:
        alone, many = (turned(kind, count) for count in (1, 101))
        one, all_of_them = (seconds([session(nodes, [8, 8], 1, (), between)], x, 1)[0] for nodes, between in (alone, many))
        print(f"  {kind}: {one * 1e6:.2f}, {(all_of_them - one) / 100 * 1e6:.2f}")
    print("| case | threads | nodes of ONNX Runtime | Move | times as fast |\n|---|---|---|---|---|")
    for threads in threads_of_cases:
        for batch in (7, 49):
            compare("shifted windows", *windows(batch, 56, 96, 7, 3), [batch, 56, 56, 96], threads)
        for perm, sizes in [
            ([0, 2, 3, 1], [8, 64, 128, 128]), ([0, 3, 1, 2], [16, 256, 256, 3]), ([0, 2, 1, 3], [16, 128, 12, 256]),
            ([1, 0], [4096, 4096]),
        ]:  # fmt: skip
            node = helper.make_node("Transpose", ["x"], ["y"], perm=perm)
            compare(f"Transpose {perm} of {sizes}", [node], {}, sizes, threads)


if __name__ == "__main__":
    main()
