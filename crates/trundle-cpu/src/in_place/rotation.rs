//! Bytes rolled within their own place: each is moved once, through little memory.
//!
//! In a roll, byte `x` is read `shift` further on, round a circle of `n`: of the first `n - shift` bytes each is read
//! `shift` further, of the other `shift` each is read `n - shift` before. As long as both parts are long, the circle is
//! seen as a shorter one: of two parts `a` and `b` only the first `max(a, b)` places are its base, and what is behind is
//! passed on the way back to the base. So each place of the base is the foot of a tower of places, each of which is read
//! at the next, and the last at the foot of another tower. This is the Euclidean algorithm; the towers are those of the
//! three-distance theorem. Once a part is short it is saved, and the towers are gone through in the order in which no foot is
//! overwritten before it is read.

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

/// The most that is saved by all threads together, and which part of a circle may be if that is more.
const MOST_SAVED_BYTES: usize = 6 << 20;
const SAVED_PART: usize = 512;

/// More floors take too long to list: less may be saved then than it takes.
const MOST_FLOORS: usize = 1 << 14;

/// Towers whose feet are read nearer than the kernel allows are moved so many bytes at a time.
const SHORT_BYTES: usize = 4 << 10;

/// What moves towers.
type Climb = unsafe fn(&FloorTile<'_>);

/// Shorter circles are moved as cells.
const LEAST_CIRCLE_BYTES: usize = 4 << 10;

/// Of circles this long the start is saved, in the second-level cache, and the rest is moved from front to back.
const SHORT_CIRCLE_BYTES: usize = 256 << 10;

/// What a thread takes at a time, at least.
const TASK_BYTES: usize = 64 << 10;

/// The same of short circles, whose starts are saved in turn.
const SHORT_TASK_BYTES: usize = 1 << 20;

/// Of circles this long a thread takes whole ones.
const WHOLE_CIRCLE_BYTES: usize = 4 << 20;

/// Rows of bytes, each rolled by the same shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rotation {
    offset: usize,
    /// The circles.
    around: Around,
    /// The bytes of a circle.
    bytes: usize,
    towers: Towers,
    /// What is saved of a circle at a time.
    saved: usize,
    kernel: &'static Kernel,
    threads: usize,
}

/// Two parts of the base of a circle: its first `a` places and the `b` behind them, each the foot of a tower of places.
/// A foot `x` of the first is read again, once its tower is passed, at `x + b`, one of the second at `x - a`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Towers {
    a: usize,
    b: usize,
    /// How far the places of a tower are from its foot.
    a_floors: Vec<usize>,
    b_floors: Vec<usize>,
}

impl Towers {
    /// The towers of a circle, one part of which has `most` places at most.
    fn new(circle: usize, shift: usize, most: usize) -> Towers {
        let mut towers =
            Towers { a: circle - shift, b: shift, a_floors: vec![0], b_floors: vec![0] };
        while towers.a.min(towers.b) > most {
            let Towers { a, b, .. } = towers;
            let after: Vec<usize> = towers.b_floors.iter().map(|floor| floor + b).collect();
            let through = [&towers.a_floors[..], &after].concat();
            if a > b {
                // The last feet of the first part pass the second one.
                (towers.a, towers.b_floors) = (a - b, through);
            } else if a < b {
                (towers.b, towers.a_floors) = (b - a, through);
            } else {
                // Each comes back to where it was.
                towers = Towers { a, b: 0, a_floors: through, b_floors: Vec::new() };
            }
        }
        towers
    }
}

impl Rotation {
    /// The rotation that a move is, if it is one of circles that are not too short, nor take more scratch.
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
        // Each thread saves its own, and one of them what all share.
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

    /// The bytes beside the tensor that a run takes.
    pub(super) fn scratch_bytes(&self) -> usize {
        (self.threads + 1) * self.saved + self.threads * SHORT_BYTES
    }

    /// Rolls all circles.
    ///
    /// # Safety
    /// The buffer has the bytes of the move, and nobody else reads or writes them meanwhile.
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
                // SAFETY: circles do not overlap.
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
                // SAFETY: by the caller.
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

/// A copy of bytes of the base that others write over before they are read.
struct Saved {
    from: usize,
    bytes: Vec<u8>,
}

impl Saved {
    /// # Safety
    /// The memory has these bytes.
    unsafe fn new(memory: Memory, range: Range<usize>) -> Saved {
        let mut bytes = Vec::with_capacity(range.len());
        // SAFETY: by the caller; the vector has room for them.
        unsafe {
            ptr::copy_nonoverlapping(memory.at(range.start), bytes.as_mut_ptr(), range.len());
            bytes.set_len(range.len());
        }
        Saved { from: range.start, bytes }
    }
}

impl Towers {
    /// Moves short circles, one after another, each from front to back, through the caches: as the start of one is written from where
    /// it is saved, that of the next is saved there, so that memory never waits.
    ///
    /// # Safety
    /// As [`Rotation::run`], for the circles, which begin at their places.
    unsafe fn run_short_circles(
        &self,
        circles: Range<usize>,
        place: impl Fn(usize) -> *mut u8,
        climb: Climb,
    ) {
        let Towers { a, b, .. } = *self;
        // SAFETY: by the caller.
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

    /// Moves all of a circle on this thread: first the longer part, which reads the shorter one before that is written.
    ///
    /// # Safety
    /// As [`Rotation::run`], for the circle.
    unsafe fn run_alone(&self, memory: Memory, climb: Climb) {
        let Towers { a, b, .. } = *self;
        let (long, short) = if a >= b { (0..a, 0..b) } else { (a..a + b, b..a + b) };
        // SAFETY: these are places of the circle.
        unsafe {
            let of_short = Saved::new(memory, short);
            self.run_long(memory, long, None, climb);
            self.run_short(memory, 0..a.min(b), &of_short, climb);
        }
    }

    /// Moves all of a circle, with so many threads.
    ///
    /// # Safety
    /// As [`Rotation::run`], for the circle.
    unsafe fn run(&self, memory: Memory, threads: usize, climb: Climb) {
        let Towers { a, b, .. } = *self;
        let all = a + b;
        // The part that is long is cut for the threads; each saves what the next one, or the other part, writes over.
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
                // SAFETY: these are places of the circle.
                unsafe { Saved::new(memory, of) }
            })
            .collect();
        let of_short = if rises { 0..short } else { all - short..all };
        // SAFETY: these too.
        let of_short = unsafe { Saved::new(memory, of_short) };
        for_each_task(threads, 2 * threads, &|task| {
            // SAFETY: the towers of different feet have no place in common; what is read of the base is not written
            // before, or saved.
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

    /// Moves the towers of a range of the longer part. What lies beyond the range in the direction in which it reads is
    /// saved, if others write it meanwhile.
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
        // Feet that are read where others are, and those that are read where they were.
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
        // SAFETY: by the caller; the saved bytes are apart from the circle.
        unsafe {
            if floors.len() == 1 || apart >= MOST_TOGETHER_BYTES {
                climb(&tile(&in_base, memory.at(read(in_base.start))));
            } else {
                // The feet that are read last are written over first: they are read before.
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

    /// Moves the towers of a part of the shorter one, whose feet are read where saved bytes were.
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
        // SAFETY: by the caller.
        unsafe { climb(&tile) };
    }
}
