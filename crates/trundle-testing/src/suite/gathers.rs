//! Gathers of elements and rows, of every width and at every offset.

use trundle_core::ops::{Indices, Take, TakeAlongAxis, Transpose};
use trundle_core::{Op, Shape};

use super::case::Case;
use super::swept::{SWEPT_OFFSETS, SWEPT_WIDTHS};
use crate::Naive;
use crate::shapings::ShapingChain;

/// Returns indices that are not evenly spaced.
fn scattered(count: usize, size: usize) -> Vec<i64> {
    let size = i64::try_from(size).expect("a small size");
    let at = |number: i64| (number * 7919 + number * number * 31 + 3) % size;
    (0..).take(count).map(at).map(|index| index - if index % 3 == 0 { size } else { 0 }).collect()
}

fn indices(sizes: &[usize], values: &[i64]) -> Indices {
    Indices::new(Shape::new(sizes).expect("a small shape"), values).expect("one for each element")
}

fn chain(shape: &[usize], ops: Vec<Op>, naive: Naive) -> ShapingChain {
    ShapingChain { shape: shape.to_vec(), ops, naive }
}

/// Along each axis: alone, with another order of axes, and with different indices for each row.
pub(super) fn gathers() -> impl Iterator<Item = Case> {
    let mut chains = Vec::new();
    for (shape, counts) in [
        (&[67][..], &[1, 2, 5, 17, 64, 131][..]),
        (&[9, 13], &[3, 16, 40]),
        (&[5, 6, 70], &[11, 33]),
        (&[700, 30], &[9000]),
    ] {
        for axis in 0..shape.len() {
            let signed = i64::try_from(axis).expect("a small axis");
            let whole = Naive::numbered(shape);
            for count in counts {
                let values = scattered(*count, shape[axis]);
                let take: Op = Take::new(signed, indices(&[*count], &values)).into();
                let taken = whole.take(axis, &[*count], &values);
                chains.push(chain(shape, vec![take.clone()], taken.clone()));
                let inverted = taken.transpose(&[]);
                let turned = vec![take, Transpose::new(&[]).into()];
                chains.push(chain(shape, turned, inverted));
                if *count > 200 {
                    continue;
                }
                let mut sizes = shape.to_vec();
                sizes[axis] = *count;
                let values = scattered(sizes.iter().product(), shape[axis]);
                let along: Op = TakeAlongAxis::new(signed, indices(&sizes, &values)).into();
                let taken = whole.take_along_axis(axis, &sizes, &values);
                chains.push(chain(shape, vec![along.clone()], taken.clone()));
                let turned = vec![along, Transpose::new(&[]).into()];
                chains.push(chain(shape, turned, taken.transpose(&[])));
            }
        }
    }
    let few = |chain: &ShapingChain| chain.naive.labels().len() < 5000;
    let widths = SWEPT_WIDTHS.into_iter().chain([20, 64, 100, 260]);
    widths.flat_map(move |width| {
        let fits = chains.clone().into_iter().filter(move |each| few(each) || width <= 8);
        fits.enumerate().map(move |(number, chain)| {
            Case::contiguous_chain(chain, width, SWEPT_OFFSETS[number % SWEPT_OFFSETS.len()])
        })
    })
}
