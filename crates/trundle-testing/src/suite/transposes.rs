//! Permuted axes.

use trundle_core::{Layout, Shape};

use super::case::Case;
use super::swept::{EDGE_SIZES, SWEPT_OFFSETS, SWEPT_WIDTHS, permutations};
use crate::PlainOp;
use crate::cases::signed;
use crate::choices::Choices;

/// Two axes are exchanged, and perhaps one of them reversed.
pub(super) fn matrices() -> impl Iterator<Item = Case> {
    EDGE_SIZES.into_iter().flat_map(|rows| {
        EDGE_SIZES.into_iter().flat_map(move |columns| {
            SWEPT_WIDTHS.into_iter().enumerate().map(move |(number, width)| {
                let mut ops = vec![PlainOp::Transpose { order: vec![1, 0] }];
                if (rows + columns + number) % 4 == 0 {
                    ops.push(PlainOp::Flip { axes: vec![i64::from(rows > columns)] });
                }
                let offsets = SWEPT_OFFSETS[(rows * columns + number) % SWEPT_OFFSETS.len()];
                Case::contiguous(&[rows, columns], &ops, width, offsets)
            })
        })
    })
}

/// Many matrices of few elements, and pictures of few channels with all axes in reversed order, perhaps with a flipped
/// axis.
pub(super) fn few_elements() -> impl Iterator<Item = Case> {
    let sizes = [2, 3, 4, 5, 6, 7, 9];
    let pairs = sizes.into_iter().flat_map(move |a| sizes.into_iter().map(move |b| (a, b)));
    let orders: [&[i64]; 3] = [&[0, 1, 3, 2], &[1, 0, 3, 2], &[3, 2, 1, 0]];
    pairs.enumerate().flat_map(move |(number, (a, b))| {
        SWEPT_WIDTHS.into_iter().enumerate().flat_map(move |(at, width)| {
            orders.into_iter().enumerate().flat_map(move |(turn, order)| {
                let turn = number + at + turn;
                let mut ops = vec![PlainOp::Transpose { order: order.to_vec() }];
                if turn.is_multiple_of(3) {
                    ops.push(PlainOp::Flip { axes: vec![[0, 1, 2, 3][turn % 4]] });
                }
                let offsets = SWEPT_OFFSETS[turn % SWEPT_OFFSETS.len()];
                let many = [2, 5 + turn % 30, a, b];
                let picture = [1, 18 + turn % 30, 3 + turn % 20, a];
                [many, picture].map(|shape| Case::contiguous(&shape, &ops, width, offsets))
            })
        })
    })
}

/// A few channels of many pixels: from pixels to planes and back, with either axis reversed, and cropped.
pub(super) fn pictures() -> impl Iterator<Item = Case> {
    let transpose = PlainOp::Transpose { order: vec![0, 2, 1] };
    let flip = |axis| PlainOp::Flip { axes: vec![axis] };
    let reverse =
        |axis, length| PlainOp::ReverseSequence { axis, batch_axis: 0, lengths: vec![length, 1] };
    let chains = [
        vec![transpose.clone()],
        vec![flip(1), transpose.clone()],
        vec![flip(2), transpose.clone()],
        vec![flip(1), flip(2), transpose.clone()],
        vec![reverse(1, 2), transpose.clone()],
        vec![reverse(2, 2), transpose.clone()],
        vec![flip(1)],
        vec![flip(2)],
    ];
    let counts = [16, 33, 64, 65, 129, 321];
    [2, 3, 4, 5, 6, 7, 8, 9].into_iter().flat_map(move |channels| {
        let chains = chains.clone();
        counts.into_iter().enumerate().flat_map(move |(number, pixels)| {
            let chains = chains.clone();
            [1usize, 2, 4, 8].into_iter().flat_map(move |width| {
                chains.clone().into_iter().enumerate().map(move |(turn, ops)| {
                    let turn = turn + number + channels + width.ilog2() as usize;
                    let offsets = SWEPT_OFFSETS[turn / 2 % SWEPT_OFFSETS.len()];
                    let shape = if turn.is_multiple_of(2) {
                        [2, pixels, channels]
                    } else {
                        [2, channels, pixels]
                    };
                    Case::contiguous(&shape, &ops, width, offsets)
                })
            })
        })
    })
}

/// Planes become pixels of a multiple of 16 bytes, also where adjacent pixels are not adjacent in the source.
pub(super) fn channels() -> impl Iterator<Item = Case> {
    [1usize, 2, 4, 8, 16].into_iter().flat_map(|width| {
        [16, 32, 48, 64].into_iter().flat_map(move |bytes| {
            [5, 64, 65, 321].into_iter().enumerate().flat_map(move |(number, pixels)| {
                let channels = bytes / width;
                let turn = number + channels;
                let offsets = |turn: usize| SWEPT_OFFSETS[turn % SWEPT_OFFSETS.len()];
                let order = |order: &[i64]| [PlainOp::Transpose { order: order.to_vec() }];
                [
                    Case::contiguous(
                        &[2, channels, pixels],
                        &order(&[0, 2, 1]),
                        width,
                        offsets(turn),
                    ),
                    Case::contiguous(
                        &[channels, 3, pixels],
                        &order(&[1, 2, 0]),
                        width,
                        [offsets(turn + 1)[0], 16],
                    ),
                    Case::contiguous(&[channels, 2, 3, 20], &order(&[2, 1, 3, 0]), width, [0, 48]),
                ]
            })
        })
    })
}

/// Rows and columns are so long that they are packed before they are transposed: in one or several strips, which end at
/// a cache line or within it, perhaps with gaps.
pub(super) fn strips() -> impl Iterator<Item = Case> {
    let matrices = [1usize, 2, 4, 8, 16].into_iter().flat_map(|width| {
        let row_lengths = [1024, 1040, 1616, 3056, 4608].into_iter().enumerate();
        // Small elements in shorter rows have as many strips.
        row_lengths.take(if width < 4 { 3 } else { 5 }).flat_map(move |(number, bytes)| {
            [(256, 0), (512, 0), (336, 1)].into_iter().map(move |(row_bytes, more)| {
                let (rows, columns) = (row_bytes / width + more, bytes / width + 3 * more);
                let turn = number + width.ilog2() as usize + more;
                let offsets = match SWEPT_OFFSETS[turn % SWEPT_OFFSETS.len()] {
                    // Unaligned elements are not packed.
                    [src, dst] if number % 4 != 0 => [src, dst.next_multiple_of(width)],
                    offsets => offsets,
                };
                let mut ops = vec![PlainOp::Transpose { order: vec![1, 0] }];
                if turn.is_multiple_of(3) {
                    ops.push(PlainOp::Flip { axes: vec![0] });
                }
                Case::contiguous(&[columns, rows], &ops, width, offsets)
            })
        })
    });
    let jumping: [(&[usize], usize); 5] = [
        (&[40, 30, 20, 14], 1),
        (&[25, 23, 13, 14], 2),
        (&[18, 17, 9, 8], 4),
        (&[13, 11, 6, 7], 8),
        (&[9, 8, 4, 5], 16),
    ];
    let invert = PlainOp::Transpose { order: vec![] };
    let jumping = jumping.into_iter().flat_map(move |(sizes, width)| {
        let invert = invert.clone();
        [[0, 0], [16, 48]]
            .map(move |at| Case::contiguous(sizes, std::slice::from_ref(&invert), width, at))
    });
    matrices.chain(jumping)
}

/// Unusual widths: backwards, as pixels of three channels at different distances, and as matrices.
pub(super) fn groups() -> impl Iterator<Item = Case> {
    let counts = [3, 7, 11, 22, 23, 40, 65, 100, 300];
    (2..36).flat_map(move |width| {
        counts.into_iter().enumerate().flat_map(move |(number, count)| {
            let offsets = SWEPT_OFFSETS[(number + width) % SWEPT_OFFSETS.len()];
            let flip = PlainOp::Flip { axes: vec![1] };
            let backwards =
                Case::contiguous(&[3, count], std::slice::from_ref(&flip), width, offsets);
            let apart = [0, 2, 4, 5].into_iter().flat_map(move |step| {
                [vec![], vec![flip.clone()]].into_iter().map(move |ops| {
                    let packed = Case::contiguous(&[count, 3], &ops, width, offsets);
                    let strides = [step * width, width].map(usize::cast_signed);
                    let shape = Shape::new([count, 3]).expect("a small shape");
                    let src = Layout::strided(&shape, offsets[0], &strides);
                    Case { src: src.expect("as many strides"), ..packed }
                })
            });
            let turn = PlainOp::Transpose { order: vec![1, 0] };
            let upwards = [vec![turn.clone()], vec![PlainOp::Flip { axes: vec![1] }, turn]];
            let turned = upwards.into_iter().flat_map(move |ops| {
                [[count, 29], [29, count], [count, 67]]
                    .map(|shape| Case::contiguous(&shape, &ops, width, offsets))
            });
            std::iter::once(backwards).chain(apart).chain(turned)
        })
    })
}

/// Every order of three, four or five axes.
pub(super) fn orders() -> impl Iterator<Item = Case> {
    let shapes = [vec![17, 9, 33], vec![3, 64, 16], vec![2, 3, 4, 5], vec![4, 2, 3, 2, 5]];
    shapes.into_iter().flat_map(|shape| {
        permutations(shape.len()).into_iter().flat_map(move |order| {
            let shape = shape.clone();
            [1, 4, 6].into_iter().map(move |width| {
                let ops = [PlainOp::Transpose { order: order.clone() }];
                Case::contiguous(&shape, &ops, width, [0, 0])
            })
        })
    })
}

/// Many axes of size two, of powers of two, or of other small sizes, in any order, some reversed.
pub(super) fn many_axes() -> impl Iterator<Item = Case> {
    let sizes: [&[usize]; 5] = [&[2], &[2, 4, 2, 8], &[2, 2, 2, 3], &[2, 3, 5], &[3, 1, 4, 67]];
    SWEPT_WIDTHS.into_iter().flat_map(move |width| {
        (0..60).map(move |turn| {
            let mut choices = Choices::of((width * 100 + turn) as u64);
            let (mut shape, mut elements) = (Vec::new(), 1);
            let most = [100, 1000, 6000, 20_000][turn / 5 % 4];
            while elements < most {
                let sizes = sizes[turn % sizes.len()];
                shape.push(sizes[choices.below(sizes.len())]);
                elements *= shape[shape.len() - 1];
            }
            let mut order: Vec<usize> = (0..shape.len()).rev().collect();
            if turn % 3 > 0 {
                for last in (1..order.len()).rev() {
                    order.swap(last, choices.below(last + 1));
                }
            }
            let flipped: Vec<i64> =
                (0..shape.len()).filter(|_| choices.below(3) == 0).map(signed).collect();
            let mut ops =
                vec![PlainOp::Transpose { order: order.into_iter().map(signed).collect() }];
            if turn % 2 == 1 {
                ops.insert(0, PlainOp::Flip { axes: flipped });
            }
            let offsets = SWEPT_OFFSETS[(turn / 7) % SWEPT_OFFSETS.len()];
            Case::contiguous(&shape, &ops, width, offsets)
        })
    })
}
