//! Kernels for transposes. The rows of a tile are contiguous in the source, and its columns in the destination.

// Kernels.
pub(crate) mod padded;
pub(crate) mod squares;
pub(crate) mod transposed;

// Parts of kernels.
mod cache_resident;
mod cursor;
pub(crate) mod micro_tile;
mod packed_panel;
mod panel;
mod row_block;
mod short_rows;
mod whole_lines;

/// The length of a tile along the axis that is contiguous in the source, in bytes: enough for efficient bursts of
/// memory reads (measured; docs/notes/kernels.md).
const TILE_ROW_BYTES: usize = 16 * 64;

/// The maximum number of rows in a tile, whose carry buffers stay in the caches.
const MOST_TILE_ROWS: usize = 256;

/// The minimum number of columns in a tile.
const TILE_COLS: usize = 1024;

/// Returns the number of rows and columns of a tile.
pub(crate) fn tile_of(width: usize) -> (usize, usize) {
    ((TILE_ROW_BYTES / width).min(MOST_TILE_ROWS), TILE_COLS)
}
