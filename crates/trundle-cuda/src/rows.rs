//! Splits a block into rows.

use trundle_core::{Block, Loop};
use trundle_gpu::GpuBlock;

/// The rows of a block. A row is a run of elements that are contiguous in the destination; for tiles, a row is a
/// whole matrix.
pub(crate) struct Rows {
    /// Loops passed to the kernel: all except single-step loops that no table cuts.
    pub(crate) kept: Vec<usize>,
    /// Number of kept loops outside the rows.
    pub(crate) outer: usize,
    pub(crate) rows: usize,
    /// Row size, in bytes or packed elements.
    pub(crate) row: usize,
    /// The two loops of a tile, which have one step each when computing the position of a matrix.
    tile: Option<[usize; 2]>,
}

impl Rows {
    /// Splits a block; `tile` names its two loops if it is moved by tiles.
    pub(crate) fn of(block: &GpuBlock, tile: Option<[usize; 2]>) -> Rows {
        let loops = &block.block.loops;
        let inner = if tile.is_some() { loops.len() } else { block.row_loops() };
        let row = block.width * loops[inner..].iter().map(|each| each.len).product::<usize>();
        // Tile loops do not contribute to a matrix's position. Sums have a stride for every kept loop, and only
        // second and later tables have sums.
        let has_sums = block.block.indices.len() > 1;
        let is_left_out = |at: &usize| !has_sums && tile.is_some_and(|tile| tile.contains(at));
        let kept: Vec<usize> = kept(block).into_iter().filter(|at| !is_left_out(at)).collect();
        let outer = kept.iter().filter(|at| **at < inner).count();
        let mut rows = Rows { kept, outer, rows: 0, row, tile };
        rows.rows = rows.kept[..outer].iter().map(|at| rows.steps(*at, block)).product();
        rows
    }

    /// Returns the number of steps of a loop as the kernel sees it.
    pub(crate) fn steps(&self, at: usize, block: &GpuBlock) -> usize {
        match self.tile.is_some_and(|tile| tile.contains(&at)) {
            true => 1,
            false => block.block.loops[at].len,
        }
    }

    /// Returns an upper bound for the positions that a kernel divides by the steps of a loop: the rows, or the
    /// elements per row.
    pub(crate) fn end(&self, at: usize, block: &GpuBlock) -> usize {
        match self.kept[..self.outer].contains(&at) {
            true => self.rows,
            false => self.row / block.width,
        }
    }
}

/// Returns the loops for [`Rows::kept`].
pub(crate) fn kept(block: &GpuBlock) -> Vec<usize> {
    let loops = &block.block.loops;
    let is_kept = |at: &usize| loops[*at].len > 1 || loops[*at].cut_by_table().is_some();
    (0..loops.len()).filter(is_kept).collect()
}

/// Whether a table has a separate entry for each step of a loop.
pub(crate) fn is_varied(block: &Block, at: usize) -> bool {
    let lengths = block.loops.iter().find_map(Loop::cut_by_table);
    let lengths = lengths.iter().map(|(_, table)| &table.strides);
    lengths.chain(block.indices.iter().map(|table| &table.strides)).any(|strides| strides[at] != 0)
}
