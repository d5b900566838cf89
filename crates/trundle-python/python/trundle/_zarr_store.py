"""Stores of zarr-python, read and written object by object."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from zarr.abc.store import (  # type: ignore[import-not-found, unused-ignore]
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import cpu  # type: ignore[import-not-found, unused-ignore]
from zarr.core.sync import _get_loop  # type: ignore[import-not-found, unused-ignore]
from zarr.storage import MemoryStore, WrapperStore  # type: ignore[import-not-found, unused-ignore]

from . import _trundle  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from concurrent.futures import Future

# Some stores list a folder within itself.
_NO_NODES = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "", ".", ".."}


class StoreObjects:
    """The objects below a path of a store, by key. Rust code calls the methods, from several threads.

    Each method waits until the thread of zarr-python's event loop has run the methods of the store. Notes about an
    unfinished output are kept in memory, so that the store contains only the output.
    """

    def __init__(self, store: Store, path: str) -> None:
        self._store, self._hidden = store, MemoryStore()
        self._prefix = f"{path}/" if path else ""
        self._pending: set[Future[Any]] = set()
        self._tags: dict[str, str] = {}
        self._creating = threading.Lock()
        while isinstance(store, WrapperStore):
            store = store._store
        self.needs_metadata_first = type(store).__module__.startswith("icechunk.")
        """Whether the store refuses chunks of unknown arrays. Other readers see changes only after a commit."""

    def interrupt(self) -> None:
        """Cancels all waiting calls."""
        for future in list(self._pending):
            future.cancel()

    def _call(self, store: Store, method: str, *arguments: Any) -> Any:
        """Calls a method of a store, and returns its result, or a list of what it generates."""

        async def call() -> Any:
            await store._ensure_open()
            answer = getattr(store, method)(*arguments)
            return [each async for each in answer] if hasattr(answer, "__aiter__") else await answer

        future = asyncio.run_coroutine_threadsafe(call(), _get_loop())
        self._pending.add(future)
        try:
            return future.result()
        finally:
            self._pending.discard(future)

    def _at(self, key: str) -> tuple[Store, str]:
        # Icechunk refuses other objects, and some stores cannot delete the note of an append.
        is_hidden = self.needs_metadata_first or not self._store.supports_deletes
        if key.startswith(_trundle.UNFINISHED) or is_hidden and key == _trundle.ADDING:
            return self._hidden, key
        return self._store, self._prefix + key

    def _exists(self, key: str) -> bool:
        store, key = self._at(key)
        return self._call(store, "exists", key)

    def size(self, key: str) -> int | None:
        """Returns the size of an object in bytes; None if it does not exist."""
        store, full = self._at(key)
        try:
            size = self._call(store, "getsize", full)
            # Icechunk returns 0 for a missing chunk, and raises KeyError for metadata of version 2.
            return size if size or self._exists(key) else None
        except (FileNotFoundError, KeyError):
            return None

    def get(self, key: str, start: int | None = None, length: int | None = None) -> bytes | None:
        """Returns an object, or `length` bytes from `start`, or the last `length` bytes; None if it does not exist."""
        store, key = self._at(key)
        part: Any = None
        if length is not None:
            part = SuffixByteRequest(length) if start is None else RangeByteRequest(start, start + length)
        buffer = self._call(store, "get", key, cpu.buffer_prototype, part)
        return None if buffer is None else buffer.to_bytes()

    def set(self, key: str, data: bytes) -> None:
        store, key = self._at(key)
        self._call(store, "set", key, cpu.Buffer.from_bytes(data))

    def create(self, key: str, data: bytes, tag: str) -> bool:
        """Creates an object, and returns whether it is new."""
        with self._creating:
            is_first = self.needs_metadata_first and self._at(key)[0] is self._store
            if self._exists(key) and not is_first:
                return False
            self.set(key, data)
            self._tags[key] = tag
            return True

    def tag(self, key: str) -> str | None:
        return self._tags.get(key) if self._exists(key) else None

    def remove(self, key: str) -> None:
        store, key = self._at(key)
        self._call(store, "delete", key)

    def remove_below(self, path: str, kept: str) -> None:
        """Removes all objects if the path is empty, otherwise the notes below the path, except `kept`."""
        if not path:
            self._tags.clear()
            self._call(self._store, "delete_dir", self._prefix.rstrip("/"))
        for key in self._call(self._hidden, "list_prefix", path):
            if key != kept:
                self._call(self._hidden, "delete", key)

    def is_empty(self) -> bool:
        store = self._call(self._store, "is_empty", self._prefix.rstrip("/"))
        return store and self._call(self._hidden, "is_empty", "")

    def keys(self, path: str) -> list[str]:
        store, path = self._at(path)
        return self._call(store, "list_prefix", path)

    def names(self, path: str) -> list[str]:
        """Returns the names directly below a path that may be arrays or groups."""
        store, path = self._at(path)
        names = {name.strip("/") for name in self._call(store, "list_dir", path.rstrip("/"))}
        return sorted(names - _NO_NODES)

    def check_writable(self) -> None:
        """Checks that trundle can write an output here, and remove it if a task fails."""
        store, name = self._store, type(self._store).__name__
        if not store.supports_listing:
            raise ValueError(f"dst is a {name}, which cannot list its keys: write to another store")
        if not store.supports_deletes and not self._call(store, "is_empty", ""):
            raise ValueError(
                f"dst is a {name}, which cannot delete its objects, so it must be empty: write to a new one"
            )


class RegisteredStore:
    """The objects below a path of a store, with an address for trundle while this object exists."""

    def __init__(self, store: Store, path: str) -> None:
        self.kind = type(store).__name__
        self.objects = StoreObjects(store, path)
        # The addresses of two paths of a store have the same prefix.
        name = f"{self.kind}.{_PROCESS}{os.getpid():x}{id(store):x}/{path}".rstrip("/")
        self.address = _trundle.StoreAddress(self.objects, name)


_PROCESS = secrets.token_hex(4)
_registered: WeakValueDictionary[tuple[int, int, str], RegisteredStore] = WeakValueDictionary()
_registering = threading.Lock()


def register(store: Store, path: str) -> RegisteredStore:
    """Registers a store, unless it is registered already."""
    try:
        loop: Any = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    if loop is _get_loop():
        raise ValueError(
            "trundle.zarr would wait for zarr-python's event loop in its own thread: call it in another one, as with asyncio.to_thread"
        )
    with _registering:
        # A forked process has other stores than its parent.
        key = (os.getpid(), id(store), path)
        found = _registered.get(key)
        if found is None:
            found = _registered[key] = RegisteredStore(store, path)
        return found
