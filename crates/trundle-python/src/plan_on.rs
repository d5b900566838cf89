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

/// The common functions of plans for the CPU.
pub(crate) trait CpuPlan: fmt::Display {
    fn passes(&self) -> usize;
    fn scratch_bytes(&self) -> usize;
}

impl CpuPlan for Plan {
    fn passes(&self) -> usize {
        Plan::passes(self).len()
    }

    fn scratch_bytes(&self) -> usize {
        Plan::scratch_bytes(self)
    }
}

impl CpuPlan for ProgramPlan {
    fn passes(&self) -> usize {
        ProgramPlan::passes(self)
    }

    fn scratch_bytes(&self) -> usize {
        ProgramPlan::scratch_bytes(self)
    }
}

impl<P: CpuPlan> PlanOn<P> {
    /// The number of passes over memory.
    pub(crate) fn passes(&self) -> usize {
        match self {
            PlanOn::Cpu(plan) => plan.passes(),
            PlanOn::Gpu(plan) => plan.passes(),
        }
    }

    /// The bytes of temporary memory that a run needs.
    pub(crate) fn scratch_bytes(&self) -> usize {
        match self {
            PlanOn::Cpu(plan) => plan.scratch_bytes(),
            PlanOn::Gpu(plan) => plan.scratch_bytes(),
        }
    }
}

impl<P: CpuPlan> fmt::Display for PlanOn<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanOn::Cpu(plan) => plan.fmt(f),
            PlanOn::Gpu(plan) => plan.fmt(f),
        }
    }
}
