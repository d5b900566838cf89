//! The operators of one tensor, and their plans.

use std::ffi::c_void;

use trundle::Op;
use trundle::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, entries, list};
use super::moved::Moved;
use super::one_shot::moved;
use super::pair::Pair;
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// Shifts elements along axes, in at one end what goes out at the other:
/// out[(i + shift) mod size] = data[i]. OpenVINO's Roll-7.
///
/// `shift` has one entry for each entry of `axes`, or one for all of them (`shift_len` 1). Axes may
/// be negative, counting from the end, and may repeat: their shifts add. `out` has the sizes and the
/// type of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_roll(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    shift: *const i64,
    shift_len: usize,
    axes: *const i64,
    axes_len: usize,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    let lists = [("shift", shift, shift_len), ("axes", axes, axes_len)];
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    unsafe { moved(Roll::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
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

/// Puts the axes in another order: out.sizes[i] = data.sizes[order[i]]. OpenVINO's Transpose-1.
///
/// `order` holds each axis once, and none of them negative; an empty one (`order_len` 0) inverts
/// the axes. `out` has the transposed sizes and the type of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_transpose(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    order: *const i64,
    order_len: usize,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    let lists = [("order", order, order_len)];
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    unsafe { moved(Transpose::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
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

/// Puts the elements in the opposite order along `axes`. Negative axes count from the end. `out` has
/// the sizes and the type of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_flip(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    axes: *const i64,
    axes_len: usize,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    let lists = [("axes", axes, axes_len)];
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    unsafe { moved(Flip::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
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

/// Reverses, for each position outside `axis`, the first `length` elements along it, and copies the
/// rest. DirectML's DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC; for its form see
/// trundle_directml_reverse_subsequences().
///
/// `lengths` is a tensor of u32 or u64 with the sizes of `data`, but 1 on `axis`. A length over the
/// size of the axis counts as the size. `out` has the sizes and the type of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_subsequences(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    lengths_desc: *const trundle_tensor_desc,
    lengths: *const c_void,
    axis: u32,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let lengths_desc = Descriptor::read("lengths", lengths_desc)?;
        pair.check_lengths(&lengths_desc, axis)?;
        let lengths_memory = lengths_desc.memory(lengths.cast())?;
        let (data, mut out) = pair.views(data, out, &[lengths_memory])?;
        let lengths = lengths_desc.view(&lengths_memory)?;
        Ok(trundle::reverse_subsequences_into(&data, &lengths, axis.into(), &mut out)?)
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

/// Reverses the first `lengths[b]` elements along `axis` at each index b of `batch_axis`, and copies
/// the rest. ReverseSequence of ONNX, TensorFlow and OpenVINO.
///
/// There is one length for each index of `batch_axis`; one below 0 or over the size of `axis` is
/// refused. Negative axes count from the end. `out` has the sizes and the type of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_sequence(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    lengths: *const i64,
    lengths_len: usize,
    axis: i64,
    batch_axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        pair.check_batches(lengths_len, batch_axis)?;
        let lengths = entries("lengths", lengths, lengths_len)?;
        let (data, mut out) = pair.views(data, out, &[Memory::of("lengths", lengths)])?;
        Ok(trundle::reverse_sequence_into(&data, lengths, axis, batch_axis, &mut out)?)
    })
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
