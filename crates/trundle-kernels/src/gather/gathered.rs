//! Moves elements of many short axes by tables of offsets, one at a time or by way of a buffer.

use super::staged;
use super::tables::GatherTile;
use crate::elements::copy::{Elements, copy_each};
use crate::pattern::Pattern;
use crate::simd::{Token, Vector};
use crate::transpose::transposed;

pub(crate) use crate::elements::strided::tile;

/// With more elements in a tile of two loops, or in a tile of a transpose, tables are not faster (measured;
/// docs/kernels.md).
const MOST_PLAIN_ELEMENTS: usize = 64;
const MOST_TRANSPOSED_ELEMENTS: usize = 128;

/// Applies if a tile of two loops would be small.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let Pattern { lens, tile, .. } = *pattern;
    let is_small = |(rows, cols): (usize, usize), most| rows.saturating_mul(cols) <= most;
    is_small(lens, MOST_PLAIN_ELEMENTS)
        && (is_small(tile, MOST_TRANSPOSED_ELEMENTS) || !transposed::applies(pattern, vector_bytes))
}

/// # Safety
/// As [`KernelFn::GatherTile`](crate::KernelFn::GatherTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &GatherTile<'_>) {
    if V::WITHIN_LANES
        && let Some(staged) = &tile.tables.staged
    {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { staged::run(token, tile, staged) };
    }
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe { copy_each(tile.width, tile) };
}

impl Elements for GatherTile<'_> {
    #[inline(always)]
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8)) {
        let tables = self.tables;
        for (src, dst) in self.rounds() {
            for micro_tile in &tables.micro_tiles {
                let (src, dst) = micro_tile.of(src, dst);
                for row in &tables.rows {
                    let (src, dst) = row.of(src, dst);
                    for col in &tables.cols {
                        let (src, dst) = col.of(src, dst);
                        copy(src, dst);
                    }
                }
            }
        }
    }
}
