//! The scratch memory of a thread, for packed copies and for shifting lanes.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::simd::LINE;

pub(crate) const PASS_BITS: usize = 3;

/// The number of rows that a pass makes at once, and the number it reads for them.
pub(crate) const MADE: usize = 1 << PASS_BITS;
pub(crate) const READ: usize = 2 * MADE - 1;

pub(crate) const MOST_BITS: usize = 14;

/// The most lines of a row that are moved together: neighbouring memory is read and written together, and the lines
/// of 512 rows stay in a second-level cache (measured; docs/kernels.md).
pub(crate) const MOST_LINES: usize = 12;

/// The number of lines for packed copies: one line of the most rows that are packed. Unused pages are never
/// touched.
pub(crate) const PACKED_LINES: usize = pitch(2 << MOST_BITS);
pub(crate) const COPIED_BYTES: usize = PACKED_LINES * LINE;

/// The number of bytes that are written together: they stay in the first-level cache.
pub(crate) const OUT_BYTES: usize = 16 << 10;

/// Returns the distance between packed lines with `rows` rows each, in rows. It puts the same rows of neighbouring
/// lines into different sets of a first-level cache.
pub(crate) const fn pitch(rows: usize) -> usize {
    const SETS: usize = 64;
    const APART: usize = 7;
    (rows.next_multiple_of(MADE) + SETS - APART - 1) / SETS * SETS + APART
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Lane {
    /// The reversed rows; empty if there are none.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The index of the source row for row 0.
    pub(crate) start: isize,
}

#[derive(Clone, Copy)]
pub(crate) struct LineMasks {
    /// For each bit, the bytes of the lanes whose shift has it.
    pub(crate) bits: [u64; MOST_BITS + 1],
    /// The parts of shifts beyond the bits of the passes: a number of rows, and the bytes of the lanes that are
    /// read so far ahead.
    pub(crate) far: [(isize, u64); LINE],
    pub(crate) fars: usize,
}

impl LineMasks {
    /// Records that the lanes of `bytes` are read `rows` rows ahead.
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

/// The scratch memory of a thread: room for bytes, to which kernels keep pointers, and tables. The fields are
/// separate borrows, so that a borrow of one does not invalidate pointers into another.
pub(crate) struct Scratch<'a> {
    /// Room for [`COPIED_BYTES`], aligned to a line, and for reads beyond the last row. It holds packed lines of
    /// lanes or packed panels of columns.
    pub(crate) copies: *mut u8,
    /// Room for [`OUT_BYTES`], plus alignment to a line, the line before, and writes beyond the last byte.
    pub(crate) out: *mut u8,
    pub(crate) masks: &'a mut [LineMasks; MOST_LINES],
    /// For each row of each line, the bytes of the lanes that start or stop being reversed there.
    pub(crate) changes: &'a mut [u64; PACKED_LINES],
    /// The changes for lines of many rows; zero between uses.
    pub(crate) sub_line_changes: &'a mut [u64; OUT_BYTES / LINE + 2],
    pub(crate) lanes: &'a mut [Lane; MOST_LINES * LINE + 1],
}

#[repr(C)]
struct Storage {
    copies: [MaybeUninit<[u8; LINE]>; PACKED_LINES + MADE + 1],
    out: [MaybeUninit<u8>; OUT_BYTES + 3 * LINE],
    masks: [LineMasks; MOST_LINES],
    changes: [u64; PACKED_LINES],
    sub_line_changes: [u64; OUT_BYTES / LINE + 2],
    lanes: [Lane; MOST_LINES * LINE + 1],
}

/// Returns this thread's scratch, allocated on first use; `None` while the thread ends.
///
/// # Safety
/// The thread must not ask for the scratch again while it uses this one.
pub(crate) unsafe fn scratch<'a>() -> Option<Scratch<'a>> {
    thread_local! {
        static STORAGE: UnsafeCell<Option<Box<Storage>>> = const { UnsafeCell::new(None) };
    }
    let of_cell = |cell: &UnsafeCell<Option<Box<Storage>>>| {
        // SAFETY: the cell belongs to this thread, and the caller guarantees that no other reference into it is in
        // use.
        let storage = unsafe { &mut *cell.get() };
        // SAFETY: zero bytes are valid for every field.
        let storage = storage.get_or_insert_with(|| unsafe { Box::new_zeroed().assume_init() });
        let Storage { copies, out, masks, changes, sub_line_changes, lanes } = &mut **storage;
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
    STORAGE.try_with(|cell| of_cell(cell)).ok()
}
