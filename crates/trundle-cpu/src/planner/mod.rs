//! Which kernel, which tiles, which thread. What is right for a kernel, its row in the catalogue says.

mod filled;
mod gathered;
mod indexed;
mod loops;
mod roles;
mod roll;
mod tasks;

use trundle_core::{Block, Move, Run};
use trundle_kernels::{CATALOGUE, Kernel, Roles, Space, Store, Tuning};

pub(crate) use indexed::merged;
use roles::{Arranged, Assigned};
pub(crate) use roll::uncut;
use roll::{is_only_roll, outermost_cut};
use tasks::{parts, tasks};

use crate::Machine;
use crate::owned::Seen;
use crate::plan::{Place, Plan, RaggedLoop, RaggedStep, Step, Work};
use crate::sub_byte::SubByteSteps;
use crate::threads::{TASKS_PER_THREAD, threads_for};

/// What is the same for all steps of a plan.
#[derive(Clone, Copy)]
struct Common {
    /// The size of an element in bytes.
    width: usize,
    store: Store,
    /// About how many bytes a task has.
    share: usize,
    tuning: Tuning,
}

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

    /// The machine that it plans for.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// For the same machine, but on one thread.
    pub(crate) fn on_one_thread(&self) -> Planner {
        Planner::new(Machine { threads: 1, ..self.machine.clone() })
    }

    /// The best kernel of these roles that the machine can run.
    pub(crate) fn kernel_of(&self, roles: Roles) -> Option<&'static Kernel> {
        let is_it = |kernel: &&Kernel| kernel.roles == roles && kernel.simd <= self.machine.simd;
        CATALOGUE.iter().find(is_it)
    }

    /// The plan of a move.
    pub fn plan(&self, work: &Move) -> Plan {
        let (moved_bytes, width) = (work.moved_bytes(), work.width());
        let (total, threads, steps) = match work.packing() {
            None => {
                let threads = threads_for(moved_bytes, self.machine.threads);
                (moved_bytes, threads, Work::Tiles(self.steps(work, moved_bytes, threads)))
            }
            Some(packing) => {
                let elements = width * work.blocks().iter().map(Block::elements).sum::<usize>();
                let steps = SubByteSteps::of(work, packing, &self.machine);
                (
                    elements,
                    SubByteSteps::threads(elements, self.machine.threads),
                    Work::SubByte(steps),
                )
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
            is_bijection: Seen::default(),
        }
    }

    /// How the blocks are done.
    fn steps(&self, work: &Move, moved_bytes: usize, threads: usize) -> Vec<Step> {
        let is_large = moved_bytes > self.machine.tuning.streaming_bytes;
        let all = Common {
            width: work.width(),
            store: if is_large { Store::Streaming } else { Store::Ordinary },
            share: moved_bytes / (threads * TASKS_PER_THREAD),
            tuning: self.machine.tuning,
        };
        let mut steps = Vec::with_capacity(work.blocks().len());
        for block in work.blocks() {
            self.put_steps(block, all, &mut steps);
        }
        steps
    }

    /// How one block is done. What is cut at one step are two blocks, the outermost first; but for the last,
    /// if it is rolled and a kernel can.
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

    /// How one block is done as one step. If one of its loops is rolled but no kernel is there for it, the
    /// answer is none.
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
        let (width, place) = (roles.width, roles.place);
        let (arranged, (row_block, col_block), tables) = match kernel.roles {
            Roles::Gathered | Roles::Bits => gathered::arrange(kernel, roles, share)?,
            _ => {
                let arranged = roles.arrange(kernel.roles);
                let tile = kernel.tile(&Space {
                    pattern: arranged.pattern(width),
                    ragged_rows: place == Place::Rows,
                    ragged_cols: place == Place::Cols,
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
            ragged: row.map(|row| RaggedStep { row, place, second }),
            indexed: None,
            tuning,
        })
    }

    /// The first kernel of the catalogue that wants such roles and is right for the pattern.
    fn pick(&self, roles: &Assigned, run: Option<&Run>) -> Option<&'static Kernel> {
        let pattern = roles.pattern(run);
        let suits = |kernel: &&Kernel| kernel.simd <= self.machine.simd && roles.suit(kernel.roles);
        CATALOGUE.iter().filter(suits).find(|kernel| kernel.applies(&pattern))
    }
}
