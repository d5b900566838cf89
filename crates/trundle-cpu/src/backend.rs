//! Implements [`Backend`] for the CPU.

use std::fmt;

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, PassPlan, Result};

use crate::cancellation::Cancellation;
use crate::large_pages::prefer_large_pages;
use crate::{FilledPlan, InPlacePlan, Machine, Plan, Planner};

/// Runs moves on the CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    planner: Planner,
}

impl Cpu {
    /// Uses the detected machine with at most `threads` threads. `None` means the [default number](crate::threads).
    pub fn new(threads: Option<usize>) -> Cpu {
        let machine = Machine::detect().clone();
        let threads = threads.unwrap_or_else(crate::threads).max(1);
        Cpu { planner: Planner::new(Machine { threads, ..machine }) }
    }

    /// Uses `planner`, for example to plan for other caches, thread counts or instruction sets.
    pub fn with_planner(planner: Planner) -> Cpu {
        Cpu { planner }
    }

    /// Plans `work` within one buffer, which is source and destination, with at most `most_scratch` bytes of scratch
    /// memory. Returns `None` if that is not possible.
    pub fn plan_in_place(&self, work: &Move, most_scratch: usize) -> Option<InPlacePlan> {
        self.planner.plan_in_place(work, most_scratch)
    }

    /// Plans a move and the fill around it together, for slices of any type; see [`Backend::plan_pass`].
    pub fn plan_slices<T: Copy + 'static>(
        &self,
        parts: &[&Move],
    ) -> Option<Box<dyn PassPlan<[T]>>> {
        let [one, other] = parts else { return None };
        let filled = |rows, around, fill: usize| {
            let plan = self.planner.plan_filled(rows, around)?;
            Some(Box::new(Filled { plan, fill }) as Box<dyn PassPlan<[T]>>)
        };
        filled(one, other, 1).or_else(|| filled(other, one, 0))
    }
}

#[derive(Debug)]
struct Filled {
    plan: FilledPlan,
    /// The source that holds the fill element.
    fill: usize,
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<T: Copy> PassPlan<[T]> for Filled {
    fn run_while(
        &self,
        sources: &[&[T]],
        dst: &mut [T],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let source = |index: usize| sources.get(index).copied().unwrap_or_default();
        self.plan.run_slice_while(source(1 - self.fill), source(self.fill), dst, go_on)
    }
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu::new(None)
    }
}

impl Backend for Cpu {
    type Buffer = [u8];
    type Plan = Plan;

    fn plan(&self, work: &Move) -> Plan {
        self.planner.plan(work)
    }

    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<[u8]>>> {
        self.plan_slices(parts)
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        let too_large = |_| Error::too_large(format!("a buffer of {bytes} bytes"));
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(too_large)?;
        // The system provides zeroed pages, so no zeros are written here.
        let mut buffer: Vec<u8> = vec![0; bytes];
        prefer_large_pages(&mut buffer);
        Ok(buffer.into_boxed_slice())
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<[u8]>> {
        let mut buffer = self.buffer(bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(buffer)
    }

    fn bytes_of(&self, buffer: &[u8]) -> usize {
        buffer.len()
    }

    #[inline]
    fn run(&self, plan: &Plan, src: &[u8], dst: &mut [u8]) -> Result<()> {
        // SAFETY: a shared and a unique reference to initialized bytes cannot overlap.
        unsafe { plan.run_raw(src, dst, &Cancellation::never()) }
    }

    fn run_while(
        &self,
        plan: &Plan,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        // SAFETY: as in `run`.
        unsafe { plan.run_raw(src, dst, &Cancellation::when_not(go_on)) }
    }
}
