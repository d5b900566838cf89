//! Operators with one input tensor, and their plans.

use std::ffi::c_void;

use trundle::Op;
use trundle::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};

use super::descriptor::trundle_tensor_desc;
use super::error::{Result, guarded};
use super::memory::{CallerMemory, entries, list};
use super::one_shot::moved;
use super::pair::Pair;
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// Rolls elements along axes: out[(i + shift) mod size] = data[i]. Same as OpenVINO's Roll-7.
///
/// - `data_desc`, `data`: the input.
/// - `shift`, `shift_len`: shifts in elements, one for each entry of `axes`, or one for all.
/// - `axes`, `axes_len`: axes to roll. Negative axes count from the end, and the shifts of a repeated axis are added.
/// - `out_desc`, `out`: the output, with the sizes and the type of the input.
///
/// Returns TRUNDLE_ERROR_AXIS, or TRUNDLE_ERROR_SHAPE if sizes or list lengths do not match, or
/// TRUNDLE_ERROR_DTYPE.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    unsafe { moved(Roll::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
}

/// Plans trundle_roll() for tensors with these descriptions.
///
/// - `data_desc`, `shift`, `shift_len`, `axes`, `axes_len`, `out_desc`: as in trundle_roll().
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_roll().
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
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        planned(data_desc, out_desc, plan, |_| {
            let shift = list("shift", shift, shift_len)?;
            Ok(Roll::new(shift, list("axes", axes, axes_len)?))
        })
    }
}

/// Transposes axes: out.sizes[i] = data.sizes[order[i]]. Same as OpenVINO's Transpose-1.
///
/// - `data_desc`, `data`: the input.
/// - `order`, `order_len`: each axis once, without negative numbers. An empty list reverses the axes.
/// - `out_desc`, `out`: the output, with the transposed sizes and the type of the input.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or TRUNDLE_ERROR_DTYPE.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    unsafe { moved(Transpose::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
}

/// Plans trundle_transpose() for tensors with these descriptions.
///
/// - `data_desc`, `order`, `order_len`, `out_desc`: as in trundle_transpose().
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_transpose().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_transpose_plan(
    data_desc: *const trundle_tensor_desc,
    order: *const i64,
    order_len: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        planned(data_desc, out_desc, plan, |_| Ok(Transpose::new(list("order", order, order_len)?)))
    }
}

/// Reverses the elements along axes: out[i] = data[size - 1 - i]. Same as numpy's flip.
///
/// - `data_desc`, `data`: the input.
/// - `axes`, `axes_len`: axes to reverse, each once. Negative axes count from the end.
/// - `out_desc`, `out`: the output, with the sizes and the type of the input.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or TRUNDLE_ERROR_DTYPE.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    unsafe { moved(Flip::DECLARATION, (data_desc, data), lists, (out_desc, out)) }
}

/// Plans trundle_flip() for tensors with these descriptions.
///
/// - `data_desc`, `axes`, `axes_len`, `out_desc`: as in trundle_flip().
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_flip().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_flip_plan(
    data_desc: *const trundle_tensor_desc,
    axes: *const i64,
    axes_len: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe { planned(data_desc, out_desc, plan, |_| Ok(Flip::new(list("axes", axes, axes_len)?))) }
}

/// Reverses the first elements of each row along `axis`, and copies the others. Each row has its own length, the number
/// of elements to reverse. A row consists of the elements with the same indices on all other axes. Same as DirectML's
/// DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC; trundle_directml_reverse_subsequences() takes DirectML's structs.
///
/// - `data_desc`, `data`: the input.
/// - `lengths_desc`, `lengths`: a tensor of u32 or u64 with the sizes of the input, but size 1 on `axis`. A length
///   greater than the size of the axis reverses the whole row.
/// - `axis`: the axis along which elements are reversed; less than the rank.
/// - `out_desc`, `out`: the output, with the sizes and the type of the input.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or TRUNDLE_ERROR_DTYPE.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let (lengths_desc, memory) = pair.read_lengths(lengths_desc, lengths, axis)?;
        let (data, mut out) = pair.views(data, out, &[memory])?;
        let lengths = lengths_desc.view(&memory)?;
        Ok(trundle::reverse_subsequences_into(&data, &lengths, axis.into(), &mut out)?)
    })
}

/// Plans trundle_reverse_subsequences() for the given lengths.
///
/// - `data_desc`, `axis`, `out_desc`: as in trundle_reverse_subsequences().
/// - `lengths_desc`, `lengths`: as in trundle_reverse_subsequences(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_reverse_subsequences().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_subsequences_plan(
    data_desc: *const trundle_tensor_desc,
    lengths_desc: *const trundle_tensor_desc,
    lengths: *const c_void,
    axis: u32,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        planned(data_desc, out_desc, plan, |pair| {
            let (lengths_desc, memory) = pair.read_lengths(lengths_desc, lengths, axis)?;
            let lengths = lengths_desc.view(&memory)?;
            Ok(ReverseSubsequences::from_view(axis.into(), &lengths)?)
        })
    }
}

/// Reverses the first `lengths[b]` elements along `axis` at each index b of `batch_axis`, and copies the rest. Same
/// as ReverseSequence of ONNX, TensorFlow and OpenVINO.
///
/// - `data_desc`, `data`: the input.
/// - `lengths`, `lengths_len`: one length for each index of `batch_axis`, from 0 to the size of `axis`.
/// - `axis`, `batch_axis`: two different axes. Negative axes count from the end.
/// - `out_desc`, `out`: the output, with the sizes and the type of the input.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE, or TRUNDLE_ERROR_LENGTH if a length is out
/// of range.
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
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        pair.check_batches(lengths_len, batch_axis)?;
        let lengths = entries("lengths", lengths, lengths_len)?;
        let (data, mut out) = pair.views(data, out, &[CallerMemory::of("lengths", lengths)])?;
        Ok(trundle::reverse_sequence_into(&data, lengths, axis, batch_axis, &mut out)?)
    })
}

/// Plans trundle_reverse_sequence() for the given lengths.
///
/// - `data_desc`, `axis`, `batch_axis`, `out_desc`: as in trundle_reverse_sequence().
/// - `lengths`, `lengths_len`: as in trundle_reverse_sequence(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_reverse_sequence().
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
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        planned(data_desc, out_desc, plan, |pair| {
            pair.check_batches(lengths_len, batch_axis)?;
            let lengths = entries("lengths", lengths, lengths_len)?;
            let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
            Ok(ReverseSequence::new(axis, batch_axis, lengths))
        })
    }
}

/// Plans the operator that `op` returns, and writes the plan to `plan`.
///
/// # Safety
/// As [`Pair::read`] and [`made`].
unsafe fn planned<O: Into<Op>>(
    data_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
    op: impl FnOnce(&Pair) -> Result<O>,
) -> trundle_status {
    // SAFETY: the caller upholds the `# Safety` of [`Pair::read`] and [`made`].
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            let op = op(&pair)?;
            trundle_plan::of_op(pair, op)
        })
    }
}
