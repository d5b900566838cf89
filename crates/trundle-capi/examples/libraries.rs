//! Both libraries, for the tests of the C examples: `cargo test` builds examples, but not a library that no Rust code
//! can link. Built by a second command, they would have other features, and most packages would be compiled again.
#![allow(unsafe_code)]

#[path = "../src/lib.rs"]
pub mod library;
