//! Arguments of lane kernels: an axis whose rows are cut by lengths.

use crate::tile::{AffineLoop, Tile};

/// Lanes of a ragged axis: a [`Tile`] whose columns each have a length.
#[derive(Clone, Copy)]
pub struct LaneTile<'a> {
    /// The rows, `row_begin..row_begin + tile.rows.len` of the ragged axis; `tile.src` and `tile.dst` are at row 0
    /// of the axis and at the first lane.
    pub tile: Tile,
    /// The first row.
    pub row_begin: usize,
    /// The ragged axis.
    pub ragged: &'a Ragged<'a>,
    /// The entry of the first lane in the table of lengths.
    pub lane: usize,
    /// The distance to the entry of the next lane.
    pub lane_stride: isize,
    /// Repetitions of the same lanes: more than one only for kernels whose roles allow it.
    pub slabs: AffineLoop,
    /// The distance between slabs in the table of lengths.
    pub slab_lane_stride: isize,
}

impl LaneTile<'_> {
    #[inline(always)]
    pub(crate) fn slab(&self, slab: usize) -> Self {
        let slab = slab.cast_signed();
        let tile = Tile {
            src: self.tile.src.wrapping_offset(slab.wrapping_mul(self.slabs.src_stride)),
            dst: self.tile.dst.wrapping_offset(slab.wrapping_mul(self.slabs.dst_stride)),
            ..self.tile
        };
        let lane = self.lane.wrapping_add_signed(slab.wrapping_mul(self.slab_lane_stride));
        LaneTile { tile, lane, slabs: AffineLoop { len: 1, ..self.slabs }, ..*self }
    }
}

/// An axis whose rows consist of two runs. The length of a row determines where the runs meet.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    /// The number of elements of a row.
    pub len: usize,
    /// The table of lengths.
    pub lengths: &'a [usize],
    /// The cut of a row of length 0.
    pub cut_start: isize,
    /// The change of the cut with the length: 1 or -1.
    pub cut_per_length: isize,
    /// The run before the cut.
    pub first: Run,
    /// The run from the cut on.
    pub second: Run,
}

/// The source of a run of a ragged row. Element i is at `src_offset + src_per_length · length + src_stride · i`, in
/// bytes from the row's start.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The constant part.
    pub src_offset: isize,
    /// The factor of the length.
    pub src_per_length: isize,
    /// The distance between neighbours.
    pub src_stride: isize,
}

impl Ragged<'_> {
    /// Returns the start of the second run for a row of this length, in `0..=len`.
    #[inline]
    pub(crate) fn cut(&self, length: usize) -> usize {
        let cut = self.cut_start.wrapping_add(self.cut_per_length * length.cast_signed());
        cut.clamp(0, self.len.cast_signed()).unsigned_abs()
    }
}

impl Run {
    /// Returns the offset of element 0 of a row of this length, in bytes from the row's start.
    #[inline]
    pub(crate) fn start(&self, length: usize) -> isize {
        self.src_offset.wrapping_add(self.src_per_length.wrapping_mul(length.cast_signed()))
    }
}
