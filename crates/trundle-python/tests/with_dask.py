#!/usr/bin/env python3
"""Tasks on Dask: two worker processes do those of random movements, some of which are killed meanwhile, and what they
make is what zarr-python and numpy make. Needs dask[distributed] and zarr beside trundle."""

import argparse
import os
import random
import signal
import tempfile
import threading
import time

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
    # A worker that is killed is no fault of the task.
    dask.config.set({"distributed.scheduler.allowed-failures": 100})
    rng = random.Random(args.seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        os.chdir(folder)
        executor = client.get_executor()
        kills = 0
        for number in range(args.count):
            shape = [rng.randint(20, 60) for _ in range(3)]
            x = np.random.default_rng(number).integers(0, 1 << 16, shape).astype(rng.choice(["<u2", "<f4", ">i4"]))
            source, target = f"x{number}.zarr", f"y{number}.zarr"
            chunks = tuple(rng.randint(4, size) for size in shape)
            zarr.create_array(source, data=x, chunks=chunks)
            order = rng.sample(range(3), 3)
            shift, axis = rng.randint(-99, 99), rng.randrange(3)
            chain = f"transpose({', '.join(map(str, order))}) | roll(shift=[{shift}], axes=[{axis}])"
            planned = trundle.zarr.plan(source, chain, target, max_mem="12MiB", task_size="16KiB")
            kill = number % 2 == 1
            if kill:
                kills += 1
                workers = [worker.pid for worker in cluster.workers.values()]
                timer = threading.Timer(rng.random() / 2, os.kill, (rng.choice(workers), signal.SIGKILL))
                timer.start()
            planned.run(executor=executor)
            if kill:
                timer.join()
                while len(client.scheduler_info()["workers"]) < 2:
                    time.sleep(0.1)
            expected = np.roll(x.transpose(order), shift, axis=axis)
            found = zarr.open(target)[...]
            assert (found == expected).all(), (chain, shape, chunks)
            left = [name for name in os.listdir(".") if name.startswith(".trundle")]
            assert not left, left
        print(f"{args.count} movements on Dask, {kills} with a worker killed: all equal to numpy")


if __name__ == "__main__":
    main()
