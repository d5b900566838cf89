//! The CPU as a backend.

use trundle_core::{Backend, Error, Move, Result};

use crate::pipeline::check_buffer;
use crate::stop::Stop;
use crate::{Machine, Plan, Planner, execute};

/// Moves elements with this machine's CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    planner: Planner,
}

impl Cpu {
    /// As the machine is, with at most `threads` threads; `None` for as many as it has.
    pub fn new(threads: Option<usize>) -> Cpu {
        let machine = Machine::detect().clone();
        let threads = threads.unwrap_or(machine.threads).max(1);
        Cpu { planner: Planner::new(Machine { threads, ..machine }) }
    }

    /// With plans that `planner` makes: for other caches, threads or instructions.
    pub fn with_planner(planner: Planner) -> Cpu {
        Cpu { planner }
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

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        let too_large = |_| Error::TooLarge { what: format!("a buffer of {bytes} bytes") };
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(too_large)?;
        // Memory that the system gives zeroed, so that nothing is written twice.
        Ok(vec![0; bytes].into_boxed_slice())
    }

    fn bytes_of(&self, buffer: &[u8]) -> usize {
        buffer.len()
    }

    #[inline]
    fn run(&self, plan: &Plan, src: &[u8], dst: &mut [u8]) -> Result<()> {
        run(plan, src, dst, &Stop::never())
    }

    fn run_while(
        &self,
        plan: &Plan,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        run(plan, src, dst, &Stop::when_not(go_on))
    }
}

fn run(plan: &Plan, src: &[u8], dst: &mut [u8], stop: &Stop<'_>) -> Result<()> {
    check_buffer("data", plan.src_bytes, src.len())?;
    check_buffer("out", plan.dst_bytes, dst.len())?;
    // SAFETY: both buffers are long enough, and a shared and a unique reference to bytes
    // cannot overlap.
    unsafe { execute::run(plan, src.as_ptr(), dst.as_mut_ptr(), stop) };
    stop.outcome()
}
