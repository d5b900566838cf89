//! Planned calls: everything is decided once, and run often.

use std::ffi::{c_char, c_void};

use trundle::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle::{Chain, Op, Plan, PlanError};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, check_pointer, check_room, entries, list};
use super::pair::Pair;
use super::status::trundle_status;

/// An operator or a chain decided for two tensors, down to its loops: see trundle_plan_run().
pub struct trundle_plan {
    pair: Pair,
    pub(crate) plan: Plan,
}

impl trundle_plan {
    pub(crate) fn new(pair: Pair, op: impl Into<Op>) -> Result<trundle_plan> {
        Ok(trundle_plan::of_chain(pair, &Chain::new().then(op))?)
    }

    pub(crate) fn of_chain(pair: Pair, chain: &Chain) -> Result<trundle_plan, PlanError> {
        let (data, out) = (pair.data.layout(), pair.out.layout());
        let plan = Plan::new(chain, pair.data.width(), data, out, None)?;
        Ok(trundle_plan { pair, plan })
    }

    /// Runs it on tensors that lie as was described, once it is known that they and `others`, which
    /// the call reads too, are as they must be.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the
    /// output's.
    pub(crate) unsafe fn run(
        &self,
        data: *const c_void,
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        let (data, out) = self.pair.memory(data, out, others)?;
        // SAFETY: the output is apart from the data; the rest is the caller's word.
        Ok(unsafe { self.plan.run(data.read(), out.write()) }?)
    }
}

/// Plans trundle_roll(). The plan is written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_roll_plan(
    data_desc: *const trundle_tensor_desc,
    shift: *const i64,
    shift_len: usize,
    axes: *const i64,
    axes_len: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        planned(data_desc, out_desc, plan, |_| {
            let shift = list("shift", shift, shift_len)?;
            Ok(Roll::new(shift, list("axes", axes, axes_len)?))
        })
    }
}

/// Plans trundle_transpose(). The plan is written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_transpose_plan(
    data_desc: *const trundle_tensor_desc,
    order: *const i64,
    order_len: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        planned(data_desc, out_desc, plan, |_| Ok(Transpose::new(list("order", order, order_len)?)))
    }
}

/// Plans trundle_flip(). The plan is written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_flip_plan(
    data_desc: *const trundle_tensor_desc,
    axes: *const i64,
    axes_len: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe { planned(data_desc, out_desc, plan, |_| Ok(Flip::new(list("axes", axes, axes_len)?))) }
}

/// Plans trundle_reverse_subsequences() for these lengths, which are read now and not again. The
/// plan is written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_subsequences_plan(
    data_desc: *const trundle_tensor_desc,
    lengths_desc: *const trundle_tensor_desc,
    lengths: *const c_void,
    axis: u32,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        planned(data_desc, out_desc, plan, |pair| {
            let lengths_desc = Descriptor::read("lengths", lengths_desc)?;
            pair.check_lengths(&lengths_desc, axis)?;
            let lengths = lengths_desc.view(&lengths_desc.memory(lengths.cast())?)?;
            Ok(ReverseSubsequences::from_view(axis.into(), &lengths)?)
        })
    }
}

/// Plans trundle_reverse_sequence() for these lengths, which are read now and not again. The plan is
/// written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_sequence_plan(
    data_desc: *const trundle_tensor_desc,
    lengths: *const i64,
    lengths_len: usize,
    axis: i64,
    batch_axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        planned(data_desc, out_desc, plan, |pair| {
            pair.check_batches(lengths_len, batch_axis)?;
            let lengths = entries("lengths", lengths, lengths_len)?;
            let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
            Ok(ReverseSequence::new(axis, batch_axis, lengths))
        })
    }
}

/// Does what was planned, from `data` to `out`, which lie in memory as was described. Several threads
/// may run one plan at once. It allocates no memory, unless a chain takes several passes and other
/// threads run the plan just now: then what lies between the passes is allocated for this run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run(
    plan: *const trundle_plan,
    data: *const c_void,
    out: *mut c_void,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        // SAFETY: the caller has this plan from one of the functions above. What its tensors cover
        // is the caller's.
        unsafe { (*plan).run(data, out, &[]) }
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
        // SAFETY: the caller has this plan from one of the functions above.
        let words = unsafe { &*plan }.plan.to_string();
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
            // SAFETY: the caller has this plan from one of the functions above, and nobody uses it.
            drop(unsafe { Box::from_raw(plan) });
        }
        Ok(())
    });
}

/// Plans the operator that `op` reads, and writes the plan to `plan`.
///
/// # Safety
/// As [`Pair::read`], and a `plan` that is not null and aligned leads to a pointer.
unsafe fn planned<O: Into<Op>>(
    data_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
    op: impl FnOnce(&Pair) -> Result<O>,
) -> trundle_status {
    // SAFETY: the contract is the same.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            let op = op(&pair)?;
            trundle_plan::new(pair, op)
        })
    }
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
