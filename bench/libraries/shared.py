"""C libraries that are called on numpy arrays."""

import ctypes
import ctypes.util
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .chain import run_shape


def load(name):
    """Loads a library from a pip package or from the system."""
    if of_pip := sorted(Path(sys.prefix, "lib").glob(f"lib{name}.so*")):
        return load_with_needed(of_pip[0])
    if of_system := ctypes.util.find_library(name):
        return ctypes.CDLL(of_system)
    raise ImportError(f"no library {name}")


def load_with_needed(path):
    """Loads a library after its dependencies in the same folder, which the system does not search."""
    while True:
        try:
            return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        except OSError as error:
            needed = re.match(r"(lib\S+): cannot open shared object file", str(error))
            if needed is None or not path.with_name(needed[1]).exists():
                raise ImportError(str(error)) from error
            load_with_needed(path.with_name(needed[1]))


def function(library, name, *arguments, result=ctypes.c_int):
    found = getattr(library, name)
    found.argtypes, found.restype = arguments, result
    return found


class Stepwise:
    """A library without chains: one operator after another, each with its own result array."""

    def __init__(self, threads):
        self.threads = threads

    def prepare(self, operators, x):
        # Calls may have only the addresses of the arrays.
        calls, arrays = [], [x]
        for name, arguments, named in operators:
            shape = run_shape([(name, arguments, named)], arrays[-1].shape)
            if name == "reshape":
                arrays.append(arrays[-1].reshape(shape))
                continue
            arrays.append(np.empty(shape, x.dtype))
            calls.append(self.step(name, arguments, named, *arrays[-2:]))

        def run():
            for call in calls:
                call()
            return arrays[-1]

        return run

    def step(self, name, arguments, named, x, out):
        raise NotImplementedError


class Workers:
    """Threads for a library that has only one."""

    def __init__(self, threads):
        self.threads, self.pool = threads, ThreadPoolExecutor(threads)

    def run(self, calls):
        """Returns a function that makes all calls, pairs of a function and its arguments."""
        share = -(-len(calls) // self.threads)
        shares = [calls[at : at + share] for at in range(0, len(calls), share)]
        if len(shares) == 1:
            return lambda: make(calls)
        return lambda: list(self.pool.map(make, shares))


def make(calls):
    for function, arguments in calls:
        function(*arguments)
