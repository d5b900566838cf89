//! Copies rows and fills the space before, between and after them with an element, as padding does.
//!
//! A cache line of the destination can contain the end of a row, filling and the start of the next row. It is assembled
//! in registers, so that every line is written once and whole. Short rows end in about every second line, so several of
//! them are assembled in the first-level cache.

use core::mem::MaybeUninit;

use super::bytes_ahead;
use crate::parts::line::Line;
use crate::parts::lines::Lines;
use crate::parts::scratch::{OUT_BYTES, Scratch, scratch};
use crate::parts::writer::Writer;
use crate::simd::{L1, L2, LINE, Token, Vector};
use crate::tile::{AffineLoop, StoreKind};
use crate::tuning::{Level, Tuning};

pub(crate) use super::tile;
pub(crate) use crate::pattern::always as applies;

/// The minimum length of rows that are written directly. Shorter rows are assembled in the cache (measured;
/// docs/notes/kernels.md).
const LEAST_DIRECT_BYTES: usize = 192;

/// The approximate number of bytes that are assembled before they are written: few enough that reads and writes overlap
/// (measured; docs/notes/kernels.md).
const TOGETHER_BYTES: usize = 512;

const _: () = assert!(TOGETHER_BYTES + LEAST_DIRECT_BYTES <= OUT_BYTES);

/// The maximum size of a fill element in bytes.
pub const MOST_FILLED_BYTES: usize = 16;

/// A fill element, repeated so often that a line can be read from any position within the first copy.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Filling {
    bytes: [MaybeUninit<u8>; MOST_FILLED_BYTES * LINE],
    width: usize,
}

impl Filling {
    /// Makes a filling from the element of `width` bytes at `element`.
    ///
    /// # Safety
    /// The element is valid for reads.
    ///
    /// # Panics
    /// Panics if the element has more than [`MOST_FILLED_BYTES`] bytes, or none.
    pub unsafe fn of(element: *const u8, width: usize) -> Filling {
        assert!((1..=MOST_FILLED_BYTES).contains(&width), "elements of {width} bytes");
        let mut bytes = [MaybeUninit::uninit(); MOST_FILLED_BYTES * LINE];
        for copy in bytes[..width * LINE].chunks_exact_mut(width) {
            // SAFETY: the caller guarantees that the element is valid, and `copy` has its width.
            unsafe { core::ptr::copy_nonoverlapping(element, copy.as_mut_ptr().cast(), width) };
        }
        Filling { bytes, width }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns a line of filling that begins at byte `phase` of an element.
    pub(super) fn from(&self, phase: usize) -> *const u8 {
        debug_assert!(phase < self.width);
        // The copies of a one-byte element are exactly one line; the copies of wider elements are longer.
        self.bytes.as_ptr().cast::<u8>().wrapping_add(phase)
    }

    /// Returns the position within an element that is `step` bytes after `phase`. `step` is less than the width.
    #[inline(always)]
    pub(super) fn after(&self, phase: usize, step: usize) -> usize {
        let next = phase + step;
        if next < self.width { next } else { next - self.width }
    }

    /// Returns the number of bytes, a multiple of a line, after which the filling repeats.
    fn period(&self) -> usize {
        self.width * LINE
    }

    /// Writes `bytes` bytes of filling, rounded up to whole vectors.
    ///
    /// # Safety
    /// These bytes are valid for writes.
    #[inline(always)]
    unsafe fn store<V: Vector>(&self, token: Token<V>, to: *mut u8, bytes: usize) {
        let (from, period) = (self.bytes.as_ptr().cast::<u8>(), self.period());
        for begin in (0..bytes).step_by(period) {
            for at in (begin..bytes.min(begin + period)).step_by(V::BYTES) {
                // SAFETY: the period is a multiple of a vector. The caller guarantees that the destination is valid.
                unsafe { V::load(token, from.add(at - begin)).store(to.add(at)) };
            }
        }
    }
}

/// Rows of bytes, with filling around them.
#[derive(Clone, Copy)]
pub struct FilledTile<'a> {
    /// The source of the first row.
    pub src: *const u8,
    /// The destination of the first byte: the filling before the first row.
    pub dst: *mut u8,
    /// The number of filled bytes before the first row.
    pub before: usize,
    /// The loop over slabs of all `rows`, with at least one iteration. The gaps between slabs in the destination are
    /// filled.
    pub slabs: AffineLoop,
    /// The loop over rows, with at least one iteration. The gaps between rows in the destination are filled.
    pub rows: AffineLoop,
    /// The length of a row in bytes.
    pub run: usize,
    /// The number of filled bytes after the last row.
    pub behind: usize,
    /// The copies of the fill element.
    pub filling: &'a Filling,
    /// The tuning record.
    pub tuning: Tuning,
}

impl FilledTile<'_> {
    /// Returns the number of filled bytes between two rows of a slab, and between two slabs.
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

    #[inline(always)]
    fn all_rows(&self) -> Rows<'_> {
        Rows { tile: self, between: self.between(), slab: 0, row: 0 }
    }
}

/// Iterates over the sources of rows, with the number of filled bytes after each. Closures would be compiled without
/// the instructions of the kernel, so there are none.
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

/// # Safety
/// As [`KernelFn::FilledTile`](crate::KernelFn::FilledTile).
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &FilledTile<'_>) {
    if tile.run < LEAST_DIRECT_BYTES {
        // SAFETY: the caller upholds `# Safety`. This thread moves one tile at a time.
        if let Some(mut scratch) = unsafe { scratch() } {
            // SAFETY: the caller upholds `# Safety`, and only this call uses the scratch.
            return unsafe { put_together(token, tile, &mut scratch) };
        }
    }
    let [behind_row, behind_slab] = tile.between();
    let bytes = tile.before | tile.run | tile.behind | behind_row | behind_slab;
    let unaligned = tile.dst.addr() | bytes;
    // SAFETY: the caller upholds `# Safety`. All positions in the destination are multiples of W.
    unsafe {
        by_grain_and_level!(unaligned, tile.tuning.rolled_level, stream_rows::<V>(token, tile));
    }
}

/// Writes the rows and the filling as one run, by streaming stores.
///
/// # Safety
/// As [`run`]. All rows and gaps begin and end at multiples of W in the destination.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &FilledTile<'_>,
) {
    let ahead = bytes_ahead(tile.rows.src_stride, &tile.tuning);
    // SAFETY: a row is `run` bytes of the source; all bytes from `dst` to the end of the last filling belong to the
    // tile.
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

/// Writes `bytes` bytes of filling, which are whole elements.
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
    // SAFETY: a filling has at least a line, and all bytes of its period are initialized.
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

/// Assembles several rows and the filling between them in the first-level cache, and writes them as whole lines.
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
    let mut lines = Lines::new(tile.dst, StoreKind::Streaming, scratch.out);
    // SAFETY: a row is `run` bytes of the source. There is space for the bytes that are assembled at once, a row and
    // one more line. The next bytes overwrite this line.
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
                lines.put(token, made, |at| src.wrapping_offset(ahead).wrapping_add(at));
                made = 0;
            }
            if behind > LINE {
                put_filling(token, &mut lines, filling, behind);
            }
        }
        lines.put(token, made, |at| tile.src.wrapping_add(at));
        lines.end();
    }
}

/// Writes `bytes` bytes of filling, which are whole elements.
///
/// # Safety
/// The next `bytes` bytes of the destination are valid for writes.
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
        // SAFETY: the filling and the space have so many bytes, which come next in the destination.
        unsafe {
            filling.store(token, lines.room(), now);
            lines.put(token, now, |at| from.wrapping_add(at));
        }
        bytes -= now;
    }
}
