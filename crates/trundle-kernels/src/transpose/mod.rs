//! Neighbours of the source become rows of the destination.

// Kernels.
pub(crate) mod padded;
pub(crate) mod squares;
pub(crate) mod transposed;

// What they are made of.
mod cache_resident;
mod cursor;
pub(crate) mod micro_tile;
mod packed_panel;
mod panel;
mod row_block;
mod short_rows;
mod whole_lines;

/// How far a tile reaches along the source's neighbours: as many lines as make a burst that memory
/// serves well (measured; docs/kernels.md).
const TILE_ROW_BYTES: usize = 16 * 64;

/// How many rows a tile has at most: their carry buffers stay near.
const MOST_TILE_ROWS: usize = 256;

/// How many columns a tile has at least.
const TILE_COLS: usize = 1024;

/// Tiles of elements of so many bytes.
pub(crate) fn tile_of(width: usize) -> (usize, usize) {
    ((TILE_ROW_BYTES / width).min(MOST_TILE_ROWS), TILE_COLS)
}
