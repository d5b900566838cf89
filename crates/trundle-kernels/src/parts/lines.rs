//! Bytes that are made in the first-level cache and leave it in whole lines.

use crate::elements::copy;
use crate::simd::{LINE, Token, Vector, stream_line};
use crate::tile::Store;

/// Bytes that are put together in the first-level cache, and leave it in whole lines.
pub(crate) struct Lines {
    /// What is put together: a line of the destination begins at its start.
    made: *mut u8,
    /// Where that line is.
    dst: *mut u8,
    /// The bytes of that line that are not to be written.
    skip: usize,
    /// The bytes that are made, with those.
    full: usize,
    store: Store,
}

impl Lines {
    /// Lines that begin at `dst`, made in the scratch's `out`.
    pub(crate) fn new(dst: *mut u8, store: Store, out: *mut u8) -> Lines {
        let skip = dst.addr() % LINE;
        let made = out.wrapping_add(out.align_offset(LINE));
        Lines { made, dst: dst.wrapping_sub(skip), skip, full: skip, store }
    }

    /// Where the next bytes are to be made: [`OUT_BYTES`](super::scratch::OUT_BYTES) and what is left of a line.
    pub(crate) fn room(&self) -> *mut u8 {
        self.made.wrapping_add(self.full)
    }

    /// Writes the lines that are whole when `bytes` more are made, and prefetches as many lines of
    /// the source at `ahead`.
    ///
    /// # Safety
    /// They are made in the room and come next in the destination.
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
        // SAFETY: the caller vouches for the bytes; all but the first line are whole.
        unsafe {
            if self.skip > 0 {
                self.put_part(LINE);
            }
            for at in (self.skip.next_multiple_of(LINE)..whole).step_by(LINE) {
                V::prefetch(ahead.wrapping_add(at));
                let (from, to) = (self.made.add(at), self.dst.add(at));
                match self.store {
                    Store::Streaming => stream_line(token, from, to),
                    Store::Ordinary => copy::copy::<LINE>(from, to),
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
    /// They are made, and belong to the destination.
    unsafe fn put_part(&self, end: usize) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let (from, to) = (self.made.add(self.skip), self.dst.wrapping_add(self.skip));
            from.copy_to_nonoverlapping(to, end - self.skip);
        }
    }

    /// Writes what is left.
    ///
    /// # Safety
    /// As [`Lines::put_part`].
    pub(crate) unsafe fn end(&self) {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe { self.put_part(self.full) };
    }
}
