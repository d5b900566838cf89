"""The parts of CuPy that trundle uses, on an emulated driver, so that the tests need no GPU.

Names and behaviour match CuPy 14. Arrays are in the driver's memory, which is CPU memory, so that a
test can see which work is done and which is only queued.
"""

import contextlib
import ctypes
import subprocess
import sys
import types
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).parents[2] / "trundle-cuda" / "emulated"
NON_BLOCKING = 1


def driver(folder):
    """Returns a reason if trundle cannot find the emulated driver."""
    try:
        return ctypes.CDLL("libcuda.so"), "this machine has a driver of NVIDIA's"
    except OSError:
        pass
    try:
        subprocess.run([SOURCE / "build.sh", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return None, f"the emulated driver is not compiled: {error}"
    # Later requests for this name get this library.
    return ctypes.CDLL(str(Path(folder) / "libcuda.so.1"), ctypes.RTLD_GLOBAL), None


class Emulated:
    def __init__(self, library):
        self.library = library
        self.contexts = {}
        self.current = [0]
        self.streams = {}
        self.call("cuInit", 0)
        self.module = types.ModuleType("cupy")
        self.module.cuda = types.ModuleType("cupy.cuda")
        self.module.ndarray = type("ndarray", (Array,), {"__module__": "cupy"})
        self.module.empty = self.empty
        self.module.cuda.get_current_stream = self.get_current_stream

    def installed(self):
        return {"cupy": self.module, "cupy.cuda": self.module.cuda}

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: the driver says {code}")

    def on(self, device_id):
        if device_id not in self.contexts:
            device, context = ctypes.c_int(), ctypes.c_void_p()
            self.call("cuDeviceGet", ctypes.byref(device), device_id)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts[device_id] = context
        self.call("cuCtxSetCurrent", self.contexts[device_id])

    def stream(self, device_id=0):
        self.on(device_id)
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        return Stream(self, device_id, stream.value)

    def get_current_stream(self, device_id):
        return self.streams.get(device_id) or Stream(self, device_id, 0)

    def empty(self, shape, dtype):
        device_id, dtype = self.current[-1], np.dtype(dtype)
        self.on(device_id)
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        memory = (ctypes.c_uint8 * size).from_address(address.value)
        return self.module.ndarray(self, device_id, np.frombuffer(memory, dtype).reshape(shape))

    def array(self, values):
        """An array with these values on the current device, copied synchronously."""
        made = self.empty(values.shape, values.dtype)
        made.memory[...] = values
        return made


class Stream:
    def __init__(self, emulated, device_id, ptr):
        self.emulated, self.device_id, self.ptr = emulated, device_id, ptr

    def __enter__(self):
        self.before = self.emulated.streams.get(self.device_id)
        self.emulated.streams[self.device_id] = self
        return self

    def __exit__(self, *_):
        self.emulated.streams[self.device_id] = self.before

    def synchronize(self):
        self.emulated.on(self.device_id)
        self.emulated.call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))

    @contextlib.contextmanager
    def captured(self):
        self.emulated.on(self.device_id)
        self.emulated.call("cuStreamBeginCapture_v2", ctypes.c_void_p(self.ptr), 0)
        try:
            yield
        finally:
            graph = ctypes.c_void_p()
            self.emulated.call("cuStreamEndCapture", ctypes.c_void_p(self.ptr), ctypes.byref(graph))


class Device:
    def __init__(self, emulated, id):
        self.emulated, self.id = emulated, id

    def __enter__(self):
        self.emulated.current.append(self.id)
        return self

    def __exit__(self, *_):
        self.emulated.current.pop()


class Array:
    """`memory` is a numpy array that shares the memory of the array."""

    def __init__(self, emulated, device_id, memory):
        self.emulated, self.device_id, self.memory = emulated, device_id, memory

    shape = property(lambda self: self.memory.shape)
    dtype = property(lambda self: self.memory.dtype)
    device = property(lambda self: Device(self.emulated, self.device_id))

    def __getitem__(self, key):
        return type(self)(self.emulated, self.device_id, self.memory[key])

    def transpose(self, *axes):
        return type(self)(self.emulated, self.device_id, self.memory.transpose(*axes))

    def get(self):
        """Synchronises the current stream."""
        self.emulated.get_current_stream(self.device_id).synchronize()
        return self.memory.copy()

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack_device__(self):
        return 2, self.device_id

    def __dlpack__(self, *, stream=None, max_version=None):
        assert stream == -1, "trundle moves on the current stream, and must not wait for it"
        capsule = self.memory.__dlpack__(max_version=max_version)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # After version, owner, deleter, flags and address.
        device = pointer(capsule, b"dltensor_versioned") + 40
        (ctypes.c_int32 * 2).from_address(device)[:] = self.__dlpack_device__()
        return capsule
