//! Calls with several arrays, or with an array and a constant.

use pyo3::prelude::*;
use trundle::{Layout, PlanError, Program, ProgramPlan, TensorId};

use crate::apart::Apart;
use crate::error::{not_planned, refused};
use crate::gpu::GpuPlan;
use crate::memory::{ArrayMemory, Extent, PerAxis};
use crate::moved::{Planned, copied};
use crate::plan_on::PlanOn;
use crate::tensor::{Output, Tensor};

/// A program and the layouts of its input arrays.
pub(crate) struct Assembly {
    program: Program,
    layouts: Vec<Layout>,
}

impl Assembly {
    /// Creates the program of `make` for one or more arrays.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn new<'a, E>(
        inputs: impl IntoIterator<Item = &'a ArrayMemory>,
        make: impl FnOnce(&mut Program, &[TensorId]) -> Result<TensorId, E>,
    ) -> Result<Assembly, PlanError>
    where
        PlanError: From<E>,
    {
        let mut program = Program::new();
        let (mut given, mut layouts) = (Vec::new(), Vec::new());
        for input in inputs {
            let layout = input.layout()?;
            given.push(program.given(layout.shape().clone(), input.width)?);
            layouts.push(layout);
        }
        let made = make(&mut program, &given)?;
        Ok(Assembly { program: program.with_output(made)?, layouts })
    }

    /// Plans the program from arrays on the device of `first` to `dst`, or to a new contiguous array.
    pub(crate) fn planned(
        &self,
        py: Python<'_>,
        first: &ArrayMemory,
        dst: Option<&ArrayMemory>,
        threads: Option<usize>,
    ) -> PyResult<Planned> {
        let output = self.program.tensor(self.program.outputs()[0]);
        let sizes: PerAxis<isize> = output.shape.iter().map(|size| size.cast_signed()).collect();
        let layout = match dst {
            Some(dst) => dst.layout(),
            None => Layout::row_major(&output.shape, first.width),
        };
        let layout = layout.map_err(|error| refused(py, &error))?;
        let plan = match first.device.ordinal() {
            Some(ordinal) => {
                let plan = GpuPlan::new(py, ordinal, &self.program, &self.layouts, &layout)?;
                PlanOn::Gpu(Box::new(plan))
            }
            None => {
                let plan = ProgramPlan::new(&self.program, &self.layouts, &layout, threads);
                PlanOn::Program(plan.map_err(|error| refused(py, &error))?)
            }
        };
        Ok(Planned { plan, sizes })
    }
}

/// The arrays must have the layouts that the plan was made for, and the memory must not overlap them.
fn run(py: Python<'_>, planned: &Planned, inputs: &[Tensor<'_>], to: Extent) -> PyResult<()> {
    let extents: Vec<Extent> = inputs.iter().map(|each| each.memory.extent()).collect();
    planned.plan.run(py, &extents, to)
}

/// Writes to a new array of the kind of the first input. The arrays must have the layouts that the plan was made for.
pub(crate) fn run_to_new<'py>(
    py: Python<'py>,
    planned: &Planned,
    inputs: &[Tensor<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let (output, extent) = Output::like(&inputs[0], &planned.sizes)?;
    run(py, planned, inputs, extent)?;
    output.finish(py)
}

/// Moves `inputs` as the program that `make` builds to `out`, or to a new array of the kind of the first input.
pub(crate) fn assembled<'py, E>(
    py: Python<'py>,
    inputs: &[Tensor<'py>],
    make: impl FnOnce(&mut Program, &[TensorId]) -> Result<TensorId, E>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>>
where
    PlanError: From<E>,
{
    let assembly = Assembly::new(inputs.iter().map(|each| &each.memory), make);
    let assembly = assembly.map_err(|error| not_planned(py, &error, true))?;
    let first = &inputs[0].memory;
    let planned = |dst: Option<&ArrayMemory>| assembly.planned(py, first, dst, threads);
    let Some(out) = out else { return run_to_new(py, &planned(None)?, inputs) };
    // `written` keeps the memory of `target` alive.
    let written = Tensor::to_write("out", out, &inputs[0])?;
    let target = &written.memory;
    let to_target = planned(Some(target))?;
    if !inputs.iter().any(|each| each.memory.may_overlap(target)) {
        run(py, &to_target, inputs, target.extent())?;
        return Ok(out.clone());
    }
    // `out` overlaps an input.
    let apart = Apart::new(py, target.device, &to_target.sizes, first.width)?;
    run(py, &planned(None)?, inputs, apart.memory().extent())?;
    copied(py, apart.memory(), target, threads)?;
    Ok(out.clone())
}
