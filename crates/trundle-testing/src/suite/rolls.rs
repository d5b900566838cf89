use super::case::Case;
use super::swept::{SWEPT_OFFSETS, SWEPT_WIDTHS, permutations};
use crate::PlainOp;

/// Every shift of an axis, alone, or before or after another.
pub(super) fn rolls() -> impl Iterator<Item = Case> {
    (1..=17usize).chain([33, 64]).flat_map(|size| {
        (0..size).flat_map(move |shift| {
            let shift = i64::try_from(shift).expect("a small shift");
            [vec![size], vec![size, 3], vec![3, size], vec![2, size, 5]]
                .into_iter()
                .enumerate()
                .map(move |(number, shape)| {
                    let axis = if number < 2 { 0 } else { 1 };
                    let ops = [PlainOp::Roll { shift: vec![shift, 1], axes: vec![axis, -1] }];
                    let width = SWEPT_WIDTHS[(size + number) % SWEPT_WIDTHS.len()];
                    Case::contiguous(&shape, &ops, width, SWEPT_OFFSETS[number])
                })
        })
    })
}

/// Every order of three or four axes, one or two of which are rolled, and perhaps one reversed.
pub(super) fn orders_of_rolled() -> impl Iterator<Item = Case> {
    let rolls = [[(0, 1), (2, 5)], [(1, 3), (2, 33)]];
    let shapes = [
        vec![35, 5, 66],
        vec![3, 70, 24],
        vec![2, 12, 130],
        vec![2, 7, 20, 18],
        vec![3, 10, 6, 16],
    ];
    shapes.into_iter().flat_map(move |shape| {
        permutations(shape.len()).into_iter().enumerate().flat_map(move |(number, order)| {
            let shape = shape.clone();
            rolls[number % 2].into_iter().flat_map(move |(axis, shift)| {
                let (shape, order) = (shape.clone(), order.clone());
                [vec![], vec![axis]].into_iter().map(move |flipped| {
                    let ops = [
                        PlainOp::Roll { shift: vec![shift], axes: vec![axis] },
                        PlainOp::Flip { axes: flipped },
                        PlainOp::Transpose { order: order.clone() },
                        PlainOp::Roll { shift: vec![shift % 3], axes: vec![0] },
                    ];
                    let width = [1, 2, 4, 8, 3][(number + shift as usize) % 5];
                    Case::contiguous(
                        &shape,
                        &ops,
                        width,
                        SWEPT_OFFSETS[number % SWEPT_OFFSETS.len()],
                    )
                })
            })
        })
    })
}

/// Many rows of every length up to two cache lines, and some longer rows. The two parts of a row meet within a vector.
pub(super) fn rows_rolled() -> impl Iterator<Item = Case> {
    (2..=66usize).chain([127, 128, 300, 500, 511, 512, 513, 1284]).flat_map(|size| {
        (1..size).step_by(1 + size / 4).enumerate().flat_map(move |(number, shift)| {
            let shift = i64::try_from(shift).expect("a small shift");
            // As many rows as fill whole vectors, or few if they are long. Once there is one more than a tile has.
            let rows = match size {
                ..100 => 65,
                500 => 66,
                _ => 5,
            };
            [(vec![rows + 2, size], 1), (vec![1 + number, rows, size], 1), (vec![rows, size], 4)]
                .map(|(shape, width)| {
                    let ops = [PlainOp::Roll { shift: vec![shift, 2], axes: vec![-1, 0] }];
                    Case::contiguous(
                        &shape,
                        &ops,
                        width,
                        SWEPT_OFFSETS[number % SWEPT_OFFSETS.len()],
                    )
                })
        })
    })
}
