//! Bytes written one after another, in whole lines by streaming stores.

use super::line::Line;
use crate::simd::{LINE, Token, Vector};

/// Writes bytes one after another, in lines.
pub(crate) struct Writer<V> {
    token: Token<V>,
    /// The line that is being put together.
    line: Line<V>,
    /// Where it goes: aligned to a line.
    dst: *mut u8,
    /// The bytes of it that are not the writer's: of the first line only.
    skip: usize,
    /// The bytes of it that are known, with those that are skipped.
    full: usize,
}

impl<V: Vector> Writer<V> {
    /// A writer that begins at `dst`.
    #[inline(always)]
    pub(crate) fn at(token: Token<V>, dst: *mut u8) -> Self {
        const NOTHING: [u8; LINE] = [0; LINE];
        let skip = dst.addr() % LINE;
        // SAFETY: what is read is a line.
        let line = unsafe { Line::load(token, NOTHING.as_ptr()) };
        Writer { token, line, dst: dst.wrapping_sub(skip), skip, full: skip }
    }

    /// Writes the first `bytes` bytes of `line`, which are whole elements of W bytes, as are all
    /// that have been written.
    ///
    /// # Safety
    /// What comes next in the destination is valid for writes.
    #[inline(always)]
    pub(crate) unsafe fn put_line_of<const W: usize>(&mut self, line: &Line<V>, bytes: usize) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let rotated = line.join::<W>(line, LINE - self.full);
            self.line = self.line.then(&rotated, self.full);
            self.full += bytes;
            if self.full >= LINE {
                let rest = self.full - LINE;
                self.put_line();
                (self.line, self.full) = (rotated, rest);
            }
        }
    }

    /// Writes `bytes` bytes from `src` on: whole elements of W bytes, as are all that have been
    /// written. Meanwhile prefetches what is `ahead` bytes further.
    ///
    /// # Safety
    /// They are valid for reads, and what comes next in the destination for writes.
    #[inline(always)]
    pub(crate) unsafe fn put_run<const W: usize, const LEVEL: u8>(
        &mut self,
        src: *const u8,
        bytes: usize,
        ahead: isize,
    ) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let mut at = (LINE - self.full).min(bytes);
            V::prefetch_into::<LEVEL>(src.wrapping_offset(ahead));
            // Of a long run whole lines can be read at both ends, which takes no copy of a part.
            let is_long = bytes >= LINE;
            let first = match is_long {
                true => Line::load(self.token, src),
                false => Line::load_first(self.token, src, at),
            };
            self.put_line_of::<W>(&first, at);
            while at + LINE <= bytes {
                V::prefetch_into::<LEVEL>(src.wrapping_add(at).wrapping_offset(ahead));
                Line::load(self.token, src.add(at)).stream(self.dst);
                self.dst = self.dst.wrapping_add(LINE);
                at += LINE;
            }
            if at < bytes {
                let rest = bytes - at;
                self.line = match is_long {
                    true => {
                        let last = Line::load(self.token, src.add(bytes - LINE));
                        last.join::<W>(&last, LINE - rest)
                    }
                    false => Line::load_first(self.token, src.add(at), rest),
                };
                self.full = rest;
            }
        }
    }

    /// Writes `bytes` bytes, which are whole elements of W bytes, as are all that have been
    /// written.
    ///
    /// # Safety
    /// They are valid for reads, as whole lines, and what comes next in the destination for writes.
    #[inline(always)]
    pub(crate) unsafe fn put_bytes<const W: usize>(&mut self, src: *const u8, bytes: usize) {
        for at in (0..bytes).step_by(LINE) {
            // SAFETY: the caller guarantees that the bytes are valid.
            let line = unsafe { Line::load(self.token, src.add(at)) };
            // SAFETY: as above.
            unsafe { self.put_line_of::<W>(&line, LINE.min(bytes - at)) };
        }
    }

    /// Writes the line that is known whole, and begins the next.
    ///
    /// # Safety
    /// Its bytes are valid for writes, but those that are skipped.
    #[inline(always)]
    unsafe fn put_line(&mut self) {
        // SAFETY: the caller guarantees that the line is valid.
        unsafe {
            if self.skip == 0 {
                self.line.stream(self.dst);
            } else {
                self.store_known();
            }
        }
        self.dst = self.dst.wrapping_add(LINE);
        (self.skip, self.full) = (0, 0);
    }

    /// Stores what is known of a line that is not only the writer's.
    ///
    /// # Safety
    /// As [`Writer::put_line`], for the bytes that are known.
    #[inline(always)]
    unsafe fn store_known(&self) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe {
            let known = self.line.join::<1>(&self.line, self.skip.max(1));
            if self.skip == 0 {
                self.line.store_first(self.dst, self.full);
            } else {
                known.store_first(self.dst.add(self.skip), self.full - self.skip);
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Safety
    /// As [`Writer::put_line`], for the bytes that are known.
    #[inline(always)]
    pub(crate) unsafe fn end(&self) {
        // SAFETY: as above.
        unsafe { self.store_known() };
    }
}
