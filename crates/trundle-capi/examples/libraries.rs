//! Both C libraries, for the tests of the C examples. `cargo test` builds examples, but no C libraries. A separate `cargo
//! build` would use other features, and compile most packages again.
#![allow(unsafe_code)]

#[path = "../src/lib.rs"]
pub mod library;
