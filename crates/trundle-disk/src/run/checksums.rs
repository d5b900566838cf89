//! Checksums by which what was read and what was written are compared.
//!
//! Each element is mixed with its position in the output of the pass; the checksum of a tensor is the
//! sum over its elements, in any order. What was read is summed at the positions to which the
//! operators, followed one by one, bring it: composing, binding, planning and kernels have no part in
//! that. What was written is read back and summed at the positions where it is.

use std::ops::Range;
use std::thread::Builder;

use trundle::{Packing, Shape, Width};
use trundle_core::program::{Made, Program, TensorId};

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
            Width::Packed(packing) => Elements::Packed(bytes, packing),
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

    fn update_all(self, checksum: &mut Checksum, row: Row) {
        match self {
            Elements::Bytes(bytes, 1) => update_words::<1>(bytes, checksum, row),
            Elements::Bytes(bytes, 2) => update_words::<2>(bytes, checksum, row),
            Elements::Bytes(bytes, 4) => update_words::<4>(bytes, checksum, row),
            Elements::Bytes(bytes, 8) => update_words::<8>(bytes, checksum, row),
            _ => {
                let Row { position, from, distance, count } = row;
                for index in 0..count {
                    let from = from.wrapping_add_signed(distance * index.cast_signed());
                    self.update(checksum, position + index, from);
                }
            }
        }
    }

    /// The checksum of `count` elements that are contiguous, at positions from `first` on.
    pub(crate) fn checksum(self, first: usize, count: usize) -> Checksum {
        let mut checksum = Checksum::default();
        self.update_all(&mut checksum, Row { position: first, from: 0, distance: 1, count });
        checksum
    }
}

/// Elements at neighbouring positions that are evenly spaced in memory.
#[derive(Clone, Copy)]
struct Row {
    /// The position of the first one.
    position: usize,
    /// Its index in memory.
    from: usize,
    /// From one to the next in memory.
    distance: isize,
    count: usize,
}

/// [`Elements::update_all`] of elements of one word or less.
fn update_words<const WIDTH: usize>(bytes: &[u8], checksum: &mut Checksum, row: Row) {
    let (elements, _) = bytes.as_chunks::<WIDTH>();
    let (mut total, mut from) = (0u64, row.from);
    for position in row.position..row.position + row.count {
        let mut word = [0; 8];
        word[..WIDTH].copy_from_slice(&elements[from]);
        total = total.wrapping_add(mix(position as u64, u64::from_le_bytes(word)));
        from = from.wrapping_add_signed(row.distance);
    }
    checksum.0 = checksum.0.wrapping_add(total);
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
        let (mut walk, mut checksum) = (Walk::new(self), Checksum::default());
        for block in indices {
            let block = blocks.block(block);
            let mut index: Vec<usize> = block.iter().map(|range| range.start).collect();
            loop {
                let (position, mut left) = self.row(&block, &index);
                let mut at = position;
                while left > 0 {
                    let Evenly { elements, from, distance, count } = walk.from(&index, left);
                    let row = Row { position: at, from, distance, count };
                    elements.update_all(&mut checksum, row);
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

/// Indices on the way from the output to a source.
struct Walk<'a> {
    origin: &'a Origin<'a>,
    /// By the tensors of the program: for each the index that was reached.
    reached: Vec<Vec<usize>>,
    /// How far apart neighbours along the last axis of the output are there, along each axis.
    steps: Vec<Vec<isize>>,
}

/// Elements of a source that are evenly spaced in memory.
struct Evenly<'a> {
    elements: Elements<'a>,
    /// The index in memory of the first one.
    from: usize,
    distance: isize,
    count: usize,
}

impl<'a> Walk<'a> {
    fn new(origin: &'a Origin<'a>) -> Walk<'a> {
        let tensors = || origin.program.tensors().iter();
        let reached = tensors().map(|tensor| vec![0; tensor.shape.rank()]).collect();
        let steps = tensors().map(|tensor| vec![0; tensor.shape.rank()]).collect();
        Walk { origin, reached, steps }
    }

    /// Where the element at `index` of the output is in memory, and how many that follow it along the
    /// last axis, `most` with itself, are evenly spaced there.
    fn from(&mut self, index: &[usize], most: usize) -> Evenly<'a> {
        let Origin { program, target, out_shape, sources, .. } = self.origin;
        let Some(target) = *target else {
            // What stays in place is read from one tensor.
            self.steps[0].resize(index.len(), 0);
            set_along_last(&mut self.steps[0]);
            return sources[0].evenly(index, &self.steps[0], most);
        };
        let (mut at, mut count) = (target, most);
        let shape = &program.tensor(at).shape;
        set_along_last(&mut self.steps[at.0]);
        if *shape == **out_shape {
            self.reached[at.0].copy_from_slice(index);
        } else {
            self.reached[at.0] = shape.unravel(position_of(out_shape, index));
            count = 1;
        }
        loop {
            let (shape, reached) = (&program.tensor(at).shape, &self.reached[at.0]);
            for source in sources.iter().filter(|source| source.of == at) {
                if source.shape != shape {
                    let index = source.shape.unravel(position_of(shape, reached));
                    if source.holds(&index) {
                        return source.evenly(&index, &[], 1);
                    }
                } else if source.holds(reached) {
                    return source.evenly(reached, &self.steps[at.0], count);
                }
            }
            match &program.tensor(at).made {
                Made::Fill(element) => {
                    let elements = Elements::of_file(element, program.tensor(at).width);
                    return Evenly { elements, from: 0, distance: 0, count };
                }
                Made::Given(_) => {
                    return Evenly { elements: NOT_READ, from: 0, distance: 0, count: 1 };
                }
                Made::Moved { .. } | Made::Joined { .. } => (at, count) = self.step(at, count),
            }
        }
    }

    /// Goes on to the tensor that one is made of, with as many elements as stay evenly spaced.
    fn step(&mut self, at: TensorId, count: usize) -> (TensorId, usize) {
        let program = self.origin.program;
        let (index, steps) =
            (std::mem::take(&mut self.reached[at.0]), std::mem::take(&mut self.steps[at.0]));
        let (next, count) = match &program.tensor(at).made {
            Made::Moved { from, map } => {
                map.source_into(&index, &mut self.reached[from.0]);
                let steps_of_source = &mut self.steps[from.0];
                match only_step(&steps).filter(|_| count > 1) {
                    Some(along) => (*from, count.min(map.stretch(&index, along, steps_of_source))),
                    None => {
                        steps_of_source.fill(0);
                        (*from, 1)
                    }
                }
            }
            Made::Joined { axis, .. } => {
                let (own, along) = program.part_at(at, index[*axis]);
                self.reached[own.0].copy_from_slice(&index);
                self.reached[own.0][*axis] -= along.start;
                self.steps[own.0].copy_from_slice(&steps);
                (own, count.min(steps_within(index[*axis], steps[*axis], &along)))
            }
            Made::Given(_) | Made::Fill(_) => (at, count),
        };
        (self.reached[at.0], self.steps[at.0]) = (index, steps);
        (next, count)
    }
}

impl<'a> Source<'a> {
    fn holds(&self, index: &[usize]) -> bool {
        index.iter().zip(&self.bounds).all(|(i, range)| range.contains(i))
    }

    /// The elements from `index` on, `most` or as many as are within the box.
    fn evenly(&self, index: &[usize], steps: &[isize], most: usize) -> Evenly<'a> {
        let (mut from, mut distance, mut count) = (0, 0, most);
        let steps = steps.iter().chain(std::iter::repeat(&0));
        for ((i, range), step) in index.iter().zip(&self.bounds).zip(steps) {
            from = from * range.len() + i - range.start;
            distance = distance * range.len().cast_signed() + step;
            count = count.min(steps_within(*i, *step, range));
        }
        Evenly { elements: self.elements, from, distance, count }
    }
}

/// What no element is like: it stands for one that should have been read, and was not.
const NOT_READ: Elements<'static> = Elements::Bytes(&[0xa5; 41], 41);

/// How many indices, `step` apart and from `index` on, are in a range.
fn steps_within(index: usize, step: isize, range: &Range<usize>) -> usize {
    match step {
        0 => usize::MAX,
        1.. => (range.end - index).div_ceil(step.unsigned_abs()),
        _ => (index - range.start) / step.unsigned_abs() + 1,
    }
}

fn set_along_last(steps: &mut [isize]) {
    steps.fill(0);
    steps.last_mut().into_iter().for_each(|step| *step = 1);
}

/// The axis along which one goes from neighbour to neighbour, if it is one alone.
fn only_step(steps: &[isize]) -> Option<usize> {
    let along = steps.iter().position(|step| *step != 0)?;
    let is_only = steps[along] == 1 && steps[along + 1..].iter().all(|step| *step == 0);
    is_only.then_some(along)
}

fn position_of(shape: &Shape, index: &[usize]) -> usize {
    index.iter().zip(shape.iter()).fold(0, |position, (i, size)| position * size + i)
}

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
            let program = chain.program(&shape, 1).unwrap();
            let bytes: Vec<u8> = (0..60).map(|n: u8| n.wrapping_mul(7)).collect();
            let moved =
                trundle::Plan::packed(&chain, 1, &shape, None).unwrap().run_slice(&bytes).unwrap();
            let target = program.outputs()[0];
            let out_shape = &program.tensor(target).shape;
            let whole: Bounds = shape.iter().map(|size| 0..*size).collect();
            let elements = Elements::Bytes(&bytes, 1);
            let origin = Origin {
                program: &program,
                target: Some(target),
                out_shape,
                sources: vec![Source { of: TensorId(0), shape: &shape, bounds: whole, elements }],
                to: &Location::RowMajor { sizes: out_shape.to_vec() },
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
