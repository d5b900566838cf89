#!/usr/bin/env python3
"""Runs random movements on Dask's workers, kills some of them, and compares results with zarr-python and numpy. Needs
dask[distributed] and zarr."""

import argparse
import os
import random
import signal
import tempfile
import threading
from concurrent.futures import Executor

import dask
import numpy as np
import zarr
from distributed import Client, LocalCluster

import trundle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    # Killed workers must not make a task fail.
    dask.config.set({"distributed.scheduler.allowed-failures": 100})
    rng = random.Random(args.seed)
    kills = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # Dask does not restart every killed worker.
        for first in range(0, args.count, 2):
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
            with cluster, Client(cluster) as client:
                check(first, rng, client.get_executor(), killed=None)
                if first + 1 < args.count:
                    kills += 1
                    killed = rng.choice([nanny.pid for nanny in cluster.workers.values()])
                    check(first + 1, rng, client.get_executor(), killed)
    print(f"{args.count} movements on Dask, {kills} with a worker killed: all equal to numpy")


def check(number: int, rng: random.Random, executor: Executor, killed: int | None) -> None:
    """Runs a random movement and compares it with numpy. Kills the process `killed` during the run."""
    shape = [rng.randint(20, 60) for _ in range(3)]
    x = np.random.default_rng(number).integers(0, 1 << 16, shape).astype(rng.choice(["<u2", "<f4", ">i4"]))
    source, target = f"x{number}.zarr", f"y{number}.zarr"
    chunks = tuple(rng.randint(4, size) for size in shape)
    zarr.create_array(source, data=x, chunks=chunks)
    order = rng.sample(range(3), 3)
    shift, axis = rng.randint(-99, 99), rng.randrange(3)
    chain = f"transpose({', '.join(map(str, order))}) | roll(shift=[{shift}], axes=[{axis}])"
    planned = trundle.zarr.plan(source, chain, target, max_mem="12MiB", task_size="16KiB")
    if killed is not None:
        timer = threading.Timer(rng.random() / 2, os.kill, (killed, signal.SIGKILL))
        timer.start()
    planned.run(executor=executor)
    if killed is not None:
        timer.join()
    expected = np.roll(x.transpose(order), shift, axis=axis)
    found = zarr.open(target)[...]
    assert (found == expected).all(), (chain, shape, chunks)
    left = [name for name in os.listdir(".") if name.startswith(".trundle")]
    assert not left, left


if __name__ == "__main__":
    main()
