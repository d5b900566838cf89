//! The operators: one call, one tensor.

use std::ffi::c_void;

use trundle::ops::{Flip, Roll, Transpose};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::guarded;
use super::memory::{Memory, entries};
use super::one_shot::moved;
use super::pair::Pair;
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
