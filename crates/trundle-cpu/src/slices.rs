//! Plans run on slices of any `Copy` type, whose bytes are moved as they are.

use std::mem::MaybeUninit;

use trundle_core::Result;

use crate::backend::check_buffer;
use crate::{Plan, execute};

/// Runs a plan from `src` to `dst`, which the plan sees as bytes.
///
/// Elements of `dst` that the plan's destination layout does not cover stay as they were, be that
/// uninitialised.
///
/// # Errors
/// [`Error::OutOfBounds`](trundle_core::Error::OutOfBounds) if a slice is shorter than the planned
/// layouts; nothing has been written then.
pub fn run_slices<T: Copy>(plan: &Plan, src: &[T], dst: &mut [MaybeUninit<T>]) -> Result<()> {
    check_buffer("data", plan.src_bytes, size_of_val(src))?;
    check_buffer("out", plan.dst_bytes, size_of_val(dst))?;
    // SAFETY: both slices are long enough in bytes, and a shared and a unique reference cannot
    // overlap. Kernels carry bytes, padding too, without looking at them.
    unsafe { execute::run(plan, src.as_ptr().cast(), dst.as_mut_ptr().cast()) };
    Ok(())
}
