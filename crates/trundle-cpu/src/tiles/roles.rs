//! The loops of a block in the roles that kernels want: its rows, its columns, and those around them.

use trundle_core::{Block, Run};
use trundle_kernels::simd::LINE;
use trundle_kernels::{AffineLoop, Pattern, Roles, Store};

use super::loops::{Loops, Picked, rising};
use super::step::{Place, Rolled};

/// Elements of this many bytes or more are copied as runs of bytes.
const LEAST_RUN_BYTES: usize = LINE;

/// Tables are not worth making for less elements (measured; docs/kernels.md).
const LEAST_GATHERED: usize = 64;

/// The loops of a block, of which two are picked.
pub(super) struct Assigned {
    /// The size of what is moved as an element.
    pub(super) width: usize,
    rows: Picked,
    cols: Picked,
    /// Where the ragged loop is, if there is one.
    pub(super) place: Place,
    others: Loops,
    /// The bytes of the first part of a rolled run, if the columns are one.
    rolled_run: Option<usize>,
    /// Whether there are more loops than the rows and the columns, all of them affine.
    are_many: bool,
}

/// The loops of a step, as a kernel wants them.
pub(super) struct Arranged {
    pub(super) outer: Vec<AffineLoop>,
    pub(super) rows: AffineLoop,
    pub(super) row_wrap: Option<AffineLoop>,
    pub(super) cols: AffineLoop,
    pub(super) col_wrap: Option<AffineLoop>,
    /// Their strides in the table of lengths: those of `outer`, if there is a table; those of the
    /// columns and of what the rows go on through.
    pub(super) table_strides: (Vec<isize>, [isize; 2]),
    pub(super) rolled: Option<Rolled>,
    /// Where they begin, in bytes from where the block does, in the source and in the destination.
    pub(super) begin: (isize, isize),
}

impl Assigned {
    /// The roles of a block's loops, of which one may be rolled.
    pub(super) fn of(block: &Block, width: usize, store: Store) -> Assigned {
        let mut others = Loops::of(block);
        let lines = store == Store::Streaming && others.transpose_lines(width);
        let rolled_run =
            others.roll.filter(|roll| roll.is_run(width)).map(|roll| roll.first * width);
        let (width, cols) = if rolled_run.is_some() || (width >= LEAST_RUN_BYTES && !lines) {
            // A run of bytes, which can be cut anywhere.
            (1, others.take_run(width))
        } else {
            (width, others.take_innermost(width))
        };
        let rows = match cols {
            Picked::Lanes(..) => others.take_ragged(),
            // What follows such rows in the destination is put together with them.
            Picked::Plain(cols) if is_short_and_reversed(cols, width) => others.take_next(width),
            // In the caches, a line that two rows share is best written at once.
            Picked::Plain(cols) if store == Store::Ordinary && is_run(cols, width) => {
                others.take_next(width)
            }
            Picked::Plain(_) => others.take_nearest_in_source(width),
            Picked::Ragged(_) => others.take_next(width),
        };
        let place = match (rows, cols) {
            (Picked::Ragged(_), Picked::Lanes(..)) => Place::Lanes,
            (Picked::Ragged(_), _) => Place::Rows,
            (_, Picked::Ragged(_)) => Place::Cols,
            _ => Place::Outer,
        };
        // What stays together goes as runs, however short they are.
        let is_run = is_run(cols.each(), width);
        let are_many = others.are_plain()
            && matches!((rows, cols), (Picked::Plain(_), Picked::Plain(_)))
            && !is_run
            && block.elements() >= LEAST_GATHERED;
        Assigned { width, rows, cols, place, others, rolled_run, are_many }
    }

    /// All loops.
    pub(super) fn into_loops(self) -> Vec<AffineLoop> {
        let Assigned { rows, cols, mut others, .. } = self;
        others.plain.extend([rows.each(), cols.each()]);
        others.plain
    }

    /// Whether a loop is rolled.
    pub(super) fn is_rolled(&self) -> bool {
        self.others.roll.is_some()
    }

    /// Whether these are the roles that a kernel wants.
    pub(super) fn suit(&self, wanted: Roles) -> bool {
        match wanted {
            Roles::Lanes | Roles::Slabs => self.place == Place::Lanes,
            Roles::Rolled => self.rolled_run.is_some(),
            Roles::Plain | Roles::Jumping => {
                self.place != Place::Lanes && self.rolled_run.is_none()
            }
            Roles::Gathered | Roles::Bits => self.are_many,
            Roles::Indexed
            | Roles::IndexedRuns
            | Roles::Filled
            | Roles::Exchanged
            | Roles::Squares
            | Roles::Floors => false,
        }
    }

    /// The pattern of the tiles; where a loop is ragged, of those that are in `run`.
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

    /// The loops as a kernel wants them that these roles suit.
    pub(super) fn arrange(self, wanted: Roles) -> Arranged {
        let Assigned { width, rows, cols, place, mut others, rolled_run, .. } = self;
        let jumps = wanted == Roles::Jumping && place == Place::Outer;
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
        if jumps && rows.src_stride < 0 {
            (rows, begin) = rising(rows);
        }
        let (mut row_wrap, mut col_wrap) = (None, None);
        if wanted == Roles::Slabs {
            let slabs = others.take_slabs(rows, cols.len * width);
            wrap_stride = slabs.map_or(0, Picked::table_stride);
            row_wrap = slabs.map(Picked::each);
        } else if jumps {
            let mut wrap_rows = |others: &mut Loops| {
                row_wrap = others.next_in_source(rows).map(|at| others.remove(at).each());
            };
            // A loop may continue both: then it continues the rows, if they are fewer and less than
            // a line, since a micro-tile would lack some.
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
    /// The pattern of the tiles, with as many rows and columns as there are.
    pub(super) fn pattern(&self, width: usize) -> Pattern {
        let wrapped =
            |each: AffineLoop, wrap: Option<AffineLoop>| each.len * wrap.map_or(1, |wrap| wrap.len);
        let (rows, cols) = (self.rows, self.cols);
        let counts = (wrapped(rows, self.row_wrap), wrapped(cols, self.col_wrap));
        pattern(width, rows, cols, counts)
    }
}

/// Whether columns are neighbours on both sides.
fn is_run(cols: AffineLoop, width: usize) -> bool {
    let step = width.cast_signed();
    (cols.src_stride, cols.dst_stride) == (step, step)
}

/// Whether columns are neighbours in the opposite order, in less than a line.
fn is_short_and_reversed(cols: AffineLoop, width: usize) -> bool {
    let step = width.cast_signed();
    (cols.src_stride, cols.dst_stride) == (-step, step) && cols.len * width < LINE
}

/// The pattern of rows and columns, of which there are so many when they are counted on through what continues them.
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
