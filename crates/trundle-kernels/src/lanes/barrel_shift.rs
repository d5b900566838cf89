//! Reverses adjacent lanes that begin at different source rows. Relative to the lane that begins at the lowest row,
//! every lane is *shifted* by a number of rows. All lanes of a cache line are shifted at once, bit by bit, as in a
//! barrel shifter:
//!
//! ```text
//! for each group of a few lines of lanes
//!     pack the rows that reversed lanes read, in the opposite order
//!     for each bit of the shifts, from the highest to the lowest
//!         row r gets row r + 2^bit, in the bytes of the lanes whose shift has the bit
//!     row r gets the kept row, in the bytes of the lanes that are not reversed in this row
//! ```
//!
//! A pass over the rows handles three bits in registers, and the last pass writes. A line takes a dozen instructions
//! for every three bits, however narrow its elements are; single elements would take a load and a store each.

use super::group::{Group, PACKED_AHEAD};
use super::reversed_run::Reversed;
use crate::parts::scratch::{
    LineMasks, MADE, MOST_LINES, OUT_BYTES, PASS_BITS, READ, Scratch, pitch,
};
use crate::simd::{LINE, Token, Vector};

/// Prefetch distance for kept rows, in rows (measured; docs/notes/kernels.md).
const KEPT_AHEAD: isize = 4;

pub(crate) struct Shift<'a, V> {
    token: Token<V>,
    group: &'a Group<'a>,
    reversed: &'a Reversed,
    packed_rows: usize,
    /// The lowest bits of the shifts, which passes handle. Packing handles the higher ones.
    bits: usize,
}

impl<'a, V: Vector> Shift<'a, V> {
    pub(crate) fn of(token: Token<V>, group: &'a Group<'a>, reversed: &'a Reversed) -> Self {
        let packed_rows = reversed.packed_rows(group.rows.len());
        let bits = reversed.bits(group.rows.len());
        Shift { token, group, reversed, packed_rows, bits }
    }

    /// # Safety
    /// A lane of the group reverses these rows. The rows fit in the scratch, which contains the group's lanes.
    #[inline(always)]
    pub(crate) unsafe fn copy_all(&self, scratch: &mut Scratch<'_>) {
        self.group.find_shifts(self.reversed, self.bits, scratch);
        // SAFETY: the caller guarantees that the rows and the scratch are valid.
        unsafe {
            if self.reversed.spread() >= 1 << self.bits || self.group.bytes.len() < LINE {
                self.copy::<false>(scratch);
            } else {
                self.copy::<true>(scratch);
            }
        }
    }

    /// Moves the reversed rows. `PLAIN` if every line is whole and passes handle all bits of the shifts.
    ///
    /// # Safety
    /// As [`Shift::copy_all`]. The scratch contains the result of [`Group::find_shifts`].
    #[inline(always)]
    unsafe fn copy<const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        // SAFETY: the caller upholds `# Safety`; each pass reads the result of the previous one.
        unsafe {
            self.pack::<PLAIN>(scratch);
            for line in 0..self.group.lines() {
                for bit in (PASS_BITS..self.bits).step_by(PASS_BITS).rev() {
                    self.shift_packed(line, bit, scratch);
                }
            }
            self.write_out::<PLAIN>(scratch);
        }
    }

    #[inline(always)]
    fn packed(&self, line: usize, scratch: &Scratch<'_>) -> *mut u8 {
        scratch.copies.wrapping_add(line * pitch(self.packed_rows) * LINE)
    }

    /// Returns the source of reversed row `row` for a lane without a shift, at the group's first byte, or another valid
    /// row if no lane reads it.
    #[inline(always)]
    fn src(&self, row: isize) -> *const u8 {
        let Reversed { rows, least, first, last, .. } = self.reversed;
        let index = (rows.start.cast_signed() + least + row).clamp(*first, *last);
        let Group { tile, runs, bytes, .. } = self.group;
        tile.tile.src.wrapping_add(bytes.start).wrapping_offset(index * runs.reversed.src_stride)
    }

    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn pack<const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        let lines = self.group.lines();
        for row in (0..self.packed_rows).step_by(MADE) {
            let mut from = [core::ptr::null(); MADE];
            for (index, from) in from.iter_mut().enumerate() {
                *from = self.src((row + index).cast_signed());
                // Rows are prefetched whole, because their lines are near in memory.
                let ahead =
                    from.wrapping_offset(PACKED_AHEAD * self.group.runs.reversed.src_stride);
                self.group.prefetch_row::<V>(ahead);
            }
            for line in 0..lines {
                let to = self.packed(line, scratch).wrapping_add(row * LINE);
                let line_masks = &scratch.masks[line];
                let byte = self.group.byte_of(line);
                for (index, from) in from.iter().enumerate() {
                    for at in (0..LINE).step_by(V::BYTES) {
                        // SAFETY: `from` contains rows that lanes read, or rows between them. A packed line has space
                        // for a multiple of MADE rows.
                        unsafe {
                            let vector = if PLAIN {
                                V::load(self.token, from.add(byte + at))
                            } else {
                                self.load_far(row + index, line_masks, byte, at)
                            };
                            vector.store(to.add(index * LINE + at));
                        }
                    }
                }
            }
        }
    }

    /// Loads a vector of row `row`, with each lane shifted by the part that passes do not handle.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn load_far(&self, row: usize, line_masks: &LineMasks, byte: usize, at: usize) -> V {
        let row = row.cast_signed();
        // SAFETY: the caller upholds `# Safety`; a line has at least one such part, which may be 0.
        unsafe {
            let mut all =
                self.group.load_part(self.token, self.src(row + line_masks.far[0].0), byte + at);
            for (rows, bytes) in &line_masks.far[1..line_masks.fars] {
                let some = self.group.load_part(self.token, self.src(row + rows), byte + at);
                all = V::select(V::mask(self.token, bytes >> at), some, all);
            }
            all
        }
    }

    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn shift_packed(&self, line: usize, bit: usize, scratch: &mut Scratch<'_>) {
        let step = 1 << bit;
        let packed = self.packed(line, scratch);
        let line_masks = &scratch.masks[line];
        for begin in (0..self.packed_rows).step_by(MADE * step) {
            for row in begin..self.packed_rows.min(begin + step) {
                // SAFETY: the rows are within the packed line.
                unsafe {
                    if row + MADE * step < self.packed_rows {
                        self.shift_packed_rows::<READ>(packed, row, bit, line_masks);
                    } else {
                        self.shift_packed_rows::<MADE>(packed, row, bit, line_masks);
                    }
                }
            }
        }
    }

    /// Shifts every `1 << bit`-th of [`MADE`] packed rows from `row` on. Only the first `COUNT` of the rows that they
    /// need exist.
    ///
    /// # Safety
    /// As [`Shift::copy`]. Unless `COUNT` is [`READ`], no packed rows come after the rows that are read.
    #[inline(always)]
    unsafe fn shift_packed_rows<const COUNT: usize>(
        &self,
        packed: *mut u8,
        row: usize,
        bit: usize,
        line_masks: &LineMasks,
    ) {
        let last = self.packed_rows - 1;
        let row_start = |index: usize| packed.wrapping_add((row + (index << bit)).min(last) * LINE);
        for at in (0..LINE).step_by(V::BYTES) {
            // SAFETY: the rows are within the packed line, and each is read before it is written.
            unsafe {
                let mut rows = [V::load(self.token, row_start(COUNT - 1).add(at)); READ];
                for (index, vector) in rows.iter_mut().enumerate().take(COUNT - 1) {
                    *vector = V::load(self.token, row_start(index).add(at));
                }
                shift_rows(&mut rows, masks(self.token, line_masks, bit, at));
                for (index, vector) in rows.iter().enumerate().take(MADE) {
                    if row + (index << bit) <= last {
                        vector.store(row_start(index).add(at));
                    }
                }
            }
        }
    }

    /// The last pass: shifts the packed rows, adds the kept rows, and writes the result.
    ///
    /// # Safety
    /// As [`Shift::copy`].
    #[inline(always)]
    unsafe fn write_out<const PLAIN: bool>(&self, scratch: &mut Scratch<'_>) {
        let (count, bytes) = (self.reversed.rows.len(), self.group.bytes.len());
        let out = scratch.out;
        let at_once = OUT_BYTES / bytes / MADE * MADE;
        let mut reversed = [0; MOST_LINES];
        for begin in (0..count).step_by(at_once) {
            let end = count.min(begin + at_once);
            for row in (begin..end).step_by(MADE) {
                let to = out.wrapping_add((row - begin) * bytes);
                // SAFETY: the scratch has space for these rows.
                unsafe { self.make_rows::<PLAIN>(row, &mut reversed, to, scratch) };
            }
            let rows = self.reversed.rows.start + begin..self.reversed.rows.start + end;
            // SAFETY: the rows are complete.
            unsafe { self.group.write(self.token, rows, out, bytes.cast_signed()) };
        }
    }

    /// Makes [`MADE`] contiguous rows of each line at `to`, from `row` on. `reversed` holds the masks of the reversed
    /// bytes in the previous row, and afterwards in the last one.
    ///
    /// # Safety
    /// As [`Shift::copy`]. There is space for the rows at `to`.
    #[inline(always)]
    unsafe fn make_rows<const PLAIN: bool>(
        &self,
        row: usize,
        reversed: &mut [u64; MOST_LINES],
        to: *mut u8,
        scratch: &mut Scratch<'_>,
    ) {
        let (group, reversed_rows) = (self.group, &self.reversed.rows);
        let (bytes, lines) = (group.bytes.len(), group.lines());
        // Rows after the last one repeat it, and are never written.
        let mut kept_rows = [core::ptr::null(); MADE];
        for (index, kept) in kept_rows.iter_mut().enumerate() {
            *kept = group.kept_src((reversed_rows.start + row + index).min(reversed_rows.end - 1));
            let ahead = kept.wrapping_offset(KEPT_AHEAD * group.runs.kept.src_stride);
            self.group.prefetch_row::<V>(ahead);
        }
        let all = u64::MAX >> (LINE - bytes.min(LINE));
        for (line, reversed) in reversed.iter_mut().enumerate().take(lines) {
            let byte = group.byte_of(line);
            let packed = self.packed(line, scratch).wrapping_add(row * LINE);
            let line_masks = &scratch.masks[line];
            let changes = &scratch.changes[line * self.reversed.made_rows() + row..][..MADE];
            let before = *reversed;
            for at in (0..LINE).step_by(V::BYTES) {
                // SAFETY: reads beyond the packed rows stay in the scratch, and these bytes are not used. A row
                // that one lane keeps is valid in all lanes.
                unsafe {
                    let mut rows = [V::load(self.token, packed.add(at)); READ];
                    for (index, vector) in rows.iter_mut().enumerate() {
                        *vector = V::load(self.token, packed.add(index * LINE + at));
                    }
                    shift_rows(&mut rows, masks(self.token, line_masks, 0, at));
                    *reversed = before;
                    for (index, vector) in rows.iter().enumerate().take(MADE) {
                        *reversed ^= changes[index];
                        let mut vector = *vector;
                        if *reversed != all {
                            let kept = if PLAIN {
                                V::load(self.token, kept_rows[index].add(byte + at))
                            } else {
                                group.load_part(self.token, kept_rows[index], byte + at)
                            };
                            vector = V::select(V::mask(self.token, *reversed >> at), vector, kept);
                        }
                        let to = to.add(index * bytes + byte);
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

/// Returns the masks of `bit` and the next two bits, for the vector at byte `at`.
#[inline(always)]
fn masks<V: Vector>(
    token: Token<V>,
    line_masks: &LineMasks,
    bit: usize,
    at: usize,
) -> [V::Mask; PASS_BITS] {
    let [one, two, four] =
        [line_masks.bits[bit], line_masks.bits[bit + 1], line_masks.bits[bit + 2]];
    [V::mask(token, one >> at), V::mask(token, two >> at), V::mask(token, four >> at)]
}

/// Shifts the first [`MADE`] of `rows` by three bits. The other rows are only read.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "each row looks at another")]
fn shift_rows<V: Vector>(rows: &mut [V; READ], masks: [V::Mask; PASS_BITS]) {
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
