//! Which kernel, which tiles, which thread: every choice in one place.

mod loops;
mod tasks;
mod tiles;

use trundle_core::{Block, Loop, Move, RaggedLoop};

use loops::{Loops, Picked, rising};
use tasks::{TASKS_PER_THREAD, parts, tasks};
use tiles::{RUN_UNIT_BYTES, tile, transposed_tile};

use crate::packed::PackedSteps;
use crate::plan::{Place, Plan, RaggedStep, Rolled, Step, Work};
use crate::rolled::RolledBlock;
use crate::{Machine, Simd};
use trundle_kernels::simd::LINE;
use trundle_kernels::{CATALOGUE, Kernel, Pattern, Roles, Store};

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
        let most_threads = self.machine.threads.clamp(1, MOST_THREADS);
        let (moved_bytes, width) = (work.moved_bytes(), work.width());
        let (total, threads, steps) = match work.packing() {
            None => {
                let threads = (moved_bytes / LEAST_THREAD_BYTES).clamp(1, most_threads);
                (moved_bytes, threads, Work::Tiles(self.steps(work, moved_bytes, threads)))
            }
            Some(packing) => {
                let elements = width * work.blocks().iter().map(Block::elements).sum::<usize>();
                let steps = PackedSteps::of(work, packing, &self.machine);
                (elements, PackedSteps::threads(elements, most_threads), Work::Packed(steps))
            }
        };
        let parts = parts(&steps, total);
        let tasks = tasks(&parts, &steps, threads, total);
        Plan {
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes,
            grain_bytes: work.grain_bytes(),
            threads,
            work: steps,
            parts,
            tasks,
        }
    }

    /// How the blocks are done, those of rolled axes in pairs where a kernel can.
    fn steps(&self, work: &Move, moved_bytes: usize, threads: usize) -> Vec<Step> {
        let is_large = moved_bytes > self.machine.l3_bytes / 2;
        let store = if is_large { Store::Streaming } else { Store::Ordinary };
        let share = moved_bytes / (threads * TASKS_PER_THREAD);
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
        let lines = store == Store::Streaming && is_transpose_of_lines(block, width);
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
            let wrapped = (
                rows.len * loops.next_in_source(rows).map_or(1, |at| loops.plain[at].len),
                cols.len * loops.next_in_destination(cols).map_or(1, |at| loops.plain[at].len),
            );
            let roles: &[Roles] = match place {
                Place::Lanes => &[Roles::Lanes, Roles::Slabs],
                _ if rolled_run.is_some() => &[Roles::Rolled],
                _ => &[Roles::Plain, Roles::Jumping],
            };
            pick_kernel(&pattern(width, rows, cols, wrapped), roles, self.machine.simd)
        };
        let kernel = pick(|ragged| ragged.first.src_stride);
        let second = pick(|ragged| ragged.second.src_stride);
        let jumps = kernel.roles == Roles::Jumping;
        let plain = place == Place::Outer;
        let (mut rows, cols) = (rows.each(), cols.each());
        let mut begin = (0, 0);
        let rolled = match (rolled, rolled_run) {
            (_, Some(first)) => (cols.len <= RUN_UNIT_BYTES).then_some(Rolled::Cols(first)),
            (Some(rolled), _) if jumps && rolled.along == cols => Some(Rolled::Cols(rolled.first)),
            (Some(rolled), _) if jumps && rolled.along == rows => {
                let at;
                (rows, begin, at) = rolled.rising_rows();
                Some(at)
            }
            _ => None,
        };
        if plain && jumps && rows.src_stride < 0 {
            (rows, begin) = rising(rows);
        }
        let (mut row_wrap, mut col_wrap) = (None, None);
        if kernel.roles == Roles::Slabs {
            row_wrap = loops.take_slabs(rows, cols.len * width);
        } else if plain && jumps {
            col_wrap = loops.next_in_destination(cols).map(|at| loops.plain.remove(at));
            row_wrap = loops.next_in_source(rows).map(|at| loops.plain.remove(at));
        }
        let wrapped = |each: Loop, wrap: Option<Loop>| each.len * wrap.map_or(1, |wrap| wrap.len);
        let counts = (wrapped(rows, row_wrap), wrapped(cols, col_wrap));
        let (row_block, col_block) = if plain && jumps {
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
            row_wrap,
            cols,
            col_wrap,
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
fn pattern(width: usize, rows: Loop, cols: Loop, wrapped: (usize, usize)) -> Pattern {
    Pattern {
        width,
        row_strides: (rows.src_stride, rows.dst_stride),
        col_strides: (cols.src_stride, cols.dst_stride),
        lens: (rows.len, cols.len),
        wrapped,
    }
}

/// The first kernel of the catalogue that is right for the pattern.
fn pick_kernel(pattern: &Pattern, roles: &[Roles], simd: Simd) -> &'static Kernel {
    CATALOGUE
        .iter()
        .find(|kernel| {
            roles.contains(&kernel.roles)
                && kernel.simd <= simd
                && (kernel.applies)(pattern, kernel.simd.vector_bytes())
        })
        .unwrap_or_else(|| unreachable!("the catalogue ends with kernels for any strides"))
}
