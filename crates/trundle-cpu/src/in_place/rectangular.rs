//! Transposes matrices that are not square within their own memory.
//!
//! A permutation of axes is a sequence of exchanges of two groups of adjacent axes. Each is a batch of matrix
//! transposes. A matrix that fits in scratch is moved through it. In larger matrices, rows are cut into runs: one pass
//! transposes the matrix of runs in cycles, another transposes each slab of runs through scratch. Last columns that do
//! not fill a run are saved first and written at the end.

use std::fmt;
use std::sync::Arc;

use trundle_core::ops::Transpose;
use trundle_core::{IndexMap, Layout, Move, Op, Shape, Source};
use trundle_kernels::simd::{LINE, prefetch};

use super::limits::Limits;
use super::memory::{Around, Marks, SharedBuffer};
use super::pass::{Pass, Passes};
use super::slabs::Slabs;
use super::whole::whole;
use crate::threads::for_each_task;
use crate::tiles::TilePlan;
use crate::{Machine, Plan};

/// Minimum size (a cache line) and maximum size of the runs that are moved in cycles, in bytes.
const RUN_BYTES: (usize, usize) = (64, 4 << 10);

/// Preferred size of a slab in bytes, which should stay in the caches between scratch and destination.
const SLAB_BYTES: usize = 4 << 20;

/// Prefetch distance in elements.
const AHEAD: usize = 8;

/// A batch of matrices to transpose, with elements of `element` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Matrices {
    count: usize,
    rows: usize,
    cols: usize,
    element: usize,
}

/// Matrices whose elements are moved in cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Runs {
    matrices: Matrices,
    /// Number of pieces of each element, which different tasks move.
    pieces: usize,
    threads: usize,
}

/// Matrices that are transposed without their last columns, which are saved during the transpose.
#[derive(Clone, Debug)]
struct WithoutLast {
    matrices: Matrices,
    /// Number of remaining columns.
    left: usize,
    passes: Passes,
    /// Moves the saved columns to the last rows.
    plan: TilePlan,
}

/// Returns the passes of a move that only permutes axes, without gaps.
pub(super) fn passes_of(work: &Move, machine: &Machine, limits: Limits) -> Option<Passes> {
    let [block] = work.blocks() else { return None };
    if work.packing().is_some() || !block.indices.is_empty() || block.src_offset != block.dst_offset
    {
        return None;
    }
    if block.src_offset != 0
        || work.src_bytes() != work.moved_bytes()
        || work.dst_bytes() != work.moved_bytes()
    {
        return None;
    }
    // Source stride and size of each axis, in destination order.
    let mut axes: Vec<(isize, usize)> = Vec::new();
    for each in &block.loops {
        let Source::Affine { stride } = each.src else { return None };
        if stride <= 0 {
            return None;
        }
        axes.push((stride, each.len));
    }
    let after: Vec<(isize, usize)> = axes.clone();
    axes.sort_unstable_by(|left, right| right.cmp(left));
    let mut passes = Vec::new();
    for at in 0..after.len() {
        let from = axes.iter().position(|axis| *axis == after[at])?;
        if from == at {
            continue;
        }
        // Axes that are adjacent in both orders move as one axis.
        let mut end = from + 1;
        while end < axes.len() && after.get(at + end - from) == axes.get(end) {
            end += 1;
        }
        let product = |part: &[(isize, usize)]| part.iter().map(|(_, len)| len).product::<usize>();
        let matrices = Matrices {
            count: product(&axes[..at]),
            rows: product(&axes[at..from]),
            cols: product(&axes[from..end]),
            element: product(&axes[end..]) * work.width(),
        };
        passes.extend(matrices.passes(machine, limits)?);
        axes[at..end].rotate_left(from - at);
    }
    Some(passes)
}

impl Matrices {
    fn bytes(&self) -> usize {
        self.rows * self.cols * self.element
    }

    fn transposed(self, count: usize) -> Option<Move> {
        let shape = Shape::new([count, self.rows, self.cols]).ok()?;
        let map: IndexMap = Op::from(Transpose::new(&[0, 2, 1])).index_map(&shape).ok()?;
        let src = Layout::row_major(map.in_shape(), self.element).ok()?;
        let dst = Layout::row_major(map.out_shape(), self.element).ok()?;
        Move::new(&map, self.element, &src, &dst, 1).ok()
    }

    fn passes(self, machine: &Machine, limits: Limits) -> Option<Passes> {
        let Matrices { count, rows, cols, element } = self;
        if rows == 1 || cols == 1 {
            return Some(Vec::new());
        }
        if rows == cols
            && let Some(pass) = whole(&self.transposed(count)?.in_place()?, limits, machine)
        {
            return Some(vec![pass]);
        }
        if self.bytes() <= limits.slab() {
            return Some(vec![Arc::new(self.slabs(machine, limits)?)]);
        }
        if element >= RUN_BYTES.0 {
            return Some(vec![Arc::new(self.runs(limits))]);
        }
        let of_cols = self.best_run(rows, cols, limits);
        let of_rows = self.best_run(cols, rows, limits);
        let divides = |len: usize, run: Option<usize>| run.filter(|run| len.is_multiple_of(*run));
        let [first, second] = if let Some(run) = divides(cols, of_cols) {
            // First the matrix of runs, then slabs: one run of every row.
            let runs = Matrices { cols: cols / run, element: run * element, ..self };
            [runs, Matrices { count: count * (cols / run), cols: run, ..self }]
        } else if let Some(run) = divides(rows, of_rows) {
            let runs = Matrices { rows: rows / run, element: run * element, ..self };
            [Matrices { count: count * (rows / run), rows: run, ..self }, runs]
        } else {
            return Some(vec![Arc::new(self.without_last(of_cols?, machine, limits)?)]);
        };
        Some([first.passes(machine, limits)?, second.passes(machine, limits)?].concat())
    }

    /// Returns the best length of a run in elements, for slabs of `rows` runs: the longest that divides `cols`, or else
    /// the longest possible.
    fn best_run(&self, rows: usize, cols: usize, limits: Limits) -> Option<usize> {
        let least = RUN_BYTES.0.div_ceil(self.element);
        let of_slab = limits.slab().min(SLAB_BYTES.max(rows * RUN_BYTES.0)) / (rows * self.element);
        let most = of_slab.min(RUN_BYTES.1 / self.element).min(cols / 2);
        let whole = (least..=most).rev().find(|run| cols.is_multiple_of(*run));
        whole.or((least <= most).then_some(most))
    }

    fn slabs(&self, machine: &Machine, limits: Limits) -> Option<Slabs> {
        let plan = Plan::of(&self.transposed(1)?, machine);
        Some(Slabs::new(
            0,
            Around::new(vec![(self.count, self.bytes())]),
            self.bytes(),
            plan,
            limits,
        ))
    }

    fn runs(self, limits: Limits) -> Runs {
        let pieces = limits.threads.div_ceil(self.count).min(self.element / RUN_BYTES.0).max(1);
        Runs { matrices: self, pieces, threads: limits.threads.min(self.count * pieces) }
    }

    /// Plans the transpose without the last columns, which do not fill a run of at most `most` elements.
    fn without_last(self, most: usize, machine: &Machine, limits: Limits) -> Option<WithoutLast> {
        let one = Matrices { count: 1, ..self };
        let least = RUN_BYTES.0.div_ceil(self.element);
        (least..=most).rev().find_map(|run| {
            let left = self.cols / run * run;
            let aside = self.rows * (self.cols - left) * self.element;
            let limits = Limits { scratch: limits.scratch.checked_sub(aside)?, ..limits };
            let fits = self.rows * run * self.element <= limits.slab();
            let passes = fits.then(|| Matrices { cols: left, ..one }.passes(machine, limits))??;
            let last = Matrices { cols: self.cols - left, ..one }.transposed(1)?;
            let plan = TilePlan::of(&last, machine);
            Some(WithoutLast { matrices: self, left, passes, plan })
        })
    }
}

impl Pass for Runs {
    /// Each thread has an element, and a mark for each element of a matrix.
    fn scratch_bytes(&self) -> usize {
        let Matrices { rows, cols, element, .. } = self.matrices;
        self.threads * (element + (rows * cols).div_ceil(8))
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let Matrices { count, element, .. } = self.matrices;
        for_each_task(self.threads, count * self.pieces, &|task| {
            let (matrix, piece) = (task / self.pieces, task % self.pieces);
            let cut = |piece: usize| element * piece / self.pieces / RUN_BYTES.0 * RUN_BYTES.0;
            let end = if piece + 1 == self.pieces { element } else { cut(piece + 1) };
            let begin = cut(piece);
            let first = SharedBuffer::new(memory.at(matrix * self.matrices.bytes() + begin));
            // SAFETY: tasks have different matrices, or different bytes of the elements.
            unsafe { self.run_piece(first, end - begin) };
        });
    }
}

impl Runs {
    /// Moves the first `bytes` bytes of every element of a matrix.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_piece(&self, memory: SharedBuffer, bytes: usize) {
        let Matrices { rows, cols, element, .. } = self.matrices;
        let count = rows * cols;
        let read_at = |to: usize| to % rows * cols + to / rows;
        let mut marks = Marks::new(count);
        let mut saved: Vec<u8> = Vec::with_capacity(bytes);
        let at = |number: usize| memory.at(number * element);
        for first in 0..count {
            if marks.has(first) {
                continue;
            }
            let mut ahead = read_at(first);
            if ahead == first {
                continue;
            }
            for _ in 0..AHEAD {
                ahead = read_at(ahead);
            }
            let mut to = first;
            // SAFETY: the elements of a matrix do not overlap, and `saved` has space for one.
            unsafe {
                std::ptr::copy_nonoverlapping(at(first), saved.as_mut_ptr(), bytes);
                loop {
                    marks.set(to);
                    let from = read_at(to);
                    if from == first {
                        break;
                    }
                    for line in (0..bytes).step_by(LINE) {
                        prefetch(at(ahead).wrapping_add(line));
                    }
                    ahead = read_at(ahead);
                    std::ptr::copy_nonoverlapping(at(from), at(to), bytes);
                    to = from;
                }
                std::ptr::copy_nonoverlapping(saved.as_ptr(), at(to), bytes);
            }
        }
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matrices { count, rows, cols, element } = self.matrices;
        write!(f, "{count} x {rows} x {cols} runs of {element} bytes transposed, in cycles")
    }
}

impl Pass for WithoutLast {
    fn scratch_bytes(&self) -> usize {
        let Matrices { rows, cols, element, .. } = self.matrices;
        let within = self.passes.iter().map(|pass| pass.scratch_bytes()).max().unwrap_or(0);
        within + rows * (cols - self.left) * element
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let Matrices { count, rows, cols, element } = self.matrices;
        let (kept, last) = (self.left * element, (cols - self.left) * element);
        let mut aside: Vec<u8> = Vec::with_capacity(rows * last);
        for matrix in 0..count {
            let first = SharedBuffer::new(memory.at(matrix * self.matrices.bytes()));
            // SAFETY: the matrix lies within the valid memory, and `aside` has space for the last columns.
            unsafe {
                for row in 0..rows {
                    let from = row * cols * element;
                    let to = aside.as_mut_ptr().add(row * last);
                    std::ptr::copy_nonoverlapping(first.at(from + kept), to, last);
                    std::ptr::copy(first.at(from), first.at(row * kept), kept);
                }
                self.passes.iter().for_each(|pass| pass.run(first));
                self.plan.run(aside.as_ptr(), first.at(rows * kept), 0);
            }
        }
    }
}

impl fmt::Display for WithoutLast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matrices { count, rows, cols, .. } = self.matrices;
        let last = cols - self.left;
        write!(f, "{count} x {rows} rows without their last {last} of {cols} columns:")?;
        self.passes.iter().try_for_each(|pass| write!(f, "\n      {pass}"))
    }
}
