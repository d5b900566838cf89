//! Reads or writes elements at indices along an axis. The indices are an argument of each call, and no plan is made.
//!
//! A plan for a gather stores its indices in a table, which takes as long to make as moving the elements. For indices
//! that are used once, these functions read them directly. `Take` and `TakeAlongAxis` give the same results;
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

/// Describes a row-major tensor and one of its axes: `outer` x `size` x `inner` elements of `width` bytes.
///
/// The methods read (take) or write (put) `count` elements along the axis. So they read or write `outer` x `count` x
/// `inner` elements. Tensors are passed as bytes. `threads` is the maximum number of threads. Negative indices count
/// from the end of the axis.
///
/// ```
/// use trundle_cpu::Along;
///
/// let columns = Along { outer: 2, size: 3, count: 2, inner: 1, width: 1 };
/// let mut out = [0; 4];
/// columns.take(&[1, 2, 3, 4, 5, 6], &[2, 0], &mut out, 1)?;
/// assert_eq!(out, [3, 1, 6, 4]);
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// Product of the sizes of the axes before this one.
    pub outer: usize,
    /// Size of the axis.
    pub size: usize,
    /// Number of indices along the axis.
    pub count: usize,
    /// Product of the sizes of the axes after this one.
    pub inner: usize,
    /// Size of an element in bytes.
    pub width: usize,
}

const LEAST_TASK_BYTES: usize = 256 << 10;

impl Along {
    fn bytes(&self) -> Option<(usize, usize)> {
        let rows = self.outer.checked_mul(self.inner)?.checked_mul(self.width)?;
        Some((rows.checked_mul(self.size)?, rows.checked_mul(self.count)?))
    }

    /// Copies the elements at `indices` along the axis to `out`.
    ///
    /// `data` is the whole tensor and `out` the part that is read. The same `count` indices are used for every position
    /// on the other axes.
    ///
    /// Source: numpy's `take`.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if a buffer or the list of indices has the
    /// wrong size, [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if a size exceeds the address space,
    /// [`OpError::IndexOutOfRange`] if an index is out of range. After the last error, `out` may be partly written.
    pub fn take(&self, data: &[u8], indices: &[i64], out: &mut [u8], threads: usize) -> Result<()> {
        self.take_in_mode(IndexMode::Raise, data, indices, out, threads)
    }

    /// Copies elements as [`Along::take`] does. `mode` determines what happens with indices that are out of range.
    ///
    /// # Errors
    /// As [`Along::take`]. [`OpError::IndexOutOfRange`] is returned only if `mode` is [`IndexMode::Raise`] or the axis
    /// is empty.
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
        let rows = if self.is_far() { RowPrefetch::Far } else { RowPrefetch::Near };
        let ahead = Ahead { indices: INDICES_AHEAD_BYTES, elements: None, rows };
        let ends = Buffers { src: data.as_ptr(), dst: out.as_mut_ptr() };
        self.each(self.outer * self.count, row, indices, threads, |positions, is_within| {
            let (ends, how) = (&ends, (Limit { mode, ..Limit::of(self) }, ahead));
            let mut at = positions.start;
            while at < positions.end {
                let (outer, first) = (at / self.count, at % self.count);
                let last = self.count.min(first + positions.end - at);
                let src = ends.src.wrapping_add(outer * self.size * row);
                let dst = ends.dst.wrapping_add(at * row);
                let own = &indices[first..last];
                // SAFETY: `position` clamps each index to the axis, and positions are within the output.
                unsafe { copy_many(src, own, how, row, dst, is_within) };
                at += own.len();
            }
        })
    }

    /// Copies elements along the axis, with a separate index for each element of `out`.
    ///
    /// `data` is the whole tensor and `out` the part that is read. `indices` has one entry for each element of `out`:
    /// the index along the axis. The other coordinates of an element stay the same.
    ///
    /// Source: numpy's `take_along_axis`.
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
        let Along { outer, size, count, inner, width } = *self;
        self.check_indices(indices, outer * count * inner)?;
        if outer == 1 && inner == 1 {
            return self.take(data, indices, out, threads);
        }
        let ends = Buffers { src: data.as_ptr(), dst: out.as_mut_ptr() };
        if inner == 1 {
            let ahead = Ahead { elements: None, ..Ahead::of(self, 1) };
            return self.each(outer, count * width, indices, threads, |rows, is_within| {
                let (ends, how) = (&ends, (Limit::of(self), ahead));
                for row in rows {
                    let src = ends.src.wrapping_add(row * size * width);
                    let dst = ends.dst.wrapping_add(row * count * width);
                    let own = &indices[row * count..][..count];
                    // SAFETY: as in `take_in_mode`.
                    unsafe {
                        if count < SHORT {
                            copy_rows(src, own, how, width, dst, is_within);
                        } else {
                            copy_many(src, own, how, width, dst, is_within);
                        }
                    }
                }
            });
        }
        // If the axis is too large for the caches, it is processed in groups of a few columns, so that more of it is
        // cached.
        let most = if self.is_far() { inner.min(LEAST_COLUMNS) } else { inner };
        let parts = inner.div_ceil(most.max(1));
        let ahead = Ahead { elements: None, ..Ahead::of(self, parts) };
        self.each(outer * parts * count, most * width, indices, threads, |positions, is_within| {
            let (ends, how) = (&ends, (Limit::of(self), ahead));
            let (mut part, mut row) = (positions.start / count, positions.start % count);
            for _ in positions {
                let (outer, first) =
                    if parts == 1 { (part, 0) } else { (part / parts, part % parts * most) };
                let src = ends.src.wrapping_add((outer * size * inner + first) * width);
                let at = (outer * count + row) * inner + first;
                let dst = ends.dst.wrapping_add(at * width);
                let own = &indices[at..][..most.min(inner - first)];
                // SAFETY: as in `take_in_mode`. Element i of a row is read from column i.
                unsafe { copy_elements(src, own, how, (inner, width), dst, is_within) };
                (part, row) = if row + 1 == count { (part + 1, 0) } else { (part, row + 1) };
            }
        })
    }

    /// Writes elements along the axis, with a separate index for each element of `updates`.
    ///
    /// `out` is the whole tensor and `updates` the part that is written. `indices` has one entry for each element of
    /// `updates`: the index along the axis. The other coordinates of an element stay the same. If several elements have
    /// the same position in `out`, the last one remains.
    ///
    /// Source: numpy's `put_along_axis`.
    ///
    /// # Errors
    /// As [`Along::take`], but after any error `out` is unchanged.
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
        let Along { outer, size, count, inner, width } = *self;
        // Writes to one position of `out` belong to one task, so they happen in order.
        let columns = inner.min(LEAST_COLUMNS);
        let (parts, each) = (inner.div_ceil(columns.max(1)), columns);
        let bytes = count * columns * width;
        let ahead = Ahead::of(self, parts);
        self.each(outer * parts, bytes, indices, threads, |positions, is_within| {
            let (ends, how) = (&ends, (Limit::of(self), ahead));
            for position in positions {
                let (outer, part) = (position / parts, position % parts);
                let columns = part * each..((part + 1) * each).min(inner);
                let dst = ends.dst.wrapping_add(outer * size * inner * width);
                if inner == 1 {
                    // Rows of one element are processed together.
                    let own = &indices[outer * count..][..count];
                    let src = ends.src.wrapping_add(outer * count * width);
                    // SAFETY: `position` clamps each index to the axis, and no other task writes this row.
                    unsafe {
                        if count < SHORT {
                            put_row(src, own, how, width, dst, is_within);
                        } else {
                            put_many(src, own, how, width, dst, is_within);
                        }
                    }
                    continue;
                }
                for row in 0..count {
                    let first = (outer * count + row) * inner + columns.start;
                    let own = &indices[first..][..columns.len()];
                    let src = ends.src.wrapping_add(first * width);
                    let dst = dst.wrapping_add(columns.start * width);
                    // SAFETY: `position` clamps each index to the axis, and no other task writes these columns.
                    unsafe { put_elements(src, own, how, (inner, width), dst, is_within) };
                }
            }
        })
    }

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
    /// [`OpError::IndexOutOfRange`] with the position of the first index that is out of range.
    pub fn check_range(&self, indices: &[i64], threads: usize) -> Result<()> {
        let are_within = for_each_stretch(indices.len(), size_of::<i64>(), threads, |own, flag| {
            *flag &= are_within(&indices[own], self.size.cast_signed() as i64);
        });
        if are_within { Ok(()) } else { self.check_each(indices) }
    }

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

    /// Calls `work` in parallel with ranges of `0..positions`, each of which writes `bytes` bytes. Returns an error if
    /// a call clears its flag: an index is out of range then.
    fn each(
        &self,
        positions: usize,
        bytes: usize,
        indices: &[i64],
        threads: usize,
        work: impl Fn(Range<usize>, &mut bool) + Sync,
    ) -> Result<()> {
        if positions == 0 || bytes == 0 || indices.is_empty() {
            return Ok(());
        }
        if for_each_stretch(positions, bytes, threads, work) {
            Ok(())
        } else {
            self.check_each(indices)
        }
    }
}

/// Calls `work` in parallel with ranges of `0..positions`, each of `bytes` bytes. Returns true if no call cleared its
/// flag.
fn for_each_stretch(
    positions: usize,
    bytes: usize,
    threads: usize,
    work: impl Fn(Range<usize>, &mut bool) + Sync,
) -> bool {
    let all = positions.saturating_mul(bytes);
    let threads = threads.clamp(1, (all / LEAST_TASK_BYTES).max(1));
    let tasks = if threads == 1 { 1 } else { threads * TASKS_PER_THREAD };
    let each = positions.div_ceil(tasks).max(1);
    let are_set = AtomicBool::new(true);
    for_each_task(threads, positions.div_ceil(each), &|task| {
        let mut is_set = true;
        work(task * each..((task + 1) * each).min(positions), &mut is_set);
        if !is_set {
            are_set.store(false, Ordering::Relaxed);
        }
    });
    are_set.into_inner()
}

/// Whether all indices are in range. May return false for an axis longer than `i64::MAX / 2`. Without branches, and
/// with basic vector operations only, it is as fast as the memory.
fn are_within(indices: &[i64], size: i64) -> bool {
    let last = size.wrapping_mul(2).wrapping_sub(1);
    // The sign bit is set if the index is out of range.
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

/// Rows with fewer elements are copied inline, because a call would take longer than the copy. Longer rows have a
/// separate function, whose loop can use all registers.
const SHORT: usize = 128;

/// Number of indices that are checked at once.
const LANES: usize = 8;

/// Number of columns that are processed together: several cache lines, but few enough that more of the axis is cached.
const LEAST_COLUMNS: usize = 256;

/// The size of a nonempty axis, and the mode for indices that are out of range.
#[derive(Clone, Copy)]
struct Limit {
    size: i64,
    mode: IndexMode,
}

impl Limit {
    fn of(along: &Along) -> Limit {
        Limit { size: along.size.cast_signed() as i64, mode: IndexMode::Raise }
    }

    /// Returns the position of an index on the axis, and clears `is_within` if the mode does not accept it. The
    /// position is within the axis even if other threads change the indices.
    #[inline(always)]
    fn position(self, index: i64, is_within: &mut bool) -> usize {
        let (position, size) = (index.cast_unsigned(), self.size.cast_unsigned());
        // Most indices are not negative, and a predicted branch is faster than a select.
        if position < size {
            return position as usize;
        }
        let from_end = position.wrapping_add(size);
        if from_end < size && self.mode != IndexMode::Clip {
            return from_end as usize;
        }
        let (position, is_one) = self.nearest(index);
        *is_within &= is_one;
        position
    }

    /// Returns the position of an index out of range, and whether the mode accepts it. Not inlined, so that the loops
    /// have more registers.
    #[cold]
    #[inline(never)]
    fn nearest(self, index: i64) -> (usize, bool) {
        let position = match self.mode {
            IndexMode::Wrap => index.rem_euclid(self.size),
            IndexMode::Raise | IndexMode::Clip => index.clamp(0, self.size - 1),
        };
        (position.cast_unsigned() as usize, self.mode != IndexMode::Raise)
    }
}

/// The prefetches for each group of [`AT_ONCE`] elements.
#[derive(Clone, Copy)]
struct Ahead {
    /// Prefetch distance for the indices, in bytes.
    indices: usize,
    /// Prefetch distance for the elements in bytes, if they are read sequentially.
    elements: Option<usize>,
    rows: RowPrefetch,
}

#[derive(Clone, Copy)]
enum RowPrefetch {
    /// The elements are in the caches.
    Near,
    /// Each element is prefetched, some elements ahead: the axis is larger than the caches.
    Far,
    /// A later row, `bytes` after the current one, is prefetched sequentially: each group advances by `step` bytes. All
    /// its lines will be read, but in an order that hardware prefetchers do not predict.
    Next { bytes: usize, step: usize },
}

impl Ahead {
    /// Chooses the prefetches, for columns in `parts` parts.
    fn of(along: &Along, parts: usize) -> Ahead {
        let Along { inner, width, .. } = *along;
        let (indices, elements) = match parts {
            0 | 1 => (FOLLOWING_AHEAD_BYTES, FOLLOWING_AHEAD_BYTES),
            // The same columns of the next row.
            _ => (inner.saturating_mul(size_of::<i64>()), inner.saturating_mul(width)),
        };
        Ahead { indices, elements: Some(elements), rows: RowPrefetch::of(along) }
    }
}

impl RowPrefetch {
    fn of(along: &Along) -> RowPrefetch {
        let Along { size, inner, width, count, .. } = *along;
        if along.is_far() {
            return RowPrefetch::Far;
        }
        let (bytes, stretches) = (size * width, count / AT_ONCE);
        if inner > 1 || bytes == 0 || bytes > stretches * LINE {
            return RowPrefetch::Near;
        }
        RowPrefetch::Next {
            bytes: bytes * ROWS_AHEAD_BYTES.div_ceil(bytes),
            step: bytes / stretches,
        }
    }
}

/// Minimum prefetch distance for short rows, and the distance for sequential reads, in bytes.
const ROWS_AHEAD_BYTES: usize = 8 << 10;
const FOLLOWING_AHEAD_BYTES: usize = 4 << 10;

/// Prefetch distance in groups of [`AT_ONCE`] elements.
const AHEAD: usize = ELEMENTS_AHEAD / AT_ONCE;

/// Copies an element of `$width` bytes per index, from element `$from` of `$src` to element `$to` of `$dst`. Both are
/// expressions of the index's number `$at` and its position `$position`. `$known` widths get their own loop; `$narrow`
/// widths process several elements at a time.
macro_rules! copy_each {
    (
        $width:expr, [$($narrow:literal)*] [$($known:literal)*],
        ($indices:expr, $limit:expr, $is_within:expr), ($ahead:expr, $row:expr),
        |$at:ident, $position:ident| ($src:ident at $from:expr, $dst:ident at $to:expr)
    ) => {{
        // A local flag, because the compiler must assume that writes to `$dst` change `$is_within`.
        let mut is_within = *$is_within;
        macro_rules! rest {
            ($indices_left:expr, $done:expr, $bytes:expr) => {
                for ($at, index) in ($done..).zip($indices_left) {
                    let $position = $limit.position(*index, &mut is_within);
                    let (from, to) = ($src.wrapping_add($from * $bytes), $dst.wrapping_add($to * $bytes));
                    // SAFETY: the caller guarantees that every position of the axis is valid.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, $bytes) };
                }
            };
        }
        match $width {
            $($narrow => {
                let (stretches, left) = $indices.as_chunks::<AT_ONCE>();
                for (number, stretch) in stretches.iter().enumerate() {
                    let first = number * AT_ONCE;
                    prefetch(stretch.as_ptr().cast::<u8>().wrapping_add($ahead.indices));
                    if let Some(bytes) = $ahead.elements {
                        prefetch($src.wrapping_add(first * $narrow + bytes));
                    }
                    if let RowPrefetch::Next { bytes, step } = $ahead.rows {
                        prefetch($row.wrapping_add(bytes + number * step));
                    }
                    if let RowPrefetch::Far = $ahead.rows
                        && let Some(later) = stretches.get(number + AHEAD)
                    {
                        for (k, index) in later.iter().enumerate() {
                            // Whether these are in range is checked later.
                            let ($at, $position) =
                                (first + AHEAD * AT_ONCE + k, $limit.position(*index, &mut true));
                            prefetch($src.wrapping_add($from * $narrow));
                            prefetch($dst.wrapping_add($to * $narrow));
                        }
                    }
                    let mut positions = [0; AT_ONCE];
                    for (position, index) in positions.iter_mut().zip(stretch) {
                        *position = $limit.position(*index, &mut is_within);
                    }
                    // All reads come before the writes, so that cache misses overlap.
                    let mut elements = [[0; $narrow]; AT_ONCE];
                    for (k, element) in elements.iter_mut().enumerate() {
                        let ($at, $position) = (first + k, positions[k]);
                        let (from, _) = ($src.wrapping_add($from * $narrow), ($at, $position));
                        // SAFETY: the caller guarantees that every position of the axis is valid.
                        *element = unsafe { from.cast::<[u8; $narrow]>().read_unaligned() };
                    }
                    for (k, element) in elements.into_iter().enumerate() {
                        let ($at, $position) = (first + k, positions[k]);
                        let (to, _) = ($dst.wrapping_add($to * $narrow), ($at, $position));
                        // SAFETY: the caller guarantees that every position of the axis is valid.
                        unsafe { to.cast::<[u8; $narrow]>().write_unaligned(element) };
                    }
                }
                rest!(left, stretches.len() * AT_ONCE, $narrow);
            })*
            $($known => rest!($indices, 0usize, $known),)*
            width => rest!($indices, 0usize, width),
        }
        *$is_within = is_within;
    }};
}

/// Copies a row for each index.
///
/// # Safety
/// `src` must be valid for reads of the whole axis, and `dst` for writes of a row for each index.
#[inline(always)]
unsafe fn copy_rows(
    src: *const u8,
    indices: &[i64],
    (limit, ahead): (Limit, Ahead),
    row: usize,
    dst: *mut u8,
    is_within: &mut bool,
) {
    copy_each!(
        row, [1 2 3 4 6 8 12 16] [24 32 48 64], (indices, limit, is_within), (ahead, src),
        |at, position| (src at position, dst at at)
    );
}

/// Copies an element for each index. Element i comes from column i.
///
/// # Safety
/// As [`copy_rows`]. The rows of the axis are `inner` elements apart.
#[inline(always)]
unsafe fn copy_elements(
    src: *const u8,
    indices: &[i64],
    (limit, ahead): (Limit, Ahead),
    (inner, width): (usize, usize),
    dst: *mut u8,
    is_within: &mut bool,
) {
    copy_each!(
        width, [1 2 4 8 16] [], (indices, limit, is_within), (ahead, src),
        |at, position| (src at (position * inner + at), dst at at)
    );
}

/// The inverse of [`copy_elements`].
///
/// # Safety
/// `src` must be valid for reads of one element per index, and `dst` for writes of all rows of the axis in these
/// columns.
#[inline(always)]
unsafe fn put_elements(
    src: *const u8,
    indices: &[i64],
    (limit, ahead): (Limit, Ahead),
    (inner, width): (usize, usize),
    dst: *mut u8,
    is_within: &mut bool,
) {
    copy_each!(
        width, [1 2 4 8 16] [], (indices, limit, is_within), (ahead, dst),
        |at, position| (src at at, dst at (position * inner + at))
    );
}

/// [`put_elements`] for an axis whose rows have one element each.
///
/// # Safety
/// As [`put_elements`].
#[inline(always)]
unsafe fn put_row(
    src: *const u8,
    indices: &[i64],
    (limit, ahead): (Limit, Ahead),
    width: usize,
    dst: *mut u8,
    is_within: &mut bool,
) {
    copy_each!(
        width, [1 2 4 8 16] [], (indices, limit, is_within), (ahead, dst),
        |at, position| (src at at, dst at position)
    );
}

/// [`put_row`], not inlined.
///
/// # Safety
/// As [`put_row`].
#[inline(never)]
unsafe fn put_many(
    src: *const u8,
    indices: &[i64],
    how: (Limit, Ahead),
    width: usize,
    dst: *mut u8,
    is_within: &mut bool,
) {
    // SAFETY: this function has the contract of `put_row`.
    unsafe { put_row(src, indices, how, width, dst, is_within) };
}

/// [`copy_rows`], not inlined.
///
/// # Safety
/// As [`copy_rows`].
#[inline(never)]
unsafe fn copy_many(
    src: *const u8,
    indices: &[i64],
    how: (Limit, Ahead),
    row: usize,
    dst: *mut u8,
    is_within: &mut bool,
) {
    // SAFETY: this function has the contract of `copy_rows`.
    unsafe { copy_rows(src, indices, how, row, dst, is_within) };
}
