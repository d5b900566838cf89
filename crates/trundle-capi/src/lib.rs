//! libtrundle: the operators of trundle as C functions. `include/trundle.h` is its documentation.
//!
//! A call goes through three stages. What it is given is read and checked ([`descriptor`],
//! [`memory`]); the checked parts become views or a plan; the crate `trundle` moves them. Whatever is
//! refused on the way, panics too, becomes a status and a message ([`error`]). A call that came before
//! finds its plan again, and of the first stage only what depends on addresses is left ([`one_shot`]).
//!
//! The modules name each other by `super::`, so that the fuzz target can take this file as one of
//! its own modules: a C library cannot be linked to as a crate.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "these are C's names")]
#![allow(clippy::doc_markdown, reason = "comments become those of the header")]
#![allow(clippy::missing_safety_doc, reason = "the header says what a caller of C functions owes")]

mod assembled;
mod chain;
mod descriptor;
mod directml;
mod dtype;
mod error;
mod gathers;
mod in_place;
mod indices;
mod joins;
mod memory;
mod modelled;
mod models;
mod moved;
mod one_shot;
#[allow(non_snake_case, reason = "the name is ONNX Runtime's")]
mod onnxruntime;
mod operators;
mod pair;
mod parts;
mod plan;
mod scatter_kind;
mod scattered;
mod scatters;
mod split;
mod status;
mod threads;
mod told;
mod version;

pub use chain::*;
pub use descriptor::*;
pub use directml::*;
pub use dtype::*;
pub use error::*;
pub use gathers::*;
pub use in_place::*;
pub use joins::*;
pub use models::*;
pub use operators::*;
pub use plan::*;
pub use scatters::*;
pub use split::*;
pub use status::*;
pub use threads::*;
pub use version::*;

#[cfg(test)]
mod tests;
