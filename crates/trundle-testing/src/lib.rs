//! Tests for trundle: the naive oracle, random cases, and one conformance suite for any backend.
//!
//! The oracle implements the operators' specifications element by element. It shares only the names of shapes
//! and layouts with the code under test: no index maps, no moves, no axis arithmetic.

pub mod cases;
pub mod choices;
mod composed;
mod guarded;
mod noise;
mod operator;
mod oracle;
mod pair_by_pair;
pub mod patterns;
pub mod programs;
mod property;
pub mod shapings;
pub mod sub_byte;
pub mod suite;
mod testable;

pub use composed::{MOST_BOXES, composed, one_pass};
pub use guarded::{Flush, Guarded};
pub use noise::{inverted, noise};
pub use operator::PlainOp;
pub use oracle::{Naive, indices, read_elements, write_elements};
pub use pair_by_pair::{Bytewise, Cells, PairByPair};
pub use property::{Outcome, holds};
pub use testable::{TestBuffer, Testable};

/// Whether to run all tests, however long they take (`TRUNDLE_TESTS=all`), as CI does. Otherwise each of the
/// longest tests runs a part, a different one in each of its cases.
pub fn everything() -> bool {
    std::env::var_os("TRUNDLE_TESTS").is_some_and(|tests| tests == "all")
}

/// The examples of the README, as tests. They are here because a published crate contains only the files in
/// its folder.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
