//! The conformance suite: the output buffer must equal the oracle's in every byte, including those between and around
//! the elements.

mod case;
mod check;
mod conditions;
mod gathers;
mod reversals;
mod rolls;
mod sweeps;
mod swept;
mod transposes;

use proptest::test_runner::TestCaseError;

pub use case::Case;
pub use check::check;
pub(crate) use check::{hold, new_buffer, noise, run};
pub use sweeps::{large, sweeps};

use crate::{Testable, holds};

/// Runs part `share` of `shares` of the suite: fixed, large and random cases. All parts together run every fixed case;
/// each has some of every kind, and its share of the random cases. The whole suite takes seconds.
///
/// # Panics
/// At the first case that differs from the oracle, with what is needed to repeat it.
pub fn conformance<B: Testable>(backend: &B, share: usize, shares: usize) {
    let swept = sweeps().enumerate().filter(|(number, _)| {
        // Consecutive cases differ in one parameter, so every n-th would be too similar.
        let mixed = (*number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        mixed as usize % shares == share
    });
    sweep(backend, swept.map(|(_, case)| case));
    let cases = |all: u32| all.div_ceil(u32::try_from(shares).unwrap_or(u32::MAX));
    random(backend, cases(2000), 300);
    random(backend, cases(100), 5000);
    many_axes(backend, cases(1000), 300);
    many_axes(backend, cases(200), 20_000);
    shaping(backend, cases(1000), 300);
    shaping(backend, cases(100), 5000);
    sweep(backend, large());
}

/// Runs the cases.
///
/// # Panics
/// At the first case that differs from the oracle.
pub fn sweep<B: Testable>(backend: &B, cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        if let Err(failure) = check(backend, &case) {
            panic!("{failure}");
        }
    }
}

/// Runs random cases with at most `most_elements` elements each.
///
/// # Panics
/// If a case differs from the oracle, with the smallest one found, and the seed.
pub fn random<B: Testable>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::any(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

/// Like [`random`], with many short axes.
///
/// # Panics
/// As [`random`].
pub fn many_axes<B: Testable>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::many_axes(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

/// Like [`random`], with some cases that split and merge axes.
///
/// # Panics
/// As [`random`].
pub fn shaping<B: Testable>(backend: &B, cases: u32, most_elements: usize) {
    holds(cases, &Case::shaping(most_elements), |case| {
        check(backend, &case).map_err(TestCaseError::fail)
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::everything;
    use crate::pair_by_pair::{Bytewise, Cells, Fault, PairByPair};

    #[test]
    fn a_backend_that_moves_pair_by_pair_conforms() {
        conformance(&PairByPair::<[u8]>::default(), 0, if everything() { 1 } else { 48 });
    }

    #[test]
    fn a_backend_with_buffers_other_than_slices_conforms() {
        conformance(&PairByPair::<Cells>::default(), 1, if everything() { 8 } else { 64 });
    }

    #[test]
    fn buffers_other_than_slices_hold_packed_elements() {
        crate::sub_byte::conformance(&PairByPair::<Cells>::default());
    }

    fn check_faults<Buffer: Bytewise + ?Sized>()
    where
        PairByPair<Buffer>: Testable,
    {
        for fault in [
            Fault::LastElementMissing,
            Fault::WritesPastAnElement,
            Fault::ReadsTheNextElement,
            Fault::WritesBeforeRefusing,
            Fault::AcceptsShortBuffers,
            Fault::ClearsGaps,
            Fault::ContinuesAfterAStop,
            Fault::WritesAfterAStop,
            Fault::NewBuffersAreNotZero,
            Fault::FilledBuffersDiffer,
        ] {
            let backend = PairByPair::<Buffer>::with(fault);
            let run = AssertUnwindSafe(|| random(&backend, 2000, 300));
            assert!(catch_unwind(run).is_err(), "{fault:?} is not found");
        }
    }

    #[test]
    fn every_fault_of_a_backend_is_found() {
        check_faults::<[u8]>();
        check_faults::<Cells>();
    }
}
