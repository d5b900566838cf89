//! The planner for one machine.

use trundle_core::Move;

use crate::{Machine, Plan};

/// Plans moves for one machine.
#[derive(Clone, Debug)]
pub struct Planner {
    machine: Machine,
}

impl Planner {
    /// Makes a planner for `machine`. A plan uses at most `machine.threads` threads.
    ///
    /// # Panics
    /// Panics if the CPU that runs this program lacks the instruction set of `machine`.
    pub fn new(machine: Machine) -> Planner {
        let simd = Machine::detect().simd;
        assert!(machine.simd.is_available(), "this machine has {simd}, not {}", machine.simd);
        Planner { machine }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns a planner for the same machine with one thread.
    pub(crate) fn on_one_thread(&self) -> Planner {
        Planner::new(Machine { threads: 1, ..self.machine.clone() })
    }

    /// Plans a move.
    pub fn plan(&self, work: &Move) -> Plan {
        Plan::of(work, &self.machine)
    }
}
