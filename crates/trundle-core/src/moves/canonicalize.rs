//! The canonical form of a move.
//!
//! Law of every function here: the same bytes are copied from the same sources to the same destinations.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Block, Cut, CutAt, Loop, Move, Run, Source, greatest_common_divisor};

pub(super) fn canonicalize(mut work: Move) -> Move {
    for block in &mut work.blocks {
        drop_single_steps(block);
        orient(block);
        order(block);
        coalesce(block);
        straighten(block);
    }
    widen(&mut work);
    unpack_groups(&mut work);
    work.blocks.sort_unstable_by_key(|block| block.dst_offset);
    work
}

/// Drops loops of one step. A loop that a table cuts stays, since its source depends on a length, with strides 0.
fn drop_single_steps(block: &mut Block) {
    for at in (0..block.loops.len()).rev() {
        match &mut block.loops[at] {
            Loop { len: 1, src: Source::Affine { .. }, .. } => block.remove(at),
            Loop { len: 1, dst_stride, src: Source::Cut(cut) } => {
                // The cut is by a table, because a loop with a constant cut has at least two steps.
                *dst_stride = 0;
                cut.first.src_stride = 0;
                cut.second.src_stride = 0;
            }
            _ => {}
        }
    }
    // An index table with strides of 0 adds a constant offset.
    block.indices.retain(|table| match table.constant() {
        Some(constant) => {
            block.src_offset = block.src_offset.wrapping_add(constant);
            false
        }
        None => true,
    });
}

fn orient(block: &mut Block) {
    for at in 0..block.loops.len() {
        let each = &mut block.loops[at];
        if each.dst_stride >= 0 {
            continue;
        }
        let last = (each.len - 1).cast_signed();
        block.dst_offset = block.dst_offset.wrapping_add(last.wrapping_mul(each.dst_stride));
        each.dst_stride = -each.dst_stride;
        match &mut each.src {
            Source::Affine { stride } => {
                block.src_offset = block.src_offset.wrapping_add(last.wrapping_mul(*stride));
                *stride = stride.wrapping_neg();
            }
            Source::Cut(cut) => cut.turn(each.len),
        }
        for (offset, strides) in block.entries_mut() {
            *offset = offset.wrapping_add_signed(last * strides[at]);
            strides[at] = -strides[at];
        }
    }
}

/// Moves the offset of the first run of a constant cut to the block; a run of one element gets the other's stride. Two
/// equal runs become an affine loop.
fn straighten(block: &mut Block) {
    let mut straight = false;
    for Loop { len, src, .. } in &mut block.loops {
        let Source::Cut(cut) = src else { continue };
        let Cut { at: CutAt::Constant(at), first, second } = &mut **cut else { continue };
        let begin = core::mem::take(&mut first.src_offset);
        block.src_offset = block.src_offset.wrapping_add(begin);
        second.src_offset = second.src_offset.wrapping_sub(begin);
        let steps = at.cast_signed();
        let start = second.src_offset.wrapping_add(second.src_stride.wrapping_mul(steps));
        if *len == 2 {
            (first.src_stride, second.src_stride) = (start, start);
        } else if *at == 1 {
            first.src_stride = second.src_stride;
        } else if *at + 1 == *len {
            second.src_stride = first.src_stride;
        }
        second.src_offset = start.wrapping_sub(second.src_stride.wrapping_mul(steps));
        if first == second {
            *src = Source::Affine { stride: first.src_stride };
            straight = true;
        }
    }
    if straight {
        coalesce(block);
    }
}

/// Sorts the loops so that the destination is written from front to back.
fn order(block: &mut Block) {
    let outward = |each: &Loop| Reverse(each.dst_stride);
    if block.loops.is_sorted_by_key(outward) {
        return;
    }
    if block.table_strides().next().is_none() {
        return block.loops.sort_unstable_by_key(outward);
    }
    let mut order: Vec<usize> = (0..block.loops.len()).collect();
    order.sort_by_key(|at| outward(&block.loops[*at]));
    for (_, strides) in block.entries_mut() {
        *strides = order.iter().map(|at| strides[*at]).collect();
    }
    let mut loops: Vec<Option<Loop>> = block.loops.drain(..).map(Some).collect();
    block.loops = order.iter().filter_map(|at| loops[*at].take()).collect();
}

/// Merges a loop, which may have a constant cut, with the next inner loop if one loop can do the work of both.
fn coalesce(block: &mut Block) {
    for at in (1..block.loops.len()).rev() {
        let [outer, inner] = &block.loops[at - 1..=at] else { continue };
        let Source::Affine { stride } = inner.src else { continue };
        let len = inner.len.cast_signed();
        let continues = |outer: isize, inner: isize| outer == inner.wrapping_mul(len);
        let reads_on = match &outer.src {
            Source::Affine { stride: outer } => continues(*outer, stride),
            Source::Cut(cut) => {
                outer.cut_at_constant().is_some()
                    && continues(cut.first.src_stride, stride)
                    && continues(cut.second.src_stride, stride)
            }
        };
        if reads_on
            && continues(outer.dst_stride, inner.dst_stride)
            && block.table_strides().all(|strides| continues(strides[at - 1], strides[at]))
        {
            let (len, dst_stride) = (inner.len, inner.dst_stride);
            // The merged loop has the table strides of the inner loop.
            block.loops.swap(at - 1, at);
            block.remove(at - 1);
            let joined = &mut block.loops[at - 1];
            joined.len *= len;
            joined.dst_stride = dst_stride;
            match &mut joined.src {
                Source::Affine { stride: outer } => *outer = stride,
                Source::Cut(cut) => {
                    (cut.first.src_stride, cut.second.src_stride) = (stride, stride);
                    if let CutAt::Constant(at) = &mut cut.at {
                        *at *= len;
                    }
                }
            }
        }
    }
}

impl Block {
    /// Splits the block in two at the constant cut of loop `at`, if it has one.
    ///
    /// Law: each element keeps its source and its destination, and both blocks are canonical.
    pub fn halves(&self, at: usize) -> Option<[Block; 2]> {
        let (&Cut { first, second, .. }, cut) = self.loops[at].cut_at_constant()?;
        let half = |from: usize, len: usize, run: Run| {
            let mut half = self.clone();
            let (each, from) = (&mut half.loops[at], from.cast_signed());
            each.len = len;
            each.src = Source::Affine { stride: run.src_stride };
            half.dst_offset += from * each.dst_stride;
            let start = run.src_offset.wrapping_add(run.src_stride.wrapping_mul(from));
            half.src_offset = half.src_offset.wrapping_add(start);
            for (offset, strides) in half.entries_mut() {
                *offset = offset.wrapping_add_signed(from * strides[at]);
            }
            drop_single_steps(&mut half);
            coalesce(&mut half);
            half
        };
        Some([half(0, cut, first), half(cut, self.loops[at].len - cut, second)])
    }
}

/// Combines adjacent elements that stay together in every block.
fn widen(work: &mut Move) {
    let width = work.width.cast_signed();
    let together = |block: &Block| innermost(block).map_or(1, |at| run(block, at, width));
    let factor = work.blocks.iter().map(together).reduce(greatest_common_divisor).unwrap_or(1);
    if factor == 1 {
        return;
    }
    for block in &mut work.blocks {
        let Some(at) = innermost(block) else { continue };
        let wider = width * factor.cast_signed();
        let each = &mut block.loops[at];
        each.len /= factor;
        each.dst_stride = wider;
        match &mut each.src {
            Source::Affine { stride } => *stride = wider,
            Source::Cut(cut) => {
                (cut.first.src_stride, cut.second.src_stride) = (wider, wider);
                if let CutAt::Constant(at) = &mut cut.at {
                    *at /= factor;
                }
            }
        }
        drop_single_steps(block);
    }
    work.width *= factor;
}

fn innermost(block: &Block) -> Option<usize> {
    block.loops.iter().rposition(|each| each.cut_by_table().is_none())
}

/// The number of adjacent elements that stay together along a loop: its steps, the greatest common divisor of both
/// runs, or 1.
fn run(block: &Block, at: usize, width: isize) -> usize {
    let each = &block.loops[at];
    if each.dst_stride != width || block.table_strides().any(|strides| strides[at] != 0) {
        return 1;
    }
    match &each.src {
        Source::Affine { stride } if *stride == width => each.len,
        Source::Cut(cut) if [cut.first.src_stride, cut.second.src_stride] == [width; 2] => {
            each.cut_at_constant().map_or(1, |(_, at)| greatest_common_divisor(each.len, at))
        }
        _ => 1,
    }
}

/// If sub-byte elements move in whole groups, makes the move one of bytes.
fn unpack_groups(work: &mut Move) {
    let Some(packing) = work.packing else { return };
    let (group, bytes) = (packing.group(), packing.group_bytes());
    if !work.grain().is_multiple_of(group) {
        return;
    }
    work.packing = None;
    work.width = work.width / group * bytes;
    let (group, bytes) = (group.cast_signed(), bytes.cast_signed());
    for block in &mut work.blocks {
        block.change_distances(|distance| *distance = *distance / group * bytes);
    }
}
