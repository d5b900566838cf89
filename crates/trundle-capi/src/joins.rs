//! Functions that concatenate or pad tensors, and plan such calls.

use std::ffi::c_void;

use trundle::ops::{Pad, PadMode, pad_widths};
use trundle::{Error, OpError, Shape, programs};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{CallerMemory, list};
use super::pair::{Pair, check_shape, check_types};
use super::plan::{described, made, trundle_plan};
use super::status::trundle_status;

/// One of several input tensors.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_input {
    /// The description of the input.
    pub desc: *const trundle_tensor_desc,
    /// The address of the element at index 0 of every axis.
    pub data: *const c_void,
}

/// The elements that trundle_pad() adds: one of TRUNDLE_PAD_*. The examples pad abcd by three elements on each side.
pub type trundle_pad_mode = i32;

/// A constant value: vvv abcd vvv.
pub const TRUNDLE_PAD_CONSTANT: trundle_pad_mode = 0;
/// The outermost element: aaa abcd ddd.
pub const TRUNDLE_PAD_EDGE: trundle_pad_mode = 1;
/// Mirrored elements, without the outermost: dcb abcd cba.
pub const TRUNDLE_PAD_REFLECT: trundle_pad_mode = 2;
/// Mirrored elements, with the outermost: cba abcd dcb.
pub const TRUNDLE_PAD_SYMMETRIC: trundle_pad_mode = 3;
/// The elements from the opposite end: bcd abcd abc.
pub const TRUNDLE_PAD_WRAP: trundle_pad_mode = 4;

/// Concatenates tensors along one axis. Same as OpenVINO's Concat-1 and numpy's concatenate.
///
/// - `inputs`, `count`: the inputs, with any strides. They must have one type, and equal sizes on all axes except
///   `axis`. Several inputs may share memory.
/// - `axis`: the axis to concatenate along. A negative axis counts from the end.
/// - `out_desc`, `out`: the output, with the type of the inputs. Its size on `axis` is the sum of the inputs' sizes.
///
/// Returns TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE, or TRUNDLE_ERROR_NUMBER if `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_concatenate(
    inputs: *const trundle_input,
    count: usize,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let inputs = list("inputs", inputs, count)?;
        let plan = concatenation(inputs.iter().map(|input| input.desc), axis, out_desc)?;
        let data: Vec<*const c_void> = inputs.iter().map(|input| input.data).collect();
        plan.run(&data, &[out], &[CallerMemory::of("inputs", inputs)])
    })
}

/// Plans trundle_concatenate() for tensors with these descriptions.
///
/// - `input_descs`, `count`: the descriptions of the inputs, one after another.
/// - `axis`, `out_desc`: as in trundle_concatenate().
/// - `plan`: receives the plan, which trundle_plan_run_inputs() runs and the caller frees.
///
/// Returns the errors of trundle_concatenate().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_concatenate_plan(
    input_descs: *const trundle_tensor_desc,
    count: usize,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let descs = list("input_descs", input_descs, count)?;
            concatenation(descs.iter().map(|desc| &raw const *desc), axis, out_desc)
        })
    }
}

/// Pads a tensor. Same as numpy's pad and, with TRUNDLE_PAD_CONSTANT, OpenVINO's Pad-12.
///
/// - `data_desc`, `data`: the input.
/// - `widths`, `widths_len`: how many elements to add, each 0 or more. Two numbers for each axis (before, after), or
///   one such pair for all axes, or one number for both ends of all axes.
/// - `mode`: one of TRUNDLE_PAD_*.
/// - `value`: one element of the input's type, for TRUNDLE_PAD_CONSTANT only.
/// - `out_desc`, `out`: the output, with the type of the input. Each size is the input's size plus both widths.
///
/// Returns TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE, or TRUNDLE_ERROR_NUMBER if a width is negative or the mode is
/// unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_pad(
    data_desc: *const trundle_tensor_desc,
    data: *const c_void,
    widths: *const i64,
    widths_len: usize,
    mode: trundle_pad_mode,
    value: *const c_void,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; overlapping outputs are rejected.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let widths = list("widths", widths, widths_len)?;
        let mut others = vec![CallerMemory::of("widths", widths)];
        if mode == TRUNDLE_PAD_CONSTANT {
            others.push(one_element("value", &pair.data, value)?);
        }
        // The value is read before overlaps are checked, which is safe, because nothing has been written yet.
        padding(pair, widths, mode, value)?.run(&[data], &[out], &others)
    })
}

/// Plans trundle_pad() for tensors with these descriptions.
///
/// - `data_desc`, `mode`, `out_desc`: as in trundle_pad().
/// - `widths`, `widths_len`, `value`: as in trundle_pad(); they are read only during this call.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns the errors of trundle_pad().
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
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            padding(pair, list("widths", widths, widths_len)?, mode, value)
        })
    }
}

/// Plans a concatenation.
///
/// # Safety
/// Each description must satisfy [`Descriptor::read`].
pub(crate) unsafe fn concatenation(
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
) -> Result<trundle_plan> {
    // SAFETY: the caller guarantees valid descriptions.
    let (given, out) = unsafe { (read_parts(descs)?, Descriptor::read("out", out_desc)?) };
    let parts: Vec<_> = given.iter().map(described).collect();
    let program = programs::concatenated(&parts, axis)?;
    if let Some(first) = given.first() {
        check_types("out", first, &out)?;
    }
    trundle_plan::of_program(&program, given, out)
}

/// Reads descriptions of tensors, which must have the same type.
///
/// # Safety
/// Each description must satisfy [`Descriptor::read`].
pub(crate) unsafe fn read_parts(
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
) -> Result<Vec<Descriptor>> {
    let mut given: Vec<Descriptor> = Vec::new();
    for (number, desc) in descs.enumerate() {
        // SAFETY: the caller guarantees valid descriptions.
        let read = unsafe { Descriptor::read("data", desc) }.and_then(|own| {
            check_types("data", given.first().unwrap_or(&own), &own)?;
            Ok(own)
        });
        given.push(read.map_err(|failure| failure.of_input(number))?);
    }
    Ok(given)
}

/// Plans a padding. The value is read only for TRUNDLE_PAD_CONSTANT.
///
/// # Safety
/// If `value` is aligned and not null, it must point to an element of the input's type.
pub(crate) unsafe fn padding(
    pair: Pair,
    widths: &[i64],
    mode: trundle_pad_mode,
    value: *const c_void,
) -> Result<trundle_plan> {
    let mode = match mode {
        TRUNDLE_PAD_CONSTANT => None,
        TRUNDLE_PAD_EDGE => Some(PadMode::Edge),
        TRUNDLE_PAD_REFLECT => Some(PadMode::Reflect),
        TRUNDLE_PAD_SYMMETRIC => Some(PadMode::Symmetric),
        TRUNDLE_PAD_WRAP => Some(PadMode::Wrap),
        _ => {
            let expected = "one of TRUNDLE_PAD_*";
            let (argument, number) = ("mode", mode.into());
            return Err(OpError::NumberOutOfRange { argument, number, expected }.into());
        }
    };
    if let Some(mode) = mode {
        return trundle_plan::of_op(pair, Pad::new(widths, mode));
    }
    let (shape, width) = described(&pair.data);
    let widths = pad_widths(widths, shape)?;
    check_shape("out", &padded(shape, &widths)?, &pair.out)?;
    let value = one_element("value", &pair.data, value)?;
    // SAFETY: the caller guarantees one element at this address.
    let program = programs::padded(shape, width, &widths, unsafe { value.read() })?;
    trundle_plan::of_program(&program, vec![pair.data], pair.out)
}

fn one_element(
    argument: &'static str,
    like: &Descriptor,
    at: *const c_void,
) -> Result<CallerMemory> {
    let element = (like.dtype(), like.width());
    Descriptor::new(argument, element, &Shape::default(), None)?.memory(at.cast())
}

fn padded(shape: &Shape, widths: &[[usize; 2]]) -> Result<Shape> {
    let too_large = || Error::too_large(format!("shape {shape} with widths {widths:?}"));
    let size = |(size, [before, behind]): (&usize, &[usize; 2])| {
        size.checked_add(*before)?.checked_add(*behind)
    };
    let sizes: Option<Vec<usize>> = shape.iter().zip(widths).map(size).collect();
    Ok(Shape::new(sizes.ok_or_else(too_large)?)?)
}
