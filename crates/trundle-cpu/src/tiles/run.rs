//! Runs steps: turns units into tiles and calls the kernels.

use std::ops::Range;

use trundle_kernels::{
    AffineLoop, GatherTile, IndexTile, Jumps, Kernel, KernelFn, LaneTile, Next, Ragged, Run,
    StoreKind, Tables, Tile, Tiles, simd,
};

use super::step::{IndexedStep, RaggedLoop, RaggedRole, RaggedStep, Rolled, Step, Unit, offset_of};
use crate::cancellation::Cancellation;
use crate::parts::StepPart;

struct Buffers {
    src: *const u8,
    dst: *mut u8,
    /// Is added to every index into the tables of lengths.
    entries: isize,
}

/// Moves the tiles of `parts`, unless the caller cancels the run. `entries` is added to indices into the tables of
/// lengths.
///
/// # Safety
/// `buffers` must be valid for everything that these steps and parts read and write. They must not overlap, and nothing
/// else may write to them during the run. The tables must have the entries that these steps and parts use.
pub(crate) unsafe fn run(
    steps: &[Step],
    parts: &[StepPart],
    buffers: crate::buffers::Buffers,
    entries: isize,
    cancellation: &Cancellation<'_>,
) {
    let buffers = &Buffers { src: buffers.src, dst: buffers.dst, entries };
    let mut queue = Queue::default();
    for part in parts {
        if cancellation.is_requested() {
            break;
        }
        let step = &steps[part.step];
        let mut unit = part.first;
        while unit < part.end {
            // SAFETY: the units are the step's, and the buffers are valid by the contract of this function.
            unit += unsafe { run_units(step, unit, part.end - unit, buffers, &mut queue) };
        }
    }
    // SAFETY: the units are the step's, and the buffers are valid by the contract of this function.
    unsafe { queue.finish() };
    simd::fence();
}

type Mover = unsafe fn(&Tile);

/// Delays each tile until the next one is known, so that the kernel can prefetch it.
#[derive(Default)]
struct Queue {
    waiting: Option<(Tile, Mover)>,
}

impl Queue {
    /// Moves tiles with their kernel. The last one may be delayed.
    ///
    /// # Safety
    /// As [`KernelFn::Tiles`]. The kernel must support these strides on this machine.
    #[inline]
    unsafe fn put_all(&mut self, kernel: &Kernel, tiles: Tiles) {
        let Tiles { mut tile, along } = tiles;
        match kernel.call {
            KernelFn::Tile(run) => {
                for _ in 0..along.len {
                    // SAFETY: the tile is one of `tiles`, which the caller guarantees to be valid.
                    unsafe { self.put(&tile, run) };
                    tile.src = tile.src.wrapping_offset(along.src_stride);
                    tile.dst = tile.dst.wrapping_offset(along.dst_stride);
                }
            }
            // SAFETY: the caller guarantees that the tiles are valid.
            KernelFn::Tiles(run) => unsafe { run(&tiles) },
            _ => unreachable!("a step of tiles has a kernel of tiles"),
        }
    }

    /// Moves the delayed tile and delays this one. Tiles with ordinary stores are moved at once.
    ///
    /// # Safety
    /// As [`KernelFn::Tile`], for this tile and its kernel.
    #[inline]
    unsafe fn put(&mut self, tile: &Tile, run: Mover) {
        if tile.store == StoreKind::Ordinary {
            // Kernels with ordinary stores do not prefetch: small moves have one tile, and their data is cached.
            // SAFETY: the caller guarantees that the tile is valid.
            return unsafe { run(tile) };
        }
        if let Some((before, _)) = &mut self.waiting {
            before.next = Some(Next::at(tile.src, tile.dst, tile.cols.src_stride));
        }
        tile.prefetch_ends();
        // SAFETY: the caller of `put` guaranteed that the delayed tile is valid.
        unsafe { self.finish() };
        self.waiting = Some((*tile, run));
    }

    /// # Safety
    /// The delayed tile must still be valid.
    #[inline]
    unsafe fn finish(&mut self) {
        if let Some((tile, run)) = &self.waiting {
            // SAFETY: the caller guarantees that the tile is still valid.
            unsafe { run(tile) };
        }
        self.waiting = None;
    }
}

/// Moves one to `most` units and returns their number. The last tile may be delayed in `queue`.
///
/// # Safety
/// The units must be the step's, and `buffers` valid for the plan: see [`run`].
unsafe fn run_units(
    step: &Step,
    first: usize,
    most: usize,
    buffers: &Buffers,
    queue: &mut Queue,
) -> usize {
    if let Some(indexed) = &step.indexed {
        // SAFETY: `run_indexed` has the contract of this function.
        return unsafe { run_indexed(step, indexed, first, most, buffers, queue) };
    }
    let is_plain = step.ragged.is_none() && step.tables.is_none();
    let innermost = step.outer.last().filter(|_| is_plain);
    let (Some(innermost), (1, 1)) = (innermost, step.blocks()) else {
        // SAFETY: `run_unit` has the contract of this function.
        unsafe { run_unit(step, first, buffers, queue) };
        return 1;
    };
    // Small tiles take less time than computing where the next one begins, so all tiles of the innermost loop are
    // passed in one call.
    let count = (innermost.len - first % innermost.len).min(most);
    let tile = tile_of(step, &step.unit(first), step.rows, step.cols, buffers);
    let along = AffineLoop { len: count, ..*innermost };
    // SAFETY: each tile is a part of the step's loops.
    unsafe { queue.put_all(step.kernel, Tiles { tile, along }) };
    count
}

/// Number of bytes that are prefetched ahead in an indexed step. Hardware prefetchers do not predict the next tiles
/// (measured; docs/notes/kernels.md).
const INDEXED_AHEAD_BYTES: usize = 8 << 10;

/// Minimum and maximum number of tiles that are prefetched ahead.
const INDEXED_AHEAD: (usize, usize) = (1, 32);

/// Does the same as [`run_units`] for an indexed step, along its innermost outer loop.
///
/// # Safety
/// As [`run_units`].
unsafe fn run_indexed(
    step: &Step,
    indexed: &IndexedStep,
    first: usize,
    most: usize,
    buffers: &Buffers,
    queue: &mut Queue,
) -> usize {
    let is_by_elements = matches!(step.kernel.call, KernelFn::IndexTile(_));
    let along = step.outer.last().filter(|_| step.tables.is_none() && !is_by_elements);
    let (Some(along), (1, 1)) = (along, step.blocks()) else {
        // SAFETY: `run_unit` has the contract of this function.
        unsafe { run_unit(step, first, buffers, queue) };
        return 1;
    };
    let count = (along.len - first % along.len).min(most);
    let unit = step.unit(first);
    let tile = tile_of(step, &unit, step.rows, step.cols, buffers);
    let table = &indexed.table;
    let entry = table.offset.wrapping_add_signed(unit.entries);
    let entries = table.strides.last().copied().unwrap_or(0);
    let at = |number: usize| {
        let number = number.cast_signed();
        let src = table.at(entry.wrapping_add_signed(number * entries));
        src.wrapping_add(number * along.src_stride)
    };
    let is_run = tile.rows.len == 1 && tile.cols.src_stride == tile.width.cast_signed();
    let bytes = if is_run { tile.cols.len * tile.width } else { tile.width };
    let (least, furthest) = INDEXED_AHEAD;
    let ahead = (INDEXED_AHEAD_BYTES / bytes.max(1)).clamp(least, furthest);
    // The hardware prefetches the rest of longer runs.
    let lines = bytes.min(INDEXED_AHEAD_BYTES / ahead);
    for number in 0..count {
        if number + ahead < count {
            let next = tile.src.wrapping_offset(at(number + ahead));
            for line in (0..lines).step_by(simd::LINE) {
                simd::prefetch(next.wrapping_add(line));
            }
            // An unaligned run can end in one more cache line.
            simd::prefetch(next.wrapping_add(lines.saturating_sub(1)));
        }
        let to = number.cast_signed() * along.dst_stride;
        let one = Tile {
            src: tile.src.wrapping_offset(at(number)),
            dst: tile.dst.wrapping_offset(to),
            ..tile
        };
        // SAFETY: the tile is a part of the step's loops, and the indices are within the source.
        unsafe { queue.put_all(step.kernel, Tiles { tile: one, along: AffineLoop::ONCE }) };
    }
    count
}

/// Moves one unit. Its last tile may be delayed in `queue`.
///
/// # Safety
/// `unit` must be one of the step's, and `buffers` valid for the plan: see [`run`].
unsafe fn run_unit(step: &Step, unit: usize, buffers: &Buffers, queue: &mut Queue) {
    let next = unit + 1;
    let mut unit = step.unit(unit);
    if let Some(indexed) = &step.indexed {
        let entry = indexed.table.offset.wrapping_add_signed(unit.entries);
        if let KernelFn::IndexTile(run) = step.kernel.call {
            let tile = index_tile(step, indexed, &unit, entry, buffers);
            // SAFETY: the tile is a part of the step's loops.
            return unsafe { run(&tile) };
        }
        unit.src = unit.src.wrapping_add(indexed.table.at(entry));
    }
    if let Some(tables) = &step.tables {
        // SAFETY: the tile is a part of the step's loops.
        return unsafe { gather_tile(step, tables, &unit, buffers) };
    }
    let Some(RaggedStep { row, role, second }) = &step.ragged else {
        let tile = tile_of(step, &unit, step.rows, step.cols, buffers);
        // SAFETY: the tile is a part of the step's loops.
        return unsafe { queue.put_all(step.kernel, Tiles { tile, along: AffineLoop::ONCE }) };
    };
    let entry = row.table.offset.wrapping_add_signed(unit.entries + buffers.entries);
    if *role == RaggedRole::Lanes {
        // SAFETY: the lanes are a part of the step's loops.
        return unsafe { run_lanes(step, row, &unit, next, entry, buffers) };
    }
    let length = row.table.lengths[entry];
    let cut = row.cut(length);
    let (src, whole) = (
        unit.src,
        match role {
            RaggedRole::Rows => unit.rows.clone(),
            RaggedRole::Cols => unit.cols.clone(),
            RaggedRole::Outer | RaggedRole::Lanes => unit.ragged_index..unit.ragged_index + 1,
        },
    );
    let runs = [
        (&row.first, step.kernel, whole.start..whole.end.min(cut)),
        (&row.second, *second, whole.start.max(cut)..whole.end),
    ];
    for (run, kernel, part) in runs {
        if part.is_empty() {
            continue;
        }
        unit.src = src.wrapping_add(run.start(length));
        let along = |each: AffineLoop| AffineLoop { src_stride: run.src_stride, ..each };
        let (mut rows, mut cols) = (step.rows, step.cols);
        match role {
            RaggedRole::Rows => (unit.rows, rows) = (part, along(rows)),
            RaggedRole::Cols => (unit.cols, cols) = (part, along(cols)),
            RaggedRole::Outer | RaggedRole::Lanes => {
                let index = part.start.cast_signed();
                unit.src = unit.src.wrapping_add(index * run.src_stride);
                unit.dst += index * row.dst_stride;
            }
        }
        let tile = tile_of(step, &unit, rows, cols, buffers);
        // SAFETY: the tile is the part of the step's loops that lies in this run.
        unsafe { queue.put_all(kernel, Tiles { tile, along: AffineLoop::ONCE }) };
    }
}

/// Moves a unit of many short loops.
///
/// # Safety
/// Every element that the tables address must be valid, and the kernel must support this machine.
unsafe fn gather_tile(step: &Step, tables: &Tables, unit: &Unit, buffers: &Buffers) {
    let (src, dst) = offset_of(step.rows, None, unit.rows.start);
    let KernelFn::GatherTile(run) = step.kernel.call else {
        unreachable!("tables are made for kernels of them alone")
    };
    let tile = GatherTile {
        src: buffers.src.wrapping_offset(unit.src.wrapping_add(src)),
        dst: buffers.dst.wrapping_offset(unit.dst + dst),
        width: step.width,
        rounds: AffineLoop { len: unit.rows.len(), ..step.rows },
        tables,
        store: step.store,
    };
    // SAFETY: the caller guarantees that the elements are valid.
    unsafe { run(&tile) };
}

/// Returns a unit as a tile whose elements are read at indices.
fn index_tile<'a>(
    step: &Step,
    indexed: &'a IndexedStep,
    unit: &Unit,
    entry: usize,
    buffers: &Buffers,
) -> IndexTile<'a> {
    let Unit { rows, cols, .. } = unit;
    let (row, col) = (rows.start.cast_signed(), cols.start.cast_signed());
    let (row_entries, col_entries) = indexed.tile_strides;
    let (of_row, of_col) =
        (offset_of(step.rows, None, rows.start), offset_of(step.cols, None, cols.start));
    let part = |each: AffineLoop, range: &Range<usize>| AffineLoop { len: range.len(), ..each };
    IndexTile {
        src: buffers.src.wrapping_offset(unit.src.wrapping_add(of_row.0).wrapping_add(of_col.0)),
        dst: buffers.dst.wrapping_offset(unit.dst + of_row.1 + of_col.1),
        width: step.width,
        rows: (part(step.rows, rows), row_entries),
        cols: (part(step.cols, cols), col_entries),
        indices: &indexed.table.indices,
        entry: entry.wrapping_add_signed(row * row_entries + col * col_entries),
        scale: indexed.table.scale,
        is_far: indexed.is_far,
        tuning: step.tuning,
    }
}

/// Moves the lanes of a unit, each with its own cut, and prefetches unit `next`.
///
/// # Safety
/// Every element that is read or written with these lengths must be valid, and the kernel must support this machine.
unsafe fn run_lanes(
    step: &Step,
    row: &RaggedLoop,
    unit: &Unit,
    next: usize,
    entry: usize,
    buffers: &Buffers,
) {
    let Unit { rows, cols, .. } = unit;
    let axis = step.rows.len;
    // Row indices count from the start of the ragged axis, as the runs of the lanes do.
    let (slab, row_begin) = (rows.start / axis, rows.start % axis);
    let slabs = rows.len().div_ceil(axis);
    let at_row_0 = Unit { rows: 0..rows.len().min(axis), cols: cols.clone(), ..*unit };
    let mut tile = tile_of(step, &at_row_0, step.rows, step.cols, buffers);
    let (src, dst) = offset_of(step.rows, step.row_wrap, slab * axis);
    (tile.src, tile.dst) = (tile.src.wrapping_offset(src), tile.dst.wrapping_offset(dst));
    if next < step.units() {
        let next = step.unit(next);
        let at_row_0 = Unit { rows: 0..1, ..next };
        let Tile { src, dst, cols, .. } = tile_of(step, &at_row_0, step.rows, step.cols, buffers);
        tile.next = Some(Next::at(src, dst, cols.src_stride));
    }
    let wrap = step.row_wrap.unwrap_or(AffineLoop::ONCE);
    let [.., lane_stride, slab_lane_stride] = row.table.strides[..] else {
        unreachable!("a step's table has strides of the columns and of the slabs")
    };
    let lane = slab.cast_signed() * slab_lane_stride + cols.start.cast_signed() * lane_stride;
    let lanes = LaneTile {
        tile,
        row_begin,
        ragged: &ragged_of(row),
        lane: entry.wrapping_add_signed(lane),
        lane_stride,
        slabs: AffineLoop { len: slabs, ..wrap },
        slab_lane_stride,
    };
    let KernelFn::LaneTile(run) = step.kernel.call else {
        unreachable!("a kernel of tiles is picked for no lanes")
    };
    // SAFETY: the caller guarantees that the elements are valid.
    unsafe { run(&lanes) };
}

fn ragged_of(row: &RaggedLoop) -> Ragged<'_> {
    let run = |run: &trundle_core::Run| Run {
        src_offset: run.src_offset,
        src_per_length: run.src_per_length,
        src_stride: run.src_stride,
    };
    Ragged {
        len: row.len,
        lengths: &row.table.lengths,
        cut_start: row.table.start,
        cut_per_length: row.table.per_length,
        first: run(&row.first),
        second: run(&row.second),
    }
}

fn tile_of(
    step: &Step,
    unit: &Unit,
    rows: AffineLoop,
    cols: AffineLoop,
    buffers: &Buffers,
) -> Tile {
    let row = offset_of(rows, step.row_wrap, unit.rows.start);
    let col = offset_of(cols, step.col_wrap, unit.cols.start);
    let part = |each: AffineLoop, range: &Range<usize>| AffineLoop { len: range.len(), ..each };
    let (rolled_rows, rolled_cols) = match step.rolled {
        Some(Rolled::Rows(before)) => (Some(before), None),
        Some(Rolled::Cols(before)) => (None, Some(before)),
        None => (None, None),
    };
    // After the jump, a rolled loop continues at the start of its axis.
    let back = |each: AffineLoop, rolled: Option<usize>, start: usize, stride: isize| match rolled {
        Some(before) if start % each.len >= before => -each.len.cast_signed() * stride,
        _ => 0,
    };
    let src = unit.src.wrapping_add(row.0).wrapping_add(col.0);
    let dst = unit.dst + row.1 + col.1;
    let (first_row, first_col) = (unit.rows.start, unit.cols.start);
    let src = src.wrapping_add(back(cols, rolled_cols, first_col, cols.src_stride));
    let dst = dst.wrapping_add(back(rows, rolled_rows, first_row, rows.dst_stride));
    let outer_rows = step.row_wrap.map(|wrap| wrap.dst_stride);
    let outer_cols = step.col_wrap.map(|wrap| wrap.src_stride);
    Tile {
        src: buffers.src.wrapping_offset(src),
        dst: buffers.dst.wrapping_offset(dst),
        width: step.width,
        rows: part(rows, &unit.rows),
        cols: part(cols, &unit.cols),
        row_jumps: Jumps::of(rows.len, rows.dst_stride, rolled_rows, outer_rows, first_row),
        col_jumps: Jumps::of(cols.len, cols.src_stride, rolled_cols, outer_cols, first_col),
        store: step.store,
        next: None,
        tuning: step.tuning,
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
    use trundle_core::{IndexMap, Layout, Move, Op, Shape};

    use super::*;
    use crate::{Machine, Plan};

    /// Returns which bytes `write` writes: the bytes that change for at least one of two fill values.
    fn written(bytes: usize, mut write: impl FnMut(&mut [u8])) -> Vec<bool> {
        let mut changed = |filling: u8| {
            let mut buffer = vec![filling; bytes];
            write(&mut buffer);
            buffer.into_iter().map(|byte| byte != filling).collect::<Vec<bool>>()
        };
        let (zeros, ones) = (changed(0), changed(0xff));
        zeros.into_iter().zip(ones).map(|(left, right)| left || right).collect()
    }

    /// A byte that two units write gets the right value, but the writes are a data race.
    fn units_write_every_byte_once(work: &Move) {
        let plan = Plan::of(work, Machine::detect());
        let src: Vec<u8> = (0..work.src_bytes()).map(|byte| (byte % 251) as u8).collect();
        let mut writers = vec![0; work.dst_bytes()];
        for step in plan.steps() {
            for unit in 0..step.units() {
                let written = written(work.dst_bytes(), |dst| {
                    let buffers = Buffers { src: src.as_ptr(), dst: dst.as_mut_ptr(), entries: 0 };
                    // SAFETY: both buffers have the sizes of the plan.
                    unsafe {
                        let mut queue = Queue::default();
                        run_unit(step, unit, &buffers, &mut queue);
                        queue.finish();
                    }
                });
                writers.iter_mut().zip(written).for_each(|(count, one)| *count += u8::from(one));
            }
        }
        let mut expected = vec![0; work.dst_bytes()];
        work.for_each_pair(|_, to| expected[to..to + work.width()].fill(1));
        assert!(writers == expected, "{plan}");
    }

    #[test]
    fn no_byte_of_many_short_axes_is_written_by_two_units() {
        let inverted = Op::from(Transpose::new(&[]));
        for sizes in [&[2; 9][..], &[3, 2, 2, 3, 2, 2], &[2, 2, 4001, 3]] {
            for (width, gap) in [(1, 0), (4, 0), (12, 5)] {
                let flip = Op::from(Flip::new(&[1])).index_map(&Shape::new(sizes).unwrap());
                let flip = flip.unwrap();
                let map = flip.then(&inverted.index_map(flip.out_shape()).unwrap()).unwrap();
                let src = Layout::row_major(map.in_shape(), width).unwrap();
                let mut stride = width;
                let inner_first = map.out_shape().sizes().iter().rev().map(|size| {
                    let now = stride;
                    stride = now * size + gap;
                    now.cast_signed()
                });
                let mut strides: Vec<isize> = inner_first.collect();
                strides.reverse();
                let dst = Layout::strided(map.out_shape(), 0, &strides).unwrap();
                units_write_every_byte_once(&Move::new(&map, width, &src, &dst, 64).unwrap());
            }
        }
    }

    #[test]
    fn no_byte_is_written_by_two_units() {
        let lengths: Vec<u64> = (0..2 * 70).map(|row| row * 7 % 150).collect();
        let reverse = Op::from(ReverseSubsequences::new(1, lengths));
        let transpose = Op::from(Transpose::new(&[2, 0, 1]));
        let chains: [&[Op]; 6] = [
            &[Op::from(Roll::new(&[1, 33, 47], &[0, 1, 2]))],
            std::slice::from_ref(&transpose),
            &[Op::from(Flip::new(&[0, 2])), transpose.clone()],
            std::slice::from_ref(&reverse),
            &[reverse.clone(), transpose.clone()],
            &[reverse.clone(), Op::from(Transpose::new(&[0, 2, 1]))],
        ];
        for ops in chains {
            for width in [1, 3, 4, 80] {
                let shape = Shape::new([2, 131, 70]).unwrap();
                let map = ops.iter().fold(IndexMap::identity(&shape), |map, op| {
                    map.then(&op.index_map(map.out_shape()).unwrap()).unwrap()
                });
                let src = Layout::row_major(map.in_shape(), width).unwrap();
                // With gaps after the innermost rows, no block is contiguous.
                let sizes = map.out_shape().sizes();
                let row = sizes[2] * width + 5;
                let strides = [sizes[1] * row, row, width].map(usize::cast_signed);
                let dst = Layout::strided(map.out_shape(), 0, &strides).unwrap();
                units_write_every_byte_once(&Move::new(&map, width, &src, &dst, 64).unwrap());
            }
        }
    }
}
