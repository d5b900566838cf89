//! Moves runs of one tensor, each to the place of the one before.
//!
//! Such consecutive runs are called *floors*: each floor gets the content of the next one, and the last gets
//! `last`. Some lines of every floor are moved at a time. They overwrite lines that were read just before, so
//! memory reads and writes each line once. A single floor has a source elsewhere, and is streamed.

use super::runs::copy_run;
use crate::pattern::Pattern;
use crate::simd::{LINE, Lanes, Token, Vector};

pub(crate) use super::tile;

/// Floors: runs that each move to the place of the one before.
#[derive(Clone, Copy)]
pub struct FloorTile<'a> {
    /// The memory of all floors.
    pub memory: *mut u8,
    /// The offset of the run of each floor, in bytes from `foot`.
    pub floors: &'a [usize],
    /// The offset of all floors, in bytes from the start of the memory.
    pub foot: usize,
    /// The source of the last floor. It may overlap a single floor. It may overlap several floors only
    /// [`MOST_TOGETHER_BYTES`] or more ahead of the bytes that are moved.
    pub last: *const u8,
    /// The bytes of each run.
    pub bytes: usize,
    /// The order of the moves.
    pub order: FloorOrder,
}

/// The order in which floors are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FloorOrder {
    /// From the start.
    Forwards,
    /// From the end, if the source of the last floor is before its destination.
    Backwards,
    /// A single floor from the start, by ordinary stores, which leave it in the caches.
    Cached,
    /// As `Cached`, without overlap: each byte of `last` is overwritten with a byte from here after it has been
    /// moved.
    Refilled(*const u8),
}

/// Up to this number of floors, fewer bytes of each are moved at a time.
const FEW_FLOORS: usize = 12;

/// The number of bytes of each floor that are moved at a time, for few floors (measured; docs/kernels.md).
const TOGETHER_BYTES: usize = 256;

/// The number of bytes for more floors.
pub const MOST_TOGETHER_BYTES: usize = 1024;

/// The planner requests this kernel by name.
pub(crate) fn applies(_: &Pattern, _: usize) -> bool {
    false
}

/// Moves every floor.
///
/// # Safety
/// As [`Call::FloorTile`](crate::Call::FloorTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &FloorTile<'_>) {
    let FloorTile { memory, floors, foot, last, bytes, order } = *tile;
    let is_backwards = order == FloorOrder::Backwards;
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        if let [only] = floors {
            let dst = memory.add(foot + only);
            return match order {
                FloorOrder::Cached => copy_down(token, last, dst, bytes),
                FloorOrder::Refilled(refill) => {
                    copy_and_refill(token, (last.cast_mut(), refill), dst, bytes);
                }
                FloorOrder::Forwards | FloorOrder::Backwards => {
                    shift(token, last, dst, bytes, is_backwards);
                }
            };
        }
        let is_few = floors.len() <= FEW_FLOORS;
        let together = if is_few { TOGETHER_BYTES } else { MOST_TOGETHER_BYTES };
        for done in (0..bytes).step_by(together) {
            let len = together.min(bytes - done);
            let at = if is_backwards { bytes - done - len } else { done };
            for pair in floors.windows(2) {
                let (to, from) = (memory.add(foot + pair[0] + at), memory.add(foot + pair[1] + at));
                if !is_few {
                    let ahead =
                        if is_backwards { from.wrapping_sub(len) } else { from.wrapping_add(len) };
                    (0..len)
                        .step_by(LINE)
                        .for_each(|line| V::prefetch_l2(ahead.wrapping_add(line)));
                }
                copy_run(token, from, to, len);
            }
            let top = floors[floors.len() - 1];
            copy_run(token, last.add(at), memory.add(foot + top + at), len);
        }
    }
}

/// Streams a run to a destination that may overlap the bytes already read: those before it, or after it if
/// backwards.
///
/// # Safety
/// Both are valid for reads and writes.
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
    // SAFETY: written lines are not read again.
    unsafe {
        if is_backwards {
            std::ptr::copy(src.add(end), dst.add(end), bytes - end);
            for at in (head..end).step_by(LINE).rev() {
                move_line(token, src.add(at), dst.add(at));
            }
            std::ptr::copy(src, dst, head);
        } else {
            std::ptr::copy(src, dst, head);
            for at in (head..end).step_by(LINE) {
                move_line(token, src.add(at), dst.add(at));
            }
            std::ptr::copy(src.add(end), dst.add(end), bytes - end);
        }
    }
}

/// Copies a run to a destination that may overlap the bytes already read.
///
/// # Safety
/// Both are valid for reads and writes.
#[inline(always)]
unsafe fn copy_down<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8, bytes: usize) {
    let end = bytes / LINE * LINE;
    // SAFETY: written lines are not read again.
    unsafe {
        for at in (0..end).step_by(LINE) {
            V::prefetch(src.wrapping_add(at + 4096));
            let mut vectors: Lanes<V> = [V::load(token, src.add(at)); LINE / 16];
            store_line(load_line(token, src.add(at), &mut vectors), dst.add(at));
        }
        std::ptr::copy(src.add(end), dst.add(end), bytes - end);
    }
}

/// Copies a run and overwrites it with `refill`.
///
/// # Safety
/// All are valid for reads and writes, and do not overlap.
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
            let mut next: Lanes<V> = [V::load(token, refill.add(at)); LINE / 16];
            let next = load_line(token, refill.add(at), &mut next);
            let mut vectors: Lanes<V> = [V::load(token, run.add(at)); LINE / 16];
            store_line(load_line(token, run.add(at), &mut vectors), dst.add(at));
            store_line(next, run.add(at));
        }
        std::ptr::copy_nonoverlapping(run.add(end), dst.add(end), bytes - end);
        std::ptr::copy_nonoverlapping(refill.add(end), run.add(end), bytes - end);
    }
}

/// Reads the other vectors of a line whose first vector has been read.
///
/// # Safety
/// The line is valid for reads.
#[inline(always)]
unsafe fn load_line<V: Vector>(
    token: Token<V>,
    src: *const u8,
    vectors: &mut Lanes<V>,
) -> &mut [V] {
    let vectors = &mut vectors[..LINE / V::BYTES];
    for (at, vector) in vectors.iter_mut().enumerate().skip(1) {
        // SAFETY: the caller guarantees that the bytes are valid; vectors divide the line.
        *vector = unsafe { V::load(token, src.add(at * V::BYTES)) };
    }
    vectors
}

/// Writes a line.
///
/// # Safety
/// The line is valid for writes.
#[inline(always)]
unsafe fn store_line<V: Vector>(vectors: &[V], dst: *mut u8) {
    for (at, vector) in vectors.iter().enumerate() {
        // SAFETY: the caller guarantees that the bytes are valid; vectors divide the line.
        unsafe { vector.store(dst.add(at * V::BYTES)) };
    }
}

/// Streams a line to a destination that may overlap it.
///
/// # Safety
/// Both are valid for reads and writes, and the destination is aligned.
#[inline(always)]
unsafe fn move_line<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8) {
    // SAFETY: vectors divide the line; all are read before the first is written.
    unsafe {
        let mut vectors: Lanes<V> = [V::load(token, src); LINE / 16];
        for (at, vector) in load_line(token, src, &mut vectors).iter().enumerate() {
            vector.stream(dst.add(at * V::BYTES));
        }
    }
}
