//! Moves lanes in contiguous rows that are shorter than a cache line.
//!
//! Rows are assembled in the first-level cache and written as whole lines, which continue from one slab to the next.
//! First, all rows are copied as if the lanes kept them. Then the reversed elements are moved one at a time.
//!
//! Small elements are instead shifted as in [`barrel_shift`](super::barrel_shift), with several rows in a line: a shift
//! by rows is a shift by a multiple of the row size, and the masks of a line follow from the previous ones.

use core::mem::MaybeUninit;
use core::ops::Range;

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

/// Prefetch distance for the source, in bytes (measured; docs/notes/kernels.md).
const AHEAD: usize = 4 << 10;

/// Larger elements are moved one at a time instead of shifted (measured; docs/notes/kernels.md).
const MOST_SHIFTED_BYTES: usize = 2;

/// The approximate size of a tile with all its slabs, in bytes: large enough that its incomplete lines take little
/// time.
pub const SLABS_BYTES: usize = 64 << 10;

/// Applies to contiguous rows shorter than a line, in either order.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let row_bytes = pattern.lens.1 * pattern.width;
    runs::applies(pattern, vector_bytes)
        && row_bytes < LINE
        && pattern.row_strides.0.unsigned_abs() == row_bytes
        && pattern.row_strides.1 == row_bytes.cast_signed()
}

/// A tile has several whole slabs, or rows of one.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (rows, cols)) = (space.pattern.width, space.pattern.lens);
    let most = SLABS_BYTES / (cols * width);
    (if space.pattern.wrapped.0 > rows { most / rows * rows } else { most }, cols)
}

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
            // SAFETY: the part belongs to the tile. Its rows fit in the space, and come next in the destination.
            unsafe {
                part.make(token, lines.room(), &mut scratch);
                let ahead = part.kept_src(part.rows.end).wrapping_add(AHEAD);
                lines.put(token, part.bytes(), |at| ahead.wrapping_add(at));
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

    /// # Safety
    /// As [`run`], for a part of the tile. There is space for the rows and one more line.
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

    /// Copies rows as if all lanes kept them, for a part that is assembled at `to`.
    ///
    /// # Safety
    /// Lanes keep the first and the last row. There is space for the rows.
    unsafe fn keep(&self, rows: Range<usize>, to: *mut u8) {
        let to = to.wrapping_add((rows.start - self.rows.start) * self.row_bytes);
        // SAFETY: rows between two rows that lanes read are valid.
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
            // The last few rows may be moved twice, so that only one loop end per lane is mispredicted.
            for begin in (0..count - AT_ONCE).step_by(AT_ONCE) {
                (begin..begin + AT_ONCE).for_each(reverse_row);
            }
            (count - AT_ONCE..count).for_each(reverse_row);
        }
    }

    /// Assembles the rows by shifts of whole lines.
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
        // SAFETY: reads go beyond the part by at most the shifts, to less than 4 times the size of the part. The
        // scratch is larger.
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

    /// Returns for each bit the bytes of a row in lanes whose shift has it. Records where lanes begin or stop being
    /// reversed.
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
            // The size of an element divides a line, so no element crosses the end of a line.
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

    /// Packs the rows that reversed lanes read, in the opposite order. Returns their number, counted from the first row
    /// of a lane without a shift.
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
        // SAFETY: lanes read these rows, or rows before and after them.
        unsafe {
            match self.row_bytes {
                ..=16 => pack_rows::<16>(src, to, count, self.row_bytes),
                17..=32 => pack_rows::<32>(src, to, count, self.row_bytes),
                _ => pack_rows::<LINE>(src, to, count, self.row_bytes),
            }
        }
        (reversed.last + 1 - base).unsigned_abs()
    }

    /// The last pass: shifts the packed rows, adds the kept elements, and writes the rows to `to`.
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
        // A lane that is reversed up to the last row has its change after the last line.
        changes[lines..lines + 2].fill(0);
        for (line, change) in changes[..lines].iter_mut().enumerate() {
            let line = line * LINE;
            after = every.on(after, core::mem::take(change));
            let kept = after ^ flip;
            for at in (0..LINE).step_by(V::BYTES) {
                let byte = line + at;
                // SAFETY: the scratch contains the packed rows that the shifts read, and a line more. There is
                // space for the part and a line more at `to`. Loads of the source stay within `readable`.
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

    /// Returns the valid source bytes, counted from the part's first kept row.
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

/// Masks of bytes that repeat in every row, with a bit for each byte of a line.
#[derive(Clone, Copy)]
struct Every {
    row_bytes: usize,
    /// The first byte of each row in the first line.
    rows: u64,
}

impl Every {
    fn row_of(row_bytes: usize) -> Every {
        let rows = (0..LINE).step_by(row_bytes).fold(0, |all, row| all | 1 << row);
        Every { row_bytes, rows }
    }

    /// Returns the first line's mask for the bytes `row` of a row.
    #[inline(always)]
    fn first(self, row: u64) -> u64 {
        row.wrapping_mul(self.rows)
    }

    /// Returns the mask of the line after `bytes`.
    #[inline(always)]
    fn next(self, bytes: u64) -> u64 {
        self.on(bytes, 0)
    }

    /// Returns the mask of the line after `bytes`. The bits of `more`, no two in the same lane, are also set from there
    /// on.
    #[inline(always)]
    fn on(self, bytes: u64, more: u64) -> u64 {
        (bytes >> (LINE - self.row_bytes) | more).wrapping_mul(self.rows)
    }
}

/// Loads a vector at `from`. Bytes in the first mask come from `step` bytes higher, bytes in the second mask from twice
/// as far, bytes in both from the sum.
///
/// # Safety
/// Vectors at `from` plus 0 to 3 times `step` bytes are valid for reads.
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

/// Loads a line from byte `at` of `src`. Bytes outside `readable` are zero.
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
        // SAFETY: these bytes are valid for reads. Some may be padding.
        unsafe {
            let from = src.wrapping_add(at + first).cast();
            core::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
        }
    }
    line
}

/// Copies rows of at most N bytes in reverse order, from the last one at `src`.
///
/// # Safety
/// The rows are valid for reads, and there is space for them and N more bytes.
#[inline(always)]
unsafe fn pack_rows<const N: usize>(src: *const u8, to: *mut u8, count: usize, row_bytes: usize) {
    // A read of N bytes ends in rows that were copied before, except for the first few rows.
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
