"""Stores and files that are moved without loading them into memory."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import trundle

CHAIN = "t y x -> y x t | roll(shift=[30], axes=[1]) | flip(axes=[0])"


def moved(x):
    return np.roll(x.transpose(1, 2, 0), 30, axis=1)[::-1]


@pytest.fixture
def array(tmp_path, monkeypatch):
    """A folder with an array in a store, and the array."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(7).integers(0, 1 << 16, (24, 45, 90)).astype(np.uint16)
    np.save("x.npy", x)
    trundle.zarr.apply("x.npy", "", "x.zarr", chunks=(8, 15, 30))
    os.remove("x.npy")
    return x


def read(store):
    """Reads the array of a store, through a file."""
    trundle.zarr.apply(store, "", "read.npy", overwrite=True)
    array = np.load("read.npy")
    os.remove("read.npy")
    return array


def names():
    return sorted(os.listdir("."))


@pytest.mark.parametrize("chunks", [None, (15, -1, 8), {0: 15, 2: 8}, "15,30,8"])
def test_a_chain_is_applied(array, chunks):
    trundle.zarr.apply("x.zarr", CHAIN, Path("y.zarr"), chunks=chunks, max_mem="3MiB", verify=True)
    assert (read("y.zarr") == moved(array)).all()
    assert names() == ["x.zarr", "y.zarr"]


def test_a_transpose_can_change_only_metadata(array):
    turned = array.transpose(2, 0, 1)
    trundle.zarr.apply("x.zarr", "t y x -> x t y", "y.zarr", metadata_only=True)
    assert (read("y.zarr") == turned).all()
    assert Path("y.zarr/c/2/1/0").read_bytes() == Path("x.zarr/c/1/0/2").read_bytes()
    with pytest.raises(ValueError, match="metadata only: axis 2 is not moved by whole chunks of 30"):
        trundle.zarr.apply("x.zarr", "flip(axes=[2])", "z.zarr", metadata_only=True)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers(array, workers):
    calls = []
    trundle.zarr.apply(
        "x.zarr",
        CHAIN,
        "y.npy",
        workers=workers,
        max_mem=workers << 20,
        progress=lambda done, of: calls.append((done, of)),
    )
    assert (np.load("y.npy") == moved(array)).all()
    assert calls == sorted(calls) and calls[-1][0] <= calls[-1][1]


@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_executors(array, pool):
    planned = trundle.zarr.plan("x.zarr", CHAIN, "y.zarr", max_mem="1MiB", task_size="8KiB")
    assert len(planned) > 4 and [n for stage in planned.stages for n in stage] == planned.missing()
    assert "y.zarr" not in names()
    with pool(2) as executor:
        planned.run(executor=executor)
    assert (read("y.zarr") == moved(array)).all()
    assert names() == ["x.zarr", "y.zarr"]
    # Running it again changes nothing.
    planned.run()
    assert planned.missing() == []


def test_tasks_by_number(array):
    planned = trundle.zarr.plan("x.zarr", CHAIN, "y.zarr", max_mem="1MiB", task_size="8KiB")
    planned.save("plan.json")
    for stage in planned.stages:
        for number in reversed(stage):
            with pytest.raises(OSError, match="not done yet"):
                trundle.zarr.finish("plan.json")
            assert trundle.zarr.run_task("plan.json", number)
            assert not trundle.zarr.run_task("plan.json", number)
    with pytest.raises(ValueError, match=f"task {len(planned)} does not exist"):
        trundle.zarr.run_task("plan.json", len(planned))
    trundle.zarr.finish("plan.json")
    assert (read("y.zarr") == moved(array)).all()


def test_sources_may_be_urls(array, tmp_path):
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    np.save("x.npy", array)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            trundle.zarr.apply(f"{url}/x.zarr", CHAIN, "y.zarr")
        except ValueError as error:
            if "built without" in str(error):
                pytest.skip("a wheel without the feature `remote`")
            raise
        assert (read("y.zarr") == moved(array)).all()
        # This server does not send parts of files.
        with pytest.raises(ValueError, match="tasks read at any position"):
            trundle.zarr.apply(f"{url}/x.npy", CHAIN, "z.npy")
        with pytest.raises(OSError, match="does not exist"):
            trundle.zarr.apply(f"{url}/none.npy", CHAIN, "none.npy")
        with pytest.raises(ValueError, match="HTTP servers are only read"):
            trundle.zarr.apply("x.npy", CHAIN, f"{url}/none.npy")
        server.shutdown()
    assert names() == ["x.npy", "x.zarr", "y.zarr"]


def test_refused_calls_leave_no_files(array):
    for error, args, more in [
        (FileNotFoundError, ("none.zarr", CHAIN, "y.zarr"), {}),
        (FileExistsError, ("x.zarr", CHAIN, "x.zarr"), {}),
        (ValueError, ("x.zarr", "a b -> b a", "y.zarr"), {}),
        (ValueError, ("x.zarr", CHAIN, "y.zarr"), {"chunks": (1, 2)}),
        (ValueError, ("x.zarr", CHAIN, "y.zarr"), {"max_mem": "much"}),
        (ValueError, ("x.zarr", CHAIN, "y.zarr"), {"max_mem": 4096}),
        (ValueError, ("ftp://server/x.zarr", CHAIN, "y.zarr"), {}),
        (ValueError, ("x.zarr", CHAIN, "y.unknown"), {}),
        (FileNotFoundError, ("x.zarr", CHAIN, "none/y.zarr"), {}),
        (TypeError, ("x.zarr", CHAIN, "y.zarr"), {"progress": True}),
    ]:
        with pytest.raises(error) as raised:
            trundle.zarr.apply(*args, **more)
        if issubclass(error, OSError):
            assert raised.value.errno and raised.value.filename
        assert names() == ["x.zarr"]


def test_messages_use_python_names(array):
    np.savez("two.npz", a=np.zeros((2, 3)), b=np.zeros(4))
    for chain, dst, more, words in [
        ("flip(1)", "y.npz", {}, "tensor=NAME picks one that the operation fits: a [2, 3]"),
        ("", "y.npy", {}, "holds one tensor, got 2: a, b; tensor=NAME picks one"),
        ("flip(0)", "y.npz", {"max_mem": 48}, 'max_mem is "48": at least 4.0 KiB (4K) are needed'),
        ("flip(0)", "y.zarr", {"codec": "none:1"}, 'codec is "none:1": '),
        ("flip(0)", "y.zarr", {"chunks": "0"}, 'chunks is "0": "0" is not a size'),
        ("", "y.zarr", {"chunks": "1", "metadata_only": True}, "keeps the source's chunks, shards and codec"),
    ]:
        with pytest.raises(ValueError) as raised:
            trundle.zarr.apply("two.npz", chain, dst, **more)
        assert words in str(raised.value) and "--" not in str(raised.value), raised.value


def test_a_failed_task_leaves_no_files(array):
    chunk = Path("x.zarr/c/1/1/1")
    chunk.write_bytes(b"broken")
    with pytest.raises((OSError, ValueError), match="c/1/1/1"):
        trundle.zarr.apply("x.zarr", CHAIN, "y.zarr", workers=2, max_mem="2MiB")
    assert names() == ["x.zarr"]


def test_a_store_can_replace_itself(array):
    trundle.zarr.apply("x.zarr", "flip(axes=[1])", "x.zarr", overwrite=True)
    assert (read("x.zarr") == array[:, ::-1]).all()
    assert names() == ["x.zarr"]


def test_arrays_of_zarr(array):
    zarr = pytest.importorskip("zarr")
    trundle.zarr.apply(zarr.open("x.zarr"), CHAIN, "file://" + os.path.abspath("y.zarr"))
    assert (zarr.open("y.zarr")[...] == moved(array)).all()
    old = type("Array", (), {"store": object(), "path": ""})()
    with pytest.raises(ValueError, match="a store of zarr-python 3 is needed, not object"):
        trundle.zarr.apply(old, "flip(axes=[0])", "z.zarr")


def test_the_program(array):
    run = [sys.executable, "-m", "trundle"]
    subprocess.run([*run, "apply", "x.zarr", CHAIN, "-o", "y.zarr"], check=True)
    assert (read("y.zarr") == moved(array)).all()
    wrong = subprocess.run([*run, "apply", "x.zarr"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "CHAIN" in wrong.stderr


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGINT to send")
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("verify", [False, True])
def test_ctrl_c_stops_a_running_task(tmp_path, workers, verify):
    """A task that moves two gigabytes of a sparse file."""
    source = tmp_path / "x.npy"
    np.lib.format.open_memmap(source, mode="w+", dtype="u1", shape=(1 << 10, 1 << 10, 1 << 11))
    text = f"""
import os, signal, threading, time
import trundle
# A shell may have started the tests with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
def stop():
    global signaled
    signaled = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
planned = trundle.zarr.plan(
    "x.npy", "a b c -> b a c", "y.npy", verify={verify}, task_size="4GiB", max_mem="256MiB"
)
threading.Timer(0.3, stop).start()
try:
    planned.run(workers={workers})
except KeyboardInterrupt:
    print(time.perf_counter() - signaled)
planned.discard()
"""
    command = [sys.executable, "-c", text]
    waits = []
    # Other programs may have the machine's cores for a moment.
    while not waits or (min(waits) >= 0.5 and len(waits) < 5):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stderr) == (0, "")
        waits.append(float(done.stdout))
    assert min(waits) < 0.5, waits
    assert os.listdir(tmp_path) == ["x.npy"]
