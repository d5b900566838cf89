//! libtrundle once more. `cargo test` builds examples with the features of the tests, and tests/examples.rs links the
//! programs in C to it.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "the functions are for C")]

#[path = "../src/lib.rs"]
mod capi;
