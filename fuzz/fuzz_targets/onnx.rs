//! Any bytes as an ONNX model: refused, or a model that keeps what models promise and runs.
#![no_main]

mod model;

use libfuzzer_sys::fuzz_target;
use trundle_models::onnx;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = onnx::read_bytes(bytes.to_vec(), None) {
        model::check(&read);
    }
});
