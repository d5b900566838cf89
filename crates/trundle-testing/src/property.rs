//! Property tests, which report how to repeat them and write no files.

use std::hash::{BuildHasher, RandomState};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// The result of a law for one case.
pub type Outcome = Result<(), TestCaseError>;

/// Checks a law on random values. The seed is new each time, unless `PROPTEST_RNG_SEED` sets it.
///
/// # Panics
/// If the law fails, with the smallest failing value found, and the seed.
pub fn holds<S: Strategy>(cases: u32, values: &S, law: impl Fn(S::Value) -> Outcome) {
    let mut config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(cases),
    };
    config.rng_seed = RngSeed::Fixed(seed);
    if let Err(failure) = TestRunner::new(config).run(values, law) {
        panic!("{failure}\nrun it again with PROPTEST_RNG_SEED={seed}");
    }
}
