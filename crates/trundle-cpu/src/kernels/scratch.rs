//! What a thread needs besides its registers: room for what is copied nearer, and to shift lanes.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::turned::Lane;
use crate::simd::LINE;

/// The bits of a shift that one pass does.
pub(super) const PASS_BITS: usize = 3;

/// How many rows a pass makes at once, and how many rows it reads for them.
pub(super) const MADE: usize = 1 << PASS_BITS;
pub(super) const READ: usize = 2 * MADE - 1;

/// The most bits of a shift that passes do.
pub(super) const MOST_BITS: usize = 14;

/// The most lines of a row that are moved at a time: what follows in memory is read and written
/// together, and the lines of 512 rows stay in a second-level cache (measured; docs/kernels.md).
pub(super) const MOST_LINES: usize = 12;

/// The lines that are copied nearer: a line of the most rows that are packed. Pages that are not
/// needed are never touched.
pub(super) const PACKED_LINES: usize = pitch(2 << MOST_BITS);
pub(super) const COPIED_BYTES: usize = PACKED_LINES * LINE;

/// What is written at a time, in bytes: it stays in the first-level cache.
pub(super) const OUT_BYTES: usize = 16 << 10;

/// The distance between packed lines that have so many rows, in rows: such that the same rows of
/// neighbouring lines are in different sets of a first-level cache.
pub(super) const fn pitch(rows: usize) -> usize {
    const SETS: usize = 64;
    const APART: usize = 7;
    (rows.next_multiple_of(MADE) + SETS - APART - 1) / SETS * SETS + APART
}

/// The lanes of one line.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// For each bit, the bytes of the lanes whose shift has it.
    pub(super) bits: [u64; MOST_BITS + 1],
    /// What is left of shifts beyond the bits of the passes, and the bytes of the lanes that are
    /// to be read so many rows ahead.
    pub(super) far: [(isize, u64); LINE],
    pub(super) fars: usize,
}

impl Strip {
    /// Notes that the lanes of `bytes` are to be read `rows` rows ahead.
    pub(super) fn add_far(&mut self, rows: isize, bytes: u64) {
        match self.far[..self.fars].iter_mut().find(|far| far.0 == rows) {
            Some(far) => far.1 |= bytes,
            None => {
                self.far[self.fars] = (rows, bytes);
                self.fars += 1;
            }
        }
    }
}

/// What a thread needs besides its registers.
#[repr(C)]
pub(super) struct Scratch {
    /// Room to begin with a line, and for rows that are read beyond the last and not used.
    copies: [MaybeUninit<[u8; LINE]>; PACKED_LINES + MADE + 1],
    /// Room to begin with a line, for the line before it, and for what is made beyond the last byte.
    pub(super) out: [MaybeUninit<u8>; OUT_BYTES + 3 * LINE],
    pub(super) strips: [Strip; MOST_LINES],
    /// For each row of each line, the bytes of the lanes that begin or cease to be turned there.
    pub(super) changes: [u64; PACKED_LINES],
    /// The same for lines of many rows: zeroes between uses.
    pub(super) narrow_changes: [u64; OUT_BYTES / LINE + 2],
    pub(super) lanes: [Lane; MOST_LINES * LINE + 1],
}

impl Scratch {
    /// Room for [`COPIED_BYTES`] from the start of a line on: packed lines of lanes, or bundles of
    /// columns.
    #[inline(always)]
    pub(super) fn copies(&mut self) -> *mut u8 {
        let copies = (&raw mut self.copies).cast::<u8>();
        copies.wrapping_add(copies.align_offset(LINE))
    }
}

/// This thread's scratch, allocated when it is asked for first; `None` while the thread ends.
pub(super) fn scratch() -> Option<*mut Scratch> {
    thread_local! {
        static SCRATCH: UnsafeCell<Option<Box<Scratch>>> = const { UnsafeCell::new(None) };
    }
    let of_cell = |cell: &UnsafeCell<Option<Box<Scratch>>>| {
        // SAFETY: the cell is this thread's own, and nothing refers into it but within this
        // closure, which calls nothing that comes back here.
        let scratch = unsafe { &mut *cell.get() };
        // SAFETY: zeroes are values of every field.
        let scratch = scratch.get_or_insert_with(|| unsafe { Box::new_zeroed().assume_init() });
        std::ptr::from_mut::<Scratch>(scratch)
    };
    SCRATCH.try_with(of_cell).ok()
}
