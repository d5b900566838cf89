"""Times moves between files alternately with a plain copy of the same file, both without cached data.

    python3 bench/disk.py --bin target/release/trundle [--dir DIR] [--gib 8] [--rounds 3] [--numpy]
                          [--max-mem 512M] [--case WORD]... [--json FILE] [--both]

Each round of a case copies the source (cp, then fsync) and moves it (trundle syncs its output itself), each time with
an uncached source. Random boxes of every result are compared with numpy's.  --numpy also times numpy under the same
memory limit. --both also times the strategy that trundle did not choose: one pass or two passes. Needs numpy, and disk
space in DIR for four times the file.
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

import numpy as np

GIB = 1 << 30


def shapes(bytes_):
    """Returns cases for files of about `bytes_` bytes: name, type, shape, trundle's arguments, numpy's function."""
    def scaled(width, *sizes):
        # The first axis is sized so that the file has about the requested size.
        return (max(1, round(bytes_ / width / math.prod(sizes))), *sizes)

    side = math.isqrt(bytes_ // 4) // 1024 * 1024
    prime = 46337 if bytes_ >= 8 * GIB else 16381 if bytes_ >= GIB else 5077
    transpose = ["transpose", "--row-major"]
    return [
        ("square", "f4", scaled(4, side), transpose, lambda a: a.T),
        ("wide", "f4", scaled(4, 65536), transpose, lambda a: a.T),
        ("2^20 x n", "f4", (1 << 20, bytes_ // 4 >> 20), transpose, lambda a: a.T),
        ("n x 2^20", "f4", scaled(4, 1 << 20), transpose, lambda a: a.T),
        ("primes", "f4", scaled(4, prime), transpose, lambda a: a.T),
        ("NCHW to NHWC", "f4", scaled(4, 64, 112, 112), ["apply", "n c h w -> n h w c"],
         lambda a: a.transpose(0, 2, 3, 1)),
        ("one large CHW to HWC", "f4", (3, *scaled(12, side)), ["apply", "c h w -> h w c"],
         lambda a: a.transpose(1, 2, 0)),
        ("z y x to x y z", "f4", (512, 1024, bytes_ // 4 // 512 // 1024), transpose, lambda a: a.T),
        ("1-byte square", "u1", scaled(1, 2 * side), transpose, lambda a: a.T),
        ("2-byte square", "u2", scaled(2, side), transpose, lambda a: a.T),
        ("16-byte square", "c16", scaled(16, side // 2), transpose, lambda a: a.T),
        ("roll", "f4", scaled(4, 65536), ["roll", "--shift", "1000,-3", "--axes", "0,1"],
         lambda a: np.roll(a, (1000, -3), (0, 1))),
        ("flip", "f4", scaled(4, 65536), ["flip", "--axes", "0,1"], lambda a: a[::-1, ::-1]),
        ("swap the last axes", "f4", scaled(4, 512, 256), ["apply", "a b c -> a c b"],
         lambda a: a.transpose(0, 2, 1)),
    ]


def make(path, dtype, shape):
    """Writes a file whose neighbouring numbers differ."""
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    flat = array.reshape(-1).view("u1")
    step = 64 << 20
    block = np.random.default_rng(1).integers(0, 256, step, "u1")
    for at in range(0, flat.size, step):
        part = flat[at:at + step]
        part[:] = block[:part.size]
        part[:8] = np.frombuffer(np.uint64(at).tobytes(), "u1")[:part.size]
    array.flush()
    del array, flat
    forget(path)


def forget(path):
    """Writes a file from the system's cache to disk and removes it from the cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def copied(source, to):
    remove(to)
    forget(source)
    start = time.perf_counter()
    subprocess.run(["cp", source, to], check=True)
    fd = os.open(to, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    seconds = time.perf_counter() - start
    remove(to)
    return seconds


def moved(args, source, to, command, extra=()):
    remove(to)
    forget(source)
    before = io_of_children()
    start = time.perf_counter()
    run = subprocess.run(
        [args.bin, command[0], source, *command[1:], "-o", to, "--max-mem", args.max_mem, "--json", "-q", *extra],
        check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    after = io_of_children()
    report = json.loads(run.stdout)
    report["wall"] = seconds
    report["blocks"] = [a - b for a, b in zip(after, before)]
    return report


def io_of_children():
    """Returns how many bytes finished child processes have read from disk and written to it."""
    import resource
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_inblock * 512, use.ru_oublock * 512


def same(source, to, numpy_way):
    """Compares random boxes of trundle's output with numpy's. Returns whether they are equal."""
    a, b = np.load(source, mmap_mode="r"), np.load(to, mmap_mode="r")
    if isinstance(numpy_way(a[:1]), np.ndarray) and numpy_way.__code__.co_names == ("roll",):
        rows, columns = 1000, -3
        pick = lambda i: np.roll(a[(i - rows) % a.shape[0]], columns)
        return a.shape == b.shape and all((pick(i) == b[i]).all() for i in range(0, len(b), max(1, len(b) // 500)))
    view = numpy_way(a)
    if view.shape != b.shape:
        return False
    rng = np.random.default_rng(2)
    tile = [min(n, 300) for n in b.shape]
    for _ in range(60):
        at = [int(rng.integers(0, n - t + 1)) for n, t in zip(b.shape, tile)]
        box = tuple(slice(i, i + min(t, 60)) for i, t in zip(at, tile))
        if not (np.asarray(view[box]).view(f"V{a.itemsize}") == np.asarray(b[box]).view(f"V{a.itemsize}")).all():
            return False
    return True


def numpy_tiles(source, to, numpy_way, limit):
    """Moves with numpy, in square tiles between two memmaps, as large as the memory limit allows."""
    remove(to)
    forget(source)
    start = time.perf_counter()
    a = np.load(source, mmap_mode="r")
    view = numpy_way(a)
    out = np.lib.format.open_memmap(to, "w+", a.dtype, view.shape)
    side = [n for n in view.shape]
    while math.prod(side) * a.itemsize > limit // 4:
        side[side.index(max(side))] = -(-max(side) // 2)
    for index in np.ndindex(*[-(-n // s) for n, s in zip(view.shape, side)]):
        box = tuple(slice(i * s, (i + 1) * s) for i, s in zip(index, side))
        out[box] = view[box]
    out.flush()
    del out
    forget(to)
    seconds = time.perf_counter() - start
    remove(to)
    return seconds


def parsed(size):
    units = {"K": 10, "M": 20, "G": 30}
    return int(size[:-1]) << units[size[-1]] if size[-1] in units else int(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="target/release/trundle")
    parser.add_argument("--dir")
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-mem", default="512M")
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("--both", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    results = []
    print(f"{'case':22} {'shape':24} {'copy s':>7} {'move s':>7} {'ratio':>6} {'passes':>6} {'read':>5} {'written':>7}"
          f"{'  other s' if args.both else ''}{'  numpy s' if args.numpy else ''}")
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        source, to = os.path.join(folder, "source.npy"), os.path.join(folder, "moved.npy")
        for name, dtype, shape, command, numpy_way in shapes(int(args.gib * GIB)):
            if args.case and not any(word in name for word in args.case):
                continue
            make(source, dtype, shape)
            size = os.path.getsize(source)
            copies, moves, others = [], [], []
            for number in range(args.rounds):
                copies.append(copied(source, to))
                moves.append(moved(args, source, to, command))
                if number == 0 and not same(source, to, numpy_way):
                    sys.exit(f"{name}: WRONG ELEMENTS")
                if args.both:
                    # trundle chooses two passes for disks with slow requests, and one pass for disks with
                    # fast requests.
                    other = "ssd" if moves[-1]["passes"] > 1 else "hdd"
                    others.append(moved(args, source, to, command, ("--storage", other)))
            ratios = [move["wall"] / copy for move, copy in zip(moves, copies)]
            result = {
                "case": name, "dtype": dtype, "shape": list(shape), "bytes": size, "max_mem": args.max_mem,
                "copy_seconds": copies, "move_seconds": [move["wall"] for move in moves],
                "ratio": statistics.median(ratios), "passes": moves[-1]["passes"],
                "bytes_read": moves[-1]["bytes_read"] / size, "bytes_written": moves[-1]["bytes_written"] / size,
            }
            if args.both:
                result["other_seconds"] = [other["wall"] for other in others]
                result["other_passes"] = others[-1]["passes"]
            if args.numpy:
                result["numpy_seconds"] = numpy_tiles(source, to, numpy_way, parsed(args.max_mem))
            results.append(result)
            median = statistics.median
            line = (f"{name:22} {'x'.join(map(str, shape)):24} {median(copies):7.2f} {median(result['move_seconds']):7.2f}"
                    f" {result['ratio']:6.2f} {result['passes']:6} {result['bytes_read']:5.2f} {result['bytes_written']:7.2f}")
            if args.both:
                line += f" {median(result['other_seconds']):8.2f} ({result['other_passes']})"
            if args.numpy:
                line += f" {result['numpy_seconds']:8.1f}"
            print(line, flush=True)
            remove(to)
            remove(source)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
