//! Blocks of many short loops: of which of them tables are made, and what is left around the tiles.

use trundle_core::Block;
use trundle_kernels::{AffineLoop, Gathered, Kernel, Roles, Tables};

use super::Common;
use super::roles::Assigned;
use crate::plan::Step;

/// What a tile comes to at most and at least, if there is as much (measured; docs/kernels.md).
const MOST_TILE_BYTES: usize = 1 << 20;
const LEAST_TILE_BYTES: usize = 16 << 10;

/// How a block is done by a kernel of such tiles.
pub(super) fn step(
    kernel: &'static Kernel,
    roles: Assigned,
    block: &Block,
    all: Common,
) -> Option<Step> {
    let Common { store, share, tuning, .. } = all;
    let width = roles.width;
    let vector_bytes = (kernel.roles == Roles::Bits).then(|| kernel.simd.vector_bytes());
    let tile_bytes = share.clamp(LEAST_TILE_BYTES, MOST_TILE_BYTES);
    let loops = roles.into_loops();
    let Gathered { tables, mut outer, begin, elements } =
        Tables::of(&loops, width, vector_bytes, tile_bytes)?;
    // A long loop that was in no table: tiles go through it, too.
    let rounds = match outer.pop() {
        Some(inner) if elements * width < LEAST_TILE_BYTES => inner,
        inner => {
            outer.extend(inner);
            AffineLoop { len: 1, src_stride: 0, dst_stride: 0 }
        }
    };
    Some(Step {
        kernel,
        store,
        width,
        src_offset: block.src_offset + begin.0,
        dst_offset: block.dst_offset + begin.1,
        outer,
        rows: rounds,
        row_wrap: None,
        cols: AffineLoop { len: elements, src_stride: 0, dst_stride: 0 },
        col_wrap: None,
        rolled: None,
        row_block: (tile_bytes / (elements * width)).clamp(1, rounds.len),
        col_block: elements,
        tables: Some(tables),
        ragged: None,
        tuning,
    })
}
