//! Implements [`Backend`] for the CPU.

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, PassPlan, Result};

use crate::cancellation::Cancellation;
use crate::filled::FilledPlan;
use crate::large_pages::prefer_large_pages;
use crate::{InPlacePlan, Machine, Plan};

/// Runs moves on the CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    machine: Machine,
}

impl Cpu {
    /// Uses the detected machine with at most `threads` threads. `None` means the [default number](crate::threads).
    pub fn new(threads: Option<usize>) -> Cpu {
        let threads = threads.unwrap_or_else(crate::threads).max(1);
        Cpu { machine: Machine { threads, ..Machine::detect().clone() } }
    }

    /// Plans for `machine`, for example for other caches, thread counts or instruction sets.
    ///
    /// # Panics
    /// Panics if the CPU that runs this program lacks the instruction set of `machine`.
    pub fn with_machine(machine: Machine) -> Cpu {
        let simd = Machine::detect().simd;
        assert!(machine.simd.is_available(), "this machine has {simd}, not {}", machine.simd);
        Cpu { machine }
    }

    /// Plans `work` within one buffer, which is source and destination, with at most `most_scratch` bytes of scratch
    /// memory. Returns `None` if that is not possible.
    pub fn plan_in_place(&self, work: &Move, most_scratch: usize) -> Option<InPlacePlan> {
        InPlacePlan::of(work, most_scratch, &self.machine)
    }

    /// Plans a move and the fill around it together, for slices of any type; see [`Backend::plan_pass`].
    pub fn plan_slices<T: Copy + 'static>(
        &self,
        parts: &[&Move],
    ) -> Option<Box<dyn PassPlan<[T]>>> {
        let parts = parts.try_into().ok()?;
        let plan = FilledPlan::of(parts, 1, &self.machine);
        let plan = plan.or_else(|| FilledPlan::of(parts, 0, &self.machine))?;
        Some(Box::new(plan))
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
        Plan::of(work, &self.machine)
    }

    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<[u8]>>> {
        self.plan_slices(parts)
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        let mut buffer = zeros(bytes)?;
        prefer_large_pages(&mut buffer);
        Ok(buffer)
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

/// Allocates a buffer, without asking for large pages.
///
/// # Errors
/// [`TooLarge`](trundle_core::ShapeError::TooLarge) if the memory is not enough.
pub(crate) fn zeros(bytes: usize) -> Result<Box<[u8]>> {
    let too_large = |_| Error::too_large(format!("a buffer of {bytes} bytes"));
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(too_large)?;
    // The system provides zeroed pages, so no zeros are written here.
    Ok(vec![0; bytes].into_boxed_slice())
}
