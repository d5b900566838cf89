//! Rolled axes: two blocks that read the end and the start of the same axis are one.

use trundle_core::{Block, Loop, Source};
use trundle_kernels::AffineLoop;

use crate::plan::Rolled;

/// A block with a rolled loop.
pub(crate) struct RolledBlock {
    /// The block as if its loop went straight on where it jumps.
    pub(crate) block: Block,
    /// The loop: its first element is the block's.
    pub(crate) along: AffineLoop,
    /// The number of its elements that come before the jump to the start of the source's axis.
    pub(crate) first: usize,
}

impl RolledBlock {
    /// Two blocks as one, if the second goes on in the destination where the first ends, and in the
    /// source ends where the first begins. `width` is that of an element in bytes.
    pub(crate) fn of(ends: &Block, starts: &Block, width: usize) -> Option<RolledBlock> {
        let (mut loops, others) = (with_run(ends, width)?, with_run(starts, width)?);
        if loops.len() != others.len() {
            return None;
        }
        // Halves have the same loops: then any of them may be the one that goes on.
        let different = loops.iter().zip(&others).position(|(left, right)| left != right);
        let candidates = different.map_or(0..loops.len(), |at| at..at + 1);
        let goes_on = |at: &usize| {
            let (left, right) = (loops[*at], others[*at]);
            let (first, all) = (left.len.cast_signed(), (left.len + right.len).cast_signed());
            AffineLoop { len: left.len, ..right } == left
                && loops[at + 1..] == others[at + 1..]
                && starts.src_offset == ends.src_offset + (first - all) * left.src_stride
                && starts.dst_offset == ends.dst_offset + first * left.dst_stride
        };
        let at = candidates.into_iter().find(goes_on)?;
        let first = loops[at].len;
        loops[at].len += others[at].len;
        let along = loops[at];
        let affine = |each: AffineLoop| Loop {
            len: each.len,
            dst_stride: each.dst_stride,
            src: Source::Affine { stride: each.src_stride },
        };
        let loops = loops.into_iter().filter(|each| each.len > 1).map(affine).collect();
        let block = Block { loops, ..*ends };
        Some(RolledBlock { block, along, first })
    }

    /// Whether the loop is over neighbours on both sides.
    pub(crate) fn is_run(&self, width: usize) -> bool {
        let step = width.cast_signed();
        (self.along.src_stride, self.along.dst_stride) == (step, step)
    }

    /// The loop as rows that rise through the source, where they begin, in bytes from where the block
    /// does, and where they are rolled.
    pub(crate) fn rising_rows(&self) -> (AffineLoop, (isize, isize), Rolled) {
        let AffineLoop { len, src_stride, dst_stride } = self.along;
        let first = self.first.cast_signed();
        let offsets = |src: isize, dst: isize| (src * src_stride, dst * dst_stride);
        if src_stride > 0 {
            // The start of the source's axis is what comes last in the destination.
            let begin = offsets(first - len.cast_signed(), first);
            return (self.along, begin, Rolled::Rows(len - self.first));
        }
        let rows = AffineLoop { src_stride: -src_stride, dst_stride: -dst_stride, ..self.along };
        (rows, offsets(first - 1, first - 1), Rolled::Rows(self.first))
    }
}

/// The loops of a block, of which the last is over neighbours on both sides: one element, where they
/// are not. None, if a loop is cut.
fn with_run(block: &Block, width: usize) -> Option<Vec<AffineLoop>> {
    let step = width.cast_signed();
    let run = AffineLoop { len: 1, src_stride: step, dst_stride: step };
    let affine = |each: &Loop| {
        let (len, dst_stride) = (each.len, each.dst_stride);
        Some(AffineLoop { len, src_stride: each.affine_stride()?, dst_stride })
    };
    let mut loops: Vec<AffineLoop> = block.loops.iter().map(affine).collect::<Option<_>>()?;
    if loops.last().is_none_or(|last| *last != AffineLoop { len: last.len, ..run }) {
        loops.push(run);
    }
    Some(loops)
}
