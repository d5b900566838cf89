//! Checks of the caller's pointers before they are dereferenced.
//!
//! The description of a tensor determines the bytes that it covers. It is an error if these reach outside the address
//! space, if a pointer is not aligned, or if an output overlaps an input. Otherwise, the tensor becomes a slice of
//! these bytes.

use std::fmt::Display;

use super::error::{Failure, Result};
use super::status::{
    TRUNDLE_ERROR_BUFFER_SIZE, TRUNDLE_ERROR_MISALIGNED, TRUNDLE_ERROR_NULL_POINTER,
    TRUNDLE_ERROR_OVERLAP, TRUNDLE_ERROR_RANK, TRUNDLE_ERROR_TOO_LARGE,
};

/// The maximum length of a list of axes or shifts. An axis may be repeated, so such a list may have more entries than
/// the tensor has axes. A longer list is probably an uninitialized number.
const MOST_ENTRIES: usize = 1 << 16;

/// The maximum number of bytes of a tensor or a list. The longest virtual addresses have 57 bits (x86-64 with
/// five-level paging).
const MOST_BYTES: usize = if usize::BITS == 64 { 1 << 57 } else { isize::MAX.unsigned_abs() };

/// Checks that `pointer` is aligned and not null.
#[inline]
pub(crate) fn check_pointer<T>(argument: impl Display, pointer: *const T) -> Result<()> {
    check_address(argument, pointer.addr(), align_of::<T>())
}

/// `alignment` is a power of two.
#[inline]
fn check_address(argument: impl Display, address: usize, alignment: usize) -> Result<()> {
    // A mask, because a division would take as long as all other checks of a call together.
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
    let message = format!("{argument} is {address:#x}, which is not a multiple of {alignment}");
    Failure::new(TRUNDLE_ERROR_MISALIGNED, message)
}

/// Reads the value at `pointer`.
///
/// # Safety
/// If `pointer` is aligned and not null, it points to a value.
#[inline]
pub(crate) unsafe fn value<T: Copy>(argument: impl Display, pointer: *const T) -> Result<T> {
    check_pointer(argument, pointer)?;
    // SAFETY: the pointer is aligned and not null, so the caller has a value there.
    Ok(unsafe { pointer.read() })
}

/// Returns the object at `pointer`.
///
/// # Safety
/// If `pointer` is aligned and not null, it points to an object that is valid during `'a`.
pub(crate) unsafe fn object<'a, T>(argument: impl Display, pointer: *const T) -> Result<&'a T> {
    check_pointer(argument, pointer)?;
    // SAFETY: the pointer is aligned and not null, so the caller has an object there.
    Ok(unsafe { &*pointer })
}

/// Returns the list of `len` entries at `first`. The pointer may be null if `len` is 0.
///
/// # Safety
/// If `first` is aligned and not null, it points to `len` entries, and no thread writes to them during `'a`.
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
    // SAFETY: the pointer is aligned and not null, so the caller has `len` entries there; they fit the address
    // space.
    Ok(unsafe { std::slice::from_raw_parts(first, len) })
}

/// Checks that a buffer with space for `capacity` values can hold `needed` of them.
pub(crate) fn check_room<T>(
    argument: &'static str,
    first: *mut T,
    capacity: usize,
    needed: usize,
) -> Result<()> {
    if capacity < needed {
        let message = format!("{argument} has room for {capacity}, but {needed} are needed");
        return Err(Failure::new(TRUNDLE_ERROR_BUFFER_SIZE, message));
    }
    if needed > 0 {
        check_pointer(argument, first)?;
        check_span(argument, first.addr(), needed.saturating_mul(size_of::<T>()))?;
    }
    Ok(())
}

/// Returns [`entries`] of a parameter such as axes or shifts. There may be at most `MOST_ENTRIES`.
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
        let message = format!("{argument} has {len} entries, the limit is {MOST_ENTRIES}");
        return Err(Failure::new(TRUNDLE_ERROR_RANK, message));
    }
    // SAFETY: the caller upholds the `# Safety` of [`entries`].
    unsafe { entries(argument, first, len) }
}

#[inline]
fn check_span(argument: impl Display, first: usize, bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES && first.checked_add(bytes).is_some() {
        return Ok(());
    }
    Err(beyond_memory(&argument, first, bytes))
}

#[cold]
fn beyond_memory(argument: &dyn Display, first: usize, bytes: usize) -> Failure {
    let message =
        format!("{argument} of {bytes} bytes from {first:#x} on exceeds the address space");
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, message)
}

#[cold]
fn before_memory(argument: &str, address: usize) -> Failure {
    let message = format!("{argument} at {address:#x} reaches below address 0");
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, message)
}

/// Checks that no two entries overlap, and sorts them by address. An error has the number of an overlapping entry.
pub(crate) fn check_all_apart(all: &mut [(usize, CallerMemory)]) -> Result<(), (usize, Failure)> {
    // Entries without bytes come first.
    all.sort_unstable_by_key(|(number, memory)| (memory.bytes > 0, memory.ends(), *number));
    // Of sorted entries that overlap, two are neighbours.
    all.windows(2).try_for_each(|pair| {
        let [(_, one), (number, other)] = pair else { return Ok(()) };
        other.check_apart(one).map_err(|failure| (*number, failure))
    })
}

/// The bytes that a tensor covers, relative to its element at index 0 of every axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The number of bytes before that element.
    pub(crate) before: usize,
    /// The number of all bytes, at most `isize::MAX`.
    pub(crate) bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerMemory {
    argument: &'static str,
    first: *mut u8,
    bytes: usize,
}

impl CallerMemory {
    /// The memory that `reach` covers around `pointer`, which must be a multiple of `alignment`, a power of two.
    /// Without bytes, any pointer is valid.
    #[inline]
    pub(crate) fn new(
        argument: &'static str,
        pointer: *mut u8,
        reach: Reach,
        alignment: usize,
    ) -> Result<CallerMemory> {
        let Reach { before, bytes } = reach;
        if bytes == 0 {
            return Ok(CallerMemory { argument, first: pointer, bytes });
        }
        check_address(argument, pointer.addr(), alignment)?;
        if pointer.addr() <= before {
            return Err(before_memory(argument, pointer.addr()));
        }
        let first = pointer.wrapping_sub(before);
        check_span(argument, first.addr(), bytes)?;
        Ok(CallerMemory { argument, first, bytes })
    }

    pub(crate) fn of<T>(argument: &'static str, list: &[T]) -> CallerMemory {
        CallerMemory { argument, first: list.as_ptr().cast_mut().cast(), bytes: size_of_val(list) }
    }

    #[inline]
    pub(crate) fn of_list(argument: &'static str, first: *const i64, len: usize) -> CallerMemory {
        let bytes = len.saturating_mul(size_of::<i64>());
        CallerMemory { argument, first: first.cast_mut().cast(), bytes }
    }

    #[inline]
    pub(crate) fn check_apart(&self, other: &CallerMemory) -> Result<()> {
        let ((begin, end), (other_begin, other_end)) = (self.ends(), other.ends());
        if self.bytes == 0 || other.bytes == 0 || end <= other_begin || other_end <= begin {
            return Ok(());
        }
        Err(self.overlapping(other))
    }

    #[cold]
    fn overlapping(&self, other: &CallerMemory) -> Failure {
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

    /// Returns the bytes for reading.
    ///
    /// # Safety
    /// The bytes belong to the caller, and no thread writes to them during `'a`.
    #[inline]
    pub(crate) unsafe fn read<'a>(&self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: `new` checked that the pointer is not null and the bytes are addressable; the caller guarantees
        // the rest. Bytes that C has not initialized are only moved.
        unsafe { std::slice::from_raw_parts(self.first, self.bytes) }
    }

    /// Returns the bytes for writing.
    ///
    /// # Safety
    /// The bytes belong to the caller, and no other code reads or writes them during `'a`.
    #[inline]
    pub(crate) unsafe fn write<'a>(&self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `read`; the caller guarantees exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.bytes) }
    }
}
