//! One pass over a tensor within its own memory.

use std::fmt;

use trundle_core::InPlace;

use super::cells::Cells;
use super::exchange::Exchange;
use super::limits::Limits;
use super::memory::Memory;
use super::rectangular::{Peeled, Runs};
use super::rotation::Rotation;
use super::slabs::Slabs;
use super::square::Squares;
use crate::Planner;

/// A pass. It moves every element once, except for a peeled matrix.
#[derive(Clone, Debug)]
pub(super) enum Pass {
    Rotation(Rotation),
    Exchange(Exchange),
    Squares(Squares),
    Cells(Box<Cells>),
    Slabs(Slabs),
    Runs(Runs),
    Peeled(Box<Peeled>),
}

/// Applies an expression to the variant's value.
macro_rules! each {
    ($self:expr, $pass:ident => $asked:expr) => {
        match $self {
            Pass::Rotation($pass) => $asked,
            Pass::Exchange($pass) => $asked,
            Pass::Squares($pass) => $asked,
            Pass::Cells($pass) => $asked,
            Pass::Slabs($pass) => $asked,
            Pass::Runs($pass) => $asked,
            Pass::Peeled($pass) => $asked,
        }
    };
}

impl Pass {
    /// Plans the whole move as one pass, or returns `None` if no strategy fits or the scratch is too small.
    pub(super) fn of(work: &InPlace, limits: Limits, planner: &Planner) -> Option<Pass> {
        let rotation = || Rotation::of(work, limits, planner).map(Pass::Rotation);
        let exchange = || Exchange::of(work, limits, planner).map(Pass::Exchange);
        let squares = || Squares::of(work, limits, planner).map(Pass::Squares);
        let cells = || Some(Pass::Cells(Box::new(Cells::of(work, limits, planner)?)));
        rotation().or_else(exchange).or_else(squares).or_else(cells)
    }

    pub(super) fn scratch_bytes(&self) -> usize {
        each!(self, pass => pass.scratch_bytes())
    }

    /// # Safety
    /// The memory must have the bytes of the move, and no other code may access it during the run.
    pub(super) unsafe fn run(&self, memory: Memory) {
        // SAFETY: the memory is valid and unshared by the contract of this function.
        unsafe { each!(self, pass => pass.run(memory)) }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, pass => pass.fmt(f))
    }
}
