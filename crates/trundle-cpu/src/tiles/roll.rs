//! Loops that are cut at a constant index: rolls that kernels support, and the splitting of others.

use trundle_core::Block;
use trundle_kernels::AffineLoop;

use super::step::Rolled;

/// A rolled loop, as if it did not jump back to the start of the source axis.
#[derive(Clone, Copy)]
pub(super) struct Roll {
    pub(super) along: AffineLoop,
    /// Number of iterations before the jump.
    pub(super) first: usize,
}

impl Roll {
    /// Whether the loop is contiguous in source and destination.
    pub(super) fn is_run(&self, width: usize) -> bool {
        let step = width.cast_signed();
        (self.along.src_stride, self.along.dst_stride) == (step, step)
    }

    /// Returns the loop as rows that ascend in the source, the offsets of row 0 from the start of the block (in bytes),
    /// and where the rows jump.
    pub(super) fn rising_rows(&self) -> (AffineLoop, (isize, isize), Rolled) {
        let AffineLoop { len, src_stride, dst_stride } = self.along;
        let first = self.first.cast_signed();
        let offsets = |src: isize, dst: isize| (src * src_stride, dst * dst_stride);
        if src_stride > 0 {
            // Row 0 is the start of the source axis, which comes after the jump.
            let begin = offsets(first - len.cast_signed(), first);
            return (self.along, begin, Rolled::Rows(len - self.first));
        }
        let rows = AffineLoop { src_stride: -src_stride, dst_stride: -dst_stride, len };
        (rows, offsets(first - 1, first - 1), Rolled::Rows(self.first))
    }
}

/// Returns the outermost loop that is cut at a constant index.
pub(super) fn outermost_cut(block: &Block) -> Option<usize> {
    block.loops.iter().position(|each| each.cut_at_constant().is_some())
}

/// Whether loop `at` is a roll and the only cut loop. After the cut of a roll, source positions are one length of the
/// axis lower than without it.
pub(super) fn is_only_roll(block: &Block, at: usize) -> bool {
    let Some((cut, _)) = block.loops[at].cut_at_constant() else { return false };
    let back = cut.second.src_stride.wrapping_mul(block.loops[at].len.cast_signed());
    let rolled = cut.first.src_stride == cut.second.src_stride
        && cut.second.src_offset == back.wrapping_neg();
    rolled && block.loops.iter().filter(|each| each.affine_stride().is_none()).count() == 1
}

/// Splits a block until no loop is cut at a constant index.
pub(crate) fn uncut(block: &Block) -> Vec<Block> {
    match outermost_cut(block).and_then(|at| block.halves(at)) {
        Some(halves) => halves.iter().flat_map(uncut).collect(),
        None => vec![block.clone()],
    }
}
