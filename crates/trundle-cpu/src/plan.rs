//! The plan of a move as data. It can be printed and compared, and running it does not allocate memory.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use trundle_core::{Block, Move};

use crate::Machine;
use crate::buffers::Buffers;
use crate::cancellation::Cancellation;
use crate::parts::{StepPart, parts, tasks};
use crate::sub_byte::{self, SubByteSteps};
use crate::text::write_size;
use crate::threads::{for_each_task, threads_for};
use crate::tiles::{self, Step};

/// A planned move: its kernels, tiles and tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Minimum sizes of the buffers in bytes.
    pub(crate) src_bytes: usize,
    pub(crate) dst_bytes: usize,
    pub(crate) moved_bytes: usize,
    /// Greatest common divisor of all offsets and sizes in bytes; 0 if nothing is moved.
    pub(crate) grain_bytes: usize,
    pub(crate) threads: usize,
    pub(crate) work: PlanSteps,
    /// The units of all steps, grouped into parts, in execution order.
    pub(crate) parts: Vec<StepPart>,
    /// The tasks, as ranges of `parts`. Threads take them in this order.
    pub(crate) tasks: Vec<Range<usize>>,
    pub(crate) is_bijection: Checked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanSteps {
    /// Steps for elements of whole bytes, sorted by destination.
    Tiles(Vec<Step>),
    /// Boxes of sub-byte elements, which are unpacked, moved and packed.
    SubByte(SubByteSteps),
}

/// Whether the plan has been proved a bijection. Comparisons of plans ignore it.
#[derive(Debug, Default)]
pub(crate) struct Checked(AtomicBool);

impl Checked {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Clone for Checked {
    fn clone(&self) -> Checked {
        Checked(AtomicBool::new(self.get()))
    }
}

impl PartialEq for Checked {
    fn eq(&self, _: &Checked) -> bool {
        true
    }
}

impl Eq for Checked {}

impl Plan {
    pub(crate) fn of(work: &Move, machine: &Machine) -> Plan {
        let moved_bytes = work.moved_bytes();
        let (threads, parts, tasks, steps) = match work.packing() {
            None => {
                let threads = threads_for(moved_bytes, machine.threads);
                let steps = tiles::steps(work, threads, machine);
                let parts = parts(&steps, moved_bytes);
                let tasks = tasks(&parts, &steps, threads, moved_bytes);
                (threads, parts, tasks, PlanSteps::Tiles(steps))
            }
            Some(packing) => {
                let elements =
                    work.width() * work.blocks().iter().map(Block::elements).sum::<usize>();
                let threads = SubByteSteps::threads(elements, machine.threads);
                let packed = SubByteSteps::of(work, packing, machine);
                let parts = parts(&packed.steps, elements);
                let tasks = tasks(&parts, &packed.steps, threads, elements);
                (threads, parts, tasks, PlanSteps::SubByte(packed))
            }
        };
        Plan {
            src_bytes: work.src_bytes(),
            dst_bytes: work.dst_bytes(),
            moved_bytes,
            grain_bytes: work.grain_bytes(),
            threads,
            work: steps,
            parts,
            tasks,
            is_bijection: Checked::default(),
        }
    }

    /// Runs the plan. `cancellation` is checked before each part.
    ///
    /// # Safety
    /// `src` must be valid for reads of `src_bytes` bytes and `dst` for writes of `dst_bytes` bytes. They must not
    /// overlap, and nothing else may write to them during the run. If elements share bytes ([`Plan::shares_bytes`]),
    /// all bytes of both must be initialized.
    pub(crate) unsafe fn run(&self, src: *const u8, dst: *mut u8, cancellation: &Cancellation<'_>) {
        let buffers = Buffers { src, dst };
        for_each_task(self.threads, self.tasks.len(), &|task| {
            let (buffers, parts) = (&buffers, &self.parts[self.tasks[task].clone()]);
            // SAFETY: the move stays within the buffers, which are valid by the contract of this function. Bytes that
            // elements share are initialized.
            unsafe {
                match &self.work {
                    PlanSteps::Tiles(steps) => tiles::run(steps, parts, *buffers, 0, cancellation),
                    PlanSteps::SubByte(steps) => {
                        let src = std::slice::from_raw_parts(buffers.src, self.src_bytes);
                        sub_byte::run_parts(steps, parts, src, buffers.dst, cancellation);
                    }
                }
            }
        });
    }

    /// Returns the steps, sorted by destination. The result is empty if elements share bytes.
    pub fn steps(&self) -> &[Step] {
        match &self.work {
            PlanSteps::Tiles(steps) => steps,
            PlanSteps::SubByte(_) => &[],
        }
    }

    /// Whether elements share bytes. Such plans need initialized buffers.
    pub(crate) fn shares_bytes(&self) -> bool {
        matches!(self.work, PlanSteps::SubByte(_))
    }

    /// Returns the units of all steps, grouped into parts, in execution order.
    pub fn parts(&self) -> &[StepPart] {
        &self.parts
    }

    /// Returns the tasks, as ranges of [`Plan::parts`]. Threads take them in this order.
    pub fn tasks(&self) -> &[Range<usize>] {
        &self.tasks
    }

    /// Returns the approximate memory use of the plan in bytes.
    pub fn own_bytes(&self) -> usize {
        let work = match &self.work {
            PlanSteps::Tiles(steps) => tiles::own_bytes(steps),
            PlanSteps::SubByte(steps) => steps.own_bytes(),
        };
        work + size_of_val(&self.parts[..]) + size_of_val(&self.tasks[..])
    }

    /// Returns the maximum number of threads of a run.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of bytes written, which is also the number read.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_size(f, self.moved_bytes, self.tasks.len(), self.threads)?;
        match &self.work {
            PlanSteps::Tiles(steps) => tiles::write_steps(f, steps),
            PlanSteps::SubByte(steps) => write!(f, "{steps}"),
        }
    }
}
