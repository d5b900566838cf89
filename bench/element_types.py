#!/usr/bin/env python3
"""Tests which element types other libraries move bit for bit, for the table of docs/types.md without trundle's column.

    python3 bench/element_types.py

Moves a small tensor of random bits of every type by transpose, roll and reverse sequence, in numpy, PyTorch, OpenVINO,
ONNX Runtime and TensorFlow, if they can be imported. Each attempt runs in a separate process. Prints "yes", "no" (there
is no such operator, or it refuses the type), "wrong" (the bits differ) or "crash". numpy gets the types bf16 and f8
from ml_dtypes.
"""

import ctypes
import os
import signal
import sys

import ml_dtypes
import numpy as np

SHAPE = (5, 7)
ORDER, SHIFT, AXIS = (1, 0), 3, 1
LENGTHS = np.array([7, 3, 1, 2, 6], np.int64)

# The number of bits per element, and numpy's type if it has one.
TYPES = {
    "boolean": (8, np.bool_),
    "u8": (8, np.uint8), "u16": (16, np.uint16), "u32": (32, np.uint32), "u64": (64, np.uint64),
    "i8": (8, np.int8), "i16": (16, np.int16), "i32": (32, np.int32), "i64": (64, np.int64),
    "f16": (16, np.float16), "f32": (32, np.float32), "f64": (64, np.float64),
    "bf16": (16, ml_dtypes.bfloat16),
    "f8e4m3": (8, ml_dtypes.float8_e4m3fn),
    "f8e5m2": (8, ml_dtypes.float8_e5m2),
    "f8e8m0": (8, ml_dtypes.float8_e8m0fnu),
    "complex64": (64, np.complex64), "complex128": (128, np.complex128),
    "u1": (1, None), "u2": (2, None), "i2": (2, None), "u3": (3, None), "u4": (4, None),
    "i4": (4, None), "u6": (6, None), "nf4": (4, None), "f4e2m1": (4, None),
    "string": (None, None),
}


class Unsupported(Exception):
    """The library does not have the operator, or does not support this type."""


def codes(name):
    """Returns the bits of the elements as bytes of shape (5, 7, bytes per element)."""
    bits = TYPES[name][0]
    random = np.random.default_rng(7).integers(0, 256, (*SHAPE, max(bits // 8, 1)), np.uint8)
    return random & 1 if name == "boolean" else random & ((1 << min(bits, 8)) - 1)


def moved(operator, x):
    if operator == "transpose":
        return x.transpose(*ORDER, *range(2, x.ndim))
    if operator == "roll":
        return np.roll(x, SHIFT, AXIS)
    y = x.copy()
    for row, length in enumerate(LENGTHS):
        y[row, :length] = x[row, :length][::-1]
    return y


def place(bits, element, bit):
    """Returns the byte and the bit of an element in OpenVINO 2026.4's order: 1 bit from the top, 3 and 6 bits split."""
    if bits in (3, 6):
        group = 24 // bits
        start, i, low = element // group * 3, element % group, bits // 3 * 2
        if bit < low:
            half = group // 2
            return start + i // half, low * (half - 1 - i % half) + bit
        return start + 2, (bits - low) * (group - 1 - i) + bit - low
    at = element * bits
    return at // 8, 7 - at % 8 if bits == 1 else at % 8 + bit


def pack(bits, x):
    elements = x.reshape(-1)
    packed = np.zeros(-(-len(elements) // (24 // bits)) * 3 if bits in (3, 6) else -(-len(elements) * bits // 8), np.uint8)
    for i, element in enumerate(elements):
        for bit in range(bits):
            byte, at = place(bits, i, bit)
            packed[byte] |= (int(element) >> bit & 1) << at
    return packed


def strings(shape=SHAPE):
    return np.array([f"{'long ' * (i % 9)}{i}" for i in range(35)], object).reshape(shape)


class Numpy:
    name = "numpy"

    def __init__(self):
        self.module = np

    def move(self, operator, name):
        dtype = TYPES[name][1]
        x = strings().astype("U") if name == "string" else None
        if dtype is not None:
            x = np.ascontiguousarray(codes(name)).view(dtype)[..., 0]
        if x is None or operator == "reverse":
            raise Unsupported
        return np.ascontiguousarray(x.transpose(ORDER) if operator == "transpose" else np.roll(x, SHIFT, AXIS))


class Torch:
    name = "PyTorch"

    def __init__(self):
        import torch

        self.torch = torch

    def move(self, operator, name):
        torch = self.torch
        names = {"boolean": "bool", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
                 "f8e8m0": "float8_e8m0fnu", "complex64": "complex64", "complex128": "complex128"}
        for letter, word in (("u", "uint"), ("i", "int"), ("f", "float")):
            names |= {f"{letter}{bits}": f"{word}{bits}" for bits in (8, 16, 32, 64)}
        if TYPES[name][1] is None or operator == "reverse" or not hasattr(torch, names[name]):
            raise Unsupported
        x = torch.frombuffer(bytearray(codes(name).tobytes()), dtype=getattr(torch, names[name])).reshape(SHAPE)
        y = x.permute(ORDER).contiguous() if operator == "transpose" else torch.roll(x, SHIFT, AXIS)
        return np.frombuffer(bytes(y.untyped_storage()), np.uint8)


class OpenVINO:
    name = "OpenVINO"

    def __init__(self):
        import openvino

        self.openvino, self.ops = openvino, openvino.opset13

    def move(self, operator, name):
        ov, ops = self.openvino, self.ops
        if name.startswith("complex") or name == "i2":
            raise Unsupported
        kind = getattr(ov.Type, {"f8e4m3": "f8e4m3", "f8e5m2": "f8e5m2"}.get(name, name))
        data = ops.parameter(SHAPE, dtype=kind)
        y = {
            "transpose": lambda: ops.transpose(data, list(ORDER)),
            "roll": lambda: ops.roll(data, np.array([SHIFT]), np.array([AXIS])),
            "reverse": lambda: ops.reverse_sequence(data, LENGTHS.astype(np.int32), 0, 1),
        }[operator]()
        model = ov.Model([y], [data], "try")
        request = ov.Core().compile_model(model, "CPU").create_infer_request()
        if name == "string":
            request.set_input_tensor(ov.Tensor(strings().astype(str)))
        elif TYPES[name][1] is None:
            packed = pack(TYPES[name][0], codes(name))
            tensor = ov.Tensor(kind, ov.Shape(SHAPE))
            tensor.data.reshape(-1).view(np.uint8)[:] = packed
            request.set_input_tensor(tensor)
        else:
            tensor = ov.Tensor(kind, ov.Shape(SHAPE))
            tensor.data.reshape(-1).view(np.uint8)[:] = codes(name).reshape(-1)
            request.set_input_tensor(tensor)
        request.infer()
        out = request.get_output_tensor()
        if out.get_element_type() != kind:
            raise AssertionError("another type")
        return out.str_data if name == "string" else out.data.reshape(-1).view(np.uint8)


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx, self.runtime = onnx, onnxruntime

    def move(self, operator, name):
        onnx, helper = self.onnx, self.onnx.helper
        names = {"boolean": "BOOL", "bf16": "BFLOAT16", "f16": "FLOAT16", "f32": "FLOAT", "f64": "DOUBLE",
                 "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2", "f8e8m0": "FLOAT8E8M0", "u2": "UINT2",
                 "i2": "INT2", "u4": "UINT4", "i4": "INT4", "f4e2m1": "FLOAT4E2M1", "string": "STRING"}
        names |= {f"{letter}{bits}": f"{word}{bits}" for letter, word in (("u", "UINT"), ("i", "INT")) for bits in (8, 16, 32, 64)}
        if name not in names or operator == "roll":
            raise Unsupported
        kind = getattr(onnx.TensorProto, names[name])
        shape = [SHAPE[i] for i in ORDER] if operator == "transpose" else SHAPE
        if operator == "transpose":
            nodes, given = [helper.make_node("Transpose", ["x"], ["y"], perm=list(ORDER))], []
        else:
            nodes = [helper.make_node("ReverseSequence", ["x", "n"], ["y"], batch_axis=0, time_axis=1)]
            given = [onnx.numpy_helper.from_array(LENGTHS, "n")]
        bits = TYPES[name][0]
        if name == "string":
            x = helper.make_tensor("x", kind, SHAPE, [s.encode() for s in strings().reshape(-1)])
        else:
            raw = codes(name).tobytes() if bits >= 8 else pack(bits, codes(name)).tobytes()
            x = helper.make_tensor("x", kind, SHAPE, raw, raw=True)
        out = helper.make_tensor_value_info("y", kind, shape)
        graph = helper.make_graph(nodes, "try", [], [out], [x, *given])
        opset = 25 if operator == "transpose" else 10
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
        options = self.runtime.SessionOptions()
        options.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        value = session.run_with_ort_values(["y"], {})[0]
        if name == "string":
            return value.numpy()
        # numpy has no name for some types.
        count = len(raw) if bits < 8 else codes(name).size
        return np.frombuffer(ctypes.string_at(value.data_ptr(), count), np.uint8)


class TensorFlow:
    name = "TensorFlow"

    def __init__(self):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow

        self.tf = tensorflow

    def move(self, operator, name):
        tf, dtype = self.tf, TYPES[name][1]
        if name == "string":
            x = tf.constant(strings())
        elif dtype is None or name == "f8e8m0":
            raise Unsupported
        else:
            x = tf.constant(np.ascontiguousarray(codes(name)).view(dtype)[..., 0])
        y = {
            "transpose": lambda: tf.transpose(x, ORDER),
            "roll": lambda: tf.roll(x, SHIFT, AXIS),
            "reverse": lambda: tf.reverse_sequence(x, LENGTHS, seq_axis=1, batch_axis=0),
        }[operator]()
        return np.char.decode(y.numpy().astype("S")) if name == "string" else y.numpy()


def verdict(library, operator, name):
    try:
        got = library.move(operator, name)
    except AssertionError:
        return "wrong"
    except Exception as error:  # any exception means that the library refuses it
        if os.environ.get("DEBUG"):
            print(f"{library.name} {operator} {name}: {type(error).__name__} {str(error)[:200]}", file=sys.stderr)
        return "no"
    if name == "string":
        return "yes" if np.array_equal(got.astype(str), moved(operator, strings()).astype(str)) else "wrong"
    expected = np.ascontiguousarray(moved(operator, codes(name)))
    bits = TYPES[name][0]
    got = np.ascontiguousarray(got).reshape(-1).view(np.uint8)
    if bits < 8:
        # The bits after the last element are not specified.
        expected = pack(bits, expected)
        behind = pack(bits, np.full(35, 255, np.uint8))
        got = got[: len(expected)] & behind
    return "yes" if np.array_equal(got, expected.reshape(-1)) else "wrong"


def tried(library, operator, name):
    """Makes one attempt in a separate process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        if not os.environ.get("DEBUG"):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(write, verdict(library, operator, name).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or "crash"


def main():
    libraries = []
    for kind in (Numpy, Torch, OpenVINO, OnnxRuntime, TensorFlow):
        try:
            libraries.append(kind())
        except ImportError as error:
            print(f"{kind.name} is left out: {error}", file=sys.stderr)
    operators = ["transpose", "roll", "reverse"]
    print("Each: transpose, roll, reverse sequence\n")
    print("| type |" + "".join(f" {library.name} |" for library in libraries))
    print("|---|" + "---|" * len(libraries))
    for name in TYPES:
        cells = [", ".join(tried(library, operator, name) for operator in operators) for library in libraries]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
