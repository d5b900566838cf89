"""Functions that move tensors larger than memory between stores and files: Zarr, HDF5, .npy and the other formats of
``trundle``.

A plan consists of numbered tasks. Each task reads, moves and writes some chunks, within a limited amount of memory.
Tasks run in this process, on an executor, or in any other process that has the plan and the number of a task.

>>> import trundle
>>> trundle.zarr.apply(  # doctest: +SKIP
...     "era5.zarr",
...     "time lat lon -> lat lon time | roll(shift=720, dim=lon) | flip(dim=lat)",
...     "out.zarr",
...     chunks={"lat": 24, "lon": 48, "time": -1},
...     max_mem="4GiB",
... )
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _trundle  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from ._zarr_store import RegisteredStore

__all__ = ["Plan", "apply", "finish", "plan", "run_task"]

_SCHEMES = ("s3://", "gs://", "az://", "abfs://", "abfss://", "http://", "https://")

Sizes = int | Sequence[int] | Mapping[str | int, int] | str | None


def apply(
    src: Any,
    chain: str,
    dst: Any,
    *,
    chunks: Sizes = None,
    shards: Sizes = None,
    codec: str | None = None,
    max_mem: int | str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    verify: bool = False,
    overwrite: bool = False,
    tensor: str | None = None,
    metadata_only: bool = False,
    append: str | int | None = None,
    region: Mapping[str | int, slice] | None = None,
    ignore_attrs: Sequence[str] = (),
    resume: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Applies a chain of operators to a store or a file and writes the result to another one.

    The result becomes visible when it is complete. After an error, there is no result. `append` and `region` add to an
    existing store instead.

    Parameters
    ----------
    src : str, os.PathLike, zarr.Array, zarr.Group or zarr.abc.store.Store
        The source: a path, a ``file://`` URL, a URL of a bucket (``s3://``, ``gs://``, ``az://``, ``abfs://``,
        ``abfss://``) or of an HTTP server, or any store of zarr-python, or an array or a group in one.
    chain : str
        The operators: an axis pattern with names (``"z y x -> x y z"``), a call (``"roll(shift=[1], axes=[0])"``), or
        several of these separated by ``|``. An empty chain converts the source to the format of the destination.
    dst : str, os.PathLike, zarr.abc.store.Store or zarr.storage.StorePath
        The destination. The extension of a path determines the format. A store of zarr-python must be empty at this
        path, unless `append` or `region` is given.
    chunks, shards : int, sequence, mapping or str, optional
        The chunk and shard sizes of a Zarr store: one for each axis of the result, or a mapping from axis names or
        numbers to sizes. -1 is the size of the whole axis. If both are None, each axis keeps its sizes from the source.
        If only `chunks` is given, there are no shards.
    codec : str, optional
        The codecs of the chunks, as ``--codec`` takes them: ``"none"``, ``"zstd:3"``, ``"blosc:lz4:5:shuffle"``,
        ``"gzip:6"``. If None, the codecs of the source.
    max_mem : int or str, optional
        The memory limit, in bytes or as a string such as ``"4GiB"``. It applies to this process, or to each task of an
        `executor`. If None, all workers together use a quarter of the free memory.
    workers : int, optional
        The number of tasks that run concurrently in this process. If None, one task at a time, with all threads.
    executor : concurrent.futures.Executor, optional
        Runs the tasks: a process pool, the executor of a Dask client (``client.get_executor()``) or of MPI, or any
        other whose workers see the same files. Stores that are not local exist in one process only, and need `workers`
        or a `ThreadPoolExecutor`.
    verify : bool, optional
        Whether each task reads its output back and compares it with the source.
    overwrite : bool, optional
        Whether an existing file or local store is replaced. The destination may be the source.
    tensor : str, optional
        If the source has several tensors, the name of one, or a pattern such as ``"t2*"``. All other tensors are copied
        unchanged.
    metadata_only : bool, optional
        Whether the chunks of a Zarr store are copied without decoding, and a new axis order is written as the codec
        ``transpose`` of the result. Raises `ValueError` if the chain cannot be applied that way.
    append : str or int, optional
        The name or the number of an axis. The result is written after the last element along this axis of the arrays in
        the existing Zarr store `dst`, which keeps its chunks, codecs and attributes. Runs in this process with all
        threads, without `workers` and `executor`.
    region : mapping, optional
        Ranges of axes, such as ``{"time": slice(100, 200)}``. As `append`, but the result replaces these elements.
    ignore_attrs : sequence of str, optional
        With `append` or `region`, the attributes such as ``"units"`` that may differ between the source and `dst`.
        `dst` keeps its own.
    resume : bool, optional
        Whether to finish a call with `append` or `region` that was interrupted.
    progress : callable, optional
        Called after each task with two numbers: the bytes written so far, and all bytes that will be written. With
        `append` or `region`, called once, at the end.

    Raises
    ------
    ValueError
        If the chain does not fit the source or an argument is invalid. Nothing has been written in this case.
    FileExistsError
        If the destination exists, and `overwrite` is false or the store is not local.
    OSError
        If the source cannot be read or the destination cannot be written. The message has the exception of a store of
        zarr-python.
    """
    _check_progress(progress)
    given: dict[str, Any] = {
        "chunks": chunks,
        "shards": shards,
        "codec": codec,
        "max_mem": max_mem,
        "tensor": tensor,
        "metadata_only": metadata_only,
        "verify": verify,
        "overwrite": overwrite,
    }
    addition = _addition(append, region)
    if addition is not None:
        if workers is not None or executor is not None:
            raise ValueError("append and region use all threads of this process: leave out workers and executor")
        ignored = [ignore_attrs] if isinstance(ignore_attrs, str) else list(ignore_attrs)
        written = _add(src, chain, dst, given, {"addition": addition, "ignore_attrs": ignored, "resume": resume})
        if progress is not None:
            progress(written, written)
        return
    if resume or ignore_attrs:
        name = "resume" if resume else "ignore_attrs"
        raise ValueError(f"{name} belongs to append and region: leave it out without them")
    _check_executor(executor, _foreign(src), _foreign(dst))
    if executor is not None:
        workers = _workers_of(executor) if max_mem is None else None
    planned = plan(src, chain, dst, workers=workers, **given)
    try:
        planned.run(executor=executor, workers=workers, progress=progress)
    except BaseException:
        # Raise the original error, even if the leftovers cannot be removed.
        with contextlib.suppress(OSError, ValueError):
            planned.discard()
        raise


def plan(
    src: Any,
    chain: str,
    dst: Any,
    *,
    chunks: Sizes = None,
    shards: Sizes = None,
    codec: str | None = None,
    max_mem: int | str | None = None,
    workers: int | None = None,
    verify: bool = False,
    overwrite: bool = False,
    tensor: str | None = None,
    metadata_only: bool = False,
    task_size: int | str | None = None,
) -> Plan:
    """Plans a call of `apply` as numbered tasks, and creates the unfinished result.

    The result is hidden until `Plan.finish`.

    Parameters
    ----------
    src, chain, dst, chunks, shards, codec, max_mem, verify, overwrite, tensor, metadata_only
        As in `apply`. `max_mem` is the limit for all workers together.
    workers : int, optional
        The number of workers that share the memory. If None, one worker.
    task_size : int or str, optional
        The approximate number of bytes that each task writes. If None, a thousandth of the result, but at least 64 MiB.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError, FileExistsError, OSError
        As `apply`.

    Examples
    --------
    >>> plan = trundle.zarr.plan("in.zarr", "flip(0)", "out.zarr", max_mem="4GiB")  # doctest: +SKIP
    >>> plan.run(workers=2)  # doctest: +SKIP
    """
    _check_writable(dst)
    stores: list[RegisteredStore] = []
    source, target = _path(src, stores), _path(dst, stores)
    if _foreign(dst):
        stores[-1].objects.check_writable()
        if target.startswith(f"{source}/"):
            raise ValueError("dst is within src: choose another path or store")
    options = _options(
        dst,
        chunks=chunks,
        shards=shards,
        codec=codec,
        max_mem=max_mem,
        tensor=tensor,
        metadata_only=metadata_only,
        verify=verify,
        overwrite=overwrite,
        task_size=None if task_size is None else str(task_size),
        workers=1 if workers is None else workers,
    )
    return Plan(_trundle.plan_tasks(source, chain, target, options, _stop(stores)), stores)


class Plan:
    """Numbered tasks that write a result. Any process that sees the same files can run them.

    `plan` and `Plan.load` create it. Running a task again, in two processes at once, or after an interruption does not
    change the result. A task may run only after all tasks of the previous stages have finished.
    """

    def __init__(self, text: str, stores: Sequence[RegisteredStore] = ()) -> None:
        self._text, self._stores = text, stores
        tasks = json.loads(text)["tasks"]
        self.stages: list[range] = [
            range(stage["first"], stage["first"] + stage["tasks"]) for stage in tasks["stages"]
        ]
        """The task numbers of each stage."""
        self._bytes = [stage["bytes"] for stage in tasks["stages"]]

    def __len__(self) -> int:
        """The number of tasks."""
        return sum(map(len, self.stages))

    def __repr__(self) -> str:
        stages = ", ".join(f"{each.start}-{each.stop - 1}" for each in self.stages)
        return f"<trundle.zarr.Plan of {len(self)} tasks: {stages}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file, for `run_task` and ``trundle task``.

        Raises OSError if the file cannot be written, and ValueError if the plan reads or writes a store that only this
        process has.
        """
        for store in self._stores:
            raise ValueError(
                f"the {store.kind} of this plan exists only in this process: call run(workers=N) instead of save"
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Reads a plan from a file that `save` or ``trundle plan --tasks`` has written.

        A plan of ``trundle plan --tasks`` may have relative paths. Load it in the folder in which it was made.

        Raises OSError if the file cannot be read.
        """
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def run(
        self,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Runs all tasks that are not finished, and then finishes the plan.

        After an error, the results of finished tasks are kept. Call `run` again to run the other tasks.

        Parameters
        ----------
        executor, workers, progress
            As in `apply`.

        Raises
        ------
        ValueError, OSError
            The first error of a task, after the running tasks have ended.
        """
        from concurrent.futures import ThreadPoolExecutor

        _check_progress(progress)
        _check_executor(executor, *(store.kind for store in self._stores))
        left = set(self.missing())
        done = sum(self._share(number) for number in range(len(self)) if number not in left)
        for stage in self.stages:
            numbers = [number for number in stage if number in left]
            if executor is not None:
                stop = _stop(self._stores) if self._stores else None
                done = self._run_stage(executor, numbers, (None, stop), done, progress)
            elif workers is not None and workers > 1:
                threads = -(-(os.cpu_count() or 1) // workers)
                stop = _stop(self._stores)
                with ThreadPoolExecutor(workers) as pool:
                    done = self._run_stage(pool, numbers, (threads, stop), done, progress)
            else:
                for number in numbers:
                    _run(self._text, number, None, _stop(self._stores))
                    done += self._share(number)
                    if progress is not None:
                        progress(done, sum(self._bytes))
        self.finish()

    def _run_stage(
        self,
        executor: Executor,
        numbers: list[int],
        means: tuple[int | None, Any],
        done: int,
        progress: Callable[[int, int], object] | None,
    ) -> int:
        from concurrent.futures import as_completed

        futures: dict[Future[bool], int] = {
            executor.submit(_run, self._text, number, *means): number for number in numbers
        }
        try:
            for future in as_completed(futures):
                future.result()
                done += self._share(futures[future])
                if progress is not None:
                    progress(done, sum(self._bytes))
        except BaseException as error:
            from concurrent.futures import wait

            # Ctrl-C stops the tasks that are running. After an error in a task, the other running tasks still finish.
            _, stop = means
            for future in futures:
                future.cancel()
            running = [future for future in futures if not future.cancelled()]
            if stop is not None and not isinstance(error, Exception):
                stop.set()
                # Until the tasks end, they may begin further calls of stores.
                while wait(running, timeout=0.05).not_done:
                    stop.set()
            wait(running)
            raise
        return done

    def _share(self, number: int) -> int:
        """The approximate number of bytes that a task writes."""
        each = zip(self.stages, self._bytes, strict=True)
        return next(written // len(stage) for stage, written in each if number in stage)

    def missing(self) -> list[int]:
        """Returns the numbers of the tasks that are not finished.

        Raises ValueError if the unfinished result was removed, OSError if it cannot be read.
        """
        return _trundle.missing_tasks(self._text, _stop(self._stores))

    def finish(self) -> None:
        """Makes the result visible.

        Raises OSError if tasks are not finished; the message has their numbers. Raises ValueError if the unfinished
        result was removed.
        """
        _trundle.finish_tasks(self._text, _stop(self._stores))

    def discard(self) -> None:
        """Removes the unfinished result.

        Raises OSError if it cannot be removed.
        """
        _trundle.discard_tasks(self._text, _stop(self._stores))


def run_task(path: str | os.PathLike[str], number: int, *, threads: int | None = None) -> bool:
    """Runs a task of a saved plan.

    Parameters
    ----------
    path : str or os.PathLike
        A file of `Plan.save` or ``trundle plan --tasks``.
    number : int
        The number of the task, from 0.
    threads : int, optional
        The maximum number of threads. If None, the number of cores available to the process.

    Returns
    -------
    bool
        False if the task had been finished before.

    Raises
    ------
    ValueError
        If there is no such task, or if the unfinished result was removed.
    OSError
        If tasks of an earlier stage are not finished, or if a file cannot be read or written.
    """
    with open(path, encoding="utf-8") as file:
        return _run(file.read(), number, threads)


def finish(path: str | os.PathLike[str]) -> None:
    """Makes the result of a saved plan visible.

    Parameters
    ----------
    path : str or os.PathLike
        A file of `Plan.save` or ``trundle plan --tasks``.

    Raises
    ------
    OSError
        If tasks are not finished. The message has their numbers.
    ValueError
        If the unfinished result was removed.
    """
    Plan.load(path).finish()


def _check_progress(progress: Any) -> None:
    """Checks that `progress` is callable, before anything is written."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"progress must be callable, as in progress=lambda done, total: print(done, total), not {progress!r}"
        )


def _run(text: str, number: int, threads: int | None, stop: Any = None) -> bool:
    """Runs a task. This is a function of the module, so that executors can pickle it."""
    return _trundle.run_task(text, number, threads, stop or _stop())


def _stop(stores: Sequence[RegisteredStore] = ()) -> Any:
    """A flag that stops tasks which use these stores."""
    return _trundle.Stop([store.objects for store in stores])


def _check_executor(executor: Any, *stores: str | None) -> None:
    """Checks that all tasks run in this process if they need a store of this process."""
    from concurrent.futures import ThreadPoolExecutor

    name = next(filter(None, stores), None)
    is_here = isinstance(executor, ThreadPoolExecutor) and "Interpreter" not in type(executor).__name__
    if executor is None or name is None or is_here:
        return
    raise ValueError(
        f"executor is a {type(executor).__name__}, but a {name} exists only in this process: use workers=N instead, or the path or URL of the store"
    )


def _workers_of(executor: Executor) -> int | None:
    """The number of tasks that an executor runs concurrently; if unknown, the number of CPUs."""
    return getattr(executor, "_max_workers", None) or os.cpu_count()


def _store(given: Any) -> tuple[Any, str]:
    """The store of a store, an array or a group of zarr-python, and the path in it; None for other objects."""
    if isinstance(given, (str, os.PathLike)):
        return None, ""
    if isinstance(given, getattr(sys.modules.get("zarr.abc.store"), "Store", ())):
        return given, ""
    return getattr(given, "store", None), getattr(given, "path", "")


def _foreign(given: Any) -> str | None:
    """The name of the class of a store that only its methods can read. A subclass of LocalStore may be one."""
    store, _ = _store(given)
    is_store = isinstance(store, getattr(sys.modules.get("zarr.abc.store"), "Store", ()))
    is_local = is_store and type(store) is sys.modules["zarr.storage"].LocalStore
    return type(store).__name__ if is_store and not is_local else None


def _check_writable(dst: Any) -> None:
    store, _ = _store(dst)
    if getattr(store, "read_only", False) or not getattr(store, "supports_writes", True):
        raise ValueError(f"dst is a {type(store).__name__} that is read-only: open the store for writing")


def _path(given: Any, stores: list[RegisteredStore]) -> str:
    """The path, the URL or the address of a source or a destination. Adds the store to `stores` if it has an address."""
    store, within = _store(given)
    if _foreign(given):
        from ._zarr_store import register

        stores.append(register(store, within.strip("/")))
        return str(stores[-1].address)
    if store is not None:
        root = getattr(store, "root", None) or getattr(store, "path", None)
        if root is None:
            raise ValueError(f"a path or a store of zarr-python 3 is needed, not {type(store).__name__}")
        return os.path.join(os.path.abspath(os.fspath(root)), within).rstrip("/")
    path = os.fspath(given)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path.startswith("file://"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(path).path)
    elif path.startswith(_SCHEMES):
        return path
    elif "://" in path:
        raise ValueError(f"{path}: the URL must begin with file:// or one of {' '.join(_SCHEMES)}")
    return os.path.abspath(path)


def _options(dst: Any, **given: Any) -> dict[str, Any]:
    """The keyword arguments of the native functions."""
    options = {"task_size": None, "workers": 1, "addition": None, "ignore_attrs": [], "resume": False, **given}
    # The name of a store may have no extension.
    options["format"] = None if _store(dst)[0] is None else "zarr"
    options["chunks"], options["shards"] = _sizes(given["chunks"]), _sizes(given["shards"])
    options["max_mem"] = None if given["max_mem"] is None else str(given["max_mem"])
    return options


def _add(src: Any, chain: str, dst: Any, given: Mapping[str, Any], more: Mapping[str, Any]) -> int:
    """Adds to an existing store, and returns the number of bytes written."""
    names = ("chunks", "shards", "codec", "metadata_only", "overwrite")
    unused = [name for name in names if given[name]]
    if unused:
        raise ValueError(f"append and region keep the chunks and codecs of dst: leave out {' and '.join(unused)}")
    if _foreign(dst) and _store(dst)[1].strip("/"):
        raise ValueError(
            "append and region need the whole store as dst; a tensor of src belongs to the array of its name, such as daily/t2m"
        )
    _check_writable(dst)
    stores: list[RegisteredStore] = []
    source, target = _path(src, stores), _path(dst, stores)
    written: int = _trundle.add_to(source, chain, target, _options(dst, **given, **more), _stop(stores))
    return written


def _addition(append: str | int | None, region: Mapping[str | int, slice] | None) -> str | None:
    """The axis or the ranges in the program's format."""
    if append is not None and region is not None:
        raise ValueError("append and region exclude each other")
    if region is None:
        return None if append is None else _axis("append", append)
    if not isinstance(region, Mapping) or not region:
        raise ValueError(f"region is {region!r}: expected a mapping such as {{'time': slice(100, 200)}}")
    ranges = []
    for axis, part in region.items():
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise ValueError(f"region is {part!r} along {axis!r}: expected slice(BEGIN, END)")
        begin, end = (None if bound is None else operator.index(bound) for bound in (part.start, part.stop))
        if (begin or 0) < 0 or (end or 0) < 0:
            raise ValueError(f"region is {part!r} along {axis!r}: negative indices are not supported")
        ranges.append(f"{_axis('region', axis)}={begin or 0}:{'' if end is None else end}")
    return ",".join(ranges)


def _axis(parameter: str, axis: str | int) -> str:
    if isinstance(axis, bool) or not isinstance(axis, (str, int)) or any(mark in str(axis) for mark in "=,"):
        raise ValueError(f"{parameter} has the axis {axis!r}: expected a name without = and commas, or a number")
    return str(axis)


def _sizes(given: Sizes) -> str | None:
    """Chunk sizes in the program's format."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return ",".join(f"{axis}={size}" for axis, size in given.items())
    if isinstance(given, int):
        return str(given)
    return ",".join(str(int(size)) for size in given)
