//! Sums by which what was read and what was written are compared.
//!
//! Each element goes through a mixing function together with the number of its place in the output
//! of the pass; a tensor's sum is that of all results, in whatever order they were met. What was
//! read is summed at the places to which the operators, followed one by one, bring it: nothing of
//! composing, binding, planning or kernels has a part in that. What was written is read back and
//! summed at the places where it stands.

use std::ops::Range;
use std::thread::Builder;

use trundle::{IndexMap, Packing, Shape, Width};

use crate::place::{Bounds, Place, elements};

/// The sum of some elements at their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) u64);

impl Sum {
    pub(crate) fn add(&mut self, other: Sum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Adds an element of these bytes.
    fn meet(&mut self, place: usize, element: &[u8]) {
        let mut mixed = place as u64;
        for part in element.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            mixed = mix(mixed, u64::from_le_bytes(bytes));
        }
        self.0 = self.0.wrapping_add(mixed);
    }
}

/// Two words multiplied into one that depends on every bit of both, as wyhash folds them.
fn mix(one: u64, other: u64) -> u64 {
    let one = (one ^ 0xa076_1d64_78bd_642f).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (one >> 29);
    let product = u128::from(one) * u128::from(other ^ 0xe703_7ed1_a0b4_28db);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(one)
}

/// Elements as they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Elements<'a> {
    /// One behind another, of so many bytes each.
    Bytes(&'a [u8], usize),
    /// Packed as in a file.
    Packed(&'a [u8], Packing),
}

impl<'a> Elements<'a> {
    /// Those of a file's bytes, of which the first belongs to a first element.
    pub(crate) fn of_file(bytes: &'a [u8], width: Width) -> Elements<'a> {
        match width {
            Width::Bytes(unit) => Elements::Bytes(bytes, unit),
            Width::Packed(packing) => Elements::Packed(bytes, packing),
        }
    }

    fn meet(self, sum: &mut Sum, place: usize, number: usize) {
        match self {
            Elements::Bytes(bytes, unit) => sum.meet(place, &bytes[number * unit..][..unit]),
            Elements::Packed(bytes, packing) => sum.meet(place, &[packing.get(bytes, number)]),
        }
    }

    /// The sum of `count` elements that stand one behind another from `first` on.
    pub(crate) fn sum(self, first: usize, count: usize) -> Sum {
        let mut sum = Sum::default();
        for number in 0..count {
            self.meet(&mut sum, first + number, number);
        }
        sum
    }
}

/// What a box of a pass's output is made from.
pub(crate) struct Origin<'a> {
    /// The operators of the pass, one by one; none if everything stays in place.
    pub(crate) steps: &'a [IndexMap],
    /// The shape in which the box is one, with as many elements as the last step's output.
    pub(crate) out_shape: &'a Shape,
    /// The shape in which `source` is a box, with as many elements as the first step's source.
    pub(crate) in_shape: &'a Shape,
    /// The box of the source that is in memory.
    pub(crate) source: &'a [Range<usize>],
    /// Its elements.
    pub(crate) elements: Elements<'a>,
    /// Where the pass writes to.
    pub(crate) to: &'a Place,
}

impl Origin<'_> {
    /// The sum of the elements that the operators bring to the box `out`, by `threads`.
    pub(crate) fn sum(&self, out: &[Range<usize>], threads: usize) -> Sum {
        let mut sum = Sum::default();
        for piece in self.to.pieces(out) {
            let share = elements(&piece).div_ceil(threads.max(1)).max(1);
            let mut begins = (0..elements(&piece)).step_by(share);
            let of_share =
                |begin: usize| self.sum_of_part(&piece, begin..elements(&piece).min(begin + share));
            if share < 1 << 12 {
                begins.map(of_share).for_each(|part| sum.add(part));
                continue;
            }
            std::thread::scope(|scope| {
                let first = begins.next();
                let mut parts = Vec::new();
                for begin in begins {
                    match Builder::new().spawn_scoped(scope, move || of_share(begin)) {
                        Ok(part) => parts.push(part),
                        // There are no more threads to be had.
                        Err(_) => sum.add(of_share(begin)),
                    }
                }
                first.into_iter().for_each(|begin| sum.add(of_share(begin)));
                for part in parts {
                    sum.add(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
            });
        }
        sum
    }

    /// The same of the elements of `piece` with these numbers in row-major order.
    fn sum_of_part(&self, piece: &Bounds, numbers: Range<usize>) -> Sum {
        let runs = self.to.runs(piece);
        let sizes: Vec<usize> = piece.iter().map(Range::len).collect();
        let within = Shape::new(sizes).unwrap_or_default();
        let mut index = within.unravel(numbers.start);
        let mut walk = Walk::new(self);
        let mut sum = Sum::default();
        for number in numbers {
            let place = runs.start(number / runs.len) + number % runs.len;
            let from = walk.source_of(&index, piece);
            self.elements.meet(&mut sum, place, from);
            within.advance(&mut index);
        }
        sum
    }
}

/// Coordinates on the way from the output to the source.
struct Walk<'a> {
    origin: &'a Origin<'a>,
    out: Vec<usize>,
    between: Vec<Vec<usize>>,
}

impl<'a> Walk<'a> {
    fn new(origin: &'a Origin<'a>) -> Walk<'a> {
        let between = origin.steps.iter().map(|step| vec![0; step.in_shape().rank()]).collect();
        Walk { origin, out: vec![0; origin.out_shape.rank()], between }
    }

    /// The number of the element, among those in memory, that lands at an index of `piece`.
    fn source_of(&mut self, index: &[usize], piece: &Bounds) -> usize {
        for ((out, i), range) in self.out.iter_mut().zip(index).zip(piece) {
            *out = range.start + i;
        }
        let Origin { steps, out_shape, in_shape, source, .. } = self.origin;
        let mut seen = None;
        if let Some(last) = steps.last()
            && last.out_shape() != *out_shape
        {
            seen = Some(last.out_shape().unravel(number_of(out_shape, &self.out)));
        }
        for number in (0..steps.len()).rev() {
            let (before, after) = self.between.split_at_mut(number + 1);
            let from = after.first().or(seen.as_ref()).unwrap_or(&self.out);
            steps[number].source_into(from, &mut before[number]);
        }
        let found = self.between.first().unwrap_or(&self.out);
        let reshaped = steps.first().is_some_and(|first| first.in_shape() != *in_shape);
        let found = match reshaped {
            true => &in_shape.unravel(number_of(steps[0].in_shape(), found)),
            false => found,
        };
        found
            .iter()
            .zip(*source)
            .fold(0, |number, (i, range)| number * range.len() + i - range.start)
    }
}

fn number_of(shape: &Shape, index: &[usize]) -> usize {
    index.iter().zip(shape.iter()).fold(0, |number, (i, size)| number * size + i)
}

#[cfg(test)]
mod tests {
    use trundle::Chain;

    use super::*;

    #[test]
    fn a_sum_tells_elements_and_places_apart_but_not_their_order() {
        let sum = |bytes: &[u8], width, first| {
            Elements::Bytes(bytes, width).sum(first, bytes.len() / width)
        };
        let bytes: Vec<u8> = (0..96).collect();
        for width in [1, 2, 3, 4, 8, 12, 16] {
            let whole = sum(&bytes, width, 0);
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_ne!(sum(&other, width, 0), whole);
                let mut swapped = bytes.clone();
                swapped.rotate_left(width);
                assert_ne!(sum(&swapped, width, 0), whole);
            }
            let mut parts = sum(&bytes[48..], width, 48 / width);
            parts.add(sum(&bytes[..48], width, 0));
            assert_eq!(parts, whole);
            assert_ne!(sum(&bytes, width, 1), whole);
        }
        // Zeros count too.
        assert_ne!(sum(&[0; 8], 4, 0), sum(&[0; 12], 4, 0));
    }

    #[test]
    fn what_the_operators_move_has_the_sum_of_what_they_make() {
        for text in [
            "a b c -> c a b",
            "roll(shift=[2,1], axes=[0,2]) | flip(axes=[1])",
            "(a p) b c -> a (b p) c, p=2 | reverse(axis=1, batch_axis=0, lengths=[3, 1])",
        ] {
            let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let shape = Shape::new([4, 3, 5]).unwrap();
            let steps = chain.steps(&shape).unwrap();
            let bytes: Vec<u8> = (0..60).map(|n: u8| n.wrapping_mul(7)).collect();
            let moved =
                trundle::Plan::packed(&chain, 1, &shape, None).unwrap().run_slice(&bytes).unwrap();
            let out_shape = steps.last().unwrap().out_shape();
            let whole: Bounds = shape.iter().map(|size| 0..*size).collect();
            let origin = Origin {
                steps: &steps,
                out_shape,
                in_shape: &shape,
                source: &whole,
                elements: Elements::Bytes(&bytes, 1),
                to: &Place::RowMajor { sizes: out_shape.to_vec() },
            };
            let out: Bounds = out_shape.iter().map(|size| 0..*size).collect();
            assert_eq!(origin.sum(&out, 3), Elements::Bytes(&moved, 1).sum(0, 60), "{text}");
        }
    }
}
