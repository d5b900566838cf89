//! The parameters of a launch, the same for all its threads.

use trundle_core::{BitOrder, Block, Packing};
use trundle_gpu::{GpuBlock, LoopSource, WORKGROUP, src_begin, stores_of_row};

use crate::divisor::Divisor;
use crate::numbers::Sums;
use crate::rows::{Rows, is_varied};
use crate::tile_shape::TileShape;

/// Maximum number of loops per launch. A block with more loops would have more than 10^9 elements.
pub(crate) const MOST_LOOPS: usize = 32;

/// Number of stores that each thread of the gather and runs kernels does.
pub(crate) const STORES: usize = 4;

/// For a loop index, if there is no such loop.
const NONE: u32 = u32::MAX;

/// A loop, with the layout of the struct in `kernels/launch.h`. Negative values are in two's complement.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchLoop {
    len: Divisor,
    dst_stride: u64,
    cut: u64,
    first_stride: u64,
    second_offset: u64,
    second_stride: u64,
    length_entries: u32,
    index_entries: u32,
}

/// The parameters of a launch, with the layout of the struct `Launch` in `kernels/launch.h`, which describes the
/// fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) src: u64,
    pub(crate) dst: u64,
    pub(crate) numbers: u64,
    pub(crate) src_bytes: u64,
    pub(crate) src_offset: u64,
    pub(crate) dst_offset: u64,
    pub(crate) rows: u64,
    pub(crate) row: u64,
    pub(crate) stores: Divisor,
    pub(crate) width: Divisor,
    pub(crate) outer: u32,
    pub(crate) loops: u32,
    pub(crate) cut_at: u32,
    pub(crate) indices: u32,
    pub(crate) index_sums: u64,
    pub(crate) cut_start: u64,
    pub(crate) cut_per_length: u64,
    pub(crate) cut_first_per_length: u64,
    pub(crate) cut_second_per_length: u64,
    pub(crate) length_entry: u32,
    pub(crate) index_entry: u32,
    pub(crate) index_scale: u64,
    pub(crate) across: u64,
    pub(crate) across_dst_stride: u64,
    pub(crate) along: u64,
    pub(crate) along_src_stride: u64,
    pub(crate) tiles_across: Divisor,
    pub(crate) tiles_along: Divisor,
    pub(crate) reversed: u32,
    pub(crate) bits: u32,
    pub(crate) group: u32,
    pub(crate) group_bytes: u32,
    pub(crate) order: u32,
    pub(crate) across_shift: u32,
    pub(crate) varied: u32,
    pub(crate) unused: u32,
    pub(crate) each: [LaunchLoop; MOST_LOOPS],
}

// kernels/launch.h asserts the same sizes.
const _: () = assert!(size_of::<Divisor>() == 24);
const _: () = assert!(size_of::<LaunchLoop>() == 72);
const _: () = assert!(size_of::<Parameters>() == 296 + 72 * MOST_LOOPS);
const _: () = assert!(size_of::<Parameters>() <= 4096);

impl Parameters {
    /// Sets the fields that do not depend on the kernel.
    pub(crate) fn of(block: &GpuBlock, rows: &Rows, sums: Sums) -> Parameters {
        let Block { dst_offset, loops, indices, .. } = &block.block;
        let mut parameters = Parameters {
            src_offset: wrapped(src_begin(&block.block)),
            dst_offset: wrapped(*dst_offset),
            rows: rows.rows as u64,
            row: rows.row as u64,
            width: Divisor::new(block.width as u64, rows.row as u64),
            outer: rows.outer as u32,
            loops: rows.kept.len() as u32,
            cut_at: NONE,
            length_entry: sums.length_entry,
            indices: indices.len().saturating_sub(1) as u32,
            index_sums: sums.further,
            index_entry: sums.index_entry,
            index_scale: indices.first().map_or(0, |table| wrapped(table.scale)),
            varied: u32::from(rows.kept.last().is_some_and(|at| is_varied(&block.block, *at))),
            ..Parameters::default()
        };
        for (each, at) in parameters.each.iter_mut().zip(&rows.kept) {
            *each = LaunchLoop::of(&loops[*at], rows.steps(*at, block), rows.end(*at, block));
            each.index_entries = indices.first().map_or(0, |table| entries(table.strides[*at]));
        }
        if let Some(at) = block.block.ragged()
            && let Some((cut, table)) = loops[at].cut_by_table()
        {
            for (each, at) in parameters.each.iter_mut().zip(&rows.kept) {
                each.length_entries = entries(table.strides[*at]);
            }
            let kept = rows.kept.iter().position(|kept| *kept == at);
            parameters.cut_at = kept.map_or(NONE, |at| at as u32);
            parameters.cut_start = wrapped(table.start);
            parameters.cut_per_length = wrapped(table.per_length);
            parameters.cut_first_per_length = wrapped(cut.first.src_per_length);
            parameters.cut_second_per_length = wrapped(cut.second.src_per_length);
        }
        parameters
    }

    /// Sets the two loops of a tile, for elements of `count` units of `unit` bytes. Returns the number of thread
    /// blocks.
    pub(crate) fn tile(
        &mut self,
        block: &GpuBlock,
        [across, along]: [usize; 2],
        [unit, count]: [usize; 2],
    ) -> usize {
        let matrices = self.rows as usize;
        let [across, along] = [across, along].map(|at| &block.block.loops[at]);
        let src_stride = |each: &trundle_core::Loop| each.affine_stride().unwrap_or(0);
        let shape = TileShape::of(unit, count, across.len, along.len);
        let tiles = [across.len.div_ceil(shape.across), along.len.div_ceil(shape.along)];
        let blocks = matrices * tiles[0] * tiles[1];
        [self.tiles_across, self.tiles_along] =
            tiles.map(|tiles| Divisor::new(tiles as u64, blocks as u64));
        self.across_shift = shape.across_shift();
        self.across = across.len as u64;
        self.across_dst_stride = wrapped(across.dst_stride);
        self.reversed = u32::from(src_stride(across) < 0);
        self.along = along.len as u64;
        self.along_src_stride = wrapped(src_stride(along));
        blocks
    }

    pub(crate) fn pack(&mut self, packing: Packing) {
        self.bits = packing.bits() as u32;
        self.group = packing.group() as u32;
        self.group_bytes = packing.group_bytes() as u32;
        self.order = match packing.order() {
            BitOrder::LowFirst => 0,
            BitOrder::HighFirst => 1,
            BitOrder::Split => 2,
        };
    }

    /// Sets the number of stores of `store` bytes per row, with the first row at `begin` and `each` stores per thread.
    /// Returns the number of thread blocks.
    pub(crate) fn store(&mut self, rows: &Rows, store: usize, begin: usize, each: usize) -> usize {
        let strides = self.each[..rows.outer].iter().map(|each| each.dst_stride as usize);
        let stores = stores_of_row(rows.row, store, begin, strides);
        let blocks = (rows.rows * stores).div_ceil(WORKGROUP * each);
        // Threads of the last block without a store also divide their index.
        self.stores = Divisor::new(stores as u64, (blocks * WORKGROUP * each) as u64);
        blocks
    }
}

#[cfg(test)]
impl Parameters {
    /// Returns the parameters with 64-bit divisions, which larger moves need.
    pub(crate) fn widened(mut self) -> Parameters {
        let of_all =
            [&mut self.stores, &mut self.width, &mut self.tiles_across, &mut self.tiles_along];
        let of_loops = self.each.iter_mut().map(|each| &mut each.len);
        of_all.into_iter().chain(of_loops).for_each(|divisor| *divisor = divisor.widened());
        self
    }
}

impl LaunchLoop {
    /// Makes a loop of `steps` iterations. Kernels divide numbers below `end` by `steps`.
    fn of(each: &trundle_core::Loop, steps: usize, end: usize) -> LaunchLoop {
        let source = LoopSource::of(each);
        LaunchLoop {
            len: Divisor::new(steps as u64, end as u64),
            dst_stride: wrapped(each.dst_stride),
            cut: source.cut as u64,
            first_stride: wrapped(source.first_stride),
            second_offset: wrapped(source.second_offset),
            second_stride: wrapped(source.second_stride),
            ..LaunchLoop::default()
        }
    }
}

fn wrapped(distance: isize) -> u64 {
    (distance as i64).cast_unsigned()
}

/// Converts a distance in table entries (fewer than 2^32) to two's complement.
fn entries(distance: isize) -> u32 {
    distance as u32
}
