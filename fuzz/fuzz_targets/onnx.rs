//! Any bytes as an ONNX model: rejected, or a valid model that runs. Also as a model that computes, with its
//! movement-only parts fused.
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
        // The fused file can be read and fused again.
        let again = partition(fused.file.concat()).expect("a fused model is a model");
        again.fused().expect("a fused model is one that computes");
    }
});
