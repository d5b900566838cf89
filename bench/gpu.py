#!/usr/bin/env python3
"""Times the Python package on a GPU, relative to the GPU's own copy, and other libraries.

    python3 bench/gpu.py [--rounds N] [--bytes N] [--device cuda:0|cpu] [--only WORDS] [--json FILE]

Prints two tables in Markdown. The first is for large tensors, of 256 MiB unless `--bytes` is given. It has for each
move the speed of a device-to-device copy of the same size (bytes read and written per second), the fractions of this
speed that trundle and the other libraries reach, and trundle's promised minimum. The second is for small tensors: the
time until a call returns while the GPU is still busy with earlier calls. Then a line for each promise says whether it
is kept, and the worst case if it is not. A case is called small if it reads and writes less than four times the size of
the GPU's L2 cache.

Before a case is timed, every result is compared with PyTorch's, bit for bit. A library whose result differs is not
timed. If trundle's result differs, the program exits with status 1 after all cases have run. In each round, the copy
and the libraries take turns. Each runs a loop of `y = f(x)`: one untimed call, then calls for some hundredths of a
second between two CUDA events. The tables show the median over the rounds.

Needs torch and trundle. These are timed if they can be imported or loaded:

| | pip package | what is timed |
|---|---|---|
| PyTorch | torch | ordinary code, one operator after another |
| CuPy | cupy | the same in CuPy; CuPy also creates trundle's inputs with negative strides |
| cuTENSOR | cutensor | `cutensorPermute`, for transposes |
| compiled | triton | `torch.compile` of the PyTorch code, for chains and reversals with lengths |

`--device cpu` only tests the script, on small CPU tensors with the CPU's clock: numpy replaces CuPy, nothing is
compiled, and the promises do not apply.

`--only` selects cases whose `suite/name type sizes` contains one of the words. The cases of the second table begin with
"small/".

Unless `TRUNDLE_SPECIALISE` is set, trundle compiles its kernels before the first run of a move, if NVRTC is found.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import trundle
from libraries import gpu
from libraries.chain import Unsupported, parse
from libraries.tables import heading, row

# Target time of a turn, which has at least one call.
TURN_SECONDS = {"cuda": 20e-3, "cpu": 1e-3}

# Bytes of a large tensor.
BYTES = {"cuda": 256 << 20, "cpu": 1 << 20}

# Small moves: calls enqueued per wait (fewer than the GPU's queue holds), and turns.
SMALL_CALLS, SMALL_TURNS = 100, 20

TYPES = {
    "u8": torch.uint8,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}


@dataclass(frozen=True)
class Bar:
    """A promise: the smallest or largest allowed value of a quantity."""

    name: str
    limit: float
    at_most: bool = False

    def is_met(self, value):
        return value <= self.limit if self.at_most else value >= self.limit

    def worst(self, values):
        return (max if self.at_most else min)(values)


RUNS = Bar("rolls, flips and runs of 64 bytes and more: fraction of the copy", 0.95)
TRANSPOSES = Bar("transposes of 4 to 16 bytes: fraction of the copy", 0.90)
SMALL_ELEMENTS = Bar("transposes of 1 and 2 bytes: fraction of the copy", 0.80)
LENGTHS = Bar("a length for each batch or lane: fraction of the copy", 0.50)
CUTENSOR = Bar("cuTENSOR's time by trundle's", 1.0)
CHAINS = Bar("the time of PyTorch's operators, one after another, by that of the chain", 2.0)
LAUNCHES = Bar("microseconds of a small call beyond PyTorch's", 5.0, at_most=True)
BARS = [RUNS, TRANSPOSES, SMALL_ELEMENTS, LENGTHS, CUTENSOR, CHAINS, LAUNCHES]


@dataclass(frozen=True)
class Case:
    name: str
    dtype: str
    # None is replaced so that the tensor has the wanted size; several Nones get equal sizes.
    sizes: tuple
    # In trundle's language, with {0} for half the size of axis 0. An empty chain is a copy.
    chain: str
    # Layout of `x`: "contiguous"; "misaligned" by one element; "cropped" from a larger tensor; or "view", where
    # trundle gets the strides of a view that CuPy makes with these operators.
    given: str = "contiguous"
    # Whether PyTorch needs several passes.
    is_chain: bool = False


def case(name, dtype, sizes, chain, given="contiguous", is_chain=False):
    return Case(name, dtype, sizes, chain, given, is_chain)


def swin(dtype, side, window, channels, shift=-3):
    cut = f"reshape(-1, {side // window}, {window}, {side // window}, {window}, {channels})"
    return [
        case(
            "Swin: roll, window partition", dtype, (None, side, side, channels),
            f"roll(shift=[{shift}, {shift}], axes=[1, 2]) | {cut} | transpose(0, 1, 3, 2, 4, 5)"
            f" | reshape(-1, {window * window}, {channels})",
            is_chain=True,
        ),
        case(
            "Swin: window reverse, roll back", dtype, (None, side, side, channels),
            f"reshape(-1, {side // window}, {side // window}, {window}, {window}, {channels})"
            f" | transpose(0, 1, 3, 2, 4, 5) | reshape(-1, {side}, {side}, {channels})"
            f" | roll(shift=[{-shift}, {-shift}], axes=[1, 2])",
            is_chain=True,
        ),
    ]  # fmt: skip


def inner_axis(chain):
    """Cases with row lengths that are not powers of two."""
    rows = {"u8": 4001, "f16": 2001, "f32": 1001, "f64": 513, "complex128": 257}
    return [case("inner axis, odd rows", dtype, (None, row), chain) for dtype, row in rows.items()]


FFTSHIFT = "roll(shift=[{0}, {1}, {2}], axes=[0, 1, 2])"
TO_NCHW, TO_NHWC = "transpose(0, 3, 1, 2)", "transpose(0, 2, 3, 1)"

ROLLS = [
    case("Swin by (-3,-3)", "f32", (None, 56, 56, 288), "roll(shift=[-3, -3], axes=[1, 2])"),
    case("Swin by (-3,-3)", "f16", (None, 56, 56, 96), "roll(shift=[-3, -3], axes=[1, 2])"),
    case("2-D by (1,-5)", "f32", (None, 8192), "roll(shift=[1, -5], axes=[0, 1])"),
    case("2-D by (1,-5), misaligned", "f32", (None, 8192), "roll(shift=[1, -5], axes=[0, 1])", "misaligned"),
    case("1-D by 12345", "f32", (None,), "roll(shift=[12345], axes=[0])"),
    case("1-D by 1", "u8", (None,), "roll(shift=[1], axes=[0])"),
    case("rows of a picture by (5,17)", "u8", (None, 1923), "roll(shift=[5, 17], axes=[0, 1])"),
    case("rows of 13 by 5", "f32", (None, 13), "roll(shift=[5], axes=[1])"),
    case("inner axis by 1", "u8", (None, 4096), "roll(shift=[1], axes=[1])"),
    case("inner axis by 1", "f16", (None, 4096), "roll(shift=[1], axes=[1])"),
    case("inner axis by 1, misaligned", "u8", (None, 4001), "roll(shift=[1], axes=[1])", "misaligned"),
    *inner_axis("roll(shift=[1], axes=[1])"),
]  # fmt: skip

FLIPS = [
    case("inner axis", "u8", (None, 4096), "flip(axes=[1])"),
    case("inner axis", "f32", (None, 8192), "flip(axes=[1])"),
    *inner_axis("flip(axes=[1])"),
    case("inner axis, misaligned", "u8", (None, 4001), "flip(axes=[1])", "misaligned"),
    case("all of it", "u8", (None,), "flip(axes=[0])"),
    case("outer axis", "f32", (None, 1000), "flip(axes=[0])"),
    case("both axes", "f32", (None, 8192), "flip(axes=[0, 1])"),
    case("middle axis", "f16", (None, 513, 96), "flip(axes=[1])"),
    case("columns of pictures", "u8", (None, 640, 640, 3), "flip(axes=[2])"),
    case("channels of pictures", "u8", (None, 640, 640, 3), "flip(axes=[3])"),
    case("negative strides", "u8", (None, 4001), "flip(axes=[0, 1])", "view"),
    case("negative strides", "f32", (None, 1001), "flip(axes=[1])", "view"),
    case("negative strides", "complex128", (None, 513, 31), "flip(axes=[0, 2])", "view"),
]  # fmt: skip

LONG_RUNS = [
    case("keep 4 KiB", "f32", (128, None, 1024), "transpose(1, 0, 2)"),
    case("keep 256 bytes", "f32", (1024, None, 64), "transpose(1, 0, 2)"),
    case("keep 64 bytes", "f32", (2048, None, 16), "transpose(1, 0, 2)"),
    case("keep 64 bytes", "u8", (2001, None, 64), "transpose(1, 0, 2)"),
    case("keep 80 bytes", "f64", (501, None, 10), "transpose(1, 0, 2)"),
    case("keep 72 bytes", "complex64", (503, None, 9), "transpose(1, 0, 2)"),
    case("keep 100 bytes", "u8", (1001, None, 100), "transpose(1, 0, 2)"),
    case("heads of attention", "f16", (None, 1024, 16, 64), "transpose(0, 2, 1, 3)"),
    case("heads of attention", "f16", (None, 577, 12, 80), "transpose(0, 2, 1, 3)"),
    case("patches of 16 x 16", "f32", (None, 224, 224, 3),
         "reshape(-1, 14, 16, 14, 16, 3) | transpose(0, 1, 3, 2, 4, 5) | reshape(-1, 196, 768)"),
    case("a crop", "f32", (None, 240, 240, 3), "", "cropped"),
    case("a crop", "u8", (None, 656, 656, 3), "", "cropped"),
]  # fmt: skip

WIDE = [
    case("2-D, powers of two", "f32", (None, 8192), "transpose(1, 0)"),
    case("2-D, odd", "f32", (None, 8193), "transpose(1, 0)"),
    case("2-D, even", "f32", (None, 7264), "transpose(1, 0)"),
    case("2-D, narrow", "f32", (None, 50), "transpose(1, 0)"),
    case("2-D, misaligned", "f32", (None, 8193), "transpose(1, 0)", "misaligned"),
    case("2-D, negative strides", "f32", (None, 8191), "flip(axes=[0, 1]) | transpose(1, 0)", "view"),
    case("batches", "f32", (None, 512, 512), "transpose(0, 2, 1)"),
    case("batches, odd", "f32", (None, 385, 2321), "transpose(0, 2, 1)"),
    case("batches, small", "f32", (None, 49, 96), "transpose(0, 2, 1)"),
    case("NHWC to NCHW", "f32", (None, 256, 256, 16), TO_NCHW),
    case("NCHW to NHWC", "f32", (None, 16, 256, 256), TO_NHWC),
    case("HWC to CHW", "f32", (None, 427, 641, 3), TO_NCHW),
    case("CHW to HWC", "f32", (None, 3, 427, 641), TO_NHWC),
    case("zyx to xyz", "f32", (256, None, 512), "transpose(2, 1, 0)"),
    case("zyx to xyz, odd", "f32", (321, None, 325), "transpose(2, 1, 0)"),
    case("invert 4 axes", "f32", (96, 75, None, 96), "transpose(3, 2, 1, 0)"),
    case("6 axes", "f32", (15, 15, None, 15, 32, 16), "transpose(4, 1, 0, 3, 2, 5)"),
    case("6 axes, inverted", "f32", (32, 15, 15, None, 15, 32), "transpose(5, 4, 3, 2, 1, 0)"),
    case("2-D, powers of two", "f64", (None, 4096), "transpose(1, 0)"),
    case("2-D, odd", "f64", (None, 5001), "transpose(1, 0)"),
    case("batches, odd", "f64", (None, 129, 65), "transpose(0, 2, 1)"),
    case("NHWC to NCHW", "f64", (None, 112, 112, 64), TO_NCHW),
    case("2-D, odd", "complex64", (None, 5003), "transpose(1, 0)"),
    case("2-D, 12 bytes", "f32", (None, 4096, 3), "transpose(1, 0, 2)"),
    case("2-D, 12 bytes, odd", "f32", (None, 3301, 3), "transpose(1, 0, 2)"),
    case("2-D, powers of two", "complex128", (None, 4096), "transpose(1, 0)"),
    case("2-D, odd", "complex128", (None, 3001), "transpose(1, 0)"),
    case("batches, odd", "complex128", (None, 65, 129), "transpose(0, 2, 1)"),
]  # fmt: skip

NARROW = [
    case("2-D, powers of two", "u8", (None, 16384), "transpose(1, 0)"),
    case("2-D, odd", "u8", (None, 16001), "transpose(1, 0)"),
    case("2-D, even", "u8", (None, 15040), "transpose(1, 0)"),
    case("2-D, odd, misaligned", "u8", (None, 16001), "transpose(1, 0)", "misaligned"),
    case("2-D, negative strides", "u8", (None, 16001), "flip(axes=[1]) | transpose(1, 0)", "view"),
    case("batches", "u8", (None, 256, 256), "transpose(0, 2, 1)"),
    case("batches, odd", "u8", (None, 197, 771), "transpose(0, 2, 1)"),
    case("NHWC to NCHW", "u8", (None, 112, 112, 64), TO_NCHW),
    case("NCHW to NHWC", "u8", (None, 64, 112, 112), TO_NHWC),
    case("HWC to CHW", "u8", (None, 640, 640, 3), TO_NCHW),
    case("CHW to HWC", "u8", (None, 3, 640, 640), TO_NHWC),
    case("zyx to xyz, odd", "u8", (501, None, 505), "transpose(2, 1, 0)"),
    case("2-D, powers of two", "f16", (None, 8192), "transpose(1, 0)"),
    case("2-D, odd", "f16", (None, 10009), "transpose(1, 0)"),
    case("2-D, even", "f16", (None, 11040), "transpose(1, 0)"),
    case("2-D, odd, misaligned", "f16", (None, 10009), "transpose(1, 0)", "misaligned"),
    case("batches, odd", "f16", (None, 197, 771), "transpose(0, 2, 1)"),
    case("NHWC to NCHW", "f16", (None, 112, 112, 64), TO_NCHW),
    case("NCHW to NHWC", "f16", (None, 16, 256, 256), TO_NHWC),
    case("HWC to CHW", "f16", (None, 427, 641, 3), TO_NCHW),
    case("zyx to xyz", "f16", (512, None, 256), "transpose(2, 1, 0)"),
    case("invert 4 axes", "f16", (81, 83, None, 101), "transpose(3, 2, 1, 0)"),
]  # fmt: skip

LENGTHS_OF = [
    case("middle axis", "u8", (None, 512, 2048), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("middle axis", "f16", (None, 512, 1024), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("middle axis", "f32", (None, 512, 512), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("middle axis, odd", "u8", (None, 513, 1999), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("outer axis", "f32", (512, None, 512), "reverse(axis=0, batch_axis=1, lengths=lengths)"),
    case("outer axis, odd", "f64", (513, None, 249), "reverse(axis=0, batch_axis=1, lengths=lengths)"),
    case("outer axis, batches innermost", "f32", (2048, None), "reverse(axis=0, batch_axis=1, lengths=lengths)"),
    case("inner axis", "u8", (None, 16384), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("inner axis", "f32", (None, 16384), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("inner axis of three", "f16", (None, 64, 8192), "reverse(axis=2, batch_axis=0, lengths=lengths)"),
    case("inner axis, odd", "f64", (None, 2001), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    case("a length in every lane", "f32", (None, 512, 512), "reverse(axis=1, lengths=lengths)"),
    case("a length in every lane, odd", "u8", (None, 511, 1021), "reverse(axis=1, lengths=lengths)"),
]  # fmt: skip

FUSED = [
    *swin("f32", 56, 7, 96),
    *swin("f16", 64, 8, 192, -4),
    case("BGR HWC to RGB CHW", "u8", (None, 640, 640, 3), f"flip(axes=[3]) | {TO_NCHW}", is_chain=True),
    case("RGB CHW to BGR HWC", "u8", (None, 3, 427, 641), f"flip(axes=[1]) | {TO_NHWC}", is_chain=True),
    case("fftshift 3-D", "f64", (256, None, 256), FFTSHIFT, is_chain=True),
    case("fftshift 3-D, odd", "f32", (321, None, 325), FFTSHIFT, is_chain=True),
    case("fftshift 3-D, odd", "complex64", (255, None, 259), FFTSHIFT, is_chain=True),
    case("flip, transpose", "f32", (None, 7264), "flip(axes=[1]) | transpose(1, 0)", is_chain=True),
    case("roll, transpose", "f32", (None, 8193), "roll(shift=[1, -5], axes=[0, 1]) | transpose(1, 0)", is_chain=True),
    case("roll, transpose", "u8", (None, 11040), "roll(shift=[100], axes=[0]) | transpose(1, 0)", is_chain=True),
    case("flip, roll, transpose, flip", "f32", (None, 256, 256, 16),
         f"flip(axes=[3]) | roll(shift=[3, 3], axes=[1, 2]) | {TO_NCHW} | flip(axes=[2])", is_chain=True),
    case("transpose, reverse, transpose", "f32", (None, 512, 512),
         "transpose(1, 0, 2) | reverse(axis=0, batch_axis=1, lengths=lengths) | transpose(1, 0, 2)", is_chain=True),
    case("transpose, reverse", "f16", (None, 1000, 512),
         "transpose(1, 0, 2) | reverse(axis=0, batch_axis=1, lengths=lengths)", is_chain=True),
]  # fmt: skip

SUITES = {
    "rolls": (RUNS, ROLLS),
    "flips": (RUNS, FLIPS),
    "runs": (RUNS, LONG_RUNS),
    "transposes": (TRANSPOSES, WIDE),
    "small elements": (SMALL_ELEMENTS, NARROW),
    "lengths": (LENGTHS, LENGTHS_OF),
    "chains": (None, FUSED),
}

SMALL = [
    case("roll", "f32", (8, 8), "roll(shift=[1], axes=[0])"),
    case("roll both axes", "f32", (64, 64), "roll(shift=[1, -5], axes=[0, 1])"),
    case("flip", "u8", (64, 64), "flip(axes=[1])"),
    case("transpose", "f32", (64, 64), "transpose(1, 0)"),
    case("HWC to CHW", "u8", (224, 224, 3), "transpose(2, 0, 1)"),
    case("BGR HWC to RGB CHW", "u8", (224, 224, 3), "flip(axes=[2]) | transpose(2, 0, 1)"),
    case("a crop", "f32", (1, 48, 48, 3), "", "cropped"),
    case("reverse", "f32", (8, 50, 16), "reverse(axis=1, batch_axis=0, lengths=lengths)"),
    *(
        Case(each.name, each.dtype, (1, *each.sizes[1:]), each.chain)
        for each in swin("f32", 56, 7, 96)
    ),
]  # fmt: skip


def label(suite, case, sizes):
    return f"{suite}/{case.name} {case.dtype} {as_text(sizes)}"


def as_text(sizes):
    return "x".join(map(str, sizes))


def fitted(sizes, elements):
    free = sizes.count(None)
    if not free:
        return sizes
    known = math.prod(size for size in sizes if size is not None)
    side = max(1, int((elements / known) ** (1 / free) + 1e-6))
    return tuple(side if size is None else size for size in sizes)


def numbers(count, dtype, device):
    if dtype == torch.uint8:
        return torch.randint(0, 256, (count,), dtype=dtype, device=device)
    if dtype.is_complex:
        part = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.rand(2 * count, dtype=part, device=device).view(dtype)
    return torch.rand(count, dtype=dtype, device=device)


def tensor(case, sizes, device):
    dtype = TYPES[case.dtype]
    skipped = int(case.given == "misaligned")
    x = numbers(math.prod(sizes) + skipped, dtype, device)[skipped:].view(sizes)
    return x[:, 8:-8, 8:-8] if case.given == "cropped" else x


def operators_of(case, sizes):
    chain = case.chain.format(*(size // 2 for size in sizes))
    return parse(chain) if chain else []


def as_tensor(result):
    return result if isinstance(result, torch.Tensor) else torch.from_dlpack(result)


def is_same(result, right):
    result = as_tensor(result)
    return (
        result.shape == right.shape
        and result.dtype == right.dtype
        and result.is_contiguous()
        and torch.equal(result.view(-1).view(torch.uint8), right.view(-1).view(torch.uint8))
    )


def spoil(right):
    """Overwrites the memory that the next result of this size will probably use."""
    torch.bitwise_not(right.view(-1).view(torch.uint8))


class Clock:
    """Times calls: with two CUDA events, or on the CPU with the system's clock."""

    def __init__(self, device):
        self.device = device
        self.turn_seconds = TURN_SECONDS[device.type]

    def seconds(self, call, times):
        """Returns the seconds per call."""
        call()
        if self.device.type != "cuda":
            start = time.perf_counter()
            for _ in range(times):
                call()
            return (time.perf_counter() - start) / times
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / times

    def times(self, call):
        return max(1, math.ceil(self.turn_seconds / max(self.seconds(call, 2), 1e-7)))

    def until_return(self, call):
        seconds = []
        for _ in range(SMALL_TURNS):
            call()
            wait(self.device)
            start = time.perf_counter()
            for _ in range(SMALL_CALLS):
                call()
            seconds.append((time.perf_counter() - start) / SMALL_CALLS)
            wait(self.device)
        return statistics.median(seconds)


def prepared(libraries, case, operators, x):
    """Returns a function for each library that has the operators, and for the others the reasons."""
    right = libraries["PyTorch"].prepare(operators, x)()
    calls, failed = {}, {}
    for name, library in libraries.items():
        try:
            call = library.prepare(operators, x)
            spoil(right)
            if is_same(call(), right):
                calls[name] = call
            else:
                failed[name] = "wrong"
        except Unsupported:
            continue
        except Exception as error:  # each library raises its own exceptions
            failed[name] = "failed"
            print(f"  {case.name}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
            wait(x.device)
    return calls, failed, right


def wait(device):
    """Waits for the GPU. If a kernel has accessed memory out of bounds, this fails, and the GPU is unusable."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def copy_of(bytes, device):
    """Returns the copy of the device itself: PyTorch's copy of bytes, which is cudaMemcpyAsync."""
    source = torch.ones(bytes, dtype=torch.uint8, device=device)
    out = torch.empty_like(source)
    return lambda: out.copy_(source)


def in_turn(calls, rounds, seconds):
    seen = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seen[name].append(seconds(name, call))
    return seen


def median_of_ratios(above, below):
    return statistics.median(one / other for one, other in zip(above, below))


def cache_bytes(device):
    if device.type != "cuda":
        return 0
    return getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)


class Large:
    """The first table: large tensors."""

    def __init__(self, args, device):
        self.args, self.device, self.clock = args, device, Clock(device)
        wanted = [gpu.Trundle, gpu.Torch, gpu.Arrays, gpu.CuTensor, gpu.Compiled]
        self.libraries = present(wanted, device)
        self.on_views = present([gpu.TrundleOnViews], device)
        self.names = list(self.libraries)
        self.least_bytes = 4 * cache_bytes(device)

    def run(self):
        heading(["case", "type", "sizes", "copy, GB/s", *self.names, "bar", "met"])
        for suite, (bar, cases) in SUITES.items():
            for case in cases:
                if case.given == "view" and not self.on_views:
                    continue
                sizes = fitted(case.sizes, self.args.bytes // TYPES[case.dtype].itemsize)
                if self.args.wants(label(suite, case, sizes)):
                    yield self.of(suite, bar, case, sizes)

    def taking_part(self, suite, case):
        libraries = dict(self.libraries)
        if case.given == "view":
            libraries |= self.on_views
        if suite not in ("chains", "lengths"):
            libraries.pop("compiled", None)
        return libraries

    def of(self, suite, bar, case, sizes):
        x = tensor(case, sizes, self.device)
        libraries = self.taking_part(suite, case)
        calls, failed, right = prepared(libraries, case, operators_of(case, sizes), x)
        bytes, name = right.nbytes, f"{suite}: {case.name}"
        del right
        if 2 * bytes < self.least_bytes:
            name += " (small)"
        calls = {"copy": copy_of(bytes, self.device), **calls}
        times = {name: self.clock.times(call) for name, call in calls.items()}
        turns = in_turn(
            calls, self.args.rounds, lambda name, call: self.clock.seconds(call, times[name])
        )
        values = self.values(bar, case, turns)
        self.print_row(bar, case, name, x, bytes, turns, failed, values)
        record = {"case": label(suite, case, sizes), "sizes": list(x.shape), "bytes": bytes}
        record |= {"given": case.given, "seconds": turns, "failed": failed}
        return record, values

    def values(self, bar, case, turns):
        """Returns the values for which there are promises; None if trundle did not run."""
        values = {}
        if bar:
            values[bar] = lambda own: median_of_ratios(turns["copy"], own)
        if case.is_chain:
            values[CHAINS] = lambda own: median_of_ratios(turns["PyTorch"], own)
        if "cuTENSOR" in turns:
            values[CUTENSOR] = lambda own: median_of_ratios(turns["cuTENSOR"], own)
        own = turns.get("trundle")
        return {each: value(own) if own else None for each, value in values.items()}

    def print_row(self, bar, case, name, x, bytes, turns, failed, values):
        speed = 2 * bytes / statistics.median(turns["copy"]) / 1e9
        cells = dict(failed)
        for each, seconds in turns.items():
            cells[each] = f"{median_of_ratios(turns['copy'], seconds):.2f}"
        is_met = all(value is not None and each.is_met(value) for each, value in values.items())
        limits = [f"{bar.limit:.2f}"] if bar else []
        limits += [f"PyTorch / {CHAINS.limit:.0f}"] if CHAINS in values else []
        limits += ["cuTENSOR"] if CUTENSOR in values else []
        row(
            [
                name,
                case.dtype,
                as_text(x.shape),
                f"{speed:.0f}",
                *(cells.get(each, "") for each in self.names),
                ", ".join(limits),
                "yes" if is_met else "NO",
            ]
        )


class Small:
    """The second table: small tensors."""

    def __init__(self, args, device):
        self.args, self.device, self.clock = args, device, Clock(device)
        self.libraries = present([gpu.Trundle, gpu.Torch, gpu.TrundleTorch], device)

    def run(self):
        cases = [case for case in SMALL if self.args.wants(label("small", case, case.sizes))]
        if cases:
            heading(["microseconds of a call", "type", "sizes", *self.libraries, "bar", "met"])
        return map(self.of, cases)

    def of(self, case):
        x = tensor(case, case.sizes, self.device)
        operators = operators_of(case, case.sizes)
        calls, failed, _ = prepared(self.libraries, case, operators, x)
        turns = in_turn(calls, self.args.rounds, lambda name, call: self.clock.until_return(call))
        own, beyond = turns.get("trundle"), None
        if own:
            pairs = zip(own, turns["PyTorch"])
            beyond = statistics.median(1e6 * (mine - other) for mine, other in pairs)
        cells = dict(failed)
        for name, seconds in turns.items():
            cells[name] = f"{1e6 * statistics.median(seconds):.1f}"
        is_met = own and LAUNCHES.is_met(beyond)
        limit = f"PyTorch + {LAUNCHES.limit:.0f}"
        sizes = as_text(x.shape)
        cells = [cells.get(name, "") for name in self.libraries]
        row([case.name, case.dtype, sizes, *cells, limit, "yes" if is_met else "NO"])
        record = {"case": label("small", case, case.sizes), "sizes": list(x.shape)}
        record |= {"given": case.given, "seconds": turns, "failed": failed}
        return record, {LAUNCHES: beyond}


def present(wanted, device):
    found = {}
    for library in wanted:
        try:
            made = library(device)
            found[made.name] = made
        except Exception as error:  # each library raises its own exceptions
            print(f"without {library.__name__}: {error}", file=sys.stderr)
    return found


def summary(seen):
    """Prints a line for each promise: whether all its cases keep it, and the worst case."""
    print()
    lines = []
    for bar in BARS:
        values = dict(seen.get(bar, []))
        undone = [case for case, value in values.items() if value is None]
        done = {case: value for case, value in values.items() if value is not None}
        limit = f"at {'most' if bar.at_most else 'least'} {bar.limit:g}"
        missed = [case for case, value in done.items() if not bar.is_met(value)]
        if not values:
            outcome = "no case was run"
        elif missed or undone:
            outcome = f"NOT MET in {len(missed) + len(undone)} of {len(values)}"
        else:
            outcome = f"met in all {len(values)}"
        if done:
            worst = bar.worst(done.values())
            (case, *_) = [case for case, value in done.items() if value == worst]
            outcome += f"; the worst is {worst:.2f}, {case}"
        if undone:
            outcome += f"; failed or wrong: {'; '.join(undone)}"
        lines.append(f"{bar.name}, {limit}: {outcome}")
        print(lines[-1])
    return lines


class Arguments(argparse.Namespace):
    def wants(self, label):
        return not self.only or any(word in label for word in self.only)


def described(device, libraries):
    named = ("trundle", "torch", "cupy", "triton", "numpy")
    used = {name: sys.modules[name].__version__ for name in named if sys.modules.get(name)}
    if "cuTENSOR" in libraries:
        used["cuTENSOR"] = libraries["cuTENSOR"].version
    what = {"device": str(device), "python": platform.python_version(), **used}
    if device.type == "cuda":
        name = torch.cuda.get_device_properties(device).name
        what |= {"GPU": name, "cache bytes": cache_bytes(device), "CUDA": torch.version.cuda}
    return what


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, help="of a large tensor (256 MiB; 1 MiB on the CPU)")
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda:0"))
    parser.add_argument("--only", metavar="WORDS", action="append", help="may be given again")
    parser.add_argument("--json", metavar="FILE", type=Path)
    args = parser.parse_args(namespace=Arguments())
    os.environ.setdefault("TRUNDLE_SPECIALISE", "now")
    device = args.device
    if device.type not in BYTES:
        parser.error(f"no device {device}: there are cuda:N and cpu")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            parser.error("PyTorch has no GPU; --device cpu tries all of this without one")
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
    else:
        # Idle threads that spin would slow down the others.
        torch.set_num_threads(1)
    args.bytes = args.bytes or BYTES[device.type]
    large, small = Large(args, device), Small(args, device)
    what = described(device, large.libraries)
    print(f"{', '.join(f'{name} {value}' for name, value in what.items())};")
    print(f"tensors of {args.bytes >> 20} MiB, medians of {args.rounds} rounds;")
    print("fractions of what the device's copy of as many bytes does in a second")
    records, seen, lost = [], {}, None
    try:
        for table in (large, small):
            for record, values in table.run():
                records.append(record)
                for bar, value in values.items():
                    seen.setdefault(bar, []).append((record["case"], value))
    except RuntimeError as error:  # from the reference, the copy, or any call after a fault
        lost = str(error)
        print(f"\nthe rest is left out, since the GPU or PyTorch refused: {lost}")
    if not records and not lost:
        parser.error("no case has one of these words")
    lines = summary(seen)
    if device.type == "cpu":
        print("(on a CPU, where the bars say nothing)")
    if args.json:
        record = {"what": what, "bytes": args.bytes, "cases": records, "bars": lines, "lost": lost}
        args.json.write_text(json.dumps(record, indent=1) + "\n")
    if lost or any("trundle" in record["failed"] for record in records):
        sys.exit(1)


if __name__ == "__main__":
    main()
