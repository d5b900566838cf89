//! Elements at indices along an axis, where the indices are data of a call: they are read where they are, and no plan
//! is made of them.
//!
//! A planned gather holds its indices, checked, as a table. To make that table costs as much as to move single elements,
//! so that a call which comes once does without. The law is that of `Take` and `TakeAlongAxis`, which
//! `crates/trundle-cpu/tests/suite/along.rs` holds it to.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use trundle_core::ops::IndexMode;
use trundle_core::{Error, Result};
use trundle_kernels::simd::{LINE, prefetch};
use trundle_kernels::{
    ELEMENTS_AHEAD, ELEMENTS_AT_ONCE as AT_ONCE, FAR_BYTES, INDICES_AHEAD_BYTES,
};

use crate::buffers::Buffers;
use crate::threads::{TASKS_PER_THREAD, for_each_task};

/// A row-major tensor about one of its axes: `outer` times `size` times `inner` elements of `width` bytes, of which
/// `count` are taken along the axis, or put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// How many positions the axes before it have.
    pub outer: usize,
    /// Its size.
    pub size: usize,
    /// The indices along it.
    pub count: usize,
    /// How many positions the axes behind it have.
    pub inner: usize,
    /// The size of an element in bytes.
    pub width: usize,
}

/// What a task comes to at least, in bytes that are written.
const LEAST_TASK_BYTES: usize = 256 << 10;

impl Along {
    /// The bytes of the tensor, and of what is taken; `None` if they cannot be counted.
    fn bytes(&self) -> Option<(usize, usize)> {
        let rows = self.outer.checked_mul(self.inner)?.checked_mul(self.width)?;
        Some((rows.checked_mul(self.size)?, rows.checked_mul(self.count)?))
    }

    /// The elements at `indices`, the same for every position of the other axes. Those below 0 count from the end.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] for buffers or indices of another size, [`Error::IndexOutOfRange`]: `out` is written in
    /// part then.
    pub fn take(&self, data: &[u8], indices: &[i64], out: &mut [u8], threads: usize) -> Result<()> {
        self.take_in_mode(IndexMode::Raise, data, indices, out, threads)
    }

    /// [`Along::take`], where an index out of range is what `mode` says.
    ///
    /// # Errors
    /// As [`Along::take`]; of an axis that has indices only for those that the mode refuses.
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
                // SAFETY: each index is made one of the axis, and positions are those of the output.
                unsafe { copy_many(src, own, how, row, dst, is_within) };
                at += own.len();
            }
        })
    }

    /// For each position the element of its row at an index of its own: `indices` are of the shape of `out`.
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
                    // SAFETY: as above.
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
        // Of a long axis some columns are gone through at a time, of which the caches hold more.
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
                // SAFETY: as above; along a row each element is of its own column.
                unsafe { copy_elements(src, own, how, (inner, width), dst, is_within) };
                (part, row) = if row + 1 == count { (part + 1, 0) } else { (part, row + 1) };
            }
        })
    }

    /// Puts `updates` into `out`, each into its row at an index of its own: `indices` are of the shape of `updates`. Of
    /// several for one place the last counts.
    ///
    /// # Errors
    /// As [`Along::take`], but nothing is written then.
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
        // Each task has some positions of the other axes, so that what is put to one place is put in order.
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
                    // Rows of one element each are gone through at once.
                    let own = &indices[outer * count..][..count];
                    let src = ends.src.wrapping_add(outer * count * width);
                    // SAFETY: each index is made one of the axis; no other task has this row.
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
                    // SAFETY: as above, of these columns.
                    unsafe { put_elements(src, own, how, (inner, width), dst, is_within) };
                }
            }
        })
    }

    /// Whether an index leads further than the caches reach.
    fn is_far(&self) -> bool {
        self.size.saturating_mul(self.inner).saturating_mul(self.width) > FAR_BYTES
    }

    fn check(&self, whole: (&'static str, usize), part: (&'static str, usize)) -> Result<()> {
        let too_large = || Error::TooLarge { what: format!("{self:?}") };
        let (whole_bytes, part_bytes) = self.bytes().ok_or_else(too_large)?;
        for ((name, got), expected) in [(whole, whole_bytes), (part, part_bytes)] {
            if got != expected {
                let (left_size, right_size) = (got, expected);
                let right = "the bytes of its shape";
                return Err(Error::SizesDiffer { left: name, right, left_size, right_size });
            }
        }
        Ok(())
    }

    fn check_indices(&self, indices: &[i64], expected: usize) -> Result<()> {
        if indices.len() != expected {
            let (left, right) = ("indices", "the positions");
            let (left_size, right_size) = (indices.len(), expected);
            return Err(Error::SizesDiffer { left, right, left_size, right_size });
        }
        if self.size == 0 { self.check_each(indices) } else { Ok(()) }
    }

    /// Checks on some threads that every index is one of the axis.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] with the number of the first that is not.
    pub fn check_range(&self, indices: &[i64], threads: usize) -> Result<()> {
        let are_within = for_each_stretch(indices.len(), size_of::<i64>(), threads, |own, flag| {
            *flag &= are_within(&indices[own], self.size.cast_signed() as i64);
        });
        if are_within { Ok(()) } else { self.check_each(indices) }
    }

    /// The same one by one, to say which is not.
    fn check_each(&self, indices: &[i64]) -> Result<()> {
        let limit = self.size.cast_signed() as i64;
        let is_outside = |index: &i64| *index < -limit || *index >= limit;
        match indices.iter().position(is_outside) {
            None => Ok(()),
            Some(at) => Err(Error::IndexOutOfRange {
                index: indices[at],
                position: vec![at],
                size: self.size,
            }),
        }
    }

    /// Calls `work` with stretches of `0..positions`, each of which writes `bytes`, on some threads.
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

/// Calls `work` with stretches of `0..positions`, each position of which is `bytes`, on some threads; whether none
/// has cleared its flag.
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

/// Whether all are of an axis of so many; may be false of one longer than half of what an index can say. There is no
/// branch for each, so that the memory is what is waited for, and nothing but what vectors of every machine can do.
fn are_within(indices: &[i64], size: i64) -> bool {
    let last = size.wrapping_mul(2).wrapping_sub(1);
    // The sign is that of an index outside.
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

/// Rows of fewer elements are gone through in line, as a call costs more than they do. For others the loop is a
/// function of its own, which has all registers.
const SHORT: usize = 128;

/// How many indices are checked at once.
const LANES: usize = 8;

/// Columns that are gone through at a time at least, if there are so many: some lines of them, but of few enough that
/// the caches hold more of the axis.
const LEAST_COLUMNS: usize = 256;

/// The size of an axis, which is not 0.
#[derive(Clone, Copy)]
struct Limit {
    size: i64,
    /// What an index out of range is.
    mode: IndexMode,
}

impl Limit {
    fn of(along: &Along) -> Limit {
        Limit { size: along.size.cast_signed() as i64, mode: IndexMode::Raise }
    }

    /// The place of an index along the axis; whether it was one is added to `is_within`. It is one of the axis in
    /// any case: indices may be written to by others while they are read.
    #[inline(always)]
    fn place(self, index: i64, is_within: &mut bool) -> usize {
        let (place, size) = (index.cast_unsigned(), self.size.cast_unsigned());
        // Most count from the front: a branch that is foretold costs less than to choose.
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

    /// The place of an index that is out of range, by the mode, and whether there is one. It is a function of its own,
    /// so that loops have the registers that it takes.
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

/// What is prefetched with each stretch of [`AT_ONCE`] elements.
#[derive(Clone, Copy)]
struct Ahead {
    /// How many bytes behind its indices those are that will be read.
    indices: usize,
    /// The same of its elements, where they are read one after another.
    elements: Option<usize>,
    /// What indices lead to.
    places: Places,
}

/// What is prefetched of that to which indices lead.
#[derive(Clone, Copy)]
enum Places {
    /// Nothing: it is in the caches.
    Near,
    /// Each some elements ahead: it is longer than the caches reach.
    Far,
    /// A row so many bytes behind this one, `step` bytes with each stretch: each of its lines will be wanted, in an
    /// order in which the hardware finds none of them.
    Next { bytes: usize, step: usize },
}

impl Ahead {
    /// What comes next along the axis, where the positions behind it are gone through in so many parts.
    fn of(along: &Along, parts: usize) -> Ahead {
        let Along { inner, width, .. } = *along;
        let (indices, elements) = match parts {
            0 | 1 => (FOLLOWING_AHEAD_BYTES, FOLLOWING_AHEAD_BYTES),
            // Those of the same part of the next position.
            _ => (inner.saturating_mul(size_of::<i64>()), inner.saturating_mul(width)),
        };
        Ahead { indices, elements: Some(elements), places: Places::of(along) }
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

/// How far ahead short rows are prefetched at least, and what is read one after another.
const ROWS_AHEAD_BYTES: usize = 8 << 10;
const FOLLOWING_AHEAD_BYTES: usize = 4 << 10;

/// How many stretches of [`AT_ONCE`] elements ahead those to come are prefetched.
const AHEAD: usize = ELEMENTS_AHEAD / AT_ONCE;

/// Copies an element of `$width` bytes for each index, from element `$from` of `$src` to element `$to` of `$dst`, which
/// follow from the number of the index and from its place; widths that are `$known` have a loop of their own, and those
/// that are `$narrow` one of some elements at a time.
macro_rules! copy_each {
    (
        $width:expr, [$($narrow:literal)*] [$($known:literal)*],
        ($indices:expr, $limit:expr, $is_within:expr), ($ahead:expr, $row:expr),
        |$at:ident, $place:ident| ($src:ident at $from:expr, $dst:ident at $to:expr)
    ) => {{
        // Of its own, since the compiler cannot know that what is written is not the flag.
        let mut is_within = *$is_within;
        /// Those behind the first `$done`, one by one.
        macro_rules! rest {
            ($indices_left:expr, $done:expr, $bytes:expr) => {
                for ($at, index) in ($done..).zip($indices_left) {
                    let $place = $limit.place(*index, &mut is_within);
                    let (from, to) = ($src.wrapping_add($from * $bytes), $dst.wrapping_add($to * $bytes));
                    // SAFETY: by the caller, who vouches for every place of the axis.
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
                    if let Places::Next { bytes, step } = $ahead.places {
                        prefetch($row.wrapping_add(bytes + number * step));
                    }
                    if let Places::Far = $ahead.places
                        && let Some(later) = stretches.get(number + AHEAD)
                    {
                        for (k, index) in later.iter().enumerate() {
                            // What is wrong with it is found when its turn comes.
                            let ($at, $place) =
                                (first + AHEAD * AT_ONCE + k, $limit.place(*index, &mut true));
                            prefetch($src.wrapping_add($from * $narrow));
                            prefetch($dst.wrapping_add($to * $narrow));
                        }
                    }
                    let mut places = [0; AT_ONCE];
                    for (place, index) in places.iter_mut().zip(stretch) {
                        *place = $limit.place(*index, &mut is_within);
                    }
                    // All are read before one is written, so that none waits for the others.
                    let mut elements = [[0; $narrow]; AT_ONCE];
                    for (k, element) in elements.iter_mut().enumerate() {
                        let ($at, $place) = (first + k, places[k]);
                        let (from, _) = ($src.wrapping_add($from * $narrow), ($at, $place));
                        // SAFETY: by the caller, who vouches for every place of the axis.
                        *element = unsafe { from.cast::<[u8; $narrow]>().read_unaligned() };
                    }
                    for (k, element) in elements.into_iter().enumerate() {
                        let ($at, $place) = (first + k, places[k]);
                        let (to, _) = ($dst.wrapping_add($to * $narrow), ($at, $place));
                        // SAFETY: as above.
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

/// Copies rows of so many bytes.
///
/// # Safety
/// `src` is valid for reads of all rows of the axis, and `dst` for writes of one for each index.
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
        |at, place| (src at place, dst at at)
    );
}

/// Copies elements, each from its own column: element i of a row is `i` elements on.
///
/// # Safety
/// As [`copy_rows`], where rows of the axis are `inner` elements apart.
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
        |at, place| (src at (place * inner + at), dst at at)
    );
}

/// The other way: element i of `src` is put at its index, into its own column.
///
/// # Safety
/// `src` is valid for reads of one element for each index, and `dst` for writes of the axis in these columns.
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
        |at, place| (src at at, dst at (place * inner + at))
    );
}

/// The same of a row whose elements are neighbours.
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
        |at, place| (src at at, dst at place)
    );
}

/// [`put_row`] as a function of its own.
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
    // SAFETY: the contract is the same.
    unsafe { put_row(src, indices, how, width, dst, is_within) };
}

/// [`copy_rows`] as a function of its own.
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
    // SAFETY: the contract is the same.
    unsafe { copy_rows(src, indices, how, row, dst, is_within) };
}
