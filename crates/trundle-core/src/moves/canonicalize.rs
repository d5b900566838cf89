//! One form for equal work: drop, orient, order, coalesce, widen, and whole bytes.
//!
//! The law of every pass: the bytes that are copied, each with its source and its destination,
//! are unchanged.

use std::cmp::Reverse;

use super::{Block, Loop, Move, RaggedLoop, Run, greatest_common_divisor};

/// The canonical form of a move.
pub(super) fn canonicalize(mut work: Move) -> Move {
    for block in &mut work.blocks {
        drop_single_steps(block);
        orient(block);
        order(block);
        coalesce(block);
    }
    widen(&mut work);
    unpack_groups(&mut work);
    work.blocks.sort_unstable_by_key(|block| block.dst_offset);
    work
}

/// Loops of one step do nothing. A ragged row of one element stays, since its source follows from
/// a length, but its strides lead nowhere.
fn drop_single_steps(block: &mut Block) {
    block.loops.retain(|each| each.len > 1);
    if let Some(row) = block.ragged.as_mut().filter(|row| row.len == 1) {
        row.dst_stride = 0;
        row.first.src_stride = 0;
        row.second.src_stride = 0;
    }
}

/// Every loop runs upwards through the destination.
fn orient(block: &mut Block) {
    let mut lane_steps = 0isize;
    for each in block.loops.iter_mut().filter(|each| each.dst_stride < 0) {
        let last = (each.len - 1).cast_signed();
        block.src_offset = block.src_offset.wrapping_add(last.wrapping_mul(each.src_stride));
        block.dst_offset = block.dst_offset.wrapping_add(last.wrapping_mul(each.dst_stride));
        lane_steps += last * each.lane_stride;
        *each = Loop {
            len: each.len,
            src_stride: each.src_stride.wrapping_neg(),
            dst_stride: -each.dst_stride,
            lane_stride: -each.lane_stride,
        };
    }
    let Some(ragged) = &mut block.ragged else { return };
    ragged.lane_offset = ragged.lane_offset.wrapping_add_signed(lane_steps);
    if ragged.dst_stride < 0 {
        let last = (ragged.len - 1).cast_signed();
        block.dst_offset = block.dst_offset.wrapping_add(last.wrapping_mul(ragged.dst_stride));
        turn(ragged);
    }
}

/// A ragged row from its other end.
fn turn(row: &mut RaggedLoop) {
    let last = (row.len - 1).cast_signed();
    let turned = |run: Run| Run {
        src_offset: run.src_offset.wrapping_add(last.wrapping_mul(run.src_stride)),
        src_per_length: run.src_per_length,
        src_stride: run.src_stride.wrapping_neg(),
    };
    (row.first, row.second) = (turned(row.second), turned(row.first));
    row.cut_start = row.len.cast_signed() - row.cut_start;
    row.cut_per_length = -row.cut_per_length;
    row.dst_stride = -row.dst_stride;
}

/// The largest destination stride outermost: the destination is written from front to back.
fn order(block: &mut Block) {
    block.loops.sort_unstable_by_key(|each| Reverse(each.dst_stride));
}

/// A loop whose steps continue those of the loop within it is one loop with it.
fn coalesce(block: &mut Block) {
    block.loops.dedup_by(|inner, outer| {
        let len = inner.len.cast_signed();
        let continues = outer.src_stride == inner.src_stride.wrapping_mul(len)
            && outer.dst_stride == inner.dst_stride.wrapping_mul(len)
            && outer.lane_stride == inner.lane_stride.wrapping_mul(len);
        if continues {
            *outer = Loop { len: outer.len * inner.len, ..*inner };
        }
        continues
    });
}

/// Elements that stay together in every block are one wider element.
fn widen(work: &mut Move) {
    let width = work.width.cast_signed();
    let together = |block: &Block| match block.loops.last() {
        Some(&Loop { len, src_stride, dst_stride, lane_stride: 0 })
            if src_stride == width && dst_stride == width =>
        {
            len
        }
        _ => 1,
    };
    let factor = work.blocks.iter().map(together).reduce(greatest_common_divisor).unwrap_or(1);
    if factor == 1 {
        return;
    }
    for innermost in work.blocks.iter_mut().filter_map(|block| block.loops.last_mut()) {
        innermost.len /= factor;
        innermost.src_stride *= factor.cast_signed();
        innermost.dst_stride *= factor.cast_signed();
    }
    work.blocks.iter_mut().for_each(drop_single_steps);
    work.width *= factor;
}

/// Packed elements that stay together in whole groups are the bytes of these groups.
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
