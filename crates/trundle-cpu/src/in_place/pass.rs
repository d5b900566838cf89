//! One pass over a tensor within its own memory.

use std::fmt;
use std::sync::Arc;

use trundle_core::InPlace;

use super::cells::Cells;
use super::exchange::Exchange;
use super::limits::Limits;
use super::memory::Memory;
use super::rotation::Rotation;
use super::square::Squares;
use crate::Planner;

/// A pass. It moves every element once, except for a matrix without its last columns.
pub(super) trait Pass: fmt::Debug + fmt::Display + Send + Sync {
    /// Returns the most scratch bytes of a run.
    fn scratch_bytes(&self) -> usize {
        0
    }

    /// # Safety
    /// The memory must have the bytes of the move, and no other code may access it during the run.
    unsafe fn run(&self, memory: Memory);
}

/// Passes that run one after another.
pub(super) type Passes = Vec<Arc<dyn Pass>>;

/// Plans the whole move as one pass, or returns `None` if no strategy fits or the scratch is too small.
pub(super) fn whole(work: &InPlace, limits: Limits, planner: &Planner) -> Option<Arc<dyn Pass>> {
    if let Some(rotation) = Rotation::of(work, limits, planner) {
        return Some(Arc::new(rotation));
    }
    if let Some(exchange) = Exchange::of(work, limits, planner) {
        return Some(Arc::new(exchange));
    }
    if let Some(squares) = Squares::of(work, limits, planner) {
        return Some(Arc::new(squares));
    }
    Some(Arc::new(Cells::of(work, limits, planner)?))
}
