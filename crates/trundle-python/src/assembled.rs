//! Calls with several arrays, or with an array and a constant.

use pyo3::prelude::*;
use trundle::{Error, Layout, Program, ProgramPlan, Result, TensorId};

use crate::apart::Apart;
use crate::error::refused;
use crate::gpu::GpuPlan;
use crate::memory::{ArrayMemory, Extent, PerAxis};
use crate::moved::{Planned, copied};
use crate::plan_on::PlanOn;
use crate::tensor::{Output, Tensor};

/// A program and its input arrays.
pub(crate) struct Assembly<'a, 'py> {
    inputs: &'a [Tensor<'py>],
    program: Program,
    layouts: Vec<Layout>,
}

impl<'a, 'py> Assembly<'a, 'py> {
    /// Creates the program of `make` for one or more arrays.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn new<E: From<Error>>(
        inputs: &'a [Tensor<'py>],
        make: impl FnOnce(&mut Program, &[TensorId]) -> Result<TensorId, E>,
    ) -> Result<Assembly<'a, 'py>, E> {
        let mut program = Program::new();
        let (mut given, mut layouts) = (Vec::new(), Vec::new());
        for input in inputs {
            let layout = input.memory.layout()?;
            given.push(program.given(layout.shape().clone(), input.memory.width)?);
            layouts.push(layout);
        }
        let made = make(&mut program, &given)?;
        Ok(Assembly { inputs, program: program.with_output(made)?, layouts })
    }

    fn sizes(&self) -> PerAxis<isize> {
        let output = self.program.tensor(self.program.outputs()[0]);
        output.shape.iter().map(|size| size.cast_signed()).collect()
    }

    /// Plans the program for a new array as its result.
    pub(crate) fn planned(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<Planned> {
        let (sizes, first) = (self.sizes(), &self.inputs[0].memory);
        let made = ArrayMemory::contiguous(first.extent(), &sizes, first.width);
        Ok(Planned { plan: self.plan(py, &made, threads)?, sizes })
    }

    /// The result has this layout.
    fn plan(&self, py: Python<'_>, to: &ArrayMemory, threads: Option<usize>) -> PyResult<PlanOn> {
        let layout = to.layout().map_err(|error| refused(py, &error))?;
        if let Some(ordinal) = to.device.ordinal() {
            let plan = GpuPlan::new(py, ordinal, &self.program, &self.layouts, &layout)?;
            return Ok(PlanOn::Gpu(Box::new(plan)));
        }
        let plan = ProgramPlan::new(&self.program, &self.layouts, &layout, threads);
        plan.map(PlanOn::Program).map_err(|error| refused(py, &error))
    }
}

/// The arrays must have the layouts that the plan was made for, and the memory must not overlap them.
pub(crate) fn run(
    py: Python<'_>,
    plan: &PlanOn,
    inputs: &[Tensor<'_>],
    to: Extent,
) -> PyResult<()> {
    let extents: Vec<Extent> = inputs.iter().map(|each| each.memory.extent()).collect();
    plan.run(py, &extents, to)
}

/// Writes to `out`, or to a new array of the kind of the first input.
pub(crate) fn assembled<'py>(
    py: Python<'py>,
    assembly: &Assembly<'_, 'py>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (first, sizes) = (&assembly.inputs[0], assembly.sizes());
    let width = first.memory.width;
    let Some(out) = out else {
        let (output, extent) = Output::like(first, &sizes)?;
        let made = ArrayMemory::contiguous(extent, &sizes, width);
        run(py, &assembly.plan(py, &made, threads)?, assembly.inputs, extent)?;
        return output.finish(py);
    };
    let target = Tensor::to_write("out", out, first)?.memory;
    let plan = assembly.plan(py, &target, threads)?;
    if !assembly.inputs.iter().any(|each| each.memory.may_overlap(&target)) {
        run(py, &plan, assembly.inputs, target.extent())?;
        return Ok(out.clone());
    }
    // `out` overlaps an input.
    let apart = Apart::new(py, target.device, &sizes, width)?;
    let memory = apart.memory();
    run(py, &assembly.plan(py, memory, threads)?, assembly.inputs, memory.extent())?;
    copied(py, memory, &target, threads)?;
    Ok(out.clone())
}
