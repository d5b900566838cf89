//! Assembles bytes in registers and writes them in order, as whole cache lines.

use super::line::Line;
use crate::simd::{LINE, Token, Vector};

pub(crate) struct Writer<V> {
    token: Token<V>,
    line: Line<V>,
    /// The destination, aligned to a line.
    dst: *mut u8,
    /// The number of bytes at the start of the first line that must not be written.
    skip: usize,
    /// The number of assembled bytes, including the skipped ones.
    full: usize,
}

impl<V: Vector> Writer<V> {
    #[inline(always)]
    pub(crate) fn at(token: Token<V>, dst: *mut u8) -> Self {
        const NOTHING: [u8; LINE] = [0; LINE];
        let skip = dst.addr() % LINE;
        // SAFETY: `NOTHING` is a line.
        let line = unsafe { Line::load(token, NOTHING.as_ptr()) };
        Writer { token, line, dst: dst.wrapping_sub(skip), skip, full: skip }
    }

    /// Writes the first `bytes` bytes of `line`, a multiple of W.
    ///
    /// # Safety
    /// The next `bytes` bytes of the destination are valid for writes.
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

    /// Writes `bytes` bytes from `src`, a multiple of W, and prefetches `ahead` bytes further on.
    ///
    /// # Safety
    /// The bytes are valid for reads, and the next bytes of the destination for writes.
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
            // Long runs can be read in whole lines at both ends.
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

    /// Writes `bytes` bytes from `src`, a multiple of W.
    ///
    /// # Safety
    /// `bytes`, rounded up to whole lines, are valid for reads, and the next bytes of the destination for writes.
    #[inline(always)]
    pub(crate) unsafe fn put_bytes<const W: usize>(&mut self, src: *const u8, bytes: usize) {
        for at in (0..bytes).step_by(LINE) {
            // SAFETY: the caller guarantees that the bytes are valid.
            let line = unsafe { Line::load(self.token, src.add(at)) };
            // SAFETY: the caller guarantees that the bytes are valid.
            unsafe { self.put_line_of::<W>(&line, LINE.min(bytes - at)) };
        }
    }

    /// # Safety
    /// The bytes of the line are valid for writes, except the skipped ones.
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

    /// # Safety
    /// As [`Writer::put_line`], for the assembled bytes.
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

    /// # Safety
    /// As [`Writer::put_line`], for the assembled bytes.
    #[inline(always)]
    pub(crate) unsafe fn end(&self) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { self.store_known() };
    }
}
