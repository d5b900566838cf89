//! Elements at the indices of a table, wherever these lead.

use crate::elements::copy::{Elements, copy_each};
use crate::pattern::{Pattern, Space};
use crate::tile::AffineLoop;

/// Rows of elements, of which each is read where an index leads.
#[derive(Clone, Copy)]
pub struct IndexTile<'a> {
    /// Where an element of index 0 of the first row would be read.
    pub src: *const u8,
    /// Where the first element is written.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rows, and how far apart their first entries are in the table.
    pub rows: (AffineLoop, isize),
    /// The loop over the elements of a row, and how far apart their entries are.
    pub cols: (AffineLoop, isize),
    /// The table.
    pub indices: &'a [usize],
    /// The entry of the first element.
    pub entry: usize,
    /// How far apart two neighbouring indices are in the source, in bytes.
    pub scale: isize,
}

/// Tiles are as many columns as a second-level cache has of their indices, of one row or more.
const MOST_COLS: usize = 1 << 12;
const MOST_ELEMENTS: usize = 1 << 13;

/// Its roles are those of indices alone.
pub(crate) fn applies(_: &Pattern, _: usize) -> bool {
    true
}

/// Few enough that other threads have work, and a stop is heard.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let cols = space.pattern.lens.1.clamp(1, MOST_COLS);
    (MOST_ELEMENTS / cols, cols)
}

/// Copies element by element.
///
/// # Safety
/// As [`Call::IndexTile`](crate::Call::IndexTile).
pub(crate) unsafe fn run(tile: &IndexTile<'_>) {
    // SAFETY: the contract is the same.
    unsafe { copy_each(tile.width, tile) };
}

impl Elements for IndexTile<'_> {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        let IndexTile { rows: (rows, row_entries), cols: (cols, entries), scale, .. } = *self;
        for row in 0..rows.len.cast_signed() {
            let src = self.src.wrapping_offset(row * rows.src_stride);
            let dst = self.dst.wrapping_offset(row * rows.dst_stride);
            let entry = self.entry.wrapping_add_signed(row * row_entries);
            let at = |col: usize, index: usize| {
                let col = col.cast_signed();
                let src = src.wrapping_offset(col * cols.src_stride);
                copy(
                    src.wrapping_offset(index.cast_signed().wrapping_mul(scale)),
                    dst.wrapping_offset(col * cols.dst_stride),
                );
            };
            if entries == 1 {
                let indices = &self.indices[entry..][..cols.len];
                indices.iter().enumerate().for_each(|(col, index)| at(col, *index));
            } else {
                for col in 0..cols.len {
                    let entry = entry.wrapping_add_signed(col.cast_signed() * entries);
                    at(col, self.indices[entry]);
                }
            }
        }
    }
}
