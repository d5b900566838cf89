//! Planned calls: everything is decided once, and run often.

use std::ffi::{c_char, c_void};
use std::fmt;

use trundle::Op;
use trundle::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Take, Transpose};

use super::assembled::{Assembled, check_count};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::gathers::read_indices;
use super::joins::{concatenation, padding, trundle_pad_mode};
use super::memory::{Memory, check_pointer, check_room, entries, list};
use super::moved::Moved;
use super::pair::Pair;
use super::status::trundle_status;

/// A call that is decided down to its loops, for tensors that lie as was described: see
/// trundle_plan_run() and trundle_plan_run_inputs().
pub struct trundle_plan(Way);

/// How it is done.
enum Way {
    Moved(Moved),
    Assembled(Assembled),
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

impl trundle_plan {
    /// Runs it on tensors that lie as was described, once it is known that they and `others`, which
    /// the call reads too, are as they must be.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the
    /// output's.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        match (&self.0, data) {
            // SAFETY: the contract is the same.
            (Way::Moved(moved), [data]) => unsafe { moved.run(*data, out, others) },
            (Way::Moved(_), _) => check_count(1, data.len()),
            // SAFETY: the same.
            (Way::Assembled(assembled), _) => unsafe { assembled.run(data, out, others) },
        }
    }
}

#[cfg(test)]
impl trundle_plan {
    /// The plan of operators of one tensor.
    pub(crate) fn of_chain(&self) -> &trundle::Plan {
        match &self.0 {
            Way::Moved(moved) => &moved.plan,
            Way::Assembled(_) => panic!("a program of tensors"),
        }
    }
}

impl fmt::Display for trundle_plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Way::Moved(moved) => moved.plan.fmt(f),
            Way::Assembled(assembled) => assembled.fmt(f),
        }
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

/// Plans trundle_concatenate() of `count` tensors, which are described one after another. The plan is
/// written to `plan`, and is the caller's to free; it is run by trundle_plan_run_inputs().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_concatenate_plan(
    input_descs: *const trundle_tensor_desc,
    count: usize,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let descs = list("input_descs", input_descs, count)?;
            concatenation(descs.iter().map(|desc| &raw const *desc), axis, out_desc)
        })
    }
}

/// Plans trundle_pad() by these widths and with this value, which are read now and not again. The
/// plan is written to `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_pad_plan(
    data_desc: *const trundle_tensor_desc,
    widths: *const i64,
    widths_len: usize,
    mode: trundle_pad_mode,
    value: *const c_void,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            padding(pair, list("widths", widths, widths_len)?, mode, value)
        })
    }
}

/// Plans trundle_gather() at these indices, which are read now and not again. The plan is written to
/// `plan`, and is the caller's to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            let indices_desc = Descriptor::read("indices", indices_desc)?;
            pair.check_indices(&indices_desc, axis)?;
            let memory = indices_desc.memory(indices.cast())?;
            if pair.out.layout().shape().elements() == 0 {
                return Ok(Assembled::of_nothing(pair.data, pair.out)?.into());
            }
            let indices = read_indices(&indices_desc, &memory)?;
            Ok(Moved::new(pair, Take::new(axis, indices))?.into())
        })
    }
}

/// Does what was planned, from `data` to `out`, which lie in memory as was described. Several threads
/// may run one plan at once. A plan of several inputs is refused: see trundle_plan_run_inputs().
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
        // SAFETY: the caller has this plan from one of the functions above. What its tensors cover
        // is the caller's.
        unsafe { (*plan).run(&[data], out, &[]) }
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
        (*plan).run(inputs, out, &[Memory::of("inputs", inputs)])
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
            Ok(Moved::new(pair, op)?.into())
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
