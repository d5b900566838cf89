//! Divides a tensor into cells (boxes), which are permuted in cycles.

use std::fmt;

use trundle_core::{
    Along, CellMove, InPlace, LengthTable, Loop, Move, Source, greatest_common_divisor,
};
use trundle_kernels::simd::{LINE, prefetch};

use super::grid::{Parts, orbit_of, parts_of};
use super::limits::Limits;
use crate::Machine;
use crate::text::plural;
use crate::tiles::TilePlan;

/// Maximum length of a short cycle. The cell with the smallest index moves such a cycle, without marks. In longer
/// cycles, moved cells are marked.
const SHORT_CYCLE: usize = 8;

/// Maximum number of axes, after axes that stay together have been merged.
pub(super) const MOST_AXES: usize = 16;

/// The index of a cell: the index of its part on each axis.
pub(super) type Index = [usize; MOST_AXES];

/// A tensor divided into cells, and how the cells are permuted and moved.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    axes: Vec<CellAxis>,
    /// The axis that a length table reverses, if its parts have length 1.
    reversed: Option<(usize, LengthTable)>,
    /// For a table that cuts within cells: its strides along each axis, and its first entry.
    entries: Option<(Vec<isize>, usize)>,
    offset: usize,
    /// How cells are moved, for each shape of a cell.
    kinds: Vec<CellPlans>,
    pub(super) cell_bytes: usize,
    /// Whether a cell goes through scratch. In the tensor, the rows of a transposed cell evict each other from the
    /// caches; in scratch they are contiguous.
    pub(super) goes_through_scratch: bool,
    pub(super) cycles: Cycles,
    /// Approximate number of segments into which all cycles are cut, each with a saved cell; 0 if cycles are not cut.
    pub(super) segments: usize,
    digits: Vec<Digit>,
    /// Number of cells with common marks: the cells along the permuted axes.
    pub(super) together: usize,
    pub(super) threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cycles {
    /// Every cell stays, and its elements are moved.
    Within,
    /// The cycles have at most this many cells.
    Short(usize),
    /// Longer cycles, whose moved cells are marked.
    Marked,
}

#[derive(Clone, Debug)]
struct CellAxis {
    from: usize,
    /// Byte offset of each part.
    offset: Vec<usize>,
    begin: Vec<usize>,
    read_at: Vec<usize>,
    kind: Vec<usize>,
    /// Stride of this axis in the list of plans, where `kind` is the index of a part's length.
    kind_stride: usize,
}

/// The plans for cells of one shape.
#[derive(Clone, Debug)]
pub(super) struct CellPlans {
    bytes: usize,
    /// Whether the elements of the cell keep their order.
    pub(super) is_kept: bool,
    pub(super) across: CellPlan,
    pub(super) saved: CellPlan,
    pub(super) restored: CellPlan,
}

#[derive(Clone, Debug)]
pub(super) enum CellPlan {
    /// Copies a contiguous run of this many bytes.
    Run(usize),
    /// Copies strided rows to contiguous memory.
    Rows {
        rows: usize,
        stride: isize,
        bytes: usize,
    },
    Moved(Box<TilePlan>),
}

/// Prefetch distance in rows, when a cell is saved.
const ROWS_AHEAD: usize = 12;

impl CellPlan {
    fn of(work: &Move, machine: &Machine) -> CellPlan {
        let is_run =
            matches!(work.blocks(), [block] if block.loops.is_empty() && block.src_offset == 0);
        if is_run {
            return CellPlan::Run(work.width());
        }
        if let [block] = work.blocks()
            && let [Loop { len, dst_stride, src: Source::Affine { stride } }] = block.loops[..]
            && work.width() >= LINE
            && dst_stride == work.width().cast_signed()
            && (block.src_offset, block.dst_offset) == (0, 0)
        {
            return CellPlan::Rows { rows: len, stride, bytes: work.width() };
        }
        CellPlan::Moved(Box::new(TilePlan::of(work, machine)))
    }

    /// # Safety
    /// The cell must be valid for reads at `src` and for writes at `dst`, without overlap.
    pub(super) unsafe fn run(&self, src: *const u8, dst: *mut u8, entries: isize) {
        // SAFETY: the caller guarantees that both ranges are valid and do not overlap.
        unsafe {
            match self {
                CellPlan::Run(bytes) => std::ptr::copy_nonoverlapping(src, dst, *bytes),
                CellPlan::Rows { rows, stride, bytes } => {
                    for row in 0..*rows {
                        let from = src.wrapping_offset(row.cast_signed() * stride);
                        let ahead = from.wrapping_offset(ROWS_AHEAD.cast_signed() * stride);
                        for line in (0..*bytes).step_by(LINE) {
                            prefetch(ahead.wrapping_add(line));
                        }
                        std::ptr::copy_nonoverlapping(from, dst.add(row * bytes), *bytes);
                    }
                }
                CellPlan::Moved(plan) => plan.run(src, dst, entries),
            }
        }
    }
}

impl Cells {
    /// Returns `None` if the limits do not allow cells.
    pub(super) fn of(work: &InPlace, limits: Limits, machine: &Machine) -> Option<Cells> {
        if work.axes().len() > MOST_AXES {
            return None;
        }
        let parts = parts_of(work, limits.cells)?;
        let goes_through_scratch = work.axes().iter().enumerate().any(|(at, axis)| axis.from != at);
        let (mut reversed, mut entries) = (None, None);
        for (at, axis) in work.axes().iter().enumerate() {
            if let Along::Reversed(table) = &axis.along {
                if parts[at].count() == axis.len {
                    let is_one = |(at, stride): (usize, &isize)| {
                        *stride == 0 || parts[at].count() == work.axes()[at].len
                    };
                    if !table.strides.iter().enumerate().all(is_one) {
                        return None;
                    }
                    reversed = Some((at, table.clone()));
                } else {
                    entries = Some((table.strides.clone(), table.offset));
                }
            }
        }
        let mut axes: Vec<CellAxis> = Vec::new();
        let mut steps: Vec<Vec<usize>> = Vec::new();
        for (axis, parts) in work.axes().iter().zip(&parts) {
            let (each, kinds) = CellAxis::new(axis.from, axis.stride, parts);
            axes.push(each);
            steps.push(kinds);
        }
        let mut kinds = 1usize;
        for (axis, steps) in axes.iter_mut().zip(&steps).rev() {
            axis.kind_stride = kinds;
            kinds = kinds.checked_mul(steps.len()).filter(|kinds| *kinds <= 1024)?;
        }
        let kinds: Vec<CellPlans> = (0..kinds)
            .map(|kind| {
                let steps_of = |(axis, steps): (&CellAxis, &Vec<usize>)| {
                    steps[kind / axis.kind_stride % steps.len()]
                };
                let steps: Vec<usize> = axes.iter().zip(&steps).map(steps_of).collect();
                CellPlans::of(work, &steps, machine)
            })
            .collect();
        let cell_bytes = kinds.iter().map(|kind| kind.bytes).max()?;
        let stays = |(at, axis): (usize, &CellAxis)| {
            axis.stays(at) && reversed.as_ref().is_none_or(|(moved, _)| *moved != at)
        };
        let (order, moved): (Vec<usize>, Vec<usize>) =
            (0..axes.len()).partition(|at| stays((*at, &axes[*at])));
        let of_axis = |at: &usize| Digit { axis: *at, count: axes[*at].count(), steps: 1 };
        let mut digits: Vec<Digit> = order.iter().map(of_axis).collect();
        // Transposed cells are visited in squares, so that the pages of their rows are soon accessed again.
        let (rough, fine): (Vec<Digit>, Vec<Digit>) =
            moved.iter().map(of_axis).map(Digit::cut).unzip();
        digits.extend(rough);
        digits.extend(fine);
        let together = digits[order.len()..].iter().map(|digit| digit.count).product();
        let cycles = cycles_of(&axes, reversed.as_ref());
        let offset = work.offset();
        let mut cells = Cells {
            axes,
            reversed,
            entries,
            offset,
            kinds,
            cell_bytes,
            goes_through_scratch,
            cycles,
            segments: 0,
            digits,
            together,
            threads: limits.threads,
        };
        cells.cut(limits);
        Some(cells)
    }

    pub(super) fn is_within(&self) -> bool {
        self.cycles == Cycles::Within
    }

    /// Returns the distance between cells in scratch, where they begin at cache lines.
    pub(super) fn pitch(&self) -> usize {
        self.cell_bytes.next_multiple_of(LINE)
    }

    /// Returns the number of groups of cells with common marks.
    pub(super) fn units(&self) -> usize {
        self.numbers() / self.together
    }

    /// Returns the number of cell numbers. Not every number belongs to a cell.
    pub(super) fn numbers(&self) -> usize {
        self.digits.iter().map(|digit| digit.count).product()
    }

    /// Returns the cell with this number, if there is one.
    pub(super) fn index(&self, number: usize) -> Option<Index> {
        let mut index = [0; MOST_AXES];
        let mut rest = number;
        for Digit { axis, count, steps } in self.digits.iter().rev() {
            index[*axis] += rest % count * steps;
            rest /= count;
        }
        let is_within = self.axes.iter().zip(&index).all(|(axis, at)| *at < axis.count());
        is_within.then_some(index)
    }

    pub(super) fn number(&self, index: &Index) -> usize {
        let of_digit = |digit: &Digit| (index[digit.axis] / digit.steps % digit.count, digit.count);
        self.digits.iter().map(of_digit).fold(0, |number, (at, count)| number * count + at)
    }

    /// Returns the cell whose elements move to `index`.
    pub(super) fn read_at(&self, index: &Index) -> Index {
        let mut read = [0; MOST_AXES];
        for (axis, at) in self.axes.iter().zip(index) {
            read[axis.from] = axis.read_at[*at];
        }
        if let Some((axis, table)) = &self.reversed {
            let length = table.lengths[self.entry_of(&table.strides, table.offset, index)];
            if index[*axis] < length {
                read[*axis] = length - 1 - index[*axis];
            }
        }
        read
    }

    pub(super) fn offset_of(&self, index: &Index) -> usize {
        let steps = self.axes.iter().zip(index).map(|(axis, at)| axis.offset[*at]);
        self.offset + steps.sum::<usize>()
    }

    pub(super) fn plans(&self, index: &Index) -> &CellPlans {
        let kinds = self.axes.iter().zip(index).map(|(axis, at)| axis.kind[*at] * axis.kind_stride);
        &self.kinds[kinds.sum::<usize>()]
    }

    /// Returns the table entry of the cell's first element, if a table cuts within cells.
    pub(super) fn entry(&self, index: &Index) -> isize {
        self.entries
            .as_ref()
            .map_or(0, |(strides, offset)| self.entry_of(strides, *offset, index).cast_signed())
    }

    fn entry_of(&self, strides: &[isize], offset: usize, index: &Index) -> usize {
        let steps = self.axes.iter().zip(index).zip(strides);
        let steps = steps.map(|((axis, at), stride)| axis.begin[*at].cast_signed() * stride);
        offset.wrapping_add_signed(steps.sum())
    }
}

const SQUARE: usize = 16;

/// A digit of the cell numbers: a part of the index along an axis.
#[derive(Clone, Copy, Debug)]
struct Digit {
    axis: usize,
    count: usize,
    /// The parts between consecutive digits.
    steps: usize,
}

impl Digit {
    /// Splits a digit in two: the square, and the cell within it.
    fn cut(self) -> (Digit, Digit) {
        let rough = Digit { count: self.count.div_ceil(SQUARE), steps: SQUARE, ..self };
        (rough, Digit { count: self.count.min(SQUARE), ..self })
    }
}

impl CellAxis {
    /// Makes an axis without `kind_stride`. Also returns the lengths of its parts.
    fn new(from: usize, stride: isize, parts: &Parts) -> (CellAxis, Vec<usize>) {
        let mut kinds: Vec<usize> = Vec::new();
        let mut kind = Vec::with_capacity(parts.count());
        for part in 0..parts.count() {
            let steps = parts.steps(part);
            let known = kinds.iter().position(|kind| *kind == steps);
            kind.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(steps);
            }
        }
        let offset = parts.begin.iter().map(|begin| begin * stride.unsigned_abs()).collect();
        let (begin, read_at) = (parts.begin.clone(), parts.read_at.clone());
        (CellAxis { from, offset, begin, read_at, kind, kind_stride: 0 }, kinds)
    }

    fn count(&self) -> usize {
        self.read_at.len()
    }

    /// Whether all parts of this axis, number `at`, stay.
    fn stays(&self, at: usize) -> bool {
        self.from == at && self.read_at.iter().enumerate().all(|(part, read_at)| part == *read_at)
    }
}

impl CellPlans {
    fn of(work: &InPlace, steps: &[usize], machine: &Machine) -> CellPlans {
        let plan = |way| CellPlan::of(&work.cell(steps, way), machine);
        let across = work.cell(steps, CellMove::Across);
        let is_kept = across.in_place().is_some_and(|cell| cell.is_identity());
        CellPlans {
            bytes: steps.iter().product(),
            is_kept,
            across: CellPlan::of(&across, machine),
            saved: plan(CellMove::Saved),
            restored: plan(CellMove::Restored),
        }
    }
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.axes.iter().map(CellAxis::count).product();
        write!(f, "{count} cell{} of at most {} bytes, ", plural(count), self.cell_bytes)?;
        match self.cycles {
            Cycles::Within => f.write_str("each moved within its place")?,
            Cycles::Short(most) => write!(f, "in cycles of at most {most}")?,
            Cycles::Marked if self.segments > 0 => {
                write!(f, "in cycles, which are cut into about {} segments", self.segments)?;
            }
            Cycles::Marked => f.write_str("in cycles, which are found by marks")?,
        }
        let plans = self.kinds.iter().map(|kind| match self.cycles {
            Cycles::Within => &kind.restored,
            Cycles::Short(_) | Cycles::Marked if self.goes_through_scratch => &kind.restored,
            Cycles::Short(_) | Cycles::Marked => &kind.across,
        });
        let moved = plans.filter_map(|plan| match plan {
            CellPlan::Run(_) | CellPlan::Rows { .. } => None,
            CellPlan::Moved(plan) => plan.steps.first().map(|step| step.kernel.name),
        });
        moved.take(1).try_for_each(|kernel| write!(f, ", by {kernel}"))
    }
}

fn cycles_of(axes: &[CellAxis], reversed: Option<&(usize, LengthTable)>) -> Cycles {
    if let Some((_, table)) = reversed
        && axes
            .iter()
            .zip(&table.strides)
            .enumerate()
            .any(|(at, (axis, stride))| *stride != 0 && !axis.stays(at))
    {
        // The cells of a cycle can have different lengths.
        return Cycles::Marked;
    }
    let mut cycle = if reversed.is_some() { 2 } else { 1 };
    for at in 0..axes.len() {
        let orbit = orbit_of(|axis| axes[axis].from, at);
        // After one round through the orbit, a part may be elsewhere on its axis.
        let round = |part: usize| orbit.iter().fold(part, |part, axis| axes[*axis].read_at[part]);
        let again = least_round(axes[at].count(), round);
        let together = orbit.len().saturating_mul(again);
        cycle = cycle / greatest_common_divisor(cycle, together) * together;
        if cycle > SHORT_CYCLE {
            return Cycles::Marked;
        }
    }
    if cycle == 1 { Cycles::Within } else { Cycles::Short(cycle) }
}

/// Returns after how many applications of `round` every part is back, at most `SHORT_CYCLE + 1`.
fn least_round(count: usize, round: impl Fn(usize) -> usize) -> usize {
    let mut at: Vec<usize> = (0..count).collect();
    for rounds in 1..=SHORT_CYCLE {
        at.iter_mut().for_each(|part| *part = round(*part));
        if at.iter().enumerate().all(|(part, at)| part == *at) {
            return rounds;
        }
    }
    SHORT_CYCLE + 1
}
