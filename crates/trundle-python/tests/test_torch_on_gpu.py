"""The operators of `trundle.torch` on GPU tensors, traced without a GPU."""

import pytest

torch = pytest.importorskip("torch", "2.5")

import trundle.torch  # noqa: E402

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402

OPERATORS = ["roll", "flip", "permute_dims", "reverse_sequence", "reverse_subsequences", "chain.given"]


class Moves(torch.nn.Module):
    def forward(self, x, lengths):
        x = trundle.torch.flip(trundle.torch.roll(x, 1, 0), 1)
        x = trundle.torch.rearrange(x, "h w c -> c h w")
        x = trundle.torch.reverse_sequence(x, lengths, 1, 0)
        return trundle.torch.permute_dims(trundle.torch.chain(x, "roll(shift=[1], axes=[0])"), (1, 2, 0))


@pytest.fixture
def traced():
    """A tensor on a GPU, and lengths on the CPU, both without elements."""
    with FakeTensorMode(shape_env=ShapeEnv()):
        yield torch.empty(4, 5, 3, device="cuda"), torch.empty(3, dtype=torch.int64)


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operator_has_a_kernel_for_gpus(operator):
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f"trundle::{operator}", "CUDA")


def test_results_are_on_the_device_of_the_tensor(traced):
    made = Moves()(*traced)
    assert made.device == traced[0].device and made.device.type == "cuda"
    assert made.shape == (4, 5, 3) and made.is_contiguous()


def test_exported(traced):
    exported = torch.export.export(Moves(), traced)
    nodes = [node for node in exported.graph.nodes if "trundle" in str(node.target)]
    assert len(nodes) == 6
    for node in nodes:
        assert node.meta["val"].device.type == "cuda"
