//! Arbitrary bytes are rejected, or are an ONNX model that is valid and runs. They are also read as a model that
//! computes, whose movement-only parts are fused.
#![no_main]

mod model;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use trundle_models::Links;
use trundle_models::onnx::{self, Partition};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = onnx::read_bytes(bytes.to_vec(), None) {
        model::check(&read);
    }
    let partition = |bytes| Partition::read_bytes(bytes, Path::new("nowhere"), Links::Within);
    if let Ok(fused) = partition(bytes.to_vec()).and_then(|partition| partition.fused()) {
        let again = partition(fused.file.concat()).expect("a fused model is a model");
        again.fused().expect("a fused model is one that computes");
    }
});
