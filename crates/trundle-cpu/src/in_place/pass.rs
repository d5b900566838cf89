//! One pass over a tensor, within its own memory.

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

/// How every element is moved once, but those of a peeled matrix.
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

/// What each of them has.
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
    /// All of a move as one pass, if there is one that the scratch is enough for.
    pub(super) fn of(work: &InPlace, limits: Limits, planner: &Planner) -> Option<Pass> {
        let rotation = || Rotation::of(work, limits, planner).map(Pass::Rotation);
        let exchange = || Exchange::of(work, limits, planner).map(Pass::Exchange);
        let squares = || Squares::of(work, limits, planner).map(Pass::Squares);
        let cells = || Some(Pass::Cells(Box::new(Cells::of(work, limits, planner)?)));
        rotation().or_else(exchange).or_else(squares).or_else(cells)
    }

    /// The bytes beside the tensor that a run takes.
    pub(super) fn scratch_bytes(&self) -> usize {
        each!(self, pass => pass.scratch_bytes())
    }

    /// # Safety
    /// The memory has the bytes of the move, and nobody else reads or writes them meanwhile.
    pub(super) unsafe fn run(&self, memory: Memory) {
        // SAFETY: by the caller.
        unsafe { each!(self, pass => pass.run(memory)) }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, pass => pass.fmt(f))
    }
}
