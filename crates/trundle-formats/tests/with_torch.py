#!/usr/bin/env python3
"""Save random tensors with PyTorch, and compare what the program reads with PyTorch's elements.

    pip install torch numpy
    crates/trundle-formats/tests/with_torch.py target/release/trundle --count 100
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

NAMES = """float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool complex64 complex128 uint16 uint32 uint64
float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"""
TYPES = [getattr(torch, name) for name in NAMES.split() if hasattr(torch, name)]


def some_tensor(rng):
    """Return a random tensor with random strides."""
    rank = rng.randint(0, 4)
    sizes = [rng.randint(1, 9) for _ in range(rank)]
    if rng.random() < 0.05:
        sizes = [rng.randint(1, 3), rng.randint(200, 500), rng.randint(200, 500)]
        rank = 3
    dtype = rng.choice(TYPES)
    count = int(np.prod([*sizes, 1])) * torch.empty(0, dtype=dtype).element_size()
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))
    most = 2 if dtype == torch.bool else 256
    tensor = torch.randint(0, most, [count], generator=generator).to(torch.uint8)
    tensor = tensor.view(dtype).reshape(sizes)
    for _ in range(rng.randint(0, 3)):
        if not tensor.dim():
            break
        axis = rng.randrange(tensor.dim())
        match rng.choice(["permute", "step", "part", "expand", "diagonal"]):
            case "permute":
                tensor = tensor.permute(rng.sample(range(tensor.dim()), tensor.dim()))
            case "step":
                first = [slice(None)] * axis
                tensor = tensor[(*first, slice(rng.randint(0, 2), None, rng.randint(1, 3)))]
            case "part":
                first = [slice(None)] * axis
                tensor = tensor[(*first, rng.randrange(tensor.shape[axis]))] if tensor.shape[axis] else tensor
            case "expand":
                tensor = tensor.unsqueeze(axis)
                tensor = tensor.expand([rng.randint(1, 5) if i == axis else -1 for i in range(tensor.dim())])
            case "diagonal":
                tensor = tensor.diagonal() if tensor.dim() > 1 else tensor
    return torch.nn.Parameter(tensor, requires_grad=False) if rng.random() < 0.2 else tensor


def bits(tensor):
    """Return the bytes of the elements in row-major order."""
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.detach().reshape(-1))
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def check(program, folder, rng):
    tensors = {f"t{i}": some_tensor(rng) for i in range(rng.randint(1, 4))}
    torch.save(tensors, folder / "x.pt")
    for command in ("convert", "transpose"):
        out = folder / f"{command}.npz"
        memory = rng.choice(["8K", "200K", "64M"])
        arguments = [program, command, folder / "x.pt", "-o", out, "--quiet", "--verify", "--max-mem", memory]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, env={"TRUNDLE_OWN_MEMORY": "0"})
        what = {name: (tensor.dtype, tensor.shape, tensor.stride()) for name, tensor in tensors.items()}
        if "of memory are needed" in done.stderr:
            continue
        if done.returncode:
            sys.exit(f"{command} of {what}: {done.stderr}")
        read = np.load(out)
        for name, tensor in tensors.items():
            if command == "transpose":
                tensor = tensor.permute(list(reversed(range(tensor.dim()))))
            if read[name].shape != tensor.shape or read[name].tobytes() != bits(tensor):
                sys.exit(f"{command} of {what}: {name} has other elements")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for _ in range(arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            check(str(arguments.program.resolve()), Path(folder), rng)
    print(f"the program reads {arguments.count} files as PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
