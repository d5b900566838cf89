//! A move as a GPU does it.

use std::fmt;
use std::ops::Range;

use trundle_core::{Move, Packing, Result, check_buffer};

use crate::part::{Part, without_long_lengths};
use crate::pattern::tile_loops;
use crate::span::{bytes_read, bytes_written};
use crate::windows::pieces;
use crate::{GpuBlock, Launch, Windows, tile_edge};

/// How a [`Move`] is done on a GPU: its blocks, each with what one access reads and a pattern. Offsets and strides are of 64
/// bits and count bytes, or packed elements; a device with pointers takes them as they are. [`GpuMove::launches`] are for
/// kernels that count with 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMove {
    packing: Option<Packing>,
    blocks: Vec<GpuBlock>,
    src_bytes: usize,
    dst_bytes: usize,
    moved_bytes: usize,
}

/// Rows of at least so many bytes that are read as two runs are two blocks: a guess, at which the few words that both have
/// a part of are of no account.
const LONG_ROW_BYTES: usize = 256;

impl GpuMove {
    /// How `work` is done.
    ///
    /// Law: the blocks move what those of `work` move.
    pub fn of(work: &Move) -> GpuMove {
        let (packing, width) = (work.packing(), work.width());
        // Elements of no bytes are moved by nobody.
        let blocks = work.blocks().iter().filter(|_| width > 0).flat_map(without_long_lengths);
        let long = packing.map_or(LONG_ROW_BYTES, |packing| 8 * LONG_ROW_BYTES / packing.bits());
        let parts = blocks.flat_map(|block| Part { block, width }.runs(long)).map(Part::widened);
        let blocks = parts.flat_map(|part| match packing {
            None => halved_for_tiles(part),
            Some(_) => vec![part],
        });
        GpuMove {
            packing,
            blocks: blocks.map(|part| GpuBlock::of(part, packing)).collect(),
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes: work.moved_bytes(),
        }
    }

    /// The blocks. No byte of the destination is in two of them, and no bit of a packed element.
    pub fn blocks(&self) -> &[GpuBlock] {
        &self.blocks
    }

    /// How the elements are packed, if offsets and strides count such.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The least size of the source buffer, in bytes.
    pub fn src_bytes(&self) -> usize {
        self.src_bytes
    }

    /// The least size of the destination buffer, in bytes.
    pub fn dst_bytes(&self) -> usize {
        self.dst_bytes
    }

    /// Checks that buffers of so many bytes have room for what is moved.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if one has not.
    pub fn check(&self, src: usize, dst: usize) -> Result<()> {
        check_buffer("data", self.src_bytes, src)?;
        check_buffer("out", self.dst_bytes, dst)
    }

    /// Where a block reads in the buffer of the source, in bytes: where a table says what is read, not all that lies there.
    pub fn reads(&self, block: &GpuBlock) -> Range<usize> {
        bytes_read(&block.part(), block.access, self.src_bytes)
    }

    /// Where a block writes in the buffer of the destination, in bytes.
    pub fn writes(&self, block: &GpuBlock) -> Range<usize> {
        bytes_written(&block.part(), block.access)
    }

    /// The number of bytes that are written.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }

    /// What kernels of 32-bit offsets are launched with, one after another, where no more than `windows` says is bound at
    /// once.
    ///
    /// Law: together they move what the blocks move, and no bit of the destination is written twice.
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

/// A part in as many as it takes for tiles whose loops have no cut: one, two or four.
fn halved_for_tiles(part: Part) -> Vec<Part> {
    let Some((across, along)) = tile_loops(&part.block, part.width) else { return vec![part] };
    let cut =
        [across, along].into_iter().find(|at| part.block.loops[*at].affine_stride().is_none());
    let Some((_, step)) = cut.and_then(|at| part.block.loops[at].cut_at_constant()) else {
        return vec![part];
    };
    let Some(at) = cut else { return vec![part] };
    // Halves of which one is too short for a tile are not worth two launches: then the whole is gathered.
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
