"""Signatures, docstrings and stubs."""

import importlib.util
import inspect
import pickle
import subprocess
import sys
import textwrap

import pytest
import trundle

SIGNATURES = {
    "roll": "(x, /, shift, axis=None, *, out=None, threads=None)",
    "permute_dims": "(x, /, axes, *, out=None, threads=None)",
    "transpose": "(x, /, order=(), *, out=None, threads=None)",
    "rot90": "(m, k=1, axes=(0, 1), *, out=None, threads=None)",
    "flip": "(x, /, axis=None, *, out=None, threads=None)",
    "reverse_subsequences": "(x, /, lengths, axis, *, out=None, threads=None)",
    "reverse_sequence": "(x, /, lengths, axis, batch_axis, *, out=None, threads=None)",
    "ascontiguousarray": "(x, /, dtype=None, *, out=None, threads=None)",
    "copyto": "(dst, src, /, casting='same_kind', where=True, *, threads=None)",
    "moveaxis": "(a, source, destination, *, out=None, threads=None)",
    "swapaxes": "(a, axis1, axis2, *, out=None, threads=None)",
    "fftshift": "(x, axes=None, *, out=None, threads=None)",
    "ifftshift": "(x, axes=None, *, out=None, threads=None)",
    "take": "(x, indices, /, axis=None, *, mode='raise', out=None, threads=None)",
    "take_along_axis": "(x, indices, /, axis=-1, *, out=None, threads=None)",
    "repeat": "(x, /, repeats, axis=None, *, out=None, threads=None)",
    "tile": "(x, /, reps, *, out=None, threads=None)",
    "broadcast_to": "(x, /, shape, *, out=None, threads=None)",
    "sliding_window_view": "(x, /, window_shape, axis=None, *, out=None, threads=None)",
    "pad": (
        "(x, /, pad_width, mode='constant', *, constant_values=0, out=None, threads=None)"
    ),
    "concatenate": "(arrays, /, axis=0, *, out=None, threads=None)",
    "stack": "(arrays, /, axis=0, *, out=None, threads=None)",
    "split": "(x, /, indices_or_sections, axis=0, *, threads=None)",
    "put_along_axis": "(x, indices, values, /, axis, *, out=None, threads=None)",
    "rearrange": "(x, pattern, /, **sizes)",
    "chain": "(*stages)",
    "onnx_library": "()",
    "tune": "(*, keep=True)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    assert str(inspect.signature(getattr(trundle, name))) == SIGNATURES[name]


def test_names():
    assert set(trundle.__all__) == {*SIGNATURES, "Chain", "Model", "ModelPlan", "Plan", "zarr"}
    assert isinstance(trundle.__version__, str)
    assert str(inspect.signature(trundle.Chain.plan)) == (
        "(self, x=None, /, *, out=None, threads=None, **given)"
    )
    assert str(inspect.signature(trundle.Chain)) == "(*stages)"
    assert str(inspect.signature(trundle.Model)) == "(path, /, *, follow_links=False)"


@pytest.mark.parametrize("name", [*SIGNATURES, "Chain", "Model", "ModelPlan", "Plan"])
def test_docstrings(name):
    documented = getattr(trundle, name)
    assert documented.__doc__ and len(documented.__doc__.split()) > 5
    if name in SIGNATURES:
        assert documented.__name__ == name
        assert "Error" in documented.__doc__


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_are_known_by_their_names(name):
    function = getattr(trundle, name)
    assert inspect.isbuiltin(function) and repr(function) == f"<built-in function {name}>"
    assert function.__qualname__ == name and function.__module__ == "trundle._trundle"
    assert pickle.loads(pickle.dumps(function)) is function


mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


@mypy
def test_stubs_match_the_package(tmp_path):
    # zarr-python and PyTorch may be missing. To mypy, cached functions have no parameters.
    allowed = tmp_path / "allowed"
    allowed.write_text("trundle\\.codecs\ntrundle\\.torch\ntrundle\\.torch\\._.*\ntrundle\\._operators.*\ntrundle\\._steps.*\ntrundle\\._zarr_store.*\n")
    command = [sys.executable, "-m", "mypy.stubtest", "trundle", "--ignore-unused-allowlist", "--allowlist", str(allowed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


GOOD = """
import numpy as np
import trundle

x = np.zeros((2, 3), dtype=np.float32)
a = trundle.roll(x, 1)
b = trundle.roll(x, (1, 2), axis=(0, 1), out=x, threads=2)
c = trundle.permute_dims(x, (1, 0))
d = trundle.transpose(x)
e = trundle.flip(x, axis=None)
f = trundle.reverse_subsequences(x, np.ones((2, 1), dtype=np.uint32), axis=1)
g = trundle.reverse_sequence(x, [1, 2], axis=1, batch_axis=0)
h = trundle.ascontiguousarray([[1, 2], [3, 4]])
trundle.copyto(x, np.float32(1.5))
i = trundle.moveaxis(x, 0, [1])
j = trundle.swapaxes(x, np.int64(0), 1)
k = trundle.fftshift(x, axes=(0,)), trundle.ifftshift(x)
l = trundle.rearrange(x, "(a b) c -> a b c", a=2)
chain: trundle.Chain = trundle.chain("flip(0)", "a b -> b a")
m = chain(x, out=c)
n = trundle.chain("reverse(1, n)")(x, n=[1, 2])
o: trundle.Chain = trundle.Chain("flip(0)") | chain | "flip(1)"
p = trundle.flip(x, 0), trundle.roll(x, 1, (0, 1))
q = trundle.take(x, [[0, 1]], axis=1, mode="wrap"), trundle.take(x, 0, 1), trundle.take(x, np.array([1]))
r = trundle.take_along_axis(x, np.zeros((2, 1), dtype=int)), trundle.take_along_axis(x, [1], axis=None)
s = trundle.repeat(x, 2), trundle.repeat(x, [1, 2], axis=0), trundle.repeat(x, np.array([1, 2]), 0)
t = trundle.tile(x, 2), trundle.tile(x, (2, 1), out=x), trundle.broadcast_to(x, (4, 2, 3))
u = trundle.sliding_window_view(x, 2, axis=0), trundle.sliding_window_view(x, (1, 2))
v = trundle.pad(x, 1, "edge"), trundle.pad(x, (1, 2), mode="wrap"), trundle.pad(x, ((1, 2), [3, 4]), "edge")
w = trundle.pad(x, {0: 1}, "edge"), trundle.pad(x, {0: (1, 2), 1: 3}, "edge"), trundle.pad(x, np.ones((2, 2), int), "edge")
passes: int = chain.plan(x, threads=1).passes
shape: tuple[int, ...] = chain.plan(x).out_shape
"""

WRONG = [
    'trundle.roll(x, "1")',
    "trundle.roll(x, 1, 0, x)",
    "trundle.roll(x)",
    "trundle.flip(x, axis=1.5)",
    "trundle.flip(x, threads=1.5)",
    "trundle.reverse_subsequences(x, [[1]])",
    "trundle.rearrange(x, 1)",
    "trundle.take(x, 0, mode='nearest')",
    "trundle.take(x)",
    "trundle.take_along_axis(x, [1], axis=(0, 1))",
    "trundle.repeat(x, 1.5)",
    "trundle.tile(x, '2')",
    "trundle.pad(x, 1, mode='mean')",
    "trundle.pad(x, 1.5, mode='edge')",
    "trundle.chain(1)",
    'trundle.chain("flip(0)").plan(x).passes = 3',
]


@mypy
def test_mypy_accepts_good_and_refuses_wrong_code(tmp_path):
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(GOOD)
    wrong.write_text(
        "import numpy as np\nimport trundle\nx = np.zeros((2, 3))\n" + "\n".join(WRONG) + "\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "good.py", "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not [line for line in errors if line.startswith("good.py")], done.stdout
    found = {int(line.split(":")[1]) for line in errors}
    assert found == set(range(4, 4 + len(WRONG))), textwrap.indent(done.stdout, "  ")
