//! Planned calls: everything is decided once, and run often.

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

/// A call, or a model, that is decided down to its loops, for tensors that lie as was described: see
/// trundle_plan_run(), trundle_plan_run_inputs(), trundle_plan_run_outputs() and trundle_plan_run_all().
pub struct trundle_plan(Way);

/// How it is done.
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
    /// How many tensors it reads.
    fn inputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Parts(_) => 1,
            Way::Assembled(assembled) => assembled.inputs(),
            Way::Scattered(_) => 2,
            Way::Modelled(modelled) => modelled.inputs(),
        }
    }

    /// How many it writes.
    fn outputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Assembled(_) | Way::Scattered(_) => 1,
            Way::Parts(parts) => parts.outputs(),
            Way::Modelled(modelled) => modelled.outputs(),
        }
    }

    /// One that it writes.
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

    /// Runs it on tensors that lie as was described, once it is known that they and `others`, which
    /// the call reads too, are as they must be.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the
    /// outputs'.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        outs: &[*mut c_void],
        others: &[Memory],
    ) -> Result<()> {
        check_count("input", self.inputs(), data.len())?;
        check_count("output", self.outputs(), outs.len())?;
        // SAFETY: the caller guarantees it, see `# Safety`.
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
    /// The plan of operators of one tensor.
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

/// Does what was planned, from `data` to `out`, which lie in memory as was described. Several threads
/// may run one plan at once. A plan of several inputs or outputs is refused: see trundle_plan_run_inputs(),
/// trundle_plan_run_outputs() and trundle_plan_run_all().
///
/// It allocates no memory, with two exceptions. What lies between several passes over memory is
/// allocated with the plan; a run beside another one allocates its own. And what falls into too many
/// pieces is planned piece by piece in each run, of which trundle_plan_describe() says "in tiles".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run(
    plan: *const trundle_plan,
    data: *const c_void,
    out: *mut c_void,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        // SAFETY: the caller has this plan from a function that makes plans. What its tensors cover is
        // the caller's.
        unsafe { (*plan).run(&[data], &[out], &[]) }
    })
}

/// Does what was planned, from `count` inputs to `out`, which lie in memory as was described: from as
/// many, and in the order, as the plan was made for. All else is as trundle_plan_run() has it; of more
/// than 64 inputs it allocates a list. One memory may be several inputs.
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

/// Does what was planned, from `data` to `count` outputs, which lie in memory as was described: to as many,
/// and in the order, as the plan was made for. The memory of each output must be apart from that of the
/// others too. All else is as trundle_plan_run() has it; of more than 64 outputs it allocates a list.
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

/// Does what was planned, from `input_count` inputs to `output_count` outputs, which lie in memory as was
/// described: from and to as many, and in the order, as the plan was made for; plans of one input or output
/// too. The memory of each output must be apart from that of the others too, and of all inputs. All else is
/// as trundle_plan_run() has it; of more than 64 inputs or outputs it allocates lists, and the constants
/// that a model moves count as inputs. One memory may be several inputs.
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

/// Says what output number `output` of a plan is, from 0 on: its element type is written to `dtype`, which
/// may be NULL, and its sizes to `sizes`, as trundle_chain_out_sizes() has it. Those of a model are packed,
/// row-major.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_output(
    plan: *const trundle_plan,
    output: usize,
    dtype: *mut trundle_dtype,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says, and are checked before they are written to; the plan
    // is as above.
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

/// Says in words how a plan does it: its passes over memory, and of each the operators, where every
/// element comes from, and the loops, kernels and threads. The words are for people, UTF-8 in several
/// lines, and others in other versions.
///
/// They are written to `buffer`, which has room for `capacity` bytes, with a NUL behind them; and how
/// many bytes that takes, the NUL too, to `needed`, which may be NULL. With a capacity of 0 only that
/// is asked for, and `buffer` may be NULL; with one that is too small otherwise nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_describe(
    plan: *const trundle_plan,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> trundle_status {
    // SAFETY: the caller has this plan from a function that makes plans; pointers lead to what the header says.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        tell_words(&*plan, buffer, capacity, needed)
    })
}

/// Frees a plan, which no thread may be running. NULL is no plan, and nothing is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_free(plan: *mut trundle_plan) {
    guarded(|| {
        if !plan.is_null() {
            // SAFETY: the caller has this plan from a function that makes plans, and nobody uses it.
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

/// Writes what `make` makes to `plan`.
///
/// # Safety
/// A `plan` that is not null and aligned leads to a pointer.
pub(crate) unsafe fn made(
    plan: *mut *mut trundle_plan,
    make: impl FnOnce() -> Result<trundle_plan>,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        let made = Box::new(make()?);
        // SAFETY: it is aligned and no null pointer, so the caller has a pointer there.
        unsafe { plan.write(Box::into_raw(made)) };
        Ok(())
    })
}
