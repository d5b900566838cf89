//! Short groups of bytes that follow each other in the destination, and are a fixed step apart in
//! the source: elements of odd widths that are read backwards, pixels whose channels are.
//!
//! A vector of the destination has its bytes from a window of the source that is hardly longer, so
//! it is picked from the first and the last vector of that window. Where a vector begins within a
//! group decides the places; after as many vectors as a group has odd bytes, they repeat.

use super::{AHEAD_BYTES, Store, Tile, reversed, runs, strided};
use crate::simd::{LINE, Vector, store_part};

/// The most places within a group where a vector can begin: the bytes of the longest group.
const MOST_PHASES: usize = LINE;

/// The most bytes of a group whose vectors are picked, where groups are not rolled: above that,
/// two moves a group are as fast (measured).
const MOST_GROUP_BYTES: usize = 33;

/// Of results that stay in the caches, runs of less are not worth the work of beginning with a whole
/// line (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Whether vectors of `bytes` bytes have their bytes from windows of at most two vectors, for groups
/// of `group` bytes that are `step` bytes apart.
pub(super) fn fits(bytes: usize, group: usize, step: isize) -> bool {
    let groups = (bytes + group.saturating_sub(2)) / group.max(1) + 1;
    let window = step.unsigned_abs().saturating_mul(groups - 1).saturating_add(group);
    // Groups that overlap would have windows of less than a vector.
    (2..=MOST_GROUP_BYTES).contains(&group) && step.unsigned_abs() >= group && window <= 2 * bytes
}

/// Whether vectors of `bytes` bytes have their bytes from windows of at most two vectors, for rolled
/// groups of `group` bytes that follow each other.
pub(super) fn fits_rolled(bytes: usize, group: usize) -> bool {
    (2..=bytes).contains(&group)
}

/// At how many places of a group of `group` bytes vectors of `bytes` bytes, a power of two, begin
/// before they begin at the same again.
pub(super) fn phases(bytes: usize, group: usize) -> usize {
    let shared = group.trailing_zeros().min(bytes.trailing_zeros());
    group.checked_shr(shared).unwrap_or(0)
}

/// Copies rows as groups of one element.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the columns are neighbours, falling in the source and
/// rising in the destination.
#[inline(always)]
pub(super) unsafe fn backwards<V: Vector>(tile: &Tile) {
    let (width, bytes) = (tile.width, tile.cols.len * tile.width);
    if bytes < V::BYTES || !fits(V::BYTES, width, tile.cols.src_stride) {
        // SAFETY: the contract is the same.
        return unsafe { strided::strided(tile) };
    }
    let windows = Windows::new::<V>(width, tile.cols.src_stride, width, true);
    for row in 0..tile.rows.len {
        // SAFETY: a row is as many elements as fill `bytes`, and no less than a vector.
        unsafe {
            let (src, dst) = tile.row(row);
            windows.copy::<V>(src, dst, bytes, tile.store);
        }
    }
}

/// Copies rows that follow each other in the destination as one run of groups, a row each.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the columns are neighbours on both sides, rising in the
/// destination.
#[inline(always)]
pub(super) unsafe fn regrouped<V: Vector>(tile: &Tile) {
    let Tile { rows, cols, width, .. } = *tile;
    let (group, bytes) = (cols.len * width, rows.len * cols.len * width);
    // Rows of a part of a ragged tile may have gaps between them.
    let follow = rows.dst_stride == group.cast_signed();
    if bytes < V::BYTES || !follow || !fits(V::BYTES, group, rows.src_stride) {
        // SAFETY: the contract is the same.
        return unsafe {
            if cols.src_stride > 0 { runs::runs::<V>(tile) } else { reversed::reversed::<V>(tile) }
        };
    }
    let windows = Windows::new::<V>(group, rows.src_stride, width, cols.src_stride > 0);
    // SAFETY: the rows fill `bytes` without gaps, which are no less than a vector.
    unsafe { windows.copy::<V>(tile.src, tile.dst, bytes, tile.store) };
}

/// What is known of the vectors that begin at one place of a group.
#[derive(Clone, Copy)]
struct Phase {
    /// Where the first and the last vector of the window begin, in bytes from where the groups are
    /// read that begin with phase 0.
    window: [isize; 2],
    /// The places of the bytes in both.
    places: [u8; LINE],
}

/// The windows of all phases.
pub(super) struct Windows {
    group: usize,
    step: isize,
    /// In the order in which they follow each other, the first at the start of a group.
    phases: [Phase; MOST_PHASES],
    count: usize,
    /// The number of the phase that begins with a byte of a group.
    of_byte: [u8; MOST_PHASES],
}

impl Windows {
    /// For groups of `group` bytes, `step` bytes apart in the source, of elements of `width` bytes
    /// that rise in the source or fall.
    #[inline(always)]
    fn new<V: Vector>(group: usize, step: isize, width: usize, rises: bool) -> Windows {
        let width = small(width);
        Windows::of::<V>(group, step, |byte| {
            let element = divided(byte, width) * width;
            if rises { byte } else { byte - 2 * element }
        })
    }

    /// For groups of `group` bytes that follow each other on both sides, each rolled: from byte `cut`
    /// on it goes on with the start of the source's, whose byte that comes first is counted from.
    #[inline(always)]
    pub(super) fn rolled<V: Vector>(group: usize, cut: usize) -> Windows {
        let (bytes, cut) = (small(group), small(cut));
        Windows::of::<V>(
            group,
            group.cast_signed(),
            |byte| {
                if byte < cut { byte } else { byte - bytes }
            },
        )
    }

    /// For groups of `group` bytes, `step` bytes apart in the source, whose bytes are at `place_of`
    /// in the source's group.
    #[inline(always)]
    fn of<V: Vector>(group: usize, step: isize, place_of: impl Fn(i32) -> i32) -> Windows {
        let mut windows = Windows {
            group,
            step,
            phases: [Phase { window: [0; 2], places: [0; LINE] }; MOST_PHASES],
            count: group >> group.trailing_zeros().min(V::BYTES.trailing_zeros()),
            of_byte: [u8::MAX; MOST_PHASES],
        };
        let (group, step) = (small(group), step as i32);
        for number in 0..windows.count {
            let begin = number * V::BYTES % windows.group;
            windows.of_byte[begin] = number as u8;
            let before = small(number * V::BYTES / windows.group);
            let mut from = [0; LINE];
            for (byte, from) in (small(begin)..).zip(&mut from) {
                let groups = divided(byte, group);
                *from = (before + groups) * step + place_of(byte - groups * group);
            }
            windows.phases[number] = Phase::new::<V>(&from);
        }
        windows
    }

    /// Copies a run of whole groups.
    ///
    /// # Safety
    /// The machine has the set of V, which the windows are for. `bytes` are a vector at least; every
    /// group is valid for reads, from `src` on, and `bytes` for writes.
    #[inline(always)]
    pub(super) unsafe fn copy<V: Vector>(
        &self,
        src: *const u8,
        dst: *mut u8,
        bytes: usize,
        store: Store,
    ) {
        let head = self.head(dst, bytes, store);
        let streamed = store == Store::Streamed && head.is_some();
        let (head, first) = head.unwrap_or((0, 0));
        // Where the groups of phase 0 are read, for a vector of a phase.
        let phases_src = |at: usize, number: usize| {
            let at = at.cast_signed() - (number * V::BYTES).cast_signed();
            src.wrapping_offset(at / self.group.cast_signed() * self.step)
        };
        let ahead = (V::BYTES * self.count / self.group).cast_signed() * self.step;
        // SAFETY: every window holds bytes of the run's groups alone, for vectors within the run.
        unsafe {
            for at in (0..head).step_by(V::BYTES) {
                let number = at / V::BYTES % self.count;
                let vector: V = self.picked(phases_src(at, number), number);
                store_part(vector, 0..V::BYTES.min(head - at), dst.add(at));
            }
            let whole = (bytes - head) / V::BYTES;
            // The source is read from its front, which is what the hardware foresees best.
            let falls = self.step < 0;
            let begin = if falls { head + whole.saturating_sub(1) * V::BYTES } else { head };
            let mut number = (first + (begin - head) / V::BYTES) % self.count;
            let mut src = phases_src(begin, number);
            let mut at = begin;
            for _ in 0..whole {
                let (vector, dst): (V, _) = (self.picked(src, number), dst.add(at));
                if streamed {
                    vector.stream(dst);
                } else {
                    vector.store(dst);
                }
                if falls {
                    at = at.wrapping_sub(V::BYTES);
                    if number == 0 {
                        (number, src) = (self.count, src.wrapping_offset(-ahead));
                    }
                    number -= 1;
                } else {
                    at += V::BYTES;
                    number += 1;
                    if number == self.count {
                        (number, src) = (0, src.wrapping_offset(ahead));
                    }
                }
            }
            let at = head + whole * V::BYTES;
            // The run ends with a vector of the last phase.
            let (end, last) = (bytes - V::BYTES, self.count - 1);
            let vector: V = self.picked(phases_src(end, last), last);
            store_part(vector, at - end..V::BYTES, dst.add(at));
        }
    }

    /// The bytes before the first whole line, and the phase that the line begins with, if it is
    /// worth to begin with one.
    #[inline(always)]
    fn head(&self, dst: *mut u8, bytes: usize, store: Store) -> Option<(usize, usize)> {
        let before = dst.align_offset(LINE);
        let number = self.of_byte[before % self.group];
        let worth = store == Store::Streamed || bytes >= LEAST_ALIGNED_BYTES;
        // Not to be read beyond the run: the head is picked as whole vectors.
        let fits = before.next_multiple_of(LINE) <= bytes;
        (worth && fits && number != u8::MAX).then_some((before, usize::from(number)))
    }

    /// A vector, from where the groups of phase 0 are read.
    ///
    /// # Safety
    /// The machine has the set of V, and the window is valid for reads.
    #[inline(always)]
    unsafe fn picked<V: Vector>(&self, src: *const u8, number: usize) -> V {
        let Phase { window: [first, last], places } = &self.phases[number];
        // SAFETY: by the caller; places are counted through both vectors.
        unsafe {
            V::prefetch(src.wrapping_offset(*first + AHEAD_BYTES.cast_signed()));
            let (first, last) = (V::load(src.offset(*first)), V::load(src.offset(*last)));
            first.pick::<1>(last, V::load(places.as_ptr()))
        }
    }
}

/// A quotient of numbers of at most two lines: exact for those, and worked out for many at a time.
fn divided(number: i32, by: i32) -> i32 {
    (number * ((1 << 16) / by + 1)) >> 16
}

/// A number of at most a few hundred bytes.
fn small(bytes: usize) -> i32 {
    (bytes as u32).cast_signed()
}

impl Phase {
    /// The phase whose vectors have their bytes `from` there.
    #[inline(always)]
    fn new<V: Vector>(from: &[i32; LINE]) -> Phase {
        let bytes = small(V::BYTES);
        let (mut first, mut end) = (i32::MAX, i32::MIN);
        for from in &from[..V::BYTES] {
            first = first.min(*from);
            end = end.max(from + 1);
        }
        let mut places = [0; LINE];
        for (place, from) in places.iter_mut().zip(from) {
            let in_first = from - first;
            let in_last = bytes + from - (end - bytes);
            *place = if in_first < bytes { in_first } else { in_last } as u8;
        }
        Phase { window: [first as isize, (end - bytes) as isize], places }
    }
}
