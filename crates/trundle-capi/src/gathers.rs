//! Gathers: functions that read elements at the indices in a tensor.

use std::ffi::c_void;

use super::descriptor::trundle_tensor_desc;
use super::error::guarded;
use super::indexed::{Indexed, Indexing};
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// Gathers slices at indices along one axis. In the output, the axes of the indices replace this axis. Same as Gather
/// of ONNX and OpenVINO, and numpy's take.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64, of any sizes. Indices from -size to -1 count from the end
///   of the axis.
/// - `axis`: the axis of the input to which the indices refer. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type of the input. Its sizes are the input's sizes, with the sizes of the
///   indices instead of the size of `axis`.
///
/// Returns TRUNDLE_ERROR_INDEX if an index is out of range, TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or
/// TRUNDLE_ERROR_DTYPE. If the output has no elements, the indices are not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let gather = Indexed::gather(Indexing::Axis(axis), data_desc, indices_desc, out_desc)?;
        gather.run(&[data], indices, out)
    })
}

/// Plans trundle_gather() for these indices.
///
/// - `data_desc`, `axis`, `out_desc`: as in trundle_gather().
/// - `indices_desc`, `indices`: as in trundle_gather(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_gather().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Indexed::gather(Indexing::Axis(axis), data_desc, indices_desc, out_desc)?.plan(indices)
        })
    }
}

/// Gathers one element for each index. For axis 1 of a tensor of rank 3, out[i][j][k] = data[i][indices[i][j][k]][k].
/// Same as GatherElements of ONNX and OpenVINO, and numpy's take_along_axis.
///
/// - `data_desc`, `data`: the input.
/// - `indices_desc`, `indices`: a tensor of i32 or i64 with the rank of the input. On axes other than `axis`, its size
///   is at most the input's size; if it is smaller, only the first positions are read. Negative indices are treated as
///   in trundle_gather().
/// - `axis`: the axis of the input to which the indices refer. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type of the input and the sizes of the indices.
///
/// Returns the errors of trundle_gather().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_elements(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Indexed::gather(Indexing::Elements(axis), data_desc, indices_desc, out_desc)?.run(
            &[data],
            indices,
            out,
        )
    })
}

/// Plans trundle_gather_elements() for these indices.
///
/// - `data_desc`, `axis`, `out_desc`: as in trundle_gather_elements().
/// - `indices_desc`, `indices`: as in trundle_gather_elements(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_gather_elements().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_elements_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Indexed::gather(Indexing::Elements(axis), data_desc, indices_desc, out_desc)?
                .plan(indices)
        })
    }
}

/// Gathers elements or slices at indices on several axes. Each row along the last axis of `indices` has an index for
/// each indexed axis. Same as GatherND of ONNX and OpenVINO.
///
/// - `data_desc`, `data`: the input. Its first axes are `batch_axes` batch axes. The indexed axes follow, and then the
///   axes of the slices.
/// - `indices_desc`, `indices`: a tensor of i32 or i64 with more than `batch_axes` axes. Its batch axes must have the
///   same sizes as in the input. Negative indices are treated as in trundle_gather().
/// - `batch_axes`: the number of batch axes, which the input and the indices share. Each batch has its own indices.
/// - `out_desc`, `out`: the output, with the type of the input. Its sizes are the sizes of the indices without the last
///   one, then the sizes of the slices.
///
/// Returns the errors of trundle_gather(), or TRUNDLE_ERROR_NUMBER if the input has too few axes for the indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_nd(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    batch_axes: u32,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        Indexed::gather(Indexing::Nd(batch_axes), data_desc, indices_desc, out_desc)?.run(
            &[data],
            indices,
            out,
        )
    })
}

/// Plans trundle_gather_nd() for these indices.
///
/// - `data_desc`, `batch_axes`, `out_desc`: as in trundle_gather_nd().
/// - `indices_desc`, `indices`: as in trundle_gather_nd(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_gather_nd().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_gather_nd_plan(
    data_desc: *const trundle_tensor_desc,
    indices_desc: *const trundle_tensor_desc,
    indices: *const c_void,
    batch_axes: u32,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            Indexed::gather(Indexing::Nd(batch_axes), data_desc, indices_desc, out_desc)?
                .plan(indices)
        })
    }
}
