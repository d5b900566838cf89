//! The rows of a block.

use trundle_core::{Block, Loop};
use trundle_gpu::GpuBlock;

/// The rows of a block, which are elements that follow each other in the destination without gaps. Of tiles, each matrix is
/// one.
pub(crate) struct Rows {
    /// The loops that a kernel is given: all but those of one step that no table cuts.
    pub(crate) kept: Vec<usize>,
    /// How many of these are around rows.
    pub(crate) outer: usize,
    /// How many there are.
    pub(crate) rows: usize,
    /// The size of a row, in bytes or packed elements.
    pub(crate) row: usize,
    /// The two loops of tiles, which are one step each to those who look for a matrix.
    tile: Option<[usize; 2]>,
}

impl Rows {
    /// Those of a block, which is moved by tiles or not.
    pub(crate) fn of(block: &GpuBlock, tile: Option<[usize; 2]>) -> Rows {
        let loops = &block.block.loops;
        let inner = if tile.is_some() { loops.len() } else { block.row_loops() };
        let row = block.width * loops[inner..].iter().map(|each| each.len).product::<usize>();
        // Those of tiles lead nowhere then. Sums have a distance for each, and only second tables have sums.
        let has_sums = block.block.indices.len() > 1;
        let is_left_out = |at: &usize| !has_sums && tile.is_some_and(|tile| tile.contains(at));
        let kept: Vec<usize> = kept(block).into_iter().filter(|at| !is_left_out(at)).collect();
        let outer = kept.iter().filter(|at| **at < inner).count();
        let mut rows = Rows { kept, outer, rows: 0, row, tile };
        rows.rows = rows.kept[..outer].iter().map(|at| rows.steps(*at, block)).product();
        rows
    }

    /// The steps of a loop.
    pub(crate) fn steps(&self, at: usize, block: &GpuBlock) -> usize {
        match self.tile.is_some_and(|tile| tile.contains(&at)) {
            true => 1,
            false => block.block.loops[at].len,
        }
    }

    /// What the positions are below that a kernel divides by the steps of a loop: those of rows, or of elements of a row.
    pub(crate) fn end(&self, at: usize, block: &GpuBlock) -> usize {
        match self.kept[..self.outer].contains(&at) {
            true => self.rows,
            false => self.row / block.width,
        }
    }
}

/// See [`Rows::kept`].
pub(crate) fn kept(block: &GpuBlock) -> Vec<usize> {
    let loops = &block.block.loops;
    let is_kept = |at: &usize| loops[*at].len > 1 || loops[*at].cut_by_table().is_some();
    (0..loops.len()).filter(is_kept).collect()
}

/// Whether a table has an entry of its own for each step of a loop.
pub(crate) fn is_varied(block: &Block, at: usize) -> bool {
    let lengths = block.loops.iter().find_map(Loop::cut_by_table);
    let lengths = lengths.iter().map(|(_, table)| &table.strides);
    lengths.chain(block.indices.iter().map(|table| &table.strides)).any(|strides| strides[at] != 0)
}
