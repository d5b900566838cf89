//! Loops that are cut at one step: which of them a kernel takes, and where the others are cut.

use trundle_core::Block;
use trundle_kernels::AffineLoop;

use super::step::Rolled;

/// A rolled loop, as if it went straight on where it jumps back to the start of the source's axis.
#[derive(Clone, Copy)]
pub(super) struct Roll {
    pub(super) along: AffineLoop,
    /// The number of steps before the jump.
    pub(super) first: usize,
}

impl Roll {
    /// Whether the loop is over neighbours on both sides.
    pub(super) fn is_run(&self, width: usize) -> bool {
        let step = width.cast_signed();
        (self.along.src_stride, self.along.dst_stride) == (step, step)
    }

    /// The loop as rows that rise through the source, where they begin, in bytes from where the block
    /// does, and where they are rolled.
    pub(super) fn rising_rows(&self) -> (AffineLoop, (isize, isize), Rolled) {
        let AffineLoop { len, src_stride, dst_stride } = self.along;
        let first = self.first.cast_signed();
        let offsets = |src: isize, dst: isize| (src * src_stride, dst * dst_stride);
        if src_stride > 0 {
            // The start of the source's axis is what comes last in the destination.
            let begin = offsets(first - len.cast_signed(), first);
            return (self.along, begin, Rolled::Rows(len - self.first));
        }
        let rows = AffineLoop { src_stride: -src_stride, dst_stride: -dst_stride, len };
        (rows, offsets(first - 1, first - 1), Rolled::Rows(self.first))
    }
}

/// The outermost loop that is cut at one step.
pub(super) fn outermost_cut(block: &Block) -> Option<usize> {
    block.loops.iter().position(|each| each.cut_at_constant().is_some())
}

/// Whether the loop that is cut at one step is the only one which is cut at all, and rolled: the source goes
/// on one whole length before where it would straight on.
pub(super) fn is_only_roll(block: &Block, at: usize) -> bool {
    let Some((cut, _)) = block.loops[at].cut_at_constant() else { return false };
    let back = cut.second.src_stride.wrapping_mul(block.loops[at].len.cast_signed());
    let rolled = cut.first.src_stride == cut.second.src_stride
        && cut.second.src_offset == back.wrapping_neg();
    rolled && block.loops.iter().filter(|each| each.affine_stride().is_none()).count() == 1
}

/// The blocks that one is without any loop that is cut at one step.
pub(crate) fn uncut(block: &Block) -> Vec<Block> {
    match outermost_cut(block).and_then(|at| block.halves(at)) {
        Some(halves) => halves.iter().flat_map(uncut).collect(),
        None => vec![block.clone()],
    }
}
