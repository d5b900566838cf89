#!/usr/bin/env python3
"""Runs models of torchvision in ONNX Runtime before and after fusing, as each of PyTorch's two exporters writes them.

Reports whether the outputs have the same bits, the total time, and the time of the nodes that move. Weights are random.

    pip install torch torchvision onnx onnxscript onnxruntime trundle
    bench/fused.py [swin_t ...]

The two models run alternately, several runs each time, because the threads of a session keep the cores busy for a while
after a run. Times of nodes are from ONNX Runtime's profile.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import torchvision
from torch import nn
from torch.nn import functional

import trundle

# Nodes that only move elements, or that compute shapes for such nodes.
MOVING = set(
    "Move Cast Concat ConstantOfShape DepthToSpace Expand Flatten Gather GatherND Identity Pad Reshape Resize Shape Slice"
    " SpaceToDepth Split Squeeze Tile Transpose Unsqueeze".split()
)


class Block(nn.Module):
    """A block of YOLO: half of the channels are processed in steps, and the results of all steps are concatenated."""

    def __init__(self, ins, outs, steps=2):
        super().__init__()
        half = outs // 2
        self.first = nn.Conv2d(ins, outs, 1)
        self.steps = nn.ModuleList(nn.Conv2d(half, half, 3, padding=1) for _ in range(steps))
        self.last = nn.Conv2d(half * (2 + steps), outs, 1)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            parts.append(functional.silu(step(parts[-1])))
        return self.last(torch.cat(parts, 1))


class Neck(nn.Module):
    """A model as YOLO: Focus, three levels, upsampling, and concatenated heads."""

    def __init__(self):
        super().__init__()
        self.stem, self.one = nn.Conv2d(12, 32, 3, 2, 1), Block(32, 64)
        self.down, self.two = nn.Conv2d(64, 64, 3, 2, 1), Block(64, 64)
        self.deeper, self.three = nn.Conv2d(64, 128, 3, 2, 1), Block(128, 128)
        self.up, self.top = Block(192, 64), Block(128, 64)
        self.heads = nn.ModuleList(nn.Conv2d(ins, 255, 1) for ins in (64, 64, 128))

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        one = self.one(self.stem(x))
        two = self.two(self.down(one))
        three = self.three(self.deeper(two))
        twice = lambda y: functional.interpolate(y, scale_factor=2.0, mode="nearest")  # noqa: E731
        up = self.up(torch.cat([twice(three), two], 1))
        top = self.top(torch.cat([twice(up), one], 1))
        found = []
        for head, level in zip(self.heads, (top, up, three), strict=True):
            y = head(level)
            batch, _, height, width = y.shape
            found.append(y.view(batch, 3, 85, height, width).permute(0, 1, 3, 4, 2).reshape(batch, -1, 85))
        return torch.cat(found, 1).sigmoid()


MODELS = {
    "convnext_tiny": (torchvision.models.convnext_tiny, 224),
    "maxvit_t": (torchvision.models.maxvit_t, 224),
    "neck": (Neck, 320),
    "shufflenet_v2_x1_0": (torchvision.models.shufflenet_v2_x1_0, 224),
    "swin_t": (torchvision.models.swin_t, 224),
    "swin_v2_t": (torchvision.models.swin_v2_t, 256),
    "vit_b_16": (torchvision.models.vit_b_16, 224),
}


def export(model, x, dynamo, is_open, path):
    options = {"input_names": ["x"], "output_names": ["y"], "verbose": False}
    if dynamo:
        shapes = ({0: torch.export.Dim("batch")},) if is_open else None
        options |= {"dynamo": True, "external_data": False, "dynamic_shapes": shapes}
    else:
        axes = {"x": {0: "batch"}, "y": {0: "batch"}} if is_open else None
        options |= {"dynamo": False, "opset_version": 17, "dynamic_axes": axes}
    torch.onnx.export(model, (x,), str(path), **options)


def session(path, threads, folder=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.register_custom_ops_library(trundle.onnx_library())
    if folder:
        options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def moving(path, feed, threads, folder, runs=5):
    """Returns the milliseconds per run in nodes that move elements."""
    profiled = session(path, threads, folder)
    for _ in range(runs + 2):
        profiled.run(None, feed)
    events = json.loads(Path(profiled.end_profiling()).read_text())
    begins = [event["ts"] for event in events if event["name"] == "model_run"][2]
    kernels = (e for e in events if e.get("cat") == "Node" and e["name"].endswith("_kernel_time") and e["ts"] >= begins)
    return sum(e["dur"] for e in kernels if e["args"]["op_name"] in MOVING) / runs / 1000


def compare(path, fused, feed, threads, folder, turns=7, runs=5):
    sessions = [session(path, threads), session(fused, threads)]
    given = [each.run(None, feed) for each in sessions]
    same = all(a.tobytes() == b.tobytes() for a, b in zip(*given, strict=True))
    times = ([], [])
    for _ in range(turns):
        for each, own in zip(sessions, times, strict=True):
            each.run(None, feed)
            for _ in range(runs):
                start = time.perf_counter()
                each.run(None, feed)
                own.append(time.perf_counter() - start)
    whole = [statistics.median(own) * 1000 for own in times]
    nodes = [moving(each, feed, threads, folder) for each in (path, fused)]
    ratio = lambda pair: f"{pair[0]:.2f} -> {pair[1]:.2f} ms ({pair[1] / max(pair[0], 1e-9):.2f})"  # noqa: E731
    return f"{'the same bits' if same else 'OTHER BITS'}; whole {ratio(whole)}; nodes that move {ratio(nodes)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", choices=[*MODELS, []])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(3)
    torch.manual_seed(0)
    for name in arguments.models or MODELS:
        make, size = MODELS[name]
        model, x = make().eval(), torch.randn(arguments.batch, 3, size, size)
        for dynamo in (False, True):
            for is_open in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    folder = Path(folder)
                    path, fused = folder / "model.onnx", folder / "fused.onnx"
                    export(model, x, dynamo, is_open, path)
                    command = [sys.executable, "-m", "trundle", "fuse", str(path), "-o", str(fused), "--json"]
                    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                    found = compare(path, fused, {"x": x.numpy().astype(np.float32)}, arguments.threads, folder)
                kind = f"{'dynamo' if dynamo else 'torchscript'}, {'any batch' if is_open else 'fixed'}"
                nodes = sum(len(node["operators"]) for node in result["nodes"])
                print(f"{name}, {kind}: {nodes} nodes became {len(result['nodes'])}; {found}", flush=True)


if __name__ == "__main__":
    main()
