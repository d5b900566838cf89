//! Tests of trundle: a naive oracle, random cases, and a conformance suite for every backend.
//!
//! The oracle implements the specifications of the operators element by element. It shares only the types of shapes and
//! layouts with the code under test: no index maps, moves or arithmetic on axes.

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

/// Whether to run all tests, however long they take, as CI does (`TRUNDLE_TESTS=all`). Otherwise, the longest tests run
/// a part of their cases.
pub fn everything() -> bool {
    std::env::var_os("TRUNDLE_TESTS").is_some_and(|tests| tests == "all")
}

/// The README's examples as tests, which are here because a published crate contains only its own folder.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
