//! The fixed cases of the suite.

use super::case::Case;
use super::conditions::conditions;
use super::gathers::gathers;
use super::reversals::{lane_lengths, lanes_reversed, narrow_lanes, rows_reversed};
use super::rolls::{orders_of_rolled, rolls, rows_rolled};
use super::swept::{SWEPT_OFFSETS, SWEPT_WIDTHS};
use super::transposes::{
    channels, few_elements, groups, many_axes, matrices, orders, pictures, strips,
};
use crate::PlainOp;

/// Small cases that cover every size, shift, length and order of axes.
pub fn sweeps() -> impl Iterator<Item = Case> {
    runs()
        .chain(matrices())
        .chain(few_elements())
        .chain(pictures())
        .chain(groups())
        .chain(channels())
        .chain(strips())
        .chain(rolls())
        .chain(rows_rolled())
        .chain(orders())
        .chain(many_axes())
        .chain(orders_of_rolled())
        .chain(rows_reversed())
        .chain(lanes_reversed())
        .chain(narrow_lanes())
        .chain(corners())
        .chain(conditions())
        .chain(gathers())
}

/// One axis, copied or reversed.
fn runs() -> impl Iterator<Item = Case> {
    let sizes = (0..=70).chain([127, 128, 129, 255, 256, 257]);
    let ops = [vec![], vec![PlainOp::Flip { axes: vec![0] }]];
    sizes.flat_map(move |size| {
        let ops = ops.clone();
        SWEPT_WIDTHS.into_iter().flat_map(move |width| {
            let ops = ops.clone();
            SWEPT_OFFSETS.into_iter().flat_map(move |offsets| {
                ops.clone()
                    .into_iter()
                    .map(move |ops| Case::contiguous(&[size], &ops, width, offsets))
            })
        })
    })
}

/// Unusual shapes: rank 0, no elements, all sizes 1, many axes.
fn corners() -> impl Iterator<Item = Case> {
    let invert = PlainOp::Transpose { order: vec![] };
    let shapes =
        [vec![], vec![0], vec![3, 0, 2], vec![1; 9], vec![2; 12], vec![1, 6, 1, 1, 7, 1, 1]];
    shapes.into_iter().flat_map(move |shape| {
        let invert = invert.clone();
        [0, 1, 4, 1000].into_iter().flat_map(move |width| {
            let ops = [vec![], vec![invert.clone()]];
            let shape = shape.clone();
            ops.into_iter().map(move |ops| Case::contiguous(&shape, &ops, width, [0, 3]))
        })
    })
}

/// At least two megabytes, more than the caches of one core, for several threads.
pub fn large() -> impl Iterator<Item = Case> {
    let transpose = |order: &[i64]| PlainOp::Transpose { order: order.to_vec() };
    let roll =
        |shift: &[i64], axes: &[i64]| PlainOp::Roll { shift: shift.to_vec(), axes: axes.to_vec() };
    let reverse = |lengths: &[i128]| PlainOp::ReverseSequence {
        axis: 1,
        batch_axis: 0,
        lengths: lengths.to_vec(),
    };
    let lanes = |axis: i64, lanes: usize, rows: usize| PlainOp::ReverseSubsequences {
        axis,
        lengths: lane_lengths(lanes, rows, 0),
    };
    let cases: [(&[usize], PlainOp, usize); 11] = [
        (&[600_011], PlainOp::Flip { axes: vec![0] }, 4),
        (&[500_009], roll(&[123_456], &[0]), 8),
        (&[801, 703], transpose(&[1, 0]), 4),
        (&[1024, 512], transpose(&[1, 0]), 8),
        (&[1451, 1511], transpose(&[1, 0]), 1),
        (&[8, 3, 210, 211], transpose(&[0, 2, 3, 1]), 2),
        (&[60, 90, 100], roll(&[-3, 7, 11], &[0, 1, 2]), 4),
        (&[4, 999, 131], reverse(&[999, 0, 500, 1]), 4),
        (&[3, 515, 1100], lanes(1, 3300, 515), 2),
        (&[20_011, 67], lanes(0, 67, 20_011), 2),
        // As many rows as a thread's scratch buffer can hold for this many lines.
        (&[3001, 575], lanes(0, 575, 3001), 2),
    ];
    cases.into_iter().map(|(shape, op, width)| Case::contiguous(shape, &[op], width, [0, 0]))
}
