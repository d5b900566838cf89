//! Plans a move and the fill around the moved rows as one pass.

use trundle_core::{Block, Loop, Move};
use trundle_kernels::{AffineLoop, MOST_FILLED_BYTES, Roles, Space, StoreKind};

use super::FilledPlan;
use crate::Machine;
use crate::threads::{TASKS_PER_THREAD, threads_for};
use crate::tiles::pattern;

/// Longer rows share few cache lines with the fill, so two separate moves are as fast.
const MOST_RUN_BYTES: usize = 64 << 10;

/// Shorter rows gain nothing, because assembling a row takes as long as writing it. The kernels also need rows of at
/// least a cache line.
const LEAST_RUN_BYTES: usize = 64;

/// In smaller units, incomplete cache lines cost as much time as the plan saves.
const LEAST_UNIT_BYTES: usize = 4 << 10;

impl FilledPlan {
    /// Plans two moves that together write a whole destination: one moves rows, and the other, move number `fill_at`,
    /// writes its only source element everywhere else.
    ///
    /// Returns `None` if two separate moves are as fast: if the result fits in the caches, if rows are very short or
    /// very long, or if there is more fill than rows.
    pub(crate) fn of(parts: [&Move; 2], fill_at: usize, machine: &Machine) -> Option<FilledPlan> {
        let (work, fill) = (parts[1 - fill_at], parts[fill_at]);
        let dst_bytes = work.dst_bytes().max(fill.dst_bytes());
        let (width, tuning) = (fill.width(), machine.tuning);
        if !is_filled(work, fill, dst_bytes) || dst_bytes <= tuning.streaming_bytes {
            return None;
        }
        let [block] = work.blocks() else { return None };
        let Rows { run, first, loops } = Rows::of(block, work.width())?;
        let strides = loops.iter().map(|each| each.dst_stride.unsigned_abs());
        if ![run, first.1].into_iter().chain(strides).all(|bytes| bytes.is_multiple_of(width)) {
            return None;
        }
        let [outer @ .., slabs, rows] = &loops[..] else { return None };
        let threads = threads_for(dst_bytes, machine.threads);
        let kernel = machine.kernel_of(Roles::Filled)?;
        let bytes = AffineLoop { len: run, src_stride: 1, dst_stride: 1 };
        let (all_rows, _) = kernel.tile(&Space {
            pattern: pattern(1, *rows, bytes, (rows.len * slabs.len, run)),
            ragged_rows: false,
            ragged_cols: false,
            store: StoreKind::Streaming,
            share: dst_bytes / (threads * TASKS_PER_THREAD),
            tuning,
        });
        let block = match all_rows / rows.len {
            0 => (1, all_rows),
            slabs => (slabs, rows.len),
        };
        if block.0 * block.1 * run < LEAST_UNIT_BYTES {
            return None;
        }
        let mut plan = FilledPlan {
            fill_at,
            src_bytes: work.src_bytes(),
            dst_bytes,
            width,
            kernel,
            first,
            run,
            outer: outer.to_vec(),
            slabs: *slabs,
            rows: *rows,
            block,
            threads,
            tasks: 1,
            grain_bytes: work.grain_bytes(),
            tuning,
        };
        if threads > 1 {
            plan.tasks = plan.units().min(threads * TASKS_PER_THREAD);
        }
        Some(plan)
    }
}

/// Whether the two moves together write the whole destination, `work` writes the larger part of it, `fill` reads a
/// single element, and no elements are smaller than a byte.
fn is_filled(work: &Move, fill: &Move, dst_bytes: usize) -> bool {
    let (moved, filled) = (work.moved_bytes(), fill.moved_bytes());
    work.packing().is_none()
        && fill.packing().is_none()
        && moved.checked_add(filled) == Some(dst_bytes)
        && moved >= filled
        && fill.src_bytes() == fill.width()
        && fill.width() <= MOST_FILLED_BYTES
}

struct Rows {
    run: usize,
    /// Source and destination offsets of the first run in bytes.
    first: (usize, usize),
    /// The loops over runs, outermost first: at least two.
    loops: Vec<AffineLoop>,
}

impl Rows {
    /// Returns `None` if the runs do not ascend in the destination without overlap, or if their length is out of range.
    fn of(block: &Block, width: usize) -> Option<Rows> {
        if !block.indices.is_empty() {
            return None;
        }
        let affine = |each: &Loop| {
            let (len, src_stride) = (each.len, each.affine_stride()?);
            Some(AffineLoop { len, src_stride, dst_stride: each.dst_stride })
        };
        let mut loops = block.loops.iter().map(affine).collect::<Option<Vec<_>>>()?;
        let one = width.cast_signed();
        let is_run = |each: &mut AffineLoop| (each.src_stride, each.dst_stride) == (one, one);
        let run = width * loops.pop_if(is_run).map_or(1, |cols| cols.len);
        if !(LEAST_RUN_BYTES..=MOST_RUN_BYTES).contains(&run) {
            return None;
        }
        let mut end = run;
        for each in loops.iter().rev() {
            let stride = usize::try_from(each.dst_stride).ok().filter(|stride| *stride >= end)?;
            end = stride.checked_mul(each.len - 1)?.checked_add(end)?;
        }
        while loops.len() < 2 {
            loops.insert(0, AffineLoop::ONCE);
        }
        let at = |offset: isize| usize::try_from(offset).ok();
        let first = (at(block.src_offset)?, at(block.dst_offset)?);
        Some(Rows { run, first, loops })
    }
}
