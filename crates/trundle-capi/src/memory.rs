//! What a caller's pointers lead to: checked before it is touched.
//!
//! A description says which bytes a tensor covers. What no memory has, what is misaligned, and an output
//! that overlaps anything that is read is refused; the rest becomes a slice of exactly those bytes.

use std::fmt::Display;

use super::error::{Failure, Result};
use super::status::{
    TRUNDLE_ERROR_BUFFER_SIZE, TRUNDLE_ERROR_MISALIGNED, TRUNDLE_ERROR_NULL_POINTER,
    TRUNDLE_ERROR_OVERLAP, TRUNDLE_ERROR_RANK, TRUNDLE_ERROR_TOO_LARGE,
};

/// Lists of axes and shifts may name an axis as often as they like, so no rank bounds them. A
/// longer one is a number that was never set: an honest list has about as many entries as the
/// tensor has axes.
const MOST_ENTRIES: usize = 1 << 16;

/// More bytes than a process can have: the widest virtual addresses are of 57 bits (x86-64 with
/// five levels of pages). A tensor that reaches further is described wrongly.
const MOST_BYTES: usize = if usize::BITS == 64 { 1 << 57 } else { isize::MAX.unsigned_abs() };

/// Checks that something can be read or written at `pointer`.
#[inline]
pub(crate) fn check_pointer<T>(argument: impl Display, pointer: *const T) -> Result<()> {
    check_address(argument, pointer.addr(), align_of::<T>())
}

/// Checks an address against a power of two.
#[inline]
fn check_address(argument: impl Display, address: usize, alignment: usize) -> Result<()> {
    // No division, which would take as long as the other checks of a call.
    if address != 0 && address & (alignment - 1) == 0 {
        return Ok(());
    }
    Err(bad_address(&argument, address, alignment))
}

#[cold]
fn bad_address(argument: &dyn Display, address: usize, alignment: usize) -> Failure {
    if address == 0 {
        let message = format!("{argument} is a null pointer");
        return Failure::new(TRUNDLE_ERROR_NULL_POINTER, message);
    }
    let message = format!("{argument} is {address:#x}, which is no multiple of {alignment}");
    Failure::new(TRUNDLE_ERROR_MISALIGNED, message)
}

/// The value at `pointer`.
///
/// # Safety
/// A pointer that is not null and aligned leads to a value.
#[inline]
pub(crate) unsafe fn value<T: Copy>(argument: impl Display, pointer: *const T) -> Result<T> {
    check_pointer(argument, pointer)?;
    // SAFETY: the pointer is aligned and not null; the rest is the caller's word.
    Ok(unsafe { pointer.read() })
}

/// The list of `len` entries that begins at `first`, which may be null if there are none.
///
/// # Safety
/// A pointer that is not null and aligned leads to that many entries, which nobody writes to
/// during `'a`.
#[inline(always)]
pub(crate) unsafe fn entries<'a, T>(
    argument: impl Display + Copy,
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

/// Checks that `needed` values can be written to memory that has room for `capacity` of them.
pub(crate) fn check_room<T>(
    argument: &'static str,
    first: *mut T,
    capacity: usize,
    needed: usize,
) -> Result<()> {
    if capacity < needed {
        let message = format!("{argument} has room for {capacity}, of {needed} that are needed");
        return Err(Failure::new(TRUNDLE_ERROR_BUFFER_SIZE, message));
    }
    if needed > 0 {
        check_pointer(argument, first)?;
        check_span(argument, first.addr(), needed.saturating_mul(size_of::<T>()))?;
    }
    Ok(())
}

/// [`entries`] of parameters such as axes and shifts, and of inputs.
///
/// # Safety
/// As [`entries`].
#[inline(always)]
pub(crate) unsafe fn list<'a, T>(
    argument: impl Display + Copy,
    first: *const T,
    len: usize,
) -> Result<&'a [T]> {
    if len > MOST_ENTRIES {
        let message = format!("{argument} has {len} entries, of {MOST_ENTRIES} at most");
        return Err(Failure::new(TRUNDLE_ERROR_RANK, message));
    }
    // SAFETY: the contract is the same.
    unsafe { entries(argument, first, len) }
}

/// Checks that `bytes` from `first` on can be addressed.
#[inline]
fn check_span(argument: impl Display, first: usize, bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES && first.checked_add(bytes).is_some() {
        return Ok(());
    }
    Err(beyond_memory(&argument, first, bytes))
}

#[cold]
fn beyond_memory(argument: &dyn Display, first: usize, bytes: usize) -> Failure {
    let message = format!("{argument} of {bytes} bytes from {first:#x} on goes beyond all memory");
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, message)
}

#[cold]
fn before_memory(argument: &str, address: usize) -> Failure {
    let message = format!("{argument} at {address:#x} reaches before all memory");
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, message)
}

/// Checks that no byte is of two of these, each with a number, and puts them in the order of their addresses. The
/// number of one that overlaps another goes with the refusal.
pub(crate) fn check_all_apart(all: &mut [(usize, Memory)]) -> Result<(), (usize, Failure)> {
    // Those without bytes are the first.
    all.sort_unstable_by_key(|(number, memory)| (memory.bytes > 0, memory.ends(), *number));
    // Neighbours are enough: the first pair that overlaps is one of neighbours.
    all.windows(2).try_for_each(|pair| {
        let [(_, one), (number, other)] = pair else { return Ok(()) };
        other.check_apart(one).map_err(|failure| (*number, failure))
    })
}

/// The bytes that a tensor covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Those before the element at index 0 of every axis.
    pub(crate) before: usize,
    /// All of them, of which there are `isize::MAX` at most.
    pub(crate) bytes: usize,
}

/// Memory of the caller that a call reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    argument: &'static str,
    first: *mut u8,
    bytes: usize,
}

impl Memory {
    /// So many bytes, those `before` the pointer among them, which must be a multiple of `alignment`, a
    /// power of two. If there are none the pointer may be anything.
    #[inline]
    pub(crate) fn new(
        argument: &'static str,
        pointer: *mut u8,
        reach: Reach,
        alignment: usize,
    ) -> Result<Memory> {
        let Reach { before, bytes } = reach;
        if bytes == 0 {
            return Ok(Memory { argument, first: pointer, bytes });
        }
        check_address(argument, pointer.addr(), alignment)?;
        if pointer.addr() <= before {
            return Err(before_memory(argument, pointer.addr()));
        }
        let first = pointer.wrapping_sub(before);
        check_span(argument, first.addr(), bytes)?;
        Ok(Memory { argument, first, bytes })
    }

    /// The memory of a list.
    pub(crate) fn of<T>(argument: &'static str, list: &[T]) -> Memory {
        Memory { argument, first: list.as_ptr().cast_mut().cast(), bytes: size_of_val(list) }
    }

    /// The memory of a list that [`list`] does not refuse.
    #[inline]
    pub(crate) fn of_list(argument: &'static str, first: *const i64, len: usize) -> Memory {
        let bytes = len.saturating_mul(size_of::<i64>());
        Memory { argument, first: first.cast_mut().cast(), bytes }
    }

    /// Checks that no byte of this is one of `other`.
    #[inline]
    pub(crate) fn check_apart(&self, other: &Memory) -> Result<()> {
        let ((begin, end), (other_begin, other_end)) = (self.ends(), other.ends());
        if self.bytes == 0 || other.bytes == 0 || end <= other_begin || other_end <= begin {
            return Ok(());
        }
        Err(self.overlapping(other))
    }

    #[cold]
    fn overlapping(&self, other: &Memory) -> Failure {
        let ((begin, end), (other_begin, other_end)) = (self.ends(), other.ends());
        let message = format!(
            "{} at {begin:#x}..{end:#x} overlaps {} at {other_begin:#x}..{other_end:#x}",
            self.argument, other.argument
        );
        Failure::new(TRUNDLE_ERROR_OVERLAP, message)
    }

    #[inline]
    fn ends(&self) -> (usize, usize) {
        (self.first.addr(), self.first.addr() + self.bytes)
    }

    /// The bytes, to read.
    ///
    /// # Safety
    /// They are the caller's, and nobody writes to them during `'a`.
    #[inline]
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
    #[inline]
    pub(crate) unsafe fn write<'a>(&self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `read`.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.bytes) }
    }
}
