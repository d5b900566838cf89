#!/usr/bin/env python3
"""Runs PyTorch modules of pure movements through the program and compares the results bit for bit.

Both of PyTorch's exporters write them, for fixed and for open sizes. The number of passes is checked, too. `--save`
writes the models to torch_modules.zip next to this file, so that with_onnx.py can run them without PyTorch.

    pip install torch==2.15.0 onnx==1.23.2 onnxscript numpy==2.4.6
    crates/trundle-models/tests/with_torch.py target/release/trundle
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch.nn import functional


class Module(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def windows(x, size=4):
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size * size, c)


def windows_back(x, size=4, h=8, w=8):
    b = x.shape[0] // ((h // size) * (w // size))
    x = x.view(b, h // size, w // size, size, size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(b, h, w, -1)


def shuffle(x, groups=2):
    b, c, h, w = x.shape
    return x.view(b, groups, c // groups, h, w).transpose(1, 2).reshape(b, c, h, w)


def heads(x, count=4):
    b, n, c = x.shape
    return x.reshape(b, n, count, c // count).permute(0, 2, 1, 3)


def heads_back(x):
    b, count, n, c = x.shape
    return x.transpose(1, 2).reshape(b, n, count * c)


def query_key_value(x, count=2):
    b, n, c = x.shape
    return x.reshape(b, n, 3, count, c // 3 // count).permute(2, 0, 3, 1, 4).unbind(0)


def focus(x):
    return torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)


def patches(x, size=4):
    b, c, h, w = x.shape
    x = x.reshape(b, c, h // size, size, w // size, size)
    return torch.einsum("nchpwq->nhwpqc", x).reshape(b, (h // size) * (w // size), size * size * c)


def patches_back(x, size=4):
    side = int(x.shape[1] ** 0.5)
    x = x.reshape(x.shape[0], side, side, size, size, 3)
    return x.permute(0, 5, 1, 3, 2, 4).reshape(x.shape[0], 3, side * size, side * size)


def shifted_windows(x):
    return windows(torch.roll(x, (-2, -2), (1, 2)))


def relative_shift(x):
    b, h, n, m = x.shape
    x = functional.pad(x, (1, 0)).view(b, h, m + 1, n)
    return x[:, :, 1:].view(b, h, n, m)


def rotate_half_pairs(x):
    return torch.stack([x[..., 1::2], x[..., ::2]], -1).flatten(-2)


def merge(x):
    parts = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
    b, h, w, c = x.shape
    return torch.cat(parts, -1).view(b, -1, 4 * c)


def temporal_shift(x, frames=4):
    nt, c, h, w = x.shape
    x = x.view(nt // frames, frames, c, h, w)
    fold = c // 4
    left, right, kept = x[:, :, :fold], x[:, :, fold : 2 * fold], x[:, :, 2 * fold :]
    left = torch.cat([left[:, 1:], torch.zeros_like(left[:, :1])], 1)
    right = torch.cat([torch.zeros_like(right[:, :1]), right[:, :-1]], 1)
    return torch.cat([left, right, kept], 2).view(nt, c, h, w)


def repeat_keys(x, times=3):
    b, h, n, d = x.shape
    return x[:, :, None].expand(b, h, times, n, d).reshape(b, h * times, n, d)


def halves_swapped(x):
    return torch.cat([x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)


def class_token(x, token):
    return torch.cat([token.expand(x.shape[0], -1, -1), x], 1)


def pad_to_multiple(x, size=4):
    h, w = x.shape[-2:]
    return functional.pad(x, (0, (size - w % size) % size, 0, (size - h % size) % size))


IMAGE, TOKENS, MAPS = (2, 3, 8, 8), (2, 16, 12), (2, 8, 8, 6)

# The modules, with the shapes of their inputs.
MODULES = {
    "swin windows": (windows, MAPS),
    "swin windows back": (windows_back, (8, 16, 6)),
    "swin shifted windows": (shifted_windows, MAPS),
    "swin patch merging": (merge, MAPS),
    "shufflenet channel shuffle": (shuffle, (2, 8, 4, 4)),
    "nn.ChannelShuffle": (nn.ChannelShuffle(2), (2, 8, 4, 4)),
    "nn.PixelShuffle": (nn.PixelShuffle(2), (2, 8, 4, 4)),
    "nn.PixelUnshuffle": (nn.PixelUnshuffle(2), (2, 3, 8, 8)),
    "nn.Flatten": (nn.Flatten(), IMAGE),
    "nn.Unflatten": (nn.Unflatten(1, (3, 4)), (2, 12, 5)),
    "nn.ZeroPad2d": (nn.ZeroPad2d((1, 2, 3, 0)), IMAGE),
    "nn.ConstantPad1d": (nn.ConstantPad1d((2, 1), 0.5), TOKENS),
    "nn.ReflectionPad2d": (nn.ReflectionPad2d((1, 2, 2, 1)), IMAGE),
    "nn.ReplicationPad2d": (nn.ReplicationPad2d(2), IMAGE),
    "nn.CircularPad2d": (nn.CircularPad2d((1, 2, 2, 1)), IMAGE),
    "nn.Upsample nearest": (nn.Upsample(scale_factor=2, mode="nearest"), IMAGE),
    "nn.Unfold": (nn.Unfold(3, padding=1), IMAGE),
    "tensor unfold": (lambda x: x.unfold(1, 4, 2), TOKENS),
    "heads": (heads, TOKENS),
    "heads back": (heads_back, (2, 4, 16, 3)),
    "query, key, value": (query_key_value, TOKENS),
    "yolo focus": (focus, IMAGE),
    "mae patches": (patches, IMAGE),
    "mae patches back": (patches_back, (2, 4, 48)),
    "transformer-xl relative shift": (relative_shift, (2, 2, 5, 5)),
    "rope pairs": (rotate_half_pairs, TOKENS),
    "halves swapped": (halves_swapped, TOKENS),
    "tsm temporal shift": (temporal_shift, (8, 8, 3, 3)),
    "grouped query keys": (repeat_keys, (2, 2, 5, 4)),
    "class token": (class_token, TOKENS, (1, 1, 12)),
    "pad to a multiple": (pad_to_multiple, (2, 3, 7, 6)),
    "channels last": (lambda x: x.permute(0, 2, 3, 1), IMAGE),
    "rgb to bgr": (lambda x: x[:, [2, 1, 0]], IMAGE),
    "flip": (lambda x: x.flip(-1), IMAGE),
    "rot90": (lambda x: torch.rot90(x, 1, (2, 3)), IMAGE),
    "roll": (lambda x: torch.roll(x, 3, 2), IMAGE),
    "first token": (lambda x: x[:, 0], TOKENS),
    "without the first": (lambda x: x[:, 1:], TOKENS),
    "last step": (lambda x: x[:, -1], TOKENS),
    "chunk": (lambda x: x.chunk(3, -1), TOKENS),
    "split": (lambda x: x.split([4, 8], 2), TOKENS),
    "stack": (lambda x, y: torch.stack([x, y], 2), TOKENS, TOKENS),
    "repeat": (lambda x: x.repeat(1, 2, 3), TOKENS),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), TOKENS),
    "tile over positions": (lambda x: x[:, :, None].expand(-1, -1, x.shape[1], -1), TOKENS),
    "flatten and transpose": (lambda x: x.flatten(2).transpose(1, 2), IMAGE),
    "tokens to a map": (lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], 4, -1), TOKENS),
    "movedim": (lambda x: x.movedim(1, -1), IMAGE),
    "narrow": (lambda x: x.narrow(1, 3, 5), TOKENS),
    "squeeze and unsqueeze": (lambda x: x.unsqueeze(1).squeeze(1).unsqueeze(-1), TOKENS),
}


@torch.jit.script
def rows_backward(x):
    y = torch.zeros_like(x)
    for i in range(x.size(0)):
        y[i] = x[x.size(0) - 1 - i]
    return y


@torch.jit.script
def rows_flipped(x):
    y = x[:0]
    for i in range(x.size(0)):
        y = torch.cat([y, x[i].flip(0).unsqueeze(0)], 0)
    return y


@torch.jit.script
def boustrophedon(x):
    y = x[:0]
    for i in range(x.size(0)):
        if i % 2 == 0:
            row = x[i]
        else:
            row = x[i].flip(0)
        y = torch.cat([y, row.unsqueeze(0)], 0)
    return y


@torch.jit.script
def skewed(x):
    y = x[:0]
    for i in range(x.size(0)):
        y = torch.cat([y, torch.cat([x[i, i:], x[i, :i]]).unsqueeze(0)], 0)
    return y


@torch.jit.script
def lower_triangle(x):
    y = x[0, :0]
    for i in range(x.size(0)):
        for j in range(i + 1):
            y = torch.cat([y, x[i, j].unsqueeze(0)])
    return y


@torch.jit.script
def overlapping_windows(x, size: int = 4, step: int = 2):
    y = x[:, :size].unsqueeze(0)
    begin = step
    while begin + size <= x.size(1):
        y = torch.cat([y, x[:, begin : begin + size].unsqueeze(0)])
        begin += step
    return y


@torch.jit.script
def repeated_until(x, length: int = 30):
    size = x.size(1)
    while size < length:
        x = torch.cat([x, x], 1)
        size = 2 * size
    return x[:, :length]


def rows_beside_the_last(x):
    return scan(lambda last, row: (row.clone(), torch.cat([last, row.flip(0)])), x[0], x)


def rows_from_behind(x):
    return scan(lambda last, row: (torch.roll(last, 1, 0), torch.stack([last, row])), x[0], x, reverse=True)


def turned_again_and_again(x):
    def turned(i, x):
        return i + 1, x.flip(0).roll(1, 1)

    return while_loop(lambda i, x: i < 3, turned, (torch.tensor(0), x))[1]


# Modules with loops. They are for the exporter that keeps loops.
LOOPS = {
    "torchscript": {
        "rows assigned backward": (rows_backward, (5, 6)),
        "rows flipped one by one": (rows_flipped, (5, 6)),
        "boustrophedon": (boustrophedon, (5, 6)),
        "skewed rows": (skewed, (5, 6)),
        "lower triangle": (lower_triangle, (3, 6)),
        "overlapping windows": (overlapping_windows, (3, 9)),
        "repeated until it is long": (repeated_until, (2, 7)),
    },
    "dynamo": {
        "rows beside the last": (rows_beside_the_last, (5, 6)),
        "rows from behind": (rows_from_behind, (5, 6)),
        "turned again and again": (turned_again_and_again, (4, 6)),
    },
}

EXPORTERS = ("torchscript", "dynamo")


def exported(exporter, module, inputs, is_open, path):
    """Exports a module, and returns the names of its inputs. With `is_open`, the size of axis 0 is left open."""
    names = [f"x{index}" for index in range(len(inputs))]
    is_batch = [tensor.shape[0] > 1 for tensor in inputs]
    if exporter == "torchscript":
        axes = {name: {0: "batch"} for name, has in zip(names, is_batch, strict=True) if has} if is_open else None
        options = {"dynamic_axes": axes, "opset_version": 17, "dynamo": False}
    else:
        batch = torch.export.Dim("batch", min=2)
        axes = {"inputs": tuple({0: batch} if has else {} for has in is_batch)} if is_open else None
        options = {"dynamic_shapes": axes, "dynamo": True, "external_data": False, "verbose": False}
    torch.onnx.export(module, inputs, str(path), input_names=names, **options)
    return names


def keep(archive, name, exporter, is_open, model, shapes):
    """Adds a model with the shapes to run it for, without notes of where it was created."""
    kind = f"{exporter} {'open' if is_open else 'fixed'}"
    sizes = "+".join("x".join(str(size) for size in shape) for shape in shapes)
    model = onnx.load(model)
    graphs = [model.graph, *model.functions]
    model.ClearField("metadata_props")
    for graph in graphs:
        graphs += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        values = [] if isinstance(graph, onnx.FunctionProto) else [*graph.input, *graph.output, *graph.initializer]
        for noted in [graph, *graph.node, *graph.value_info, *values]:
            noted.ClearField("metadata_props")
            noted.ClearField("doc_string")
    model.ClearField("doc_string")
    # Makes the archive reproducible.
    place = zipfile.ZipInfo(f"{kind} {sizes} {name}.onnx")
    archive.writestr(place, model.SerializeToString(deterministic=True), zipfile.ZIP_DEFLATED, 9)


def check(program, name, exporter, is_open, archive):
    """Returns passes and outputs, or what went wrong."""
    function, *shapes = (MODULES | LOOPS[exporter])[name]
    module = Module(function).eval()
    inputs = tuple(torch.randn(shape) for shape in shapes)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            names = exported(exporter, module, inputs, is_open, folder / "m.onnx")
        except Exception as error:  # the exporter raises exceptions of many kinds
            return "not exported", str(error).splitlines()[0][:100]
        if is_open:
            # A batch size that the exporter has not seen.
            inputs = tuple(torch.cat([x, x + 1]) if x.shape[0] > 1 else x for x in inputs)
        if archive:
            keep(archive, name, exporter, is_open, folder / "m.onnx", [tuple(x.shape) for x in inputs])
        expected = module(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        arguments = []
        for own, tensor in zip(names, inputs, strict=True):
            np.save(folder / f"{own}.npy", tensor.numpy())
            arguments += ["--input", f"{own}={folder}/{own}.npy"]
        command = [program, "run", str(folder / "m.onnx"), *arguments, "--out-dir", str(folder / "out"), "--json", "--verify"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return "refused", done.stderr.strip()
        details = json.loads(done.stdout)
        found = [np.load(output["file"]) for output in details["outputs"]]
    for own, due in zip(found, expected, strict=True):
        due = due.detach().numpy()
        if own.shape != due.shape or own.tobytes() != np.ascontiguousarray(due).tobytes():
            return "wrong", f"{own.shape}, not {due.shape}"
    return "passed", (details["passes"], len(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--verbose", action="store_true", help="name every module")
    parser.add_argument("--save", action="store_true", help="write the models to a file next to this one")
    arguments = parser.parse_args()
    archive = zipfile.ZipFile(Path(__file__).with_name("torch_modules.zip"), "w") if arguments.save else None
    warnings.filterwarnings("ignore")
    program, problems = str(arguments.program.resolve()), []
    for exporter, is_open in itertools.product(EXPORTERS, (False, True)):
        counts = Counter()
        sizes = "sizes left open" if is_open else "fixed sizes"
        modules = MODULES | LOOPS[exporter]
        for name in modules:
            became, details = check(program, name, exporter, is_open, archive)
            if arguments.verbose:
                print(f"{name}: {became} {details}")
            counts[became] += 1
            if became in ("refused", "wrong"):
                problems.append(f"{name}, {exporter}, {sizes}: {became}: {details}")
            if became == "passed":
                passes, outputs = details
                counts["in one pass per output" if passes <= outputs else "in more passes"] += 1
        print(f"{exporter}, {sizes}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        if counts["passed"] < len(modules) - 5:
            problems.append(f"{counts['not exported']} modules are not exported")
    if archive:
        archive.close()
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
