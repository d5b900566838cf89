//! A plan for where the arrays of a call are.

use std::fmt;

use trundle::{Plan, ProgramPlan};

use crate::gpu::GpuPlan;

/// A plan of the CPU, or of a GPU.
#[derive(Debug)]
pub(crate) enum PlanOn<P> {
    Cpu(P),
    Gpu(Box<GpuPlan>),
}

impl<P> PlanOn<P> {
    /// The plan, if it is one of the CPU.
    pub(crate) fn cpu(&self) -> Option<&P> {
        match self {
            PlanOn::Cpu(plan) => Some(plan),
            PlanOn::Gpu(_) => None,
        }
    }
}

/// What is asked of plans of the CPU.
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
    /// How often elements are read and written.
    pub(crate) fn passes(&self) -> usize {
        match self {
            PlanOn::Cpu(plan) => plan.passes(),
            PlanOn::Gpu(plan) => plan.passes(),
        }
    }

    /// The bytes that a run needs beside what is read and written.
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
