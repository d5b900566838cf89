//! Parts of blocks.

use trundle_core::{Block, Cut, CutAt, LengthTable, Run, Source};

/// A block or a part of one, with its element width in bytes or packed elements.
#[derive(Clone, Debug)]
pub(crate) struct BlockPart {
    pub(crate) block: Block,
    pub(crate) width: usize,
}

/// A dimension along which a part can be split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dimension {
    Loop(usize),
    Element,
}

impl BlockPart {
    /// The length of a dimension; for the element, its width.
    pub(crate) fn steps(&self, dimension: Dimension) -> usize {
        match dimension {
            Dimension::Loop(at) => self.block.loops[at].len,
            Dimension::Element => self.width,
        }
    }

    /// Splits a dimension before index `at`.
    ///
    /// Law: the two parts move the same elements as the whole.
    pub(crate) fn halves(&self, dimension: Dimension, at: usize) -> [BlockPart; 2] {
        let BlockPart { block, width } = self;
        match dimension {
            Dimension::Loop(each) => {
                let rest = block.loops[each].len - at;
                [(0, at), (at, rest)].map(|(from, len)| BlockPart {
                    block: steps(block, each, from, len),
                    width: *width,
                })
            }
            Dimension::Element => {
                let mut behind = block.clone();
                behind.src_offset += at.cast_signed();
                behind.dst_offset += at.cast_signed();
                [
                    BlockPart { block: block.clone(), width: at },
                    BlockPart { block: behind, width: width - at },
                ]
            }
        }
    }

    /// The innermost loop, if its elements are contiguous in the destination and no table depends on it.
    fn innermost(&self) -> Option<usize> {
        let loops = &self.block.loops;
        let at = loops.iter().rposition(|each| each.len > 1)?;
        let follows = loops[at].dst_stride.unsigned_abs() == self.width;
        let is_plain = loops[at].cut_by_table().is_none();
        (follows && is_plain && tables(&self.block).all(|strides| strides[at] == 0)).then_some(at)
    }

    /// Merges contiguous inner loops into wider elements. All blocks of a move have the same width, so one block may
    /// allow a greater one.
    ///
    /// Law: each byte of the destination comes from the same byte of the source as before.
    pub(crate) fn widened(mut self) -> BlockPart {
        let width = |part: &BlockPart| Some(part.width.cast_signed());
        while let Some(at) = self.innermost()
            && self.block.loops[at].affine_stride() == width(&self)
        {
            self.width *= self.block.loops[at].len;
            self.block.loops[at].len = 1;
        }
        self
    }

    /// Splits a part whose long rows are read as two runs, as in a roll, so that each half can have wide elements.
    pub(crate) fn runs(self, least: usize) -> Vec<BlockPart> {
        let cut = self.innermost().filter(|at| self.width * self.block.loops[*at].len >= least);
        let cut = cut.and_then(|at| Some((at, self.block.loops[at].cut_at_constant()?)));
        let Some((at, (cut, step))) = cut else { return vec![self] };
        let width = self.width.cast_signed();
        match [cut.first.src_stride, cut.second.src_stride] == [width; 2] {
            true => self.halves(Dimension::Loop(at), step).to_vec(),
            false => vec![self],
        }
    }

    /// The number of outer loops, which go over rows. The others make up a row, contiguous in the destination. Loops of
    /// one iteration can be either.
    pub(crate) fn row_loops(&self) -> usize {
        let mut row = self.width;
        let mut outer = self.block.loops.len();
        for each in self.block.loops.iter().rev() {
            if each.len > 1 && each.dst_stride.unsigned_abs() != row {
                break;
            }
            row *= each.len;
            outer -= 1;
        }
        outer
    }

    /// The size of a row, in bytes or packed elements.
    pub(crate) fn row(&self) -> usize {
        let lens = self.block.loops[self.row_loops()..].iter().map(|each| each.len);
        self.width * lens.product::<usize>()
    }
}

/// Iterations `from..from + len` of loop `at`.
///
/// Law: each element keeps its source and destination.
pub(crate) fn steps(block: &Block, at: usize, from: usize, len: usize) -> Block {
    let mut part = block.clone();
    let before = from.cast_signed();
    let each = &mut part.loops[at];
    each.len = len;
    part.dst_offset += before * each.dst_stride;
    match &mut each.src {
        Source::Affine { stride } => part.src_offset += before * *stride,
        Source::Cut(cut) => {
            for run in [&mut cut.first, &mut cut.second] {
                run.src_offset = run.src_offset.wrapping_add(before.wrapping_mul(run.src_stride));
            }
            match &mut cut.at {
                CutAt::Table(table) => table.start -= before,
                CutAt::Constant(step) => match (*step).saturating_sub(from) {
                    0 => part.src_offset += straight(&mut each.src, false),
                    behind if behind >= len => part.src_offset += straight(&mut each.src, true),
                    within => *step = within,
                },
            }
        }
    }
    for (offset, strides) in entries_mut(&mut part) {
        *offset = offset.wrapping_add_signed(before * strides[at]);
    }
    part
}

/// Replaces a cut loop by one of its runs. Returns where its iteration 0 is.
fn straight(src: &mut Source, first: bool) -> isize {
    let Source::Cut(cut) = src else { return 0 };
    let Run { src_offset, src_stride, .. } = if first { cut.first } else { cut.second };
    *src = Source::Affine { stride: src_stride };
    src_offset
}

fn entries_mut(block: &mut Block) -> impl Iterator<Item = (&mut usize, &mut Vec<isize>)> {
    let lengths = block.loops.iter_mut().find_map(|each| match &mut each.src {
        Source::Cut(cut) => match &mut cut.at {
            CutAt::Table(table) => Some((&mut table.offset, &mut table.strides)),
            CutAt::Constant(_) => None,
        },
        Source::Affine { .. } => None,
    });
    let indices = block.indices.iter_mut().map(|table| (&mut table.offset, &mut table.strides));
    lengths.into_iter().chain(indices)
}

/// The strides of each table, by loop.
pub(crate) fn tables(block: &Block) -> impl Iterator<Item = &[isize]> {
    let lengths = cut_by_table(block).map(|(_, _, table)| &table.strides[..]);
    lengths.into_iter().chain(block.indices.iter().map(|table| &table.strides[..]))
}

/// The index of a loop that a table cuts, the cut and the table.
pub(crate) fn cut_by_table(block: &Block) -> Option<(usize, &Cut, &LengthTable)> {
    let at = block.ragged()?;
    block.loops[at].cut_by_table().map(|(cut, table)| (at, cut, table))
}

/// The maximum length for kernels with 32-bit numbers: twice this length fits in 31 bits.
const LONGEST: usize = 1 << 30;

/// If lengths are too large for kernels with 32-bit numbers, splits a block into blocks of one length each, without a
/// table. Each of them is larger than a GiB.
pub(crate) fn without_long_lengths(block: &Block) -> Vec<Block> {
    let Some((at, _, table)) = cut_by_table(block) else { return vec![block.clone()] };
    let numbers = [block.loops[at].len, table.start.unsigned_abs()];
    match numbers.iter().chain(table.lengths.iter()).all(|number| *number <= LONGEST) {
        true => vec![block.clone()],
        false => of_one_length_each(block),
    }
}

fn of_one_length_each(block: &Block) -> Vec<Block> {
    let Some((at, _, table)) = cut_by_table(block) else { return vec![block.clone()] };
    let varying =
        (0..block.loops.len()).find(|each| table.strides[*each] != 0 && block.loops[*each].len > 1);
    match varying {
        Some(each) => {
            let step = |from| of_one_length_each(&steps(block, each, from, 1));
            (0..block.loops[each].len).flat_map(step).collect()
        }
        None => vec![of_one_length(block, at)],
    }
}

/// The block with the table replaced by its first length.
fn of_one_length(block: &Block, at: usize) -> Block {
    let mut block = block.clone();
    let each = &mut block.loops[at];
    let Source::Cut(cut) = &mut each.src else { return block };
    let CutAt::Table(table) = &cut.at else { return block };
    let length = table.lengths[table.offset];
    let step = table.cut(length, each.len);
    for run in [&mut cut.first, &mut cut.second] {
        *run = Run { src_offset: run.start(length), src_per_length: 0, ..*run };
    }
    match step {
        0 => block.src_offset += straight(&mut each.src, false),
        step if step >= each.len => block.src_offset += straight(&mut each.src, true),
        step => cut.at = CutAt::Constant(step),
    }
    block
}

#[cfg(test)]
mod tests {
    use trundle_core::ops::{ReverseSubsequences, Roll};
    use trundle_core::{Layout, Move, Op, Shape};

    use super::*;

    fn blocks(op: &Op, sizes: &[usize]) -> Vec<Block> {
        let shape = Shape::new(sizes).unwrap();
        let layout = Layout::row_major(&shape, 2).unwrap();
        let map = op.index_map(&shape).unwrap();
        Move::new(&map, 2, &layout, &layout, 64).unwrap().blocks().to_vec()
    }

    fn pairs(blocks: &[Block]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for block in blocks {
            block.for_each_pair(|from, to| all.push((to, from)));
        }
        all.sort_unstable();
        all
    }

    fn ops() -> Vec<Op> {
        let lengths = vec![3, 0, 6, 2, 9, 1, 4, 5, 2, 6, 6, 1];
        vec![Roll::new(&[2, -1], &[0, 1]).into(), ReverseSubsequences::new(1, lengths).into()]
    }

    #[test]
    fn halves_of_every_dimension_move_the_same_elements() {
        for op in ops() {
            for block in blocks(&op, &[4, 6, 3]) {
                let whole = pairs(std::slice::from_ref(&block));
                for each in 0..block.loops.len() {
                    for at in 1..block.loops[each].len {
                        let part = BlockPart { block: block.clone(), width: 2 };
                        let halves = part.halves(Dimension::Loop(each), at).map(|half| half.block);
                        assert_eq!(pairs(&halves), whole, "{block}: loop {each} before {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn widened_parts_move_the_same_bytes() {
        let bytes = |parts: &[BlockPart]| {
            let mut all = Vec::new();
            for BlockPart { block, width } in parts {
                block.for_each_pair(|from, to| {
                    all.extend((0..*width).map(|at| (to + at, from + at)));
                });
            }
            all.sort_unstable();
            all
        };
        let op = Roll::new(&[2, -1], &[0, 1]).into();
        for block in blocks(&op, &[4, 50]) {
            let whole = BlockPart { block, width: 2 };
            assert_eq!(whole.clone().runs(101).len(), 1);
            let parts =
                whole.clone().runs(100).into_iter().map(BlockPart::widened).collect::<Vec<_>>();
            assert_eq!(parts.iter().map(|part| part.width).collect::<Vec<_>>(), [98, 2]);
            assert_eq!(bytes(&parts), bytes(&[whole]));
        }
    }

    #[test]
    fn blocks_of_one_length_each_replace_a_ragged_block() {
        for block in blocks(&ops()[1], &[4, 6, 3]) {
            let apart = of_one_length_each(&block);
            assert!(apart.iter().all(|block| block.ragged().is_none()));
            assert_eq!(pairs(&apart), pairs(&[block]));
        }
    }
}
