//! Reads arbitrary bytes as an .npz archive, or rejects them. What was read is written and read back
//! unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("npz", bytes));
