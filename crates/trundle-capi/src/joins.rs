//! What makes one tensor of several, or of one and a constant around it: the calls and their plans.

use std::ffi::c_void;

use trundle::ops::{Pad, PadMode};
use trundle::internal::check_sizes;
use trundle::{Error, OpError, Shape, programs};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::error::{Result, guarded};
use super::memory::{Memory, list};
use super::moved::Moved;
use super::pair::{Pair, check_shape, check_types};
use super::plan::{made, trundle_plan};
use super::status::trundle_status;

/// One of several tensors that a call reads.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_input {
    /// What it is.
    pub desc: *const trundle_tensor_desc,
    /// Its element at index 0 of every axis.
    pub data: *const c_void,
}

/// Which elements trundle_pad() puts around a tensor: one of TRUNDLE_PAD_*, shown here for abcd by
/// three on each side.
pub type trundle_pad_mode = i32;

/// A value: vvv abcd vvv.
pub const TRUNDLE_PAD_CONSTANT: trundle_pad_mode = 0;
/// The outermost: aaa abcd ddd.
pub const TRUNDLE_PAD_EDGE: trundle_pad_mode = 1;
/// Those within, mirrored without the outermost: dcb abcd cba.
pub const TRUNDLE_PAD_REFLECT: trundle_pad_mode = 2;
/// The same with the outermost: cba abcd dcb.
pub const TRUNDLE_PAD_SYMMETRIC: trundle_pad_mode = 3;
/// Those of the other end: bcd abcd abc.
pub const TRUNDLE_PAD_WRAP: trundle_pad_mode = 4;

/// Puts `count` tensors one after another along `axis`, on which alone their sizes may differ.
/// OpenVINO's Concat-1, numpy's concatenate.
///
/// The inputs are of one type and may have any strides; one memory may be several of them. A
/// negative axis counts from the end. `out` has their type and their sizes, on `axis` the sum of
/// theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_concatenate(
    inputs: *const trundle_input,
    count: usize,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let inputs = list("inputs", inputs, count)?;
        let plan = concatenation(inputs.iter().map(|input| input.desc), axis, out_desc)?;
        let data: Vec<*const c_void> = inputs.iter().map(|input| input.data).collect();
        plan.run(&data, &[out], &[Memory::of("inputs", inputs)])
    })
}

/// Plans trundle_concatenate() of `count` tensors, which are described one after another. The plan is
/// written to `plan`, and is the caller's to free; it is run by trundle_plan_run_inputs().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_concatenate_plan(
    input_descs: *const trundle_tensor_desc,
    count: usize,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let descs = list("input_descs", input_descs, count)?;
            concatenation(descs.iter().map(|desc| &raw const *desc), axis, out_desc)
        })
    }
}

/// Puts elements before and behind the tensor along its axes. numpy's pad; in
/// TRUNDLE_PAD_CONSTANT OpenVINO's Pad-12 too.
///
/// `widths` says how many: before and behind along the first axis, along the second, and so on
/// (`widths_len` is twice the rank); two numbers or one are for all axes. None is negative. `mode` is
/// one of TRUNDLE_PAD_*; `value` is an element of the type of `data` that TRUNDLE_PAD_CONSTANT puts
/// there, and is not read by the others. `out` has the type of `data` and its sizes with the widths.
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
    // SAFETY: pointers lead to what the header says; what may not overlap does not.
    guarded(|| unsafe {
        let pair = Pair::read(data_desc, out_desc)?;
        let widths = list("widths", widths, widths_len)?;
        let mut others = vec![Memory::of("widths", widths)];
        if mode == TRUNDLE_PAD_CONSTANT {
            others.push(one_element("value", &pair.data, value)?);
        }
        // An output that is not apart is refused before it is written, so the value may be read here.
        padding(pair, widths, mode, value)?.run(&[data], &[out], &others)
    })
}

/// Plans trundle_pad() by these widths and with this value, which are read now and not again. The
/// plan is written to `plan`, and is the caller's to free.
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
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let pair = Pair::read(data_desc, out_desc)?;
            padding(pair, list("widths", widths, widths_len)?, mode, value)
        })
    }
}

/// The plan of tensors that follow each other.
///
/// # Safety
/// As [`Descriptor::read`], for each.
pub(crate) unsafe fn concatenation(
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
    axis: i64,
    out_desc: *const trundle_tensor_desc,
) -> Result<trundle_plan> {
    // SAFETY: the contract is the same.
    let (given, out) = unsafe { (read_parts(descs)?, Descriptor::read("out", out_desc)?) };
    let parts: Vec<_> = given.iter().map(described).collect();
    let program = programs::concatenated(&parts, axis)?;
    if let Some(first) = given.first() {
        check_types("out", first, &out)?;
    }
    Ok(Assembled::new(&program, given, out)?.into())
}

/// Tensors that are all of one type.
///
/// # Safety
/// As [`Descriptor::read`], for each.
pub(crate) unsafe fn read_parts(
    descs: impl Iterator<Item = *const trundle_tensor_desc>,
) -> Result<Vec<Descriptor>> {
    let mut given: Vec<Descriptor> = Vec::new();
    for (number, desc) in descs.enumerate() {
        // SAFETY: the contract is the same.
        let read = unsafe { Descriptor::read("data", desc) }.and_then(|own| {
            check_types("data", given.first().unwrap_or(&own), &own)?;
            Ok(own)
        });
        given.push(read.map_err(|failure| failure.of_input(number))?);
    }
    Ok(given)
}

/// The plan of a tensor with elements around it. The value is read where the mode is that of one.
///
/// # Safety
/// A value that is not null and aligned leads to an element of the data's type.
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
        return Ok(Moved::new(pair, Pad::new(widths, mode))?.into());
    }
    let (shape, width) = described(&pair.data);
    let widths = pairs(widths, shape.rank())?;
    check_shape("out", &padded(shape, &widths)?, &pair.out)?;
    let value = one_element("value", &pair.data, value)?;
    // SAFETY: the contract is the same.
    let program = programs::padded(shape, width, &widths, unsafe { value.read() })?;
    Ok(Assembled::new(&program, vec![pair.data], pair.out)?.into())
}

/// The memory of one element of the type that a tensor has.
fn one_element(argument: &'static str, like: &Descriptor, at: *const c_void) -> Result<Memory> {
    let element = (like.dtype(), like.width());
    Descriptor::new(argument, element, &Shape::default(), None)?.memory(at.cast())
}

/// The widths before and behind each axis.
fn pairs(widths: &[i64], rank: usize) -> Result<Vec<[usize; 2]>> {
    let width = |number: &i64| {
        let (argument, number, expected) = ("width", *number, "a number that is not negative");
        usize::try_from(number)
            .map_err(|_| Error::Op(OpError::NumberOutOfRange { argument, number, expected }))
    };
    let widths = widths.iter().map(width).collect::<trundle::Result<Vec<usize>>>()?;
    match widths[..] {
        [both] => Ok(vec![[both; 2]; rank]),
        [before, behind] => Ok(vec![[before, behind]; rank]),
        _ => {
            let expected = ("two for each axis of the tensor", 2 * rank);
            check_sizes(("widths", widths.len()), expected)?;
            Ok(widths.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
        }
    }
}

/// A shape with so much before and behind each axis.
fn padded(shape: &Shape, widths: &[[usize; 2]]) -> Result<Shape> {
    let too_large = || Error::too_large(format!("shape {shape} with widths {widths:?}"));
    let size = |(size, [before, behind]): (&usize, &[usize; 2])| {
        size.checked_add(*before)?.checked_add(*behind)
    };
    let sizes: Option<Vec<usize>> = shape.iter().zip(widths).map(size).collect();
    Ok(Shape::new(sizes.ok_or_else(too_large)?)?)
}
