//! Moves for several tests, and their results.

use trundle_core::ops::{ReverseSequence, Roll};
use trundle_core::{Layout, Move, Op, Shape};

use crate::{Cuda, CudaBuffer, DeviceBytes};

/// A roll of 40 x 50 words, whose kernels read no tables.
pub(crate) fn roll() -> Move {
    of(&Roll::new(&[3, -7], &[0, 1]).into())
}

/// Reverses the first elements of each row of the same tensor. The kernels read a table of lengths.
pub(crate) fn reverse() -> Move {
    let lengths: Vec<i128> = (0..40).map(|row| row * 7 % 51).collect();
    of(&ReverseSequence::new(1, 0, lengths).into())
}

fn of(op: &Op) -> Move {
    let shape = Shape::new([40, 50]).unwrap();
    let layout = Layout::row_major(&shape, 4).unwrap();
    Move::new(&op.index_map(&shape).unwrap(), 4, &layout, &layout, 64).unwrap()
}

/// Returns the expected destination of a move that writes all of it.
pub(crate) fn moved(work: &Move, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; work.dst_bytes()];
    work.for_each_pair(|from, to| {
        dst[to..to + work.width()].copy_from_slice(&src[from..from + work.width()]);
    });
    dst
}

/// A borrowed buffer within another buffer.
pub(crate) fn part(gpu: &Cuda, whole: &CudaBuffer, begin: usize, bytes: usize) -> CudaBuffer {
    let DeviceBytes { address, bytes: all } = whole.device_bytes();
    assert!(begin + bytes <= all);
    // SAFETY: the range is inside `whole`, which the tests keep until the stream is done, and they use one of the two
    // at a time.
    unsafe { gpu.borrowed(DeviceBytes { address: address + begin as u64, bytes }) }
}
