//! Splits a block into rows.

use trundle_core::{Block, Loop};
use trundle_gpu::GpuBlock;

/// The rows of a block. The elements of a row are contiguous in the destination. For tiles, a row is a whole matrix.
pub(crate) struct Rows {
    /// The loops that the kernel gets: all except uncut loops of one iteration.
    pub(crate) kept: Vec<usize>,
    /// Number of loops over rows.
    pub(crate) outer: usize,
    pub(crate) rows: usize,
    /// Size of a row in bytes or packed elements.
    pub(crate) row: usize,
    /// The two loops of a tile, which count as loops of one iteration in the position of a matrix.
    tile: Option<[usize; 2]>,
}

impl Rows {
    /// Splits a block into rows. `tile` has the two loops of its tiles, if it has any.
    pub(crate) fn of(block: &GpuBlock, tile: Option<[usize; 2]>) -> Rows {
        let loops = &block.block.loops;
        let inner = if tile.is_some() { loops.len() } else { block.row_loops() };
        let row = block.width * loops[inner..].iter().map(|each| each.len).product::<usize>();
        // The loops of a tile do not change the position of a matrix, but descriptions of further index tables have a
        // stride for every loop.
        let has_sums = block.block.indices.len() > 1;
        let is_left_out = |at: &usize| !has_sums && tile.is_some_and(|tile| tile.contains(at));
        let kept: Vec<usize> = kept(block).into_iter().filter(|at| !is_left_out(at)).collect();
        let outer = kept.iter().filter(|at| **at < inner).count();
        let mut rows = Rows { kept, outer, rows: 0, row, tile };
        rows.rows = rows.kept[..outer].iter().map(|at| rows.steps(*at, block)).product();
        rows
    }

    pub(crate) fn steps(&self, at: usize, block: &GpuBlock) -> usize {
        match self.tile.is_some_and(|tile| tile.contains(&at)) {
            true => 1,
            false => block.block.loops[at].len,
        }
    }

    /// Returns a number above all positions that a kernel divides by the length of a loop: the number of rows, or of
    /// elements per row.
    pub(crate) fn end(&self, at: usize, block: &GpuBlock) -> usize {
        match self.kept[..self.outer].contains(&at) {
            true => self.rows,
            false => self.row / block.width,
        }
    }
}

/// Returns all loops except uncut loops of one iteration.
pub(crate) fn kept(block: &GpuBlock) -> Vec<usize> {
    let loops = &block.block.loops;
    let is_kept = |at: &usize| loops[*at].len > 1 || loops[*at].cut_by_table().is_some();
    (0..loops.len()).filter(is_kept).collect()
}

/// Whether a table has a separate entry for each iteration of a loop.
pub(crate) fn is_varied(block: &Block, at: usize) -> bool {
    let lengths = block.loops.iter().find_map(Loop::cut_by_table);
    let lengths = lengths.iter().map(|(_, table)| &table.strides);
    lengths.chain(block.indices.iter().map(|table| &table.strides)).any(|strides| strides[at] != 0)
}
