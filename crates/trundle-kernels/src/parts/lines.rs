//! Bytes that are assembled in the first-level cache and written in whole lines.

use crate::elements::copy;
use crate::simd::{LINE, Token, Vector, stream_line};
use crate::tile::StoreKind;

/// Bytes that are assembled in the first-level cache and written in whole lines.
pub(crate) struct Lines {
    /// The assembled bytes; a line of the destination begins at the start.
    made: *mut u8,
    /// The address of that line.
    dst: *mut u8,
    /// The bytes of that line that must not be written.
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

    /// Returns where the next bytes go. There is room for [`OUT_BYTES`](super::scratch::OUT_BYTES) and the rest of
    /// a line.
    pub(crate) fn room(&self) -> *mut u8 {
        self.made.wrapping_add(self.full)
    }

    /// Writes the lines that are complete after `bytes` more bytes, and prefetches as many source lines at `ahead`.
    ///
    /// # Safety
    /// The bytes are in the room and come next in the destination.
    #[inline(always)]
    pub(crate) unsafe fn put<V: Vector>(
        &mut self,
        token: Token<V>,
        bytes: usize,
        ahead: *const u8,
    ) {
        self.full += bytes;
        let whole = self.full / LINE * LINE;
        if whole == 0 {
            return;
        }
        // SAFETY: the caller guarantees that the bytes are valid; all lines but the first are whole.
        unsafe {
            if self.skip > 0 {
                self.put_part(LINE);
            }
            for at in (self.skip.next_multiple_of(LINE)..whole).step_by(LINE) {
                V::prefetch(ahead.wrapping_add(at));
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

    /// Writes the bytes of the first line up to `end`.
    ///
    /// # Safety
    /// The bytes are assembled and belong to the destination.
    unsafe fn put_part(&self, end: usize) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let (from, to) = (self.made.add(self.skip), self.dst.wrapping_add(self.skip));
            from.copy_to_nonoverlapping(to, end - self.skip);
        }
    }

    /// Writes the remaining bytes.
    ///
    /// # Safety
    /// As [`Lines::put_part`].
    pub(crate) unsafe fn end(&self) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe { self.put_part(self.full) };
    }
}
