//! Plain Rust, for every machine.

use super::{LINE, Lines};

pub(crate) struct Portable;

impl Lines for Portable {
    #[inline(always)]
    unsafe fn stream(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller vouches for both lines; source and destination never overlap.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, LINE) };
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn prefetch(_address: *const u8) {}
}
