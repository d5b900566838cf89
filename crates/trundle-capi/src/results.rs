//! Writes strings and sizes to buffers of the caller.

use std::ffi::c_char;
use std::fmt::Display;

use super::error::Result;
use super::memory::{check_pointer, check_room};

pub(crate) fn check_optional<T>(argument: &'static str, pointer: *const T) -> Result<()> {
    match pointer.is_null() {
        true => Ok(()),
        false => check_pointer(argument, pointer),
    }
}

/// Writes `words` and a NUL to `buffer`, and their number of bytes, with the NUL, to `needed`, which may be null. With
/// a capacity of 0, only `needed` is written.
///
/// # Safety
/// If `needed` is aligned and not null, a number can be written to it. If `buffer` is not null, `capacity` bytes can
/// be written to it.
pub(crate) unsafe fn write_words(
    words: &dyn Display,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> Result<()> {
    check_optional("needed", needed)?;
    let words = words.to_string();
    let bytes = words.len() + 1;
    if capacity > 0 {
        check_room("buffer", buffer, capacity, bytes)?;
        // SAFETY: the pointer is not null and `check_room` found room for `bytes`; `words` is memory of this
        // function.
        unsafe {
            buffer.copy_from_nonoverlapping(words.as_ptr().cast(), words.len());
            buffer.add(words.len()).write(0);
        }
    }
    if !needed.is_null() {
        // SAFETY: the pointer is aligned and not null, so the caller has a number there.
        unsafe { needed.write(bytes) };
    }
    Ok(())
}

/// Writes sizes to `sizes`, and their number to `rank`. With a capacity of 0, only `rank` is written.
///
/// # Safety
/// A number can be written to `rank`. If `sizes` is aligned and not null, `capacity` numbers can be written to it.
pub(crate) unsafe fn write_sizes<T>(
    known: impl ExactSizeIterator<Item = T>,
    sizes: *mut T,
    capacity: u32,
    rank: *mut u32,
) -> Result<()> {
    let count = known.len();
    if capacity > 0 {
        check_room("sizes", sizes, capacity as usize, count)?;
        for (at, size) in known.enumerate() {
            // SAFETY: `check_room` found room for `count` sizes.
            unsafe { sizes.add(at).write(size) };
        }
    }
    // SAFETY: the caller guarantees that `rank` can be written to.
    unsafe { rank.write(count.try_into().unwrap_or(u32::MAX)) };
    Ok(())
}
