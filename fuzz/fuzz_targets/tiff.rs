//! Reads arbitrary bytes as a TIFF file, or rejects them.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("tiff", bytes));
