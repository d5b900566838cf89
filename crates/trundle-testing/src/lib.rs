//! What trundle is held against: the naive oracle, random cases, and one suite for any backend.
//!
//! The oracle reads the operators' specifications element by element. It shares nothing with the
//! code under test but the names of shapes and layouts: no index maps, no moves, no axis
//! arithmetic.

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
pub use noise::noise;
pub use operator::PlainOp;
pub use oracle::{Naive, indices, read_elements, write_elements};
pub use pair_by_pair::{Bytewise, Cells, PairByPair};
pub use property::{Outcome, holds};
pub use testable::{TestBuffer, Testable};

/// Whether everything shall be tested, however long it takes (`TRUNDLE_TESTS=all`), as CI has it; else the
/// longest tests take a part, which is another one for each of their cases.
pub fn everything() -> bool {
    std::env::var_os("TRUNDLE_TESTS").is_some_and(|tests| tests == "all")
}

/// The examples of the README run as tests. They do so here because a published crate has no files but
/// its own.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
