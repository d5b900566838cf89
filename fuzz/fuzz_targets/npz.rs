//! Reads arbitrary bytes as an .npz archive, or rejects them. Writes the tensors of an accepted archive, and checks
//! that they are unchanged when they are read back.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("npz", bytes));
