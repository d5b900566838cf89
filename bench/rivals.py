#!/usr/bin/env python3
"""Times other libraries on the cases of trundle-bench, and a copy.

    cargo build --release -p trundle-bench
    python3 bench/rivals.py [--rounds N] [--threads N] [--libraries NAMES] [WORDS...]

WORDS select cases as for trundle-bench ("/" selects all). Without them, a few cases are selected. Each round runs
trundle-bench, which times trundle and a copy of the same bytes, and then each library: a pause until the threads of the
previous library sleep, an untimed call, and timed calls. The output has the time of the copy divided by the time of the
library (the median over the rounds), the ratio of its time to trundle's if the library is faster, and a summary for
each library. All results are first compared with numpy's.

All libraries that are installed and have the operators are timed; `--libraries` selects some.

| library | pip packages | Debian packages | what is timed |
|---|---|---|---|
| numpy | numpy | | one thread |
| PyTorch | torch | | |
| OpenVINO | openvino | | a model |
| ONNX Runtime | onnxruntime, onnx | | a model |
| XLA | jax | | the chain, compiled |
| oneDNN | onednn-cpu-gomp | | a reorder for each transpose |
| MKL | mkl | | `mkl_?omatcopy`, `mkl_?omatcopy_batch_strided` |
| FFTW | | libfftw3-single3, libfftw3-double3 | a transform without axes, the best of its plans |
| OpenCV | opencv-python-headless | | `transpose`, `transposeND`, `flip`, `split`, `merge` |
| IPP | ipp | | `ippiTranspose`, `ippiMirror`, `ippiCopy` to planes and back |
| libyuv | | libyuv0 | `TransposePlane`, `MirrorPlane`, `SplitRGBPlane` and similar |

A library writes to an existing array if it can; otherwise its time includes the allocation. IPP and libyuv run on
threads of this script. Each gets a part of the rows of a matrix, or of the matrices or images. So does OpenCV for
batches, in addition to its own threads. XLA and oneDNN use all cores of the process, which `--threads` restricts. The
arrays of numpy and of trundle-bench use large pages, unless NUMPY_MADVISE_HUGEPAGE=0 is set.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import libraries as classes
import numpy as np
from libraries.chain import Unsupported, parse
from libraries.frameworks import Numpy, OnnxRuntime, OpenVINO, Torch
from libraries.tables import heading, row

BENCH = (
    Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent / "target"))
    / "release"
    / "trundle-bench"
)

# A few cases of each kind.
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

# For other types, an element is several numbers on an additional axis.
NUMPY_TYPES = {
    "u8": np.uint8,
    "u16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
    "complex64": np.complex64,
    "bytes16": np.complex128,
}
SEVERAL = {"bytes3": ("u8", 3), "bytes5": ("u8", 5), "bytes6": ("u16", 3), "bytes12": ("f32", 3)}

# OpenMP threads spin for a fifth of a second after a call, and would slow down the next library.
PAUSE_SECONDS = 0.3

# A turn ends after this many calls or seconds; a call that takes longer is the only one. Short calls are
# repeated to take much longer than reading the clock.
MOST_CALLS, MOST_SECONDS, LEAST_SECONDS = 3, 0.5, 1e-3


def bench(arguments):
    if os.environ.get("NUMPY_MADVISE_HUGEPAGE", "1") != "0":
        arguments = ["--large-pages", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [str(BENCH), *arguments, "--json", str(record)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        suites = json.loads(record.read_text())["suites"]
    return [(suite["name"], case) for suite in suites for case in suite["cases"]]


def libraries(threads, wanted=(Numpy, Torch, OpenVINO, OnnxRuntime)):
    found = []
    for library in wanted:
        try:
            found.append(library(threads))
        except ImportError as error:
            print(f"without {library.name}: {error}", file=sys.stderr)
    return found


def as_numpy(result, dtype):
    array = result.numpy() if hasattr(result, "numpy") else result
    return np.asarray(array).view(dtype)


def prepared(found, operators, x):
    """Returns a function for each library that can run the case and whose result equals numpy's."""
    runs, right = {}, None
    for library in found:
        try:
            run = library.prepare(operators, x)
            result = as_numpy(run(), x.dtype)
        except Unsupported:
            continue
        except Exception as error:  # each library raises its own exceptions
            print(f"  {library.name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if right is None:
            right = result.copy()
        elif not np.array_equal(result, right):
            print(f"  {library.name}: gives another result than {found[0].name}", file=sys.stderr)
            continue
        runs[library.name] = run
    return runs


def is_common(operator):
    """Returns whether other libraries have the operator. None has reversals with a length for each lane."""
    name, _, named = operator
    return name != "reverse" or "batch_axis" in named


def numbers(sizes, dtype):
    """Returns different elements, without NaN, whose bits libraries may change."""
    return np.arange(np.prod(sizes), dtype=np.int64).astype(dtype).reshape(sizes)


def array_case(case):
    """Returns the operators of a case and an array; None if other libraries do not have the operators."""
    operators, sizes, dtype = parse(case["chain"]), case["sizes"], case["dtype"]
    if dtype in SEVERAL and all(name == "transpose" for name, _, _ in operators):
        dtype, several = SEVERAL[dtype]
        axes = list(range(len(sizes)))
        operators = [
            (name, [*(arguments or axes[::-1]), len(axes)], named)
            for name, arguments, named in operators
        ]
        sizes = [*sizes, several]
    if dtype not in NUMPY_TYPES or not all(map(is_common, operators)):
        return None
    return operators, numbers(sizes, NUMPY_TYPES[dtype])


def turn(run):
    time.sleep(PAUSE_SECONDS)
    first = timed(run, 1)
    if first > MOST_SECONDS:
        return first
    times = math.ceil(LEAST_SECONDS / first)
    seconds = []
    while len(seconds) < MOST_CALLS and sum(seconds) * times < MOST_SECONDS:
        seconds.append(timed(run, times))
    return statistics.median(seconds)


def timed(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def summary(found, ratios):
    """Prints how long each library took relative to trundle, over all cases."""
    heading(["library", "cases", "times as long as trundle, geometric mean", "ahead in"])
    for library in found:
        of_cases = ratios[library.name]
        if not of_cases:
            continue
        ahead = [f"{label} ({ratio:.2f})" for label, ratio in of_cases.items() if ratio < 1]
        mean = statistics.geometric_mean(of_cases.values())
        row([library.name, str(len(of_cases)), f"{mean:.2f}", "; ".join(ahead) or "none"])


def restrict(threads):
    """Limits the process to as many cores as threads, because some libraries use all cores of the process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--libraries", metavar="NAMES", help="separated by commas; numpy is always run"
    )
    parser.add_argument("words", nargs="*", default=HANDFUL)
    args = parser.parse_args()
    known = {library.name.lower(): library for library in classes.LIBRARIES}
    names = args.libraries.lower().split(",") if args.libraries else known
    if unknown := set(names) - set(known):
        parser.error(f"no library {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = [library for name, library in known.items() if name in names or library is Numpy]
    restrict(args.threads)
    found = libraries(args.threads, wanted)
    threads = ["--threads", str(args.threads)]
    print(f"fractions of a copy's speed, {args.threads} threads, medians of {args.rounds} rounds\n")
    names = ["trundle", *(library.name for library in found)]
    heading(["case", "type", "sizes", *names, "ahead of trundle, times as long"])
    ratios = {library.name: {} for library in found}
    for suite, case in bench([*threads, "--rounds", "1", *args.words]):
        arrays = array_case(case)
        if arrays is None:
            continue
        runs = prepared(found, *arrays)
        shape = "x".join(map(str, case["sizes"]))
        label = f"{suite}/{case['name']} {case['dtype']} {shape}"
        fractions, of_trundle = {name: [] for name in names}, {name: [] for name in runs}
        for _ in range(args.rounds):
            ((_, own), *_) = bench([*threads, "--rounds", "3", label])
            fractions["trundle"].append(own["of_copy"])
            for name, run in runs.items():
                seconds = turn(run)
                fractions[name].append(own["copy_seconds"] / seconds)
                of_trundle[name].append(seconds / own["seconds"])
        cells = [f"{statistics.median(all):.2f}" if all else "none" for all in fractions.values()]
        of_case = {name: statistics.median(all) for name, all in of_trundle.items()}
        for name, ratio in of_case.items():
            ratios[name][label] = ratio
        ahead = ", ".join(f"{name} {ratio:.2f}" for name, ratio in of_case.items() if ratio < 1)
        row([case["name"], case["dtype"], shape, *cells, ahead and f"ahead: {ahead}"])
    summary(found, ratios)


if __name__ == "__main__":
    main()
