"""The examples of each host in docs/models.md."""

import re
import shutil
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[3] / "docs"

# The packages that each host's example needs in addition to numpy.
HOSTS = {
    "From Python": [],
    "ONNX Runtime": ["onnx", "onnxruntime"],
    "PyTorch": ["torch"],
    "JAX": ["jax"],
    "OpenVINO": ["openvino"],
}


def example(host):
    if not DOCUMENTS.exists():
        pytest.skip("the documentation is missing")
    text = (DOCUMENTS / "models.md").read_text(encoding="utf-8")
    section = text.split(f"### {host}\n")[1].split("\n### ")[0].split("\n## ")[0]
    (code,) = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    return code


@pytest.fixture(params=HOSTS)
def code(request, monkeypatch, tmp_path):
    for name in HOSTS[request.param]:
        pytest.importorskip(name, minversion="2.5" if name == "torch" else None)
    code = example(request.param)
    shutil.copy(DOCUMENTS / "examples" / "patches.onnx", tmp_path)
    monkeypatch.chdir(tmp_path)
    # Needs no C++ compiler.
    return code.replace("fullgraph=True", "fullgraph=True, backend='aot_eager'")


def test_the_documented_example_runs(code):
    exec(code, {})


@pytest.mark.parametrize("host", HOSTS)
def test_the_example_is_short(host):
    assert len([line for line in example(host).splitlines() if line]) <= 10


def test_jax_batches_and_gradients():
    jax = pytest.importorskip("jax")
    names = {}
    exec(example("JAX"), names)
    turned, numpy = names["turned"], jax.numpy
    x = numpy.arange(24.0).reshape(2, 3, 4)
    weights = numpy.arange(24.0).reshape(4, 2, 3)
    gradient = jax.grad(lambda x: (turned(x) * weights).sum())
    assert numpy.array_equal(turned(x), x.transpose(2, 0, 1))
    assert numpy.array_equal(jax.jit(gradient)(x), weights.transpose(1, 2, 0))
    batch = numpy.stack([x, x + 1])
    assert numpy.array_equal(jax.jit(jax.vmap(turned))(batch), batch.transpose(0, 3, 1, 2))
    assert numpy.array_equal(jax.vmap(gradient)(batch)[1], weights.transpose(1, 2, 0))
    for kind in (numpy.bfloat16, numpy.int8, bool, numpy.complex64):
        y = turned(x.astype(kind))
        assert y.dtype == kind and numpy.array_equal(y, x.astype(kind).transpose(2, 0, 1))
