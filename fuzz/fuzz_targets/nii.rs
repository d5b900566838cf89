//! Any bytes as a NIfTI file: read or rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("nii", bytes));
