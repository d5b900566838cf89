//! Reversals with lengths.

use trundle_core::Shape;

use super::case::{Case, row_major};
use super::swept::{EDGE_SIZES, SWEPT_OFFSETS, SWEPT_WIDTHS};
use crate::PlainOp;

/// Rows of every length along each of three axes, alone and with another operator.
pub(super) fn rows_reversed() -> impl Iterator<Item = Case> {
    EDGE_SIZES.into_iter().flat_map(|size| {
        (0..3usize).flat_map(move |axis| {
            let mut shape = vec![5, 3, 4];
            shape[axis] = size;
            let rows: usize = shape.iter().product::<usize>() / size;
            let lengths = (0..rows).map(|row| (row * 7 % (size + 2)) as u64).collect();
            let axis = i64::try_from(axis).expect("one of three");
            let reverse = PlainOp::ReverseSubsequences { axis, lengths };
            let transpose = PlainOp::Transpose { order: vec![2, 0, 1] };
            let flip = PlainOp::Flip { axes: vec![axis] };
            let roll = PlainOp::Roll { shift: vec![1], axes: vec![(axis + 1) % 3] };
            [
                vec![reverse.clone()],
                vec![reverse.clone(), transpose],
                vec![flip.clone(), reverse.clone()],
                vec![reverse.clone(), flip],
                vec![reverse, roll],
            ]
            .into_iter()
            .enumerate()
            .map(move |(number, ops)| {
                let width = SWEPT_WIDTHS[(size + number) % SWEPT_WIDTHS.len()];
                Case::contiguous(&shape, &ops, width, SWEPT_OFFSETS[number])
            })
        })
    })
}

/// A different length for each of a few columns. Rows are shorter than a cache line, or extend over several slabs, or
/// are in slabs that are made in several parts.
pub(super) fn narrow_lanes() -> impl Iterator<Item = Case> {
    let sizes = [(2, 5), (3, 64), (5, 7), (13, 33), (13, 130), (31, 9), (60, 40), (2, 9000)];
    sizes.into_iter().enumerate().flat_map(|(number, (lanes, size))| {
        let lengths: Vec<u64> =
            (0..3 * lanes).map(|lane| (lane * 37 % (size + 1)) as u64).collect();
        let reverse = PlainOp::ReverseSubsequences { axis: 1, lengths };
        let flip = PlainOp::Flip { axes: vec![1] };
        let chains = [vec![reverse.clone()], vec![flip.clone(), reverse, flip]];
        chains.into_iter().enumerate().flat_map(move |(chain, ops)| {
            [1, 2, 3, 4, 7, 8].into_iter().filter(move |width| lanes * width < 64).map(
                move |width| {
                    let offsets = SWEPT_OFFSETS[(number + chain + width) % SWEPT_OFFSETS.len()];
                    Case::contiguous(&[3, size, lanes], &ops, width, offsets)
                },
            )
        })
    })
}

/// Along the axis before the last, with a different length for each column: alone, with either axis flipped before or
/// after, or with only some of the rows, from arbitrary ones.
pub(super) fn lanes_reversed() -> impl Iterator<Item = Case> {
    let counts = [1, 3, 8, 13, 16, 32, 33, 64, 65, 131];
    let rows = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130, 515];
    rows.into_iter().flat_map(move |rows| {
        counts.into_iter().enumerate().flat_map(move |(number, lanes)| {
            let shape = [2, rows, lanes];
            let op = PlainOp::ReverseSubsequences {
                axis: 1,
                lengths: lane_lengths(2 * lanes, rows, (rows + number) % 3),
            };
            let flip = |axis| PlainOp::Flip { axes: vec![axis] };
            let chains = [
                vec![op.clone()],
                vec![flip(1), op.clone()],
                vec![op.clone(), flip(1)],
                vec![op.clone(), flip(2)],
                vec![op],
            ];
            chains.into_iter().enumerate().map(move |(chain, ops)| {
                let width = SWEPT_WIDTHS[(rows + number + chain) % (SWEPT_WIDTHS.len() - 1)];
                let offsets = SWEPT_OFFSETS[(number + chain) % SWEPT_OFFSETS.len()];
                let mut case = Case::contiguous(&shape, &ops, width, offsets);
                if chain == 4 {
                    case.window[1] = rows / 3..rows - rows / 2;
                    let shape = case.window.iter().map(ExactSizeIterator::len);
                    let shape = Shape::new(shape.collect::<Vec<_>>()).expect("a small shape");
                    case.dst = row_major(&shape, width);
                }
                case
            })
        })
    })
}

/// Scattered, about half of `rows`, or mostly short.
pub(super) fn lane_lengths(lanes: usize, rows: usize, kind: usize) -> Vec<u64> {
    let length = |lane: usize| match kind {
        0 => lane * 7919 % (rows + 2),
        1 => rows / 2 + lane % 3,
        _ if lane % 11 == 5 => rows - lane % 2,
        _ => lane % 2,
    };
    (0..lanes).map(|lane| length(lane) as u64).collect()
}
