//! Which kernel, which tiles, which thread: every choice in one place.

mod loops;
mod tiles;

use std::ops::Range;

use trundle_core::{Block, Loop, Move, Packing, RaggedLoop};

use loops::{Loops, Picked, rising};
use tiles::{RUN_UNIT_BYTES, tile, transposed_tile};

use crate::owned::Seen;
use crate::packed::PackedPlan;
use crate::plan::{Part, Place, Plan, RaggedStep, Rolled, Step};
use crate::rolled::RolledBlock;
use crate::{Machine, Simd};
use trundle_kernels::simd::LINE;
use trundle_kernels::{CATALOGUE, Call, Kernel, Pattern, Store};

/// Elements of this many bytes or more are copied as runs of bytes: a cache line.
const LEAST_RUN_BYTES: usize = 64;

/// Larger elements are copied as runs: their partial lines are few (measured; docs/kernels.md).
const MOST_TRANSPOSED_BYTES: usize = 512;

/// What a thread must have to do before one more is woken. Waking one costs the caller 5 to 10 us, in
/// which it could copy half a megabyte, and its lines have to come over from the caller's caches. Two
/// threads are slower than one up to 1 MiB, about even at 2 MiB, and faster from 4 MiB on (measured;
/// docs/kernels.md).
const LEAST_THREAD_BYTES: usize = 1 << 20;

/// More threads than this are taken for a mistake: each would be started.
const MOST_THREADS: usize = 1024;

/// How many shares each thread's part of the work is cut into, so that a slower thread can leave
/// some of its part to others.
const TASKS_PER_THREAD: usize = 8;

/// What a task comes to at least.
const LEAST_TASK_BYTES: usize = 64 << 10;

/// What a part of a task comes to at most. Blocks that meet within rows, as those of a roll do, read
/// and write neighbouring lines: their parts follow each other while those are in the caches.
const MOST_PART_BYTES: usize = 64 << 10;

/// About how many parts a plan lists at most, however large the move: more gain nothing.
const MOST_PARTS: usize = 1 << 14;

/// Turns moves into plans for one machine.
#[derive(Clone, Debug)]
pub struct Planner {
    machine: Machine,
}

impl Planner {
    /// A planner for `machine`, whose `threads` say how many a plan may use. Plans are run here, so
    /// this machine must have the instruction set.
    ///
    /// # Panics
    /// If this machine lacks the instruction set.
    pub fn new(machine: Machine) -> Planner {
        let simd = Machine::detect().simd;
        assert!(machine.simd.is_available(), "this machine has {simd}, not {}", machine.simd);
        Planner { machine }
    }

    /// The plan of a move.
    pub fn plan(&self, work: &Move) -> Plan {
        if let Some(packing) = work.packing() {
            return self.packed(work, packing);
        }
        let moved_bytes = work.moved_bytes();
        let store =
            if moved_bytes > self.machine.l3_bytes / 2 { Store::Streamed } else { Store::Cached };
        let most_threads = self.machine.threads.clamp(1, MOST_THREADS);
        let threads = (moved_bytes / LEAST_THREAD_BYTES).clamp(1, most_threads);
        let share = moved_bytes / (threads * TASKS_PER_THREAD);
        let steps = self.steps(work, store, share);
        let parts = parts(&steps, moved_bytes);
        let tasks = tasks(&parts, &steps, threads, moved_bytes);
        Plan {
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes,
            grain_bytes: work.grain_bytes(),
            threads,
            steps,
            parts,
            tasks,
            packed: None,
            is_bijection: Seen::default(),
        }
    }

    /// The plan of a move of elements that share bytes.
    fn packed(&self, work: &Move, packing: Packing) -> Plan {
        let threads = PackedPlan::threads(work, self.machine.threads.clamp(1, MOST_THREADS));
        Plan {
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes: work.moved_bytes(),
            grain_bytes: work.grain_bytes(),
            threads,
            steps: Vec::new(),
            parts: Vec::new(),
            tasks: Vec::new(),
            packed: Some(PackedPlan::of(work, packing, &self.machine, threads)),
            is_bijection: Seen::default(),
        }
    }

    /// How the blocks are done, those of rolled axes in pairs where a kernel can.
    fn steps(&self, work: &Move, store: Store, share: usize) -> Vec<Step> {
        let (mut blocks, width) = (work.blocks(), work.width());
        let mut steps = Vec::with_capacity(blocks.len());
        while let [block, rest @ ..] = blocks {
            let rolled = rest
                .first()
                .and_then(|next| RolledBlock::of(block, next, width))
                .map(|rolled| self.step(&rolled.block, width, store, share, Some(&rolled)))
                .filter(|step| step.rolled.is_some());
            blocks = if rolled.is_some() { &rest[1..] } else { rest };
            steps.push(rolled.unwrap_or_else(|| self.step(block, width, store, share, None)));
        }
        steps
    }

    /// How one block is done: which loop the columns are, which the rows, and in what tiles. A task
    /// has about `share` bytes. If one of the loops is `rolled` but no kernel is there for it, the step
    /// says that none is.
    fn step(
        &self,
        block: &Block,
        width: usize,
        store: Store,
        share: usize,
        rolled: Option<&RolledBlock>,
    ) -> Step {
        let mut loops = Loops::of(block);
        let lines = store == Store::Streamed && is_transpose_of_lines(block, width);
        let rolled_run =
            rolled.filter(|rolled| rolled.is_run(width)).map(|rolled| rolled.first * width);
        let (width, cols) = if rolled_run.is_some() || (width >= LEAST_RUN_BYTES && !lines) {
            // A run of bytes, which can be cut anywhere.
            let (bytes, _) = run_of(block, width);
            if bytes > width {
                loops.plain.pop();
            }
            (1, Picked::Plain(Loop { len: bytes, src_stride: 1, dst_stride: 1, lane_stride: 0 }))
        } else {
            (width, loops.take_innermost(width))
        };
        let rows = match cols {
            Picked::Plain(cols) if cols.lane_stride != 0 => loops.take_ragged(),
            Picked::Plain(_) => loops.take_nearest_in_source(width),
            Picked::Ragged(_) => loops.take_next(width),
        };
        let place = match (rows, cols) {
            (Picked::Ragged(_), Picked::Plain(cols)) if cols.lane_stride != 0 => Place::Lanes,
            (Picked::Ragged(_), _) => Place::Rows,
            (_, Picked::Ragged(_)) => Place::Cols,
            _ => Place::Outer,
        };
        let pick = |run: fn(&RaggedLoop) -> isize| {
            let ragged = |picked: Picked| match (picked, &block.ragged) {
                (Picked::Ragged(each), Some(ragged)) => Loop { src_stride: run(ragged), ..each },
                (Picked::Ragged(each) | Picked::Plain(each), _) => each,
            };
            let (rows, cols) = (ragged(rows), ragged(cols));
            let folded = (
                rows.len * loops.next_in_source(rows).map_or(1, |at| loops.plain[at].len),
                cols.len * loops.next_in_destination(cols).map_or(1, |at| loops.plain[at].len),
            );
            let pattern = Pattern { rolled: rolled_run, ..pattern(width, rows, cols, folded) };
            pick_kernel(&pattern, place == Place::Lanes, self.machine.simd)
        };
        let kernel = pick(|ragged| ragged.first.src_stride);
        let second = pick(|ragged| ragged.second.src_stride);
        let plain = place == Place::Outer;
        let (mut rows, cols) = (rows.each(), cols.each());
        let mut begin = (0, 0);
        let rolled = match (rolled, rolled_run) {
            (_, Some(first)) => (cols.len <= RUN_UNIT_BYTES).then_some(Rolled::Cols(first)),
            (Some(rolled), _) if kernel.folds && rolled.along == cols => {
                Some(Rolled::Cols(rolled.first))
            }
            (Some(rolled), _) if kernel.folds && rolled.along == rows => {
                let at;
                (rows, begin, at) = rolled.rising_rows();
                Some(at)
            }
            _ => None,
        };
        if plain && kernel.folds && rows.src_stride < 0 {
            (rows, begin) = rising(rows);
        }
        let (mut row_fold, mut col_fold) = (None, None);
        if place == Place::Lanes && kernel.folds {
            row_fold = loops.take_slabs(rows, cols.len * width);
        } else if plain && kernel.folds {
            col_fold = loops.next_in_destination(cols).map(|at| loops.plain.remove(at));
            row_fold = loops.next_in_source(rows).map(|at| loops.plain.remove(at));
        }
        let folded = |each: Loop, fold: Option<Loop>| each.len * fold.map_or(1, |fold| fold.len);
        let counts = (folded(rows, row_fold), folded(cols, col_fold));
        let (row_block, col_block) = if place == Place::Outer && kernel.folds {
            transposed_tile(width, rows, cols, counts, store, share)
        } else {
            tile(place, width, rows, cols, counts)
        };
        Step {
            kernel,
            store,
            width,
            src_offset: block.src_offset + begin.0,
            dst_offset: block.dst_offset + begin.1,
            outer: loops.plain,
            rows,
            row_fold,
            cols,
            col_fold,
            rolled,
            row_block,
            col_block,
            ragged: block.ragged.clone().map(|row| RaggedStep { row, place, second }),
        }
    }
}

/// Whether the block transposes elements of a few whole lines.
fn is_transpose_of_lines(block: &Block, width: usize) -> bool {
    let step = width.cast_signed();
    let neighbours = |stride: fn(&Loop) -> isize| {
        block.loops.iter().position(|each| stride(each) == step && each.lane_stride == 0)
    };
    let in_source = neighbours(|each| each.src_stride);
    let in_destination = neighbours(|each| each.dst_stride);
    block.ragged.is_none()
        && width.is_multiple_of(LINE)
        && width <= MOST_TRANSPOSED_BYTES
        && in_source.is_some()
        && in_destination.is_some()
        && in_source != in_destination
}

/// The bytes that stay together in a block, and the loops around them.
fn run_of(block: &Block, width: usize) -> (usize, &[Loop]) {
    let step = width.cast_signed();
    match block.loops.split_last() {
        Some((run, outer))
            if (run.src_stride, run.dst_stride, run.lane_stride) == (step, step, 0) =>
        {
            (run.len * width, outer)
        }
        _ => (width, &block.loops),
    }
}

/// The pattern of a step's tiles.
fn pattern(width: usize, rows: Loop, cols: Loop, folded: (usize, usize)) -> Pattern {
    Pattern {
        width,
        row_strides: (rows.src_stride, rows.dst_stride),
        col_strides: (cols.src_stride, cols.dst_stride),
        lens: (rows.len, cols.len),
        folded,
        rolled: None,
    }
}

/// The first kernel of the catalogue that is right for the pattern.
fn pick_kernel(pattern: &Pattern, lanes: bool, simd: Simd) -> &'static Kernel {
    CATALOGUE
        .iter()
        .find(|kernel| {
            matches!(kernel.call, Call::Lanes(_)) == lanes
                && matches!(kernel.call, Call::Rolled(_)) == pattern.rolled.is_some()
                && kernel.simd <= simd
                && (kernel.applies)(pattern)
        })
        .unwrap_or_else(|| unreachable!("the catalogue ends with kernels for any strides"))
}

/// The units of all steps in the order in which they are done: from the front of the destination to
/// its end, whichever step they belong to.
fn parts(steps: &[Step], moved_bytes: usize) -> Vec<Part> {
    let most = MOST_PART_BYTES.max(moved_bytes / MOST_PARTS);
    let mut parts: Vec<Part> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let units = step.units();
        let each = (most / step.unit_bytes()).max(1);
        let mut first = 0;
        while first < units {
            let end = first.saturating_add(each).min(units);
            parts.push(Part { step: number, first, end });
            first = end;
        }
    }
    if steps.len() > 1 {
        parts.sort_by_cached_key(|part| steps[part.step].dst_of(part.first));
    }
    parts
}

/// What each thread takes at a time: neighbouring parts, about as many bytes in each task.
fn tasks(parts: &[Part], steps: &[Step], threads: usize, moved_bytes: usize) -> Vec<Range<usize>> {
    let most = match threads {
        1 => usize::MAX,
        _ => (moved_bytes / (threads * TASKS_PER_THREAD)).max(LEAST_TASK_BYTES),
    };
    let mut tasks = Vec::new();
    let (mut first, mut bytes) = (0, 0usize);
    for (number, part) in parts.iter().enumerate() {
        bytes = bytes.saturating_add((part.end - part.first) * steps[part.step].unit_bytes());
        if bytes >= most || number + 1 == parts.len() {
            tasks.push(first..number + 1);
            (first, bytes) = (number + 1, 0);
        }
    }
    tasks
}
