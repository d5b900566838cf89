//! Planned calls: everything is decided once, and run often.

use std::ffi::{c_char, c_void};
use std::fmt;

use super::assembled::Assembled;
use super::error::{Failure, Result, guarded};
use super::memory::{Memory, check_pointer, check_room, list};
use super::moved::Moved;
use super::parts::Parts;
use super::scattered::Scattered;
use super::status::{TRUNDLE_ERROR_SHAPE, trundle_status};

/// A call that is decided down to its loops, for tensors that lie as was described: see
/// trundle_plan_run(), trundle_plan_run_inputs() and trundle_plan_run_outputs().
pub struct trundle_plan(Way);

/// How it is done.
enum Way {
    Moved(Moved),
    Assembled(Assembled),
    Scattered(Scattered),
    Parts(Parts),
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
        trundle_plan(Way::Scattered(scattered))
    }
}

impl From<Parts> for trundle_plan {
    fn from(parts: Parts) -> trundle_plan {
        trundle_plan(Way::Parts(parts))
    }
}

impl trundle_plan {
    /// How many tensors it reads.
    fn inputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Parts(_) => 1,
            Way::Assembled(assembled) => assembled.inputs(),
            Way::Scattered(_) => 2,
        }
    }

    /// How many it writes.
    fn outputs(&self) -> usize {
        match &self.0 {
            Way::Moved(_) | Way::Assembled(_) | Way::Scattered(_) => 1,
            Way::Parts(parts) => parts.outputs(),
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
        // SAFETY: the contract is the same.
        unsafe {
            match (&self.0, data, outs) {
                (Way::Moved(moved), [data], [out]) => moved.run(*data, *out, others),
                (Way::Assembled(assembled), _, [out]) => assembled.run(data, *out, others),
                (Way::Scattered(scattered), [data, updates], [out]) => {
                    scattered.run([*data, *updates], *out, others)
                }
                (Way::Parts(parts), [data], _) => parts.run(*data, outs, others),
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
        }
    }
}

/// Does what was planned, from `data` to `out`, which lie in memory as was described. Several threads
/// may run one plan at once. A plan of several inputs or outputs is refused: see trundle_plan_run_inputs()
/// and trundle_plan_run_outputs().
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
    // SAFETY: pointers lead to what the header says; the plan is as above.
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
    // SAFETY: pointers lead to what the header says; the plan is as above.
    guarded(|| unsafe {
        check_pointer("plan", plan)?;
        let outputs = list("outputs", outputs, count)?;
        (*plan).run(&[data], outputs, &[Memory::of("outputs", outputs)])
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
    guarded(|| {
        check_pointer("plan", plan)?;
        if !needed.is_null() {
            check_pointer("needed", needed)?;
        }
        // SAFETY: the caller has this plan from a function that makes plans.
        let words = unsafe { &*plan }.to_string();
        let bytes = words.len() + 1;
        if capacity > 0 {
            check_room("buffer", buffer, capacity, bytes)?;
            // SAFETY: it is no null pointer and there is room, so the caller has these bytes there;
            // the words are memory of our own.
            unsafe {
                buffer.copy_from_nonoverlapping(words.as_ptr().cast(), words.len());
                buffer.add(words.len()).write(0);
            }
        }
        if !needed.is_null() {
            // SAFETY: it is aligned and no null pointer, so the caller has a number there.
            unsafe { needed.write(bytes) };
        }
        Ok(())
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
