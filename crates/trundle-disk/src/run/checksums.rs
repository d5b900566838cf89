//! Checksums by which what was read and what was written are compared.
//!
//! Each element is mixed with its position in the output of the pass; the checksum of a tensor is the
//! sum over its elements, in any order. What was read is summed at the positions to which the
//! operators, followed one by one ([`Program::follow`]), bring it: composing, binding, planning and
//! kernels have no part in that. What was written is read back and summed at the positions where it
//! is.

use std::ops::Range;
use std::thread::Builder;

use trundle::{Packing, Shape, Width};
use trundle_core::program::{Made, Program, Row, TensorId};

use crate::plan::location::{Bounds, Location, elements};

/// The checksum of some elements at their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum(pub(crate) u64);

impl Checksum {
    pub(crate) fn add(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Adds an element of these bytes.
    fn update(&mut self, position: usize, element: &[u8]) {
        let mut mixed = position as u64;
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

/// Elements in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Elements<'a> {
    /// Contiguous, of so many bytes each.
    Bytes(&'a [u8], usize),
    /// Sub-byte elements, packed as in a file.
    Packed(&'a [u8], Packing),
}

impl<'a> Elements<'a> {
    /// Those of a file's bytes, of which the first belongs to a first element.
    pub(crate) fn of_file(bytes: &'a [u8], width: Width) -> Elements<'a> {
        match width {
            Width::Bytes(unit) => Elements::Bytes(bytes, unit),
            Width::SubByte(packing) => Elements::Packed(bytes, packing),
        }
    }

    fn update(self, checksum: &mut Checksum, position: usize, index: usize) {
        match self {
            Elements::Bytes(bytes, unit) => {
                checksum.update(position, &bytes[index * unit..][..unit]);
            }
            Elements::Packed(bytes, packing) => {
                checksum.update(position, &[packing.get(bytes, index)]);
            }
        }
    }

    /// The checksum of `count` elements that are contiguous, at positions from `first` on.
    pub(crate) fn checksum(self, first: usize, count: usize) -> Checksum {
        let mut checksum = Checksum::default();
        Evenly { elements: self, from: 0, distance: 1, count }.update(&mut checksum, first);
        checksum
    }
}

/// Elements that are evenly spaced in memory.
struct Evenly<'a> {
    elements: Elements<'a>,
    /// The index in memory of the first one.
    from: usize,
    /// From one to the next.
    distance: isize,
    count: usize,
}

impl Evenly<'_> {
    /// Adds them, at positions from `position` on.
    fn update(self, checksum: &mut Checksum, position: usize) {
        match self.elements {
            Elements::Bytes(bytes, 1) => self.update_words::<1>(bytes, checksum, position),
            Elements::Bytes(bytes, 2) => self.update_words::<2>(bytes, checksum, position),
            Elements::Bytes(bytes, 4) => self.update_words::<4>(bytes, checksum, position),
            Elements::Bytes(bytes, 8) => self.update_words::<8>(bytes, checksum, position),
            elements => {
                for index in 0..self.count {
                    let from = self.from.wrapping_add_signed(self.distance * index.cast_signed());
                    elements.update(checksum, position + index, from);
                }
            }
        }
    }

    /// The same of elements of one word or less.
    fn update_words<const WIDTH: usize>(
        self,
        bytes: &[u8],
        checksum: &mut Checksum,
        position: usize,
    ) {
        let (elements, _) = bytes.as_chunks::<WIDTH>();
        let (mut total, mut from) = (0u64, self.from);
        for position in position..position + self.count {
            let mut word = [0; 8];
            word[..WIDTH].copy_from_slice(&elements[from]);
            total = total.wrapping_add(mix(position as u64, u64::from_le_bytes(word)));
            from = from.wrapping_add_signed(self.distance);
        }
        checksum.0 = checksum.0.wrapping_add(total);
    }
}

/// What a box of a pass's output is made from.
pub(crate) struct Origin<'a> {
    /// The operators, one by one.
    pub(crate) program: &'a Program,
    /// Which tensor of it is written; none if everything stays in place.
    pub(crate) target: Option<TensorId>,
    /// The shape in which the box is one, with as many elements as the target.
    pub(crate) out_shape: &'a Shape,
    /// What was read.
    pub(crate) sources: Vec<Source<'a>>,
    /// Where the pass writes to.
    pub(crate) to: &'a Location,
}

/// A box of a tensor that is in memory.
pub(crate) struct Source<'a> {
    /// Which tensor of the program it is.
    pub(crate) of: TensorId,
    /// The shape in which it is read, with as many elements.
    pub(crate) shape: &'a Shape,
    /// The box.
    pub(crate) bounds: Bounds,
    /// Its elements.
    pub(crate) elements: Elements<'a>,
}

impl Origin<'_> {
    /// The checksum of the elements that the operators bring to the box `out`, by `threads`.
    pub(crate) fn checksum(&self, out: &[Range<usize>], threads: usize) -> Checksum {
        let mut checksum = Checksum::default();
        for span in self.to.spans(out) {
            let blocks = Blocks::of(&span);
            let share = blocks.count().div_ceil(threads.max(1)).max(1);
            let mut begins = (0..blocks.count()).step_by(share);
            let blocks = &blocks;
            let of_share = move |begin: usize| {
                self.checksum_of_blocks(blocks, begin..blocks.count().min(begin + share))
            };
            if elements(&span) < FEW_ELEMENTS {
                begins.map(of_share).for_each(|part| checksum.add(part));
                continue;
            }
            std::thread::scope(|scope| {
                let first = begins.next();
                let mut parts = Vec::new();
                for begin in begins {
                    match Builder::new().spawn_scoped(scope, move || of_share(begin)) {
                        Ok(part) => parts.push(part),
                        // There are no more threads to be had.
                        Err(_) => checksum.add(of_share(begin)),
                    }
                }
                first.into_iter().for_each(|begin| checksum.add(of_share(begin)));
                for part in parts {
                    checksum
                        .add(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
            });
        }
        checksum
    }

    /// The same of the elements of the blocks with these indices.
    fn checksum_of_blocks(&self, blocks: &Blocks<'_>, indices: Range<usize>) -> Checksum {
        let (mut row, mut checksum) = (Row::default(), Checksum::default());
        for block in indices {
            let block = blocks.block(block);
            let mut index: Vec<usize> = block.iter().map(|range| range.start).collect();
            loop {
                let (position, mut left) = self.row(&block, &index);
                let mut at = position;
                while left > 0 {
                    let evenly = self.from(&mut row, &index, left);
                    let count = evenly.count;
                    evenly.update(&mut checksum, at);
                    (at, left) = (at + count, left - count);
                    index.last_mut().into_iter().for_each(|last| *last += count);
                }
                if !next_row(&block, &mut index) {
                    break;
                }
            }
        }
        checksum
    }

    /// Where the element at `index` of the output is in memory, and how many that follow it along the
    /// last axis, `most` with itself, are evenly spaced there. `row` is what goes there.
    fn from(&self, row: &mut Row, index: &[usize], most: usize) -> Evenly<'_> {
        let Origin { program, target, out_shape, sources, .. } = self;
        row.begin(target.unwrap_or_default(), index, most);
        let Some(target) = *target else {
            // What stays in place is read from one tensor.
            let count = row.count_within(&sources[0].bounds);
            return sources[0].evenly(&row.index, &row.steps, count);
        };
        let shape = &program.tensor(target).shape;
        if *shape != **out_shape {
            row.begin(target, &shape.unravel(out_shape.ravel(index)), 1);
        }
        loop {
            let shape = &program.tensor(row.tensor).shape;
            for source in sources.iter().filter(|source| source.of == row.tensor) {
                if source.shape != shape {
                    let index = source.shape.unravel(shape.ravel(&row.index));
                    if index.iter().zip(&source.bounds).all(|(i, range)| range.contains(i)) {
                        return source.evenly(&index, &[], 1);
                    }
                    continue;
                }
                let count = row.count_within(&source.bounds);
                if count > 0 {
                    return source.evenly(&row.index, &row.steps, count);
                }
            }
            if !program.follow(row) {
                let of = program.tensor(row.tensor);
                let (elements, count) = match &of.made {
                    Made::Fill(element) => (Elements::of_file(element, of.width), row.count),
                    _ => (NOT_READ, 1),
                };
                return Evenly { elements, from: 0, distance: 0, count };
            }
        }
    }

    /// The position of the element at `index` where the pass writes to, and how many follow it along
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

/// A box cut into blocks, so small that the source of one stays in the caches in whichever order it
/// is read.
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

    fn block(&self, mut left: usize) -> Bounds {
        let mut block = self.whole.to_vec();
        for axis in (0..block.len()).rev() {
            let start = block[axis].start + left % self.along(axis) * self.sides[axis];
            block[axis] = start..block[axis].end.min(start + self.sides[axis]);
            left /= self.along(axis);
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

impl<'a> Source<'a> {
    /// So many elements from `index` on, `steps` apart, which are within the box.
    fn evenly(&self, index: &[usize], steps: &[isize], count: usize) -> Evenly<'a> {
        let (mut from, mut distance) = (0, 0);
        let steps = steps.iter().chain(std::iter::repeat(&0));
        for ((i, range), step) in index.iter().zip(&self.bounds).zip(steps) {
            from = from * range.len() + i - range.start;
            distance = distance * range.len().cast_signed() + step;
        }
        Evenly { elements: self.elements, from, distance, count }
    }
}

/// What no element is like: it stands for one that should have been read, and was not.
const NOT_READ: Elements<'static> = Elements::Bytes(&[0xa5; 41], 41);

#[cfg(test)]
mod tests {
    use trundle::Chain;

    use super::*;

    #[test]
    fn a_checksum_tells_elements_and_positions_apart_but_not_their_order() {
        let checksum = |bytes: &[u8], width, first| {
            Elements::Bytes(bytes, width).checksum(first, bytes.len() / width)
        };
        let bytes: Vec<u8> = (0..96).collect();
        for width in [1, 2, 3, 4, 8, 12, 16] {
            let whole = checksum(&bytes, width, 0);
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_ne!(checksum(&other, width, 0), whole);
                let mut swapped = bytes.clone();
                swapped.rotate_left(width);
                assert_ne!(checksum(&swapped, width, 0), whole);
            }
            let mut parts = checksum(&bytes[48..], width, 48 / width);
            parts.add(checksum(&bytes[..48], width, 0));
            assert_eq!(parts, whole);
            assert_ne!(checksum(&bytes, width, 1), whole);
        }
        // Zeros count too.
        assert_ne!(checksum(&[0; 8], 4, 0), checksum(&[0; 12], 4, 0));
    }

    #[test]
    fn what_the_operators_move_has_the_checksum_of_what_they_make() {
        for text in [
            "a b c -> c a b",
            "roll(shift=[2,1], axes=[0,2]) | flip(axes=[1])",
            "(a p) b c -> a (b p) c, p=2 | reverse(axis=1, batch_axis=0, lengths=[3, 1])",
        ] {
            let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let shape = Shape::new([4, 3, 5]).unwrap();
            let program = chain.program(&shape, trundle::DType::U8).unwrap();
            let bytes: Vec<u8> = (0..60).map(|n: u8| n.wrapping_mul(7)).collect();
            let moved = trundle::Plan::row_major(&chain, 1, &shape, None)
                .unwrap()
                .run_slice(&bytes)
                .unwrap();
            let target = program.outputs()[0];
            let out_shape = &program.tensor(target).shape;
            let whole: Bounds = shape.iter().map(|size| 0..*size).collect();
            let elements = Elements::Bytes(&bytes, 1);
            let origin = Origin {
                program: &program,
                target: Some(target),
                out_shape,
                sources: vec![Source { of: TensorId(0), shape: &shape, bounds: whole, elements }],
                to: &Location::row_major(out_shape),
            };
            let out: Bounds = out_shape.iter().map(|size| 0..*size).collect();
            assert_eq!(
                origin.checksum(&out, 3),
                Elements::Bytes(&moved, 1).checksum(0, 60),
                "{text}"
            );
        }
    }
}
