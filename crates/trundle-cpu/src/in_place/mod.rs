//! A tensor moved within its own buffer: each element takes another one's place.
//!
//! A [`Move`] of a tensor onto its own places is carried out by the first of these that it is made for: a roll of what is one run of
//! bytes is a [`rotation`](rotation::Rotation), pairs of elements are [exchanged](exchange::Exchange), two axes of one size are
//! [squares](square::Squares). All else is moved as [cells](cells::Cells), boxes of the tensor that take each other's places in
//! cycles: the first of a cycle is saved, the next takes its place, and so on, by the same kernels as a move between two buffers.
//! Axes of sizes that differ take several [passes](rectangular), and so do rolls of short rows along several axes. What none of these is
//! made for goes through the scratch in [slabs](slabs::Slabs) that stay where they are, if they are small enough.

mod cells;
mod cycles;
mod exchange;
mod grid;
mod limits;
mod memory;
mod pass;
mod rectangular;
mod rotation;
mod slabs;
mod square;

use std::fmt;

use trundle_core::{InPlace, Move, Result, check_buffer};

use crate::Planner;
use crate::slices::check_whole;
use crate::text::plural;
use crate::threads::threads_for;
use cells::Cells;
use grid::CellSize;
use limits::Limits;
use memory::Memory;
use pass::Pass;
use slabs::Slabs;

/// How a tensor is moved within its own buffer. [`Planner::plan_in_place`](crate::Planner::plan_in_place) makes it.
#[derive(Clone, Debug)]
pub struct InPlacePlan {
    bytes: usize,
    moved_bytes: usize,
    grain_bytes: usize,
    threads: usize,
    /// One after another; none where every element stays where it is.
    passes: Vec<Pass>,
}

/// Rolls along several axes, where rows are too short to move each once: of larger cells, or one axis after another.
fn rolls(within: &InPlace, limits: Limits, planner: &Planner) -> Option<Vec<Pass>> {
    let alone = within.rolls().filter(|alone| alone.len() > 1)?;
    let are_long = |cells: &Cells| cells.is_within() || cells.cell_bytes >= LEAST_ROW_BYTES;
    if Cells::of(within, limits, planner).is_some_and(|rows| are_long(&rows)) {
        return None;
    }
    let most = (2 * planner.machine().l2_bytes).min(limits.cell_bytes());
    let slabs = Limits { cells: CellSize { most, ..limits.cells }, ..limits };
    if let Some(slabs) = Cells::of(within, slabs, planner).filter(are_long) {
        return Some(vec![Pass::Cells(Box::new(slabs))]);
    }
    alone.iter().map(|roll| Pass::of(roll, limits, planner)).collect()
}

/// Rows of cells in long cycles are worth it to move once from so many bytes on (measured; docs/kernels.md).
const LEAST_ROW_BYTES: usize = 4 << 10;

impl Planner {
    /// How a move is carried out where its source and its destination are the same buffer, with at most so many bytes
    /// beside it; `None` if it cannot be.
    pub fn plan_in_place(&self, work: &Move, most_scratch: usize) -> Option<InPlacePlan> {
        let threads = threads_for(work.moved_bytes(), self.machine().threads);
        let planned = self.plan_in_place_on(threads, work, most_scratch);
        // Threads share the scratch: what is too little for each may be enough for one.
        planned.or_else(|| self.plan_in_place_on(1, work, most_scratch))
    }

    /// [`Planner::plan_in_place`] on so many threads.
    fn plan_in_place_on(
        &self,
        threads: usize,
        work: &Move,
        most_scratch: usize,
    ) -> Option<InPlacePlan> {
        let machine = self.machine();
        let (bytes, moved_bytes, grain_bytes) =
            (work.dst_bytes(), work.moved_bytes(), work.grain_bytes());
        let cells = CellSize {
            least: machine.l1_bytes / 2,
            most: machine.l2_bytes / 4,
            run: RUN_BYTES.min(machine.l1_bytes / 2),
        };
        let mut limits = Limits { threads, scratch: most_scratch, cells };
        limits.cells.most = cells.most.min(limits.cell_bytes());
        let passes = self.passes_of(work, limits)?;
        let plan = InPlacePlan { bytes, moved_bytes, grain_bytes, threads, passes };
        (plan.scratch_bytes() <= most_scratch).then_some(plan)
    }

    /// One pass after another, none where every element stays where it is.
    fn passes_of(&self, work: &Move, limits: Limits) -> Option<Vec<Pass>> {
        if work.moved_bytes() == 0 {
            return Some(Vec::new());
        }
        let one = self.on_one_thread();
        let passes = match work.in_place() {
            Some(within) if within.is_identity() => return Some(Vec::new()),
            Some(within) => rolls(&within, limits, self)
                .or_else(|| Some(vec![Pass::of(&within, limits, self)?])),
            None => rectangular::passes_of(work, &one, limits),
        };
        passes.or_else(|| Some(vec![Pass::Slabs(Slabs::of(work, limits, &one)?)]))
    }
}

/// The runs of cells that are transposed.
const RUN_BYTES: usize = 512;

impl InPlacePlan {
    /// The bytes beside the tensor that a run takes, at most.
    pub fn scratch_bytes(&self) -> usize {
        self.passes.iter().map(Pass::scratch_bytes).max().unwrap_or(0)
    }

    /// How often every element is moved, at most.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// The number of bytes that are moved.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }

    /// Moves the elements of a slice, for a plan that moves whole elements of T.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the slice is shorter than what is planned,
    /// [`DTypeError::WidthMismatch`](trundle_core::DTypeError::WidthMismatch) if the plan would tear elements apart; nothing has been
    /// written then.
    pub fn run_slice<T: Copy>(&self, elements: &mut [T]) -> Result<()> {
        self.check::<T>(elements.len())?;
        // SAFETY: a unique reference. What is moved are whole elements, which are values of T.
        unsafe { self.run_raw(elements.as_mut_ptr().cast()) };
        Ok(())
    }

    /// [`InPlacePlan::run_slice`] on values that own something: each is moved to the place of another one, none is cloned or
    /// dropped. If a pool that the caller has lent panics in the middle, the process is aborted, since a value may be in
    /// two places then.
    ///
    /// # Errors
    /// As [`InPlacePlan::run_slice`].
    pub fn run_owned<T>(&self, values: &mut [T]) -> Result<()> {
        self.check::<T>(values.len())?;
        let whole = Whole;
        // SAFETY: a unique reference. Whole values are moved, each of which comes to one place.
        unsafe { self.run_raw(values.as_mut_ptr().cast()) };
        std::mem::forget(whole);
        Ok(())
    }

    /// Checks that the plan fits a slice of so many elements of T.
    ///
    /// # Errors
    /// As [`InPlacePlan::run_slice`].
    pub fn check<T>(&self, len: usize) -> Result<()> {
        check_buffer("data", self.bytes, len.saturating_mul(size_of::<T>()))?;
        check_whole::<T>(self.grain_bytes)
    }

    /// # Safety
    /// The buffer has the bytes of the plan, and nobody else reads or writes them meanwhile.
    unsafe fn run_raw(&self, buffer: *mut u8) {
        let memory = Memory::new(buffer);
        // SAFETY: by the caller.
        self.passes.iter().for_each(|pass| unsafe { pass.run(memory) });
    }
}

/// Ends the process if a run does not come to its end.
struct Whole;

impl Drop for Whole {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl fmt::Display for InPlacePlan {
    /// What is moved together, and how.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes on {} thread{}", self.moved_bytes, self.threads, plural(self.threads))?;
        if self.passes.is_empty() {
            return f.write_str(", which stay where they are");
        }
        self.passes.iter().try_for_each(|pass| write!(f, "\n    {pass}"))
    }
}
