//! Reads arbitrary bytes as a .safetensors file or as the index of shards, or rejects them. Writes the accepted
//! content, and checks that it is unchanged when it is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod tensors;

fuzz_target!(|bytes: &[u8]| {
    tensors::check("safetensors", bytes);
    tensors::check("safetensors.index.json", bytes);
});
