"""Any store of zarr-python as source and destination of `trundle.zarr`, in turn with zarr-python."""

import asyncio
import importlib.util
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import trundle

zarr = pytest.importorskip("zarr", minversion="3")

from zarr.core.sync import sync  # noqa: E402
from zarr.storage import (  # noqa: E402
    FsspecStore,
    LocalStore,
    MemoryStore,
    StorePath,
    WrapperStore,
    ZipStore,
)

CHAIN = "t y x -> y x t | flip(axes=[0])"
X = np.random.default_rng(7).integers(0, 1 << 16, (8, 15, 30)).astype(np.uint16)


def moved(x):
    return x.transpose(1, 2, 0)[::-1]


def written(store=None, x=X, chunks=(4, 5, 10), **more):
    """A store with an array."""
    store = MemoryStore() if store is None else store
    zarr.create_array(store, shape=x.shape, chunks=chunks, dtype=x.dtype, **more)[...] = x
    return store


def read(store, path=""):
    return zarr.open_array(store, path=path, mode="r" if store.read_only else "r+")[...]


def keys(store):
    async def collect():
        return [key async for key in store.list()]

    return sorted(sync(collect()))


class Faulty(WrapperStore):
    """A store whose calls of some methods fail after a number of successful calls."""

    def __init__(self, store, methods, left):
        super().__init__(store)
        self.methods, self.left = methods, left

    def count(self, method):
        if method in self.methods:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError(f"no connection\nfor {method}")

    async def get(self, key, prototype, byte_range=None):
        self.count("get")
        return await super().get(key, prototype, byte_range)

    async def exists(self, key):
        self.count("exists")
        return await super().exists(key)

    async def set(self, key, value):
        self.count("set")
        await super().set(key, value)

    async def delete_dir(self, prefix):
        self.count("delete_dir")
        await super().delete_dir(prefix)

    def list_dir(self, prefix):
        self.count("list_dir")
        return super().list_dir(prefix)


def some_store(rng, folder, name):
    """A new store of a random class."""
    kind = rng.choice(["memory", "memory", "local", "zip", "fsspec", "wrapped", "subclass"])
    if kind == "local":
        return LocalStore(folder / f"{name}.zarr")
    if kind == "zip":
        return ZipStore(folder / f"{name}.zip", mode="w")
    if kind == "fsspec" and importlib.util.find_spec("fsspec"):
        options = {"auto_mkdir": True}
        return FsspecStore.from_url(f"file://{folder}/{name}.fsspec", storage_options=options)
    if kind == "wrapped":
        return WrapperStore(MemoryStore())
    if kind == "subclass":
        return type("Own", (LocalStore,), {})(folder / f"{name}.own")
    return MemoryStore()


def some_array(rng, numbers, place, path):
    """Writes a random array, some of whose chunks may be missing."""
    shape = tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 4)))
    chunks = tuple(rng.randint(1, size) for size in shape)
    version = rng.choice([2, 3])
    more = {"order": rng.choice("CF")} if version == 2 else {}
    if version == 3 and rng.random() < 0.3:
        more["shards"] = tuple(chunk * rng.randint(1, 3) for chunk in chunks)
    if rng.random() < 0.3:
        more["compressors"] = None
    dtype = rng.choice(["u1", "<i2", ">f4" if version == 2 else "<f4", "<f8", "?", "<c16"])
    array = zarr.create_array(
        place,
        name=path or None,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        zarr_format=version,
        fill_value=rng.choice([0, 1]),
        attributes={"units": "K"},
        **more,
    )
    part = tuple(slice(0, rng.randint(0, size)) for size in shape)
    array[part] = numbers.integers(0, 2, array[part].shape).astype(dtype)
    return array


def some_chain(rng, rank):
    """A random chain, and the same as a function of numpy."""
    order = rng.sample(range(rank), rank)
    axis, shift = rng.randrange(rank), rng.randint(-5, 5)
    chain = f"transpose({', '.join(map(str, order))}) | roll(shift=[{shift}], axes=[{axis}])"
    if rng.random() < 0.5:
        return chain, lambda x: np.roll(x.transpose(order), shift, axis)
    return chain + f" | flip(axes=[{axis}])", lambda x: np.flip(
        np.roll(x.transpose(order), shift, axis), axis
    )


@pytest.mark.parametrize("seed", range(400 if os.environ.get("TRUNDLE_TESTS") == "all" else 60))
def test_random_arrays(seed, tmp_path):
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    source, target = some_store(rng, tmp_path, "src"), some_store(rng, tmp_path, "dst")
    path, into = rng.choice(["", "a", "a/b c"]), rng.choice(["", "", "y/z"])
    if isinstance(target, LocalStore) and type(target) is LocalStore:
        into = ""
    array = some_array(rng, numbers, source, path)
    chain, of_numpy = some_chain(rng, array.ndim)
    src = rng.choice([array, StorePath(source, path)])
    sizes = [rng.randint(1, 4) for _ in range(array.ndim)]
    shards = {"chunks": sizes, "shards": [2 * size for size in sizes]}
    options = rng.choice(
        [{}, {"workers": 2}, {"verify": True}, {"chunks": sizes}, shards, {"codec": "gzip:1"}]
    )
    trundle.zarr.apply(src, chain, StorePath(target, into) if into else target, **options)
    result = zarr.open_array(target, path=into, mode="r+")
    assert result[...].tobytes() == of_numpy(array[...]).astype(result.dtype).tobytes()
    assert dict(result.attrs)["units"] == "K" and not any("trundle" in key for key in keys(target))
    # A store that trundle has written is a source, too.
    trundle.zarr.apply(StorePath(target, into), "", tmp_path / "back.npy")
    assert np.load(tmp_path / "back.npy").tobytes() == result[...].tobytes()


def test_groups_keep_their_members_and_attributes():
    store, target = MemoryStore(), MemoryStore()
    group = zarr.create_group(store, attributes={"title": "era"})
    dims = ("t", "y", "x")
    group.create_array("t2m", shape=X.shape, chunks=(4, 5, 10), dtype="u2", dimension_names=dims)[...] = X
    below = group.create_group("coords", attributes={"n": 1})
    below.create_array("y", shape=(15,), dtype="f8", dimension_names=("y",))[...] = np.arange(15)
    zarr.consolidate_metadata(store)
    # The consolidated metadata of the source does not list this array.
    group.create_array("new", shape=(3,), dtype="i4", dimension_names=("z",))[...] = 5
    trundle.zarr.apply(group, "flip(dim=y)", target)
    result = zarr.open_consolidated(target)
    assert (result["t2m"][...] == X[:, ::-1]).all() and (result["new"][...] == 5).all()
    assert (result["coords/y"][...] == np.arange(15)[::-1]).all()
    assert (result.attrs["title"], result["coords"].attrs["n"]) == ("era", 1)
    assert result["t2m"].metadata.dimension_names == dims


def test_names_that_are_not_nodes_are_ignored():
    """Some file systems list a folder in itself."""

    class Marked(WrapperStore):
        async def list_dir(self, prefix):
            for name in ["", ".", "..", "a/"]:
                yield name

    target, store = MemoryStore(), MemoryStore()
    zarr.create_group(store).create_array("a", shape=(4,), dtype="u1")[...] = 7
    trundle.zarr.apply(Marked(store), "flip(0)", target)
    assert keys(target) == ["a/c/0", "a/zarr.json", "zarr.json"]


def test_files_and_metadata_only_copies(tmp_path):
    np.save(tmp_path / "x.npy", X)
    target = MemoryStore()
    trundle.zarr.apply(tmp_path / "x.npy", CHAIN, target, chunks=(5, 10, 4))
    assert (read(target) == moved(X)).all()
    copied = MemoryStore()
    trundle.zarr.apply(target, "transpose(2, 0, 1)", copied, metadata_only=True)
    assert (read(copied) == moved(X).transpose(2, 0, 1)).all()
    prototype = zarr.core.buffer.cpu.buffer_prototype
    one, other = (sync(store.get(key, prototype)) for store, key in [(target, "c/1/2/0"), (copied, "c/0/1/2")])
    assert one.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("methods", [{"get"}, {"get", "exists", "list_dir"}])
def test_a_source_that_fails_is_an_error(workers, methods):
    store, failures = written(), 0
    for left in [*range(6), *range(6, 400, 9)]:
        target = MemoryStore()
        try:
            trundle.zarr.apply(Faulty(store, methods, left), CHAIN, target, workers=workers)
        except OSError as error:
            assert "RuntimeError: no connection for" in str(error) and not keys(target)
            failures += 1
            continue
        assert (read(target) == moved(X)).all()
        break
    assert failures > 12


def test_no_array_is_left_out_if_the_store_fails():
    store = MemoryStore()
    group = zarr.create_group(store)
    for name in "abc":
        group.create_array(name, shape=(4,), chunks=(2,), dtype="u1")[...] = 7
    for left in range(200):
        target = MemoryStore()
        try:
            trundle.zarr.apply(Faulty(store, {"get", "exists", "list_dir"}, left), "flip(0)", target)
        except OSError as error:
            assert "no connection" in str(error) and not keys(target)
            continue
        assert [read(target, name).tolist() for name in "abc"] == [[7] * 4] * 3
        break
    assert 40 < left < 199


@pytest.mark.parametrize("workers", [None, 2])
def test_a_destination_that_fails_is_left_empty(workers):
    for left in range(100):
        target = MemoryStore()
        faulty = Faulty(target, {"set"}, left)
        try:
            trundle.zarr.apply(written(), CHAIN, faulty, workers=workers)
        except OSError as error:
            assert "RuntimeError: no connection for set" in str(error) and not keys(target)
            continue
        assert (read(target) == moved(X)).all() and left > 10
        break
    # If the store cannot delete objects either, the chunks stay, but no array becomes visible.
    faulty = Faulty(target := MemoryStore(), {"set", "delete_dir"}, 5)
    with pytest.raises(OSError, match="no connection for set"):
        trundle.zarr.apply(written(), CHAIN, faulty)
    assert len(keys(target)) == 5 and "zarr.json" not in keys(target)


def test_a_task_that_failed_runs_again():
    x = np.random.default_rng(7).integers(0, 1 << 16, (24, 45, 90)).astype(np.uint16)
    source, target = Faulty(written(None, x, (8, 15, 30)), {"get"}, 10**9), MemoryStore()
    planned = trundle.zarr.plan(source, CHAIN, target, max_mem="1MiB", task_size="8KiB")
    assert len(planned) > 4 and not keys(target)
    source.left = 400
    with pytest.raises(OSError, match="no connection"):
        planned.run()
    source.left = 10**9
    assert 0 < len(planned.missing()) < len(planned)
    planned.run(workers=2)
    assert planned.missing() == [] and (read(target) == moved(x)).all()


def test_two_passes_leave_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    x = np.random.default_rng(7).integers(0, 256, (512, 4096)).astype(np.uint8)
    source, target = Faulty(written(None, x, (512, 16)), {"get"}, 10**9), MemoryStore()
    options = {"chunks": (4, 4096), "max_mem": "3MiB"}
    planned = trundle.zarr.plan(source, "flip(0)", target, **options, task_size="64KiB")
    assert len(planned.stages) == 2
    planned.run(workers=2)
    assert (read(target) == x[::-1]).all() and not os.listdir(tmp_path)
    source.left, target = 500, MemoryStore()
    with pytest.raises(OSError, match="no connection"):
        trundle.zarr.apply(source, "flip(0)", target, **options)
    assert not keys(target) and not os.listdir(tmp_path)


def test_refused_calls_change_no_store(tmp_path):
    source, full, other = written(), written(), MemoryStore()
    sync(other.set("notes.txt", zarr.core.buffer.cpu.Buffer.from_bytes(b"mine")))
    array = zarr.open_array(source)
    with ZipStore(tmp_path / "full.zip", mode="w") as zipped:
        written(zipped)
        for error, args, more, words in [
            (ValueError, (array, CHAIN, MemoryStore(read_only=True)), {}, "MemoryStore that is read-only"),
            (ValueError, (array, CHAIN, LocalStore(tmp_path / "x", read_only=True)), {}, "is read-only"),
            (FileExistsError, (array, CHAIN, full), {}, "overwrites stores in local folders only"),
            (FileExistsError, (array, CHAIN, full), {"overwrite": True}, "in local folders only"),
            (FileExistsError, (array, CHAIN, array), {"overwrite": True}, "in local folders only"),
            (ValueError, (array, CHAIN, StorePath(source, "c")), {}, "dst is within src"),
            (ValueError, (array, CHAIN, other), {"overwrite": True}, "not a Zarr store, so it is not overwritten"),
            (ValueError, (array, CHAIN, StorePath(zipped, "y")), {}, "cannot delete .* must be empty"),
            (FileNotFoundError, (StorePath(source, "none"), CHAIN, MemoryStore()), {}, "zarr.json"),
            (ValueError, (array, "a b -> b a", MemoryStore()), {}, "3 axes|axes"),
            (ValueError, (array, CHAIN, MemoryStore()), {"max_mem": 4096}, "memory are needed"),
        ]:
            before = keys(source), keys(full), keys(zipped)
            with pytest.raises(error, match=words):
                trundle.zarr.apply(*args, **more)
            assert (keys(source), keys(full), keys(zipped)) == before and keys(other) == ["notes.txt"]
            assert args[2] in (array, full, other) or isinstance(args[2], StorePath) or not keys(args[2])


def test_stores_cannot_be_used_by_other_processes():
    planned = trundle.zarr.plan(written(), CHAIN, target := MemoryStore())
    for call in (
        lambda pool: planned.run(executor=pool),
        lambda pool: trundle.zarr.apply(written(), CHAIN, "y.zarr", executor=pool),
        lambda pool: trundle.zarr.apply("none.zarr", CHAIN, target, executor=pool),
    ):
        with ProcessPoolExecutor(1) as pool, pytest.raises(ValueError, match="only in this process: use workers=N"):
            call(pool)
    with pytest.raises(ValueError, match="only in this process: call run"):
        planned.save("plan.json")
    assert not keys(target)
    with ThreadPoolExecutor(2) as pool:
        planned.run(executor=pool)
    assert (read(target) == moved(X)).all()
    text = planned._text
    del planned
    with pytest.raises(ValueError, match="only in the process that made the plan"):
        trundle.zarr._run(text, 0, None)


def test_two_plans_of_one_destination():
    target = MemoryStore()
    first = trundle.zarr.plan(written(), CHAIN, target)
    with pytest.raises(OSError, match="being written by another run"):
        trundle.zarr.plan(written(), CHAIN, target)
    first.discard()
    second = trundle.zarr.plan(written(), "flip(0)", target)
    with pytest.raises(ValueError, match="are gone: plan the tasks again"):
        first.run()
    second.run()
    assert (read(target) == X[::-1]).all()


def test_within_an_event_loop():
    """As in Jupyter."""

    async def cell(source):
        here, there = MemoryStore(), MemoryStore()
        trundle.zarr.apply(source, CHAIN, here)
        await asyncio.to_thread(trundle.zarr.apply, source, CHAIN, there, workers=2)
        return here, there

    here, there = asyncio.run(cell(written()))
    assert (read(here) == moved(X)).all() and (read(there) == moved(X)).all()
    source = written()

    async def of_zarr():
        trundle.zarr.apply(source, CHAIN, MemoryStore())

    with pytest.raises(ValueError, match="call it in another one"):
        sync(of_zarr())


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGINT to send")
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize(
    "name,answers",
    [("", 0), ("", 100), *(("c/0/0/0", n) for n in (0, 2, 4)), *(("zarr.json", n) for n in (2, 5, 8))],
)
def test_ctrl_c_stops_a_store_that_does_not_answer(workers, name, answers):
    """The store stops answering after some requests for objects of this name."""
    text = f"""
import asyncio, os, signal, sys, threading, time
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_zarr_stores as test, trundle
signal.signal(signal.SIGINT, signal.default_int_handler)

class Silent(test.WrapperStore):
    left = {answers}
    async def get(self, key, prototype, byte_range=None):
        self.left -= key.endswith({name!r})
        if self.left < 0:
            if not timer.is_alive() and not timer.finished.is_set():
                timer.start()
            await asyncio.sleep(1000)
        return await super().get(key, prototype, byte_range)

timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
source, target = Silent(test.written()), test.MemoryStore()
try:
    trundle.zarr.apply(source, test.CHAIN, target, workers={workers})
except KeyboardInterrupt:
    print("interrupted", test.keys(target))
else:
    timer.start() or time.sleep(1)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("interrupted []\n", 0), done.stderr


def test_a_zip_file_is_written_once(tmp_path):
    with ZipStore(tmp_path / "y.zip", mode="w") as store:
        trundle.zarr.apply(written(), CHAIN, store, workers=2)
        # A second object of the same name would shadow the first, and stay in the file.
        assert len(keys(store)) == len(set(keys(store)))
    with ZipStore(tmp_path / "y.zip", mode="r") as store:
        assert (read(store) == moved(X)).all()
        trundle.zarr.apply(store, "", tmp_path / "y.npy")
    assert (np.load(tmp_path / "y.npy") == moved(X)).all()


def test_obstore():
    obstore = pytest.importorskip("obstore")
    source = zarr.storage.ObjectStore(obstore.store.MemoryStore())
    target = zarr.storage.ObjectStore(obstore.store.MemoryStore())
    # Chunks of shards are read as parts of objects.
    written(source, shards=(8, 10, 20))
    trundle.zarr.apply(source, CHAIN, StorePath(target, "a/b"), workers=2)
    assert (read(target, "a/b") == moved(X)).all()
    with pytest.raises(FileExistsError):
        trundle.zarr.apply(source, CHAIN, StorePath(target, "a/b"))


def test_icechunk():
    icechunk = pytest.importorskip("icechunk")
    repo = icechunk.Repository.create(icechunk.in_memory_storage())
    session = repo.writable_session("main")
    group = zarr.create_group(session.store, attributes={"title": "era"})
    group.create_array("x", shape=X.shape, chunks=(4, 5, 10), dtype="u2")[...] = X
    group.create_array("deep/er/y", shape=(4,), dtype="f4")[...] = 2
    first = session.commit("x")
    # An error leaves no change.
    session = repo.writable_session("main")
    for left in range(60):
        faulty = Faulty(session.store, {"set"}, left)
        try:
            trundle.zarr.apply(StorePath(session.store, "x"), CHAIN, StorePath(faulty, "moved"), workers=2)
        except OSError as error:
            assert "no connection" in str(error) and "moved" not in str(session.status())
            assert not any("moved" in key for key in keys(session.store))
            continue
        break
    assert left > 10 and repo.lookup_branch("main") == first
    assert (read(session.store, "moved") == moved(X)).all()
    session.commit("moved")
    there = repo.readonly_session("main").store
    assert (read(there, "moved") == moved(X)).all()
    with pytest.raises(ValueError, match="IcechunkStore that is read-only"):
        trundle.zarr.apply(there, "", there)
    with pytest.raises(FileNotFoundError, match="zarr.json"):
        trundle.zarr.apply(StorePath(there, "none"), "", MemoryStore())
    other = icechunk.Repository.create(icechunk.in_memory_storage()).writable_session("main")
    trundle.zarr.apply(there, CHAIN, other.store, tensor="x", chunks={"t": -1})
    other.commit("all")
    result = zarr.open_group(other.store, mode="r")
    assert result.attrs["title"] == "era" and (result["x"][...] == moved(X)).all()
    assert (result["deep/er/y"][...] == 2).all() and (result["moved"][...] == moved(X)).all()
