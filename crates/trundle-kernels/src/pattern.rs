//! By what a kernel is picked, and cuts its tiles.

use crate::tile::Store;
use crate::tuning::Tuning;

/// The strides of a tile, by which a kernel is picked.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The size of an element in bytes.
    pub width: usize,
    /// The distances between rows, in the source and in the destination, in bytes.
    pub row_strides: (isize, isize),
    /// The distances between the elements of a row, in the source and in the destination.
    pub col_strides: (isize, isize),
    /// The number of rows and the number of columns, of all tiles together.
    pub lens: (usize, usize),
    /// The same, counted on through the loops that continue them, as kernels do whose tiles may
    /// jump.
    pub wrapped: (usize, usize),
    /// The same, where a loop that would continue both is counted with the columns only; of roles of many loops.
    pub tile: (usize, usize),
    /// How many steps of two are one within the other without a gap, from the nearest neighbours on,
    /// in the source and in the destination; of roles of many loops.
    pub bits: (usize, usize),
}

/// The tiles that a kernel is to move: it says how many rows and columns each has.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Their strides, and the numbers of rows and columns of all together.
    pub pattern: Pattern,
    /// Whether the rows are cut where a length says.
    pub ragged_rows: bool,
    /// Whether the columns are.
    pub ragged_cols: bool,
    /// How the result is written.
    pub store: Store,
    /// About how many bytes a task has.
    pub share: usize,
    /// What is best on this machine.
    pub tuning: Tuning,
}

/// Which loops of a block a kernel wants as its rows and its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// The columns are the loop whose steps are the nearest in the destination, the rows that whose
    /// steps are the nearest in the source.
    Plain,
    /// The same, and both may jump: they go on through the loops that continue them, and either may
    /// be rolled.
    Jumping,
    /// The columns are the bytes of a run that is rolled: they jump once, to the start of the
    /// source's row.
    Rolled,
    /// The rows are a ragged loop, the columns its lanes: each is cut at a place of its own.
    Lanes,
    /// The same, and the rows go on through the loop that repeats them without a gap.
    Slabs,
    /// Many loops, several of which are made the rows, and others the columns, by tables.
    Gathered,
    /// The same, of loops of two.
    Bits,
    /// The columns are a loop whose elements are read where indices lead.
    Indexed,
    /// The same, and what is read at each index is a run of bytes, which they write one behind the other.
    IndexedRuns,
    /// The columns are the bytes of a run, and around the rows an element is filled in.
    Filled,
    /// Rows of one tensor that take each other's places.
    Exchanged,
    /// Tiles of one square matrix that become each other's transpose.
    Squares,
    /// Runs of one tensor that take the place of the one before.
    Floors,
}
