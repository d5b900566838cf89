//! Functions that apply an operator in place, within the memory of a tensor.

use std::ffi::{c_char, c_void};

use trundle::TensorViewMut;

use super::chain::{planning_failed, read};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{CallerMemory, entries, list};
use super::pair::Pair;
use super::status::trundle_status;

/// Runs trundle_roll() within the memory of `data`. The result has the same description as the input.
///
/// The call needs additional memory of at most a sixteenth of the tensor, or of 1 MiB if that is more. If elements
/// share bytes, and for some chains, the call moves through a copy, which needs as much additional memory as the
/// tensor. If the process ends during the call, the contents of the tensor are undefined.
///
/// - `data_desc`, `data`: the tensor.
/// - `shift`, `shift_len`, `axes`, `axes_len`: as in trundle_roll().
///
/// Returns the errors of trundle_roll().
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
        let lists = [CallerMemory::of("shift", shift), CallerMemory::of("axes", axes)];
        Ok(trundle::roll_in_place(&mut view(data_desc, data, &lists)?, shift, axes)?)
    })
}

/// Runs trundle_flip() within the memory of `data`; see trundle_roll_in_place().
///
/// - `data_desc`, `data`: the tensor.
/// - `axes`, `axes_len`: as in trundle_flip().
///
/// Returns the errors of trundle_flip().
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
        let lists = [CallerMemory::of("axes", axes)];
        Ok(trundle::flip_in_place(&mut view(data_desc, data, &lists)?, axes)?)
    })
}

/// Runs trundle_transpose() within the memory of `data`; see trundle_roll_in_place(). This takes several times as long
/// as trundle_transpose().
///
/// - `data_desc`, `data`: the tensor. If the transpose changes the sizes, the tensor must be row-major without gaps,
///   and the result is also row-major without gaps.
/// - `order`, `order_len`: as in trundle_transpose().
///
/// Returns the errors of trundle_transpose().
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
        let lists = [CallerMemory::of("order", order)];
        Ok(trundle::transpose_in_place(&mut view(data_desc, data, &lists)?, order)?)
    })
}

/// Runs trundle_reverse_subsequences() within the memory of `data`; see trundle_roll_in_place().
///
/// - `data_desc`, `data`: the tensor.
/// - `lengths_desc`, `lengths`, `axis`: as in trundle_reverse_subsequences().
///
/// Returns the errors of trundle_reverse_subsequences().
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
        let (lengths_desc, memory) = pair.read_lengths(lengths_desc, lengths, axis)?;
        let mut data = view(data_desc, data, &[memory])?;
        let lengths = lengths_desc.view(&memory)?;
        Ok(trundle::reverse_subsequences_in_place(&mut data, &lengths, axis.into())?)
    })
}

/// Runs trundle_reverse_sequence() within the memory of `data`; see trundle_roll_in_place().
///
/// - `data_desc`, `data`: the tensor.
/// - `lengths`, `lengths_len`, `axis`, `batch_axis`: as in trundle_reverse_sequence().
///
/// Returns the errors of trundle_reverse_sequence().
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
        let mut data = view(data_desc, data, &[CallerMemory::of("lengths", lengths)])?;
        Ok(trundle::reverse_sequence_in_place(&mut data, lengths, axis, batch_axis)?)
    })
}

/// Runs a chain with one input within the memory of `data`; see trundle_roll_in_place().
///
/// - `chain`: as in trundle_chain_plan(). The result must have as many elements as the tensor.
/// - `data_desc`, `data`: the tensor. If the chain changes the sizes, the tensor must be row-major without gaps, and
///   the result is also row-major without gaps.
///
/// Returns the errors of trundle_chain_plan().
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

/// Checks that a tensor does not overlap `others`, and returns a view of it.
///
/// # Safety
/// As [`Descriptor::read`]. The memory belongs to the caller, and during `'a` no other thread reads it or writes to it.
unsafe fn view<'a>(
    data_desc: *const trundle_tensor_desc,
    data: *mut c_void,
    others: &[CallerMemory],
) -> Result<TensorViewMut<'a>> {
    // SAFETY: the caller guarantees a valid description and exclusive access to the memory.
    unsafe {
        let desc = Descriptor::read("data", data_desc)?;
        let memory = desc.memory(data.cast())?;
        others.iter().try_for_each(|other| memory.check_apart(other))?;
        desc.view_mut(&memory)
    }
}
