//! Plans of moves, for one machine.

use trundle_core::Move;

use crate::{Machine, Plan};

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

    /// The plan of a move.
    pub fn plan(&self, work: &Move) -> Plan {
        Plan::of(work, &self.machine)
    }
}
