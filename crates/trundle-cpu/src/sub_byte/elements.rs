//! Gathers packed elements at indices, one at a time.

use std::fmt;

use trundle_core::{Block, IndexTable, Packing};
use trundle_kernels::AffineLoop;

use super::box_runs::affine_loops;
use super::buffers::{Buffers, Scratch};
use super::run as runs;
use crate::tiles::merged;

/// Approximate number of elements per unit.
const UNIT: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    src_offset: isize,
    dst_offset: isize,
    /// The loops, outermost first, with indices that vary along at least one.
    loops: Vec<AffineLoop>,
    table: IndexTable,
    /// Number of elements that stay together.
    width: usize,
    /// Number of iterations of the outermost loop per unit.
    steps: usize,
}

impl Elements {
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

    pub(super) fn unit_elements(&self) -> usize {
        let within: usize = self.loops.iter().skip(1).map(|each| each.len).product();
        self.steps * within * self.width
    }

    /// Returns the size of an unpacked copy in bytes.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.width
    }

    pub(super) fn dst_of(&self, unit: usize) -> isize {
        let along = self.loops.first().map_or(0, |outermost| outermost.dst_stride);
        self.dst_offset + (unit * self.steps).cast_signed() * along
    }

    /// Moves a unit.
    ///
    /// # Safety
    /// The buffers must hold everything that the block reads and writes. Nothing else may write these elements during
    /// the run. Other elements of the same bytes may be written, but only by [`runs::pack`].
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
            // SAFETY: the elements belong to this unit. The caller guarantees that nothing else writes them.
            unsafe { runs::pack(packing, copy, buffers.dst, dst.unsigned_abs()) };
        };
        let Some(outermost) = self.loops.first() else { return };
        let begin = unit * self.steps;
        for step in begin..(begin + self.steps).min(outermost.len) {
            self.visit(0, step, (self.src_offset, self.dst_offset, self.table.offset), &mut each);
        }
    }

    /// Calls `each` with the positions of every element in one iteration of a loop.
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
