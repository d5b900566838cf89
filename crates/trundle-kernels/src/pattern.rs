//! Strides, sizes and limits of tiles, for the planner to pick a kernel and cut its tiles.

use crate::tile::StoreKind;
use crate::tuning::Tuning;

/// The strides and sizes of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The size of an element in bytes.
    pub width: usize,
    /// The distances between rows in bytes, in the source and in the destination.
    pub row_strides: (isize, isize),
    /// The distances between the elements of a row in bytes, in the source and in the destination.
    pub col_strides: (isize, isize),
    /// The number of rows and columns of all tiles together.
    pub lens: (usize, usize),
    /// `lens`, including the loops that continue rows and columns, for kernels whose tiles may jump.
    pub wrapped: (usize, usize),
    /// `wrapped`, but a loop that would continue both counts only for the columns. For roles of many loops.
    pub tile: (usize, usize),
    /// The number of loops of two steps that nest without gaps from the innermost on, in the source and in the
    /// destination. For roles of many loops.
    pub bits: (usize, usize),
}

/// The work for which a kernel chooses the size of its tiles.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// The strides, and the rows and columns of all tiles together.
    pub pattern: Pattern,
    /// Whether lengths cut the rows.
    pub ragged_rows: bool,
    /// Whether lengths cut the columns.
    pub ragged_cols: bool,
    /// How the result is written.
    pub store: StoreKind,
    /// The approximate number of bytes of a task.
    pub share: usize,
    /// The tuning record.
    pub tuning: Tuning,
}

/// The loops of a block that a kernel takes as rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// The columns are the loop with the smallest destination stride, the rows the loop with the smallest source
    /// stride.
    Plain,
    /// As `Plain`, but rows and columns may jump: they continue through outer loops, and either may be rolled.
    Jumping,
    /// The columns are the bytes of a rolled run: they jump once, to the start of the row in the source.
    Rolled,
    /// The rows are a ragged loop, the columns its lanes. Each lane has its own cut.
    Lanes,
    /// As `Lanes`, but the rows continue through the loop that repeats them without a gap.
    Slabs,
    /// Many loops: tables combine several of them into the rows and others into the columns.
    Gathered,
    /// As `Gathered`, for loops of two steps.
    Bits,
    /// The columns are a loop whose elements are read at indices.
    Indexed,
    /// As `Indexed`, but each index leads to a run of bytes, and the runs are contiguous in the destination.
    IndexedRuns,
    /// The columns are the bytes of a run; the gaps around the rows are filled with an element.
    Filled,
    /// Rows of one tensor that are exchanged.
    Exchanged,
    /// Tiles of one square matrix that are exchanged and transposed.
    Squares,
    /// Runs of one tensor, each moved to the place of the one before.
    Segments,
}

/// The `applies` of kernels that the planner only looks up by their roles, never by a pattern.
pub(crate) fn never(_: &Pattern, _: usize) -> bool {
    false
}

/// The `applies` of kernels that fit every pattern of their roles.
pub(crate) fn always(_: &Pattern, _: usize) -> bool {
    true
}
