//! Rows with an element repeated before, between and behind them: a padded tensor.
//!
//! A line of the destination that holds the end of a row, what is filled in and the start of the next row is put
//! together in registers, so that every line is written once and whole. Of short rows, which end in every other line,
//! several are put together in the first-level cache.

use std::mem::MaybeUninit;

use super::bytes_ahead;
use crate::parts::line::Line;
use crate::parts::lines::Lines;
use crate::parts::scratch::{OUT_BYTES, Scratch, scratch};
use crate::parts::writer::Writer;
use crate::pattern::Pattern;
use crate::simd::{L1, L2, LINE, Token, Vector};
use crate::tile::{AffineLoop, Store};
use crate::tuning::{Level, Tuning};

pub(crate) use super::tile;

/// Shorter rows are put together in the cache (measured; docs/kernels.md).
const LEAST_DIRECT_BYTES: usize = 192;

/// About how many bytes are put together before they are written: while some are, others are read (measured;
/// docs/kernels.md).
const TOGETHER_BYTES: usize = 512;

const _: () = assert!(TOGETHER_BYTES + LEAST_DIRECT_BYTES <= OUT_BYTES);

/// The widest element that is filled in.
pub const MOST_FILLED_BYTES: usize = 16;

/// An element, so often that lines of any number of them begin at its start.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Filling {
    bytes: [MaybeUninit<u8>; MOST_FILLED_BYTES * LINE],
    width: usize,
}

impl Filling {
    /// The element of `width` bytes at `element`.
    ///
    /// # Safety
    /// It is valid for reads.
    ///
    /// # Panics
    /// If it is wider than [`MOST_FILLED_BYTES`], or has no bytes.
    pub unsafe fn of(element: *const u8, width: usize) -> Filling {
        assert!((1..=MOST_FILLED_BYTES).contains(&width), "elements of {width} bytes");
        let mut bytes = [MaybeUninit::uninit(); MOST_FILLED_BYTES * LINE];
        for place in bytes[..width * LINE].chunks_exact_mut(width) {
            // SAFETY: the caller vouches for the element, and the place is as wide.
            unsafe { std::ptr::copy_nonoverlapping(element, place.as_mut_ptr().cast(), width) };
        }
        Filling { bytes, width }
    }

    /// The size of the element.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// A line of it that begins within an element: so many bytes behind its start.
    pub(super) fn from(&self, phase: usize) -> *const u8 {
        debug_assert!(phase < self.width);
        // With elements of one byte there is a line, with wider ones a line and more.
        self.bytes.as_ptr().cast::<u8>().wrapping_add(phase)
    }

    /// How far within an element a place is that is `step` bytes, less than an element, behind one that is so far.
    #[inline(always)]
    pub(super) fn after(&self, phase: usize, step: usize) -> usize {
        let next = phase + step;
        if next < self.width { next } else { next - self.width }
    }

    /// After so many bytes, which are whole lines, it begins anew.
    fn period(&self) -> usize {
        self.width * LINE
    }

    /// Stores so many bytes of it, and up to a line more.
    ///
    /// # Safety
    /// They are valid for writes.
    #[inline(always)]
    unsafe fn store<V: Vector>(&self, token: Token<V>, to: *mut u8, bytes: usize) {
        let (from, period) = (self.bytes.as_ptr().cast::<u8>(), self.period());
        for begin in (0..bytes).step_by(period) {
            for at in (begin..bytes.min(begin + period)).step_by(V::BYTES) {
                // SAFETY: vectors divide the period; the caller vouches for the destination.
                unsafe { V::load(token, from.add(at - begin)).store(to.add(at)) };
            }
        }
    }
}

/// Rows that are runs of bytes, and an element around them.
#[derive(Clone, Copy)]
pub struct FilledTile<'a> {
    /// Where the first row is read.
    pub src: *const u8,
    /// Where the first byte is written: of what is filled in before the first row.
    pub dst: *mut u8,
    /// The bytes that are filled in before the first row.
    pub before: usize,
    /// The loop around the rows, of one step or more. Between its steps in the destination is what is filled in.
    pub slabs: AffineLoop,
    /// The rows, one or more. Between them is what is filled in.
    pub rows: AffineLoop,
    /// The bytes of a row.
    pub run: usize,
    /// The bytes that are filled in behind the last row.
    pub behind: usize,
    /// What is filled in.
    pub filling: &'a Filling,
    /// What is best on this machine.
    pub tuning: Tuning,
}

impl FilledTile<'_> {
    /// The bytes that are filled in behind a row, and behind the last row of a slab.
    fn between(&self) -> [usize; 2] {
        let FilledTile { slabs, rows, run, .. } = *self;
        let behind = |each: AffineLoop, bytes: usize| match each.len {
            1 => 0,
            _ => each.dst_stride.unsigned_abs().wrapping_sub(bytes),
        };
        let behind_row = behind(rows, run);
        let slab = (rows.len - 1) * (run + behind_row) + run;
        [behind_row, behind(slabs, slab)]
    }

    /// All rows, in the order of the destination.
    #[inline(always)]
    fn all_rows(&self) -> Rows<'_> {
        Rows { tile: self, between: self.between(), slab: 0, row: 0 }
    }
}

/// Where the rows of a tile are read, with the bytes that are filled in behind each. No closure is called for each: what
/// is in one is compiled without the instructions of the kernel.
struct Rows<'a> {
    tile: &'a FilledTile<'a>,
    between: [usize; 2],
    slab: usize,
    row: usize,
}

impl Iterator for Rows<'_> {
    type Item = (*const u8, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(*const u8, usize)> {
        let FilledTile { src, slabs, rows, behind, .. } = *self.tile;
        let (slab, row) = (self.slab, self.row);
        if slab == slabs.len {
            return None;
        }
        let src = src
            .wrapping_offset(slab.cast_signed() * slabs.src_stride)
            .wrapping_offset(row.cast_signed() * rows.src_stride);
        self.row += 1;
        if self.row < rows.len {
            return Some((src, self.between[0]));
        }
        (self.slab, self.row) = (slab + 1, 0);
        Some((src, if self.slab == slabs.len { behind } else { self.between[1] }))
    }
}

/// Its roles are those of filled rows alone.
pub(crate) fn applies(_: &Pattern, _: usize) -> bool {
    true
}

/// Copies the rows, and fills in around them.
///
/// # Safety
/// As [`Call::FilledTile`](crate::Call::FilledTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &FilledTile<'_>) {
    if tile.run < LEAST_DIRECT_BYTES {
        // SAFETY: the contract is the same, and this thread moves one tile at a time.
        if let Some(mut scratch) = unsafe { scratch() } {
            // SAFETY: as above.
            return unsafe { put_together(token, tile, &mut scratch) };
        }
    }
    let [behind_row, behind_slab] = tile.between();
    let bytes = tile.before | tile.run | tile.behind | behind_row | behind_slab;
    let unaligned = tile.dst.addr() | bytes;
    // SAFETY: the contract is the same; all places in the destination are multiples of W.
    unsafe {
        by_grain_and_level!(unaligned, tile.tuning.rolled_level, stream_rows::<V>(token, tile));
    }
}

/// Streams the rows and what is around them as one run.
///
/// # Safety
/// As [`run`]; everything begins and ends at multiples of W in the destination.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &FilledTile<'_>,
) {
    let ahead = bytes_ahead(tile.rows.src_stride, &tile.tuning);
    // SAFETY: a row is `run` bytes of the source; all bytes from `dst` on to the end of what is behind the last row
    // are the tile's.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        fill::<V, W>(token, &mut writer, tile.filling, tile.before);
        for (src, behind) in tile.all_rows() {
            writer.put_run::<W, LEVEL>(src, tile.run, ahead);
            fill::<V, W>(token, &mut writer, tile.filling, behind);
        }
        writer.end();
    }
}

/// Fills in so many bytes, which are whole elements.
///
/// # Safety
/// As [`Writer::put_run`].
#[inline(always)]
unsafe fn fill<V: Vector, const W: usize>(
    token: Token<V>,
    writer: &mut Writer<V>,
    filling: &Filling,
    mut bytes: usize,
) {
    let from: *const u8 = filling.bytes.as_ptr().cast();
    // SAFETY: a line at least of the filling is written, and all of its period.
    unsafe {
        while bytes > LINE {
            let now = bytes.min(filling.period());
            writer.put_run::<W, L1>(from, now, 0);
            bytes -= now;
        }
        if bytes > 0 {
            writer.put_line_of::<W>(&Line::load(token, from), bytes);
        }
    }
}

/// Puts several rows and what is between them together in the first-level cache, which they leave in whole lines.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn put_together<V: Vector>(
    token: Token<V>,
    tile: &FilledTile<'_>,
    scratch: &mut Scratch<'_>,
) {
    let FilledTile { run, filling, .. } = *tile;
    let ahead = bytes_ahead(tile.rows.src_stride, &tile.tuning);
    let mut lines = Lines::new(tile.dst, Store::Streaming, scratch.out);
    // SAFETY: a row is `run` bytes of the source, a line or more; there is room for what is made at once, a row and a
    // line more, which what comes next is made over.
    unsafe {
        put_filling(token, &mut lines, filling, tile.before);
        let mut made = 0;
        for (src, behind) in tile.all_rows() {
            let to = lines.room().add(made);
            for at in (0..run - V::BYTES).step_by(V::BYTES) {
                V::load(token, src.add(at)).store(to.add(at));
            }
            let last = run - V::BYTES;
            V::load(token, src.add(last)).store(to.add(last));
            made += run;
            if behind <= LINE {
                filling.store(token, to.add(run), behind);
                made += behind;
            }
            if made >= TOGETHER_BYTES || behind > LINE {
                lines.put(token, made, src.wrapping_offset(ahead));
                made = 0;
            }
            if behind > LINE {
                put_filling(token, &mut lines, filling, behind);
            }
        }
        lines.put(token, made, tile.src);
        lines.end();
    }
}

/// Fills in so many bytes, which are whole elements.
///
/// # Safety
/// They come next in the destination.
#[inline(always)]
unsafe fn put_filling<V: Vector>(
    token: Token<V>,
    lines: &mut Lines,
    filling: &Filling,
    mut bytes: usize,
) {
    let from: *const u8 = filling.bytes.as_ptr().cast();
    while bytes > 0 {
        let now = bytes.min(filling.period());
        // SAFETY: the filling has so many bytes, and the room has; they come next.
        unsafe {
            filling.store(token, lines.room(), now);
            lines.put(token, now, from);
        }
        bytes -= now;
    }
}
