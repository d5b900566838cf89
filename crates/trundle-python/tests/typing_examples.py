"""Types that users see; `mypy --strict typing_examples.py` checks them, and the file also runs."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import trundle


class Tagged(np.ndarray[Any, np.dtype[np.float32]]):
    """A typical subclass."""


class Tensor:
    """An array of another library."""

    def __init__(self, elements: NDArray[np.float32]) -> None:
        self.elements = elements

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return self.elements.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def numpy_keeps_its_dtype(floats: NDArray[np.float32], bytes_: NDArray[np.uint8]) -> None:
    assert_type(trundle.roll(floats, 1), NDArray[np.float32])
    assert_type(trundle.roll(bytes_, (1, np.int64(2)), axis=(0, 1)), NDArray[np.uint8])
    assert_type(trundle.permute_dims(floats, (1, 0)), NDArray[np.float32])
    assert_type(trundle.permute_dims(floats, np.array([1, 0])), NDArray[np.float32])
    assert_type(trundle.transpose(floats), NDArray[np.float32])
    assert_type(trundle.flip(bytes_, axis=0), NDArray[np.uint8])
    assert_type(trundle.flip(bytes_, 0), NDArray[np.uint8])
    assert_type(trundle.reverse_subsequences(floats, [[2], [1]], axis=1), NDArray[np.float32])
    assert_type(
        trundle.reverse_sequence(floats, np.array([1, 2]), axis=1, batch_axis=0),
        NDArray[np.float32],
    )
    assert_type(trundle.rot90(floats, k=-1, axes=(1, 0)), NDArray[np.float32])
    assert_type(trundle.moveaxis(floats, 0, -1), NDArray[np.float32])
    assert_type(trundle.swapaxes(floats, 0, 1), NDArray[np.float32])
    assert_type(trundle.ascontiguousarray(bytes_), NDArray[np.uint8])
    assert_type(trundle.fftshift(floats, axes=(0, 1)), NDArray[np.float32])
    assert_type(trundle.ifftshift(floats), NDArray[np.float32])
    assert_type(trundle.rearrange(floats, "a (b c) -> b (a c)", c=1), NDArray[np.float32])
    assert_type(trundle.take(floats, [0, 1], axis=1, mode="clip"), NDArray[np.float32])
    assert_type(trundle.take_along_axis(floats, floats.argsort(1), axis=1), NDArray[np.float32])
    assert_type(trundle.repeat(floats, [1, 2], axis=0), NDArray[np.float32])
    assert_type(trundle.tile(floats, (2, 1)), NDArray[np.float32])
    assert_type(trundle.broadcast_to(floats, (3, 2, 2)), NDArray[np.float32])
    assert_type(trundle.sliding_window_view(floats, (1, 2)), NDArray[np.float32])
    assert_type(trundle.pad(bytes_, ((0, 1), (2, 0)), mode="edge"), NDArray[np.uint8])
    assert_type(trundle.chain("transpose()")(floats), NDArray[np.float32])


def out_and_threads(floats: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    assert_type(trundle.roll(floats, 1, out=out, threads=2), NDArray[np.float32])
    assert_type(trundle.chain("flip(0)")(floats, out=out, threads=1), NDArray[np.float32])
    trundle.copyto(out, floats, threads=1)


def subclasses(tagged: Tagged) -> None:
    assert_type(trundle.flip(tagged), Tagged)
    assert_type(trundle.ascontiguousarray(tagged), NDArray[np.float32])
    assert_type(trundle.take(tagged, 0), Tagged)
    assert_type(trundle.pad(tagged, 1, mode="wrap"), NDArray[np.float32])


def other_libraries(tensor: Tensor, out: Tensor) -> None:
    assert_type(trundle.roll(tensor, 1, axis=0, out=out), Tensor)
    assert_type(trundle.fftshift(tensor), Tensor)
    assert_type(trundle.repeat(tensor, 2), Tensor)
    assert_type(trundle.broadcast_to(tensor, (2, 2, 2)), Tensor)
    assert_type(trundle.chain("transpose()")(tensor), Tensor)


def lists() -> None:
    assert_type(trundle.roll([1, 2, 3], 1), NDArray[Any])
    assert_type(trundle.ascontiguousarray(1.0), NDArray[Any])
    assert_type(trundle.rearrange([[1, 2], [3, 4]], "a b -> b a"), NDArray[Any])


def chains(floats: NDArray[np.float32]) -> None:
    chain = trundle.chain("flip(axes=[1])", "h w -> w h")
    assert_type(chain, trundle.Chain)
    assert_type(chain == chain, bool)
    assert_type(chain | "flip(0)", trundle.Chain)
    open_chain = trundle.chain("reverse(axis=1, lengths=n)")
    assert_type(open_chain(floats, n=[1, 2]), NDArray[np.float32])
    plan = chain.plan(floats, threads=1)
    assert_type(plan, trundle.Plan)
    assert_type((plan.passes, plan.out_shape, plan.scratch_bytes), tuple[int, tuple[int, ...], int])
    assert_type(str(plan), str)


def refused(floats: NDArray[np.float32]) -> None:
    trundle.roll(floats, 1.5)  # type: ignore[call-overload]
    trundle.flip(floats, 0, floats)  # type: ignore[call-overload]
    trundle.rearrange(floats, "a b -> b a", a="2")  # type: ignore[call-overload]
    trundle.chain(1)  # type: ignore[arg-type]
    trundle.pad(floats, 1, mode="mean")  # type: ignore[call-overload]


def main() -> None:
    floats = np.arange(4, dtype=np.float32).reshape(2, 2)
    numpy_keeps_its_dtype(floats, floats.astype(np.uint8))
    out_and_threads(floats, np.empty_like(floats))
    subclasses(floats.view(Tagged))
    lists()
    chains(floats)


if __name__ == "__main__":
    main()
