//! What a thread needs besides its registers: room for what is copied nearer, and to shift lanes.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::simd::LINE;

/// The bits of a shift that one pass does.
pub(crate) const PASS_BITS: usize = 3;

/// How many rows a pass makes at once, and how many rows it reads for them.
pub(crate) const MADE: usize = 1 << PASS_BITS;
pub(crate) const READ: usize = 2 * MADE - 1;

/// The most bits of a shift that passes do.
pub(crate) const MOST_BITS: usize = 14;

/// The most lines of a row that are moved at a time: what follows in memory is read and written
/// together, and the lines of 512 rows stay in a second-level cache (measured; docs/kernels.md).
pub(crate) const MOST_LINES: usize = 12;

/// The lines that are copied nearer: a line of the most rows that are packed. Pages that are not
/// needed are never touched.
pub(crate) const PACKED_LINES: usize = pitch(2 << MOST_BITS);
pub(crate) const COPIED_BYTES: usize = PACKED_LINES * LINE;

/// What is written at a time, in bytes: it stays in the first-level cache.
pub(crate) const OUT_BYTES: usize = 16 << 10;

/// The distance between packed lines that have so many rows, in rows: such that the same rows of
/// neighbouring lines are in different sets of a first-level cache.
pub(crate) const fn pitch(rows: usize) -> usize {
    const SETS: usize = 64;
    const APART: usize = 7;
    (rows.next_multiple_of(MADE) + SETS - APART - 1) / SETS * SETS + APART
}

/// How a lane is reversed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lane {
    /// The rows that are reversed; empty if none is.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The index of the source row that row 0 reads.
    pub(crate) start: isize,
}

/// The lanes of one line.
#[derive(Clone, Copy)]
pub(crate) struct LineMasks {
    /// For each bit, the bytes of the lanes whose shift has it.
    pub(crate) bits: [u64; MOST_BITS + 1],
    /// What is left of shifts beyond the bits of the passes, and the bytes of the lanes that are
    /// to be read so many rows ahead.
    pub(crate) far: [(isize, u64); LINE],
    pub(crate) fars: usize,
}

impl LineMasks {
    /// Notes that the lanes of `bytes` are to be read `rows` rows ahead.
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

/// What a thread needs besides its registers: room for bytes, to which kernels keep pointers, and
/// tables. Each is borrowed by itself, so that no borrow of one ends a pointer into another.
pub(crate) struct Scratch<'a> {
    /// Room for [`COPIED_BYTES`] from the start of a line on, and for rows that are read beyond the
    /// last and not used: packed lines of lanes, or packed panels of columns.
    pub(crate) copies: *mut u8,
    /// Room for [`OUT_BYTES`], to begin with a line, for the line before it, and for what is made
    /// beyond the last byte.
    pub(crate) out: *mut u8,
    pub(crate) masks: &'a mut [LineMasks; MOST_LINES],
    /// For each row of each line, the bytes of the lanes that begin or cease to be reversed there.
    pub(crate) changes: &'a mut [u64; PACKED_LINES],
    /// The same for lines of many rows: zeroes between uses.
    pub(crate) sub_line_changes: &'a mut [u64; OUT_BYTES / LINE + 2],
    pub(crate) lanes: &'a mut [Lane; MOST_LINES * LINE + 1],
}

/// Where a thread's scratch lies.
#[repr(C)]
struct Storage {
    copies: [MaybeUninit<[u8; LINE]>; PACKED_LINES + MADE + 1],
    out: [MaybeUninit<u8>; OUT_BYTES + 3 * LINE],
    masks: [LineMasks; MOST_LINES],
    changes: [u64; PACKED_LINES],
    sub_line_changes: [u64; OUT_BYTES / LINE + 2],
    lanes: [Lane; MOST_LINES * LINE + 1],
}

/// This thread's scratch, allocated when it is asked for first; `None` while the thread ends.
///
/// # Safety
/// While it is used, this thread asks for no other.
pub(crate) unsafe fn scratch<'a>() -> Option<Scratch<'a>> {
    thread_local! {
        static STORAGE: UnsafeCell<Option<Box<Storage>>> = const { UnsafeCell::new(None) };
    }
    let of_cell = |cell: &UnsafeCell<Option<Box<Storage>>>| {
        // SAFETY: the cell is this thread's own, and by the caller nothing refers into it.
        let storage = unsafe { &mut *cell.get() };
        // SAFETY: zeroes are values of every field.
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
