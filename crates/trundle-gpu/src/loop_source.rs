//! Where a loop is read, as kernels have it: all loops are cut in two runs, of which the second may have no steps.

use trundle_core::{Block, CutAt, Loop, Run, Source};

/// Where the steps of a loop are read, in bytes or packed elements from where its block [begins](src_begin): step i at
/// `i · first_stride` before step `cut`, and at `second_offset + i · second_stride` from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopSource {
    /// Where the second run begins: behind all steps, if there is none. Of a loop that a table cuts, it is not read.
    pub cut: usize,
    /// The distance of neighbours before the cut.
    pub first_stride: isize,
    /// Where step 0 of the second run would be.
    pub second_offset: isize,
    /// The distance of neighbours from the cut on.
    pub second_stride: isize,
}

impl LoopSource {
    /// That of a loop.
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

/// Where the first element of a block is read if all loops are in their first runs, from which [`LoopSource`] counts.
pub fn src_begin(block: &Block) -> isize {
    let of_loop = |each: &Loop| match &each.src {
        Source::Affine { .. } => 0,
        Source::Cut(cut) => cut.first.src_offset,
    };
    block.src_offset + block.loops.iter().map(of_loop).sum::<isize>()
}
