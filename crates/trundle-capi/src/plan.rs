//! Planned calls: planned once, run many times.

use std::ffi::{c_char, c_void};
use std::fmt;

use super::assembled::Assembled;
use super::descriptor::{Descriptor, sizes_of};
use super::dtype::trundle_dtype;
use super::error::{Failure, Result, guarded};
use super::memory::{Memory, check_pointer, list};
use super::modelled::Modelled;
use super::moved::Moved;
use super::parts::Parts;
use super::scattered::Scattered;
use super::status::{TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_SHAPE, trundle_status};
use super::told::{tell_sizes, tell_words};

/// A planned call or model, for tensors with fixed descriptions. Run it with trundle_plan_run(),
/// trundle_plan_run_inputs(), trundle_plan_run_outputs() or trundle_plan_run_all().
pub struct trundle_plan(Way);

/// The kind of plan.
enum Way {
    Moved(Moved),
    Assembled(Assembled),
    Scattered(Box<Scattered>),
    Parts(Parts),
    Modelled(Box<Modelled>),
}

impl From<Moved> for trundle_plan {
    fn from(moved: Moved) -> trundle_plan {
        trundle_plan(Way::Moved(moved))
    }
}

impl From<Assembled> for trundle_plan {
    fn from(assembled: Assembled) -> trundle_plan {
        trundle_plan(Way::Assembled(assembled))
    }
}

impl From<Scattered> for trundle_plan {
    fn from(scattered: Scattered) -> trundle_plan {
        trundle_plan(Way::Scattered(Box::new(scattered)))
    }
}

impl From<Parts> for trundle_plan {
    fn from(parts: Parts) -> trundle_plan {
        trundle_plan(Way::Parts(parts))
    }
}

impl From<Modelled> for trundle_plan {
    fn from(modelled: Modelled) -> trundle_plan {
        trundle_plan(Way::Modelled(Box::new(modelled)))
    }
}

impl trundle_plan {
    /// Returns the number of inputs.
    fn inputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Parts(_) => 1,
            Way::Assembled(assembled) => assembled.inputs(),
            Way::Scattered(_) => 2,
            Way::Modelled(modelled) => modelled.inputs(),
        }
    }

    /// Returns the number of outputs.
    fn outputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Assembled(_) | Way::Scattered(_) => 1,
            Way::Parts(parts) => parts.outputs(),
            Way::Modelled(modelled) => modelled.outputs(),
        }
    }

    /// Returns the description of an output.
    fn output(&self, number: usize) -> Option<&Descriptor> {
        let only = |output| (number == 0).then_some(output);
        match &self.0 {
            Way::Moved(moved) => only(&moved.pair.out),
            Way::Assembled(assembled) => only(assembled.output()),
            Way::Scattered(scattered) => only(scattered.output()),
            Way::Parts(parts) => parts.output(number),
            Way::Modelled(modelled) => modelled.output(number),
        }
    }

    /// Checks the memory of the tensors and of `others`, which the call also reads, and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the outputs.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        outs: &[*mut c_void],
        others: &[Memory],
    ) -> Result<()> {
        check_count("input", self.inputs(), data.len())?;
        check_count("output", self.outputs(), outs.len())?;
        // SAFETY: the caller owns the memory of all tensors.
        unsafe {
            match (&self.0, data, outs) {
                (Way::Moved(moved), [data], [out]) => moved.run(*data, *out, others),
                (Way::Assembled(assembled), _, [out]) => assembled.run(data, *out, others),
                (Way::Scattered(scattered), [data, updates], [out]) => {
                    scattered.run([*data, *updates], *out, others)
                }
                (Way::Parts(parts), [data], _) => parts.run(*data, outs, others),
                (Way::Modelled(modelled), _, _) => modelled.run(data, outs, others),
                _ => unreachable!("inputs and outputs are counted"),
            }
        }
    }
}

#[cfg(test)]
impl trundle_plan {
    /// Returns the plan of a chain with one input.
    pub(crate) fn of_chain(&self) -> &trundle::Plan {
        match &self.0 {
            Way::Moved(moved) => &moved.plan,
            _ => panic!("of several tensors"),
        }
    }
}

impl fmt::Display for trundle_plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Way::Moved(moved) => moved.plan.fmt(f),
            Way::Assembled(assembled) => assembled.fmt(f),
            Way::Scattered(scattered) => scattered.fmt(f),
            Way::Parts(parts) => parts.fmt(f),
            Way::Modelled(modelled) => modelled.fmt(f),
        }
    }
}

/// Runs a plan with one input and one output. Several threads may run the same plan at once.
///
/// - `plan`: the plan. Plans with more inputs or outputs need trundle_plan_run_inputs(), trundle_plan_run_outputs()
///   or trundle_plan_run_all().
/// - `data`, `out`: the tensors, laid out as described when the plan was made.
///
/// Returns TRUNDLE_ERROR_SHAPE if the plan has more inputs or outputs, or TRUNDLE_ERROR_OVERLAP.
///
/// A run allocates no memory, with two exceptions. Buffers between passes are allocated with the plan, but a run
/// concurrent with another one allocates its own. A move that splits into too many pieces is planned piece by piece
/// in each run; trundle_plan_describe() then says "in tiles".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run(
    plan: *const trundle_plan,
    data: *const c_void,
    out: *mut c_void,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        // SAFETY: `plan` comes from a planning function, and the caller owns the memory of its tensors.
        unsafe { (*plan).run(&[data], &[out], &[]) }
    })
}

/// Runs a plan with several inputs and one output.
///
/// - `plan`: the plan.
/// - `inputs`, `count`: the data of all inputs, in the order of the plan, laid out as described when the plan was
///   made. Inputs may share memory.
/// - `out`: the output, laid out as described when the plan was made.
///
/// Returns the errors of trundle_plan_run(). It allocates as trundle_plan_run() does, and a list if there are more
/// than 64 inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_inputs(
    plan: *const trundle_plan,
    inputs: *const *const c_void,
    count: usize,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        let inputs = list("inputs", inputs, count)?;
        (*plan).run(inputs, &[out], &[Memory::of("inputs", inputs)])
    })
}

/// Runs a plan with one input and several outputs.
///
/// - `plan`: the plan.
/// - `data`: the input, laid out as described when the plan was made.
/// - `outputs`, `count`: the memory of all outputs, in the order of the plan, laid out as described when the plan
///   was made. Outputs must not overlap each other.
///
/// Returns the errors of trundle_plan_run(). It allocates as trundle_plan_run() does, and a list if there are more
/// than 64 outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_outputs(
    plan: *const trundle_plan,
    data: *const c_void,
    outputs: *const *mut c_void,
    count: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        let outputs = list("outputs", outputs, count)?;
        (*plan).run(&[data], outputs, &[Memory::of("outputs", outputs)])
    })
}

/// Runs any plan.
///
/// - `plan`: the plan.
/// - `inputs`, `input_count`: as in trundle_plan_run_inputs().
/// - `outputs`, `output_count`: as in trundle_plan_run_outputs(). No output may overlap an input.
///
/// Returns the errors of trundle_plan_run(). It allocates as trundle_plan_run() does, and lists if there are more
/// than 64 inputs or outputs; the constants that a model moves count as inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_all(
    plan: *const trundle_plan,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        let inputs = list("inputs", inputs, input_count)?;
        let outputs = list("outputs", outputs, output_count)?;
        let lists = [Memory::of("inputs", inputs), Memory::of("outputs", outputs)];
        (*plan).run(inputs, outputs, &lists)
    })
}

/// Gets the element type and the sizes of an output. Outputs of a model are packed and row-major.
///
/// - `plan`: the plan.
/// - `output`: the index of the output, from 0.
/// - `dtype`: receives the element type; may be NULL.
/// - `sizes`, `capacity`, `rank`: as in trundle_chain_out_sizes().
///
/// Returns TRUNDLE_ERROR_NUMBER if there is no such output, or TRUNDLE_ERROR_BUFFER_SIZE if `sizes` is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_output(
    plan: *const trundle_plan,
    output: usize,
    dtype: *mut trundle_dtype,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to; `plan`
    // comes from a planning function.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        check_pointer("rank", rank)?;
        if !dtype.is_null() {
            check_pointer("dtype", dtype)?;
        }
        let outputs = (*plan).outputs();
        let out = (*plan).output(output).ok_or_else(|| {
            let message = format!("output {output} is out of range: the plan has {outputs}");
            Failure::new(TRUNDLE_ERROR_NUMBER, message)
        })?;
        tell_sizes(sizes_of(out.layout().shape()), sizes, capacity, rank)?;
        if !dtype.is_null() {
            dtype.write(out.number().unwrap_or_default());
        }
        Ok(())
    })
}

/// Describes a plan for people: its passes over memory and, for each pass, the operators, the source of every
/// element, the loops, kernels and threads. The text has several lines and may change with any version.
///
/// - `plan`: the plan.
/// - `buffer`, `capacity`: a buffer of `capacity` bytes for the text in UTF-8 and a NUL. With a capacity of 0 only
///   `needed` is written, and `buffer` may be NULL.
/// - `needed`: receives the size of the text in bytes, including the NUL; may be NULL.
///
/// Returns TRUNDLE_ERROR_BUFFER_SIZE, and writes nothing, if the buffer is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_describe(
    plan: *const trundle_plan,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        tell_words(&*plan, buffer, capacity, needed)
    })
}

/// Frees a plan that no thread is running. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_free(plan: *mut trundle_plan) {
    guarded(|| {
        if !plan.is_null() {
            // SAFETY: `plan` comes from a planning function, and no thread uses it any more.
            drop(unsafe { Box::from_raw(plan) });
        }
        Ok(())
    });
}

/// Checks that a plan is run on as many tensors as it was made for.
fn check_count(what: &str, planned: usize, given: usize) -> Result<()> {
    if given == planned {
        return Ok(());
    }
    let plural = if planned == 1 { "" } else { "s" };
    let message = format!("the plan is for {planned} {what}{plural}, and is run on {given}");
    Err(Failure::new(TRUNDLE_ERROR_SHAPE, message))
}

/// Writes the plan that `make` returns to `plan`.
///
/// # Safety
/// A `plan` that is aligned and not null points to a pointer.
pub(crate) unsafe fn made(
    plan: *mut *mut trundle_plan,
    make: impl FnOnce() -> Result<trundle_plan>,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        let made = Box::new(make()?);
        // SAFETY: the pointer is aligned and not null, so the caller has a pointer there.
        unsafe { plan.write(Box::into_raw(made)) };
        Ok(())
    })
}
