//! The arguments of kernels for lanes.

use crate::tile::{AffineLoop, Tile};

/// A [`Tile`] whose columns each have their own length.
#[derive(Clone, Copy)]
pub struct LaneTile<'a> {
    /// The tile. Its rows are `row_begin..row_begin + tile.rows.len` of the ragged axis, but `tile.src` and `tile.dst`
    /// are at row 0 of the axis, in the first lane.
    pub tile: Tile,
    /// The first row.
    pub row_begin: usize,
    /// The ragged axis.
    pub ragged: &'a Ragged<'a>,
    /// The index of the first lane's length.
    pub lane: usize,
    /// The stride of the lanes in the table of lengths.
    pub lane_stride: isize,
    /// The loop over slabs: groups of all rows, with other lengths. More than one only if the kernel's roles allow it.
    pub slabs: AffineLoop,
    /// The stride of the slabs in the table of lengths.
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

/// An axis of two runs, which meet at a length from a table.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    /// The number of elements along the axis.
    pub len: usize,
    /// The table of lengths.
    pub lengths: &'a [usize],
    /// The cut for length 0.
    pub cut_start: isize,
    /// The change of the cut with the length: 1 or -1.
    pub cut_per_length: isize,
    /// The run before the cut.
    pub first: Run,
    /// The run from the cut on.
    pub second: Run,
}

/// The source of a run. Element i is at byte `src_offset + src_per_length · length + src_stride · i` from the start of
/// the axis.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The constant part.
    pub src_offset: isize,
    /// The factor of the length.
    pub src_per_length: isize,
    /// The distance between adjacent elements.
    pub src_stride: isize,
}

impl Ragged<'_> {
    /// Returns where the second run begins, in `0..=len`.
    #[inline]
    pub(crate) fn cut(&self, length: usize) -> usize {
        let cut = self.cut_start.wrapping_add(self.cut_per_length * length.cast_signed());
        cut.clamp(0, self.len.cast_signed()).unsigned_abs()
    }
}

impl Run {
    /// Returns the source position of element 0, in bytes from the start of the axis.
    #[inline]
    pub(crate) fn start(&self, length: usize) -> isize {
        self.src_offset.wrapping_add(self.src_per_length.wrapping_mul(length.cast_signed()))
    }
}
