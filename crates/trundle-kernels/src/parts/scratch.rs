//! The scratch memory of a thread.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::simd::LINE;

pub(crate) const PASS_BITS: usize = 3;

/// The number of rows that a pass makes at once, and that it reads for them.
pub(crate) const MADE: usize = 1 << PASS_BITS;
pub(crate) const READ: usize = 2 * MADE - 1;

pub(crate) const MOST_BITS: usize = 14;

/// The maximum number of cache lines of a row that are moved together. Adjacent memory is then accessed together, and
/// the lines of 512 rows stay in a second-level cache (measured; docs/notes/kernels.md).
pub(crate) const MOST_LINES: usize = 12;

/// The number of lines for packed copies: one line of the maximum number of rows. Unused pages are never accessed.
pub(crate) const PACKED_LINES: usize = pitch(2 << MOST_BITS);
pub(crate) const COPIED_BYTES: usize = PACKED_LINES * LINE;

/// So many assembled bytes stay in the first-level cache.
pub(crate) const OUT_BYTES: usize = 16 << 10;

/// Returns the distance between packed lines of `rows` rows, in rows. It puts the same rows of adjacent lines into
/// different sets of a first-level cache.
pub(crate) const fn pitch(rows: usize) -> usize {
    const SETS: usize = 64;
    const APART: usize = 7;
    (rows.next_multiple_of(MADE) + SETS - APART - 1) / SETS * SETS + APART
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Lane {
    /// The rows `begin..end` are reversed.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The index of the source row that row 0 reads.
    pub(crate) start: isize,
}

#[derive(Clone, Copy)]
pub(crate) struct LineMasks {
    /// For each bit, the bytes of the lanes whose shift has it.
    pub(crate) bits: [u64; MOST_BITS + 1],
    /// The parts of shifts beyond the bits of the passes: a number of rows, and the bytes of the lanes that are shifted
    /// so far.
    pub(crate) far: [(isize, u64); LINE],
    pub(crate) fars: usize,
}

impl LineMasks {
    pub(crate) fn add_far(&mut self, rows: isize, bytes: u64) {
        match self.far[..self.fars].iter_mut().find(|far| far.0 == rows) {
            Some(far) => far.1 |= bytes,
            None => {
                self.far[self.fars] = (rows, bytes);
                self.fars += 1;
            }
        }
    }
}

/// The scratch memory of a thread: buffers, to which kernels keep pointers, and tables. The fields are separate, so
/// that borrowing a table does not invalidate pointers to a buffer.
pub(crate) struct Scratch<'a> {
    /// A buffer of [`COPIED_BYTES`] for packed lines of lanes or packed panels of columns, aligned to a line, with
    /// space for reads beyond the last row.
    pub(crate) copies: *mut u8,
    /// A buffer of [`OUT_BYTES`], plus alignment to a line, a previous line, and writes beyond the last byte.
    pub(crate) out: *mut u8,
    pub(crate) masks: &'a mut [LineMasks; MOST_LINES],
    /// For each row of each line, the bytes of the lanes that begin or stop being reversed.
    pub(crate) changes: &'a mut [u64; PACKED_LINES],
    /// `changes` for lines of several rows. Zero between uses.
    pub(crate) sub_line_changes: &'a mut [u64; OUT_BYTES / LINE + 2],
    pub(crate) lanes: &'a mut [Lane; MOST_LINES * LINE + 1],
}

#[repr(C)]
struct ScratchMemory {
    copies: [MaybeUninit<[u8; LINE]>; PACKED_LINES + MADE + 1],
    out: [MaybeUninit<u8>; OUT_BYTES + 3 * LINE],
    masks: [LineMasks; MOST_LINES],
    changes: [u64; PACKED_LINES],
    sub_line_changes: [u64; OUT_BYTES / LINE + 2],
    lanes: [Lane; MOST_LINES * LINE + 1],
}

/// Returns the scratch of this thread. Returns `None` while the thread ends, and without the standard library.
///
/// # Safety
/// The thread must not call this function again while it uses the result.
pub(crate) unsafe fn scratch<'a>() -> Option<Scratch<'a>> {
    let of_cell = |cell: &UnsafeCell<Option<Box<ScratchMemory>>>| {
        // SAFETY: the cell belongs to this thread, and the caller guarantees that no other reference into it is in
        // use.
        let storage = unsafe { &mut *cell.get() };
        // SAFETY: zero bytes are valid for every field.
        let storage = storage.get_or_insert_with(|| unsafe { Box::new_zeroed().assume_init() });
        let ScratchMemory { copies, out, masks, changes, sub_line_changes, lanes } = &mut **storage;
        let copies = copies.as_mut_ptr().cast::<u8>();
        Scratch {
            copies: copies.wrapping_add(copies.align_offset(LINE)),
            out: out.as_mut_ptr().cast(),
            masks,
            changes,
            sub_line_changes,
            lanes,
        }
    };
    with_cell(of_cell)
}

#[cfg(feature = "std")]
fn with_cell<R>(use_cell: impl FnOnce(&UnsafeCell<Option<Box<ScratchMemory>>>) -> R) -> Option<R> {
    std::thread_local! {
        static STORAGE: UnsafeCell<Option<Box<ScratchMemory>>> = const { UnsafeCell::new(None) };
    }
    STORAGE.try_with(use_cell).ok()
}

#[cfg(not(feature = "std"))]
fn with_cell<R>(_: impl FnOnce(&UnsafeCell<Option<Box<ScratchMemory>>>) -> R) -> Option<R> {
    None
}
