//! Lanes that are neighbours, each cut at a place of its own: whole lines of lanes are moved.
//!
//! In one of the two runs, the *kept* one, all lanes read the same row of the source. In the other,
//! the *turned* one, they read rows in the opposite order, each lane from a row of its own: beside
//! the lane that begins the furthest back, every lane is *shifted* by some number of rows. A shift
//! is done bit by bit, for all lanes of a line at once, as a barrel shifter does it:
//!
//! ```text
//! for each few lines of lanes
//!     pack the rows that turned lanes read, in the opposite order
//!     for each bit of the shifts, the highest first
//!         row r takes row r + 2^bit in the bytes of the lanes whose shift has the bit
//!     row r takes the kept row in the bytes of the lanes that are not turned there
//! ```
//!
//! A pass over the rows does three bits in registers; the last one writes. So a line costs a dozen
//! instructions for every three bits, however wide its elements are, where moving it element by
//! element takes a load and a store for each.

use super::group::Group;
use super::scratch::{
    MADE, MOST_BITS, MOST_LINES, OUT_BYTES, PACKED_LINES, PASS_BITS, READ, Scratch, Strip, pitch,
    scratch,
};
use super::turned::{Runs, Turned};
use super::{LaneTile, Tile, lanes};
use crate::simd::{LINE, Vector};

/// How many rows of an axis are moved at a time where its lanes need more bits.
const ROWS_OF_MANY: usize = 1 << (MOST_BITS - 1);

/// How many rows ahead of the one that is read the source is asked for (measured;
/// docs/kernels.md).
const PACKED_AHEAD: isize = 8;
const KEPT_AHEAD: isize = 4;

/// How many rows of the ragged axis, and how many bytes of neighbouring lanes, a tile should have,
/// of as many rows as there are.
pub fn best_tile(rows: usize) -> (usize, usize) {
    let rows = if rows <= 1 << MOST_BITS { rows } else { ROWS_OF_MANY };
    (rows, 4 * most_bytes(rows))
}

/// How many bytes of a row are moved at a time, of so many rows.
fn most_bytes(rows: usize) -> usize {
    LINE * (PACKED_LINES / pitch(rows)).min(MOST_LINES)
}

/// Copies lanes that are neighbours on both sides.
///
/// # Safety
/// As [`Call::Lanes`](super::Call::Lanes); the lanes are neighbours in the source and in the
/// destination.
#[inline(always)]
pub(super) unsafe fn shifted<V: Vector>(tile: &LaneTile<'_>) {
    // SAFETY: this thread moves one tile at a time.
    let (Some(runs), Some(mut scratch)) = (Runs::of(tile.ragged), unsafe { scratch() }) else {
        // SAFETY: the contract is the same.
        return unsafe { lanes::lanes(tile) };
    };
    let Tile { dst, rows, cols, width, .. } = tile.tile;
    let (row_end, bytes) = (tile.row_begin + rows.len, cols.len * width);
    let row_block = best_tile(rows.len).0;
    // Groups of about the same size meet where lines of the destination do.
    let most = most_bytes(row_block).saturating_sub(LINE).max(LINE);
    let byte_block = bytes.div_ceil(bytes.div_ceil(most)).next_multiple_of(LINE);
    let first_end = bytes.min(byte_block + dst.align_offset(LINE));
    for row in (tile.row_begin..row_end).step_by(row_block) {
        let (mut begin, mut end) = (0, first_end);
        while begin < end {
            let rows = row..row_end.min(row + row_block);
            let group = Group { tile, runs, rows, bytes: begin..end };
            // SAFETY: the group is a part of the tile; this thread does one group at a time, and
            // nobody else has its scratch.
            begin = unsafe { group.copy::<V>(&mut scratch) };
            end = bytes.min(begin + byte_block);
        }
    }
}

impl Group<'_> {
    /// Copies the group, or as many of its lines as fit the scratch; gives the byte up to which.
    ///
    /// # Safety
    /// As [`shifted`], for a group of its tile, of [`best_tile`] at most.
    #[inline(always)]
    unsafe fn copy<V: Vector>(mut self, scratch: &mut Scratch<'_>) -> usize {
        let turned = loop {
            let Some(turned) = self.find_turned(scratch.lanes) else {
                // SAFETY: every lane keeps all rows.
                unsafe { self.copy_kept::<V>(self.rows.clone()) };
                return self.bytes.end;
            };
            let fitting = PACKED_LINES / pitch(turned.packed_rows(self.rows.len()));
            if self.lines() <= fitting {
                break turned;
            }
            // Lanes of few rows that lie far apart in the source.
            self.bytes.end = self.bytes.start + fitting * LINE;
        };
        let bits = turned.bits(self.rows.len());
        self.find_shifts(&turned, bits, scratch);
        let packed_rows = turned.packed_rows(self.rows.len());
        let shift = Shift { group: &self, turned: &turned, packed_rows, bits };
        // SAFETY: no lane is turned outside the rows of `turned`.
        unsafe {
            self.copy_kept::<V>(self.rows.start..turned.rows.start);
            if turned.spread() >= 1 << bits || self.bytes.len() < LINE {
                shift.copy::<V, false>(scratch);
            } else {
                shift.copy::<V, true>(scratch);
            }
            self.copy_kept::<V>(turned.rows.end..self.rows.end);
        }
        self.bytes.end
    }
}

/// The passes over the turned rows of a group: from the highest bits of the shifts to the lowest,
/// which the last one does.
struct Shift<'a> {
    group: &'a Group<'a>,
    turned: &'a Turned,
    /// How many rows are packed of each line.
    packed_rows: usize,
    /// How many bits of the shifts are done by passes.
    bits: usize,
}

impl Shift<'_> {
    /// Moves the turned rows. `PLAIN` if every line is whole and every shift is done by passes.
    ///
    /// # Safety
    /// As [`Group::copy`]; the scratch has what [`Group::find_shifts`] finds.
    #[inline(always)]
    unsafe fn copy<V: Vector, const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        // SAFETY: the contract is the same; each pass reads what the one before it has made.
        unsafe {
            self.pack::<V, PLAIN>(scratch);
            for line in 0..self.group.lines() {
                for bit in (PASS_BITS..self.bits).step_by(PASS_BITS).rev() {
                    self.shift_packed::<V>(line, bit, scratch);
                }
            }
            self.write_out::<V, PLAIN>(scratch);
        }
    }

    /// Where row 0 of a line is packed.
    #[inline(always)]
    fn packed(&self, line: usize, scratch: &Scratch<'_>) -> *mut u8 {
        scratch.copies.wrapping_add(line * pitch(self.packed_rows) * LINE)
    }

    /// Where the turned row `row` of a lane that is not shifted is read, from the group's first
    /// byte on; if no lane reads there, some other row.
    #[inline(always)]
    fn src(&self, row: isize) -> *const u8 {
        let Turned { rows, least, first, last, .. } = self.turned;
        let number = (rows.start.cast_signed() + least + row).clamp(*first, *last);
        let Group { tile, runs, bytes, .. } = self.group;
        tile.tile.src.wrapping_add(bytes.start).wrapping_offset(number * runs.turned.src_stride)
    }

    /// Packs the lines, row after row.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn pack<V: Vector, const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        let lines = self.group.lines();
        for row in (0..self.packed_rows).step_by(MADE) {
            let mut from = [std::ptr::null(); MADE];
            for (number, from) in from.iter_mut().enumerate() {
                *from = self.src((row + number).cast_signed());
                // All of a row together: what is near in memory is best read at once.
                let ahead = from.wrapping_offset(PACKED_AHEAD * self.group.runs.turned.src_stride);
                for line in 0..lines {
                    V::prefetch(ahead.wrapping_add(line * LINE));
                }
            }
            for line in 0..lines {
                let to = self.packed(line, scratch).wrapping_add(row * LINE);
                let strip = &scratch.strips[line];
                let byte = self.group.byte_of(line);
                for (number, from) in from.iter().enumerate() {
                    for at in (0..LINE).step_by(V::BYTES) {
                        // SAFETY: `from` are rows that lanes read, or rows between them; a packed
                        // line has room for a multiple of MADE rows.
                        unsafe {
                            let vector = if PLAIN {
                                V::load(from.add(byte + at))
                            } else {
                                self.load_far::<V>(row + number, strip, byte, at)
                            };
                            vector.store(to.add(number * LINE + at));
                        }
                    }
                }
            }
        }
    }

    /// Row `row` of a vector of lanes, each lane from as far ahead as it is to be read.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn load_far<V: Vector>(&self, row: usize, strip: &Strip, byte: usize, at: usize) -> V {
        let row = row.cast_signed();
        // SAFETY: the contract is the same; a strip has one distance at least.
        unsafe {
            let mut all = self.group.load_part::<V>(self.src(row + strip.far[0].0), byte + at);
            for (rows, bytes) in &strip.far[1..strip.fars] {
                let some = self.group.load_part::<V>(self.src(row + rows), byte + at);
                all = V::select(V::mask(bytes >> at), some, all);
            }
            all
        }
    }

    /// A pass within the scratch, over one line.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn shift_packed<V: Vector>(&self, line: usize, bit: usize, scratch: &mut Scratch<'_>) {
        let step = 1 << bit;
        let packed = self.packed(line, scratch);
        let strip = &scratch.strips[line];
        for begin in (0..self.packed_rows).step_by(MADE * step) {
            for row in begin..self.packed_rows.min(begin + step) {
                // SAFETY: the contract is the same.
                unsafe {
                    if row + MADE * step < self.packed_rows {
                        self.shift_packed_rows::<V, READ>(packed, row, bit, strip);
                    } else {
                        self.shift_packed_rows::<V, MADE>(packed, row, bit, strip);
                    }
                }
            }
        }
    }

    /// Shifts [`MADE`] packed rows of a line from `row` on, `1 << bit` rows apart, out of the first
    /// `COUNT` of those that are read for them.
    ///
    /// # Safety
    /// As [`Shift::copy`]; the rows after those are none that are packed.
    #[inline(always)]
    unsafe fn shift_packed_rows<V: Vector, const COUNT: usize>(
        &self,
        packed: *mut u8,
        row: usize,
        bit: usize,
        strip: &Strip,
    ) {
        let last = self.packed_rows - 1;
        let place = |number: usize| packed.wrapping_add((row + (number << bit)).min(last) * LINE);
        for at in (0..LINE).step_by(V::BYTES) {
            // SAFETY: rows are within the packed line; each is read before it is written.
            unsafe {
                let mut rows = [V::load(place(COUNT - 1).add(at)); READ];
                for (number, vector) in rows.iter_mut().enumerate().take(COUNT - 1) {
                    *vector = V::load(place(number).add(at));
                }
                shift_rows(&mut rows, masks::<V>(strip, bit, at));
                for (number, vector) in rows.iter().enumerate().take(MADE) {
                    if row + (number << bit) <= last {
                        vector.store(place(number).add(at));
                    }
                }
            }
        }
    }

    /// The last pass: from the scratch to the destination, with the rows that are kept.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn write_out<V: Vector, const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        let (count, bytes) = (self.turned.rows.len(), self.group.bytes.len());
        let out = scratch.out;
        let at_once = OUT_BYTES / bytes / MADE * MADE;
        let mut turned = [0; MOST_LINES];
        for begin in (0..count).step_by(at_once) {
            let end = count.min(begin + at_once);
            for row in (begin..end).step_by(MADE) {
                let to = out.wrapping_add((row - begin) * bytes);
                // SAFETY: there is room for as many rows.
                unsafe { self.make_rows::<V, PLAIN>(row, &mut turned, to, scratch) };
            }
            let rows = self.turned.rows.start + begin..self.turned.rows.start + end;
            // SAFETY: the rows are complete.
            unsafe { self.group.write::<V>(rows, out, bytes.cast_signed()) };
        }
    }

    /// Makes [`MADE`] rows of each line from `row` on, at `to` and a group's row apart. `turned` are
    /// the bytes of each line that were turned in the row before, and then those of the last row.
    ///
    /// # Safety
    /// As [`Shift::copy`]; there is room for the rows.
    #[inline(always)]
    unsafe fn make_rows<V: Vector, const PLAIN: bool>(
        &self,
        row: usize,
        turned: &mut [u64; MOST_LINES],
        to: *mut u8,
        scratch: &mut Scratch<'_>,
    ) {
        let (group, turned_rows) = (self.group, &self.turned.rows);
        let (bytes, lines) = (group.bytes.len(), group.lines());
        // Rows beyond the last are made as it is, and written by nobody.
        let mut kept_rows = [std::ptr::null(); MADE];
        for (number, kept) in kept_rows.iter_mut().enumerate() {
            *kept = group.kept_src((turned_rows.start + row + number).min(turned_rows.end - 1));
            let ahead = kept.wrapping_offset(KEPT_AHEAD * group.runs.kept.src_stride);
            for line in 0..lines {
                V::prefetch(ahead.wrapping_add(line * LINE));
            }
        }
        let all = u64::MAX >> (LINE - bytes.min(LINE));
        for (line, turned) in turned.iter_mut().enumerate().take(lines) {
            let byte = group.byte_of(line);
            let packed = self.packed(line, scratch).wrapping_add(row * LINE);
            let strip = &scratch.strips[line];
            let changes = &scratch.changes[line * self.turned.made_rows() + row..][..MADE];
            let before = *turned;
            for at in (0..LINE).step_by(V::BYTES) {
                // SAFETY: what is read beyond the packed rows is part of the scratch, and not used;
                // a row that one lane keeps is valid in all.
                unsafe {
                    let mut rows = [V::load(packed.add(at)); READ];
                    for (number, vector) in rows.iter_mut().enumerate() {
                        *vector = V::load(packed.add(number * LINE + at));
                    }
                    shift_rows(&mut rows, masks::<V>(strip, 0, at));
                    *turned = before;
                    for (number, vector) in rows.iter().enumerate().take(MADE) {
                        *turned ^= changes[number];
                        let mut vector = *vector;
                        if *turned != all {
                            let kept = if PLAIN {
                                V::load(kept_rows[number].add(byte + at))
                            } else {
                                group.load_part::<V>(kept_rows[number], byte + at)
                            };
                            vector = V::select(V::mask(*turned >> at), vector, kept);
                        }
                        let to = to.add(number * bytes + byte);
                        if PLAIN {
                            vector.store(to.add(at));
                        } else {
                            group.store_part(vector, to, at);
                        }
                    }
                }
            }
        }
    }
}

/// The masks of three bits, for the vector at byte `at` of a line.
///
/// # Safety
/// The machine has the set of V.
#[inline(always)]
unsafe fn masks<V: Vector>(strip: &Strip, bit: usize, at: usize) -> [V::Mask; PASS_BITS] {
    let [one, two, four] = [strip.bits[bit], strip.bits[bit + 1], strip.bits[bit + 2]];
    // SAFETY: the caller vouches for the set.
    unsafe { [V::mask(one >> at), V::mask(two >> at), V::mask(four >> at)] }
}

/// Shifts the first [`MADE`] of some rows by three bits; the others are used up.
///
/// # Safety
/// The machine has the set of V.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "each row looks at another")]
unsafe fn shift_rows<V: Vector>(rows: &mut [V; READ], masks: [V::Mask; PASS_BITS]) {
    // SAFETY: the caller vouches for the set.
    unsafe {
        for row in 0..READ - 1 {
            rows[row] = V::select(masks[0], rows[row + 1], rows[row]);
        }
        for row in 0..READ - 3 {
            rows[row] = V::select(masks[1], rows[row + 2], rows[row]);
        }
        for row in 0..MADE {
            rows[row] = V::select(masks[2], rows[row + 4], rows[row]);
        }
    }
}
