"""Libraries that move PyTorch's tensors where they are: on an NVIDIA GPU, or on the CPU to test the scripts.

The classes are like the other libraries, but the constructor takes a PyTorch device, and `prepare` a tensor. Results
are tensors or CuPy arrays (on the CPU, numpy arrays).
"""

import ctypes
import importlib.util
from ctypes import byref, c_double, c_float, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path

import numpy as np

from . import frameworks
from .chain import Unsupported, lengths, run_shape
from .shared import load, load_with_needed


def lengths_of(named, shape):
    """Returns one length for each batch entry or each lane."""
    size = shape[named["axis"]]
    if "batch_axis" in named:
        return lengths(shape[named["batch_axis"]], size)
    lanes = [1 if axis == named["axis"] else each for axis, each in enumerate(shape)]
    return lengths(np.prod(lanes), size).reshape(lanes)


class Trundle:
    """The package's functions: one operator, or a chain."""

    name = "trundle"

    def __init__(self, device):
        import trundle

        self.functions, self.chain = trundle, trundle.chain

    def prepare(self, operators, x):
        given, stages, shape = {}, [], x.shape
        for name, arguments, named in operators:
            if name == "reverse":
                given = {"lengths": lengths_of(named, shape)}
                named = {**named, "lengths": "lengths"}
            named = [f"{name}={value}" for name, value in named.items()]
            stages.append(f"{name}({', '.join([*map(str, arguments), *named])})")
            shape = run_shape([operators[len(stages) - 1]], shape)
        if len(operators) != 1:
            return self.of_chain(" | ".join(stages), x, given)
        (name, arguments, named), functions = operators[0], self.functions
        if name == "transpose":
            order = arguments or tuple(range(x.ndim))[::-1]
            return lambda: functions.permute_dims(x, order)
        if name == "flip":
            return lambda: functions.flip(x, named["axes"])
        if name == "roll":
            return lambda: functions.roll(x, named["shift"], named["axes"])
        if name == "reverse" and "batch_axis" in named:
            table, axis, batch_axis = given["lengths"], named["axis"], named["batch_axis"]
            return lambda: functions.reverse_sequence(x, table, axis, batch_axis)
        if name == "reverse":
            return lambda: functions.reverse_subsequences(x, given["lengths"], named["axis"])
        raise Unsupported

    def of_chain(self, text, x, given):
        if not text:
            return lambda: self.functions.ascontiguousarray(x)
        chain = self.chain(text)
        return lambda: chain(x, **given)


class TrundleTorch(Trundle):
    """The operators in trundle.torch."""

    name = "trundle.torch"

    def __init__(self, device):
        import trundle.torch

        self.functions = trundle.torch

    def of_chain(self, text, x, given):
        if not text:
            raise Unsupported
        return lambda: self.functions.chain(x, text, **given)


class Torch(frameworks.Torch):
    """Ordinary PyTorch code: one operator after another. Reversals gather elements at indices."""

    def __init__(self, device):
        import torch

        self.torch, self.device = torch, device

    def prepare(self, operators, x):
        move = self.move(operators, x)
        return lambda: move(x)

    def move(self, operators, x):
        """Returns the operators as a function of tensors like `x`."""
        torch, shape, steps = self.torch, x.shape, []
        for operator in operators:
            name, arguments, named = operator
            step = (self.step, operator)
            if name == "reverse":
                step = (self.taken, (*self.indices(named, shape), named["axis"]))
            steps.append(step)
            shape = run_shape([operator], shape)

        def move(x):
            y = x
            for step, arguments in steps:
                y = step(y, *arguments)
            # After at least one step, a contiguous result needs no copy.
            return y.contiguous() if steps else y.clone(memory_format=torch.contiguous_format)

        return move

    def indices(self, named, shape):
        """Returns the source indices of a reversal, and the batch indices if it has a batch axis."""
        axis, batch_axis = named["axis"], named.get("batch_axis")
        sizes = [1] * len(shape)
        sizes[axis] = shape[axis]
        position = np.arange(shape[axis]).reshape(sizes)
        table = lengths_of(named, shape)
        if batch_axis is not None:
            sizes = [1] * len(shape)
            sizes[batch_axis] = -1
            table = table.reshape(sizes)
        index = np.where(position < table, table - 1 - position, position)
        batches = None
        if {axis, batch_axis} == {0, 1}:
            index = index.reshape(shape[:2])
            batches = np.arange(shape[batch_axis]).reshape((-1, 1) if axis else (1, -1))
            batches = self.torch.from_numpy(batches).to(self.device)
        return self.torch.from_numpy(index).to(self.device), batches

    def taken(self, y, index, batches, axis):
        if batches is None:
            return self.torch.take_along_dim(y, index, axis)
        return y[batches, index] if axis else y[index, batches]


class Compiled(Torch):
    """`torch.compile`: on a GPU, Triton kernels. On the CPU, the code is traced but not compiled."""

    name = "compiled"

    def __init__(self, device):
        super().__init__(device)
        if device.type == "cuda":
            import triton  # noqa: F401
        self.backend = "inductor" if device.type == "cuda" else "eager"

    def prepare(self, operators, x):
        # Otherwise, earlier cases would count as recompilations of this function.
        self.torch.compiler.reset()
        move = self.move(operators, x)
        move = self.torch.compile(move, fullgraph=True, dynamic=False, backend=self.backend)
        return lambda: move(x)


class Arrays:
    """CuPy, or numpy on the CPU."""

    def __init__(self, device):
        if device.type == "cuda":
            import cupy

            cupy.cuda.Device(device.index).use()
        self.arrays = cupy if device.type == "cuda" else np
        self.name = "CuPy" if device.type == "cuda" else "numpy"

    def view(self, operators, x):
        y = self.arrays.from_dlpack(x)
        for name, arguments, named in operators:
            if name == "reverse":
                raise Unsupported
            # numpy's functions call CuPy's for arrays of CuPy.
            y = frameworks.Numpy.step(y, name, tuple(arguments), named)
        return y

    def prepare(self, operators, x):
        self.view(operators, x)
        return lambda: self.arrays.ascontiguousarray(self.view(operators, x))


class TrundleOnViews(Trundle):
    """Strided views, also with negative strides, which PyTorch does not support."""

    def __init__(self, device):
        super().__init__(device)
        self.library = Arrays(device)

    def prepare(self, operators, x):
        view = self.library.view(operators, x)
        return lambda: self.functions.ascontiguousarray(view)


class CuTensor:
    """`cutensorPermute` of version 2, for transposes of the types that it supports."""

    name = "cuTENSOR"

    # By type name: `cudaDataType_t`, the precision, and the number one in the type of factors.
    TYPES = {
        "float16": (2, "32F", (c_float * 1)(1)),
        "bfloat16": (14, "32F", (c_float * 1)(1)),
        "float32": (0, "32F", (c_float * 1)(1)),
        "float64": (1, "64F", (c_double * 1)(1)),
        "complex64": (4, "32F", (c_float * 2)(1, 0)),
        "complex128": (5, "64F", (c_double * 2)(1, 0)),
    }
    FACTORS = {(c_float, 1): 0, (c_double, 1): 1, (c_float, 2): 4, (c_double, 2): 5}
    IDENTITY, ALGO_DEFAULT, JIT_NONE, SCALAR_TYPE, MOST_ALIGNED = 1, -1, 0, 1, 128

    def __init__(self, device):
        if device.type != "cuda":
            raise ImportError("it moves on GPUs alone")
        import torch  # it loads the libraries that cuTENSOR needs

        self.torch, self.library = torch, self.loaded()
        if not hasattr(self.library, "cutensorCreatePermutation"):
            raise ImportError("cuTENSOR is older than 2")
        self.library.cutensorGetErrorString.restype = ctypes.c_char_p
        self.library.cutensorGetVersion.restype = ctypes.c_size_t
        self.version = self.library.cutensorGetVersion()
        self.handle = self.made("cutensorCreate")

    @staticmethod
    def loaded():
        spec = importlib.util.find_spec("cutensor")
        folders = spec.submodule_search_locations if spec else []
        of_pip = [each for at in folders for each in Path(at, "lib").glob("libcutensor.so*")]
        return load_with_needed(of_pip[0]) if of_pip else load("cutensor")

    def called(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name}: {self.library.cutensorGetErrorString(status).decode()}")

    def made(self, name, *arguments):
        """Calls a function that has an output parameter after the handle."""
        made = c_void_p()
        handle = (self.handle,) if name != "cutensorCreate" else ()
        self.called(name, *handle, byref(made), *arguments)
        return made

    def described(self, tensor, axes, kind):
        """Describes a tensor by its axes, the innermost first."""
        sizes = (c_int64 * len(axes))(*(tensor.shape[axis] for axis in axes))
        strides = (c_int64 * len(axes))(*(tensor.stride(axis) for axis in axes))
        address = tensor.data_ptr() | self.MOST_ALIGNED
        aligned = c_uint32(address & -address)
        make = "cutensorCreateTensorDescriptor"
        return self.made(make, c_uint32(len(axes)), sizes, strides, c_int(kind), aligned)

    def prepare(self, operators, x):
        kind, precision, one = self.TYPES.get(str(x.dtype).removeprefix("torch."), (None,) * 3)
        if kind is None:
            raise Unsupported
        source = viewed(operators, x)
        out = self.torch.empty(source.shape, dtype=x.dtype, device=x.device)
        axes = [axis for axis, size in enumerate(source.shape) if size != 1]
        orders = sorted(axes, key=source.stride), axes[::-1]
        modes = [(c_int32 * len(axes))(*order) for order in orders]
        sides = [
            self.described(tensor, order, kind) for tensor, order in zip((source, out), orders)
        ]
        compute = c_void_p.in_dll(self.library, f"CUTENSOR_COMPUTE_DESC_{precision}")
        make, identity = "cutensorCreatePermutation", c_int(self.IDENTITY)
        move = self.made(make, sides[0], modes[0], identity, sides[1], modes[1], compute)
        factor = c_int()
        what = c_int(self.SCALAR_TYPE), byref(factor), ctypes.c_size_t(4)
        self.called("cutensorOperationDescriptorGetAttribute", self.handle, move, *what)
        if factor.value != self.FACTORS[one._type_, len(one)]:
            raise Unsupported
        make = "cutensorCreatePlanPreference"
        preference = self.made(make, c_int(self.ALGO_DEFAULT), c_int(self.JIT_NONE))
        plan = self.made("cutensorCreatePlan", move, preference, c_uint64(0))
        result = out.view(run_shape(operators, x.shape))
        ends = c_void_p(source.data_ptr()), c_void_p(out.data_ptr())
        stream = c_void_p(self.torch.cuda.current_stream(x.device).cuda_stream)

        def run():
            self.called("cutensorPermute", self.handle, plan, one, *ends, stream)
            return result

        return run


def viewed(operators, x):
    """Returns a view in the order of the result; None if strides cannot express this order."""
    y = x
    for at, (name, arguments, _) in enumerate(operators):
        if name == "transpose":
            y = y.permute(arguments or tuple(range(y.ndim))[::-1])
        elif name != "reshape":
            raise Unsupported
        elif any(name == "transpose" for name, _, _ in operators[at:]):
            try:
                y = y.view(arguments)
            except RuntimeError as error:
                raise Unsupported from error
    return y
