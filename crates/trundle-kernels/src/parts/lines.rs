//! Assembles bytes in the first-level cache and writes them as whole cache lines.

use crate::elements::copy;
use crate::simd::{LINE, Token, Vector, stream_line};
use crate::tile::StoreKind;

pub(crate) struct Lines {
    /// The assembled bytes, from the start of a destination line on.
    made: *mut u8,
    /// The address of this line.
    dst: *mut u8,
    /// The number of bytes at the start of this line that must not be written.
    skip: usize,
    /// The number of assembled bytes, including the skipped ones.
    full: usize,
    store: StoreKind,
}

impl Lines {
    pub(crate) fn new(dst: *mut u8, store: StoreKind, out: *mut u8) -> Lines {
        let skip = dst.addr() % LINE;
        let made = out.wrapping_add(out.align_offset(LINE));
        Lines { made, dst: dst.wrapping_sub(skip), skip, full: skip, store }
    }

    /// Returns where the caller puts the next bytes. There is space for [`OUT_BYTES`](super::scratch::OUT_BYTES) and
    /// the rest of a line.
    pub(crate) fn room(&self) -> *mut u8 {
        self.made.wrapping_add(self.full)
    }

    /// Adds `bytes` bytes at [`Lines::room`] and writes all complete lines. Prefetches `ahead(at)` for each line,
    /// which begins `at` bytes after the start of the first one.
    ///
    /// # Safety
    /// The bytes are at [`Lines::room`], and the next bytes of the destination are valid for writes.
    #[inline(always)]
    pub(crate) unsafe fn put<V: Vector>(
        &mut self,
        token: Token<V>,
        bytes: usize,
        ahead: impl Fn(usize) -> *const u8,
    ) {
        self.full += bytes;
        let whole = self.full / LINE * LINE;
        if whole == 0 {
            return;
        }
        // SAFETY: the caller guarantees that the bytes are valid. All lines except the first are written whole.
        unsafe {
            if self.skip > 0 {
                self.put_part(LINE);
            }
            for at in (self.skip.next_multiple_of(LINE)..whole).step_by(LINE) {
                V::prefetch(ahead(at));
                let (from, to) = (self.made.add(at), self.dst.add(at));
                match self.store {
                    StoreKind::Streaming => stream_line(token, from, to),
                    StoreKind::Ordinary => copy::copy::<LINE>(from, to),
                }
            }
            copy::copy::<LINE>(self.made.add(whole), self.made);
        }
        self.dst = self.dst.wrapping_add(whole);
        (self.skip, self.full) = (0, self.full - whole);
    }

    /// Writes the first line up to byte `end`.
    ///
    /// # Safety
    /// The bytes have been assembled, and they are valid for writes in the destination.
    unsafe fn put_part(&self, end: usize) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let (from, to) = (self.made.add(self.skip), self.dst.wrapping_add(self.skip));
            from.copy_to_nonoverlapping(to, end - self.skip);
        }
    }

    /// # Safety
    /// As [`Lines::put_part`].
    pub(crate) unsafe fn end(&self) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { self.put_part(self.full) };
    }
}
