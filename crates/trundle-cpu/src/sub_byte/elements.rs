//! Packed elements that are read where indices lead: one after another.

use std::fmt;

use trundle_core::{Block, IndexTable, Packing};
use trundle_kernels::AffineLoop;

use super::buffers::{Buffers, Scratch};
use super::run as runs;
use super::side::affine_loops;
use crate::tiles::merged;

/// About how many elements a unit has.
const UNIT: usize = 4 << 10;

/// A block with indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    src_offset: isize,
    dst_offset: isize,
    /// The outermost first; one at least, along which indices vary.
    loops: Vec<AffineLoop>,
    table: IndexTable,
    /// The elements that stay together.
    width: usize,
    /// How many steps of the outermost loop a unit has.
    steps: usize,
}

impl Elements {
    /// The elements of a block, if it has indices.
    pub(super) fn of(block: &Block, width: usize) -> Option<Elements> {
        if block.indices.is_empty() {
            return None;
        }
        let loops = affine_loops(block);
        let within: usize = loops.iter().skip(1).map(|each| each.len).product();
        let steps = (UNIT / within.saturating_mul(width).max(1)).max(1);
        let Block { src_offset, dst_offset, .. } = *block;
        Some(Elements { src_offset, dst_offset, loops, table: merged(block), width, steps })
    }

    pub(super) fn units(&self) -> usize {
        self.loops.first().map_or(1, |outermost| outermost.len.div_ceil(self.steps))
    }

    /// About how many elements a unit has.
    pub(super) fn unit_elements(&self) -> usize {
        let within: usize = self.loops.iter().skip(1).map(|each| each.len).product();
        self.steps * within * self.width
    }

    /// The bytes of a unit's copy.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.width
    }

    /// Where a unit is written, in elements from the start of the destination.
    pub(super) fn dst_of(&self, unit: usize) -> isize {
        let along = self.loops.first().map_or(0, |outermost| outermost.dst_stride);
        self.dst_offset + (unit * self.steps).cast_signed() * along
    }

    /// Moves a unit.
    ///
    /// # Safety
    /// The buffers hold what the block reads and writes, and nobody else writes these elements
    /// meanwhile, nor others of the same bytes but by [`runs::pack`].
    pub(super) unsafe fn run(
        &self,
        packing: Packing,
        unit: usize,
        buffers: Buffers<'_>,
        scratch: &mut Scratch,
    ) {
        let copy = &mut scratch.read[..self.width];
        let mut each = |src: isize, dst: isize| {
            runs::unpack(packing, buffers.src, src.unsigned_abs(), copy);
            // SAFETY: by the caller.
            unsafe { runs::pack(packing, copy, buffers.dst, dst.unsigned_abs()) };
        };
        let Some(outermost) = self.loops.first() else { return };
        let begin = unit * self.steps;
        for step in begin..(begin + self.steps).min(outermost.len) {
            self.visit(0, step, (self.src_offset, self.dst_offset, self.table.offset), &mut each);
        }
    }

    /// Calls `each` with where every element is read and written at a step of a loop.
    fn visit(
        &self,
        at: usize,
        step: usize,
        (src, dst, entry): (isize, isize, usize),
        each: &mut dyn FnMut(isize, isize),
    ) {
        let (own, step) = (self.loops[at], step.cast_signed());
        let src = src.wrapping_add(step * own.src_stride);
        let dst = dst + step * own.dst_stride;
        let entry = entry.wrapping_add_signed(step * self.table.strides[at]);
        match self.loops.get(at + 1) {
            None => each(src.wrapping_add(self.table.at(entry)), dst),
            Some(inner) => {
                for step in 0..inner.len {
                    self.visit(at + 1, step, (src, dst, entry), each);
                }
            }
        }
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let positions: usize = self.loops.iter().map(|each| each.len).product();
        write!(f, "{positions} x {} elements, each read where its index leads,", self.width)
    }
}
