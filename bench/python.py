#!/usr/bin/env python3
"""Times the Python package and numpy, PyTorch, OpenVINO and ONNX Runtime, as they are called from Python.

    python3 bench/python.py [--rounds N] [--threads N] [--json FILE] [WORDS...]

Prints three tables in Markdown: large arrays, the cost of new memory, and small arrays. It takes a few minutes. The
words "memory" and "small" select the second and third table. Other WORDS select rows of the first table whose
`large/name type sizes` contains one of them.

Every call makes a new array from `x`. Before timing, this array is compared with numpy's, bit for bit. Calls are timed
in a loop of `y = f(x)`, so that the time includes freeing the previous result. In each round, the libraries take turns:
a pause until the threads of the previous library sleep, then two untimed calls, then the timed calls. The tables show
the median over the rounds; for other libraries, the median of the ratio to trundle's time in the same round.

PyTorch, OpenVINO and ONNX Runtime are timed if they can be imported. Each library uses its fastest way to write an
operator. OpenVINO's results are copies of the model's outputs, its default.
"""

import argparse
import collections
import functools
import json
import os
import platform
import resource
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import rivals
import trundle
from libraries.chain import Unsupported, lengths
from libraries.frameworks import Numpy, OnnxRuntime, OpenVINO, Torch
from libraries.tables import heading, row

try:
    import einops
except ImportError:
    einops = None

# After a call, the threads of ONNX Runtime look for work for a third of this time.
PAUSE_SECONDS = 0.1

# After this time, a virtual machine has returned freed memory to its host, if it returns memory at all.
LONG_PAUSE_SECONDS = 4

# Untimed calls. A loop of `y = f(x)` alternates between two results, and the system may be slow to provide
# the memory of the first two.
UNTIMED = 2

# A turn ends after this many calls, or this many seconds for long calls.
MOST_CALLS, MOST_SECONDS = 5, 0.3

# The package caches at most this many memory blocks, which a caller that keeps all results uses up.
MOST_KEPT = 4

# Calls on small arrays per turn.
SMALL_CALLS = 20000

LENGTHS = lengths(256, 512)
LENGTHS_OF_LANES = lengths(256 * 512, 512).reshape(256, 1, 512)


@functools.cache
def index_of_lanes():
    """Returns the source indices of a reversal with a length for each lane."""
    position = np.arange(512).reshape(1, 512, 1)
    is_reversed = position < LENGTHS_OF_LANES
    return np.where(is_reversed, LENGTHS_OF_LANES - 1 - position, position)


def reversed_by_slices(y, x, flip):
    """Reverses in a loop over the batch, for libraries without such an operator."""
    for row, length in enumerate(LENGTHS):
        y[row, :length] = flip(x[row, :length])
        y[row, length:] = x[row, length:]
    return y


@dataclass(frozen=True)
class Case:
    name: str
    sizes: tuple[int, ...]
    dtype: str
    # `how` has the arguments that all calls of the package have in common.
    trundle: Callable
    numpy: Callable
    torch: Callable
    # The operators of a model as in `rivals`; None if there is none.
    model: list | None

    def label(self):
        return f"large/{self.name} {self.dtype} {as_text(self.sizes)}"


LARGE = [
    Case(
        "a plain copy", (8192, 8192), "f32",
        trundle=lambda x, **how: trundle.ascontiguousarray(x, **how),
        numpy=lambda x: x.copy(),
        torch=lambda torch, x: x.clone(),
        model=None,
    ),
    Case(
        "BGR HWC to RGB CHW", (32, 640, 640, 3), "u8",
        trundle=lambda x, **how: trundle.ascontiguousarray(
            x[..., ::-1].transpose(0, 3, 1, 2), **how
        ),
        numpy=lambda x: np.ascontiguousarray(x[..., ::-1].transpose(0, 3, 1, 2)),
        torch=lambda torch, x: x.permute(0, 3, 1, 2)[:, [2, 1, 0]].contiguous(),
        model=[("transpose", [0, 3, 1, 2], {}), ("take", [2, 1, 0], {"axis": 1})],
    ),
    Case(
        "zyx to xyz", (512, 512, 512), "u16",
        trundle=lambda x, **how: trundle.transpose(x, **how),
        numpy=lambda x: np.ascontiguousarray(x.T),
        torch=lambda torch, x: x.permute(2, 1, 0).contiguous(),
        model=[("transpose", [2, 1, 0], {})],
    ),
    Case(
        "2-D", (8192, 8192), "f32",
        trundle=lambda x, **how: trundle.transpose(x, **how),
        numpy=lambda x: np.ascontiguousarray(x.T),
        torch=lambda torch, x: x.T.contiguous(),
        model=[("transpose", [1, 0], {})],
    ),
    Case(
        "NHWC to NCHW", (64, 256, 256, 16), "f32",
        trundle=lambda x, **how: trundle.permute_dims(x, (0, 3, 1, 2), **how),
        numpy=lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)),
        torch=lambda torch, x: x.permute(0, 3, 1, 2).contiguous(),
        model=[("transpose", [0, 3, 1, 2], {})],
    ),
    Case(
        "NCHW to NHWC", (64, 16, 256, 256), "f32",
        trundle=lambda x, **how: trundle.permute_dims(x, (0, 2, 3, 1), **how),
        numpy=lambda x: np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        torch=lambda torch, x: x.permute(0, 2, 3, 1).contiguous(),
        model=[("transpose", [0, 2, 3, 1], {})],
    ),
    Case(
        "Swin roll by (-3,-3)", (64, 56, 56, 288), "f32",
        trundle=lambda x, **how: trundle.roll(x, (-3, -3), axis=(1, 2), **how),
        numpy=lambda x: np.roll(x, (-3, -3), axis=(1, 2)),
        torch=lambda torch, x: torch.roll(x, (-3, -3), (1, 2)),
        model=[("roll", [], {"shift": [-3, -3], "axes": [1, 2]})],
    ),
    Case(
        "2-D roll by (1,-5)", (8192, 8192), "f32",
        trundle=lambda x, **how: trundle.roll(x, (1, -5), axis=(0, 1), **how),
        numpy=lambda x: np.roll(x, (1, -5), axis=(0, 1)),
        torch=lambda torch, x: torch.roll(x, (1, -5), (0, 1)),
        model=[("roll", [], {"shift": [1, -5], "axes": [0, 1]})],
    ),
    Case(
        "fftshift", (256, 256, 256), "f64",
        trundle=lambda x, **how: trundle.fftshift(x, **how),
        numpy=lambda x: np.fft.fftshift(x),
        torch=lambda torch, x: torch.fft.fftshift(x),
        model=[("roll", [], {"shift": [128], "axes": [0, 1, 2]})],
    ),
    Case(
        "reverse sequences", (256, 512, 512), "f32",
        trundle=lambda x, **how: trundle.reverse_sequence(
            x, LENGTHS, axis=1, batch_axis=0, **how
        ),
        numpy=lambda x: reversed_by_slices(np.empty_like(x), x, np.flipud),
        torch=lambda torch, x: reversed_by_slices(torch.empty_like(x), x, torch.flipud),
        model=[("reverse", [], {"axis": 1, "batch_axis": 0})],
    ),
    Case(
        "a length in every lane", (256, 512, 512), "f32",
        trundle=lambda x, **how: trundle.reverse_subsequences(
            x, LENGTHS_OF_LANES, axis=1, **how
        ),
        numpy=lambda x: np.take_along_axis(x, index_of_lanes(), 1),
        torch=lambda torch, x: x.gather(1, torch.from_numpy(index_of_lanes())),
        model=None,
    ),
]  # fmt: skip

# Small arrays: the code without the package, and the code with it.
SMALL = [
    ("np.roll(x, 1, axis=0)", "trundle.roll(x, 1, axis=0)"),
    ("np.roll(x, (1, -5), axis=(0, 1))", "trundle.roll(x, (1, -5), axis=(0, 1))"),
    ("np.fft.fftshift(x)", "trundle.fftshift(x)"),
    ("np.flip(x, axis=0).copy()", "trundle.flip(x, axis=0)"),
    ("np.flip(x, axis=1).copy()", "trundle.flip(x, axis=1)"),
    ("np.permute_dims(x, (1, 0)).copy()", "trundle.permute_dims(x, (1, 0))"),
    ("np.moveaxis(x, 0, -1).copy()", "trundle.moveaxis(x, 0, -1)"),
    ("np.swapaxes(x, 0, 1).copy()", "trundle.swapaxes(x, 0, 1)"),
    ("np.transpose(x).copy()", "trundle.transpose(x)"),
    ("np.ascontiguousarray(x.T)", "trundle.ascontiguousarray(x.T)"),
    ("np.ascontiguousarray(x[::-1])", "trundle.ascontiguousarray(x[::-1])"),
    ("np.ascontiguousarray(x[:, ::-1])", "trundle.ascontiguousarray(x[:, ::-1])"),
    ("x.copy()", "trundle.ascontiguousarray(x)"),
    ("np.copyto(y, x.T)", "trundle.copyto(y, x.T)"),
    (
        "np.ascontiguousarray(einops.rearrange(x, 'h (w p) -> p h w', p=2))",
        "trundle.rearrange(x, 'h (w p) -> p h w', p=2)",
    ),
    ("np.ascontiguousarray(x[:, ::-1].T)", "chain(x)"),
]


def numpy_call(library, case, x):
    return lambda: case.numpy(x)


def torch_call(library, case, x):
    data = library.torch.from_numpy(x)
    return lambda: case.torch(library.torch, data)


def openvino_call(library, case, x):
    compiled = library.compiled(model_of(case), x)
    return lambda: compiled(x)[0]


def runtime_call(library, case, x):
    session = library.session(model_of(case), x)
    return lambda: session.run(None, {"x0": x})[0]


def model_of(case):
    if case.model is None:
        raise Unsupported
    return case.model


CALLS = {
    Numpy: numpy_call,
    Torch: torch_call,
    OpenVINO: openvino_call,
    OnnxRuntime: runtime_call,
}


def numbers(sizes, dtype):
    scattered = np.random.default_rng(0)
    dtype = np.dtype(rivals.NUMPY_TYPES[dtype])
    if dtype.kind == "f":
        return scattered.random(sizes, dtype)
    return scattered.integers(0, np.iinfo(dtype).max, sizes, dtype, endpoint=True)


def is_same(result, right):
    result = np.asarray(result)
    bits = f"u{right.itemsize}"
    return (
        result.dtype == right.dtype
        and result.flags.c_contiguous
        and np.array_equal(result.view(bits), right.view(bits))
    )


def calls_of(found, case, x, threads):
    """Returns a function for each library that has the operator, and the names of libraries with wrong results."""
    right = np.ascontiguousarray(case.numpy(x))
    out = np.empty_like(right)
    calls = {
        "trundle": lambda: case.trundle(x, threads=threads),
        "trundle, `out=y`": lambda: case.trundle(x, threads=threads, out=out),
    }
    for library in found:
        try:
            calls[library.name] = CALLS[type(library)](library, case, x)
        except Unsupported:
            continue
        except Exception as error:  # each library raises its own exceptions
            print(f"  {library.name}: {type(error).__name__}: {error}", file=sys.stderr)
    wrong = {name for name, call in calls.items() if not is_same(call(), right)}
    if "trundle" in wrong or "trundle, `out=y`" in wrong:
        sys.exit(f"{case.name}: trundle gives another result than numpy")
    return {name: call for name, call in calls.items() if name not in wrong}, wrong


@dataclass(frozen=True)
class Turn:
    """The medians over several consecutive calls."""

    seconds: float
    page_faults: float


def turn(call):
    time.sleep(PAUSE_SECONDS)
    return timed(call, UNTIMED, collections.deque(maxlen=1))


def turn_that_keeps(call):
    time.sleep(LONG_PAUSE_SECONDS)
    return timed(call, MOST_KEPT, [])


def timed(call, untimed, results):
    for _ in range(untimed):
        results.append(call())
    seconds, before = [], page_faults()
    while len(seconds) < MOST_CALLS and sum(seconds) < MOST_SECONDS:
        start = time.perf_counter()
        results.append(call())
        seconds.append(time.perf_counter() - start)
    return Turn(statistics.median(seconds), (page_faults() - before) / len(seconds))


def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def typical(turns):
    return Turn(
        statistics.median(each.seconds for each in turns),
        statistics.median(each.page_faults for each in turns),
    )


def times_as_long(others, own):
    return statistics.median(other.seconds / mine.seconds for other, mine in zip(others, own))


def as_record(turns):
    return {name: [asdict(each) for each in all] for name, all in turns.items()}


def large(args):
    found = rivals.libraries(args.threads)
    others = ["trundle, `out=y`", *(library.name for library in found)]
    heading(["`y = f(x)`", "type", "sizes", "trundle", "GB/s", *others])
    return [large_row(args, case, found, others) for case in LARGE if args.wants(case.label())]


def large_row(args, case, found, others):
    x = numbers(case.sizes, case.dtype)
    calls, wrong = calls_of(found, case, x, args.threads)
    turns = {name: [] for name in calls}
    for _ in range(args.rounds):
        for name, call in calls.items():
            turns[name].append(turn(call))
    seconds = typical(turns["trundle"]).seconds
    cells = {name: f"{times_as_long(turns[name], turns['trundle']):.2f}" for name in turns}
    cells |= dict.fromkeys(wrong, "wrong")
    row(
        [
            case.name,
            case.dtype,
            as_text(case.sizes),
            f"{seconds * 1e3:.1f} ms",
            f"{2 * x.nbytes / seconds / 1e9:.0f}",
            *(cells.get(name, "") for name in others),
        ]
    )
    return {"case": case.label(), "wrong": sorted(wrong), "turns": as_record(turns)}


OUTPUTS = ("in an array that is there", "new, `y = f(x)`", "new, all results kept")


def memory(args):
    x = numbers((8192, 8192), "f32")
    y = np.ones_like(x)
    transpose = functools.partial(trundle.transpose, x, threads=args.threads)
    # Functions that write to an existing array, and that return a new array.
    ways = {
        "`y.fill(1)`, `np.ones_like(x)`": (lambda: y.fill(1), lambda: np.ones_like(x)),
        "`np.copyto(y, x)`, `x.copy()`": (lambda: np.copyto(y, x), x.copy),
        "`trundle.transpose(x)`": (lambda: transpose(out=y), transpose),
    }
    turns = {what: ([], [], []) for what in ways}
    for _ in range(args.rounds):
        for what, (there, new) in ways.items():
            seen = turn(there), turn(new), turn_that_keeps(new)
            for place, each in zip(turns[what], seen):
                place.append(each)
    heading([f"f32 {as_text(x.shape)}", *OUTPUTS])
    for what, places in turns.items():
        row([what, *(time_and_faults(typical(each)) for each in places)])
    return {what: as_record(dict(zip(OUTPUTS, each))) for what, each in turns.items()}


def time_and_faults(turn):
    return f"{turn.seconds * 1e3:.1f} ms, {turn.page_faults:.0f} page faults"


def small(args):
    x = numbers((8, 8), "f32")
    names = {
        "np": np,
        "trundle": trundle,
        "einops": einops,
        "x": x,
        "y": np.empty_like(x),
        "chain": trundle.chain("flip(axes=[1]) | h w -> w h"),
    }
    heading(["f32 8x8", "time", "trundle", "time", "times as long"])
    pairs = [pair for pair in SMALL if einops or "einops" not in pair[0]]
    return [small_row(args.rounds, pair, names) for pair in pairs]


def small_row(rounds, pair, names):
    theirs, ours = (eval(each, names) for each in pair)
    if ours is not None and not is_same(ours, theirs):
        sys.exit(f"{pair[1]} gives another result than {pair[0]}")
    timers = [timeit.Timer(each, globals=names) for each in pair]
    for timer in timers:
        timer.timeit(SMALL_CALLS)
    turns = [[each.timeit(SMALL_CALLS) / SMALL_CALLS for each in timers] for _ in range(rounds)]
    theirs, ours = map(statistics.median, zip(*turns))
    ratio = statistics.median(theirs / ours for theirs, ours in turns)
    cells = [f"`{pair[0]}`", f"{theirs * 1e9:.0f} ns", f"`{pair[1]}`", f"{ours * 1e9:.0f} ns"]
    row([*cells, f"{ratio:.2f}"])
    return {"pair": pair, "seconds": turns}


OTHER_TABLES = {"memory": memory, "small": small}


def as_text(sizes):
    return "x".join(map(str, sizes))


class Arguments(argparse.Namespace):
    def wants(self, label):
        return not self.words or any(word in label for word in self.words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", metavar="FILE", type=Path)
    parser.add_argument("words", nargs="*")
    args = parser.parse_args(namespace=Arguments())
    labels = [*(case.label() for case in LARGE), *OTHER_TABLES]
    if not any(map(args.wants, labels)):
        parser.error(f"no row matches; there are {', '.join(labels)}")
    print(f"{args.threads} threads (numpy one), medians of {args.rounds} rounds;")
    print("large arrays: the others in how many times as long as trundle's new array")
    record = {"threads": args.threads}
    if any(args.wants(case.label()) for case in LARGE):
        record["large"] = large(args)
    record |= {name: table(args) for name, table in OTHER_TABLES.items() if args.wants(name)}
    record["versions"] = versions()
    if args.json:
        args.json.write_text(json.dumps(record, indent=1) + "\n")


def versions():
    named = ("trundle", "numpy", "torch", "openvino", "onnxruntime", "einops")
    used = {name: sys.modules[name].__version__ for name in named if sys.modules.get(name)}
    return {"python": platform.python_version(), **used}


if __name__ == "__main__":
    main()
