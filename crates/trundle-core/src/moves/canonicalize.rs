//! One form for equal work: drop, orient, order, coalesce, widen, and whole bytes.
//!
//! The law of every pass: the bytes that are copied, each with its source and its destination,
//! are unchanged.

use std::cmp::Reverse;

use super::{Block, Loop, Move, Source, greatest_common_divisor};

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

/// Loops of one step do nothing. One that a table cuts stays, since what is read follows from a
/// length, but its strides lead nowhere.
fn drop_single_steps(block: &mut Block) {
    for at in (0..block.loops.len()).rev() {
        match &mut block.loops[at] {
            Loop { len: 1, src: Source::Affine { .. }, .. } => block.remove(at),
            Loop { len: 1, dst_stride, src: Source::Cut(cut) } => {
                *dst_stride = 0;
                cut.first.src_stride = 0;
                cut.second.src_stride = 0;
            }
            _ => {}
        }
    }
}

/// Every loop runs upwards through the destination.
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
        if let Some(table) = block.table_mut() {
            table.offset = table.offset.wrapping_add_signed(last * table.strides[at]);
            table.strides[at] = -table.strides[at];
        }
    }
}

/// The largest destination stride outermost: the destination is written from front to back.
fn order(block: &mut Block) {
    let outward = |each: &Loop| Reverse(each.dst_stride);
    let Some(table) = block.table_mut() else {
        return block.loops.sort_unstable_by_key(outward);
    };
    let strides = std::mem::take(&mut table.strides);
    let mut loops: Vec<_> = std::mem::take(&mut block.loops).into_iter().zip(strides).collect();
    loops.sort_by_key(|(each, _)| outward(each));
    let strides;
    (block.loops, strides) = loops.into_iter().unzip();
    if let Some(table) = block.table_mut() {
        table.strides = strides;
    }
}

/// A loop whose steps continue those of the loop within it is one loop with it.
fn coalesce(block: &mut Block) {
    for at in (1..block.loops.len()).rev() {
        let [outer, inner] = &block.loops[at - 1..=at] else { continue };
        let len = inner.len.cast_signed();
        let continues = |outer: isize, inner: isize| outer == inner.wrapping_mul(len);
        let (Some(read), Some(inner_read)) = (outer.affine_stride(), inner.affine_stride()) else {
            continue;
        };
        if continues(read, inner_read)
            && continues(outer.dst_stride, inner.dst_stride)
            && block.table().is_none_or(|table| continues(table.strides[at - 1], table.strides[at]))
        {
            block.loops[at].len *= block.loops[at - 1].len;
            block.remove(at - 1);
        }
    }
}

/// Elements that stay together in every block are one wider element.
fn widen(work: &mut Move) {
    let width = work.width.cast_signed();
    let together = |block: &Block| match innermost(block) {
        Some(at) if is_run(block, at, width) => block.loops[at].len,
        _ => 1,
    };
    let factor = work.blocks.iter().map(together).reduce(greatest_common_divisor).unwrap_or(1);
    if factor == 1 {
        return;
    }
    for block in &mut work.blocks {
        let Some(at) = innermost(block) else { continue };
        let wider = width * factor.cast_signed();
        let src = Source::Affine { stride: wider };
        block.loops[at] = Loop { len: block.loops[at].len / factor, dst_stride: wider, src };
        drop_single_steps(block);
    }
    work.width *= factor;
}

/// The innermost loop but the one that a table cuts.
fn innermost(block: &Block) -> Option<usize> {
    block.loops.iter().rposition(|each| each.cut_by_table().is_none())
}

/// Whether a loop is over neighbours on both sides, of one length.
fn is_run(block: &Block, at: usize, width: isize) -> bool {
    let each = &block.loops[at];
    (each.affine_stride(), each.dst_stride) == (Some(width), width)
        && block.table().is_none_or(|table| table.strides[at] == 0)
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
