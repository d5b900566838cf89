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

    /// Adds `count` elements at places from `place` on, the first of them at `from` and each so far
    /// from the one before it.
    fn meet_all(self, sum: &mut Sum, place: usize, from: usize, distance: isize, count: usize) {
        match self {
            Elements::Bytes(bytes, 1) => meet_words::<1>(bytes, sum, place, from, distance, count),
            Elements::Bytes(bytes, 2) => meet_words::<2>(bytes, sum, place, from, distance, count),
            Elements::Bytes(bytes, 4) => meet_words::<4>(bytes, sum, place, from, distance, count),
            Elements::Bytes(bytes, 8) => meet_words::<8>(bytes, sum, place, from, distance, count),
            _ => {
                for number in 0..count {
                    let from = from.wrapping_add_signed(distance * number.cast_signed());
                    self.meet(sum, place + number, from);
                }
            }
        }
    }

    /// The sum of `count` elements that stand one behind another from `first` on.
    pub(crate) fn sum(self, first: usize, count: usize) -> Sum {
        let mut sum = Sum::default();
        self.meet_all(&mut sum, first, 0, 1, count);
        sum
    }
}

/// [`Elements::meet_all`] of elements of one word or less.
fn meet_words<const WIDTH: usize>(
    bytes: &[u8],
    sum: &mut Sum,
    place: usize,
    from: usize,
    distance: isize,
    count: usize,
) {
    let (elements, _) = bytes.as_chunks::<WIDTH>();
    let (mut total, mut from) = (0u64, from);
    for place in place..place + count {
        let mut word = [0; 8];
        word[..WIDTH].copy_from_slice(&elements[from]);
        total = total.wrapping_add(mix(place as u64, u64::from_le_bytes(word)));
        from = from.wrapping_add_signed(distance);
    }
    sum.0 = sum.0.wrapping_add(total);
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
            let blocks = Blocks::of(&piece);
            let share = blocks.count().div_ceil(threads.max(1)).max(1);
            let mut begins = (0..blocks.count()).step_by(share);
            let blocks = &blocks;
            let of_share = move |begin: usize| {
                self.sum_of_blocks(blocks, begin..blocks.count().min(begin + share))
            };
            if elements(&piece) < FEW_ELEMENTS {
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

    /// The same of the elements of the blocks with these numbers.
    fn sum_of_blocks(&self, blocks: &Blocks<'_>, numbers: Range<usize>) -> Sum {
        let (mut walk, mut sum) = (Walk::new(self), Sum::default());
        for number in numbers {
            let block = blocks.block(number);
            let mut index: Vec<usize> = block.iter().map(|range| range.start).collect();
            loop {
                let (place, mut left) = self.row(&block, &index);
                let mut at = place;
                while left > 0 {
                    let from = walk.source_of(&index);
                    let (evenly, distance) = walk.stretch();
                    let count = evenly.min(left);
                    self.elements.meet_all(&mut sum, at, from, distance, count);
                    (at, left) = (at + count, left - count);
                    index.last_mut().into_iter().for_each(|last| *last += count);
                }
                if !next_row(&block, &mut index) {
                    break;
                }
            }
        }
        sum
    }

    /// The place of the element at `index` where the pass writes to, and how many follow it along
    /// the last axis of the block.
    fn row(&self, block: &[Range<usize>], index: &[usize]) -> (usize, usize) {
        let row: Bounds = index.iter().map(|i| *i..i + 1).collect();
        let left = block.last().zip(index.last()).map_or(1, |(range, i)| range.end - i);
        (self.to.runs(&row).start(0), left)
    }
}

/// Goes from the end of a row of a block to the start of the next one, if there is one.
fn next_row(block: &[Range<usize>], index: &mut [usize]) -> bool {
    for axis in (0..block.len()).rev() {
        if axis + 1 < block.len() {
            index[axis] += 1;
        }
        if index[axis] < block[axis].end {
            return true;
        }
        index[axis] = block[axis].start;
    }
    false
}

/// A box cut into blocks, so small that the source of one is at hand in whichever order it is met.
struct Blocks<'a> {
    whole: &'a [Range<usize>],
    /// The most indices of a block along each axis.
    sides: Vec<usize>,
}

impl<'a> Blocks<'a> {
    fn of(whole: &'a [Range<usize>]) -> Blocks<'a> {
        let last = whole.len().saturating_sub(1);
        let outer = match last {
            0 | 1 => BLOCK_ROWS,
            2 => BLOCK_ROWS / 4,
            _ => BLOCK_ROWS / 8,
        };
        let sides = (0..whole.len()).map(|axis| if axis == last { ROW_ELEMENTS } else { outer });
        Blocks { whole, sides: sides.collect() }
    }

    fn along(&self, axis: usize) -> usize {
        self.whole[axis].len().div_ceil(self.sides[axis])
    }

    fn count(&self) -> usize {
        (0..self.whole.len()).map(|axis| self.along(axis)).product()
    }

    fn block(&self, mut number: usize) -> Bounds {
        let mut block = self.whole.to_vec();
        for axis in (0..block.len()).rev() {
            let start = block[axis].start + number % self.along(axis) * self.sides[axis];
            block[axis] = start..block[axis].end.min(start + self.sides[axis]);
            number /= self.along(axis);
        }
        block
    }
}

/// Sums of fewer elements are not worth a thread.
const FEW_ELEMENTS: usize = 1 << 13;

/// The rows of a block, of a box of two axes.
const BLOCK_ROWS: usize = 64;

/// The elements of a row of a block.
const ROW_ELEMENTS: usize = 256;

/// Coordinates on the way from the output to the source.
struct Walk<'a> {
    origin: &'a Origin<'a>,
    out: Vec<usize>,
    between: Vec<Vec<usize>>,
    /// How far apart neighbours along the last axis are along each source axis.
    steps: Vec<isize>,
}

impl<'a> Walk<'a> {
    fn new(origin: &'a Origin<'a>) -> Walk<'a> {
        let between = origin.steps.iter().map(|step| vec![0; step.in_shape().rank()]).collect();
        let steps = vec![0; origin.source.len()];
        Walk { origin, out: vec![0; origin.out_shape.rank()], between, steps }
    }

    /// For how many indices along the last axis, from the one on that was asked for last, the
    /// elements in memory are evenly spaced, and how far apart. Of several operators one after
    /// another, each element is followed by itself.
    fn stretch(&mut self) -> (usize, isize) {
        let Origin { steps, out_shape, in_shape, source, .. } = self.origin;
        let elements = match steps {
            [] if self.steps.is_empty() => return (1, 0),
            [] => {
                self.steps.fill(0);
                self.steps.last_mut().into_iter().for_each(|step| *step = 1);
                usize::MAX
            }
            [step] if step.out_shape() == *out_shape && step.in_shape() == *in_shape => {
                step.stretch(&self.out, &mut self.steps)
            }
            _ => return (1, 0),
        };
        let distance = self
            .steps
            .iter()
            .zip(*source)
            .fold(0, |distance, (step, range)| distance * range.len().cast_signed() + step);
        (elements, distance)
    }

    /// The number of the element, among those in memory, that lands at `index`.
    fn source_of(&mut self, index: &[usize]) -> usize {
        self.out.copy_from_slice(index);
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
