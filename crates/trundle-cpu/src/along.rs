//! Takes and puts elements at indices along an axis, where the indices are data of the call. They are used directly,
//! without making a plan.
//!
//! A planned gather stores its checked indices as a table. Building that table costs as much as moving single
//! elements, so one-time calls skip it. The semantics match `Take` and `TakeAlongAxis`;
//! `crates/trundle-cpu/tests/suite/along.rs` checks that.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use trundle_core::ops::IndexMode;
use trundle_core::{Error, OpError, Result, check_sizes};
use trundle_kernels::simd::{LINE, prefetch};
use trundle_kernels::{
    ELEMENTS_AHEAD, ELEMENTS_AT_ONCE as AT_ONCE, FAR_BYTES, INDICES_AHEAD_BYTES,
};

use crate::buffers::Buffers;
use crate::threads::{TASKS_PER_THREAD, for_each_task};

/// A row-major tensor seen along one axis: `outer` x `size` x `inner` elements of `width` bytes. `count` elements are
/// taken or put along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// Number of positions of the axes before this one.
    pub outer: usize,
    /// Size of the axis.
    pub size: usize,
    /// Number of indices along the axis.
    pub count: usize,
    /// Number of positions of the axes after this one.
    pub inner: usize,
    /// Size of an element in bytes.
    pub width: usize,
}

const LEAST_TASK_BYTES: usize = 256 << 10;

impl Along {
    /// Returns the bytes of the tensor and of the taken part; `None` on overflow.
    fn bytes(&self) -> Option<(usize, usize)> {
        let rows = self.outer.checked_mul(self.inner)?.checked_mul(self.width)?;
        Some((rows.checked_mul(self.size)?, rows.checked_mul(self.count)?))
    }

    /// Copies the elements at `indices` along the axis to `out`. All positions of the other axes share the indices.
    /// Negative indices count from the end.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) for buffers or indices of another size,
    /// [`OpError::IndexOutOfRange`]: `out` is written in
    /// part then.
    pub fn take(&self, data: &[u8], indices: &[i64], out: &mut [u8], threads: usize) -> Result<()> {
        self.take_in_mode(IndexMode::Raise, data, indices, out, threads)
    }

    /// [`Along::take`] with `mode` for indices out of range.
    ///
    /// # Errors
    /// As [`Along::take`]. If the axis is not empty, only indices that `mode` refuses are errors.
    pub fn take_in_mode(
        &self,
        mode: IndexMode,
        data: &[u8],
        indices: &[i64],
        out: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        self.check(("the data", data.len()), ("out", out.len()))?;
        self.check_indices(indices, self.count)?;
        let row = self.inner * self.width;
        let places = if self.is_far() { Places::Far } else { Places::Near };
        let ahead = Ahead { indices: INDICES_AHEAD_BYTES, elements: None, places };
        let limit = Limit { mode, ..Limit::of(self) };
        let ends = Buffers { src: data.as_ptr(), dst: out.as_mut_ptr() };
        self.each(self.outer * self.count, row, indices, threads, |positions| {
            let ends = &ends;
            let (mut at, mut are_within) = (positions.start, true);
            while at < positions.end {
                let (outer, first) = (at / self.count, at % self.count);
                let last = self.count.min(first + positions.end - at);
                let ends = Buffers {
                    src: ends.src.wrapping_add(outer * self.size * row),
                    dst: ends.dst.wrapping_add(at * row),
                };
                let indices = &indices[first..last];
                let own = Own::<false> { ends, indices, limit, ahead, columns: 1 };
                // SAFETY: `place` clamps each index to the axis, and positions are within the output.
                are_within &= unsafe { own.run_apart::<false>(row) };
                at += last - first;
            }
            are_within
        })
    }

    /// Copies for each position the element of its row at that position's own index. `indices` has the shape of
    /// `out`.
    ///
    /// # Errors
    /// As [`Along::take`].
    pub fn take_along(
        &self,
        data: &[u8],
        indices: &[i64],
        out: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        self.check(("the data", data.len()), ("out", out.len()))?;
        let Along { outer, count, inner, .. } = *self;
        self.check_indices(indices, outer * count * inner)?;
        if outer == 1 && inner == 1 {
            return self.take(data, indices, out, threads);
        }
        let ends = Buffers { src: data.as_ptr(), dst: out.as_mut_ptr() };
        self.move_along::<false>(ends, indices, threads)
    }

    /// Writes each element of `updates` to its row of `out` at the element's own index. `indices` has the shape of
    /// `updates`. If several elements go to one position, the last wins.
    ///
    /// # Errors
    /// As [`Along::take`], but `out` is unchanged then.
    pub fn put_along(
        &self,
        out: &mut [u8],
        indices: &[i64],
        updates: &[u8],
        threads: usize,
    ) -> Result<()> {
        self.check(("out", out.len()), ("updates", updates.len()))?;
        self.check_indices(indices, self.outer * self.count * self.inner)?;
        self.check_range(indices, threads)?;
        let ends = Buffers { src: updates.as_ptr(), dst: out.as_mut_ptr() };
        self.move_along::<true>(ends, indices, threads)
    }

    /// Moves the elements of [`Along::put_along`], or else of [`Along::take_along`]; the sizes are checked.
    fn move_along<const PUT: bool>(
        &self,
        ends: Buffers,
        indices: &[i64],
        threads: usize,
    ) -> Result<()> {
        let Along { outer, size, count, inner, width } = *self;
        // A group of columns is several cache lines wide, but so narrow that the caches hold more of a long axis.
        let is_cut = PUT || self.is_far();
        let columns = if is_cut { inner.min(LEAST_COLUMNS) } else { inner };
        let groups = inner.div_ceil(columns.max(1));
        let (limit, ahead) = (Limit::of(self), Ahead::of::<PUT>(self, groups));
        let all = Own::<PUT> { ends, indices, limit, ahead, columns: inner };
        if inner == 1 {
            return self.each(outer, count * width, indices, threads, |rows| {
                let (all, mut are_within) = (all, true);
                for row in rows {
                    let row = all.part(row * size, row * count..(row + 1) * count, width);
                    // SAFETY: as in `take_in_mode`; no other task writes this row.
                    are_within &= unsafe {
                        if count < SHORT {
                            row.run::<false>(width)
                        } else {
                            row.run_apart::<false>(width)
                        }
                    };
                }
                are_within
            });
        }
        // A task puts all rows of a group of columns, so writes to one position happen in order.
        let together = if PUT { count } else { 1 };
        let parts = if PUT { outer * groups } else { outer * groups * count };
        self.each(parts, together * columns * width, indices, threads, |parts| {
            let first = parts.start * together;
            let (mut group, mut row, mut left) =
                (first / count, first % count, parts.len() * together);
            let (all, width, mut are_within) = (all, width, true);
            while left > 0 {
                let (outer, column) = (group / groups, group % groups * columns);
                let (axis, columns) = (outer * size * inner + column, columns.min(inner - column));
                let end = count.min(row + left);
                for row in row..end {
                    let at = (outer * count + row) * inner + column;
                    // SAFETY: as in `take_in_mode`; each element belongs to its own column, and no other task writes
                    // these columns.
                    are_within &=
                        unsafe { all.part(axis, at..at + columns, width).run::<true>(width) };
                }
                left -= end - row;
                (group, row) = (group + 1, 0);
            }
            are_within
        })
    }

    /// Whether the axis is too large for the caches.
    fn is_far(&self) -> bool {
        self.size.saturating_mul(self.inner).saturating_mul(self.width) > FAR_BYTES
    }

    fn check(&self, whole: (&'static str, usize), part: (&'static str, usize)) -> Result<()> {
        let too_large = || Error::too_large(format!("{self:?}"));
        let (whole_bytes, part_bytes) = self.bytes().ok_or_else(too_large)?;
        for (given, expected) in [(whole, whole_bytes), (part, part_bytes)] {
            check_sizes(given, ("the bytes of its shape", expected))?;
        }
        Ok(())
    }

    fn check_indices(&self, indices: &[i64], expected: usize) -> Result<()> {
        check_sizes(("indices", indices.len()), ("the positions", expected))?;
        if self.size == 0 { self.check_each(indices) } else { Ok(()) }
    }

    /// Checks in parallel that every index is in range.
    ///
    /// # Errors
    /// [`OpError::IndexOutOfRange`] with the number of the first that is not.
    pub fn check_range(&self, indices: &[i64], threads: usize) -> Result<()> {
        let size = self.size.cast_signed() as i64;
        let are_within = for_each_stretch(indices.len(), size_of::<i64>(), threads, |own| {
            are_within(&indices[own], size)
        });
        if are_within { Ok(()) } else { self.check_each(indices) }
    }

    /// Finds the first index out of range.
    fn check_each(&self, indices: &[i64]) -> Result<()> {
        let limit = self.size.cast_signed() as i64;
        let is_outside = |index: &i64| *index < -limit || *index >= limit;
        match indices.iter().position(is_outside) {
            None => Ok(()),
            Some(at) => Err(OpError::IndexOutOfRange {
                index: indices[at],
                position: vec![at],
                size: self.size,
            }
            .into()),
        }
    }

    /// Calls `work` in parallel with ranges of `0..positions`; each position writes `bytes`. If a call returns false,
    /// reports the first index out of range.
    fn each(
        &self,
        positions: usize,
        bytes: usize,
        indices: &[i64],
        threads: usize,
        work: impl Fn(Range<usize>) -> bool + Sync,
    ) -> Result<()> {
        let is_empty = positions == 0 || bytes == 0 || indices.is_empty();
        if is_empty || for_each_stretch(positions, bytes, threads, work) {
            return Ok(());
        }
        self.check_each(indices)
    }
}

/// Calls `work` in parallel with ranges of `0..positions`, each position of `bytes`. Returns whether all calls
/// returned true.
fn for_each_stretch(
    positions: usize,
    bytes: usize,
    threads: usize,
    work: impl Fn(Range<usize>) -> bool + Sync,
) -> bool {
    let all = positions.saturating_mul(bytes);
    let threads = threads.clamp(1, (all / LEAST_TASK_BYTES).max(1));
    let tasks = if threads == 1 { 1 } else { threads * TASKS_PER_THREAD };
    let each = positions.div_ceil(tasks).max(1);
    let are_true = AtomicBool::new(true);
    for_each_task(threads, positions.div_ceil(each), &|task| {
        if !work(task * each..((task + 1) * each).min(positions)) {
            are_true.store(false, Ordering::Relaxed);
        }
    });
    are_true.into_inner()
}

/// Whether all indices are in range. May return false for an axis longer than `i64::MAX / 2`. Branchless and limited
/// to basic vector operations, so that memory is the bottleneck.
fn are_within(indices: &[i64], size: i64) -> bool {
    let last = size.wrapping_mul(2).wrapping_sub(1);
    // The sign bit is set for an index out of range.
    let outside = |index: i64| {
        let from_first = index.wrapping_add(size);
        from_first | last.wrapping_sub(from_first)
    };
    let (lines, left) = indices.as_chunks::<LANES>();
    let mut found = [0; LANES];
    for line in lines {
        found = std::array::from_fn(|lane| found[lane] | outside(line[lane]));
    }
    let found = found.into_iter().fold(0, |all, one| all | one);
    left.iter().fold(found, |all, index| all | outside(*index)) >= 0
}

/// Rows with fewer elements are processed inline, because a call would cost more than the copy. Longer rows use a
/// separate function, in which the loop has all registers.
const SHORT: usize = 128;

/// Indices checked per step.
const LANES: usize = 8;

/// Most columns per group, if a long axis is processed in groups of columns.
const LEAST_COLUMNS: usize = 256;

/// The size of a nonempty axis.
#[derive(Clone, Copy)]
struct Limit {
    size: i64,
    mode: IndexMode,
}

impl Limit {
    fn of(along: &Along) -> Limit {
        Limit { size: along.size.cast_signed() as i64, mode: IndexMode::Raise }
    }

    /// Returns the position of an index and clears `is_within` if it was out of range. The result is always within
    /// the axis, because other threads may change the indices meanwhile.
    #[inline(always)]
    fn place(self, index: i64, is_within: &mut bool) -> usize {
        let (place, size) = (index.cast_unsigned(), self.size.cast_unsigned());
        // Most indices are not negative; a predicted branch is cheaper than a select.
        if place < size {
            return place as usize;
        }
        let from_end = place.wrapping_add(size);
        if from_end < size && self.mode != IndexMode::Clip {
            return from_end as usize;
        }
        let (place, is_one) = self.nearest(index);
        *is_within &= is_one;
        place
    }

    /// Returns the position of an index out of range by the mode, and whether the mode accepts it. Kept out of line
    /// to free registers in the loops.
    #[cold]
    #[inline(never)]
    fn nearest(self, index: i64) -> (usize, bool) {
        let place = match self.mode {
            IndexMode::Wrap => index.rem_euclid(self.size),
            IndexMode::Raise | IndexMode::Clip => index.clamp(0, self.size - 1),
        };
        (place.cast_unsigned() as usize, self.mode != IndexMode::Raise)
    }
}

/// What is prefetched per group of [`AT_ONCE`] elements.
#[derive(Clone, Copy)]
struct Ahead {
    /// Distance in bytes to the indices that are prefetched.
    indices: usize,
    /// The same for elements that are read sequentially.
    elements: Option<usize>,
    places: Places,
}

#[derive(Clone, Copy)]
enum Places {
    /// Not at all: they are in the caches.
    Near,
    /// One by one, some elements ahead: the axis exceeds the caches.
    Far,
    /// Sequentially, from `bytes` after the current row, `step` bytes per group. Every line of the row will be read,
    /// but in an order that hardware prefetchers do not detect.
    Next { bytes: usize, step: usize },
}

impl Ahead {
    /// Chooses the prefetching along the axis, if the positions after it are split into `groups`. Elements that are
    /// put are read sequentially.
    fn of<const PUT: bool>(along: &Along, groups: usize) -> Ahead {
        let Along { inner, width, .. } = *along;
        let (indices, elements) = match groups {
            0 | 1 => (FOLLOWING_AHEAD_BYTES, FOLLOWING_AHEAD_BYTES),
            // The same group of the next position.
            _ => (inner.saturating_mul(size_of::<i64>()), inner.saturating_mul(width)),
        };
        Ahead { indices, elements: PUT.then_some(elements), places: Places::of(along) }
    }
}

impl Places {
    fn of(along: &Along) -> Places {
        let Along { size, inner, width, count, .. } = *along;
        if along.is_far() {
            return Places::Far;
        }
        let (bytes, stretches) = (size * width, count / AT_ONCE);
        if inner > 1 || bytes == 0 || bytes > stretches * LINE {
            return Places::Near;
        }
        Places::Next { bytes: bytes * ROWS_AHEAD_BYTES.div_ceil(bytes), step: bytes / stretches }
    }
}

/// Least prefetch distance for short rows, and the distance for sequential reads.
const ROWS_AHEAD_BYTES: usize = 8 << 10;
const FOLLOWING_AHEAD_BYTES: usize = 4 << 10;

/// Prefetch distance in groups of [`AT_ONCE`] elements.
const AHEAD: usize = ELEMENTS_AHEAD / AT_ONCE;

/// Elements in order, each with an index along the axis. They are copied from the axis, or to the axis if `PUT`.
///
/// Copy the struct to a local variable before a loop, because the compiler must assume that writes to the destination
/// change shared memory.
#[derive(Clone, Copy)]
struct Own<'a, const PUT: bool> {
    ends: Buffers,
    indices: &'a [i64],
    limit: Limit,
    ahead: Ahead,
    /// Columns of the axis. If a part is of `COLUMNS`, its element i belongs to its column i; otherwise all elements
    /// belong to one column.
    columns: usize,
}

impl<const PUT: bool> Own<'_, PUT> {
    /// Returns the elements `at`, for the axis from its element `axis` on.
    #[inline(always)]
    fn part(self, axis: usize, at: Range<usize>, width: usize) -> Self {
        let Buffers { src, dst } = self.ends;
        let (from, to) = if PUT { (at.start, axis) } else { (axis, at.start) };
        let ends =
            Buffers { src: src.wrapping_add(from * width), dst: dst.wrapping_add(to * width) };
        Own { ends, indices: &self.indices[at], ..self }
    }

    /// Moves the elements, of `width` bytes each. Returns whether all indices are in range.
    ///
    /// # Safety
    /// `src` must be valid for reads and `dst` for writes: one for one element per index, the other for the whole
    /// axis, in these columns.
    #[inline(always)]
    unsafe fn run<const COLUMNS: bool>(self, width: usize) -> bool {
        // SAFETY: the other functions have the contract of this function.
        unsafe {
            match width {
                1 => self.run_at_once::<1, COLUMNS>(),
                2 => self.run_at_once::<2, COLUMNS>(),
                4 => self.run_at_once::<4, COLUMNS>(),
                8 => self.run_at_once::<8, COLUMNS>(),
                16 => self.run_at_once::<16, COLUMNS>(),
                _ => self.run_rest::<COLUMNS>(0, self.indices, width),
            }
        }
    }

    /// [`Own::run`], not inlined, and for more widths.
    ///
    /// # Safety
    /// As [`Own::run`].
    #[inline(never)]
    unsafe fn run_apart<const COLUMNS: bool>(self, width: usize) -> bool {
        // SAFETY: the other functions have the contract of this function.
        unsafe {
            match width {
                3 => self.run_at_once::<3, COLUMNS>(),
                6 => self.run_at_once::<6, COLUMNS>(),
                12 => self.run_at_once::<12, COLUMNS>(),
                24 => self.run_rest::<COLUMNS>(0, self.indices, 24),
                32 => self.run_rest::<COLUMNS>(0, self.indices, 32),
                48 => self.run_rest::<COLUMNS>(0, self.indices, 48),
                64 => self.run_rest::<COLUMNS>(0, self.indices, 64),
                1 | 2 | 4 | 8 | 16 => self.run::<COLUMNS>(width),
                _ => self.run_rest::<COLUMNS>(0, self.indices, width),
            }
        }
    }

    /// Returns where element `at` is read and written, if its index leads to `place`.
    #[inline(always)]
    fn ends<const COLUMNS: bool>(
        self,
        at: usize,
        place: usize,
        width: usize,
    ) -> (*const u8, *mut u8) {
        let place = if COLUMNS { place * self.columns + at } else { place };
        let (from, to) = if PUT { (at, place) } else { (place, at) };
        (self.ends.src.wrapping_add(from * width), self.ends.dst.wrapping_add(to * width))
    }

    /// Moves the elements from number `first` on, which have these indices, one by one.
    ///
    /// # Safety
    /// As [`Own::run`].
    #[inline(always)]
    unsafe fn run_rest<const COLUMNS: bool>(
        self,
        first: usize,
        indices: &[i64],
        width: usize,
    ) -> bool {
        let mut are_within = true;
        for (at, index) in (first..).zip(indices) {
            let place = self.limit.place(*index, &mut are_within);
            let (from, to) = self.ends::<COLUMNS>(at, place, width);
            // SAFETY: every position of the axis is valid by the contract of this function.
            unsafe { std::ptr::copy_nonoverlapping(from, to, width) };
        }
        are_within
    }

    /// Moves narrow elements, several at a time.
    ///
    /// # Safety
    /// As [`Own::run`].
    #[inline(always)]
    unsafe fn run_at_once<const W: usize, const COLUMNS: bool>(self) -> bool {
        let mut are_within = true;
        let (stretches, rest) = self.indices.as_chunks::<AT_ONCE>();
        for (number, stretch) in stretches.iter().enumerate() {
            prefetch(stretch.as_ptr().cast::<u8>().wrapping_add(self.ahead.indices));
            self.prefetch::<W, COLUMNS>(stretches, number);
            let first = number * AT_ONCE;
            let mut places = [0; AT_ONCE];
            for (place, index) in places.iter_mut().zip(stretch) {
                *place = self.limit.place(*index, &mut are_within);
            }
            // All reads come before the writes, so that cache misses overlap.
            let mut elements = [[0; W]; AT_ONCE];
            for (k, element) in elements.iter_mut().enumerate() {
                let (from, _) = self.ends::<COLUMNS>(first + k, places[k], W);
                // SAFETY: every position of the axis is valid by the contract of this function.
                *element = unsafe { from.cast::<[u8; W]>().read_unaligned() };
            }
            for (k, element) in elements.into_iter().enumerate() {
                let (_, to) = self.ends::<COLUMNS>(first + k, places[k], W);
                // SAFETY: as above.
                unsafe { to.cast::<[u8; W]>().write_unaligned(element) };
            }
        }
        // SAFETY: as above.
        are_within & unsafe { self.run_rest::<COLUMNS>(stretches.len() * AT_ONCE, rest, W) }
    }

    /// Prefetches elements and positions that later stretches read and write.
    #[inline(always)]
    fn prefetch<const W: usize, const COLUMNS: bool>(
        self,
        stretches: &[[i64; AT_ONCE]],
        number: usize,
    ) {
        if let Some(bytes) = self.ahead.elements {
            prefetch(self.ends.src.wrapping_add(number * AT_ONCE * W + bytes));
        }
        if let Places::Next { bytes, step } = self.ahead.places {
            let axis = if PUT { self.ends.dst.cast_const() } else { self.ends.src };
            prefetch(axis.wrapping_add(bytes + number * step));
        }
        let number = number + AHEAD;
        if let Places::Far = self.ahead.places
            && let Some(later) = stretches.get(number)
        {
            for (k, index) in later.iter().enumerate() {
                // Invalid indices are detected when they are used.
                let place = self.limit.place(*index, &mut true);
                let (from, to) = self.ends::<COLUMNS>(number * AT_ONCE + k, place, W);
                prefetch(from);
                prefetch(to);
            }
        }
    }
}
