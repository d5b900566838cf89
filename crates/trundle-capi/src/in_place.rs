//! Operators within the memory of a tensor.

use std::ffi::{c_char, c_void};

use trundle::TensorViewMut;

use super::chain::{planning_failed, read};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, entries, list};
use super::pair::Pair;
use super::status::trundle_status;

/// trundle_roll() within the memory of `data`: elements take each other's places, with a sixteenth of the tensor, or 1 MiB if
/// that is more, of memory beside it at most. What cannot be done so is done through a copy: of types whose elements share
/// bytes, and of some chains. If the call is stopped in the middle, as the process is, the tensor is torn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_roll_in_place(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    shift: *const i64,
    shift_len: usize,
    axes: *const i64,
    axes_len: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let (shift, axes) = (list("shift", shift, shift_len)?, list("axes", axes, axes_len)?);
        let lists = [Memory::of("shift", shift), Memory::of("axes", axes)];
        Ok(trundle::roll_in_place(&mut view(data_desc, data, &lists)?, shift, axes)?)
    })
}

/// trundle_flip() within the memory of `data`, as trundle_roll_in_place() has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_flip_in_place(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    axes: *const i64,
    axes_len: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let axes = list("axes", axes, axes_len)?;
        let lists = [Memory::of("axes", axes)];
        Ok(trundle::flip_in_place(&mut view(data_desc, data, &lists)?, axes)?)
    })
}

/// trundle_transpose() within the memory of `data`, as trundle_roll_in_place() has it. If the sizes of the tensor change, it has to be
/// packed and row-major, and so is the result in the same memory. That takes several times as long as to other memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_transpose_in_place(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    order: *const i64,
    order_len: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let order = list("order", order, order_len)?;
        let lists = [Memory::of("order", order)];
        Ok(trundle::transpose_in_place(&mut view(data_desc, data, &lists)?, order)?)
    })
}

/// trundle_reverse_subsequences() within the memory of `data`, as trundle_roll_in_place() has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_subsequences_in_place(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    lengths_desc: *const trundle_tensor_desc,
    lengths: *const c_void,
    axis: u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, data_desc)?;
        let lengths_desc = Descriptor::read("lengths", lengths_desc)?;
        pair.check_lengths(&lengths_desc, axis)?;
        let memory = lengths_desc.memory(lengths.cast())?;
        let mut data = view(data_desc, data, &[memory])?;
        let lengths = lengths_desc.view(&memory)?;
        Ok(trundle::reverse_subsequences_in_place(&mut data, &lengths, axis.into())?)
    })
}

/// trundle_reverse_sequence() within the memory of `data`, as trundle_roll_in_place() has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_reverse_sequence_in_place(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    lengths: *const i64,
    lengths_len: usize,
    axis: i64,
    batch_axis: i64,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Pair::read(data_desc, data_desc)?.check_batches(lengths_len, batch_axis)?;
        let lengths = entries("lengths", lengths, lengths_len)?;
        let mut data = view(data_desc, data, &[Memory::of("lengths", lengths)])?;
        Ok(trundle::reverse_sequence_in_place(&mut data, lengths, axis, batch_axis)?)
    })
}

/// A chain of operators of one tensor within the memory of `data`, as trundle_roll_in_place() has it; `chain` is as in
/// trundle_chain_plan(). If the sizes of the tensor change, it has to be packed and row-major, and so is the result
/// in the same memory. A result of more or fewer elements is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_in_place(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let chain = read(chain)?;
        chain.move_in_place(&mut view(data_desc, data, &[])?).map_err(planning_failed)
    })
}

/// A tensor in its memory, once it is known that it is apart from all that is read.
///
/// # Safety
/// As [`Descriptor::read`]; the memory is the caller's, and during `'a` nobody else reads it or writes to it.
unsafe fn view<'a>(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    others: &[Memory],
) -> Result<TensorViewMut<'a>> {
    // SAFETY: by the caller.
    unsafe {
        let desc = Descriptor::read("data", data_desc)?;
        let memory = desc.memory(data.cast())?;
        others.iter().try_for_each(|other| memory.check_apart(other))?;
        desc.view_mut(&memory)
    }
}
