//! Planned operators and chains with one input.

use std::ffi::c_void;

use trundle::{Chain, Op, Plan, PlanError};

use super::error::Result;
use super::memory::Memory;
use super::pair::Pair;

/// An operator or a chain, planned for an input and an output.
pub(crate) struct Moved {
    pub(crate) pair: Pair,
    pub(crate) plan: Plan,
}

impl Moved {
    pub(crate) fn new(pair: Pair, op: impl Into<Op>) -> Result<Moved> {
        Ok(Moved::of_chain(pair, &Chain::new().then(op))?)
    }

    pub(crate) fn of_chain(pair: Pair, chain: &Chain) -> Result<Moved, PlanError> {
        let (data, out) = (pair.data.layout(), pair.out.layout());
        let plan = Plan::new(chain, pair.data.width(), data, out, None)?;
        Ok(Moved { pair, plan })
    }

    /// Checks the memory of the tensors and of `others`, which the call also reads, and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the output.
    pub(crate) unsafe fn run(
        &self,
        data: *const c_void,
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        let (data, out) = self.pair.memory(data, out, others)?;
        // SAFETY: the output does not overlap the data, and the caller owns the memory.
        Ok(unsafe { self.plan.run(data.read(), out.write()) }?)
    }
}
