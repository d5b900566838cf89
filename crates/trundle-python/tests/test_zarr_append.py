"""`append` and `region` of `trundle.zarr.apply`, in any store of zarr-python."""

import random

import numpy as np
import pytest

import trundle

zarr = pytest.importorskip("zarr", minversion="3")

from test_zarr_stores import Faulty, keys  # noqa: E402
from zarr.storage import LocalStore, MemoryStore, StorePath, WrapperStore, ZipStore  # noqa: E402

X = np.arange(7 * 5 * 6, dtype="f4").reshape(7, 5, 6)
Y = np.arange(4 * 5 * 6, dtype="f4").reshape(4, 5, 6) + 1000


def written(x, store=None, version=3):
    """Writes a store with two arrays. One of them has the axis time."""
    store = MemoryStore() if store is None else store
    group = zarr.create_group(store, zarr_format=version)
    names = {"dimension_names": ["time", "lat", "lon"]} if version == 3 else {}
    array = group.create_array("t2m", shape=x.shape, chunks=(3, 5, 4), dtype=x.dtype, **names)
    array[...] = x
    lat = group.create_array("lat", data=np.arange(5.0), **({"dimension_names": ["lat"]} if names else {}))
    if version == 2:
        array.attrs["_ARRAY_DIMENSIONS"], lat.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"], ["lat"]
    return store


def read(store, name="t2m"):
    return zarr.open_group(store, mode="r" if store.read_only else "r+")[name][...]


def names(x):
    """Returns a string for each time."""
    return [f"step {number:g}" * (int(number) // 30 % 3) for number in x[:, 0, 0]]


def with_names(store, x):
    """Adds the names of times as strings of variable length."""
    group = zarr.open_group(store, mode="r+")
    array = group.create_array("name", shape=x.shape[:1], chunks=(3,), dtype=str, **(
        {"dimension_names": ["time"]} if group.metadata.zarr_format == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["time"]}}
    ))
    array[...] = np.array(names(x), "O")


# A ZipStore replaces an object by appending another one with the same name.
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["memory", "local", "zip"])
@pytest.mark.parametrize("version", [2, 3])
def test_append_and_region(kind, version, tmp_path):
    store = {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path / "a.zarr"),
        "zip": lambda: ZipStore(tmp_path / "a.zip", mode="w"),
    }[kind]()
    written(X, store, version)
    source = written(Y, None, version)
    for each, x in ((store, X), (source, Y)):
        with_names(each, x)
    expected = np.concatenate([X, Y, Y[::-1]])
    calls = []
    trundle.zarr.apply(source, "", store, append="time", verify=True, progress=lambda *each: calls.append(each))
    trundle.zarr.apply(source, "flip(dim=time)", store, append="time")
    np.testing.assert_array_equal(read(store), expected)
    assert len(calls) == 1 and calls[0][0] == calls[0][1] >= Y.nbytes
    trundle.zarr.apply(source, "", store, region={"time": slice(2, 6)}, verify=True)
    expected[2:6] = Y
    np.testing.assert_array_equal(read(store), expected)
    assert read(store, "name").tolist() == names(expected)


def test_attributes_may_be_ignored():
    store, source = written(X), written(Y)
    for each, units in [(store, "K"), (source, "degC")]:
        zarr.open_group(each)["t2m"].attrs["units"] = units
    with pytest.raises(ValueError, match='its attribute units is "degC", but "K" in the store'):
        trundle.zarr.apply(source, "", store, append="time")
    trundle.zarr.apply(source, "", store, append="time", ignore_attrs=["units"])
    assert zarr.open_group(store)["t2m"].attrs["units"] == "K"
    np.testing.assert_array_equal(read(store), np.concatenate([X, Y]))


@pytest.mark.parametrize("seed", range(6))
def test_random_arrays(seed):
    chance = random.Random(seed)
    for _ in range(8):
        shape = [chance.randint(1, 9) for _ in range(chance.randint(1, 3))]
        axis, more = chance.randrange(len(shape)), chance.randint(1, 9)
        chunks = [chance.randint(1, 5) for _ in shape]
        added = [more if at == axis else size for at, size in enumerate(shape)]
        x, y = (np.array(chance.choices(range(3), k=int(np.prod(s))), "i4").reshape(s) for s in (shape, added))
        shards = [each * chance.randint(1, 3) for each in chunks] if chance.random() < 0.4 else None
        store, source = MemoryStore(), MemoryStore()
        zarr.create_array(store, shape=shape, chunks=chunks, shards=shards, dtype="i4")[...] = x
        zarr.create_array(source, shape=added, chunks=added, dtype="i4")[...] = y
        trundle.zarr.apply(source, "", store, append=axis, verify=chance.random() < 0.5)
        np.testing.assert_array_equal(zarr.open_array(store)[...], np.concatenate([x, y], axis))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"append": "tim"}, 'no array has an axis named "tim"'),
        ({"append": "lat"}, "its size along axis 0 is 4, but 7 in the store"),
        ({"append": "time", "chunks": 3}, "leave out chunks"),
        ({"append": "time", "overwrite": True}, "leave out overwrite"),
        ({"append": "time", "workers": 2}, "leave out workers and executor"),
        ({"append": "time", "region": {"time": slice(0, 4)}}, "exclude each other"),
        ({"append": "time=0:4"}, "expected a name without = and commas, or a number"),
        ({"append": True}, "expected a name without = and commas, or a number"),
        ({"append": "time", "resume": True}, "nothing to resume"),
        ({"resume": True}, "belongs to append and region"),
        ({"region": {}}, "expected a mapping"),
        ({"region": [4, 8]}, "expected a mapping"),
        ({"region": {"time": slice(-4, None)}}, "negative indices"),
        ({"region": {"time=0:4,lat": slice(4)}}, "expected a name"),
        ({"region": {"time": 3}}, r"expected slice\(BEGIN, END\)"),
        ({"region": {"time": slice(0, 8, 2)}}, r"expected slice\(BEGIN, END\)"),
        ({"region": {"time": slice(4, 8)}}, "the region ends at 8, but axis 0 has the size 7"),
    ],
)
@pytest.mark.parametrize("is_local", [False, True])
def test_invalid_options_are_refused(options, message, is_local, tmp_path):
    store = written(X, LocalStore(tmp_path / "a.zarr") if is_local else None)
    with pytest.raises(ValueError, match=message):
        trundle.zarr.apply(written(Y), "", store, **options)
    np.testing.assert_array_equal(read(store), X)


def test_the_whole_store_is_needed():
    store = written(X)
    with pytest.raises(ValueError, match="need the whole store"):
        trundle.zarr.apply(written(Y), "", StorePath(store, "t2m"), tensor="t2m", append="time")
    with pytest.raises(ValueError, match="does not exist, so nothing can be added"):
        trundle.zarr.apply(written(Y), "", MemoryStore(), append="time")


@pytest.mark.parametrize("name", ["memory", "icechunk", "local"])
@pytest.mark.parametrize("chain", ["flip(dim=time)", "roll(shift=1, dim=time)"])
def test_a_store_that_is_also_the_source(name, chain, tmp_path):
    """All elements are read before the first chunk is replaced, even if the store has two different names."""
    x = np.arange(60 * 40 * 50, dtype="f8").reshape(60, 40, 50)
    if name == "icechunk":
        icechunk = pytest.importorskip("icechunk")
        session = icechunk.Repository.create(icechunk.in_memory_storage()).writable_session("main")
        names = [session.store, session.store]
    elif name == "memory":
        content = {}
        names = [MemoryStore(content), MemoryStore(content)]
    else:
        names = [WrapperStore(LocalStore(tmp_path / "a.zarr")), str(tmp_path / "a.zarr")]
    group = zarr.create_group(names[0])
    options = {"chunks": (7, 40, 50), "dtype": "f8", "dimension_names": ["time", "lat", "lon"]}
    group.create_array("t2m", shape=x.shape, **options)[...] = x
    trundle.zarr.apply(names[1], chain, names[0], region={"time": slice(0, 60)}, max_mem="8MiB", verify=True)
    expected = x[::-1] if "flip" in chain else np.roll(x, 1, 0)
    np.testing.assert_array_equal(read(names[0]), expected)


def test_other_arrays_are_compared_before_writing():
    store, source = written(X), written(Y)
    zarr.open_group(source)["lat"][...] = 7.0
    with pytest.raises(OSError, match="differs from the array in the store"):
        trundle.zarr.apply(source, "", store, region={"time": slice(0, 4)})
    np.testing.assert_array_equal(read(store), X)


def test_failed_writes_leave_the_old_array():
    reference = written(X)
    trundle.zarr.apply(written(Y), "", reference, append="time")
    failures = 0
    for left in range(100):
        store = written(X)
        faulty = Faulty(store, {"set"}, left)
        try:
            trundle.zarr.apply(written(Y), "", faulty, append="time")
        except OSError as error:
            failures += 1
            assert "no connection" in str(error)
            np.testing.assert_array_equal(read(store), X)
            is_begun = ".trundle-append" in keys(store)
            if is_begun:
                with pytest.raises(OSError, match="resume=True continues it, if no other run is active"):
                    trundle.zarr.apply(written(Y), "", store, append="time")
            trundle.zarr.apply(written(Y), "", store, append="time", resume=is_begun)
            np.testing.assert_array_equal(read(store), read(reference))
            assert keys(store) == keys(reference)
        else:
            break
    assert failures >= 5
    np.testing.assert_array_equal(read(store), read(reference))


class FaultyOnce(Faulty):
    """A store that fails in one call."""

    def count(self, method):
        if self.left >= 0:
            super().count(method)


def test_icechunk_commits_all_or_nothing():
    icechunk = pytest.importorskip("icechunk")
    repo = icechunk.Repository.create(icechunk.in_memory_storage())
    session = repo.writable_session("main")
    written(X, session.store)
    session.commit("first")
    stored = lambda: read(repo.readonly_session("main").store)  # noqa: E731
    for left in range(12):
        session = repo.writable_session("main")
        try:
            trundle.zarr.apply(written(Y), "", FaultyOnce(session.store, {"set"}, left), append="time")
        except OSError:
            # The session has the old metadata again.
            np.testing.assert_array_equal(read(session.store), X)
        else:
            break
    assert 2 < left < 11
    np.testing.assert_array_equal(stored(), X)
    other = repo.writable_session("main")
    trundle.zarr.apply(written(Y), "flip(dim=time)", other.store, append="time")
    session.commit("appended")
    np.testing.assert_array_equal(stored(), np.concatenate([X, Y]))
    with pytest.raises(icechunk.ConflictError):
        other.commit("appended at the same time")
    np.testing.assert_array_equal(stored(), np.concatenate([X, Y]))
