//! Moves planned for a GPU.

use std::fmt;
use std::ops::Range;

use trundle_core::{Block, Move, Packing, Result, check_buffer};

use crate::part::{BlockPart, without_long_lengths};
use crate::pattern::tile_loops;
use crate::span::{bytes_read, bytes_written};
use crate::windows::pieces;
use crate::{Access, GpuBlock, Launch, WholeBlock, Windows, tile_edge};

/// A [`Move`] that is planned for a GPU: its blocks, each with an access unit and a pattern.
///
/// Offsets and strides have 64 bits and count bytes or packed elements. Kernels with pointers use them directly.
/// [`GpuMove::launches`] converts them for kernels with 32-bit offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMove {
    packing: Option<Packing>,
    blocks: Vec<GpuBlock>,
    whole_blocks: Vec<WholeBlock>,
    src_bytes: usize,
    dst_bytes: usize,
    moved_bytes: usize,
}

/// Rows of at least this many bytes that are read as two runs become two blocks. A guess: the few words that both runs
/// share take little time.
const LONG_ROW_BYTES: usize = 256;

impl GpuMove {
    /// Plans `work`.
    ///
    /// Law: the blocks move the same elements as the blocks of `work`.
    pub fn of(work: &Move) -> GpuMove {
        let (packing, width) = (work.packing(), work.width());
        let long = packing.map_or(LONG_ROW_BYTES, |packing| 8 * LONG_ROW_BYTES / packing.bits());
        let (mut blocks, mut whole_blocks) = (Vec::new(), Vec::new());
        for block in work.blocks().iter().filter(|_| width > 0) {
            let begin = blocks.len();
            blocks.extend(split(block, width, packing, long));
            let part = BlockPart { block: block.clone(), width };
            let access = Access::of(block, width, packing);
            whole_blocks.push(WholeBlock {
                reads: bytes_read(&part, access, work.src_bytes()),
                block: part.block,
                width,
                packing,
                parts: begin..blocks.len(),
            });
        }
        GpuMove {
            packing,
            blocks,
            whole_blocks,
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes: work.moved_bytes(),
        }
    }

    /// The blocks. They write different bytes, or different packed elements.
    pub fn blocks(&self) -> &[GpuBlock] {
        &self.blocks
    }

    /// The blocks before they are split into [`GpuMove::blocks`], for specialised kernels.
    pub fn whole_blocks(&self) -> &[WholeBlock] {
        &self.whole_blocks
    }

    /// The packing, if offsets and strides count packed elements.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The minimum size of the source buffer, in bytes.
    pub fn src_bytes(&self) -> usize {
        self.src_bytes
    }

    /// The minimum size of the destination buffer, in bytes.
    pub fn dst_bytes(&self) -> usize {
        self.dst_bytes
    }

    /// Checks that buffers of the given sizes are large enough.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a buffer is too small.
    pub fn check(&self, src: usize, dst: usize) -> Result<()> {
        check_buffer("data", self.src_bytes, src)?;
        check_buffer("out", self.dst_bytes, dst)
    }

    /// The range of bytes of the source buffer that a block reads. With an index table, not every byte is read.
    pub fn reads(&self, block: &GpuBlock) -> Range<usize> {
        bytes_read(&block.part(), block.access, self.src_bytes)
    }

    /// The range of bytes of the destination buffer that a block writes, perhaps not all of them.
    pub fn writes(&self, block: &GpuBlock) -> Range<usize> {
        bytes_written(&block.part(), block.access)
    }

    /// The number of bytes written.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }

    /// The launches of kernels with 32-bit offsets, within the limits of `windows`.
    ///
    /// Law: together, the launches move the same elements as the blocks, and write no bit of the destination twice.
    pub fn launches(&self, windows: &Windows) -> Vec<Launch> {
        let buffers = [self.src_bytes, self.dst_bytes];
        let mut launches = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            for piece in pieces(block, windows, buffers) {
                Launch::push_all((at, block), &piece, windows, buffers, &mut launches);
            }
        }
        launches
    }
}

/// The blocks of the generic kernels that move the same elements as `block`.
fn split(
    block: &Block,
    width: usize,
    packing: Option<Packing>,
    long: usize,
) -> impl Iterator<Item = GpuBlock> {
    let blocks = without_long_lengths(block).into_iter();
    let parts = blocks.flat_map(move |block| BlockPart { block, width }.runs(long));
    let parts = parts.map(BlockPart::widened).flat_map(move |part| match packing {
        None => halved_for_tiles(part),
        Some(_) => vec![part],
    });
    parts.map(move |part| GpuBlock::of(part, packing))
}

/// Splits a part into at most four, so that the two loops of a tile are not cut.
fn halved_for_tiles(part: BlockPart) -> Vec<BlockPart> {
    let Some((across, along)) = tile_loops(&part.block, part.width) else { return vec![part] };
    let cut =
        [across, along].into_iter().find(|at| part.block.loops[*at].affine_stride().is_none());
    let Some((_, step)) = cut.and_then(|at| part.block.loops[at].cut_at_constant()) else {
        return vec![part];
    };
    let Some(at) = cut else { return vec![part] };
    // If one half is too short for a tile, two launches are not faster, and the part is gathered.
    let len = part.block.loops[at].len;
    if step.min(len - step) < tile_edge(part.width) / 4 {
        return vec![part];
    }
    let halves = part.halves(crate::part::Dimension::Loop(at), step);
    halves.into_iter().flat_map(halved_for_tiles).collect()
}

impl fmt::Display for GpuMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, bytes) = (self.blocks.len(), self.moved_bytes);
        let plural = if blocks == 1 { "" } else { "s" };
        write!(f, "{blocks} block{plural}, {bytes} bytes")?;
        for (number, block) in self.blocks.iter().enumerate() {
            write!(f, "\n  block {number}: {block}")?;
        }
        Ok(())
    }
}
