"""Stores and files of tensors larger than memory, moved from one to another: Zarr, HDF5, .npy and what else the
program ``trundle`` reads and writes.

Nothing of them is loaded: a movement is a plan of numbered tasks, each of which reads, moves and writes some chunks
within a given amount of memory. They are done here, by an executor, or by any process that is told the number of one.

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
import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _trundle  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

__all__ = ["Plan", "apply", "finish", "plan", "run_task"]

Sizes = int | Sequence[int] | Mapping[str | int, int] | str | None


def apply(
    src: Any,
    chain: str,
    dst: str | os.PathLike[str],
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
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Apply a chain of operators to what is in a store or a file, into another one, which appears whole or not at all.

    Parameters
    ----------
    src : str, os.PathLike, zarr.Array or zarr.Group
        What is moved: a path, a ``file://`` or ``s3://`` URL, or an array or a group of a local store.
    chain : str
        The operators: an axis pattern with names (``"z y x -> x y z"``), calls (``"roll(shift=[1], axes=[0])"``), several
        of them separated by ``|``; an empty text only converts.
    dst : str or os.PathLike
        Where the result goes; its ending says the format.
    chunks, shards : int, sequence, mapping or str, optional
        The sizes of a Zarr store's chunks and shards: one for each axis of the result, or by name or number for some of
        them; -1 is all of an axis. None: those of the source, brought along.
    codec : str, optional
        What chunks go through when they are written: ``"none"``, ``"zstd:3"``, ``"blosc:lz4:5:shuffle"``, ``"gzip:6"``
        and what else ``--codec`` takes. None: the codecs of the source.
    max_mem : int or str, optional
        The bytes of memory that may be used, as a number or as ``"4GiB"``: by this process, or by each task of an
        `executor`. None: a quarter of what is free, shared among the workers.
    workers : int, optional
        How many tasks are done at once in this process. None: one after another, each with all threads.
    executor : concurrent.futures.Executor, optional
        Does the tasks: a process pool, the executor of a Dask client (``client.get_executor()``), of MPI, or another
        one that sees the same files.
    verify : bool, optional
        Whether each task reads back what it wrote and compares it with what it read.
    overwrite : bool, optional
        Whether a result that exists is replaced; it may be the source.
    tensor : str, optional
        Which tensor, or which of them by a pattern such as ``"t2*"``, where the source has several; others are kept.
    metadata_only : bool, optional
        Whether the chunks of a Zarr store are copied as they are encoded, and an order of axes is written as the codec
        ``transpose`` of the result. What cannot be moved so is a `ValueError`.
    progress : callable, optional
        Told the bytes written so far and all of them, after each task.

    Raises
    ------
    ValueError
        If the chain does not fit, or something else is refused before anything is written.
    FileExistsError
        If the result exists and may not be overwritten.
    OSError
        If something cannot be read or written. Nothing is left of the result then.
    """
    _check_progress(progress)
    if executor is not None:
        workers = _workers_of(executor) if max_mem is None else None
    planned = plan(
        src,
        chain,
        dst,
        chunks=chunks,
        shards=shards,
        codec=codec,
        max_mem=max_mem,
        workers=workers,
        verify=verify,
        overwrite=overwrite,
        tensor=tensor,
        metadata_only=metadata_only,
    )
    try:
        planned.run(executor=executor, workers=workers, progress=progress)
    except BaseException:
        # What is wrong is what is to be told, also if something of it has to stay.
        with contextlib.suppress(OSError, ValueError):
            planned.discard()
        raise


def plan(
    src: Any,
    chain: str,
    dst: str | os.PathLike[str],
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
    """Plan what `apply` does, as numbered tasks, and begin the result, which is hidden until it is finished.

    Parameters are those of `apply`, and:

    workers : int, optional
        How many share the memory, if `max_mem` is that of all.
    task_size : int or str, optional
        About how many bytes each task writes. None: a thousandth of the result, 64 MiB at least.
    """
    source, target = _path(src), _path(dst)
    if not _is_url(source) and not os.path.exists(source):
        raise FileNotFoundError(errno.ENOENT, "no such file or store", source)
    if os.path.exists(target) and not overwrite:
        raise FileExistsError(errno.EEXIST, "already exists; overwrite=True replaces it", target)
    options = {
        "chunks": _sizes(chunks),
        "shards": _sizes(shards),
        "codec": codec,
        "max_mem": None if max_mem is None else str(max_mem),
        "task_size": None if task_size is None else str(task_size),
        "tensor": tensor,
        "workers": 1 if workers is None else workers,
        "metadata_only": metadata_only,
        "verify": verify,
        "overwrite": overwrite,
    }
    return Plan(_trundle.plan_tasks(source, chain, target, options))


class Plan:
    """Numbered tasks that make a result, each of which any process can do that sees the same files.

    A task that is done twice, or twice at once, or ends early and is done again, changes nothing. Those of a stage need
    all of the stages before.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        tasks = json.loads(text)["tasks"]
        self.stages: list[range] = [
            range(stage["first"], stage["first"] + stage["tasks"]) for stage in tasks["stages"]
        ]
        """The numbers of the tasks of each stage."""
        self._bytes = [stage["bytes"] for stage in tasks["stages"]]

    def __len__(self) -> int:
        """How many tasks there are."""
        return sum(map(len, self.stages))

    def __repr__(self) -> str:
        stages = ", ".join(f"{each.start}-{each.stop - 1}" for each in self.stages)
        return f"<trundle.zarr.Plan of {len(self)} tasks: {stages}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, for `run_task` and ``trundle task``."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan that was saved, or that ``trundle plan --tasks`` wrote in the current folder."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def run(
        self,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Do all tasks that are not done, and let the result appear. Parameters are those of `apply`.

        Whatever a task raises is raised here, when those that run have ended; what is done stays, and `run` goes on with
        the rest.
        """
        from concurrent.futures import ThreadPoolExecutor

        _check_progress(progress)
        left = set(self.missing())
        done = sum(self._share(number) for number in range(len(self)) if number not in left)
        for stage in self.stages:
            numbers = [number for number in stage if number in left]
            if executor is not None:
                done = self._run_stage(executor, numbers, (None, None), done, progress)
            elif workers is not None and workers > 1:
                threads = -(-(os.cpu_count() or 1) // workers)
                stop = _trundle.Stop()
                with ThreadPoolExecutor(workers) as pool:
                    done = self._run_stage(pool, numbers, (threads, stop), done, progress)
            else:
                for number in numbers:
                    _run(self._text, number, None)
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

            # Ctrl-C stops tasks in the middle; after an error, those that run may end.
            _, stop = means
            if stop is not None and not isinstance(error, Exception):
                stop.set()
            for future in futures:
                future.cancel()
            wait(future for future in futures if not future.cancelled())
            raise
        return done

    def _share(self, number: int) -> int:
        """About the bytes that a task writes."""
        each = zip(self.stages, self._bytes, strict=True)
        return next(written // len(stage) for stage, written in each if number in stage)

    def missing(self) -> list[int]:
        """The tasks that are not done."""
        return _trundle.missing_tasks(self._text)

    def finish(self) -> None:
        """Let the result appear. OSError names the tasks that are missing, if there are any."""
        _trundle.finish_tasks(self._text)

    def discard(self) -> None:
        """Remove what was done."""
        _trundle.discard_tasks(self._text)


def run_task(path: str | os.PathLike[str], number: int, *, threads: int | None = None) -> bool:
    """Do the task of a number, of a plan that was saved; whether it was not done before."""
    with open(path, encoding="utf-8") as file:
        return _run(file.read(), number, threads)


def finish(path: str | os.PathLike[str]) -> None:
    """Let the result of a plan that was saved appear. OSError names the tasks that are missing, if there are any."""
    Plan.load(path).finish()


def _check_progress(progress: Any) -> None:
    """Check that `progress` can be called, before anything is written."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"progress must be callable, as in progress=lambda done, total: print(done, total), not {progress!r}"
        )


def _run(text: str, number: int, threads: int | None, stop: Any = None) -> bool:
    """Do a task: a function that other processes find."""
    return _trundle.run_task(text, number, threads, stop)


def _workers_of(executor: Executor) -> int | None:
    """How many tasks an executor does at once on this machine, as far as one can tell."""
    return getattr(executor, "_max_workers", None) or os.cpu_count()


def _is_url(path: str) -> bool:
    """Whether a path names something in a bucket."""
    return path.startswith("s3://")


def _path(given: Any) -> str:
    """The absolute path of a store or a file."""
    store = getattr(given, "store", None)
    if store is not None and not isinstance(given, (str, os.PathLike)):
        root = getattr(store, "root", None) or getattr(store, "path", None)
        if root is None:
            raise ValueError(f"a store in a local folder is needed, not {type(store).__name__}")
        return os.path.join(os.path.abspath(os.fspath(root)), getattr(given, "path", "")).rstrip("/")
    path = os.fspath(given)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path.startswith("file://"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(path).path)
    elif _is_url(path):
        return path
    elif "://" in path:
        raise ValueError(f"{path}: only local folders, files and s3:// are read and written")
    return os.path.abspath(path)


def _sizes(given: Sizes) -> str | None:
    """Sizes of chunks as the program takes them."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return ",".join(f"{axis}={size}" for axis, size in given.items())
    if isinstance(given, int):
        return str(given)
    return ",".join(str(int(size)) for size in given)
