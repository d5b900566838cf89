//! A step of a plan: one block of a move, with its kernel and its tiles.

use std::fmt;
use std::ops::Range;

use trundle_core::{Cut, IndexTable, LengthTable, Loop, Run};
use trundle_kernels::{AffineLoop, Kernel, StoreKind, Tables, Tuning};

use crate::parts::Units;
use crate::text::plural;

/// A step moves one block: outer loops around tiles that one kernel moves.
///
/// Rows and columns are cut into ranges. A unit of work is one iteration of the outer loops, one range of rows and one
/// range of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kernel; in a ragged step, the kernel of the first run.
    pub kernel: &'static Kernel,
    /// How the destination is written.
    pub store: StoreKind,
    /// Size of an element in bytes.
    pub width: usize,
    /// Source offset of the first element in bytes.
    pub src_offset: isize,
    /// Destination offset of the first element in bytes.
    pub dst_offset: isize,
    /// The loops around the tiles, outermost first.
    pub outer: Vec<AffineLoop>,
    /// The loop over a tile's rows.
    pub rows: AffineLoop,
    /// A loop that continues the rows in the source. Row indices count through both.
    pub row_wrap: Option<AffineLoop>,
    /// The loop over the elements of a row.
    pub cols: AffineLoop,
    /// A loop that continues the columns in the destination. Column indices count through both.
    pub col_wrap: Option<AffineLoop>,
    /// Where rolled rows or columns jump.
    pub rolled: Option<Rolled>,
    /// Maximum number of rows per tile.
    pub row_block: usize,
    /// Maximum number of columns per tile.
    pub col_block: usize,
    /// For a step of many short loops: the tables of its columns, which combine several loops. They are applied once
    /// per row.
    pub tables: Option<Tables>,
    /// The ragged loop, if the block has one.
    pub ragged: Option<RaggedStep>,
    /// The indices, if the block reads elements at indices.
    pub indexed: Option<IndexedStep>,
    /// Settings of the machine that it was planned for.
    pub tuning: Tuning,
}

/// The indices at which a step reads its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedStep {
    /// The index table, with a stride for each outer loop.
    pub table: IndexTable,
    /// Strides of rows and columns in the table; both 0 unless the kernel reads indices.
    pub tile_strides: (isize, isize),
    /// Whether an index kernel prefetches elements, which are probably not cached.
    pub is_far: bool,
}

/// Where rolled rows or columns jump, once per pass through their axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rolled {
    /// After this many columns, they continue at the start of the source axis.
    Cols(usize),
    /// After this many rows, in source order, they continue at the start of the destination axis.
    Rows(usize),
}

/// The ragged loop of a step, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaggedStep {
    /// The loop.
    pub row: RaggedLoop,
    /// The role of the loop in the step.
    pub role: RaggedRole,
    /// The kernel of the second run.
    pub second: &'static Kernel,
}

/// A loop that is cut into two runs, at a length from a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaggedLoop {
    /// Number of elements per row.
    pub len: usize,
    /// Destination stride of the elements in bytes; 0 for a row of one element.
    pub dst_stride: isize,
    /// The table of lengths, with strides for the outer loops, the columns and the row wrap.
    pub table: LengthTable,
    /// The run before the cut.
    pub first: Run,
    /// The run from the cut on.
    pub second: Run,
}

impl RaggedLoop {
    /// Makes a ragged loop if a table cuts `each`. `strides` belong to the other loops.
    pub(crate) fn of(each: &Loop, strides: Vec<isize>) -> Option<RaggedLoop> {
        let (Cut { first, second, .. }, table) = each.cut_by_table()?;
        let table = LengthTable { lengths: table.lengths.clone(), strides, ..*table };
        let Loop { len, dst_stride, .. } = *each;
        Some(RaggedLoop { len, dst_stride, table, first: *first, second: *second })
    }

    /// Returns where the second run begins, for this length.
    pub(crate) fn cut(&self, length: usize) -> usize {
        self.table.cut(length, self.len)
    }
}

/// The role of a ragged loop in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaggedRole {
    /// The innermost outer loop. Each tile lies in one of the runs.
    Outer,
    /// The rows. A tile is split at the cut.
    Rows,
    /// The columns. A tile is split at the cut.
    Cols,
    /// The rows, with columns as lanes that each have their own cut.
    Lanes,
}

/// A unit of a step: where it begins, and its rows and columns.
pub(crate) struct Unit {
    /// Source offset of row 0 and column 0 in bytes, without the offset of a run.
    pub(crate) src: isize,
    /// Destination offset of row 0 and column 0 in bytes.
    pub(crate) dst: isize,
    /// Offset in the table of lengths or indices.
    pub(crate) entries: isize,
    /// Iteration of a ragged outer loop.
    pub(crate) ragged_index: usize,
    pub(crate) rows: Range<usize>,
    pub(crate) cols: Range<usize>,
}

impl Step {
    /// Returns the numbers of rows and columns, including the loops that continue them.
    pub fn counts(&self) -> (usize, usize) {
        let wrapped = |wrap: &Option<AffineLoop>| wrap.as_ref().map_or(1, |wrap| wrap.len);
        (self.rows.len * wrapped(&self.row_wrap), self.cols.len * wrapped(&self.col_wrap))
    }

    /// Returns the number of ranges of rows, and of columns.
    pub(crate) fn blocks(&self) -> (usize, usize) {
        let (rows, cols) = self.counts();
        // Avoids a division: most loops of small moves are not cut.
        let blocks = |len: usize, block: usize| if len <= block { 1 } else { len.div_ceil(block) };
        (blocks(rows, self.row_block), blocks(cols, self.col_block))
    }

    /// Returns the number of units.
    pub fn units(&self) -> usize {
        let (row_blocks, col_blocks) = self.blocks();
        let outer: usize = self.outer.iter().map(|each| each.len).product();
        let ragged = match &self.ragged {
            Some(RaggedStep { row, role: RaggedRole::Outer, .. }) => row.len,
            _ => 1,
        };
        outer * ragged * row_blocks * col_blocks
    }

    /// Returns unit `number`. The range of rows varies fastest, then the range of columns, then the outer loops from
    /// the inside out.
    pub(crate) fn unit(&self, number: usize) -> Unit {
        let (row_blocks, col_blocks) = self.blocks();
        let (row_count, col_count) = self.counts();
        let mut rest = number;
        let mut next = |count: usize| {
            // Avoids the division if all further loops are in their first iteration.
            if rest < count {
                return std::mem::take(&mut rest);
            }
            let index = rest % count;
            rest /= count;
            index
        };
        let block =
            |index: usize, block: usize, len: usize| index * block..((index + 1) * block).min(len);
        let rows = block(next(row_blocks), self.row_block, row_count);
        let cols = block(next(col_blocks), self.col_block, col_count);
        let ragged_index = match &self.ragged {
            Some(RaggedStep { row, role: RaggedRole::Outer, .. }) => next(row.len),
            _ => 0,
        };
        let (mut src, mut dst, mut entries) = (self.src_offset, self.dst_offset, 0);
        for (at, each) in self.outer.iter().enumerate().rev() {
            let index = next(each.len).cast_signed();
            src = src.wrapping_add(index * each.src_stride);
            dst += index * each.dst_stride;
            if let Some(ragged) = &self.ragged {
                entries += index * ragged.row.table.strides[at];
            }
            if let Some(indexed) = &self.indexed {
                entries += index * indexed.table.strides[at];
            }
        }
        Unit { src, dst, entries, ragged_index, rows, cols }
    }
}

impl Units for Step {
    fn units(&self) -> usize {
        Step::units(self)
    }

    fn unit_bytes(&self) -> usize {
        self.row_block * self.col_block * self.width
    }

    fn dst_of(&self, number: usize) -> isize {
        let unit = self.unit(number);
        let ragged = match &self.ragged {
            Some(RaggedStep { row, role: RaggedRole::Outer, .. }) => row.dst_stride,
            _ => 0,
        };
        unit.dst
            + unit.ragged_index.cast_signed() * ragged
            + offset_of(self.rows, self.row_wrap, unit.rows.start).1
            + offset_of(self.cols, self.col_wrap, unit.cols.start).1
    }
}

/// Returns the source and destination offsets of iteration `index` of a loop, counted through its `wrap`.
pub(crate) fn offset_of(
    each: AffineLoop,
    wrap: Option<AffineLoop>,
    index: usize,
) -> (isize, isize) {
    let Some(wrap) = wrap else {
        let index = index.cast_signed();
        return (index * each.src_stride, index * each.dst_stride);
    };
    let (outer, inner) = ((index / each.len).cast_signed(), (index % each.len).cast_signed());
    (
        outer * wrap.src_stride + inner * each.src_stride,
        outer * wrap.dst_stride + inner * each.dst_stride,
    )
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kernel.name)?;
        if let Some(ragged) = &self.ragged
            && ragged.second != self.kernel
        {
            write!(f, " and {}", ragged.second.name)?;
        }
        write!(
            f,
            ", {} unit{} of at most {} x {} elements of {} byte{}, {}",
            self.units(),
            plural(self.units()),
            self.row_block,
            self.col_block,
            self.width,
            plural(self.width),
            self.store
        )?;
        write!(f, "\n    because {}", self.kernel.reason)?;
        for each in &self.outer {
            write!(f, "\n    outer {each}")?;
        }
        if let Some(tables) = &self.tables {
            let (micro_tiles, rows, cols) = tables.counts();
            write!(f, "\n    rows  {}", self.rows)?;
            return write!(
                f,
                "\n    tables of {micro_tiles} micro-tiles, {rows} rows and {cols} cols"
            );
        }
        let lines = [("rows", self.rows, self.row_wrap), ("cols", self.cols, self.col_wrap)];
        for (name, each, wrap) in lines {
            write!(f, "\n    {name}  {each}")?;
            if let Some(wrap) = wrap {
                write!(f, ", on through {wrap}")?;
            }
        }
        match self.rolled {
            Some(Rolled::Cols(first)) => {
                write!(f, "\n    rolled: after {first} columns come the first of the source")?;
            }
            Some(Rolled::Rows(first)) => {
                write!(f, "\n    rolled: after {first} rows come the first of the destination")?;
            }
            None => {}
        }
        if let Some(IndexedStep { table, tile_strides: (rows, cols), is_far }) = &self.indexed {
            let strides = &table.strides;
            write!(f, "\n    indices of {} bytes each, entries {strides:+?} apart", table.scale)?;
            if (*rows, *cols) != (0, 0) {
                write!(f, ", of rows {rows:+}, of cols {cols:+}")?;
            }
            if *is_far {
                f.write_str(", and the rows they point to are prefetched")?;
            }
        }
        if let Some(RaggedStep { row, role, .. }) = &self.ragged {
            write!(
                f,
                "\n    {row}, as {}",
                match role {
                    RaggedRole::Outer => "an outer loop",
                    RaggedRole::Rows => "the rows",
                    RaggedRole::Cols => "the columns",
                    RaggedRole::Lanes => "the rows, cut lane by lane",
                }
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for RaggedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RaggedLoop { len, dst_stride, table, first, second } = self;
        write!(
            f,
            "ragged {len} x (src {first} before the cut, {second} after, dst {dst_stride:+}), cut at {table}"
        )
    }
}
