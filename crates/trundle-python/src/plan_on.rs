//! Plans for the device of the arrays of a call.

use std::fmt;

use trundle::{Plan, ProgramPlan};

use crate::gpu::GpuPlan;

#[derive(Debug)]
pub(crate) enum PlanOn<P> {
    Cpu(P),
    Gpu(Box<GpuPlan>),
}

impl<P> PlanOn<P> {
    pub(crate) fn cpu(&self) -> Option<&P> {
        match self {
            PlanOn::Cpu(plan) => Some(plan),
            PlanOn::Gpu(_) => None,
        }
    }
}

pub(crate) trait AnyPlan: fmt::Display {
    /// On a GPU, several moves to one tensor count as one.
    fn passes(&self) -> usize;
    /// Temporary memory on the plan's device.
    fn scratch_bytes(&self) -> usize;
}

impl AnyPlan for Plan {
    fn passes(&self) -> usize {
        Plan::passes(self).len()
    }

    fn scratch_bytes(&self) -> usize {
        Plan::scratch_bytes(self)
    }
}

impl AnyPlan for ProgramPlan {
    fn passes(&self) -> usize {
        ProgramPlan::passes(self)
    }

    fn scratch_bytes(&self) -> usize {
        ProgramPlan::scratch_bytes(self)
    }
}

impl<P: AnyPlan + 'static> PlanOn<P> {
    /// The plan, for whichever device.
    pub(crate) fn any(&self) -> &dyn AnyPlan {
        match self {
            PlanOn::Cpu(plan) => plan,
            PlanOn::Gpu(plan) => &**plan,
        }
    }
}
