"""GPU arrays on an emulated NVIDIA driver."""

import ctypes.util
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import emulated_cupy
import trundle

pytest.importorskip("numpy", "2.1", reason="older ones share no versions of DLPack")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TRUNDLE_EMULATED_DEVICES", "2")
        folder = tmp_path_factory.mktemp("driver")
        patched.setenv("TRUNDLE_NVRTC", str(folder / "nvrtc"))
        patched.setenv("TRUNDLE_KERNELS", "off")
        library, without = emulated_cupy.driver(folder)
        if without:
            pytest.skip(without)
        made = emulated_cupy.Emulated(library)
        for name, module in made.installed().items():
            patched.setitem(sys.modules, name, module)
        yield made


@pytest.fixture
def image(rng):
    return rng.integers(0, 256, (6, 10, 3), dtype="u1")


def check(made, expected):
    assert type(made).__name__ == "ndarray" and type(made).__module__ == "cupy"
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made.get(), expected)


def indices_of(x):
    return np.arange(2 * x.shape[1] * x.shape[2]).reshape(2, *x.shape[1:]) % x.shape[0]


FUNCTIONS = {
    "ascontiguousarray": (lambda x: trundle.ascontiguousarray(x), lambda x: x),
    "roll flat": (lambda x: trundle.roll(x, 7), lambda x: np.roll(x, 7)),
    "roll": (lambda x: trundle.roll(x, (1, -2), (0, 1)), lambda x: np.roll(x, (1, -2), (0, 1))),
    "fftshift": (lambda x: trundle.fftshift(x), lambda x: np.fft.fftshift(x)),
    "flip": (lambda x: trundle.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2))),
    "rot90": (lambda x: trundle.rot90(x), lambda x: np.rot90(x)),
    "permute_dims": (lambda x: trundle.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "moveaxis": (lambda x: trundle.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "rearrange": (
        lambda x: trundle.rearrange(x, "(h p) w c -> p (c h) w", p=2),
        lambda x: x.reshape(-1, 2, *x.shape[1:]).transpose(1, 3, 0, 2).reshape(2, -1, x.shape[1]),
    ),
    "take": (lambda x: trundle.take(x, [4, 0, -1], axis=1), lambda x: np.take(x, [4, 0, -1], 1)),
    "take_along_axis": (
        lambda x: trundle.take_along_axis(x, indices_of(x), axis=0),
        lambda x: np.take_along_axis(x, indices_of(x), axis=0),
    ),
    "pad": (
        lambda x: trundle.pad(x, ((1, 2), (0, 3), (0, 0)), mode="reflect"),
        lambda x: np.pad(x, ((1, 2), (0, 3), (0, 0)), mode="reflect"),
    ),
    "pad with a number": (
        lambda x: trundle.pad(x, 1, constant_values=9),
        lambda x: np.pad(x, 1, constant_values=9),
    ),
    "tile": (lambda x: trundle.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "repeat": (lambda x: trundle.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, axis=1)),
    "broadcast_to": (
        lambda x: trundle.broadcast_to(x, (2, *x.shape)),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
    "sliding_window_view": (
        lambda x: trundle.sliding_window_view(x, 3, 1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1),
    ),
    "concatenate": (
        lambda x: trundle.concatenate([x, x[::-1]], axis=1),
        lambda x: np.concatenate([x, x[::-1]], axis=1),
    ),
    "stack": (lambda x: trundle.stack([x, x], axis=2), lambda x: np.stack([x, x], axis=2)),
    "chain": (
        lambda x: trundle.chain("flip(axes=[2]) | h w c -> c h w")(x),
        lambda x: x[..., ::-1].transpose(2, 0, 1),
    ),
    "chain of two passes": (
        lambda x: trundle.chain("h w c -> (w h c) | roll(shift=[5], axes=[0]) | (a b) -> b a, a=4")(x),
        lambda x: np.roll(x.transpose(1, 0, 2).ravel(), 5).reshape(4, -1).T,
    ),
    "chain with a number": (
        lambda x: trundle.chain("pad(width=[[0, 0], [2, 0], [0, 0]], value=3)")(x),
        lambda x: np.pad(x, ((0, 0), (2, 0), (0, 0)), constant_values=3),
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("view", ["whole", "steps", "backwards", "turned"])
def test_functions_equal_numpy(emulated, image, function, dtype, view):
    x = image.astype(dtype)
    views = {
        "whole": lambda x: x,
        "steps": lambda x: x[:, ::2],
        "backwards": lambda x: x[::-1, :, ::-1],
        "turned": lambda x: x[:, :6].transpose(1, 0, 2),
    }
    if view == "steps":
        x = np.repeat(x, 2, axis=1)
    moves, expected = FUNCTIONS[function]
    check(moves(views[view](emulated.array(x))), expected(views[view](x)))


def test_lengths_and_splits(emulated, image):
    x = emulated.array(image)
    lengths = [0, 3, 10, 1, 7, 2]
    expected = image.copy()
    for row, length in zip(expected, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    check(trundle.reverse_sequence(x, lengths, axis=1, batch_axis=0), expected)
    each = np.array(lengths).reshape(6, 1, 1) * np.ones((1, 1, 3), int)
    check(trundle.reverse_subsequences(x, each, axis=1), expected)
    for made, part in zip(trundle.split(x, 2, axis=1), np.split(image, 2, axis=1), strict=True):
        check(made, part)


def test_calls_do_not_wait_for_the_gpu(emulated, image):
    with emulated.stream() as stream:
        x = emulated.array(image)
        out = emulated.array(np.zeros_like(image))
        assert trundle.flip(x, 0, out=out) is out
        np.testing.assert_array_equal(out.memory, 0, "the move ran before the stream was synchronized")
        stream.synchronize()
        np.testing.assert_array_equal(out.memory, image[::-1])


def test_moves_run_on_the_current_stream(emulated, image):
    x = emulated.array(image)
    outs = [emulated.array(np.zeros_like(image)) for _ in range(2)]
    streams = [emulated.stream() for _ in range(2)]
    for stream, out in zip(streams, outs, strict=True):
        with stream:
            trundle.flip(x, 0, out=out)
    streams[1].synchronize()
    np.testing.assert_array_equal(outs[0].memory, 0)
    np.testing.assert_array_equal(outs[1].memory, image[::-1])
    streams[0].synchronize()
    np.testing.assert_array_equal(outs[0].memory, image[::-1])


def test_calls_with_lengths_do_not_wait_for_the_gpu(emulated, image):
    with emulated.stream() as stream:
        before, out = (emulated.array(np.zeros_like(image)) for _ in range(2))
        x = emulated.array(image)
        trundle.flip(x, 0, out=before)
        trundle.reverse_sequence(x, range(6), 1, 0, out=out)
        np.testing.assert_array_equal(before.memory, 0)
        np.testing.assert_array_equal(out.memory, 0)
        stream.synchronize()
        np.testing.assert_array_equal(before.memory, image[::-1])
        np.testing.assert_array_equal(out.memory[5, :5], image[5, 4::-1])


def test_out_that_overlaps(emulated, image):
    x = emulated.array(image)
    assert trundle.roll(x, 1, 0, out=x) is x
    check(x, np.roll(image, 1, 0))
    rows = emulated.array(np.arange(10))
    trundle.flip(rows[:8], 0, out=rows[2:])
    check(rows, np.array([0, 1, 7, 6, 5, 4, 3, 2, 1, 0]))
    joined = emulated.array(np.arange(8))
    trundle.concatenate([joined[4:], joined[:4]], out=joined)
    check(joined, np.array([4, 5, 6, 7, 0, 1, 2, 3]))


def test_out_with_strides(emulated, image):
    out = emulated.array(np.zeros((3, 12, 10), "u1"))
    trundle.permute_dims(emulated.array(image), (2, 0, 1), out=out[:, ::-2])
    expected = np.zeros((3, 12, 10), "u1")
    expected[:, ::-2] = image.transpose(2, 0, 1)
    check(out, expected)


def test_copyto_and_put_along_axis(emulated, image):
    x = emulated.array(image)
    trundle.copyto(x[::-1], emulated.array(image))
    check(x, image[::-1])
    trundle.put_along_axis(x, np.zeros((1, 10, 3), int), emulated.array(np.full((1, 10, 3), 7, "u1")), axis=0)
    expected = image[::-1].copy()
    expected[0] = 7
    check(x, expected)


def test_the_second_device(emulated, image):
    with emulated_cupy.Device(emulated, 1):
        x = emulated.array(image)
    made = trundle.flip(x, 1)
    assert made.device_id == 1 and emulated.current == [0]
    check(made, image[:, ::-1])
    with pytest.raises(ValueError, match=r"out is on GPU 0, but the moved array is on GPU 1"):
        trundle.flip(x, 1, out=emulated.array(image))
    with pytest.raises(ValueError, match=r"arrays\[1\] is on GPU 0, but the moved array is on GPU 1"):
        trundle.concatenate([x, emulated.array(image)])


def test_the_same_call_on_both_devices_has_two_plans(emulated, image):
    chain = trundle.chain("h w c -> c h w")
    for device_id in [0, 1, 0]:
        with emulated_cupy.Device(emulated, device_id):
            check(chain(emulated.array(image)), image.transpose(2, 0, 1))


def test_cpu_and_gpu_arrays_do_not_mix(emulated, image):
    x = emulated.array(image)
    with pytest.raises(TypeError, match="out must be the same kind of array as x"):
        trundle.flip(x, 0, out=image.copy())
    with pytest.raises(TypeError, match="out must be the same kind of array as x"):
        trundle.flip(image, 0, out=x)
    with pytest.raises(TypeError, match="the same kind of array as the first one"):
        trundle.concatenate([x, image])


def test_lengths_on_the_gpu_are_refused(emulated, image):
    x, lengths = emulated.array(image), emulated.array(np.arange(6))
    with pytest.raises(TypeError, match=r"lengths must be on the CPU.*lengths\.get\(\) in CuPy"):
        trundle.reverse_sequence(x, lengths, 1, 0)
    with pytest.raises(TypeError, match="indices must be on the CPU"):
        trundle.take(x, lengths, axis=0)
    with pytest.raises(TypeError, match="indices must be on the CPU"):
        trundle.take(image, lengths, axis=0)


def test_bad_arguments_raise_numpys_errors(emulated, image):
    x = emulated.array(image)
    with pytest.raises(np.exceptions.AxisError):
        trundle.flip(x, 3)
    with pytest.raises(IndexError, match="10"):
        trundle.take(x, [10], axis=1)
    with pytest.raises(ValueError, match="2 axes"):
        trundle.rearrange(x, "h w -> w h")


def test_calls_while_a_graph_is_captured(emulated, image):
    stream = emulated.stream()
    with stream:
        x, out = emulated.array(image), emulated.array(np.zeros_like(image))
        with stream.captured():
            trundle.flip(x, 0, out=out)
            with pytest.raises(RuntimeError, match="captured into a graph"):
                trundle.reverse_sequence(x, range(6), 1, 0, out=out)
            with pytest.raises(RuntimeError, match="captured into a graph"):
                trundle.roll(x, 1, 0, out=x)


def test_arrays_without_elements(emulated):
    x = emulated.array(np.zeros((0, 3), "f4"))
    check(trundle.permute_dims(x, (1, 0)), np.zeros((3, 0), "f4"))


def test_plans(emulated, image):
    plan = trundle.chain("flip(axes=[2]) | h w c -> c h w").plan(emulated.array(image))
    assert (plan.passes, plan.out_shape, plan.scratch_bytes) == (1, (3, 6, 10), 0)
    assert str(plan).startswith("1 move on emulated\nfrom input 0 to output 0: ")


def test_kernels_are_compiled_for_a_plan_that_runs_several_times(emulated, rng):
    x = rng.integers(0, 256, (300, 1000), dtype="u4")
    chain = trundle.chain("roll(shift=3, axes=1)")
    given = emulated.array(x)
    assert "compiled after 3 runs" in str(chain.plan(given))
    until = time.monotonic() + 60
    while not str(chain.plan(given)).endswith(", used"):
        assert time.monotonic() < until, str(chain.plan(given))
        check(chain(given), np.roll(x, 3, 1))
    check(chain(given), np.roll(x, 3, 1))


def test_a_missing_compiler_is_a_warning(emulated):
    script = """
        import ctypes, os, sys, warnings
        sys.path[:0] = [sys.argv[1]]
        import numpy as np
        import emulated_cupy, trundle

        library = ctypes.CDLL(os.path.join(os.environ["FOLDER"], "libcuda.so.1"), ctypes.RTLD_GLOBAL)
        made = emulated_cupy.Emulated(library)
        sys.modules.update(made.installed())
        x = np.arange(300_000, dtype="u4").reshape(300, 1000)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(5):
                assert (trundle.flip(made.array(x), 1).get() == np.flip(x, 1)).all()
        print(*(each.message for each in caught), sep="\\n")
    """
    folder = Path(os.environ["TRUNDLE_NVRTC"]).parent
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), Path(__file__).parent],
        env={**os.environ, "FOLDER": str(folder), "TRUNDLE_NVRTC": "/not/here.so"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    [warning] = run.stdout.splitlines()
    assert warning.startswith("NVRTC was not found for CUDA 13; trundle tried /not/here.so; moves on the GPU are right")
    assert "pip install 'trundle[cuda]'" in warning


def test_arrays_of_other_libraries_on_a_gpu_are_refused(emulated, image):
    other = type("Array", (emulated_cupy.Array,), {"__module__": "elsewhere"})
    x = other(emulated, 0, emulated.array(image).memory)
    with pytest.raises(ValueError, match="x is on a device of DLPack's type 2: .*PyTorch tensors and CuPy arrays"):
        trundle.flip(x, 0)


def test_a_missing_driver_is_an_error():
    if ctypes.util.find_library("cuda"):
        pytest.skip("this machine has a driver of NVIDIA's")
    script = """
        import numpy as np
        import trundle

        class ndarray:
            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, **_):
                import ctypes
                capsule = np.zeros(3).__dlpack__(max_version=(1, 1))
                pointer = ctypes.pythonapi.PyCapsule_GetPointer
                pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
                ctypes.c_int32.from_address(pointer(capsule, b"dltensor_versioned") + 40).value = 2
                return capsule

        ndarray.__module__ = "cupy"
        import sys, types
        sys.modules["cupy"] = types.ModuleType("cupy")
        cuda = sys.modules["cupy.cuda"] = types.ModuleType("cupy.cuda")
        cuda.get_current_stream = lambda device: types.SimpleNamespace(ptr=0)
        try:
            trundle.flip(ndarray(), 0)
        except RuntimeError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert "libcuda.so" in run.stdout and "found no such library" in run.stdout
