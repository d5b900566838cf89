//! The loops of a block, with positions of 32 bits.

use std::ops::Range;

use trundle_core::{Block, Cut, LengthTable, Loop, greatest_common_divisor};

use super::body::{Body, Memory};
use super::word::Word;
use crate::loop_source::{LoopSource, src_begin};
use crate::part::{BlockPart, cut_by_table, tables};
use crate::whole_block::WholeBlock;

/// The limit of positions. Kernels count with signed numbers of 32 bits, and some threads of the last block compute
/// positions up to 1 MiB beyond a buffer before they are clamped.
const LIMIT: usize = (1 << 31) - (1 << 20);

/// Lengths are at most this large, so that sums of two fit in 31 bits.
const LONGEST: usize = 1 << 30;

/// The loops of a block and its element. Positions count bytes from the multiples of 16 at or before both buffers.
pub(super) struct Nest {
    /// The size of an element.
    pub(super) width: usize,
    /// Without loops of one step, except a loop that a table cuts.
    pub(super) block: Block,
    pub(super) src_begin: isize,
    pub(super) dst_begin: usize,
    /// The number of outer loops, which go over rows. The others make up a row, contiguous in the destination.
    pub(super) outer: usize,
    /// The size of a row in bytes.
    pub(super) row: usize,
    /// The range of positions that is read.
    pub(super) reads: Range<usize>,
}

impl Nest {
    /// `src` and `dst` are the addresses of the buffers modulo 16.
    ///
    /// Returns `None` if elements are packed, an index table determines the source, or a number has more than 31 bits.
    pub(super) fn of(whole: &WholeBlock, [src, dst]: [usize; 2]) -> Option<Nest> {
        if whole.packing.is_some() || !whole.block.indices.is_empty() || whole.width == 0 {
            return None;
        }
        let BlockPart { block, width } =
            BlockPart { block: whole.block.clone(), width: whole.width }.widened();
        let part = BlockPart { block: without_single_steps(block), width };
        let reads = whole.reads.start + src..whole.reads.end + src;
        let writes = crate::span::dst_span(&part);
        let lengths = cut_by_table(&part.block);
        let fits = reads.end < LIMIT
            && writes.end + dst < LIMIT
            && part.block.elements().checked_mul(width)? < LIMIT
            && lengths.is_none_or(|(at, _, table)| fits(&part.block.loops[at], table));
        fits.then(|| Nest {
            width,
            src_begin: src_begin(&part.block) + src.cast_signed(),
            dst_begin: part.block.dst_offset.unsigned_abs() + dst,
            outer: part.row_loops(),
            row: part.row(),
            reads,
            block: part.block,
        })
    }

    pub(super) fn loops(&self) -> &[Loop] {
        &self.block.loops
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.loops()[..self.outer].iter().map(|each| each.len).product()
    }

    /// The remainder of positions in the destination by 16 at the start of each row, if it is the same for all.
    pub(super) fn row_begin(&self) -> Option<usize> {
        let outer = &self.loops()[..self.outer];
        outer.iter().all(|each| each.dst_stride % 16 == 0).then_some(self.dst_begin % 16)
    }

    /// The alignment of the starts and ends of rows in the destination, at most 16.
    pub(super) fn dst_unit(&self) -> usize {
        let strides = self.loops()[..self.outer].iter().map(|each| each.dst_stride.unsigned_abs());
        strides.chain([self.dst_begin, self.row]).fold(16, greatest_common_divisor)
    }

    /// The alignment of all elements in the destination, at most 16.
    pub(super) fn element_unit(&self) -> usize {
        let strides = self.loops().iter().map(|each| each.dst_stride.unsigned_abs());
        strides.chain([self.dst_begin]).fold(16, greatest_common_divisor)
    }

    /// The alignment of the source positions of a loop; only of the starts of its runs if `stepped` is false.
    pub(super) fn src_unit_of(&self, at: usize, stepped: bool) -> usize {
        let each = &self.loops()[at];
        let LoopSource { first_stride, second_offset, second_stride, .. } = LoopSource::of(each);
        let mut unit = second_offset.unsigned_abs();
        if stepped {
            unit = [first_stride, second_stride]
                .iter()
                .fold(unit, |unit, stride| greatest_common_divisor(unit, stride.unsigned_abs()));
        }
        if let Some((Cut { first, second, .. }, _)) = each.cut_by_table() {
            unit = [first.src_per_length, second.src_per_length]
                .iter()
                .fold(unit, |unit, per| greatest_common_divisor(unit, per.unsigned_abs()));
        }
        unit
    }

    /// The innermost loop, if its elements follow each other in the source and no table depends on it; with its
    /// strides before and after its cut.
    pub(super) fn innermost_run(&self) -> Option<(usize, [isize; 2])> {
        let at = self.loops().iter().rposition(|each| each.len > 1)?;
        let each = &self.loops()[at];
        let LoopSource { first_stride, second_stride, .. } = LoopSource::of(each);
        let second_stride = each.affine_stride().unwrap_or(second_stride);
        let strides = [first_stride, second_stride];
        let width = self.width;
        let follows = each.dst_stride.unsigned_abs() == width
            && strides.iter().all(|stride| stride.unsigned_abs() == width);
        (follows && self.is_free_of_tables(at)).then_some((at, strides))
    }

    /// The loop whose elements follow each other in the source, and whether backwards. No table depends on it.
    pub(super) fn source_run(&self) -> Option<(usize, bool)> {
        let width = self.width.cast_signed();
        (0..self.loops().len()).rev().find_map(|at| {
            let each = &self.loops()[at];
            let LoopSource { first_stride, second_stride, .. } = LoopSource::of(each);
            let second_stride = each.affine_stride().unwrap_or(second_stride);
            let is_plain =
                each.len > 1 && each.cut_by_table().is_none() && self.is_free_of_tables(at);
            let follows = first_stride.abs() == width && first_stride == second_stride;
            (is_plain && follows).then_some((at, first_stride < 0))
        })
    }

    /// Finds a loop whose first steps are reversed, with a length for each step of the innermost loop (a *lane*). Lanes
    /// follow each other in the source. Returns the loop and its stride in the source.
    pub(super) fn reversed_by_lane(&self) -> Option<(usize, isize)> {
        let at = self.block.ragged()?;
        let lane = self.loops().len() - 1;
        let lanes = &self.loops()[lane];
        let each = &self.loops()[at];
        let (Cut { first, second, .. }, table) = each.cut_by_table()?;
        let stride = second.src_stride;
        let is_reversal = first.src_stride == -stride
            && [first.src_per_length, second.src_per_length] == [stride, 0]
            && second.src_offset.wrapping_sub(first.src_offset) == stride
            && (table.start, table.per_length) == (0, 1)
            && table.lengths.iter().all(|length| *length <= each.len);
        let width = self.width.cast_signed();
        let has_lanes = at != lane
            && lanes.affine_stride() == Some(width)
            && lanes.dst_stride == width
            && table.strides[lane] != 0;
        (is_reversal && has_lanes).then_some((at, stride))
    }

    /// The length for some steps.
    pub(super) fn length(&self, body: &mut Body, steps: &[Word]) -> Word {
        match cut_by_table(&self.block) {
            Some((_, _, table)) => length(body, table, steps),
            None => Word::from(0),
        }
    }

    /// Whether no table depends on a loop.
    pub(super) fn is_free_of_tables(&self, at: usize) -> bool {
        tables(&self.block).all(|strides| strides[at] == 0)
    }

    /// The alignment of all source positions from `begin` on, at most 16, if the steps of two loops are 0.
    pub(super) fn source_unit(&self, except: [usize; 2], begin: isize) -> usize {
        let loops = 0..self.loops().len();
        let units = loops.map(|at| self.src_unit_of(at, !except.contains(&at)));
        units.fold(greatest_common_divisor(16, begin.unsigned_abs()), greatest_common_divisor)
    }

    /// The number of combinations of steps of all loops but two.
    pub(super) fn others(&self, except: [usize; 2]) -> usize {
        let loops = (0..self.loops().len()).filter(|at| !except.contains(at));
        loops.map(|at| self.loops()[at].len).product()
    }

    /// Splits a number into a step of each loop but two, whose steps are 0.
    pub(super) fn other_steps(
        &self,
        body: &mut Body,
        number: Word,
        except: [usize; 2],
    ) -> Vec<Word> {
        let mut steps = vec![Word::from(0); self.loops().len()];
        let mut rest = body.word("rest", number);
        for at in (0..steps.len()).rev().filter(|at| !except.contains(at)) {
            let len = self.loops()[at].len as u32;
            steps[at] = body.word("i", rest.clone() % len);
            rest = body.word("rest", rest / len);
        }
        steps
    }

    /// The first step of each loop in the box of a block, of `extents` steps. `counts` are the numbers of boxes along
    /// each loop. Blocks follow each other along the destination, or along destination and source in turn.
    pub(super) fn box_steps(
        &self,
        body: &mut Body,
        counts: &[usize],
        extents: &[usize],
        by_destination: bool,
    ) -> Vec<Word> {
        let by_dst: Vec<usize> = (0..counts.len()).rev().filter(|at| counts[*at] > 1).collect();
        let mut by_src = by_dst.clone();
        let stride =
            |at: usize| self.loops()[at].affine_stride().map_or(usize::MAX, isize::unsigned_abs);
        by_src.sort_by_key(|at| stride(*at));
        let mut order = Vec::new();
        for (dst, src) in by_dst.iter().zip(&by_src) {
            let src = if by_destination { dst } else { src };
            order.extend(
                [dst, src].into_iter().filter(|at| !order.contains(at)).collect::<Vec<_>>(),
            );
        }
        order.dedup();
        let mut steps = vec![Word::from(0); counts.len()];
        let mut rest = Word::Block;
        for at in order {
            let number = rest.clone() % counts[*at] as u32;
            steps[*at] = body.word("o", number * extents[*at] as u32);
            rest = body.word("rest", rest / counts[*at] as u32);
        }
        steps
    }

    /// Whether all rows, along the innermost loop, begin at the same remainder by 16 in the destination.
    pub(super) fn is_even(&self) -> bool {
        let outer = &self.loops()[..self.loops().len() - 1];
        outer.iter().all(|each| each.dst_stride % 16 == 0)
    }

    /// Splits a number, counted in steps of the last one of some loops, into a step of each.
    pub(super) fn steps(&self, body: &mut Body, loops: Range<usize>, number: Word) -> Vec<Word> {
        let mut rest = number;
        let mut steps = Vec::new();
        for at in loops.clone().rev() {
            let len = self.loops()[at].len as u32;
            let outermost = at == loops.start;
            steps.push(match outermost {
                true => body.word("i", rest.clone()),
                false => body.word("i", rest.clone() % len),
            });
            rest = if outermost { rest } else { body.word("n", rest / len) };
        }
        steps.reverse();
        steps
    }

    /// The position in the destination of some steps of the outermost loops.
    pub(super) fn dst_at(&self, steps: &[Word]) -> Word {
        let begin = Word::of(self.dst_begin.cast_signed());
        let loops = self.loops().iter().zip(steps);
        loops.fold(begin, |at, (each, step)| at + step.clone() * Word::of(each.dst_stride))
    }

    /// The position in the source, without the loop `except`.
    pub(super) fn src_at(&self, body: &mut Body, steps: &[Word], except: Option<usize>) -> Word {
        let mut sum = Word::of(self.src_begin);
        for at in (0..self.loops().len()).filter(|at| Some(*at) != except) {
            let Runs { cut, begins, strides } = self.runs(body, at, steps);
            let [first, second] =
                [0, 1].map(|run| begins[run].clone() + steps[at].clone() * Word::of(strides[run]));
            sum = sum + Word::select(steps[at].clone().less(cut), first, second);
        }
        body.word("at", sum)
    }

    /// The two runs of a loop, for some steps of the others.
    pub(super) fn runs(&self, body: &mut Body, at: usize, steps: &[Word]) -> Runs {
        let each = &self.loops()[at];
        let LoopSource { cut, first_stride, second_offset, second_stride } = LoopSource::of(each);
        let mut runs = Runs {
            cut: Word::from(cut as u32),
            begins: [Word::from(0), Word::of(second_offset)],
            strides: [first_stride, second_stride],
        };
        if let Some((Cut { first, second, .. }, table)) = each.cut_by_table() {
            let length = length(body, table, steps);
            runs.cut = body
                .word("cut", length.clone() * Word::of(table.per_length) + Word::of(table.start));
            runs.begins[0] = length.clone() * Word::of(first.src_per_length);
            runs.begins[1] = length * Word::of(second.src_per_length) + Word::of(second_offset);
        } else if each.affine_stride().is_some() {
            runs.begins[1] = Word::from(0);
            runs.strides[1] = first_stride;
        }
        runs
    }

    /// Reads the two vectors of the source that contain the 16 bytes from `at` on, or one vector if `aligned`.
    ///
    /// The block must read at least one of the 16 bytes. Vectors outside of the range that the block reads are replaced
    /// by others.
    pub(super) fn vectors(
        &self,
        body: &mut Body,
        at: Word,
        aligned: bool,
        ahead: bool,
    ) -> Vec<Word> {
        let from = if ahead { Memory::SourceAhead } else { Memory::Source };
        let (first, last) = (self.reads.start / 16 * 16, (self.reads.end - 1) / 16 * 16);
        let low = at.clone().down_to(16);
        if aligned {
            return body.load("v", from, 16, low);
        }
        let (low, high) = (low.max(Word::from(first as u32)), (at + 15).down_to(16));
        let mut words = body.load("v", from, 16, low);
        words.extend(body.load("v", from, 16, high.min(Word::from(last as u32))));
        words
    }

    /// Whether it reads the table of lengths.
    pub(super) fn reads_lengths(&self) -> bool {
        self.block.ragged().is_some()
    }
}

/// The source positions of a loop, in two runs. Steps below `cut` are in the first run, others in the second. The cut
/// is not clamped to the loop.
pub(super) struct Runs {
    pub(super) cut: Word,
    pub(super) begins: [Word; 2],
    pub(super) strides: [isize; 2],
}

fn length(body: &mut Body, table: &LengthTable, steps: &[Word]) -> Word {
    let strides = table.strides.iter().zip(steps).filter(|(stride, _)| **stride != 0);
    let at =
        strides.fold(Word::from(0), |at, (stride, step)| at + step.clone() * Word::of(8 * stride));
    body.load("length", Memory::Lengths, 4, at).remove(0)
}

/// Whether the numbers of a loop that a table cuts fit in 31 bits.
fn fits(each: &Loop, table: &LengthTable) -> bool {
    let numbers = [each.len, table.start.unsigned_abs(), table.lengths.len()];
    numbers.iter().chain(table.lengths.iter()).all(|number| *number < LONGEST)
}

fn without_single_steps(mut block: Block) -> Block {
    let kept: Vec<usize> = (0..block.loops.len())
        .filter(|at| block.loops[*at].len > 1 || block.loops[*at].affine_stride().is_none())
        .collect();
    let mut loops = Vec::new();
    for at in &kept {
        let mut each = block.loops[*at].clone();
        if let trundle_core::Source::Cut(cut) = &mut each.src
            && let trundle_core::CutAt::Table(table) = &mut cut.at
        {
            table.strides = kept.iter().map(|at| table.strides[*at]).collect();
        }
        loops.push(each);
    }
    block.loops = loops;
    block
}
