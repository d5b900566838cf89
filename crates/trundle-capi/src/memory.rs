//! What a caller's pointers lead to: checked before it is touched.
//!
//! A description says which bytes a tensor covers. What no memory has, what is misaligned, and an output
//! that overlaps anything that is read is refused; the rest becomes a slice of exactly those bytes.

use std::ops::Range;

use super::error::{Failure, Result};
use super::status::{
    TRUNDLE_ERROR_MISALIGNED, TRUNDLE_ERROR_NULL_POINTER, TRUNDLE_ERROR_OVERLAP,
    TRUNDLE_ERROR_RANK, TRUNDLE_ERROR_TOO_LARGE,
};

/// Lists of axes and shifts may name an axis as often as they like, so no rank bounds them. A
/// longer one is a number that was never set: an honest list has about as many entries as the
/// tensor has axes.
const MOST_ENTRIES: usize = 1 << 16;

/// More bytes than a process can have: the widest virtual addresses are of 57 bits (x86-64 with
/// five levels of pages). A tensor that reaches further is described wrongly.
const MOST_BYTES: usize = if usize::BITS == 64 { 1 << 57 } else { isize::MAX.unsigned_abs() };

/// Checks that something can be read or written at `pointer`.
pub(crate) fn check_pointer<T>(argument: &str, pointer: *const T) -> Result<()> {
    check_address(argument, pointer.addr(), align_of::<T>())
}

fn check_address(argument: &str, address: usize, alignment: usize) -> Result<()> {
    if address == 0 {
        let message = format!("{argument} is a null pointer");
        return Err(Failure::new(TRUNDLE_ERROR_NULL_POINTER, message));
    }
    if !address.is_multiple_of(alignment) {
        let message = format!("{argument} is {address:#x}, which is no multiple of {alignment}");
        return Err(Failure::new(TRUNDLE_ERROR_MISALIGNED, message));
    }
    Ok(())
}

/// The value at `pointer`.
///
/// # Safety
/// A pointer that is not null and aligned leads to a value.
pub(crate) unsafe fn value<T: Copy>(argument: &str, pointer: *const T) -> Result<T> {
    check_pointer(argument, pointer)?;
    // SAFETY: the pointer is aligned and not null; the rest is the caller's word.
    Ok(unsafe { pointer.read() })
}

/// The list of `len` entries that begins at `first`, which may be null if there are none.
///
/// # Safety
/// A pointer that is not null and aligned leads to that many entries, which nobody writes to
/// during `'a`.
pub(crate) unsafe fn entries<'a, T>(
    argument: &str,
    first: *const T,
    len: usize,
) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check_pointer(argument, first)?;
    check_span(argument, first.addr(), len.saturating_mul(size_of::<T>()))?;
    // SAFETY: the pointer is aligned and not null, the entries fit into addresses; the rest is the
    // caller's word.
    Ok(unsafe { std::slice::from_raw_parts(first, len) })
}

/// [`entries`] of parameters such as axes and shifts.
///
/// # Safety
/// As [`entries`].
pub(crate) unsafe fn list<'a>(argument: &str, first: *const i64, len: usize) -> Result<&'a [i64]> {
    if len > MOST_ENTRIES {
        let message = format!("{argument} has {len} entries, of {MOST_ENTRIES} at most");
        return Err(Failure::new(TRUNDLE_ERROR_RANK, message));
    }
    // SAFETY: the contract is the same.
    unsafe { entries(argument, first, len) }
}

/// Checks that `bytes` from `first` on can be addressed.
fn check_span(argument: &str, first: usize, bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES && first.checked_add(bytes).is_some() {
        return Ok(());
    }
    let message = format!("{argument} of {bytes} bytes from {first:#x} on goes beyond all memory");
    Err(Failure::new(TRUNDLE_ERROR_TOO_LARGE, message))
}

/// Memory of the caller that a call reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    argument: &'static str,
    first: *mut u8,
    bytes: usize,
}

impl Memory {
    /// All that `reach` covers, in bytes from `pointer` on, which must be a multiple of
    /// `alignment`. If it covers nothing the pointer may be anything.
    pub(crate) fn new(
        argument: &'static str,
        pointer: *mut u8,
        reach: Range<isize>,
        alignment: usize,
    ) -> Result<Memory> {
        if reach.is_empty() {
            return Ok(Memory { argument, first: pointer, bytes: 0 });
        }
        check_address(argument, pointer.addr(), alignment)?;
        let bytes = reach.end.wrapping_sub(reach.start).cast_unsigned();
        let first = pointer.addr().checked_add_signed(reach.start).filter(|first| *first > 0);
        let Some(first) = first else {
            let address = pointer.addr();
            let message = format!("{argument} at {address:#x} reaches before all memory");
            return Err(Failure::new(TRUNDLE_ERROR_TOO_LARGE, message));
        };
        check_span(argument, first, bytes)?;
        Ok(Memory { argument, first: pointer.wrapping_offset(reach.start), bytes })
    }

    /// The memory of a list.
    pub(crate) fn of<T>(argument: &'static str, list: &[T]) -> Memory {
        Memory { argument, first: list.as_ptr().cast_mut().cast(), bytes: size_of_val(list) }
    }

    /// Checks that no byte of this is one of `other`.
    pub(crate) fn check_apart(&self, other: &Memory) -> Result<()> {
        let ends = |memory: &Memory| (memory.first.addr(), memory.first.addr() + memory.bytes);
        let ((begin, end), (other_begin, other_end)) = (ends(self), ends(other));
        if self.bytes == 0 || other.bytes == 0 || end <= other_begin || other_end <= begin {
            return Ok(());
        }
        let message = format!(
            "{} at {begin:#x}..{end:#x} overlaps {} at {other_begin:#x}..{other_end:#x}",
            self.argument, other.argument
        );
        Err(Failure::new(TRUNDLE_ERROR_OVERLAP, message))
    }

    /// The bytes, to read.
    ///
    /// # Safety
    /// They are the caller's, and nobody writes to them during `'a`.
    pub(crate) unsafe fn read<'a>(&self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: the pointer is not null and the bytes fit into addresses, see `new`; the rest is
        // the caller's word. Bytes that C has not set hold something too, and are only moved.
        unsafe { std::slice::from_raw_parts(self.first, self.bytes) }
    }

    /// The bytes, to write.
    ///
    /// # Safety
    /// They are the caller's, and nobody else reads or writes them during `'a`.
    pub(crate) unsafe fn write<'a>(&self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `read`.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.bytes) }
    }
}
