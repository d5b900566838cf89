//! Arbitrary text, with arbitrary bytes as constants, is rejected, or is an OpenVINO model that is valid and runs.
//!
//! The input is one byte with the length of the weights, the weights, and the text.
#![no_main]

mod model;

use libfuzzer_sys::fuzz_target;
use trundle_models::openvino::{read_layer, read_parts};

fuzz_target!(|input: &[u8]| {
    let Some((&length, rest)) = input.split_first() else { return };
    let (weights, text) = rest.split_at(usize::from(length).min(rest.len()));
    let Ok(xml) = str::from_utf8(text) else { return };
    let _ = read_layer(xml);
    if let Ok(read) = read_parts(xml, weights) {
        assert!(read.inputs.iter().all(|input| !input.name.is_empty()));
        assert!(read.outputs.iter().all(|output| !output.name.is_empty()));
        model::check(&read);
    }
});
