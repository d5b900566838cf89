//! Assigns the loops of a block to the roles that kernels expect: rows, columns, and outer loops.

use trundle_core::{Block, Run};
use trundle_kernels::simd::LINE;
use trundle_kernels::{AffineLoop, Pattern, Roles, StoreKind};

use super::loops::{Loops, Picked, rising};
use super::step::{RaggedRole, Rolled};

/// Larger elements are copied as runs of bytes.
const LEAST_RUN_BYTES: usize = LINE;

/// For blocks of fewer elements, making tables takes too long (measured; docs/notes/kernels.md).
const LEAST_GATHERED: usize = 64;

/// The loops of a block, with rows and columns picked.
pub(super) struct Assigned {
    /// Size of a unit that is moved as one element, in bytes: an element, or a byte of a run.
    pub(super) width: usize,
    rows: Picked,
    cols: Picked,
    /// Position of the ragged loop; `RaggedRole::Outer` without one.
    pub(super) role: RaggedRole,
    others: Loops,
    /// For columns that are a rolled run: the number of bytes before the jump.
    rolled_run: Option<usize>,
    /// Whether tables are possible: there are further loops, all affine, and the columns are not a run.
    are_many: bool,
}

/// The loops of a step, arranged for a kernel.
pub(super) struct Arranged {
    pub(super) outer: Vec<AffineLoop>,
    pub(super) rows: AffineLoop,
    pub(super) row_wrap: Option<AffineLoop>,
    pub(super) cols: AffineLoop,
    pub(super) col_wrap: Option<AffineLoop>,
    /// Strides in the table of lengths: of `outer` (empty without a table), of the columns and of the row wrap.
    pub(super) table_strides: (Vec<isize>, [isize; 2]),
    pub(super) rolled: Option<Rolled>,
    /// Offsets of the loops from the start of the block, in source and destination, in bytes.
    pub(super) begin: (isize, isize),
}

impl Assigned {
    /// Picks rows and columns from the loops of a block, one of which may be rolled.
    pub(super) fn of(block: &Block, width: usize, store: StoreKind) -> Assigned {
        let mut others = Loops::of(block);
        let lines = store == StoreKind::Streaming && others.transpose_lines(width);
        let rolled_run =
            others.roll.filter(|roll| roll.is_run(width)).map(|roll| roll.first * width);
        let (width, cols) = if rolled_run.is_some() || (width >= LEAST_RUN_BYTES && !lines) {
            // Bytes, so that the run can be cut anywhere.
            (1, others.take_run(width))
        } else {
            (width, others.take_innermost(width))
        };
        let rows = match cols {
            Picked::Lanes(..) => others.take_ragged(),
            // The next loop in the destination completes lines of such short rows.
            Picked::Plain(cols) if is_short_and_reversed(cols, width) => others.take_next(width),
            // In the caches, a line that two rows share should be written at once.
            Picked::Plain(cols) if store == StoreKind::Ordinary && is_run(cols, width) => {
                others.take_next(width)
            }
            Picked::Plain(_) => others.take_nearest_in_source(width),
            Picked::Ragged(_) => others.take_next(width),
        };
        let role = match (rows, cols) {
            (Picked::Ragged(_), Picked::Lanes(..)) => RaggedRole::Lanes,
            (Picked::Ragged(_), _) => RaggedRole::Rows,
            (_, Picked::Ragged(_)) => RaggedRole::Cols,
            _ => RaggedRole::Outer,
        };
        // Contiguous elements are moved as runs, however short.
        let is_run = is_run(cols.each(), width);
        let are_many = others.are_plain()
            && matches!((rows, cols), (Picked::Plain(_), Picked::Plain(_)))
            && !is_run
            && block.elements() >= LEAST_GATHERED;
        Assigned { width, rows, cols, role, others, rolled_run, are_many }
    }

    pub(super) fn into_loops(self) -> Vec<AffineLoop> {
        let Assigned { rows, cols, mut others, .. } = self;
        others.plain.extend([rows.each(), cols.each()]);
        others.plain
    }

    pub(super) fn is_rolled(&self) -> bool {
        self.others.roll.is_some()
    }

    /// Whether these can be the roles that a kernel wants.
    pub(super) fn suit(&self, wanted: Roles) -> bool {
        match wanted {
            Roles::Lanes | Roles::Slabs => self.role == RaggedRole::Lanes,
            Roles::Rolled => self.rolled_run.is_some(),
            Roles::Plain | Roles::Jumping => {
                self.role != RaggedRole::Lanes && self.rolled_run.is_none()
            }
            Roles::Gathered | Roles::Bits => self.are_many,
            Roles::Indexed
            | Roles::IndexedRuns
            | Roles::Filled
            | Roles::Exchanged
            | Roles::Squares
            | Roles::Segments => false,
        }
    }

    /// Returns the pattern of the tiles, in `run` of a ragged loop.
    pub(super) fn pattern(&self, run: Option<&Run>) -> Pattern {
        let in_run = |picked: Picked| match (picked, run) {
            (Picked::Ragged(each), Some(run)) => AffineLoop { src_stride: run.src_stride, ..each },
            _ => picked.each(),
        };
        let (rows, cols) = (in_run(self.rows), in_run(self.cols));
        let wrapped = |at: Option<usize>| at.map_or(1, |at| self.others.plain[at].len);
        let (row_wrap, col_wrap) =
            (self.others.next_in_source(rows), self.others.next_in_destination(cols));
        let wrapped = (rows.len * wrapped(row_wrap), cols.len * wrapped(col_wrap));
        let mut pattern = pattern(self.width, rows, cols, wrapped);
        if self.are_many {
            pattern.tile = (if row_wrap == col_wrap { rows.len } else { wrapped.0 }, wrapped.1);
            let of = |stride: fn(&AffineLoop) -> isize| {
                self.others.bits(&[rows, cols], self.width, stride)
            };
            pattern.bits = (of(|each| each.src_stride), of(|each| each.dst_stride));
        }
        pattern
    }

    /// Arranges the loops for a kernel with the roles `wanted`.
    pub(super) fn arrange(self, wanted: Roles) -> Arranged {
        let Assigned { width, rows, cols, role, mut others, rolled_run, .. } = self;
        let jumps = wanted == Roles::Jumping && role == RaggedRole::Outer;
        let (col_stride, mut wrap_stride) = (cols.table_stride(), 0);
        let (mut rows, cols) = (rows.each(), cols.each());
        let mut begin = (0, 0);
        let rolled = match (rolled_run, others.roll) {
            (Some(first), _) => Some(Rolled::Cols(first)),
            (_, Some(roll)) if jumps && roll.along == cols => Some(Rolled::Cols(roll.first)),
            (_, Some(roll)) if jumps && roll.along == rows => {
                let at;
                (rows, begin, at) = roll.rising_rows();
                Some(at)
            }
            _ => None,
        };
        if jumps {
            let first;
            (rows, first) = rising(rows);
            begin = (begin.0 + first.0, begin.1 + first.1);
        }
        let (mut row_wrap, mut col_wrap) = (None, None);
        if wanted == Roles::Slabs {
            let slabs = others.take_slabs(rows, cols.len * width);
            wrap_stride = slabs.map_or(0, Picked::table_stride);
            row_wrap = slabs.map(Picked::each);
        } else if jumps {
            let mut wrap_rows = |others: &mut Loops| {
                let Some(at) = others.next_in_source(rows) else { return };
                let (wrap, first) = rising(others.remove(at).each());
                row_wrap = Some(wrap);
                begin = (begin.0 + first.0, begin.1 + first.1);
            };
            // A loop that continues both is used for the rows if they are fewer and less than a cache line, because a
            // micro-tile would be incomplete.
            let rows_first = rows.len < cols.len && rows.len * width < LINE;
            if rows_first {
                wrap_rows(&mut others);
            }
            col_wrap = others.next_in_destination(cols).map(|at| others.remove(at).each());
            if !rows_first {
                wrap_rows(&mut others);
            }
        }
        let table_strides = (others.table_strides, [col_stride, wrap_stride]);
        let outer = others.plain;
        Arranged { outer, rows, row_wrap, cols, col_wrap, table_strides, rolled, begin }
    }
}

impl Arranged {
    /// Returns the pattern of tiles of all rows and columns.
    pub(super) fn pattern(&self, width: usize) -> Pattern {
        let wrapped =
            |each: AffineLoop, wrap: Option<AffineLoop>| each.len * wrap.map_or(1, |wrap| wrap.len);
        let (rows, cols) = (self.rows, self.cols);
        let counts = (wrapped(rows, self.row_wrap), wrapped(cols, self.col_wrap));
        pattern(width, rows, cols, counts)
    }
}

/// Whether columns are contiguous in source and destination.
fn is_run(cols: AffineLoop, width: usize) -> bool {
    let step = width.cast_signed();
    (cols.src_stride, cols.dst_stride) == (step, step)
}

/// Whether columns are contiguous, but reversed, and shorter than a cache line.
fn is_short_and_reversed(cols: AffineLoop, width: usize) -> bool {
    let step = width.cast_signed();
    (cols.src_stride, cols.dst_stride) == (-step, step) && cols.len * width < LINE
}

/// Returns a pattern. `wrapped` has the numbers of rows and columns, including the loops that continue them.
pub(crate) fn pattern(
    width: usize,
    rows: AffineLoop,
    cols: AffineLoop,
    wrapped: (usize, usize),
) -> Pattern {
    Pattern {
        width,
        row_strides: (rows.src_stride, rows.dst_stride),
        col_strides: (cols.src_stride, cols.dst_stride),
        lens: (rows.len, cols.len),
        wrapped,
        tile: wrapped,
        bits: (0, 0),
    }
}
