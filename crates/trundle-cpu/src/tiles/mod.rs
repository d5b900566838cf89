//! Plans and runs moves of elements of whole bytes, as steps of tiles. The kernel of a step is the first one in the
//! catalogue that applies to its pattern.

mod gathered;
mod indexed;
mod loops;
mod roles;
mod roll;
mod run;
mod step;

use std::fmt;

use trundle_core::{Block, Move, Run};
use trundle_kernels::{CATALOGUE, Kernel, Roles, Space, StoreKind, Tables, Tuning};

pub(crate) use indexed::merged;
pub(crate) use roles::pattern;
use roles::{Arranged, Assigned};
pub(crate) use roll::uncut;
pub(crate) use run::run;
pub use step::{RaggedLoop, RaggedRole, RaggedStep, Rolled, Step};

use roll::{is_only_roll, outermost_cut};

use crate::Machine;
use crate::buffers::Buffers;
use crate::cancellation::Cancellation;
use crate::parts::{StepPart, parts};
use crate::text::write_size;
use crate::threads::TASKS_PER_THREAD;

/// Parameters common to all steps of a plan.
#[derive(Clone, Copy)]
struct Common {
    width: usize,
    store: StoreKind,
    /// Approximate number of bytes per task.
    share: usize,
    tuning: Tuning,
}

pub(crate) fn steps(work: &Move, threads: usize, machine: &Machine) -> Vec<Step> {
    let all = Common {
        width: work.width(),
        store: store_of(work.moved_bytes(), machine),
        share: work.moved_bytes() / (threads * TASKS_PER_THREAD),
        tuning: machine.tuning,
    };
    steps_of(work.blocks(), all, machine)
}

fn steps_of(blocks: &[Block], all: Common, machine: &Machine) -> Vec<Step> {
    let mut steps = Vec::with_capacity(blocks.len());
    for block in blocks {
        Picker { machine }.put_steps(block, all, &mut steps);
    }
    steps
}

/// Returns the stores of a move of this size.
pub(crate) fn store_of(moved_bytes: usize, machine: &Machine) -> StoreKind {
    let is_large = moved_bytes > machine.tuning.streaming_bytes;
    if is_large { StoreKind::Streaming } else { StoreKind::Ordinary }
}

/// Returns the approximate memory use of steps in bytes.
pub(crate) fn own_bytes(steps: &[Step]) -> usize {
    let outer = |step: &Step| {
        size_of_val(&step.outer[..]) + step.tables.as_ref().map_or(0, Tables::own_bytes)
    };
    size_of_val(steps) + steps.iter().map(outer).sum::<usize>()
}

pub(crate) fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[Step]) -> fmt::Result {
    let mut steps = steps.iter().enumerate();
    steps.try_for_each(|(index, step)| write!(f, "\n  step {index}: {step}"))
}

/// The plan of a small move inside a larger plan. It runs on the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TilePlan {
    pub(crate) src_bytes: usize,
    pub(crate) dst_bytes: usize,
    moved_bytes: usize,
    pub(crate) steps: Vec<Step>,
    parts: Vec<StepPart>,
}

impl TilePlan {
    /// Plans a move of elements of whole bytes.
    pub(crate) fn of(work: &Move, machine: &Machine) -> TilePlan {
        TilePlan::of_part(work, store_of(work.moved_bytes(), machine), machine)
    }

    /// Plans a part of a larger move, which uses these stores.
    pub(crate) fn of_part(work: &Move, store: StoreKind, machine: &Machine) -> TilePlan {
        let bytes = (work.src_bytes(), work.dst_bytes());
        TilePlan::of_blocks(work.blocks(), work.width(), bytes, store, machine)
    }

    /// Plans a move of this block of single bytes.
    pub(crate) fn of_block(block: &Block, bytes: (usize, usize), machine: &Machine) -> TilePlan {
        TilePlan::of_blocks(std::slice::from_ref(block), 1, bytes, StoreKind::Ordinary, machine)
    }

    fn of_blocks(
        blocks: &[Block],
        width: usize,
        (src_bytes, dst_bytes): (usize, usize),
        store: StoreKind,
        machine: &Machine,
    ) -> TilePlan {
        let moved_bytes = width * blocks.iter().map(Block::elements).sum::<usize>();
        let share = moved_bytes / TASKS_PER_THREAD;
        let all = Common { width, store, share, tuning: machine.tuning };
        let steps = steps_of(blocks, all, machine);
        let parts = parts(&steps, moved_bytes);
        TilePlan { src_bytes, dst_bytes, moved_bytes, steps, parts }
    }

    /// Returns the approximate memory use of the plan in bytes.
    pub(crate) fn own_bytes(&self) -> usize {
        own_bytes(&self.steps) + size_of_val(&self.parts[..])
    }

    /// Runs the plan. `entries` is added to every index into the tables of lengths.
    ///
    /// # Safety
    /// `src` must be valid for reads of `src_bytes` bytes and `dst` for writes of `dst_bytes` bytes. They must not
    /// overlap, and nothing else may write to them during the run. The tables must have the entries at these indices.
    pub(crate) unsafe fn run(&self, src: *const u8, dst: *mut u8, entries: isize) {
        let buffers = Buffers { src, dst };
        // SAFETY: the move stays within the buffers, which the caller guarantees to be valid.
        unsafe { run(&self.steps, &self.parts, buffers, entries, &Cancellation::never()) };
    }
}

impl fmt::Display for TilePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_size(f, self.moved_bytes, usize::from(!self.parts.is_empty()), 1)?;
        write_steps(f, &self.steps)
    }
}

/// Picks the kernels of steps and the loops of their tiles.
#[derive(Clone, Copy)]
struct Picker<'a> {
    machine: &'a Machine,
}

impl Picker<'_> {
    /// Plans a block. At the outermost loop that is cut at a constant index, the block is split in two, unless this is
    /// a roll, the only cut, and a kernel supports it.
    fn put_steps(&self, block: &Block, all: Common, steps: &mut Vec<Step>) {
        let cut = outermost_cut(block);
        if cut.is_none() && !block.indices.is_empty() {
            return steps.push(self.indexed_step(block, all));
        }
        if block.indices.is_empty()
            && cut.is_none_or(|at| is_only_roll(block, at))
            && let Some(step) = self.step(block, all)
        {
            return steps.push(step);
        }
        let Some(halves) = cut.and_then(|at| block.halves(at)) else {
            unreachable!("the catalogue ends with kernels for any strides")
        };
        for half in &halves {
            self.put_steps(half, all, steps);
        }
    }

    /// Plans a block as one step, or returns `None` if a loop is rolled and no kernel supports that.
    fn step(&self, block: &Block, all: Common) -> Option<Step> {
        let Common { width, store, share, tuning } = all;
        let roles = Assigned::of(block, width, store);
        let is_rolled = roles.is_rolled();
        let ragged = block.ragged().map(|at| &block.loops[at]);
        let runs = ragged.and_then(|each| each.cut_by_table()).map(|(cut, _)| cut);
        let kernel = self.pick(&roles, runs.map(|cut| &cut.first))?;
        let second = match runs {
            Some(cut) => self.pick(&roles, Some(&cut.second))?,
            None => kernel,
        };
        let store = kernel.store(store).max(second.store(store));
        let (width, role) = (roles.width, roles.role);
        let (arranged, (row_block, col_block), tables) = match kernel.roles {
            Roles::Gathered | Roles::Bits => gathered::arrange(kernel, roles, share)?,
            _ => {
                let arranged = roles.arrange(kernel.roles);
                let tile = kernel.tile(&Space {
                    pattern: arranged.pattern(width),
                    ragged_rows: role == RaggedRole::Rows,
                    ragged_cols: role == RaggedRole::Cols,
                    store,
                    share,
                    tuning,
                });
                (arranged, tile, None)
            }
        };
        if is_rolled && arranged.rolled.is_none() {
            return None;
        }
        let Arranged { outer, rows, row_wrap, cols, col_wrap, table_strides, rolled, begin } =
            arranged;
        let row = ragged.and_then(|each| {
            let (mut strides, of_tile) = table_strides;
            strides.extend(of_tile);
            RaggedLoop::of(each, strides)
        });
        Some(Step {
            kernel,
            store,
            width,
            src_offset: block.src_offset + begin.0,
            dst_offset: block.dst_offset + begin.1,
            outer,
            rows,
            row_wrap,
            cols,
            col_wrap,
            rolled,
            row_block,
            col_block,
            tables,
            ragged: row.map(|row| RaggedStep { row, role, second }),
            indexed: None,
            tuning,
        })
    }

    /// Returns the first kernel of the catalogue that has these roles, applies to their pattern in `run` of a ragged
    /// loop, and runs on this machine.
    fn pick(&self, roles: &Assigned, run: Option<&Run>) -> Option<&'static Kernel> {
        let pattern = roles.pattern(run);
        let suits = |kernel: &&Kernel| kernel.is_for(self.machine.simd) && roles.suit(kernel.roles);
        CATALOGUE.iter().filter(suits).find(|kernel| kernel.applies(&pattern))
    }
}
