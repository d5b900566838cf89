//! Rotates rows of bytes within their own memory. Each byte is moved once, with little scratch.
//!
//! In a rotation of `n` bytes by `shift`, position `x` takes the byte at `x + shift` modulo `n`. So each of the first
//! `a = n - shift` positions reads position `x + b`, and each of the other `b = shift` positions reads `x - a`. At
//! first, all positions are called the base.
//!
//! While both parts are long, they are reduced as in the Euclidean algorithm. Only the first `max(a, b)` positions
//! remain in the base, and the cycle visits each removed position between two base positions. So each base position
//! starts a segment: a sequence of positions that each take the byte of the next one. The last one takes the byte of
//! another base position. (The three-distance theorem gives the lengths of the segments.)
//!
//! When one part is short, its bytes are saved. The segments are then moved in an order that reads every base position
//! before it is overwritten.

use std::fmt;
use std::ops::Range;
use std::ptr;

use trundle_core::{Along, InPlace, InPlaceAxis};
use trundle_kernels::{
    Kernel, KernelFn, MOST_TOGETHER_BYTES, Roles, SegmentOrder, SegmentTile, simd,
};

use super::limits::Limits;
use super::memory::{Around, SharedBuffer};
use super::pass::Pass;
use crate::Machine;
use crate::text::plural;
use crate::threads::for_each_task;

/// Maximum number of bytes saved by all threads together, or `1/SAVED_PART` of a rotation if that is more.
const MOST_SAVED_BYTES: usize = 6 << 20;
const SAVED_PART: usize = 512;

/// Maximum number of positions per segment. Listing more takes too long, so other strategies do the rotation.
const MOST_POSITIONS: usize = 1 << 14;

/// Number of bytes that are moved at a time if base positions are too near each other for the kernel.
const SHORT_BYTES: usize = 4 << 10;

type MoveTile = unsafe fn(&SegmentTile<'_>);

/// Shorter rotations are moved as cells.
const LEAST_ROW_BYTES: usize = 4 << 10;

/// In rotations of at most this many bytes, the start is saved (it fits in the second-level cache), and the rest is
/// moved from front to back.
const SHORT_ROW_BYTES: usize = 256 << 10;

const TASK_BYTES: usize = 64 << 10;

/// Minimum number of bytes per task of short rotations.
const SHORT_TASK_BYTES: usize = 1 << 20;

/// A thread does whole rotations of at most this many bytes.
const WHOLE_ROW_BYTES: usize = 4 << 20;

/// Rows of bytes, each rotated by the same shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rotation {
    offset: usize,
    around: Around,
    bytes: usize,
    segments: Segments,
    /// Bytes that a thread saves at a time.
    saved: usize,
    kernel: &'static Kernel,
    threads: usize,
}

/// The base of a rotation in two parts: the first `a` and the next `b` positions, each of which starts a segment. The
/// segment of `x` ends by reading `x + b` in the first part, and `x - a` in the second part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segments {
    a: usize,
    b: usize,
    /// Offsets of a segment's positions from its base position, in the first and in the second part.
    a_positions: Vec<usize>,
    b_positions: Vec<usize>,
}

impl Segments {
    /// Reduces the base of a rotation until one part has at most `most` positions.
    fn new(row: usize, shift: usize, most: usize) -> Segments {
        let mut segments =
            Segments { a: row - shift, b: shift, a_positions: vec![0], b_positions: vec![0] };
        while segments.a.min(segments.b) > most {
            let Segments { a, b, .. } = segments;
            let after: Vec<usize> =
                segments.b_positions.iter().map(|position| position + b).collect();
            let through = [&segments.a_positions[..], &after].concat();
            if a > b {
                // Segments of the last `b` positions of the first part continue through the second part.
                (segments.a, segments.b_positions) = (a - b, through);
            } else if a < b {
                (segments.b, segments.a_positions) = (b - a, through);
            } else {
                // Every segment ends by reading its own base position.
                segments = Segments { a, b: 0, a_positions: through, b_positions: Vec::new() };
            }
        }
        segments
    }
}

impl Rotation {
    /// Returns `None` if the move is not a rotation, its rows are too short, or it would need too much scratch.
    pub(super) fn of(work: &InPlace, limits: Limits, machine: &Machine) -> Option<Rotation> {
        let kernel = machine.kernel_of(Roles::Segments)?;
        let (axes, threads) = (work.axes(), limits.threads);
        let is_rolled = |axis: &InPlaceAxis| matches!(axis.along, Along::Rolled { .. });
        let rolled = axes.iter().position(is_rolled)?;
        let Along::Rolled { shift } = axes[rolled].along else { return None };
        let others = axes.iter().enumerate().filter(|(at, _)| *at != rolled);
        let stays = others.clone().all(|(at, axis)| axis.stays(at));
        let within: usize = axes[rolled + 1..].iter().map(|axis| axis.len).product();
        let stride = axes[rolled].stride.unsigned_abs();
        let bytes = axes[rolled].len * stride;
        if !stays || stride != within || bytes < LEAST_ROW_BYTES {
            return None;
        }
        let around = Around::axes(axes[..rolled].iter());
        // Each thread has a saved part, and all share one more.
        let least = limits.scratch.checked_sub(threads * SHORT_BYTES)? / (threads + 1);
        let is_short = bytes <= SHORT_ROW_BYTES.min(least);
        let most = (MOST_SAVED_BYTES.max(bytes / SAVED_PART) / (threads + 1)).min(least);
        if !is_short && bytes / most.max(1) > MOST_POSITIONS {
            return None;
        }
        let segments = Segments::new(bytes, shift * stride, if is_short { bytes } else { most });
        let saved = if is_short { bytes } else { segments.a.min(segments.b) };
        Some(Rotation { offset: work.offset(), around, bytes, segments, saved, kernel, threads })
    }
}

impl Pass for Rotation {
    fn scratch_bytes(&self) -> usize {
        (self.threads + 1) * self.saved + self.threads * SHORT_BYTES
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let rows = self.around.count();
        let KernelFn::SegmentTile(move_tile) = self.kernel.call else {
            unreachable!("a rotation has a kernel of segments")
        };
        let row_start = |row| memory.at(self.offset + self.around.offset(row));
        if self.threads == 1 || self.bytes <= WHOLE_ROW_BYTES && rows >= 2 * self.threads {
            let is_short = self.saved == self.bytes;
            let task_bytes = if is_short { SHORT_TASK_BYTES } else { TASK_BYTES };
            let together = (task_bytes / self.bytes).clamp(1, rows.div_ceil(self.threads).max(1));
            for_each_task(self.threads, rows.div_ceil(together), &|task| {
                let rows = task * together..((task + 1) * together).min(rows);
                // SAFETY: rows do not overlap.
                unsafe {
                    if is_short {
                        return self.segments.run_short_rows(rows, row_start, move_tile);
                    }
                    rows.for_each(|row| {
                        self.segments.run_alone(SharedBuffer::new(row_start(row)), move_tile);
                    });
                }
                simd::fence();
            });
        } else {
            for row in 0..rows {
                // SAFETY: the row lies within the valid buffer.
                unsafe {
                    self.segments.run(SharedBuffer::new(row_start(row)), self.threads, move_tile);
                };
            }
        }
    }
}

impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.around.count();
        let Segments { a, b, a_positions, b_positions } = &self.segments;
        let kernel = self.kernel.name;
        let (bytes, of_a, of_b) = (self.bytes, a_positions.len(), b_positions.len());
        write!(
            f,
            "{rows} run{} of {bytes} bytes rolled, {a} segments of {of_a} positions and {b} of {of_b}, by {kernel}",
            plural(rows)
        )
    }
}

/// A copy of base bytes that are overwritten before they are read.
struct Saved {
    from: usize,
    bytes: Vec<u8>,
}

impl Saved {
    /// # Safety
    /// The memory must have these bytes.
    unsafe fn new(memory: SharedBuffer, range: Range<usize>) -> Saved {
        let mut bytes = Vec::with_capacity(range.len());
        // SAFETY: the caller guarantees that the range is valid, and the vector has space for it.
        unsafe {
            ptr::copy_nonoverlapping(memory.at(range.start), bytes.as_mut_ptr(), range.len());
            bytes.set_len(range.len());
        }
        Saved { from: range.start, bytes }
    }
}

impl Segments {
    /// Moves short rotations one after another, each from front to back. While the end of one is written from the saved
    /// bytes, the start of the next is saved in their place, so that memory is also read.
    ///
    /// # Safety
    /// As [`Pass::run`], for the rows at the addresses that `row_start` returns.
    unsafe fn run_short_rows(
        &self,
        rows: Range<usize>,
        row_start: impl Fn(usize) -> *mut u8,
        move_tile: MoveTile,
    ) {
        let Segments { a, b, .. } = *self;
        // SAFETY: the caller guarantees that the rows are valid and not shared.
        unsafe {
            let mut start = Saved::new(SharedBuffer::new(row_start(rows.start)), 0..b);
            for row in rows.clone() {
                let memory = row_start(row);
                let tile = |base, last, bytes, order| SegmentTile {
                    memory,
                    positions: &self.a_positions,
                    base,
                    last,
                    bytes,
                    order,
                };
                let rest = match row + 1 == rows.end {
                    true => SegmentOrder::Cached,
                    false => SegmentOrder::Refilled(row_start(row + 1)),
                };
                move_tile(&tile(0, memory.wrapping_add(b), a, SegmentOrder::Cached));
                move_tile(&tile(a, start.bytes.as_mut_ptr(), b, rest));
            }
        }
    }

    /// Whether the first part, which reads from higher addresses, is at least as long as the second.
    fn rises(&self) -> bool {
        self.a >= self.b
    }

    /// Returns the base positions of the longer part, and the base positions that the shorter part reads.
    fn long_and_saved(&self) -> (Range<usize>, Range<usize>) {
        let Segments { a, b, .. } = *self;
        if self.rises() { (0..a, 0..b) } else { (a..a + b, b..a + b) }
    }

    /// Moves one rotation on this thread: saves what the shorter part reads, moves the longer part, then the shorter
    /// one.
    ///
    /// # Safety
    /// As [`Pass::run`], for this row.
    unsafe fn run_alone(&self, memory: SharedBuffer, move_tile: MoveTile) {
        let (long, saved) = self.long_and_saved();
        // SAFETY: the ranges are positions of the row.
        unsafe {
            let of_short = Saved::new(memory, saved);
            self.run_long(memory, long, None, move_tile);
            self.run_short(memory, 0..of_short.bytes.len(), &of_short, move_tile);
        }
    }

    /// # Safety
    /// As [`Pass::run`], for this row.
    unsafe fn run(&self, memory: SharedBuffer, threads: usize, move_tile: MoveTile) {
        // The longer part is divided among the threads. Each has a copy of the bytes beyond its share, which others
        // overwrite.
        let (long, of_short) = self.long_and_saved();
        let short = of_short.len();
        let share = |all: &Range<usize>, thread: usize| {
            let begin = |thread: usize| {
                all.start + all.len() / threads * thread + (all.len() % threads).min(thread)
            };
            begin(thread)..begin(thread + 1)
        };
        let saved = |thread: usize| {
            let Range { start, end } = share(&long, thread);
            let of = if self.rises() { end..end + short } else { start - short..start };
            // SAFETY: the range is within the row.
            unsafe { Saved::new(memory, of) }
        };
        let saved: Vec<Saved> = (0..threads).map(saved).collect();
        // SAFETY: the range is within the row.
        let of_short = unsafe { Saved::new(memory, of_short) };
        for_each_task(threads, 2 * threads, &|task| {
            // SAFETY: segments of different base positions are disjoint. Bytes of the base are read before they are
            // overwritten, or they were saved.
            unsafe {
                if task < threads {
                    self.run_long(memory, share(&long, task), Some(&saved[task]), move_tile);
                } else {
                    let part = share(&(0..short), task - threads);
                    self.run_short(memory, part, &of_short, move_tile);
                }
            }
            simd::fence();
        });
    }

    /// Moves the segments of a range of the longer part. `saved` has the bytes beyond the range that other threads
    /// overwrite.
    ///
    /// # Safety
    /// As [`Segments::run`].
    unsafe fn run_long(
        &self,
        memory: SharedBuffer,
        range: Range<usize>,
        saved: Option<&Saved>,
        move_tile: MoveTile,
    ) {
        let rises = self.rises();
        let (positions, apart) =
            if rises { (&self.a_positions, self.b) } else { (&self.b_positions, self.a) };
        // Base positions that read from the base, and base positions that read from the saved bytes.
        let (in_base, of_saved) = if saved.is_none() {
            (range.clone(), range.end..range.end)
        } else if rises {
            let cut = range.end.saturating_sub(apart).max(range.start);
            (range.start..cut, cut..range.end)
        } else {
            let cut = (range.start + apart).min(range.end);
            (cut..range.end, range.start..cut)
        };
        let read = |base: usize| if rises { base + apart } else { base - apart };
        let tile = |bases: &Range<usize>, last: *const u8| SegmentTile {
            memory: memory.at(0),
            positions,
            base: bases.start,
            last,
            bytes: bases.len(),
            order: if rises { SegmentOrder::Forwards } else { SegmentOrder::Backwards },
        };
        // SAFETY: the segments lie within the valid row, and the saved bytes are outside of it.
        unsafe {
            if positions.len() == 1 || apart >= MOST_TOGETHER_BYTES {
                move_tile(&tile(&in_base, memory.at(read(in_base.start))));
            } else {
                // The kernel would overwrite base bytes before it reads them, so they are copied first.
                let mut buffer = [0; SHORT_BYTES];
                for done in (0..in_base.len()).step_by(SHORT_BYTES) {
                    let len = SHORT_BYTES.min(in_base.len() - done);
                    let first = if rises { in_base.start + done } else { in_base.end - done - len };
                    let from = memory.at(read(first));
                    ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), len);
                    move_tile(&tile(&(first..first + len), buffer.as_ptr()));
                }
            }
            if let Some(saved) = saved.filter(|_| !of_saved.is_empty()) {
                move_tile(&tile(
                    &of_saved,
                    saved.bytes[read(of_saved.start) - saved.from..].as_ptr(),
                ));
            }
        }
    }

    /// Moves the segments of a range of the shorter part, which read from the saved bytes.
    ///
    /// # Safety
    /// As [`Segments::run`].
    unsafe fn run_short(
        &self,
        memory: SharedBuffer,
        part: Range<usize>,
        saved: &Saved,
        move_tile: MoveTile,
    ) {
        let (first, positions) =
            if self.rises() { (self.a, &self.b_positions) } else { (0, &self.a_positions) };
        if part.is_empty() {
            return;
        }
        let tile = SegmentTile {
            memory: memory.at(0),
            positions,
            base: first + part.start,
            last: saved.bytes[part.start..].as_ptr(),
            bytes: part.len(),
            order: SegmentOrder::Forwards,
        };
        // SAFETY: the segments lie within the valid row, and the saved bytes are outside of it.
        unsafe { move_tile(&tile) };
    }
}
