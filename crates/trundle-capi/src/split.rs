//! What makes several tensors of one: the call and its plan.

use std::ffi::c_void;

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, list};
use super::pair::check_types;
use super::parts::Parts;
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// One of several tensors that a call writes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_output {
    /// What it is.
    pub desc: *const trundle_tensor_desc,
    /// Where its element at index 0 of every axis is written.
    pub data: *mut c_void,
}

/// Writes a tensor in `count` parts, which follow each other along `axis`: what trundle_concatenate() makes
/// the tensor of. OpenVINO's Split-1 and VariadicSplit-1, numpy's split.
///
/// Each output says the size of its part on `axis`; together they fill the axis of `data`. Their other
/// sizes and their type are those of `data`, their strides any. A negative axis counts from the end. The
/// memory of each output must be apart from that of the others too.
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
        plan.run(&[data], &outs, &[Memory::of("outputs", outputs)])
    })
}

/// Plans trundle_split() into `count` parts, which are described one after another. The plan is written to
/// `plan`, and is the caller's to free; it is run by trundle_plan_run_outputs().
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

/// The plan of parts that follow each other.
///
/// # Safety
/// As [`Descriptor::read`], for each.
unsafe fn splitting(
    data: Descriptor,
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
    axis: i64,
) -> Result<trundle_plan> {
    let part = |(number, desc)| {
        // SAFETY: the caller guarantees it, see `# Safety`.
        let read = unsafe { Descriptor::read("out", desc) };
        let fits = read.and_then(|own| check_types("out", &data, &own).map(|()| own));
        fits.map_err(|failure| failure.of_output(number))
    };
    let outs = descs.enumerate().map(part).collect::<Result<Vec<Descriptor>>>()?;
    Ok(Parts::new(data, outs, axis)?.into())
}
