"""C libraries for linear algebra, Fourier transforms and neural networks."""

import ctypes
from ctypes import POINTER, byref, c_char, c_double, c_float, c_int, c_int64, c_size_t, c_void_p

import numpy as np

from .chain import Matrices, Unsupported, merged
from .shared import Stepwise, function, load


def strides(sizes):
    return [int(np.prod(sizes[axis + 1 :])) for axis in range(len(sizes))]


def only_transpose(name):
    if name != "transpose":
        raise Unsupported


class ComplexFloat(ctypes.Structure):
    _fields_ = [("real", c_float), ("imaginary", c_float)]


class ComplexDouble(ctypes.Structure):
    _fields_ = [("real", c_double), ("imaginary", c_double)]


class Mkl(Stepwise):
    """`mkl_?omatcopy`, or `mkl_?omatcopy_batch_strided` for several matrices."""

    name = "MKL"

    # The letter in the function's name, and the factor 1.
    TYPES = {
        "float32": ("S", c_float(1)),
        "float64": ("D", c_double(1)),
        "complex64": ("C", ComplexFloat(1, 0)),
        "complex128": ("Z", ComplexDouble(1, 0)),
    }

    def __init__(self, threads):
        super().__init__(threads)
        self.library = load("mkl_rt")
        self.library.MKL_Set_Num_Threads(threads)

    def step(self, name, arguments, named, x, out):
        only_transpose(name)
        matrices = Matrices.of(arguments, x)
        if x.dtype.name not in self.TYPES or matrices.width != x.itemsize:
            raise Unsupported
        letter, one = self.TYPES[x.dtype.name]
        rows, columns = matrices.rows, matrices.columns
        start = (c_char, c_char, c_size_t, c_size_t, type(one), c_void_p, c_size_t)
        values = (b"R", b"T", rows, columns, one, x.ctypes.data, columns)
        if matrices.count == 1:
            types = (*start, c_void_p, c_size_t)
            move = function(self.library, f"MKL_{letter}omatcopy", *types, result=None)
            return lambda: move(*values, out.ctypes.data, rows)
        types = (*start, c_size_t, c_void_p, c_size_t, c_size_t, c_size_t)
        name = f"MKL_{letter}omatcopy_batch_strided"
        move = function(self.library, name, *types, result=None)
        each = rows * columns
        return lambda: move(*values, each, out.ctypes.data, rows, each, matrices.count)


class Dimension(ctypes.Structure):
    """`fftw_iodim64`."""

    _fields_ = [("n", c_int64), ("input_stride", c_int64), ("output_stride", c_int64)]


class Fftw(Stepwise):
    """Transforms without axes, which are copies. FFTW's guru interface accepts any strides."""

    name = "FFTW"

    # The suffix of the library's name, the letter of its functions, and the transform.
    TYPES = {
        "float32": ("3f", "f", "r2r"),
        "float64": ("3", "", "r2r"),
        "complex64": ("3f", "f", "dft"),
        "complex128": ("3", "", "dft"),
    }

    # `FFTW_MEASURE` times candidates for at most this many seconds.
    MEASURE, SECONDS = 0, 2

    def __init__(self, threads):
        super().__init__(threads)
        self.libraries = {}
        for end, letter in (("3f", "f"), ("3", "")):
            library = load(f"fftw{end}")
            threaded = load(f"fftw{end}_threads")
            function(threaded, f"fftw{letter}_init_threads")()
            function(threaded, f"fftw{letter}_plan_with_nthreads", c_int)(threads)
            function(library, f"fftw{letter}_set_timelimit", c_double)(self.SECONDS)
            self.libraries[end] = library

    def step(self, name, arguments, named, x, out):
        only_transpose(name)
        if x.dtype.name not in self.TYPES:
            raise Unsupported
        end, letter, transform = self.TYPES[x.dtype.name]
        order, sizes = merged(arguments, x.shape)
        source, target = strides(sizes), strides([sizes[axis] for axis in order])
        dimensions = (Dimension * len(order))(
            *(Dimension(sizes[axis], source[axis], to) for axis, to in zip(order, target))
        )
        pointer = POINTER(Dimension)
        types = [c_int, pointer, c_int, pointer, c_void_p, c_void_p]
        # Functions for real numbers take a list of kinds, functions for complex numbers a sign.
        types += [c_void_p if transform == "r2r" else c_int, ctypes.c_uint]
        library, data = self.libraries[end], (x.ctypes.data, out.ctypes.data)
        make = function(library, f"fftw{letter}_plan_guru64_{transform}", *types, result=c_void_p)
        before = x.copy()
        kind = None if transform == "r2r" else -1
        plan = make(0, None, len(order), dimensions, *data, kind, self.MEASURE)
        # Measuring overwrites both arrays.
        x[...] = before
        if plan is None:
            raise Unsupported
        execute = function(library, f"fftw{letter}_execute", c_void_p, result=None)
        return lambda: execute(plan)


class Argument(ctypes.Structure):
    """`dnnl_exec_arg_t`."""

    _fields_ = [("index", c_int), ("memory", c_void_p)]


class OneDnn(Stepwise):
    """A reorder between two descriptions of the result's axes that have different strides."""

    name = "oneDNN"

    # `dnnl_data_type_t`. Two-byte elements are passed as bf16, whose bits are kept only if the innermost
    # axis moves; otherwise NaN and subnormal numbers change.
    TYPES = {"uint8": 6, "uint16": 2, "float32": 3}
    CPU, IN_ORDER, FROM, TO, MOST_AXES = 1, 1, 1, 17, 12

    def __init__(self, threads):
        super().__init__(threads)
        self.library = load("dnnl")
        if not hasattr(self.library, "dnnl_memory_desc_create_with_strides"):
            raise ImportError("oneDNN is older than 3")
        self.engine = self.made("dnnl_engine_create", c_int(self.CPU), c_size_t(0))
        self.stream = self.made("dnnl_stream_create", self.engine, c_int(self.IN_ORDER))

    def made(self, name, *arguments):
        """Calls a function whose first parameter is the output."""
        handle = c_void_p()
        if status := getattr(self.library, name)(byref(handle), *arguments):
            raise RuntimeError(f"{name}: status {status}")
        return handle

    def memory(self, x, sizes, steps):
        dimensions = (c_int64 * len(sizes))(*sizes), (c_int64 * len(sizes))(*steps)
        kind = c_int(self.TYPES[x.dtype.name])
        make = "dnnl_memory_desc_create_with_strides"
        described = self.made(make, c_int(len(sizes)), dimensions[0], kind, dimensions[1])
        return described, self.made(
            "dnnl_memory_create", described, self.engine, c_void_p(x.ctypes.data)
        )

    def step(self, name, arguments, named, x, out):
        only_transpose(name)
        order, sizes = merged(arguments, x.shape)
        if x.dtype.name not in self.TYPES or len(order) > self.MOST_AXES:
            raise Unsupported
        if x.itemsize == 2 and order[-1:] == (len(order) - 1,):
            raise Unsupported
        moved = [sizes[axis] for axis in order]
        source, source_memory = self.memory(x, moved, [strides(sizes)[axis] for axis in order])
        target, target_memory = self.memory(out, moved, strides(moved))
        make = "dnnl_reorder_primitive_desc_create"
        plan = self.made(make, source, self.engine, target, self.engine, None)
        primitive = self.made("dnnl_primitive_create", plan)
        memories = (Argument(self.FROM, source_memory), Argument(self.TO, target_memory))
        call = (Argument * 2)(*memories)
        library = self.library

        def run():
            library.dnnl_primitive_execute(primitive, self.stream, 2, call)
            library.dnnl_stream_wait(self.stream)

        return run
