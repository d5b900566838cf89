//! Any bytes as a file of torch.save: read or rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| tensors::check("pt", bytes));
