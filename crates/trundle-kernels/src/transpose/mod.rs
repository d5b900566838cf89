//! Transposes: neighbours in the source become rows of the destination.

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

/// The length of a tile along the source's neighbours: enough lines for an efficient burst of memory reads
/// (measured; docs/kernels.md).
const TILE_ROW_BYTES: usize = 16 * 64;

/// The most rows of a tile: their carry buffers stay in the caches.
const MOST_TILE_ROWS: usize = 256;

/// The least number of columns of a tile.
const TILE_COLS: usize = 1024;

/// Returns the rows and columns of a tile for elements of `width` bytes.
pub(crate) fn tile_of(width: usize) -> (usize, usize) {
    ((TILE_ROW_BYTES / width).min(MOST_TILE_ROWS), TILE_COLS)
}
