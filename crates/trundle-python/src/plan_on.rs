//! Plans for the device of the arrays of a call.

use std::fmt;

use trundle::{Plan, ProgramPlan};

use crate::gpu::GpuPlan;

/// A plan for the CPU or for a GPU.
#[derive(Debug)]
pub(crate) enum PlanOn<P> {
    Cpu(P),
    Gpu(Box<GpuPlan>),
}

impl<P> PlanOn<P> {
    /// The plan, if it is for the CPU.
    pub(crate) fn cpu(&self) -> Option<&P> {
        match self {
            PlanOn::Cpu(plan) => Some(plan),
            PlanOn::Gpu(_) => None,
        }
    }
}

/// The common functions of plans for any device.
pub(crate) trait AnyPlan: fmt::Display {
    /// The number of passes over memory. On a GPU, several moves to one tensor count as one.
    fn passes(&self) -> usize;
    /// The bytes of temporary memory that a run needs, on the plan's device.
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
