//! Moves segments of the cycles of a rotation.
//!
//! A segment is a list of positions. Each position takes the run of bytes at the next one, and the last position takes
//! the run at `last`. A few lines of every run are moved at a time, and overwrite lines that were read shortly before,
//! so memory reads and writes each line once. A single position is streamed.

use super::runs::copy_run;
use crate::parts::line::Line;
use crate::simd::{LINE, Token, Vector};

pub(crate) use super::tile;
pub(crate) use crate::pattern::never as applies;

/// Segments of cycles at consecutive base positions.
#[derive(Clone, Copy)]
pub struct SegmentTile<'a> {
    /// The address to which offsets are added.
    pub memory: *mut u8,
    /// The offset of each run from the base position, in bytes.
    pub positions: &'a [usize],
    /// The first base position, in bytes from `memory`.
    pub base: usize,
    /// The source for the last position. It may overlap a single position. It may overlap several positions only
    /// [`MOST_TOGETHER_BYTES`] or more ahead of the bytes that are moved.
    pub last: *const u8,
    /// The length of each run in bytes.
    pub bytes: usize,
    /// The order of the moves.
    pub order: SegmentOrder,
}

/// The order in which bytes of runs are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SegmentOrder {
    /// From the start.
    Forwards,
    /// From the end, if the source of the last position is before its destination.
    Backwards,
    /// From the start, by ordinary stores, which leave a single position in the caches.
    Cached,
    /// As `Cached`, for a source that does not overlap the position. Each moved byte at `last` is overwritten with a
    /// byte from this address.
    Refilled(*const u8),
}

/// For at most this many positions, `TOGETHER_BYTES` of each run are moved at a time.
const FEW_POSITIONS: usize = 12;

/// The number of bytes of each run that are moved at a time, for few positions (measured; docs/notes/kernels.md).
const TOGETHER_BYTES: usize = 256;

/// The number of bytes for more positions.
pub const MOST_TOGETHER_BYTES: usize = 1024;

/// # Safety
/// As [`KernelFn::SegmentTile`](crate::KernelFn::SegmentTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &SegmentTile<'_>) {
    let SegmentTile { memory, positions, base, last, bytes, order } = *tile;
    let is_backwards = order == SegmentOrder::Backwards;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        if let [only] = positions {
            let dst = memory.add(base + only);
            return match order {
                SegmentOrder::Cached => copy_down(token, last, dst, bytes),
                SegmentOrder::Refilled(refill) => {
                    copy_and_refill(token, (last.cast_mut(), refill), dst, bytes);
                }
                SegmentOrder::Forwards | SegmentOrder::Backwards => {
                    shift(token, last, dst, bytes, is_backwards);
                }
            };
        }
        let is_few = positions.len() <= FEW_POSITIONS;
        let together = if is_few { TOGETHER_BYTES } else { MOST_TOGETHER_BYTES };
        for done in (0..bytes).step_by(together) {
            let len = together.min(bytes - done);
            let at = if is_backwards { bytes - done - len } else { done };
            for pair in positions.windows(2) {
                let (to, from) = (memory.add(base + pair[0] + at), memory.add(base + pair[1] + at));
                if !is_few {
                    let ahead =
                        if is_backwards { from.wrapping_sub(len) } else { from.wrapping_add(len) };
                    (0..len)
                        .step_by(LINE)
                        .for_each(|line| V::prefetch_l2(ahead.wrapping_add(line)));
                }
                copy_run(token, from, to, len);
            }
            let end = positions[positions.len() - 1];
            copy_run(token, last.add(at), memory.add(base + end + at), len);
        }
    }
}

/// Streams a run. The destination may overlap the source at a lower address, or a higher one if `is_backwards`.
///
/// # Safety
/// Source and destination are valid for reads and writes.
#[inline(always)]
unsafe fn shift<V: Vector>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    bytes: usize,
    is_backwards: bool,
) {
    let head = dst.align_offset(LINE).min(bytes);
    let end = head + (bytes - head) / LINE * LINE;
    // SAFETY: written lines are not read again. A line's source and destination may overlap: `Line::load` reads the
    // whole line before the first store.
    unsafe {
        if is_backwards {
            core::ptr::copy(src.add(end), dst.add(end), bytes - end);
            for at in (head..end).step_by(LINE).rev() {
                Line::load(token, src.add(at)).stream(dst.add(at));
            }
            core::ptr::copy(src, dst, head);
        } else {
            core::ptr::copy(src, dst, head);
            for at in (head..end).step_by(LINE) {
                Line::load(token, src.add(at)).stream(dst.add(at));
            }
            core::ptr::copy(src.add(end), dst.add(end), bytes - end);
        }
    }
}

/// Moves a run by ordinary stores to a destination that may overlap it at a lower address.
///
/// # Safety
/// Source and destination are valid for reads and writes.
#[inline(always)]
unsafe fn copy_down<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8, bytes: usize) {
    let end = bytes / LINE * LINE;
    // SAFETY: written lines are not read again. A line's source and destination may overlap: `Line::load` reads the
    // whole line before the first store.
    unsafe {
        for at in (0..end).step_by(LINE) {
            V::prefetch(src.wrapping_add(at + 4096));
            Line::load(token, src.add(at)).store(dst.add(at));
        }
        core::ptr::copy(src.add(end), dst.add(end), bytes - end);
    }
}

/// Copies a run to `dst`, and overwrites the run with the bytes at `refill`.
///
/// # Safety
/// The run and `dst` are valid for reads and writes, `refill` is valid for reads, and none of them overlap.
#[inline(always)]
unsafe fn copy_and_refill<V: Vector>(
    token: Token<V>,
    (run, refill): (*mut u8, *const u8),
    dst: *mut u8,
    bytes: usize,
) {
    let end = bytes / LINE * LINE;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        for at in (0..end).step_by(LINE) {
            V::prefetch(refill.wrapping_add(at + 4096));
            let next = Line::load(token, refill.add(at));
            Line::load(token, run.add(at)).store(dst.add(at));
            next.store(run.add(at));
        }
        core::ptr::copy_nonoverlapping(run.add(end), dst.add(end), bytes - end);
        core::ptr::copy_nonoverlapping(refill.add(end), run.add(end), bytes - end);
    }
}
