//! Rolled axes: two blocks that read the end and the start of the same axis are one.

use trundle_core::{Block, Loop};

use crate::plan::Rolled;

/// A block with a rolled loop.
pub(crate) struct RolledBlock {
    /// The block as if its loop went straight on where it jumps.
    pub(crate) block: Block,
    /// The loop: its first element is the block's.
    pub(crate) along: Loop,
    /// The number of its elements that come before the jump to the start of the source's axis.
    pub(crate) first: usize,
}

impl RolledBlock {
    /// Two blocks as one, if the second goes on in the destination where the first ends, and in the
    /// source ends where the first begins. `width` is that of an element in bytes.
    pub(crate) fn of(ends: &Block, starts: &Block, width: usize) -> Option<RolledBlock> {
        if ends.ragged.is_some() || starts.ragged.is_some() {
            return None;
        }
        let (loops, others) = (with_run(ends, width), with_run(starts, width));
        if loops.len() != others.len() {
            return None;
        }
        // Halves have the same loops: then any of them may be the one that goes on.
        let different = loops.iter().zip(&others).position(|(left, right)| left != right);
        let candidates = different.map_or(0..loops.len(), |at| at..at + 1);
        let goes_on = |at: &usize| {
            let (left, right) = (loops[*at], others[*at]);
            let (first, all) = (left.len.cast_signed(), (left.len + right.len).cast_signed());
            Loop { len: left.len, ..right } == left
                && loops[at + 1..] == others[at + 1..]
                && starts.src_offset == ends.src_offset + (first - all) * left.src_stride
                && starts.dst_offset == ends.dst_offset + first * left.dst_stride
        };
        let at = candidates.into_iter().find(goes_on)?;
        let (first, along) =
            (loops[at].len, Loop { len: loops[at].len + others[at].len, ..loops[at] });
        let mut block = Block { loops, ..ends.clone() };
        block.loops[at] = along;
        block.loops.retain(|each| each.len > 1);
        Some(RolledBlock { block, along, first })
    }

    /// Whether the loop is over neighbours on both sides.
    pub(crate) fn is_run(&self, width: usize) -> bool {
        let step = width.cast_signed();
        (self.along.src_stride, self.along.dst_stride) == (step, step)
    }

    /// The loop as rows that rise through the source, where they begin, in bytes from where the block
    /// does, and where they are rolled.
    pub(crate) fn rising_rows(&self) -> (Loop, (isize, isize), Rolled) {
        let Loop { len, src_stride, dst_stride, .. } = self.along;
        let first = self.first.cast_signed();
        let offsets = |src: isize, dst: isize| (src * src_stride, dst * dst_stride);
        if src_stride > 0 {
            // The start of the source's axis is what comes last in the destination.
            let begin = offsets(first - len.cast_signed(), first);
            return (self.along, begin, Rolled::Rows(len - self.first));
        }
        let rows = Loop { src_stride: -src_stride, dst_stride: -dst_stride, ..self.along };
        (rows, offsets(first - 1, first - 1), Rolled::Rows(self.first))
    }
}

/// The loops of a block, of which the last is over neighbours on both sides: one element, where they
/// are not.
fn with_run(block: &Block, width: usize) -> Vec<Loop> {
    let step = width.cast_signed();
    let run = Loop { len: 1, src_stride: step, dst_stride: step, lane_stride: 0 };
    match block.loops.last() {
        Some(last) if *last == (Loop { len: last.len, ..run }) => block.loops.clone(),
        _ => [&block.loops[..], &[run]].concat(),
    }
}
