//! The source positions of a loop in the form that kernels use: two runs. The second may be empty.

use trundle_core::{Block, CutAt, Loop, Run, Source};

/// The source positions of a loop, in bytes or packed elements from the [begin](src_begin) of its block: `i ·
/// first_stride` for iteration i below `cut`, and `second_offset + i · second_stride` from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopSource {
    /// The first iteration of the second run, or the loop's length. Not used if a table cuts the loop.
    pub cut: usize,
    /// The stride before the cut.
    pub first_stride: isize,
    /// The position of iteration 0 if it were in the second run.
    pub second_offset: isize,
    /// The stride from the cut on.
    pub second_stride: isize,
}

impl LoopSource {
    /// The source positions of a loop.
    pub fn of(each: &Loop) -> LoopSource {
        let cut = match &each.src {
            Source::Affine { stride } => {
                let (cut, first_stride) = (each.len, *stride);
                return LoopSource { cut, first_stride, second_offset: 0, second_stride: 0 };
            }
            Source::Cut(cut) => cut,
        };
        let Run { src_offset, src_stride, .. } = cut.second;
        LoopSource {
            cut: match cut.at {
                CutAt::Constant(step) => step,
                CutAt::Table(_) => each.len,
            },
            first_stride: cut.first.src_stride,
            second_offset: src_offset.wrapping_sub(cut.first.src_offset),
            second_stride: src_stride,
        }
    }
}

/// The source position of a block's first element, with all loops in their first runs, to which [`LoopSource`] is
/// relative.
pub fn src_begin(block: &Block) -> isize {
    let of_loop = |each: &Loop| match &each.src {
        Source::Affine { .. } => 0,
        Source::Cut(cut) => cut.first.src_offset,
    };
    block.src_offset + block.loops.iter().map(of_loop).sum::<isize>()
}
