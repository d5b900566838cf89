//! Rotates rows of bytes within their own memory. Each byte is moved once, with little scratch.
//!
//! In a rotation of `n` bytes by `shift`, position `x` takes the byte at `x + shift` modulo `n`: the first `n - shift`
//! positions read `shift` further on, the other `shift` positions read `n - shift` before. While both parts are long,
//! they are reduced as in the Euclidean algorithm: of parts `a` and `b`, only the first `max(a, b)` positions remain
//! the base, and the cycle visits the others between two base positions. So each base position starts a run of the
//! cycle. Each position of a run takes the byte of the next one, and the last takes the byte of another base position.
//! (The three-distance theorem gives the run lengths.) Once one part is short, it is saved, and the runs are moved in
//! an order that overwrites no base position before it is read.

use std::fmt;
use std::ops::Range;
use std::ptr;

use trundle_core::{Along, InPlace, InPlaceAxis};
use trundle_kernels::{Call, FloorOrder, FloorTile, Kernel, MOST_TOGETHER_BYTES, Roles, simd};

use super::limits::Limits;
use super::memory::{Around, Memory};
use crate::Planner;
use crate::text::plural;
use crate::threads::for_each_task;

/// Most bytes saved by all threads together, or `1/SAVED_PART` of a rotation if that is more.
const MOST_SAVED_BYTES: usize = 6 << 20;
const SAVED_PART: usize = 512;

/// Most positions per run, because listing more takes too long. A rotation that would need more is refused.
const MOST_FLOORS: usize = 1 << 14;

/// Chunk size for runs whose source is closer than the kernel allows.
const SHORT_BYTES: usize = 4 << 10;

/// The kernel that moves runs of a cycle.
type Climb = unsafe fn(&FloorTile<'_>);

/// Shorter rotations are moved as cells.
const LEAST_CIRCLE_BYTES: usize = 4 << 10;

/// For rotations up to this size the start is saved (it fits in the second-level cache), and the rest is moved front
/// to back.
const SHORT_CIRCLE_BYTES: usize = 256 << 10;

const TASK_BYTES: usize = 64 << 10;

/// Least bytes per task of short rotations, whose starts are saved one after another.
const SHORT_TASK_BYTES: usize = 1 << 20;

/// Up to this size, a thread does whole rotations.
const WHOLE_CIRCLE_BYTES: usize = 4 << 20;

/// Rows of bytes, each rotated by the same shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rotation {
    offset: usize,
    /// Positions of the rows.
    around: Around,
    bytes: usize,
    towers: Towers,
    /// Bytes saved at a time.
    saved: usize,
    kernel: &'static Kernel,
    threads: usize,
}

/// The base of a rotation, as two parts: the first `a` positions and the `b` after them. Each base position starts a
/// run of the cycle. The run of a position `x` in the first part ends by reading `x + b`, in the second part by
/// reading `x - a`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Towers {
    a: usize,
    b: usize,
    /// Offsets of a run's positions from its base position.
    a_floors: Vec<usize>,
    b_floors: Vec<usize>,
}

impl Towers {
    /// Reduces a rotation until one part has at most `most` positions.
    fn new(circle: usize, shift: usize, most: usize) -> Towers {
        let mut towers =
            Towers { a: circle - shift, b: shift, a_floors: vec![0], b_floors: vec![0] };
        while towers.a.min(towers.b) > most {
            let Towers { a, b, .. } = towers;
            let after: Vec<usize> = towers.b_floors.iter().map(|floor| floor + b).collect();
            let through = [&towers.a_floors[..], &after].concat();
            if a > b {
                // The runs of the last positions of the first part continue through the second part.
                (towers.a, towers.b_floors) = (a - b, through);
            } else if a < b {
                (towers.b, towers.a_floors) = (b - a, through);
            } else {
                // Every run returns to its own base position.
                towers = Towers { a, b: 0, a_floors: through, b_floors: Vec::new() };
            }
        }
        towers
    }
}

impl Rotation {
    /// Returns the rotation of a move, or `None` if it is not a rotation, its rows are too short or it takes too much
    /// scratch.
    pub(super) fn of(work: &InPlace, limits: Limits, planner: &Planner) -> Option<Rotation> {
        let kernel = planner.machine().kernel_of(Roles::Floors)?;
        let (axes, threads) = (work.axes(), limits.threads);
        let is_rolled = |axis: &InPlaceAxis| matches!(axis.along, Along::Rolled { .. });
        let rolled = axes.iter().position(is_rolled)?;
        let Along::Rolled { shift } = axes[rolled].along else { return None };
        let others = axes.iter().enumerate().filter(|(at, _)| *at != rolled);
        let stays = others.clone().all(|(at, axis)| axis.from == at && axis.along == Along::Kept);
        let within: usize = axes[rolled + 1..].iter().map(|axis| axis.len).product();
        let stride = axes[rolled].stride.unsigned_abs();
        let bytes = axes[rolled].len * stride;
        if !stays || stride != within || bytes < LEAST_CIRCLE_BYTES {
            return None;
        }
        let around = Around::axes(axes[..rolled].iter());
        // Each thread saves a part of its own, and one part is shared.
        let least = limits.scratch.checked_sub(threads * SHORT_BYTES)? / (threads + 1);
        let is_short = bytes <= SHORT_CIRCLE_BYTES.min(least);
        let most = (MOST_SAVED_BYTES.max(bytes / SAVED_PART) / (threads + 1)).min(least);
        if !is_short && bytes / most.max(1) > MOST_FLOORS {
            return None;
        }
        let towers = Towers::new(bytes, shift * stride, if is_short { bytes } else { most });
        let saved = if is_short { bytes } else { towers.a.min(towers.b) };
        Some(Rotation { offset: work.offset(), around, bytes, towers, saved, kernel, threads })
    }

    pub(super) fn scratch_bytes(&self) -> usize {
        (self.threads + 1) * self.saved + self.threads * SHORT_BYTES
    }

    /// Rotates all rows.
    ///
    /// # Safety
    /// The buffer must have the bytes of the move, and no other code may access it during the run.
    pub(super) unsafe fn run(&self, memory: Memory) {
        let circles = self.around.count();
        let Call::FloorTile(climb) = self.kernel.call else {
            unreachable!("a rotation has a kernel of floors")
        };
        let place = |circle| memory.at(self.offset + self.around.offset(circle));
        if self.threads == 1 || self.bytes <= WHOLE_CIRCLE_BYTES && circles >= 2 * self.threads {
            let is_short = self.saved == self.bytes;
            let task_bytes = if is_short { SHORT_TASK_BYTES } else { TASK_BYTES };
            let together =
                (task_bytes / self.bytes).clamp(1, circles.div_ceil(self.threads).max(1));
            for_each_task(self.threads, circles.div_ceil(together), &|task| {
                let circles = task * together..((task + 1) * together).min(circles);
                // SAFETY: rows do not overlap.
                unsafe {
                    if is_short {
                        return self.towers.run_short_circles(circles, place, climb);
                    }
                    circles.for_each(|circle| {
                        self.towers.run_alone(Memory::new(place(circle)), climb);
                    });
                }
                simd::fence();
            });
        } else {
            for circle in 0..circles {
                // SAFETY: the row lies within the valid buffer.
                unsafe { self.towers.run(Memory::new(place(circle)), self.threads, climb) };
            }
        }
    }
}

impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let circles = self.around.count();
        let Towers { a, b, a_floors, b_floors } = &self.towers;
        let kernel = self.kernel.name;
        let (bytes, of_a, of_b) = (self.bytes, a_floors.len(), b_floors.len());
        write!(
            f,
            "{circles} run{} of {bytes} bytes rolled, {a} towers of {of_a} places and {b} of {of_b}, by {kernel}",
            plural(circles)
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
    unsafe fn new(memory: Memory, range: Range<usize>) -> Saved {
        let mut bytes = Vec::with_capacity(range.len());
        // SAFETY: the range is valid by the contract of this function, and the vector has room for it.
        unsafe {
            ptr::copy_nonoverlapping(memory.at(range.start), bytes.as_mut_ptr(), range.len());
            bytes.set_len(range.len());
        }
        Saved { from: range.start, bytes }
    }
}

impl Towers {
    /// Moves short rotations one after another, each front to back, through the caches. While the start of one is
    /// written from the saved bytes, the start of the next is saved in their place, so that memory stays busy.
    ///
    /// # Safety
    /// As [`Rotation::run`], for the rows at these positions.
    unsafe fn run_short_circles(
        &self,
        circles: Range<usize>,
        place: impl Fn(usize) -> *mut u8,
        climb: Climb,
    ) {
        let Towers { a, b, .. } = *self;
        // SAFETY: the rows are valid and unshared by the contract of this function.
        unsafe {
            let mut start = Saved::new(Memory::new(place(circles.start)), 0..b);
            for circle in circles.clone() {
                let memory = place(circle);
                let tile = |foot, last, bytes, order| FloorTile {
                    memory,
                    floors: &self.a_floors,
                    foot,
                    last,
                    bytes,
                    order,
                };
                let rest = match circle + 1 == circles.end {
                    true => FloorOrder::Cached,
                    false => FloorOrder::Refilled(place(circle + 1)),
                };
                climb(&tile(0, memory.wrapping_add(b), a, FloorOrder::Cached));
                climb(&tile(a, start.bytes.as_mut_ptr(), b, rest));
            }
        }
    }

    /// Moves one rotation on this thread: first the longer part, which reads the shorter one before that is
    /// overwritten.
    ///
    /// # Safety
    /// As [`Rotation::run`], for this row.
    unsafe fn run_alone(&self, memory: Memory, climb: Climb) {
        let Towers { a, b, .. } = *self;
        let (long, short) = if a >= b { (0..a, 0..b) } else { (a..a + b, b..a + b) };
        // SAFETY: the ranges are positions of the row.
        unsafe {
            let of_short = Saved::new(memory, short);
            self.run_long(memory, long, None, climb);
            self.run_short(memory, 0..a.min(b), &of_short, climb);
        }
    }

    /// Moves one rotation on several threads.
    ///
    /// # Safety
    /// As [`Rotation::run`], for this row.
    unsafe fn run(&self, memory: Memory, threads: usize, climb: Climb) {
        let Towers { a, b, .. } = *self;
        let all = a + b;
        // The longer part is divided among the threads. Each saves the bytes that the next thread, or the other part,
        // overwrites.
        let (long, rises) = if a >= b { (0..a, true) } else { (a..all, false) };
        let short = a.min(b);
        let share = |thread: usize| {
            long.start + long.len() / threads * thread + (long.len() % threads).min(thread)
        };
        let ranges: Vec<Range<usize>> =
            (0..threads).map(|thread| share(thread)..share(thread + 1)).collect();
        let saved: Vec<Saved> = ranges
            .iter()
            .map(|range| {
                let of = if rises {
                    range.end..range.end + short
                } else {
                    range.start - short..range.start
                };
                // SAFETY: the range is within the row.
                unsafe { Saved::new(memory, of) }
            })
            .collect();
        let of_short = if rises { 0..short } else { all - short..all };
        // SAFETY: the range is within the row.
        let of_short = unsafe { Saved::new(memory, of_short) };
        for_each_task(threads, 2 * threads, &|task| {
            // SAFETY: runs of different base positions are disjoint. Base bytes are read before they are overwritten,
            // or saved.
            unsafe {
                if task < threads {
                    self.run_long(memory, ranges[task].clone(), Some(&saved[task]), climb);
                } else {
                    let part = |task: usize| short / threads * task + (short % threads).min(task);
                    let part = part(task - threads)..part(task - threads + 1);
                    self.run_short(memory, part, &of_short, climb);
                }
            }
            simd::fence();
        });
    }

    /// Moves the runs of a range of the longer part. Bytes beyond the range in reading direction are in `saved` if
    /// other threads overwrite them.
    ///
    /// # Safety
    /// As [`Towers::run`].
    unsafe fn run_long(
        &self,
        memory: Memory,
        range: Range<usize>,
        saved: Option<&Saved>,
        climb: Climb,
    ) {
        let rises = self.a >= self.b;
        let (floors, apart) =
            if rises { (&self.a_floors, self.b) } else { (&self.b_floors, self.a) };
        // Base positions that read from the base, and those that read from the saved bytes.
        let (in_base, of_saved) = if saved.is_none() {
            (range.clone(), range.end..range.end)
        } else if rises {
            let cut = range.end.saturating_sub(apart).max(range.start);
            (range.start..cut, cut..range.end)
        } else {
            let cut = (range.start + apart).min(range.end);
            (cut..range.end, range.start..cut)
        };
        let read = |foot: usize| if rises { foot + apart } else { foot - apart };
        let tile = |feet: &Range<usize>, last: *const u8| FloorTile {
            memory: memory.at(0),
            floors,
            foot: feet.start,
            last,
            bytes: feet.len(),
            order: if rises { FloorOrder::Forwards } else { FloorOrder::Backwards },
        };
        // SAFETY: the runs lie within the valid row, and the saved bytes are outside of it.
        unsafe {
            if floors.len() == 1 || apart >= MOST_TOGETHER_BYTES {
                climb(&tile(&in_base, memory.at(read(in_base.start))));
            } else {
                // The base bytes read last would be overwritten first, so they are buffered.
                let mut buffer = [0; SHORT_BYTES];
                for done in (0..in_base.len()).step_by(SHORT_BYTES) {
                    let len = SHORT_BYTES.min(in_base.len() - done);
                    let first = if rises { in_base.start + done } else { in_base.end - done - len };
                    let from = memory.at(read(first));
                    ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), len);
                    climb(&tile(&(first..first + len), buffer.as_ptr()));
                }
            }
            if let Some(saved) = saved.filter(|_| !of_saved.is_empty()) {
                climb(&tile(&of_saved, saved.bytes[read(of_saved.start) - saved.from..].as_ptr()));
            }
        }
    }

    /// Moves the runs of a range of the shorter part, which read from the saved bytes.
    ///
    /// # Safety
    /// As [`Towers::run`].
    unsafe fn run_short(&self, memory: Memory, part: Range<usize>, saved: &Saved, climb: Climb) {
        let (first, floors) =
            if self.a >= self.b { (self.a, &self.b_floors) } else { (0, &self.a_floors) };
        if part.is_empty() {
            return;
        }
        let tile = FloorTile {
            memory: memory.at(0),
            floors,
            foot: first + part.start,
            last: saved.bytes[part.start..].as_ptr(),
            bytes: part.len(),
            order: FloorOrder::Forwards,
        };
        // SAFETY: the runs lie within the valid row, and the saved bytes are outside of it.
        unsafe { climb(&tile) };
    }
}
