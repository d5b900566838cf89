//! Moves lanes with a cut each and any strides, one element at a time.

use super::ragged::{LaneTile, Ragged};
use crate::elements::copy::{self, by_width};
use crate::tile::Tile;

/// The number of lanes whose cuts are computed before their rows are moved.
const LANES: usize = 64;

pub(crate) use super::packed_lanes::tile;
pub(crate) use crate::pattern::always as applies;

/// # Safety
/// As [`KernelFn::LaneTile`](crate::KernelFn::LaneTile).
pub(crate) unsafe fn run(tile: &LaneTile<'_>) {
    let width = tile.tile.width;
    by_width!(
        width,
        // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the tile's width.
        W => unsafe { groups(tile, |src, dst| copy::copy::<W>(src, dst)) },
        // SAFETY: the caller upholds `# Safety`: all elements are valid, and they do not overlap.
        unsafe { groups(tile, |src, dst| core::ptr::copy_nonoverlapping(src, dst, width)) }
    );
}

/// What is computed for a lane before its rows are moved.
#[derive(Clone, Copy, Default)]
struct Lane {
    cut: usize,
    first: isize,
    second: isize,
}

impl Lane {
    fn of(ragged: &Ragged<'_>, length: usize) -> Lane {
        Lane {
            cut: ragged.cut(length),
            first: ragged.first.start(length),
            second: ragged.second.start(length),
        }
    }
}

/// Calls `copy` for every element, row by row in each group of lanes.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn groups(tile: &LaneTile<'_>, copy: impl Fn(*const u8, *mut u8)) {
    let LaneTile { tile: Tile { src, dst, rows, cols, .. }, row_begin, ragged, .. } = *tile;
    let mut group = [Lane::default(); LANES];
    for begin in (0..cols.len).step_by(LANES) {
        let lanes = &mut group[..LANES.min(cols.len - begin)];
        for (index, lane) in lanes.iter_mut().enumerate() {
            let entry = (begin + index).cast_signed() * tile.lane_stride;
            *lane = Lane::of(ragged, ragged.lengths[tile.lane.wrapping_add_signed(entry)]);
        }
        for row in row_begin..row_begin + rows.len {
            for (index, lane) in lanes.iter().enumerate() {
                let (start, stride) = if row < lane.cut {
                    (lane.first, ragged.first.src_stride)
                } else {
                    (lane.second, ragged.second.src_stride)
                };
                let (i, col) = (row.cast_signed(), (begin + index).cast_signed());
                copy(
                    src.wrapping_offset(
                        start.wrapping_add(i * stride).wrapping_add(col * cols.src_stride),
                    ),
                    dst.wrapping_offset(i * rows.dst_stride + col * cols.dst_stride),
                );
            }
        }
    }
}
