//! libtrundle: the operators of trundle as C functions, documented in `include/trundle.h`.
//!
//! Each function first checks its arguments ([`descriptor`], [`memory`]), then makes views or a plan of them, and then
//! moves the elements with the crate `trundle`. Errors and panics become a status and a message ([`error`]). A repeated
//! call reuses its plan and checks only the addresses again ([`one_shot`]).
//!
//! A C library cannot be linked as a crate, so the fuzz target includes this file as one of its own modules, and
//! modules refer to each other by `super::`.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "these are C's names")]
#![allow(clippy::doc_markdown, reason = "comments become those of the header")]
#![allow(clippy::missing_safety_doc, reason = "the header says what a caller of C functions owes")]

mod chain;
mod descriptor;
mod directml;
mod dtype;
mod error;
mod gathers;
mod in_place;
mod indexed;
mod joins;
mod memory;
mod models;
mod one_shot;
#[allow(non_snake_case, reason = "the name is ONNX Runtime's")]
mod onnxruntime;
mod operators;
mod pair;
mod plan;
mod results;
mod scatters;
mod split;
mod status;
mod threads;
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
