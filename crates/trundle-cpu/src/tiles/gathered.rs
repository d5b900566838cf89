//! Blocks of many short loops: of which of them tables are made, and what is left around the tiles.

use trundle_kernels::{AffineLoop, Gathered, Kernel, Roles, Tables};

use super::roles::{Arranged, Assigned};

/// What a tile comes to at most and at least, if there is as much (measured; docs/kernels.md).
const MOST_TILE_BYTES: usize = 1 << 20;
const LEAST_TILE_BYTES: usize = 16 << 10;

/// The loops of a block as a kernel of such tiles wants them, how many rows and columns a tile has, and the
/// tables; none if none can be made of them.
pub(super) fn arrange(
    kernel: &Kernel,
    roles: Assigned,
    share: usize,
) -> Option<(Arranged, (usize, usize), Option<Tables>)> {
    let width = roles.width;
    let vector_bytes = (kernel.roles == Roles::Bits).then(|| kernel.simd.vector_bytes());
    let tile_bytes = share.clamp(LEAST_TILE_BYTES, MOST_TILE_BYTES);
    let loops = roles.into_loops();
    let Gathered { tables, mut outer, begin, elements } =
        Tables::of(&loops, width, vector_bytes, tile_bytes)?;
    let still = |len| AffineLoop { len, src_stride: 0, dst_stride: 0 };
    // A long loop that was in no table: tiles go through it, too.
    let rounds = match outer.pop() {
        Some(inner) if elements * width < LEAST_TILE_BYTES => inner,
        inner => {
            outer.extend(inner);
            still(1)
        }
    };
    let arranged = Arranged {
        outer,
        rows: rounds,
        row_wrap: None,
        cols: still(elements),
        col_wrap: None,
        table_strides: (Vec::new(), [0; 2]),
        rolled: None,
        begin,
    };
    let row_block = (tile_bytes / (elements * width)).clamp(1, rounds.len);
    Some((arranged, (row_block, elements), Some(tables)))
}
