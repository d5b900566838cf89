//! Lanes in rows shorter than a line, contiguous on both sides.
//!
//! A part of the rows is assembled in the first-level cache and written in whole lines, across the slabs of an
//! outer loop. First all rows are copied as the lanes keep them. Reversed elements are then moved one by one. Small
//! elements are instead shifted as in [`barrel_shift`](super::barrel_shift), with lines of many rows: a shift by
//! rows is a shift by as many times the bytes of a row, and the masks of a line follow from the masks of the line
//! before.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::ragged::LaneTile;
use super::reversed_run::{Reversed, Runs, bits_of};
use super::strided_lanes;
use crate::elements::copy::{self, by_width};
use crate::parts::lines::Lines;
use crate::parts::scratch::{Lane, MOST_BITS, OUT_BYTES, Scratch, scratch};
use crate::pattern::{Pattern, Space};
use crate::rows::runs;
use crate::simd::{LINE, Token, Vector};
use crate::tile::{AffineLoop, Tile};

/// How far ahead of reversed elements the source is prefetched, in bytes (measured; docs/kernels.md).
const AHEAD: usize = 4 << 10;

/// The largest elements that are shifted rather than moved one by one (measured; docs/kernels.md).
const MOST_SHIFTED_BYTES: usize = 2;

/// The approximate size of a tile with all its slabs: large enough that it has few lines at its ends.
pub const SLABS_BYTES: usize = 64 << 10;

/// Applies to contiguous rows shorter than a line on both sides, in either order.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let row_bytes = pattern.lens.1 * pattern.width;
    runs::applies(pattern, vector_bytes)
        && row_bytes < LINE
        && pattern.row_strides.0.unsigned_abs() == row_bytes
        && pattern.row_strides.1 == row_bytes.cast_signed()
}

/// Cuts tiles of whole slabs, or of rows of one.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (rows, cols)) = (space.pattern.width, space.pattern.lens);
    let most = SLABS_BYTES / (cols * width);
    (if space.pattern.wrapped.0 > rows { most / rows * rows } else { most }, cols)
}

/// Copies lanes in rows shorter than a line.
///
/// # Safety
/// As [`KernelFn::LaneTile`](crate::KernelFn::LaneTile). The lanes are neighbours on both sides and fill rows shorter
/// than a line, and the rows are contiguous.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &LaneTile<'_>) {
    let Tile { dst, rows, cols, width, store, .. } = tile.tile;
    let row_bytes = cols.len * width;
    let runs = Runs::of(tile.ragged).filter(|runs| runs.kept.src_stride == row_bytes.cast_signed());
    // SAFETY: this thread moves one tile at a time.
    let (Some(runs), Some(mut scratch)) = (runs, unsafe { scratch() }) else {
        for slab in 0..tile.slabs.len {
            // SAFETY: the caller upholds `# Safety`: all elements are valid.
            unsafe { strided_lanes::run(&tile.slab(slab)) };
        }
        return;
    };
    let (rows_at_once, row_end) = (OUT_BYTES / row_bytes, tile.row_begin + rows.len);
    let dst = dst.wrapping_add(tile.row_begin * row_bytes);
    let mut lines = Lines::new(dst, store, scratch.out);
    for slab in 0..tile.slabs.len {
        let slab = &tile.slab(slab);
        for row in (tile.row_begin..row_end).step_by(rows_at_once) {
            let rows = row..row_end.min(row + rows_at_once);
            let part = SlabRows { slab, runs, rows, row_bytes };
            // SAFETY: the part is one of the tile; the room fits its rows, which come next in the destination.
            unsafe {
                part.make(token, lines.room(), &mut scratch);
                let ahead = part.kept_src(part.rows.end).wrapping_add(AHEAD);
                lines.put(token, part.bytes(), ahead);
            }
        }
    }
    // SAFETY: the remaining bytes belong to the destination.
    unsafe { lines.end() };
}

struct SlabRows<'a> {
    slab: &'a LaneTile<'a>,
    runs: Runs<'a>,
    rows: Range<usize>,
    row_bytes: usize,
}

impl SlabRows<'_> {
    fn bytes(&self) -> usize {
        self.rows.len() * self.row_bytes
    }

    fn kept_src(&self, row: usize) -> *const u8 {
        let row = row.wrapping_mul(self.row_bytes).cast_signed();
        let Tile { src, .. } = self.slab.tile;
        src.wrapping_offset(self.runs.kept.src_offset.wrapping_add(row))
    }

    fn reversed_src(&self, index: isize) -> *const u8 {
        self.slab.tile.src.wrapping_offset(index.wrapping_mul(self.runs.reversed.src_stride))
    }

    /// Makes the rows at `to`.
    ///
    /// # Safety
    /// As [`run`], for a part of its tile; there is room for the rows and one more line.
    #[inline(always)]
    unsafe fn make<V: Vector>(&self, token: Token<V>, to: *mut u8, scratch: &mut Scratch<'_>) {
        let AffineLoop { len: count, .. } = self.slab.tile.cols;
        let lanes = &mut *scratch.lanes;
        let reversed = Reversed::find(self.slab, &self.runs, &self.rows, 0..count, lanes);
        let width = self.slab.tile.width;
        let shifted = width <= MOST_SHIFTED_BYTES && V::BYTES == LINE;
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe {
            match reversed {
                None => self.keep(self.rows.clone(), to),
                Some(reversed) if shifted && reversed.spread() < self.rows.len() => {
                    self.shift(token, &reversed, to, scratch);
                }
                Some(reversed) => {
                    let lanes = &scratch.lanes[..count];
                    self.keep(reversed.kept, to);
                    by_width!(
                        width,
                        W => self.reverse::<W>(lanes, to),
                        self.reverse::<0>(lanes, to)
                    );
                }
            }
        }
    }

    /// Copies rows as lanes keep them.
    ///
    /// # Safety
    /// A lane keeps the first and the last of the rows, and the part is made at `to`.
    unsafe fn keep(&self, rows: Range<usize>, to: *mut u8) {
        let to = to.wrapping_add((rows.start - self.rows.start) * self.row_bytes);
        // SAFETY: rows between those that are read are valid too.
        unsafe {
            self.kept_src(rows.start).copy_to_nonoverlapping(to, rows.len() * self.row_bytes);
        }
    }

    /// Moves reversed elements of W bytes, or of any width if W is 0.
    ///
    /// # Safety
    /// As [`SlabRows::make`]; `lanes` are the lanes of the part.
    #[inline(always)]
    unsafe fn reverse<const W: usize>(&self, lanes: &[Lane], to: *mut u8) {
        const AT_ONCE: usize = 8;
        let (width, step) = (self.slab.tile.width, self.row_bytes.cast_signed());
        for (index, lane) in lanes.iter().enumerate() {
            let count = lane.end - lane.begin;
            let src = self.reversed_src(lane.begin.cast_signed() + lane.start);
            let src = src.wrapping_add(index * width);
            let dst = (lane.begin - self.rows.start) * self.row_bytes + index * width;
            let dst = to.wrapping_add(dst);
            let reverse_row = |row: usize| {
                let row = row.cast_signed() * step;
                let (src, dst) = (src.wrapping_offset(-row), dst.wrapping_offset(row));
                // SAFETY: the lane reads this row.
                unsafe {
                    match W {
                        0 => src.copy_to_nonoverlapping(dst, width),
                        _ => copy::copy::<W>(src, dst),
                    }
                }
            };
            if count < AT_ONCE {
                (0..count).for_each(reverse_row);
                continue;
            }
            // The last few rows may be moved twice: this mispredicts only one loop end.
            for begin in (0..count - AT_ONCE).step_by(AT_ONCE) {
                (begin..begin + AT_ONCE).for_each(reverse_row);
            }
            (count - AT_ONCE..count).for_each(reverse_row);
        }
    }

    /// Makes the rows in lines.
    ///
    /// # Safety
    /// As [`SlabRows::make`]; `reversed` belongs to the part, its lanes are in the scratch, and its shifts are below
    /// the number of rows.
    #[inline(always)]
    unsafe fn shift<V: Vector>(
        &self,
        token: Token<V>,
        reversed: &Reversed,
        to: *mut u8,
        scratch: &mut Scratch<'_>,
    ) {
        let pairs = bits_of(reversed.spread()).div_ceil(2).max(1);
        let bits = self.find_masks(reversed, scratch);
        let readable = self.readable(reversed);
        let packed = scratch.copies;
        let every = Every::row_of(self.row_bytes);
        // SAFETY: the packed rows reach as far as the shifts, which is less than 4 times the size of the part, and
        // the scratch is larger.
        unsafe {
            let packed_rows = self.pack(reversed, packed);
            for pair in (1..pairs).rev() {
                let rows = packed_rows.min(self.rows.len() + (1 << (2 * pair)) - 1);
                let step = self.row_bytes << (2 * pair);
                let mut masks = [bits[2 * pair], bits[2 * pair + 1]].map(|bits| every.first(bits));
                for line in (0..rows * self.row_bytes).step_by(LINE) {
                    for at in (0..LINE).step_by(V::BYTES) {
                        let from = packed.add(line + at);
                        shift_twice(token, from, step, masks, at).store(from);
                    }
                    masks = masks.map(|mask| every.next(mask));
                }
            }
            self.write(token, every, [bits[0], bits[1]], &readable, to, scratch);
        }
    }

    /// Returns, for each bit, the bytes of a row in lanes whose shift has the bit. Records where lanes start or
    /// stop being reversed.
    #[inline(always)]
    fn find_masks(&self, reversed: &Reversed, scratch: &mut Scratch<'_>) -> [u64; MOST_BITS + 2] {
        let mut masks = [0u64; MOST_BITS + 2];
        let Scratch { lanes, sub_line_changes: changes, .. } = scratch;
        let width = self.slab.tile.width;
        for (index, lane) in lanes[..self.slab.tile.cols.len].iter().enumerate() {
            let at = index * width;
            let bytes = (1 << width) - 1;
            let change = if self.runs.reversed_first { lane.end } else { lane.begin };
            let change = (change - self.rows.start) * self.row_bytes + at;
            // Shifted elements divide a line, so none crosses the end of a line.
            changes[change / LINE] |= bytes << (change % LINE);
            if lane.begin < lane.end {
                let shift = (lane.start - reversed.least).unsigned_abs() as u64;
                for (bit, mask) in masks.iter_mut().enumerate() {
                    *mask |= (bytes << at) & 0u64.wrapping_sub(shift >> bit & 1);
                }
            }
        }
        masks
    }

    /// Packs the rows that reversed lanes read, in the opposite order. Returns the number of rows up to the last
    /// one.
    ///
    /// # Safety
    /// As [`SlabRows::shift`].
    #[inline(always)]
    unsafe fn pack(&self, reversed: &Reversed, packed: *mut u8) -> usize {
        let base = self.rows.start.cast_signed() + reversed.least;
        let begin = base.max(reversed.first);
        let count = (reversed.last + 1 - begin).unsigned_abs();
        let src = self.reversed_src(begin);
        let to = packed.wrapping_add((begin - base).unsigned_abs() * self.row_bytes);
        // SAFETY: lanes read these rows, or rows on both sides of them.
        unsafe {
            match self.row_bytes {
                ..=16 => pack_rows::<16>(src, to, count, self.row_bytes),
                17..=32 => pack_rows::<32>(src, to, count, self.row_bytes),
                _ => pack_rows::<LINE>(src, to, count, self.row_bytes),
            }
        }
        (reversed.last + 1 - base).unsigned_abs()
    }

    /// Runs the last pass: from the packed rows to the final rows, together with the kept elements.
    ///
    /// # Safety
    /// As [`SlabRows::shift`].
    #[inline(always)]
    unsafe fn write<V: Vector>(
        &self,
        token: Token<V>,
        every: Every,
        bits: [u64; 2],
        readable: &Range<isize>,
        to: *mut u8,
        scratch: &mut Scratch<'_>,
    ) {
        let src = self.kept_src(self.rows.start);
        let mut masks = bits.map(|bits| every.first(bits));
        let mut after = 0;
        let flip = if self.runs.reversed_first { 0 } else { u64::MAX };
        let whole = readable.start..readable.end - V::BYTES.cast_signed() + 1;
        let Scratch { copies: packed, sub_line_changes: changes, .. } = scratch;
        let lines = self.bytes().div_ceil(LINE);
        // Lanes that never stop being reversed have their change beyond the last line.
        changes[lines..lines + 2].fill(0);
        for (line, change) in changes[..lines].iter_mut().enumerate() {
            let line = line * LINE;
            after = every.on(after, std::mem::take(change));
            let kept = after ^ flip;
            for at in (0..LINE).step_by(V::BYTES) {
                let byte = line + at;
                // SAFETY: the packed rows reach as far as the shifts of the part's rows plus a line. There is room
                // for a line more than the part. Loads of the source stay within `readable`.
                unsafe {
                    let reversed = shift_twice(token, packed.add(byte), self.row_bytes, masks, at);
                    let own = if whole.contains(&byte.cast_signed()) {
                        V::load(token, src.add(byte))
                    } else {
                        V::load(token, load_within(src, byte, readable).as_ptr().cast())
                    };
                    V::select(V::mask(token, kept >> at), own, reversed).store(to.add(byte));
                }
            }
            masks = masks.map(|mask| every.next(mask));
        }
    }

    /// Returns the readable range of the source, from the part's first kept row.
    fn readable(&self, reversed: &Reversed) -> Range<isize> {
        let kept = &reversed.kept;
        let from = self.kept_src(self.rows.start).addr();
        let [kept_begin, kept_end, reversed_begin, reversed_end] = [
            self.kept_src(kept.start),
            self.kept_src(kept.end),
            self.reversed_src(reversed.last),
            self.reversed_src(reversed.first - 1),
        ]
        .map(|src| src.addr().wrapping_sub(from).cast_signed());
        if kept.is_empty() {
            reversed_begin..reversed_end
        } else {
            kept_begin.min(reversed_begin)..kept_end.max(reversed_end)
        }
    }
}

/// A pattern of row bytes that repeats every row, in blocks of 64 bytes.
#[derive(Clone, Copy)]
struct Every {
    row_bytes: usize,
    /// The first byte of each row.
    rows: u64,
}

impl Every {
    fn row_of(row_bytes: usize) -> Every {
        let rows = (0..LINE).step_by(row_bytes).fold(0, |all, row| all | 1 << row);
        Every { row_bytes, rows }
    }

    /// Returns the first block for the bytes of a row.
    #[inline(always)]
    fn first(self, row: u64) -> u64 {
        row.wrapping_mul(self.rows)
    }

    /// Returns the block after `bytes`.
    #[inline(always)]
    fn next(self, bytes: u64) -> u64 {
        self.on(bytes, 0)
    }

    /// Returns the block after `bytes`. The bits of `more`, no two of the same lane, are set from there on too.
    #[inline(always)]
    fn on(self, bytes: u64, more: u64) -> u64 {
        (bytes >> (LINE - self.row_bytes) | more).wrapping_mul(self.rows)
    }
}

/// Loads a vector at `from`. The bytes of the first mask come from `step` bytes further on, the bytes of the
/// second mask from twice as far.
///
/// # Safety
/// Vectors up to 3 steps on are valid for reads.
#[inline(always)]
unsafe fn shift_twice<V: Vector>(
    token: Token<V>,
    from: *const u8,
    step: usize,
    masks: [u64; 2],
    at: usize,
) -> V {
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        let [once, twice] = [V::mask(token, masks[0] >> at), V::mask(token, masks[1] >> at)];
        let near = V::select(once, V::load(token, from.add(step)), V::load(token, from));
        let far =
            V::select(once, V::load(token, from.add(3 * step)), V::load(token, from.add(2 * step)));
        V::select(twice, far, near)
    }
}

/// Loads the bytes of `src` from byte `at` on that `readable` contains, at most a line.
///
/// # Safety
/// The bytes of `readable` are valid for reads.
#[inline(never)]
unsafe fn load_within(
    src: *const u8,
    at: usize,
    readable: &Range<isize>,
) -> [MaybeUninit<u8>; LINE] {
    let mut line = [MaybeUninit::zeroed(); LINE];
    let begin = at.cast_signed();
    let [first, end] = [readable.start, readable.end]
        .map(|byte| byte.saturating_sub(begin).clamp(0, LINE.cast_signed()).unsigned_abs());
    if first < end {
        let to = &mut line[first..end];
        // SAFETY: these bytes are readable; some may be padding.
        unsafe {
            let from = src.wrapping_add(at + first).cast();
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
        }
    }
    line
}

/// Packs rows shorter than N bytes. Each row is read from before the previous one.
///
/// # Safety
/// The rows are valid for reads, and there is room for them and N more bytes.
#[inline(always)]
unsafe fn pack_rows<const N: usize>(src: *const u8, to: *mut u8, count: usize, row_bytes: usize) {
    // A read of N bytes ends in earlier rows, except for the first few rows.
    let first = (N - row_bytes).div_ceil(row_bytes).min(count);
    let (mut src, mut to) = (src, to);
    for _ in 0..first {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { src.copy_to_nonoverlapping(to, row_bytes) };
        (src, to) = (src.wrapping_sub(row_bytes), to.wrapping_add(row_bytes));
    }
    for _ in first..count {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { copy::copy::<N>(src, to) };
        (src, to) = (src.wrapping_sub(row_bytes), to.wrapping_add(row_bytes));
    }
}
