//! The function that splits a tensor, and plans such a call.

use std::ffi::c_void;

use trundle::ops::Slice;
use trundle::{Chain, Shape, normalize_axis};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Failure, Result, guarded};
use super::memory::{CallerMemory, list};
use super::pair::{Pair, check_shape, check_types};
use super::plan::{PlanMoves, made, trundle_plan};
use super::status::trundle_status;

/// One of several output tensors.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_output {
    /// The description of the output.
    pub desc: *const trundle_tensor_desc,
    /// The address of the element at index 0 of every axis.
    pub data: *mut c_void,
}

/// Splits a tensor into consecutive parts along one axis, the inverse of trundle_concatenate(). Same as OpenVINO's
/// Split-1 and VariadicSplit-1, and numpy's split.
///
/// - `data_desc`, `data`: the input.
/// - `outputs`, `count`: the parts. They must have the type of the input, and its sizes on all axes except `axis`,
///   where their sizes add up to the input's. They may have any strides, but must not overlap each other.
/// - `axis`: the axis to split. A negative axis counts from the end.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE, or TRUNDLE_ERROR_NUMBER if `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_split(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    outputs: *const trundle_output,
    count: usize,
    axis: i64,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let read = Descriptor::read("data", data_desc)?;
        let outputs = list("outputs", outputs, count)?;
        let plan = splitting(read, outputs.iter().map(|output| output.desc), axis)?;
        let outs: Vec<*mut c_void> = outputs.iter().map(|output| output.data).collect();
        plan.run(&[data], &outs, &[CallerMemory::of("outputs", outputs)])
    })
}

/// Plans trundle_split() for tensors with these descriptions.
///
/// - `data_desc`, `axis`: as in trundle_split().
/// - `output_descs`, `count`: the descriptions of the parts, one after another.
/// - `plan`: receives the plan, which trundle_plan_run_outputs() runs and the caller frees.
///
/// Returns the errors of trundle_split().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_split_plan(
    data_desc: *const trundle_tensor_desc,
    output_descs: *const trundle_tensor_desc,
    count: usize,
    axis: i64,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let read = Descriptor::read("data", data_desc)?;
            let descs = list("output_descs", output_descs, count)?;
            splitting(read, descs.iter().map(|desc| &raw const *desc), axis)
        })
    }
}

/// Plans a split into consecutive parts.
///
/// # Safety
/// Each description must satisfy [`Descriptor::read`].
unsafe fn splitting(
    data: Descriptor,
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
    axis: i64,
) -> Result<trundle_plan> {
    let part = |(number, desc)| {
        // SAFETY: the caller guarantees valid descriptions.
        let read = unsafe { Descriptor::read("out", desc) };
        let fits = read.and_then(|own| check_types("out", &data, &own).map(|()| own));
        fits.map_err(|failure| failure.of_output(number))
    };
    let outs = descs.enumerate().map(part).collect::<Result<Vec<Descriptor>>>()?;
    let shape = data.layout().shape();
    let front = normalize_axis("axis", axis, shape.rank())?;
    for (number, out) in outs.iter().enumerate() {
        let mut sizes = shape.sizes().to_vec();
        if let Some(size) = out.layout().shape().get(front) {
            sizes[front] = *size;
        }
        check_shape("out", &Shape::new(sizes)?, out)
            .map_err(|failure| failure.of_output(number))?;
    }
    let slices = Slice::parts(shape, axis, outs.iter().map(|out| out.layout().shape()[front]))?;
    let planned = |(number, (slice, out)): (usize, (Slice, &Descriptor))| {
        let pair = Pair { data: data.clone(), out: out.clone() };
        let part = pair.plan(&Chain::new().then(slice));
        part.map_err(|error| Failure::from(error).of_output(number))
    };
    let parts = slices.into_iter().zip(&outs).enumerate().map(planned);
    let moves = PlanMoves::Parts(parts.collect::<Result<_>>()?);
    Ok(trundle_plan { inputs: vec![data], outputs: outs, moves })
}
