//! Conditions in the planner and the kernels that do not depend on sizes alone.

use trundle_core::ops::{Reshape, Slice, Tile};
use trundle_core::{Layout, Op, Shape};

use super::case::Case;
use super::reversals::lane_lengths;
use crate::cases::signed;
use crate::shapings::ShapingChain;
use crate::{Naive, PlainOp};

pub(super) fn conditions() -> impl Iterator<Item = Case> {
    gapped_matrices()
        .chain(rolled_halves())
        .chain(jumps_at_tiles())
        .chain(long_outer_rows())
        .chain(large_slabs())
        .chain(tiled_and_sliced())
}

/// Matrices whose columns fill whole cache lines and whose rows have gaps, at any position in a line. The
/// part of a row after the last whole line is written separately.
fn gapped_matrices() -> impl Iterator<Item = Case> {
    [1usize, 2, 4, 8, 16].into_iter().flat_map(|width| {
        [64, 128, 320, 1088].into_iter().enumerate().flat_map(move |(number, row_bytes)| {
            [1, 3, 64 / width + 1].into_iter().enumerate().map(move |(turn, gap)| {
                let cols = row_bytes / width;
                let rows = 64 / width + 5 * (number + turn);
                let transpose = PlainOp::Transpose { order: vec![1, 0] };
                let packed = Case::contiguous(&[cols, rows], &[transpose], width, [turn, 0]);
                let shape = Shape::new([rows, cols]).expect("a small shape");
                let strides = [row_bytes + gap * width, width].map(usize::cast_signed);
                let dst = Layout::strided(&shape, turn * width, &strides);
                Case { dst: dst.expect("as many strides"), ..packed }
            })
        })
    })
}

/// Two halves of an axis are swapped and become a separate axis: two blocks with the same loops. The second follows the
/// first as in a roll in the source, but not in the destination.
fn rolled_halves() -> impl Iterator<Item = Case> {
    [(5, 3), (5, 33), (64, 16), (70, 70)].into_iter().flat_map(|(rows, cols)| {
        [[1, 0, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]].into_iter().flat_map(move |order| {
            [1, 4].into_iter().map(move |width| {
                let (shape, halves) = ([2 * rows, cols], [2, rows, cols]);
                let shift = signed(rows);
                let naive = Naive::numbered(&shape).roll(&[shift], &[0]);
                let naive = naive.reshape(&halves).transpose(&order);
                let ops: Vec<Op> = vec![
                    PlainOp::Roll { shift: vec![shift], axes: vec![0] }.op(),
                    Reshape::new(&halves.map(signed)).into(),
                    PlainOp::Transpose { order: order.to_vec() }.op(),
                ];
                let chain = ShapingChain { shape: shape.to_vec(), ops, naive };
                Case::contiguous_chain(chain, width, [0, 0])
            })
        })
    })
}

/// Rolls whose blocks meet at the start of a transpose tile, or next to it.
fn jumps_at_tiles() -> impl Iterator<Item = Case> {
    let shapes = [([2100, 24], 0), ([24, 1100], 1)];
    shapes.into_iter().flat_map(|(shape, axis)| {
        [1024, 512, 256, 128, 64, 255].into_iter().flat_map(move |at| {
            [at, shape[axis] - at].into_iter().enumerate().map(move |(turn, shift)| {
                let ops = [
                    PlainOp::Roll { shift: vec![signed(shift)], axes: vec![signed(axis)] },
                    PlainOp::Transpose { order: vec![1, 0] },
                ];
                Case::contiguous(&shape, &ops, [4, 2][(at / 64 + turn) % 2], [0, 0])
            })
        })
    })
}

/// Reversals along a long axis outside the tiles.
fn long_outer_rows() -> impl Iterator<Item = Case> {
    let reverse = PlainOp::ReverseSequence { axis: 1, batch_axis: 0, lengths: vec![70, 47, 1] };
    let transpose = PlainOp::Transpose { order: vec![0, 1, 3, 2] };
    [1, 4]
        .map(|width| {
            Case::contiguous(&[3, 70, 33, 35], &[reverse.clone(), transpose.clone()], width, [0, 0])
        })
        .into_iter()
}

/// A length for each of a few columns, and many rows, so that a slab is larger than a task should be.
fn large_slabs() -> impl Iterator<Item = Case> {
    [(31, 2300, 1), (13, 2600, 2)].into_iter().map(|(lanes, rows, width)| {
        let lengths = lane_lengths(2 * lanes, rows, 0);
        let reverse = PlainOp::ReverseSubsequences { axis: 1, lengths };
        Case::contiguous(&[2, rows, lanes], &[reverse], width, [0, 0])
    })
}

/// Axes that are repeated, sliced with different steps, and rolled in between. The blocks are similar, but do not
/// continue each other.
fn tiled_and_sliced() -> impl Iterator<Item = Case> {
    [1usize, 4].into_iter().flat_map(|width| {
        [-3i64, -2, -1, 1, 2, 3].into_iter().flat_map(move |step| {
            [0usize, 1].into_iter().flat_map(move |axis| {
                [0usize, 3, 17].into_iter().map(move |shift| {
                    let shape = [18, 34];
                    let numbered = Naive::numbered(&shape);
                    let (given, shift) = (signed(axis), signed(shift));
                    let rolled = numbered.roll(&[shift], &[given]);
                    let mut repeats = [1, 1];
                    repeats[axis] = 2;
                    let tiled = rolled.tile(&repeats);
                    let (start, stop) = if step > 0 { (1, i64::MAX) } else { (i64::MAX, i64::MIN) };
                    let ops: Vec<Op> = vec![
                        PlainOp::Roll { shift: vec![shift], axes: vec![given] }.op(),
                        Tile::new(&repeats.map(signed)).into(),
                        Slice::new(&[start], &[stop], &[given], &[step]).into(),
                    ];
                    let naive = tiled.slice(axis, start, stop, step);
                    let chain = ShapingChain { shape: shape.to_vec(), ops, naive };
                    Case::contiguous_chain(chain, width, [0, 0])
                })
            })
        })
    })
}
