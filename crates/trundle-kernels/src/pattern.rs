//! Patterns of tiles. The planner uses them to pick a kernel and the sizes of its tiles.

use crate::tile::StoreKind;
use crate::tuning::Tuning;

/// The strides and sizes of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The size of an element in bytes.
    pub width: usize,
    /// The strides of rows in the source and in the destination, in bytes.
    pub row_strides: (isize, isize),
    /// The strides of columns in the source and in the destination, in bytes.
    pub col_strides: (isize, isize),
    /// The numbers of rows and columns of all tiles together.
    pub lens: (usize, usize),
    /// `lens`, including the loops that continue rows and columns. For kernels whose tiles may jump.
    pub wrapped: (usize, usize),
    /// `wrapped`, except that a loop that continues both counts only for the columns. For kernels of many loops.
    pub tile: (usize, usize),
    /// The number of loops of two iterations that nest without gaps from the innermost on, in the source and in the
    /// destination. A loop of 2^n iterations counts as n. For kernels of many loops.
    pub bits: (usize, usize),
}

/// What a kernel needs to know to choose the size of its tiles.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// The pattern of the tiles.
    pub pattern: Pattern,
    /// Whether lengths from a table cut the rows.
    pub ragged_rows: bool,
    /// Whether lengths from a table cut the columns.
    pub ragged_cols: bool,
    /// How the result is written.
    pub store: StoreKind,
    /// The approximate number of bytes per task.
    pub share: usize,
    /// The tuning record.
    pub tuning: Tuning,
}

/// Which loops of a block a kernel takes as rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// The columns are the loop with the smallest destination stride, the rows the loop with the smallest source
    /// stride.
    Plain,
    /// As `Plain`, but rows and columns may jump: they may continue through outer loops, and one of them may be rolled.
    Jumping,
    /// The columns are the bytes of a rolled run. At one column, they jump to the start of the row in the source.
    Rolled,
    /// The rows are a ragged loop. The columns are lanes: each has its own cut.
    Lanes,
    /// As `Lanes`, but the rows continue through a loop over slabs that are contiguous in the destination.
    Slabs,
    /// Tables combine some of many loops into the rows and others into the columns.
    Gathered,
    /// As `Gathered`, for loops of two iterations. A loop of 2^n iterations counts as n loops.
    Bits,
    /// The columns are elements that are read at indices.
    Indexed,
    /// As `Indexed`, but a run of bytes is read at each index, and the runs follow each other in the destination.
    IndexedRuns,
    /// The columns are the bytes of a run. The gaps around the rows are filled with an element.
    Filled,
    /// Rows of one tensor that are exchanged.
    Exchanged,
    /// Tiles of one square matrix that are exchanged and transposed.
    Squares,
    /// Runs of one tensor. Each is moved to the place of the previous run.
    Segments,
}

/// For kernels that the planner finds by their roles only.
pub(crate) fn never(_: &Pattern, _: usize) -> bool {
    false
}

/// For kernels that can move every pattern of their roles.
pub(crate) fn always(_: &Pattern, _: usize) -> bool {
    true
}
