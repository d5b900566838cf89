#!/usr/bin/env python3
"""Times moves of Zarr stores by trundle, dask.array, Cubed and rechunker, if they support the move.

    python3 -m venv dask && dask/bin/pip install "dask[array]" zarr==3.1.6
    python3 -m venv cubed && cubed/bin/pip install cubed zarr==3.1.6
    python3 -m venv rechunker && rechunker/bin/pip install rechunker "zarr<3" "numcodecs<0.16"
    cargo build --release -p trundle-cli
    python3 bench/zarr_rivals.py --dask dask/bin/python --rechunker rechunker/bin/python [--gib 2] [--rounds 5]

For each codec, zarr of the first environment writes a store of f4 [n, 16, 1024, 1024] in chunks of [1, 16, 256, 256].
The store for rechunker has Zarr version 2. There are two moves:

  turn     rolls by 100 along the last axis and changes NCHW to NHWC, in chunks of [1, 256, 256, 16]
  rechunk  changes the chunks to [n, 16, 64, 64]

Each round runs all programs, each in its own process and with `--threads` threads, until the output is on disk. Prints
the median seconds and the peak memory of a process (`ru_maxrss`). Boxes of each result are compared with the source.
`--max-mem` limits the memory of trundle, Cubed and rechunker; dask has no such limit. "floor" is the time in which
zarr-python decodes and encodes each chunk unchanged, on as many threads.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

MAKE = """
import sys, numpy as np, zarr
path, count, codec, version = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
if version == 3:
    compressors = {"none": None, "zstd:3": zarr.codecs.ZstdCodec(level=3)}[codec]
else:
    import numcodecs
    compressors = {"none": None, "zstd:3": numcodecs.Zstd(level=3)}[codec]
store = zarr.create_array(path, shape=(count, 16, 1024, 1024), chunks=(1, 16, 256, 256), dtype="f4",
                          zarr_format=version, compressors=compressors)
rng = np.random.default_rng(0)
y, x = np.mgrid[:1024, :1024]
for i in range(count):
    box = np.empty((1, 16, 1024, 1024), "f4")
    for c in range(16):
        noise = rng.normal(0, 0.5, (1024, 1024))
        box[0, c] = np.round(100 * np.sin(x / 200 + i) + 50 * np.cos(y / 150 + c) + noise, 1)
    store[i : i + 1] = box
"""

DASK = """
import sys, dask, dask.array as da, zarr
source, out, move, codec, threads = *sys.argv[1:5], int(sys.argv[5])
compressors = {"none": None, "zstd:3": zarr.codecs.ZstdCodec(level=3)}[codec]
with dask.config.set(scheduler="threads", num_workers=threads):
    x = da.from_zarr(source)
    if move == "turn":
        chunks = (1, 256, 256, 16)
        y = da.roll(x, 100, axis=3).transpose(0, 2, 3, 1).rechunk(chunks)
    else:
        chunks = (x.shape[0], 16, 64, 64)
        y = x.rechunk(chunks)
    store = zarr.create_array(out, shape=y.shape, chunks=chunks, dtype="f4", compressors=compressors)
    da.store(y, store, lock=False)
"""

CUBED = """
import sys, cubed, cubed.array_api as xp, shutil
from cubed.runtime.create import create_executor
source, out, move, memory, threads = *sys.argv[1:5], int(sys.argv[5])
spec = cubed.Spec(work_dir=out + ".between", allowed_mem=int(memory), reserved_mem=0)
x = cubed.from_zarr(source, spec=spec)
if move == "turn":
    y = xp.permute_dims(xp.roll(x, 100, axis=3), (0, 2, 3, 1)).rechunk((1, 256, 256, 16))
else:
    y = x.rechunk((x.shape[0], 16, 64, 64))
executor = create_executor("threads", {"max_workers": threads})
cubed.to_zarr(y, out, executor=executor)
shutil.rmtree(out + ".between", ignore_errors=True)
"""

FLOOR = """
import sys, zarr, math, itertools
from concurrent.futures import ThreadPoolExecutor
source, out, threads = *sys.argv[1:3], int(sys.argv[3])
zarr.config.set({"threading.max_workers": 1, "async.concurrency": 1})
x = zarr.open_array(source, mode="r")
y = zarr.create_array(out, shape=x.shape, chunks=x.chunks, dtype=x.dtype, compressors=x.compressors)
def copy(index):
    y.blocks[index] = x.blocks[index]
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(copy, itertools.product(*(range(math.ceil(n / c)) for n, c in zip(x.shape, x.chunks)))))
"""

RECHUNKER = """
import sys, dask, numcodecs, shutil, zarr
from rechunker import rechunk
source, out, memory, codec, threads = *sys.argv[1:5], int(sys.argv[5])
compressor = {"none": None, "zstd:3": numcodecs.Zstd(level=3)}[codec]
x = zarr.open(source, mode="r")
plan = rechunk(x, (x.shape[0], 16, 64, 64), int(memory) // threads, out, temp_store=out + ".between",
               target_options={"compressor": compressor})
with dask.config.set(scheduler="threads", num_workers=threads):
    plan.execute()
shutil.rmtree(out + ".between", ignore_errors=True)
"""

CHECK = """
import sys, numpy as np, zarr
source, out, move = sys.argv[1:4]
x, y = zarr.open_array(source, mode="r"), zarr.open_array(out, mode="r")
rng = np.random.default_rng(1)
for _ in range(20):
    n, c, h, w = (int(rng.integers(size - least + 1)) for size, least in zip(x.shape, (1, 16, 50, 50)))
    box = x[n : n + 1, :, h : h + 50, w : w + 50]
    if move == "turn":
        at = (np.arange(w, w + 50) + 100) % x.shape[3]
        found = y[n : n + 1, h : h + 50][:, :, at]
        box = box.transpose(0, 2, 3, 1)
    else:
        found = y[n : n + 1, :, h : h + 50, w : w + 50]
    if not np.array_equal(box, found):
        sys.exit(f"{out}: other elements at {(n, c, h, w)}")
"""


def timed(command, environment):
    """Returns the seconds until a process has ended and its output is on disk, and its peak memory in MiB."""
    os.sync()
    begin = time.perf_counter()
    child = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    os.sync()
    seconds = time.perf_counter() - begin
    if status:
        sys.exit(f"{' '.join(command[:3])} ...: exit code {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss / 1024


def commands(arguments, codec, move, sources, out, count):
    threads = str(arguments.threads)
    memory = arguments.max_mem
    moves = {
        "turn": ["apply", sources[3], "roll(shift=100, axes=3) | n c h w -> n h w c", "--chunks", "1,256,256,16"],
        "rechunk": ["convert", sources[3], "--chunks", f"{count},16,64,64"],
    }
    options = ["--codec", codec, "--max-mem", f"{memory}M", "--threads", threads, "--quiet", "-o", out]
    all_of = {"trundle": [str(arguments.bin), *moves[move], *options]}
    if arguments.dask:
        all_of["dask"] = [arguments.dask, "-c", DASK, sources[3], out, move, codec, threads]
        if move == "turn":
            all_of["floor"] = [arguments.dask, "-c", FLOOR, sources[3], out, threads]
    if arguments.cubed:
        all_of["cubed"] = [arguments.cubed, "-c", CUBED, sources[3], out, move, str(memory << 20), threads]
    if arguments.rechunker and move == "rechunk":
        bytes_ = str(memory << 20)
        all_of["rechunker"] = [arguments.rechunker, "-c", RECHUNKER, sources[2], out, bytes_, codec, threads]
    return all_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=Path("target/release/trundle"))
    parser.add_argument("--dask", required=True, help="Python with dask and zarr 3; it makes and checks the stores too")
    parser.add_argument("--rechunker", help="Python with rechunker and zarr 2")
    parser.add_argument("--cubed", help="Python with cubed and zarr 3")
    parser.add_argument("--dir", type=Path, default=Path("/tmp/zarr-rivals"))
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--max-mem", type=int, default=512, help="MiB")
    parser.add_argument("--codec", action="append", choices=["none", "zstd:3"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    count = max(1, round(arguments.gib * 16))
    # dask does not control the threads of numpy.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMCODECS_NUM_THREADS": "1"}
    record = []
    for codec in arguments.codec or ["none", "zstd:3"]:
        versions = [3, 2] if arguments.rechunker else [3]
        sources = {}
        for version in versions:
            sources[version] = str(arguments.dir / f"x-{codec.replace(':', '')}-{count}-v{version}.zarr")
            if not Path(sources[version]).exists():
                make = [arguments.dask, "-c", MAKE, sources[version] + ".part", str(count), codec, str(version)]
                shutil.rmtree(sources[version] + ".part", ignore_errors=True)
                subprocess.run(make, check=True)
                Path(sources[version] + ".part").rename(sources[version])
        for move in ["turn", "rechunk"]:
            out = str(arguments.dir / "y.zarr")
            found = {}
            for turn in range(arguments.rounds):
                for name, command in commands(arguments, codec, move, sources, out, count).items():
                    shutil.rmtree(out, ignore_errors=True)
                    found.setdefault(name, []).append(timed(command, environment))
                    if turn == 0 and name != "floor":
                        subprocess.run([arguments.dask, "-c", CHECK, sources[3], out, move], check=True)
            shutil.rmtree(out, ignore_errors=True)
            for name, each in found.items():
                seconds = statistics.median(seconds for seconds, _ in each)
                most = max(most for _, most in each)
                times = seconds / statistics.median(seconds for seconds, _ in found["trundle"])
                print(f"{move:8} {codec:7} {name:10} {seconds:7.2f} s, {times:5.2f} times trundle's, {most:6.0f} MiB")
                record.append({"move": move, "codec": codec, "program": name, "seconds": seconds,
                               "all_seconds": [seconds for seconds, _ in each], "peak_mib": most})
    if arguments.json:
        settings = {"gib": arguments.gib, "threads": arguments.threads, "max_mem_mib": arguments.max_mem}
        arguments.json.write_text(json.dumps({**settings, "results": record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
