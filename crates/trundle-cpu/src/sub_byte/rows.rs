//! Moves ragged rows of packed elements, each of which is read as two runs.

use std::fmt;

use trundle_core::{Block, Cut, CutAt, LengthTable, Loop, Packing, Run, Source};
use trundle_kernels::AffineLoop;
use trundle_kernels::simd::LINE;

use super::box_runs::{AHEAD, affine_loops};
use super::buffers::{Buffers, Scratch, prefetch_run};
use super::run as runs;
use crate::Machine;
use crate::cancellation::Cancellation;
use crate::tiles::{RaggedLoop, TilePlan};

/// Maximum number of rows that are moved together: several cache lines.
const MOST_LANES: usize = 512;

/// Maximum number of elements in such rows. Both unpacked copies stay in the second-level cache, or in the next level
/// if rows are long.
const MOST_TOGETHER: usize = 256 << 10;

/// Fewer rows are moved separately.
const LEAST_LANES: usize = 16;

/// Maximum number of elements of a row that are reversed at once.
const MOST_REVERSED: usize = 32 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    src_offset: isize,
    dst_offset: isize,
    /// The loops around the rows, outermost first.
    outer: Vec<AffineLoop>,
    /// The loop along a row, with a table stride for each loop of `outer`.
    row: RaggedLoop,
    /// Number of elements that stay together.
    width: usize,
    /// Number of adjacent rows along the innermost loop that are moved together (as lanes); 1 if rows are moved
    /// separately.
    lanes: usize,
    /// Distance between rows of adjacent elements in scratch.
    pitch: usize,
    /// How unpacked lanes are moved: as many as fit, and the last ones along the loop.
    plans: Vec<TilePlan>,
}

struct Unit {
    src: isize,
    dst: isize,
    /// Index of the first row's length in the table.
    entry: usize,
    rows: usize,
}

impl Rows {
    /// Returns `None` for blocks without a loop that a table cuts.
    pub(super) fn of(block: &Block, width: usize, machine: &Machine) -> Option<Rows> {
        let at = block.ragged()?;
        let (_, table) = block.loops[at].cut_by_table()?;
        let mut strides = table.strides.clone();
        strides.remove(at);
        let row = RaggedLoop::of(&block.loops[at], strides)?;
        let outer = affine_loops(block);
        let along = outer.last().copied().unwrap_or(AffineLoop::ONCE);
        let lanes = together(&along, &row, width);
        // An odd number of lines, so that the rows use all sets of the caches.
        let pitch = lanes.next_multiple_of(LINE) | LINE;
        let mut plans = Vec::new();
        if lanes > 1 {
            let counts = [lanes, along.len % lanes].into_iter().filter(|count| *count > 1);
            plans.extend(counts.map(|count| {
                let bytes = row.len * pitch;
                TilePlan::of_block(&unpacked(&row, count, pitch), (bytes, bytes), machine)
            }));
        }
        let Block { src_offset, dst_offset, .. } = *block;
        Some(Rows { src_offset, dst_offset, outer, row, width, lanes, pitch, plans })
    }

    pub(super) fn units(&self) -> usize {
        let Some((lanes, outer)) = self.outer.split_last() else { return 1 };
        lanes.len.div_ceil(self.lanes) * outer.iter().map(|each| each.len).product::<usize>()
    }

    pub(super) fn unit_elements(&self) -> usize {
        self.row.len * self.width * self.lanes
    }

    /// Returns the approximate memory use of the plans in bytes.
    pub(super) fn own_bytes(&self) -> usize {
        self.plans.iter().map(|plan| size_of_val(plan) + plan.own_bytes()).sum()
    }

    /// Returns the size of an unpacked copy.
    pub(super) fn scratch_bytes(&self) -> usize {
        if self.lanes > 1 {
            self.pitch * self.row.len
        } else {
            self.width.max(self.row.len.min(MOST_REVERSED))
        }
    }

    fn unit(&self, number: usize) -> Unit {
        let (mut src, mut dst, mut entry) =
            (self.src_offset, self.dst_offset, self.row.table.offset);
        let mut go = |at: usize, index: usize| {
            let (each, index) = (self.outer[at], index.cast_signed());
            src = src.wrapping_add(index * each.src_stride);
            dst += index * each.dst_stride;
            entry = entry.wrapping_add_signed(index * self.row.table.strides[at]);
        };
        let mut rows = 1;
        let mut rest = number;
        if let Some((lanes, outer)) = self.outer.split_last() {
            let pieces = lanes.len.div_ceil(self.lanes);
            let first = rest % pieces * self.lanes;
            rows = self.lanes.min(lanes.len - first);
            rest /= pieces;
            go(outer.len(), first);
            for (at, each) in outer.iter().enumerate().rev() {
                go(at, rest % each.len);
                rest /= each.len;
            }
        }
        Unit { src, dst, entry, rows }
    }

    pub(super) fn dst_of(&self, unit: usize) -> isize {
        self.unit(unit).dst
    }

    /// Moves a unit.
    ///
    /// # Safety
    /// The buffers must hold everything that the block reads and writes. Nothing else may write these elements during
    /// the run. Other elements of the same bytes may be written, but only by [`runs::pack`].
    pub(super) unsafe fn run(
        &self,
        packing: Packing,
        unit: usize,
        buffers: Buffers<'_>,
        scratch: &mut Scratch,
        cancellation: &Cancellation<'_>,
    ) {
        let unit = self.unit(unit);
        // SAFETY: `move_lanes` and `move_row` have the contract of this function.
        unsafe {
            if self.lanes > 1 {
                self.move_lanes(packing, &unit, buffers, scratch, cancellation);
            } else {
                self.move_row(packing, &unit, buffers, scratch, cancellation);
            }
        }
    }

    /// Moves the two runs of a row, unless the caller cancels the run.
    ///
    /// # Safety
    /// As [`Rows::run`].
    unsafe fn move_row(
        &self,
        packing: Packing,
        unit: &Unit,
        buffers: Buffers<'_>,
        scratch: &mut Scratch,
        cancellation: &Cancellation<'_>,
    ) {
        let (row, width) = (&self.row, self.width);
        let length = row.table.lengths[unit.entry];
        let cut = row.cut(length);
        for (run, part) in [(&row.first, 0..cut), (&row.second, cut..row.len)] {
            let start = unit.src.wrapping_add(run.start(length));
            let neighbours = width == 1 && row.dst_stride == 1 && run.src_stride.abs() == 1;
            let step = if neighbours { MOST_REVERSED } else { 1 };
            // Cancellation is also checked within a row, which may be a whole tensor.
            let between_checks = (MOST_REVERSED / width).max(1);
            for begin in part.clone().step_by(between_checks) {
                if begin > part.start && cancellation.is_requested() {
                    return;
                }
                let end = part.end.min(begin + between_checks);
                for i in (begin..end).step_by(step) {
                    let len = step.min(end - i);
                    let copy = &mut scratch.read[..len * width];
                    let i = i.cast_signed();
                    let from = start.wrapping_add(i * run.src_stride);
                    let lowest = from + (run.src_stride * (len - 1).cast_signed()).min(0);
                    runs::unpack(packing, buffers.src, lowest.unsigned_abs(), copy);
                    if len > 1 && run.src_stride < 0 {
                        copy.reverse();
                    }
                    let to = (unit.dst + i * row.dst_stride).unsigned_abs();
                    // SAFETY: the elements belong to this row, which only this call writes.
                    unsafe { runs::pack(packing, copy, buffers.dst, to) };
                }
            }
        }
    }

    /// Moves adjacent rows as lanes: unpacks all elements that they read, moves them as bytes, and packs the result.
    ///
    /// # Safety
    /// As [`Rows::run`].
    unsafe fn move_lanes(
        &self,
        packing: Packing,
        unit: &Unit,
        buffers: Buffers<'_>,
        scratch: &mut Scratch,
        cancellation: &Cancellation<'_>,
    ) {
        let (row, count) = (&self.row, unit.rows);
        let apart = row.first.src_stride.abs();
        let lane_stride = row.table.strides.last().copied().unwrap_or(0);
        // The lowest and the highest source position, in rows.
        let (mut lowest, mut highest) = (isize::MAX, isize::MIN);
        let entries =
            (0..count.cast_signed()).map(|lane| unit.entry.wrapping_add_signed(lane * lane_stride));
        for entry in entries {
            let length = row.table.lengths[entry];
            let cut = row.cut(length);
            for (run, part) in [(&row.first, 0..cut), (&row.second, cut..row.len)] {
                if part.is_empty() {
                    continue;
                }
                for i in [part.start, part.end - 1] {
                    let at = (run.start(length) + run.src_stride * i.cast_signed()) / apart;
                    (lowest, highest) = (lowest.min(at), highest.max(at));
                }
            }
        }
        // If only a part of a tensor is written, lanes may read from positions that are far apart.
        let read_rows = (highest - lowest).unsigned_abs() + 1;
        let plan = self.plans.get(usize::from(count < self.lanes));
        let Some(plan) = plan.filter(|_| read_rows <= row.len) else {
            for number in 0..count.cast_signed() {
                let entry = unit.entry.wrapping_add_signed(number * lane_stride);
                let one = Unit { src: unit.src + number, dst: unit.dst + number, entry, rows: 1 };
                // SAFETY: the row is one of this unit's.
                unsafe { self.move_row(packing, &one, buffers, scratch, cancellation) };
            }
            return;
        };
        let Scratch { read, written } = scratch;
        for (number, copy) in (lowest..=highest).zip(read.chunks_exact_mut(self.pitch)) {
            let first = (unit.src + number * apart).unsigned_abs();
            let ahead = first + AHEAD.unsigned_abs() * apart.unsigned_abs();
            prefetch_run(packing, buffers.src.as_ptr(), ahead, count);
            runs::unpack(packing, buffers.src, first, &mut copy[..count]);
        }
        let row_0 = read.as_ptr().wrapping_offset(-lowest * self.pitch.cast_signed());
        assert!(row.len * self.pitch <= written.len());
        // SAFETY: the lanes read only the rows from `lowest` to `highest`, which are in `read`, and `written` has space
        // for each row. The lanes have the entries of the table from `unit.entry` on.
        unsafe { plan.run(row_0, written.as_mut_ptr(), unit.entry.cast_signed()) };
        for (i, moved) in written.chunks_exact(self.pitch).take(row.len).enumerate() {
            let to = (unit.dst + i.cast_signed() * row.dst_stride).unsigned_abs();
            // SAFETY: the elements belong to this unit, which only this call writes.
            unsafe { runs::pack(packing, &moved[..count], buffers.dst, to) };
        }
    }
}

/// Returns the move of `count` unpacked lanes, which are adjacent in rows that are `pitch` bytes apart.
fn unpacked(row: &RaggedLoop, count: usize, pitch: usize) -> Block {
    let (apart, pitch) = (row.first.src_stride.abs(), pitch.cast_signed());
    let run = |run: &Run| Run {
        src_offset: run.src_offset / apart * pitch,
        src_per_length: run.src_per_length / apart * pitch,
        src_stride: run.src_stride / apart * pitch,
    };
    let strides = vec![0, row.table.strides.last().copied().unwrap_or(0)];
    let table = LengthTable { offset: 0, strides, ..row.table.clone() };
    let cut = Cut { at: CutAt::Table(table), first: run(&row.first), second: run(&row.second) };
    let rows = Loop { len: row.len, dst_stride: pitch, src: Source::Cut(Box::new(cut)) };
    let lanes = Loop { len: count, dst_stride: 1, src: Source::Affine { stride: 1 } };
    Block { src_offset: 0, dst_offset: 0, loops: vec![rows, lanes], indices: vec![] }
}

/// Returns how many rows along a loop are moved together: 1 unless they are adjacent in both tensors and both runs have
/// strides of the same size.
fn together(lanes: &AffineLoop, row: &RaggedLoop, width: usize) -> usize {
    let pitch = row.first.src_stride.unsigned_abs();
    let in_steps = |run: &Run| {
        let distances = [run.src_offset, run.src_per_length];
        run.src_stride.unsigned_abs() == pitch
            && pitch > 0
            && distances.iter().all(|each| each.unsigned_abs().is_multiple_of(pitch))
    };
    let neighbours = width == 1 && lanes.src_stride == 1 && lanes.dst_stride == 1;
    let most = lanes.len.min(MOST_LANES).min(MOST_TOGETHER / row.len);
    if neighbours && in_steps(&row.first) && in_steps(&row.second) && most >= LEAST_LANES {
        most
    } else {
        1
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: usize = self.outer.iter().map(|each| each.len).product();
        let plural = if rows == 1 { "" } else { "s" };
        write!(f, "{rows} row{plural} of {} x {} elements", self.row.len, self.width)?;
        if self.lanes > 1 {
            write!(f, ", at most {} of them together", self.lanes)?;
        }
        write!(f, ", each cut where its length says,")
    }
}
