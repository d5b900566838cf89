//! Short groups of bytes, contiguous in the destination and at a fixed stride in the source: reversed elements of
//! odd widths, or pixels with reversed channels.
//!
//! The bytes of a destination vector come from a window of the source that is little longer, so the vector is
//! shuffled from the first and the last vector of the window. The position of the vector within a group determines
//! the shuffle indices. They repeat after as many vectors as the odd factor of the group's size.

use crate::simd::{Indices, LINE, Token, Vector, store_part};
use crate::tile::{AHEAD_BYTES, StoreKind};

/// The most bytes of a group for shuffles: above that, two moves for each group are as fast (measured).
const MOST_GROUP_BYTES: usize = 33;

/// The most positions within a group where a vector can begin: the bytes of the longest group.
const MOST_PHASES: usize = MOST_GROUP_BYTES;

/// Shorter runs that stay in the caches are not aligned to lines (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Returns whether windows of at most two vectors suffice for vectors of `bytes` bytes, with groups of `group`
/// bytes that are `step` bytes apart.
pub(crate) fn fits(bytes: usize, group: usize, step: isize) -> bool {
    let groups = (bytes + group.saturating_sub(2)) / group.max(1) + 1;
    let window = step.unsigned_abs().saturating_mul(groups - 1).saturating_add(group);
    // Overlapping groups would have windows shorter than a vector.
    (2..=MOST_GROUP_BYTES).contains(&group) && step.unsigned_abs() >= group && window <= 2 * bytes
}

/// Returns the number of different positions in a group of `group` bytes where vectors of `bytes` bytes, a power of
/// two, begin.
pub(crate) fn phases(bytes: usize, group: usize) -> usize {
    let shared = group.trailing_zeros().min(bytes.trailing_zeros());
    group.checked_shr(shared).unwrap_or(0)
}

/// The window and the shuffle of the vectors that begin at one position of a group.
#[derive(Clone, Copy)]
struct Phase {
    /// The first and the last vector of the window, in bytes from the source of the groups at phase 0.
    window: [isize; 2],
    /// The shuffle indices of the bytes in both.
    indices: [u8; LINE],
}

pub(crate) struct Windows {
    group: usize,
    step: isize,
    /// In their order in the destination; the first is at the start of a group.
    phases: [Phase; MOST_PHASES],
    count: usize,
    /// The index of the phase that begins with a byte of a group.
    of_byte: [u8; MOST_PHASES],
}

impl Windows {
    /// Makes windows for groups of `group` bytes, `step` bytes apart in the source, of elements of `width` bytes
    /// that ascend or descend in the source.
    #[inline(always)]
    pub(crate) fn new<V: Vector>(group: usize, step: isize, width: usize, rises: bool) -> Windows {
        let width = small(width);
        Windows::of::<V>(group, step, |byte| {
            let element = divided(byte, width) * width;
            if rises { byte } else { byte - 2 * element }
        })
    }

    /// Makes windows for groups of `group` bytes, `step` bytes apart in the source. `place_of` maps a byte to its
    /// position in the source's group.
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
    /// The windows are for V. `bytes` is at least a vector. Every group from `src` on is valid for reads, and
    /// `bytes` for writes.
    #[inline(always)]
    pub(crate) unsafe fn copy<V: Vector>(
        &self,
        token: Token<V>,
        src: *const u8,
        dst: *mut u8,
        bytes: usize,
        store: StoreKind,
    ) {
        let head = self.head(dst, bytes, store);
        let streamed = store == StoreKind::Streaming && head.is_some();
        let (head, first) = head.unwrap_or((0, 0));
        // The source of the groups at phase 0, for a vector of a phase.
        let phases_src = |at: usize, index: usize| {
            let at = at.cast_signed() - (index * V::BYTES).cast_signed();
            src.wrapping_offset(at / self.group.cast_signed() * self.step)
        };
        let ahead = (V::BYTES * self.count / self.group).cast_signed() * self.step;
        // SAFETY: for vectors within the run, every window holds only bytes of the run's groups.
        unsafe {
            for at in (0..head).step_by(V::BYTES) {
                let index = at / V::BYTES % self.count;
                let vector: V = self.shuffled(token, phases_src(at, index), index);
                store_part(vector, 0..V::BYTES.min(head - at), dst.add(at));
            }
            let whole = (bytes - head) / V::BYTES;
            // The source is read in ascending order, which the hardware prefetcher predicts best.
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

    /// Returns the number of bytes before the first whole line and the phase at its start, if aligning to a line
    /// pays.
    #[inline(always)]
    fn head(&self, dst: *mut u8, bytes: usize, store: StoreKind) -> Option<(usize, usize)> {
        let before = dst.align_offset(LINE);
        let index = self.of_byte[before % self.group];
        let worth = store == StoreKind::Streaming || bytes >= LEAST_ALIGNED_BYTES;
        // The head is shuffled as whole vectors, which must not read beyond the run.
        let fits = before.next_multiple_of(LINE) <= bytes;
        (worth && fits && index != u8::MAX).then_some((before, usize::from(index)))
    }

    /// Returns a vector, given the source of the groups at phase 0.
    ///
    /// # Safety
    /// The window is valid for reads.
    #[inline(always)]
    unsafe fn shuffled<V: Vector>(&self, token: Token<V>, src: *const u8, index: usize) -> V {
        let Phase { window: [first, last], indices } = &self.phases[index];
        // SAFETY: the caller guarantees that the window is valid; indices count through both vectors.
        unsafe {
            V::prefetch(src.wrapping_offset(*first + AHEAD_BYTES.cast_signed()));
            let (first, last) =
                (V::load(token, src.offset(*first)), V::load(token, src.offset(*last)));
            first.shuffle::<1>(last, Indices::new(token, indices))
        }
    }
}

/// Divides numbers of at most two lines exactly; it vectorizes.
fn divided(index: i32, by: i32) -> i32 {
    (index * ((1 << 16) / by + 1)) >> 16
}

/// Converts a size of at most a few hundred bytes.
fn small(bytes: usize) -> i32 {
    (bytes as u32).cast_signed()
}

impl Phase {
    /// Makes the phase whose vectors take their bytes from `from`.
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
