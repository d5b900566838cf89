//! Short groups of bytes that follow each other in the destination, and are a fixed step apart in
//! the source: elements of odd widths that are read backwards, pixels whose channels are.
//!
//! A vector of the destination has its bytes from a window of the source that is hardly longer, so
//! it is shuffled from the first and the last vector of that window. Where a vector begins within a
//! group decides the shuffle indices; after as many vectors as a group has odd bytes, they repeat.

use crate::simd::{Indices, LINE, Token, Vector, store_part};
use crate::tile::{AHEAD_BYTES, Store};

/// The most bytes of a group whose vectors are shuffled: above that, two moves a group are as fast
/// (measured).
const MOST_GROUP_BYTES: usize = 33;

/// The most places within a group where a vector can begin: the bytes of the longest group.
const MOST_PHASES: usize = MOST_GROUP_BYTES;

/// Of results that stay in the caches, runs of less are not worth the work of beginning with a
/// whole line (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Whether vectors of `bytes` bytes have their bytes from windows of at most two vectors, for
/// groups of `group` bytes that are `step` bytes apart.
pub(crate) fn fits(bytes: usize, group: usize, step: isize) -> bool {
    let groups = (bytes + group.saturating_sub(2)) / group.max(1) + 1;
    let window = step.unsigned_abs().saturating_mul(groups - 1).saturating_add(group);
    // Groups that overlap would have windows of less than a vector.
    (2..=MOST_GROUP_BYTES).contains(&group) && step.unsigned_abs() >= group && window <= 2 * bytes
}

/// At how many places of a group of `group` bytes vectors of `bytes` bytes, a power of two, begin
/// before they begin at the same again.
pub(crate) fn phases(bytes: usize, group: usize) -> usize {
    let shared = group.trailing_zeros().min(bytes.trailing_zeros());
    group.checked_shr(shared).unwrap_or(0)
}

/// What is known of the vectors that begin at one place of a group.
#[derive(Clone, Copy)]
struct Phase {
    /// Where the first and the last vector of the window begin, in bytes from where the groups are
    /// read that begin with phase 0.
    window: [isize; 2],
    /// The shuffle indices of the bytes in both.
    indices: [u8; LINE],
}

/// The windows of all phases.
pub(crate) struct Windows {
    group: usize,
    step: isize,
    /// In the order in which they follow each other, the first at the start of a group.
    phases: [Phase; MOST_PHASES],
    count: usize,
    /// The index of the phase that begins with a byte of a group.
    of_byte: [u8; MOST_PHASES],
}

impl Windows {
    /// For groups of `group` bytes, `step` bytes apart in the source, of elements of `width` bytes
    /// that rise in the source or fall.
    #[inline(always)]
    pub(crate) fn new<V: Vector>(group: usize, step: isize, width: usize, rises: bool) -> Windows {
        let width = small(width);
        Windows::of::<V>(group, step, |byte| {
            let element = divided(byte, width) * width;
            if rises { byte } else { byte - 2 * element }
        })
    }

    /// For groups of `group` bytes, `step` bytes apart in the source, whose bytes are at `place_of`
    /// in the source's group.
    #[inline(always)]
    fn of<V: Vector>(group: usize, step: isize, place_of: impl Fn(i32) -> i32) -> Windows {
        let mut windows = Windows {
            group,
            step,
            phases: [Phase { window: [0; 2], indices: [0; LINE] }; MOST_PHASES],
            count: group >> group.trailing_zeros().min(V::BYTES.trailing_zeros()),
            of_byte: [u8::MAX; MOST_PHASES],
        };
        let (group, step) = (small(group), step as i32);
        for index in 0..windows.count {
            let begin = index * V::BYTES % windows.group;
            windows.of_byte[begin] = index as u8;
            let before = small(index * V::BYTES / windows.group);
            let mut from = [0; LINE];
            for (byte, from) in (small(begin)..).zip(&mut from) {
                let groups = divided(byte, group);
                *from = (before + groups) * step + place_of(byte - groups * group);
            }
            windows.phases[index] = Phase::new::<V>(&from);
        }
        windows
    }

    /// Copies a run of whole groups.
    ///
    /// # Safety
    /// The windows are for V. `bytes` are a vector at least; every group is valid for reads, from
    /// `src` on, and `bytes` for writes.
    #[inline(always)]
    pub(crate) unsafe fn copy<V: Vector>(
        &self,
        token: Token<V>,
        src: *const u8,
        dst: *mut u8,
        bytes: usize,
        store: Store,
    ) {
        let head = self.head(dst, bytes, store);
        let streamed = store == Store::Streaming && head.is_some();
        let (head, first) = head.unwrap_or((0, 0));
        // Where the groups of phase 0 are read, for a vector of a phase.
        let phases_src = |at: usize, index: usize| {
            let at = at.cast_signed() - (index * V::BYTES).cast_signed();
            src.wrapping_offset(at / self.group.cast_signed() * self.step)
        };
        let ahead = (V::BYTES * self.count / self.group).cast_signed() * self.step;
        // SAFETY: every window holds bytes of the run's groups alone, for vectors within the run.
        unsafe {
            for at in (0..head).step_by(V::BYTES) {
                let index = at / V::BYTES % self.count;
                let vector: V = self.shuffled(token, phases_src(at, index), index);
                store_part(vector, 0..V::BYTES.min(head - at), dst.add(at));
            }
            let whole = (bytes - head) / V::BYTES;
            // The source is read from its front, which is what the hardware prefetcher predicts
            // best.
            let falls = self.step < 0;
            let begin = if falls { head + whole.saturating_sub(1) * V::BYTES } else { head };
            let mut index = (first + (begin - head) / V::BYTES) % self.count;
            let mut src = phases_src(begin, index);
            let mut at = begin;
            for _ in 0..whole {
                let (vector, dst): (V, _) = (self.shuffled(token, src, index), dst.add(at));
                if streamed {
                    vector.stream(dst);
                } else {
                    vector.store(dst);
                }
                if falls {
                    at = at.wrapping_sub(V::BYTES);
                    if index == 0 {
                        (index, src) = (self.count, src.wrapping_offset(-ahead));
                    }
                    index -= 1;
                } else {
                    at += V::BYTES;
                    index += 1;
                    if index == self.count {
                        (index, src) = (0, src.wrapping_offset(ahead));
                    }
                }
            }
            let at = head + whole * V::BYTES;
            // The run ends with a vector of the last phase.
            let (end, last) = (bytes - V::BYTES, self.count - 1);
            let vector: V = self.shuffled(token, phases_src(end, last), last);
            store_part(vector, at - end..V::BYTES, dst.add(at));
        }
    }

    /// The bytes before the first whole line, and the phase that the line begins with, if it is
    /// worth to begin with one.
    #[inline(always)]
    fn head(&self, dst: *mut u8, bytes: usize, store: Store) -> Option<(usize, usize)> {
        let before = dst.align_offset(LINE);
        let index = self.of_byte[before % self.group];
        let worth = store == Store::Streaming || bytes >= LEAST_ALIGNED_BYTES;
        // Not to be read beyond the run: the head is shuffled as whole vectors.
        let fits = before.next_multiple_of(LINE) <= bytes;
        (worth && fits && index != u8::MAX).then_some((before, usize::from(index)))
    }

    /// A vector, from where the groups of phase 0 are read.
    ///
    /// # Safety
    /// The window is valid for reads.
    #[inline(always)]
    unsafe fn shuffled<V: Vector>(&self, token: Token<V>, src: *const u8, index: usize) -> V {
        let Phase { window: [first, last], indices } = &self.phases[index];
        // SAFETY: by the caller; indices are counted through both vectors.
        unsafe {
            V::prefetch(src.wrapping_offset(*first + AHEAD_BYTES.cast_signed()));
            let (first, last) =
                (V::load(token, src.offset(*first)), V::load(token, src.offset(*last)));
            first.shuffle::<1>(last, Indices::new(token, indices))
        }
    }
}

/// A quotient of numbers of at most two lines: exact for those, and worked out for many at a time.
fn divided(index: i32, by: i32) -> i32 {
    (index * ((1 << 16) / by + 1)) >> 16
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
        let mut indices = [0; LINE];
        for (place, from) in indices.iter_mut().zip(from) {
            let in_first = from - first;
            let in_last = bytes + from - (end - bytes);
            *place = if in_first < bytes { in_first } else { in_last } as u8;
        }
        Phase { window: [first as isize, (end - bytes) as isize], indices }
    }
}
