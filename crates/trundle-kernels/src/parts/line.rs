//! Cache lines of the destination that are assembled in registers.

use core::mem::MaybeUninit;

use crate::simd::{LINE, Token, Vector};

/// The maximum number of vectors in a line.
const MOST_PARTS: usize = LINE / 16;

/// A cache line in registers. The first `PARTS` vectors are always initialized.
pub(crate) struct Line<V>([MaybeUninit<V>; MOST_PARTS]);

/// Memory for the incomplete part of a line, until the elements that complete it are known.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct CarryBuffer(pub(crate) [MaybeUninit<u8>; LINE]);

impl CarryBuffer {
    pub(crate) const NONE: CarryBuffer = CarryBuffer([MaybeUninit::uninit(); LINE]);
}

impl<V: Vector> Line<V> {
    const PARTS: usize = LINE / V::BYTES;

    /// Makes a line whose first vector is `vector`. Other parts must be written later.
    #[inline(always)]
    pub(crate) fn of_vector(vector: V) -> Self {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        line.0[0].write(vector);
        line
    }

    /// Makes a line from row `i` of micro-tiles of `side` vectors: one vector of each.
    ///
    /// # Safety
    /// The vectors of the line have been written.
    #[inline(always)]
    pub(crate) unsafe fn of_row(micro_tiles: &[MaybeUninit<V>], i: usize, side: usize) -> Self {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            line.0[part] = micro_tiles[part * side + i];
        }
        line
    }

    /// # Safety
    /// `src` is valid for reads of a line.
    #[inline(always)]
    pub(crate) unsafe fn load(token: Token<V>, src: *const u8) -> Self {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            // SAFETY: all parts are within the line.
            line.0[part].write(unsafe { V::load(token, src.add(part * V::BYTES)) });
        }
        line
    }

    /// Reads the first `bytes` bytes, at most [`LINE`]. The other bytes are unspecified.
    ///
    /// # Safety
    /// `src` is valid for reads of `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn load_first(token: Token<V>, src: *const u8, bytes: usize) -> Self {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            let at = (part * V::BYTES).min(bytes);
            // SAFETY: the caller guarantees that the bytes are valid.
            let vector = unsafe { V::load_first(token, src.add(at), (bytes - at).min(V::BYTES)) };
            line.0[part].write(vector);
        }
        line
    }

    /// # Safety
    /// `dst` is valid for writes of a line.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, dst: *mut u8) {
        for part in 0..Self::PARTS {
            // SAFETY: all parts are within the line.
            unsafe { self.0[part].assume_init().store(dst.add(part * V::BYTES)) };
        }
    }

    /// Returns this line with the bytes of `other` from byte `from` on.
    #[inline(always)]
    pub(crate) fn then(&self, other: &Self, from: usize) -> Self {
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for part in 0..Self::PARTS {
            let at = part * V::BYTES;
            // SAFETY: the parts of both lines are initialized.
            let (left, right) =
                unsafe { (self.0[part].assume_init(), other.0[part].assume_init()) };
            line.0[part].write(left.then(right, from.clamp(at, at + V::BYTES) - at));
        }
        line
    }

    /// Returns the line that begins at byte `at` of the sequence `self`, `next`. `at` is a multiple of W.
    ///
    /// # Safety
    /// `at` is from 1 to [`LINE`].
    #[inline(always)]
    pub(crate) unsafe fn join<const W: usize>(&self, next: &Line<V>, at: usize) -> Line<V> {
        if Self::PARTS == 1 {
            // SAFETY: the part of a line is written.
            let (first, next) = unsafe { (self.0[0].assume_init(), next.0[0].assume_init()) };
            return Line::of_vector(first.join::<W>(next, at));
        }
        if Self::PARTS == 2 {
            // SAFETY: the parts of both lines are written.
            let [a, b, c, d] = unsafe {
                [&self.0[0], &self.0[1], &next.0[0], &next.0[1]].map(|part| part.assume_init())
            };
            let late = at > V::BYTES;
            let (from, at) = if late { (0, at - V::BYTES) } else { (V::BYTES, at) };
            let (a, b, c) = (a.then(b, from), b.then(c, from), c.then(d, from));
            let mut line = Line::of_vector(a.join::<W>(b, at));
            line.0[1].write(b.join::<W>(c, at));
            return line;
        }
        // `at` is known only at run time, so the parts are indexed in memory.
        let part = |index: usize| match index.checked_sub(Self::PARTS) {
            // SAFETY: the parts of a line are written, and `at` is within the two lines.
            None => unsafe { self.0[index].assume_init() },
            // SAFETY: the parts of a line are written, and `at` is within the two lines.
            Some(index) => unsafe { next.0[index].assume_init() },
        };
        let (first, at) = ((at - 1) / V::BYTES, (at - 1) % V::BYTES + 1);
        let mut line = Line([MaybeUninit::uninit(); MOST_PARTS]);
        for index in 0..Self::PARTS {
            line.0[index].write(part(first + index).join::<W>(part(first + index + 1), at));
        }
        line
    }

    /// # Safety
    /// `dst` is valid for writes of a line, and aligned to a line.
    #[inline(always)]
    pub(crate) unsafe fn stream(&self, dst: *mut u8) {
        for part in 0..Self::PARTS {
            // SAFETY: the caller guarantees that the line is valid.
            unsafe { self.0[part].assume_init().stream(dst.add(part * V::BYTES)) };
        }
    }

    /// Writes the first `bytes` bytes, at most [`LINE`], by ordinary stores. Parts after these bytes need not be written.
    ///
    /// # Safety
    /// `dst` is valid for writes of `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn store_first(&self, dst: *mut u8, bytes: usize) {
        for part in 0..Self::PARTS {
            let at = part * V::BYTES;
            // SAFETY: the caller guarantees that the bytes are valid, and that their parts are written.
            unsafe {
                if at + V::BYTES <= bytes {
                    self.0[part].assume_init().store(dst.add(at));
                } else if at < bytes {
                    self.0[part].assume_init().store_first(dst.add(at), bytes - at);
                }
            }
        }
    }
}
