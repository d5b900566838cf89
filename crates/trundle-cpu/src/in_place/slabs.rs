//! Moves a tensor in slabs: boxes that stay in place, each through scratch.

use std::fmt;

use trundle_core::Move;

use super::limits::Limits;
use super::memory::{Around, Scratch, SharedBuffer};
use super::pass::Pass;
use crate::cancellation::Cancellation;
use crate::text::plural;
use crate::threads::for_each_task;
use crate::{Machine, Plan};

#[derive(Clone, Debug)]
pub(super) struct Slabs {
    offset: usize,
    around: Around,
    bytes: usize,
    /// Moves a slab from scratch to its place, in its new order.
    plan: Plan,
    threads: usize,
}

impl Slabs {
    /// Makes slabs of `bytes` bytes. `plan` moves one slab, on one thread.
    pub(super) fn new(
        offset: usize,
        around: Around,
        bytes: usize,
        plan: Plan,
        limits: Limits,
    ) -> Slabs {
        let threads = limits.threads.min(around.count());
        Slabs { offset, around, bytes, plan, threads }
    }

    /// Returns `None` if the scratch of a thread cannot hold a slab.
    pub(super) fn of(work: &Move, limits: Limits, machine: &Machine) -> Option<Slabs> {
        let slabs = work.slabs(limits.slab())?;
        let plan = Plan::of(&slabs.within, machine);
        Some(Slabs::new(slabs.offset, Around::new(slabs.around), slabs.bytes, plan, limits))
    }
}

impl Pass for Slabs {
    fn scratch_bytes(&self) -> usize {
        self.threads * self.bytes
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let scratch = Scratch::new(self.bytes);
        for_each_task(self.threads, self.around.count(), &|slab| {
            let start = memory.at(self.offset + self.around.offset(slab));
            scratch.with(|own| {
                // SAFETY: slabs do not overlap, and the scratch has space for one.
                unsafe {
                    std::ptr::copy_nonoverlapping(start, own.as_mut_ptr(), self.bytes);
                    self.plan.run(own.as_ptr(), start, &Cancellation::never());
                }
            });
        });
    }
}

impl fmt::Display for Slabs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, bytes) = (self.around.count(), self.bytes);
        write!(f, "{count} slab{} of {bytes} bytes, each through scratch", plural(count))?;
        let step = self.plan.steps().first();
        step.map_or(Ok(()), |step| write!(f, ", by {}", step.kernel.name))
    }
}
