//! Any bytes as an .npz archive: read or refused, and what is read is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("npz", bytes));
