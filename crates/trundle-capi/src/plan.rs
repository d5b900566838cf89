//! Planned calls: everything is decided once, and run often.

use std::ffi::c_void;

use trundle::ops::{ReverseSubsequences, Roll, Transpose};
use trundle::{Chain, Op, Plan};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{check_pointer, list};
use super::pair::Pair;
use super::status::trundle_status;

/// An operator decided for two tensors, down to its loops: see trundle_plan_run().
pub struct trundle_plan {
    pair: Pair,
    plan: Plan,
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
    guarded(|| {
        // SAFETY: pointers lead to what the header says.
        unsafe {
            check_pointer("plan", plan)?;
            let pair = Pair::read(data_desc, out_desc)?;
            let shift = list("shift", shift, shift_len)?;
            let op = Roll::new(shift, list("axes", axes, axes_len)?);
            plan.write(planned(op, pair)?);
        }
        Ok(())
    })
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
    guarded(|| {
        // SAFETY: pointers lead to what the header says.
        unsafe {
            check_pointer("plan", plan)?;
            let pair = Pair::read(data_desc, out_desc)?;
            let op = Transpose::new(list("order", order, order_len)?);
            plan.write(planned(op, pair)?);
        }
        Ok(())
    })
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
    guarded(|| {
        // SAFETY: pointers lead to what the header says.
        unsafe {
            check_pointer("plan", plan)?;
            let pair = Pair::read(data_desc, out_desc)?;
            let lengths_desc = Descriptor::read("lengths", lengths_desc)?;
            pair.check_lengths(&lengths_desc, axis)?;
            let lengths = lengths_desc.view(&lengths_desc.memory(lengths.cast())?)?;
            let op = ReverseSubsequences::from_view(axis.into(), &lengths)?;
            plan.write(planned(op, pair)?);
        }
        Ok(())
    })
}

/// Does what was planned, from `data` to `out`, which lie in memory as was described. It allocates
/// no memory, and several threads may run one plan at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run(
    plan: *const trundle_plan,
    data: *const c_void,
    out: *mut c_void,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        // SAFETY: the caller has this plan from one of the functions above. What its tensors cover
        // is the caller's, and the output is apart from the data.
        unsafe {
            let trundle_plan { pair, plan } = &*plan;
            let (data, out) = pair.memory(data, out, &[])?;
            Ok(plan.run(data.read(), out.write())?)
        }
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

/// The plan of one operator, as C holds it.
fn planned(op: impl Into<Op>, pair: Pair) -> Result<*mut trundle_plan> {
    let (data, out) = (pair.data.layout(), pair.out.layout());
    let plan = Plan::new(&Chain::new().then(op), pair.data.width(), data, out, None)?;
    Ok(Box::into_raw(Box::new(trundle_plan { pair, plan })))
}
