//! Runs of one tensor that each take the place of the one before.
//!
//! Runs that follow each other are *floors*: each becomes the next one, and the last what is told. They are gone through together, some
//! lines of each at a time: what is written over was read just before, so that memory reads and writes each line once.
//! A single floor is read elsewhere than it is written, and is streamed.

use super::runs::copy_run;
use crate::pattern::Pattern;
use crate::simd::{LINE, Lanes, Token, Vector};

pub(crate) use super::tile;

/// Floors of runs.
#[derive(Clone, Copy)]
pub struct FloorTile<'a> {
    /// The memory that all floors are in.
    pub memory: *mut u8,
    /// Where the run of each floor begins, in bytes from the start of the memory.
    pub floors: &'a [usize],
    /// So much further each of them does.
    pub foot: usize,
    /// What becomes of the last floor. It may overlap that if there is no other one; else it is [`MOST_TOGETHER_BYTES`] ahead of
    /// floors that it overlaps.
    pub last: *const u8,
    /// The bytes of each run.
    pub bytes: usize,
    /// How they are gone through.
    pub order: FloorOrder,
}

/// How floors are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FloorOrder {
    /// From the start.
    Forwards,
    /// From the end, where what becomes of the last floor is before it.
    Backwards,
    /// A single one from the start, in the caches, where ordinary stores leave it.
    Cached,
    /// The same, which is not overlapped: as each byte of `last` has been moved, one from here takes its place.
    Refilled(*const u8),
}

/// Of so many floors some lines are moved at a time.
const FEW_FLOORS: usize = 12;

/// How many bytes of each floor are moved at a time, of few floors (measured; docs/kernels.md).
const TOGETHER_BYTES: usize = 256;

/// How many are of more floors.
pub const MOST_TOGETHER_BYTES: usize = 1024;

/// They are asked for by name.
pub(crate) fn applies(_: &Pattern, _: usize) -> bool {
    false
}

/// Moves every floor down.
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

/// Streams a run to where it may overlap, behind what is read then, or from the end, before it.
///
/// # Safety
/// Both are valid, for reads and for writes.
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
    // SAFETY: lines that are written are not read any more.
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

/// Copies a run to where it may overlap, behind what is read then.
///
/// # Safety
/// Both are valid, for reads and for writes.
#[inline(always)]
unsafe fn copy_down<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8, bytes: usize) {
    let end = bytes / LINE * LINE;
    // SAFETY: lines that are written are not read any more.
    unsafe {
        for at in (0..end).step_by(LINE) {
            V::prefetch(src.wrapping_add(at + 4096));
            let mut vectors: Lanes<V> = [V::load(token, src.add(at)); LINE / 16];
            store_line(load_line(token, src.add(at), &mut vectors), dst.add(at));
        }
        std::ptr::copy(src.add(end), dst.add(end), bytes - end);
    }
}

/// Copies a run, and writes another one over it.
///
/// # Safety
/// All are valid, for reads and for writes, and do not overlap.
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

/// Reads a line, of which the first vector is read.
///
/// # Safety
/// It is valid for reads.
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
/// It is valid for writes.
#[inline(always)]
unsafe fn store_line<V: Vector>(vectors: &[V], dst: *mut u8) {
    for (at, vector) in vectors.iter().enumerate() {
        // SAFETY: the caller guarantees that the bytes are valid; vectors divide the line.
        unsafe { vector.store(dst.add(at * V::BYTES)) };
    }
}

/// Streams a line to where it may overlap.
///
/// # Safety
/// Both are valid, for reads and for writes, and the destination is aligned.
#[inline(always)]
unsafe fn move_line<V: Vector>(token: Token<V>, src: *const u8, dst: *mut u8) {
    // SAFETY: vectors divide the line, of which all are read before one is written.
    unsafe {
        let mut vectors: Lanes<V> = [V::load(token, src); LINE / 16];
        for (at, vector) in load_line(token, src, &mut vectors).iter().enumerate() {
            vector.stream(dst.add(at * V::BYTES));
        }
    }
}
