//! Plans for the device of the arrays of a call.

use std::fmt;

use pyo3::prelude::*;
use trundle::{Plan, ProgramPlan};

use crate::gpu::GpuPlan;
use crate::memory::Extent;
use crate::run::{run, run_program};

#[derive(Debug)]
pub(crate) enum PlanOn {
    /// A chain of one array on the CPU.
    Chain(Plan),
    /// A program of several arrays, or of an array and a constant, on the CPU.
    Program(ProgramPlan),
    Gpu(Box<GpuPlan>),
}

impl PlanOn {
    pub(crate) fn passes(&self) -> usize {
        match self {
            PlanOn::Chain(plan) => plan.passes().len(),
            PlanOn::Program(plan) => plan.passes().len(),
            PlanOn::Gpu(plan) => plan.passes(),
        }
    }

    /// Temporary memory on the plan's device.
    pub(crate) fn scratch_bytes(&self) -> usize {
        match self {
            PlanOn::Chain(plan) => plan.scratch_bytes(),
            PlanOn::Program(plan) => plan.scratch_bytes(),
            PlanOn::Gpu(plan) => plan.scratch_bytes(),
        }
    }

    /// Moves the elements of `inputs` to `out`, which must not overlap them.
    ///
    /// # Errors
    /// As [`run`]; errors of the GPU.
    #[inline]
    pub(crate) fn run(&self, py: Python<'_>, inputs: &[Extent], out: Extent) -> PyResult<()> {
        match self {
            PlanOn::Chain(plan) => run(py, plan, inputs[0], out),
            PlanOn::Program(plan) => run_program(py, plan, inputs, out),
            PlanOn::Gpu(plan) => plan.run(py, inputs, out),
        }
    }
}

impl fmt::Display for PlanOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanOn::Chain(plan) => plan.fmt(f),
            PlanOn::Program(plan) => plan.fmt(f),
            PlanOn::Gpu(plan) => plan.fmt(f),
        }
    }
}
