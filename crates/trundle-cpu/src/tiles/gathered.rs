//! Plans blocks of many short loops: chooses which loops become tables.

use trundle_kernels::{AffineLoop, Gathered, Kernel, Roles, Tables};

use super::roles::{Arranged, Assigned};

/// Maximum and minimum size of a tile in bytes (measured; docs/notes/kernels.md).
const MOST_TILE_BYTES: usize = 1 << 20;
const LEAST_TILE_BYTES: usize = 16 << 10;

/// Arranges the loops for a gather kernel. Also returns the rows and columns of a tile, and the tables. Returns `None`
/// if no tables can be made.
pub(super) fn arrange(
    kernel: &Kernel,
    roles: Assigned,
    share: usize,
) -> Option<(Arranged, (usize, usize), Option<Tables>)> {
    let width = roles.width;
    let tile_bytes = share.clamp(LEAST_TILE_BYTES, MOST_TILE_BYTES);
    let loops = roles.into_loops();
    let Gathered { tables, mut outer, begin, elements } =
        Tables::of(&loops, width, kernel.roles == Roles::Bits, kernel.simd, tile_bytes)?;
    // If the tables cover only a small tile, tiles also iterate over the innermost loop without a table.
    let rounds = match outer.pop() {
        Some(inner) if elements * width < LEAST_TILE_BYTES => inner,
        inner => {
            outer.extend(inner);
            AffineLoop::ONCE
        }
    };
    let arranged = Arranged {
        outer,
        rows: rounds,
        row_wrap: None,
        cols: AffineLoop { len: elements, ..AffineLoop::ONCE },
        col_wrap: None,
        table_strides: (Vec::new(), [0; 2]),
        rolled: None,
        begin,
    };
    let row_block = (tile_bytes / (elements * width)).clamp(1, rounds.len);
    Some((arranged, (row_block, elements), Some(tables)))
}
