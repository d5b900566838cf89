#!/usr/bin/env python3
"""Runs every command on Zarr stores and HDF5 files with absurd shapes and chunks. Needs h5py.

    crates/trundle-cli/tests/absurd_stores.py target/release/trundle --count 300

A command must end with an exit code from 0 to 3. It may use at most 30 MiB more than --max-mem, and 1 GiB of address
space. `info` and `plan` may take at most 20 s of CPU time. Other commands may take longer if the store or the output
has many chunks or elements. The printed seed reproduces the stores.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import h5py

ADDRESS_SPACE = 1 << 30
FILE_SIZE = 64 << 20
MAX_MEM = 128 << 20
EXTRA_MEMORY = 30 << 20
MANY_CHUNKS = 1 << 12
MANY_ELEMENTS = 1 << 24
DTYPES = {"uint8": "|u1", "int16": "<i2", "float32": "<f4", "float64": "<f8"}
SIZES = [0, 1, 1, 2, 3, 7, 100, 1 << 16, 1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64]
SIZES_OF_CHUNKS = [1, 1, 1, 2, 16, 1 << 12, 1 << 20, 1 << 31, 1 << 40, 1 << 63]
WEIGHTS = [1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1]
WEIGHTS_OF_CHUNKS = [4, 4, 4, 3, 3, 3, 2, 1, 1, 1]
CODECS = [
    None,
    {"name": "gzip", "configuration": {"level": 1}},
    {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
    {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}},
    {"name": "numcodecs.bz2", "configuration": {"level": 1}},
    {"name": "crc32c"},
]
COMPRESSORS = [
    None,
    {"id": "gzip", "level": 1},
    {"id": "zstd", "level": 1},
    {"id": "bz2", "level": 1},
    {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2, "blocksize": 0},
]


def shrunk(chance, sizes, limit):
    """Reduces some of the sizes until the product is below the limit."""
    while math.prod(sizes) >= limit:
        large = [axis for axis, size in enumerate(sizes) if size > 1]
        axis = chance.choice(large)
        sizes[axis] = chance.choice([1, 2, 3, 100, sizes[axis] // 2, sizes[axis] // 1024])
        sizes[axis] = max(sizes[axis], 1)
    return sizes


def grid(chance):
    """Returns shapes of an array and its chunks. Most can be counted and fit into memory."""
    rank = chance.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8, 12])
    shape = chance.choices(SIZES, WEIGHTS, k=rank)
    chunk = chance.choices(SIZES_OF_CHUNKS, WEIGHTS_OF_CHUNKS, k=rank)
    if chance.random() < 0.9:
        shape = shrunk(chance, shape, 1 << chance.choice([20, 30, 40, 58, 60]))
    if chance.random() < 0.9:
        chunk = shrunk(chance, chunk, 1 << chance.choice([1, 4, 16, 24, 28]))
    return shape, chunk


def version_2(chance, shape, chunk, dtype):
    return {".zarray": {
        "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": DTYPES[dtype], "order": chance.choice("CCF"),
        "compressor": chance.choice(COMPRESSORS), "filters": None, "fill_value": chance.choice([0, 1, None]),
    }}


def version_3(chance, shape, chunk, dtype):
    codec = chance.choice(CODECS)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}] + ([codec] if codec else [])
    for _ in range(chance.choice([0, 0, 0, 1, 1, 2])):
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": list(chunk), "codecs": codecs, "index_codecs": index, "index_location": chance.choice(["start", "end"]),
        }}]
        times = [chance.choice([1, 2, 1 << 10, 1 << 30]) for _ in chunk]
        times = shrunk(chance, times, 1 << 18) if chance.random() < 0.9 else times
        chunk = [size * count for size, count in zip(chunk, times)]
    return {"zarr.json": {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": chance.choice([0, 1]), "codecs": codecs, "attributes": {},
    }}


def hdf5(chance, path, shape, chunk, dtype):
    """Writes a file with this shape, or the nearest shape that the format allows."""
    limit, unit = (1 << 32) - 1, int(DTYPES[dtype][-1])
    shape = [min(size, (1 << 63) - 1) for size in shape]
    chunk = [max(1, min(pair)) for pair in zip(shape, chunk)]
    while math.prod(chunk) * unit > limit:
        chunk[chunk.index(max(chunk))] //= 2
    while math.prod(shape) * unit >= 1 << 63:
        shape[shape.index(max(shape))] //= 2
    chunk = [max(1, min(pair)) for pair in zip(shape, chunk)]
    with h5py.File(path, "w", libver=chance.choice(["earliest", "latest"])) as file:
        maxshape = tuple(shape) if chance.random() < 0.5 else tuple(None for _ in shape)
        options = {"chunks": tuple(chunk), "maxshape": maxshape} if shape else {}
        file.create_dataset("x", tuple(shape), dtype, fillvalue=chance.choice([0, 1]), **options)
    return shape


def store(chance, folder):
    """Writes a store or a file. Returns its name, its shape, and whether reading it takes long."""
    shape, chunk = grid(chance)
    dtype = chance.choice(sorted(DTYPES))
    if chance.random() < 0.25:
        try:
            shape = hdf5(chance, folder / "x.h5", shape, chunk, dtype)
            return "x.h5", shape, is_large(shape, chunk)
        except (ValueError, OverflowError):  # a limit of h5py
            (folder / "x.h5").unlink(missing_ok=True)
    (folder / "x.zarr").mkdir()
    for name, content in chance.choice([version_2, version_3])(chance, shape, chunk, dtype).items():
        (folder / "x.zarr" / name).write_text(json.dumps(content))
    return "x.zarr", shape, is_large(shape, chunk)


def is_large(shape, chunk):
    chunks = math.prod(-(-size // each) for size, each in zip(shape, chunk))
    return chunks >= MANY_CHUNKS or max(math.prod(shape), math.prod(chunk)) >= MANY_ELEMENTS


def movements(chance, name, shape):
    """Returns commands that write an output, without the arguments for the output."""
    rank = len(shape)
    axis = str(chance.randrange(rank)) if rank else "0"
    last = str(max(rank - 1, 0))
    letters = " ".join("abcdefghijkl"[:rank])
    widths = [[0, 0] for _ in shape] or [[0, 0]]
    widths[0][1] = chance.choice([1, 5, 1 << 40])
    step = chance.choice([2, 7, 1 << 20])
    stop = chance.choice([50, 1 << 30, 1 << 62])
    return [
        ["convert", name],
        ["transpose", name],
        ["flip", name, "--axes", axis],
        ["roll", name, "--shift", str(chance.choice([1, 3, -5, 1 << 33])), "--axes", axis],
        ["apply", name, f"slice(starts=[0], stops=[{stop}], axes=[{axis}], steps=[{step}])"],
        ["apply", name, f"slice(starts=[1], stops=[-1], axes=[{axis}])"],
        ["apply", name, f'pad(width={widths}, mode="{chance.choice(["edge", "constant", "wrap"])}")'],
        ["apply", name, f"take(indices=[0, 0, 0], axis={axis})"],
        ["apply", name, f"{letters} -> {' '.join(reversed(letters.split()))} | flip(axes=[{last}])"],
        ["concat", name, name, "--axis", axis],
        ["stack", name, name, "--axis", axis],
        ["split", name, "--axis", axis, "--parts", str(chance.choice([2, 3]))],
        ["relayout", name, "--rule", f"*: {letters} -> {' '.join(reversed(letters.split()))}"],
    ]


def run(program, command, folder, seconds):
    """Returns the exit code or signal, stderr, and the resources used."""
    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    environment.pop("TRUNDLE_OWN_MEMORY", None)
    with tempfile.TemporaryFile() as stderr:
        child = subprocess.Popen([program, *command], cwd=folder, env=environment, preexec_fn=limits,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        return child.returncode, stderr.read().decode(errors="replace"), usage


def fault(command, code, stderr, usage, may_take_long):
    """Returns what is wrong, or None."""
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        is_quick = command[0] in ("info", "plan")
        return "took too much time" if is_quick or not may_take_long else None
    if code not in (0, 1, 2, 3) or "bug in trundle" in stderr or "panicked at" in stderr:
        return f"ended with {code}: {stderr[:300]}"
    if usage.ru_maxrss * 1024 > MAX_MEM + EXTRA_MEMORY:
        return f"took {usage.ru_maxrss / 1024:.0f} MiB, and ended with {code}: {stderr[:200]}"
    return None


def commands(chance, name, shape):
    """Yields the commands for a store."""
    limit = ["--max-mem", f"{MAX_MEM >> 20}M"]
    yield ["info", name]
    yield ["info", name, "--json"]
    yield ["view", name, *limit]
    yield ["view", name, "-o", "picture.png", "--slice", ",".join(["0"] * max(len(shape) - 2, 0) + [":"] * min(len(shape), 2)), *limit]
    yield ["cmp", name, name, *limit]
    for movement in movements(chance, name, shape):
        ending = chance.choice(["zarr", "zarr", "npy", "h5", "safetensors"])
        out = ("out-{}." if movement[0] == "split" else "out.") + ending
        given = [*movement, "-o", out, *limit]
        if ending == "npy" and movement[0] == "relayout":
            continue
        yield ["plan", *given]
        yield [*given, "--force", "--quiet"]
        if movement[0] not in ("split", "stack", "concat", "relayout") and chance.random() < 0.4:
            given = [*movement, "-o", "out.zarr", *limit]
            yield ["plan", *given, "--tasks", "p.json"]
            yield ["task", "p.json", "0"]
            yield ["finish", "p.json"]
        if movement[0] in ("transpose", "flip", "roll") and chance.random() < 0.5:
            yield [*movement, "-o", name, *limit, "--force", "--quiet"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--count", type=int, default=300, help="stores")
    arguments.add_argument("--first", type=int, default=0, help="the number of the first store")
    arguments.add_argument("--seconds", type=int, default=20, help="CPU time that a command may take")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = arguments.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    print(f"seed {given.seed}", flush=True)
    faults, ended, most, longest = 0, collections.Counter(), 0, 0
    for number in range(given.first, given.first + given.count):
        chance = random.Random(f"{given.seed} {number}")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "given").mkdir()
            name, shape, may_take_long = store(chance, folder / "given")
            for command in commands(chance, name, shape):
                here = folder / "here"
                if command[0] not in ("task", "finish"):
                    shutil.rmtree(here, ignore_errors=True)
                    shutil.copytree(folder / "given", here)
                code, stderr, usage = run(program, command, here, given.seconds)
                ended[code] += 1
                most, longest = max(most, usage.ru_maxrss), max(longest, usage.ru_utime + usage.ru_stime)
                is_grown = any(word.startswith("pad(") for word in command) or command[0] == "task"
                wrong = fault(command, code, stderr, usage, may_take_long or is_grown)
                if wrong:
                    faults += 1
                    print(f"store {number}, {name} of {shape}: trundle {' '.join(map(repr, command))}: {wrong}", flush=True)
    codes = ", ".join(f"{count} with {code}" for code, count in sorted(ended.items()))
    print(f"{given.count} stores, runs ended {codes}; at most {most / 1024:.0f} MiB and {longest:.1f} s of CPU time")
    if faults:
        sys.exit(f"{faults} runs failed; run again with --seed {given.seed}")


if __name__ == "__main__":
    main()
