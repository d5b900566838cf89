//! Moves short groups of bytes that are contiguous in the destination and have a fixed stride in the source: elements
//! of 3 bytes in a reversed row, or pixels with reversed channels.
//!
//! The bytes of a destination vector come from a *window* of the source that is little longer than a vector, so the
//! vector is shuffled from the first and the last vector of the window. The shuffle indices depend on the *phase*: the
//! position within a group at which the vector begins. The number of phases is the size of a group without the factors
//! of two that it shares with the size of a vector.

use core::mem::MaybeUninit;

use crate::simd::{Indices, LINE, Token, Vector, store_part};
use crate::tile::{AHEAD_BYTES, StoreKind};

/// Longer groups are moved as fast by two moves each (measured).
const MOST_GROUP_BYTES: usize = 33;

/// The maximum number of phases: the bytes of the longest group.
const MOST_PHASES: usize = MOST_GROUP_BYTES;

/// Shorter runs that stay in the caches are not aligned to lines (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Returns whether all windows are at most two vectors of `bytes` bytes long, for groups of `group` bytes that are
/// `step` bytes apart.
pub(crate) fn fits(bytes: usize, group: usize, step: isize) -> bool {
    let groups = (bytes + group.saturating_sub(2)) / group.max(1) + 1;
    let window = step.unsigned_abs().saturating_mul(groups - 1).saturating_add(group);
    // If groups overlapped, windows could be shorter than a vector.
    (2..=MOST_GROUP_BYTES).contains(&group) && step.unsigned_abs() >= group && window <= 2 * bytes
}

/// Returns the number of phases. `bytes`, the size of a vector, is a power of two.
pub(crate) fn phases(bytes: usize, group: usize) -> usize {
    let shared = group.trailing_zeros().min(bytes.trailing_zeros());
    group.checked_shr(shared).unwrap_or(0)
}

/// The window and the shuffle for the vectors of one phase.
#[derive(Clone, Copy)]
struct Phase {
    /// The first and the last vector of the window, in bytes from the group with phase 0.
    window: [isize; 2],
    /// The shuffle indices of the bytes in these two vectors.
    indices: [u8; LINE],
}

pub(crate) struct Windows {
    group: usize,
    step: isize,
    /// The phases in the order of the destination, from the start of a group on. The first `count` are written.
    phases: [MaybeUninit<Phase>; MOST_PHASES],
    count: usize,
    /// For each byte of a group, the index of the phase that begins there, or 255.
    of_byte: [u8; MOST_PHASES],
}

impl Windows {
    /// Makes windows for groups of `group` bytes that are `step` bytes apart in the source, of elements of `width`
    /// bytes that ascend in the source if `rises`, and descend otherwise.
    #[inline(always)]
    pub(crate) fn new<V: Vector>(group: usize, step: isize, width: usize, rises: bool) -> Windows {
        let width = small(width);
        // The position in the source group of each byte of a destination group.
        let mut within = [0; MOST_GROUP_BYTES];
        for (byte, within) in (0..).zip(&mut within) {
            let element = divided(byte, width) * width;
            *within = if rises { byte } else { byte - 2 * element };
        }
        let mut windows = Windows {
            group,
            step,
            phases: [MaybeUninit::uninit(); MOST_PHASES],
            count: phases(V::BYTES, group),
            of_byte: [u8::MAX; MOST_PHASES],
        };
        for index in 0..windows.count {
            let (before, begin) = (index * V::BYTES / group, index * V::BYTES % group);
            windows.of_byte[begin] = index as u8;
            let (mut src, mut byte) = (small(before) * step as i32, begin);
            let mut from = [0; LINE];
            for from in &mut from[..V::BYTES] {
                *from = src + within[byte];
                byte += 1;
                if byte == group {
                    (src, byte) = (src + step as i32, 0);
                }
            }
            windows.phases[index].write(Phase::new::<V>(&from));
        }
        windows
    }

    /// # Safety
    /// The windows were made for V. `bytes` is at least a vector. Every group from `src` on is valid for reads, and
    /// `bytes` bytes at `dst` are valid for writes.
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
        // Returns the source to which the window positions of a vector are added.
        let phases_src = |at: usize, index: usize| {
            let at = at.cast_signed() - (index * V::BYTES).cast_signed();
            src.wrapping_offset(at / self.group.cast_signed() * self.step)
        };
        let ahead = (V::BYTES * self.count / self.group).cast_signed() * self.step;
        // SAFETY: the windows of vectors within the run contain only bytes of the run's groups, or between them. Indices
        // of phases are less than their number.
        unsafe {
            for at in (0..head).step_by(V::BYTES) {
                let index = at / V::BYTES % self.count;
                let vector: V = self.shuffled(token, phases_src(at, index), index);
                if streamed {
                    store_part(vector, 0..V::BYTES.min(head - at), dst.add(at));
                } else {
                    vector.store(dst.add(at));
                }
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
            // A vector that ends with the run has the last phase.
            let (end, last) = (bytes - V::BYTES, self.count - 1);
            let vector: V = self.shuffled(token, phases_src(end, last), last);
            if streamed {
                store_part(vector, at - end..V::BYTES, dst.add(at));
            } else {
                // Its first bytes are written again, with the same values.
                vector.store(dst.add(end));
            }
        }
    }

    /// Returns the number of bytes before the first whole line, and its phase. Returns `None` if no phase begins there,
    /// or if aligning to lines is not worthwhile.
    #[inline(always)]
    fn head(&self, dst: *mut u8, bytes: usize, store: StoreKind) -> Option<(usize, usize)> {
        let before = dst.align_offset(LINE);
        let index = self.of_byte[before % self.group];
        let worth = store == StoreKind::Streaming || bytes >= LEAST_ALIGNED_BYTES;
        // The bytes before are shuffled as whole vectors, which must not read beyond the run.
        let fits = before.next_multiple_of(LINE) <= bytes;
        (worth && fits && index != u8::MAX).then_some((before, usize::from(index)))
    }

    /// Returns a vector of phase `index`, with window positions relative to `src`.
    ///
    /// # Safety
    /// `index` is less than `count`, and the window is valid for reads.
    #[inline(always)]
    unsafe fn shuffled<V: Vector>(&self, token: Token<V>, src: *const u8, index: usize) -> V {
        // SAFETY: the caller guarantees that the phase is written and the window valid. Indices count through both
        // vectors.
        unsafe {
            let Phase { window: [first, last], indices } = self.phases[index].assume_init_ref();
            V::prefetch(src.wrapping_offset(*first + AHEAD_BYTES.cast_signed()));
            let (first, last) =
                (V::load(token, src.offset(*first)), V::load(token, src.offset(*last)));
            first.shuffle::<1>(last, Indices::new(token, indices))
        }
    }
}

/// Divides an index of at most 128 exactly, by code that vectorizes.
fn divided(index: i32, by: i32) -> i32 {
    (index * ((1 << 16) / by + 1)) >> 16
}

fn small(bytes: usize) -> i32 {
    (bytes as u32).cast_signed()
}

impl Phase {
    /// Makes a phase from the source position of each byte of its vectors.
    #[inline(always)]
    fn new<V: Vector>(from: &[i32; LINE]) -> Phase {
        let bytes = small(V::BYTES);
        let (mut first, mut end) = (i32::MAX, i32::MIN);
        for from in &from[..V::BYTES] {
            first = first.min(*from);
            end = end.max(from + 1);
        }
        let mut indices = [0; LINE];
        for (index, from) in indices.iter_mut().zip(from) {
            let in_first = from - first;
            let in_last = bytes + from - (end - bytes);
            *index = if in_first < bytes { in_first } else { in_last } as u8;
        }
        Phase { window: [first as isize, (end - bytes) as isize], indices }
    }
}
