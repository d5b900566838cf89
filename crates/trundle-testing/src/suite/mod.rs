//! One suite for any backend: whatever it plans, the output buffer must come out as the oracle
//! says, byte for byte, the bytes between and around the elements included.

mod case;
mod check;
mod conditions;
mod reversals;
mod rolls;
mod sweeps;
mod transposes;

use proptest::test_runner::TestCaseError;
use trundle_core::Backend;

pub use case::Case;
pub use check::check;
pub(crate) use check::noise;
pub use sweeps::{large, sweeps};

use crate::holds;

/// The whole suite: thousands of swept cases, large ones, and random ones. Takes seconds.
///
/// # Panics
/// At the first case that does not come out as the oracle has it, with what repeats it.
pub fn conformance<B: Backend>(backend: &B) {
    share_of_conformance(backend, 0, 1);
}

/// Share `share` of `shares` of the suite: the swept cases are dealt out, so that all shares have all
/// of them, and each has some of every sweep. Of the random ones each has its part.
///
/// # Panics
/// As [`conformance`].
pub fn share_of_conformance<B: Backend>(backend: &B, share: usize, shares: usize) {
    let swept = sweeps().enumerate().filter(|(number, _)| {
        // Neighbours differ in one thing each, so that every so many of them would be alike.
        let mixed = (*number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        mixed as usize % shares == share
    });
    sweep(backend, swept.map(|(_, case)| case));
    let cases = |all: u32| all.div_ceil(u32::try_from(shares).unwrap_or(u32::MAX));
    random(backend, cases(2000), 300);
    random(backend, cases(100), 5000);
    shaping(backend, cases(1000), 300);
    shaping(backend, cases(100), 5000);
    sweep(backend, large());
}

/// Runs each of `cases`.
///
/// # Panics
/// At the first case that does not come out as the oracle has it.
pub fn sweep<B: Backend>(backend: &B, cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        if let Err(failure) = check(backend, &case) {
            panic!("{failure}");
        }
    }
}

/// Runs random cases of up to `most_elements` each.
///
/// # Panics
/// If one does not come out as the oracle has it: with the smallest found, and the seed.
pub fn random<B: Backend>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::any(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

/// Runs random cases of up to `most_elements` each, whose axes are split and merged too.
///
/// # Panics
/// As [`random`].
pub fn shaping<B: Backend>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::shaping(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use trundle_core::{Error, Move};

    use super::*;

    /// A backend that copies pair by pair, with a fault if asked for.
    struct PairByPair {
        fault: Fault,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        LastElementMissing,
        WritesBehindAnElement,
        ReadsTheNeighbour,
        WritesBeforeItRefuses,
        AcceptsShortBuffers,
        ClearsWhatLiesBetween,
    }

    impl Backend for PairByPair {
        type Plan = Move;

        fn plan(&self, work: &Move) -> Move {
            work.clone()
        }

        fn run(&self, plan: &Move, src: &[u8], dst: &mut [u8]) -> trundle_core::Result<()> {
            if self.fault == Fault::WritesBeforeItRefuses && !dst.is_empty() {
                dst[0] ^= 1;
            }
            let shorter =
                [("data", plan.src_bytes(), src.len()), ("out", plan.dst_bytes(), dst.len())];
            for (argument, needed, buffer) in shorter {
                if buffer < needed && self.fault == Fault::AcceptsShortBuffers {
                    return Ok(());
                }
                if buffer < needed {
                    let end = needed.cast_signed();
                    return Err(Error::OutOfBounds { argument, first: 0, end, buffer });
                }
            }
            if self.fault == Fault::WritesBeforeItRefuses && !dst.is_empty() {
                dst[0] ^= 1;
            }
            if self.fault == Fault::ClearsWhatLiesBetween {
                dst[..plan.dst_bytes()].fill(0);
            }
            let mut pairs = Vec::new();
            plan.for_each_pair(|from, to| pairs.push((from, to)));
            if self.fault == Fault::LastElementMissing {
                pairs.pop();
            }
            for (from, to) in pairs {
                let next = self.fault == Fault::ReadsTheNeighbour
                    && from + 2 * plan.width() <= plan.src_bytes();
                let from = from + if next { plan.width() } else { 0 };
                dst[to..to + plan.width()].copy_from_slice(&src[from..from + plan.width()]);
                if self.fault == Fault::WritesBehindAnElement
                    && to + plan.width() == plan.dst_bytes()
                {
                    dst[to + plan.width()] = 0;
                }
            }
            Ok(())
        }
    }

    #[test]
    fn a_backend_that_reads_the_move_as_it_is_conforms() {
        conformance(&PairByPair { fault: Fault::None });
    }

    #[test]
    fn every_fault_of_a_backend_is_found() {
        for fault in [
            Fault::LastElementMissing,
            Fault::WritesBehindAnElement,
            Fault::ReadsTheNeighbour,
            Fault::WritesBeforeItRefuses,
            Fault::AcceptsShortBuffers,
            Fault::ClearsWhatLiesBetween,
        ] {
            let backend = PairByPair { fault };
            let run = AssertUnwindSafe(|| random(&backend, 2000, 300));
            assert!(catch_unwind(run).is_err(), "{fault:?} is not found");
        }
    }
}
