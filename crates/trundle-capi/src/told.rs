//! What a caller asks for and has room for: words and sizes.

use std::ffi::c_char;
use std::fmt::Display;

use super::error::Result;
use super::memory::{check_pointer, check_room};

/// Writes words to `buffer` with a NUL behind them, and how many bytes that takes to `needed`, which may be null. With a
/// capacity of 0 only that is asked for.
///
/// # Safety
/// `needed` can be written to if it is aligned and not null, and so can `capacity` bytes of `buffer`.
pub(crate) unsafe fn tell_words(
    words: &dyn Display,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> Result<()> {
    if !needed.is_null() {
        check_pointer("needed", needed)?;
    }
    let words = words.to_string();
    let bytes = words.len() + 1;
    if capacity > 0 {
        check_room("buffer", buffer, capacity, bytes)?;
        // SAFETY: it is no null pointer and there is room, so the caller has these bytes there;
        // the words are memory of our own.
        unsafe {
            buffer.copy_from_nonoverlapping(words.as_ptr().cast(), words.len());
            buffer.add(words.len()).write(0);
        }
    }
    if !needed.is_null() {
        // SAFETY: it is aligned and no null pointer, so the caller has a number there.
        unsafe { needed.write(bytes) };
    }
    Ok(())
}

/// Writes sizes where a caller has room for so many, and how many there are to `rank`. With a capacity of 0 only that
/// is asked for.
///
/// # Safety
/// `rank` can be written to, and `capacity` numbers of `sizes` if it is aligned and not null.
pub(crate) unsafe fn tell_sizes<T>(
    known: impl ExactSizeIterator<Item = T>,
    sizes: *mut T,
    capacity: u32,
    rank: *mut u32,
) -> Result<()> {
    let count = known.len();
    if capacity > 0 {
        check_room("sizes", sizes, capacity as usize, count)?;
        for (at, size) in known.enumerate() {
            // SAFETY: there is room for as many as there are.
            unsafe { sizes.add(at).write(size) };
        }
    }
    // SAFETY: the contract is the same.
    unsafe { rank.write(count.try_into().unwrap_or(u32::MAX)) };
    Ok(())
}
