//! Moves a tensor within its own buffer.
//!
//! The planner uses the first of these strategies that can do the [`Move`]:
//!
//! - A [rotation](rotation::Rotation) rolls contiguous bytes.
//! - An [exchange](exchange::Exchange) exchanges pairs of elements.
//! - [Squares](square::Squares) exchange two axes of the same size.
//! - [Cells](cells::Cells) are boxes of the tensor, which kernels of ordinary moves move in cycles.
//! - [Several passes](rectangular) exchange axes of different sizes. Rolls of short rows along several axes also take
//!   several passes.
//! - [Slabs](slabs::Slabs) are boxes that keep their places. Each is copied to scratch, and moved back in a new order.

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
mod whole;

use std::fmt;
use std::sync::Arc;

use trundle_core::{InPlace, Move, Result, check_buffer};

use crate::Machine;
use crate::slices::check_whole;
use crate::text::plural;
use crate::threads::threads_for;
use cells::Cells;
use grid::CellSize;
use limits::Limits;
use memory::SharedBuffer;
use pass::Passes;
use slabs::Slabs;
use whole::whole;

/// A plan to move a tensor within its own buffer. [`Cpu::plan_in_place`](crate::Cpu::plan_in_place) makes it.
#[derive(Clone, Debug)]
pub struct InPlacePlan {
    bytes: usize,
    moved_bytes: usize,
    grain_bytes: usize,
    threads: usize,
    /// Empty if every element stays.
    passes: Passes,
}

/// Plans rolls along several axes whose rows are too short to be cells: by larger cells, or one axis after another.
/// Returns `None` for other moves.
fn rolls(within: &InPlace, limits: Limits, machine: &Machine) -> Option<Passes> {
    let alone = within.rolls().filter(|alone| alone.len() > 1)?;
    let are_long = |cells: &Cells| cells.is_within() || cells.cell_bytes >= LEAST_ROW_BYTES;
    if Cells::of(within, limits, machine).is_some_and(|rows| are_long(&rows)) {
        return None;
    }
    let most = (2 * machine.l2_bytes).min(limits.cell_bytes());
    let slabs = Limits { cells: CellSize { most, ..limits.cells }, ..limits };
    if let Some(slabs) = Cells::of(within, slabs, machine).filter(are_long) {
        return Some(vec![Arc::new(slabs)]);
    }
    alone.iter().map(|roll| whole(roll, limits, machine)).collect()
}

/// With shorter rows, several passes are faster than long cycles (measured; docs/notes/kernels.md).
const LEAST_ROW_BYTES: usize = 4 << 10;

/// Returns no passes if every element stays, and `None` if no strategy can do the move.
fn passes_of(work: &Move, limits: Limits, machine: &Machine) -> Option<Passes> {
    if work.moved_bytes() == 0 {
        return Some(Vec::new());
    }
    let one = Machine { threads: 1, ..machine.clone() };
    let passes = match work.in_place() {
        Some(within) if within.is_identity() => return Some(Vec::new()),
        Some(within) => {
            rolls(&within, limits, machine).or_else(|| Some(vec![whole(&within, limits, machine)?]))
        }
        None => rectangular::passes_of(work, &one, limits),
    };
    if passes.is_some() {
        return passes;
    }
    Some(vec![Arc::new(Slabs::of(work, limits, &one)?)])
}

/// Length of the contiguous runs in transposed cells, in bytes.
const RUN_BYTES: usize = 512;

impl InPlacePlan {
    pub(crate) fn of(work: &Move, most_scratch: usize, machine: &Machine) -> Option<InPlacePlan> {
        let threads = threads_for(work.moved_bytes(), machine.threads);
        let planned = InPlacePlan::on(threads, work, most_scratch, machine);
        // Threads share the scratch, so it may be enough for one thread only.
        planned.or_else(|| InPlacePlan::on(1, work, most_scratch, machine))
    }

    fn on(
        threads: usize,
        work: &Move,
        most_scratch: usize,
        machine: &Machine,
    ) -> Option<InPlacePlan> {
        let (bytes, moved_bytes, grain_bytes) =
            (work.dst_bytes(), work.moved_bytes(), work.grain_bytes());
        let cells = CellSize {
            least: machine.l1_bytes / 2,
            most: machine.l2_bytes / 4,
            run: RUN_BYTES.min(machine.l1_bytes / 2),
        };
        let mut limits = Limits { threads, scratch: most_scratch, cells };
        limits.cells.most = cells.most.min(limits.cell_bytes());
        let passes = passes_of(work, limits, machine)?;
        let plan = InPlacePlan { bytes, moved_bytes, grain_bytes, threads, passes };
        (plan.scratch_bytes() <= most_scratch).then_some(plan)
    }

    /// Returns the maximum scratch memory of a run, in bytes.
    pub fn scratch_bytes(&self) -> usize {
        self.passes.iter().map(|pass| pass.scratch_bytes()).max().unwrap_or(0)
    }

    /// Returns the number of passes over the tensor.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Moves the elements of a slice.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if the slice is shorter than the plan
    /// requires, [`DTypeError::WidthMismatch`](trundle_core::DTypeError::WidthMismatch) if the plan would split
    /// elements of T. After an error, the slice is unchanged.
    pub fn run_slice<T: Copy>(&self, elements: &mut [T]) -> Result<()> {
        self.check::<T>(elements.len())?;
        // SAFETY: the reference is unique. Only whole elements of T are moved, which are valid values.
        unsafe { self.run_raw(elements.as_mut_ptr().cast()) };
        Ok(())
    }

    /// Moves the values of a slice, of any type. They are never cloned or dropped. If the caller's thread pool panics
    /// during the run, the process aborts, because a value may exist twice at that time.
    ///
    /// # Errors
    /// As [`InPlacePlan::run_slice`].
    pub fn run_owned<T>(&self, values: &mut [T]) -> Result<()> {
        self.check::<T>(values.len())?;
        let whole = Whole;
        // SAFETY: the reference is unique. Whole values are moved, each to exactly one position.
        unsafe { self.run_raw(values.as_mut_ptr().cast()) };
        std::mem::forget(whole);
        Ok(())
    }

    /// Checks that the plan fits a slice of `len` elements of T.
    ///
    /// # Errors
    /// As [`InPlacePlan::run_slice`].
    pub fn check<T>(&self, len: usize) -> Result<()> {
        check_buffer("data", self.bytes, len.saturating_mul(size_of::<T>()))?;
        check_whole::<T>(self.grain_bytes)
    }

    /// # Safety
    /// The buffer must have the bytes of the plan, and no other code may access it during the run.
    unsafe fn run_raw(&self, buffer: *mut u8) {
        let memory = SharedBuffer::new(buffer);
        // SAFETY: the caller guarantees that the buffer is valid and not shared.
        self.passes.iter().for_each(|pass| unsafe { pass.run(memory) });
    }
}

/// Aborts the process if a run does not complete.
struct Whole;

impl Drop for Whole {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl fmt::Display for InPlacePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes on {} thread{}", self.moved_bytes, self.threads, plural(self.threads))?;
        if self.passes.is_empty() {
            return f.write_str(", which stay where they are");
        }
        self.passes.iter().try_for_each(|pass| write!(f, "\n    {pass}"))
    }
}
