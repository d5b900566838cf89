//! What operators make of one tensor: planned, and run on its memory.

use std::ffi::c_void;

use trundle::{Chain, Op, Plan, PlanError};

use super::error::Result;
use super::memory::Memory;
use super::pair::Pair;

/// An operator or a chain decided for two tensors.
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

    /// Runs it on tensors that lie as was described, once it is known that they and `others`, which
    /// the call reads too, are as they must be.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the
    /// output's.
    pub(crate) unsafe fn run(
        &self,
        data: *const c_void,
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        let (data, out) = self.pair.memory(data, out, others)?;
        // SAFETY: the output is apart from the data; the rest is the caller's word.
        Ok(unsafe { self.plan.run(data.read(), out.write()) }?)
    }
}
