//! Any text as the graph of an OpenVINO model, any bytes as its constants: read or refused, and
//! what is read keeps what a model promises.
//!
//! The input is the weights' length in a byte, the weights, and the text.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use trundle_models::openvino::{read_layer, read_parts};
use trundle_models::{Constant, Data, ElementType, Model, Operator, ValueId};

/// That each value is given once, and before it is read.
fn check_values(model: &Model) {
    let mut given: HashSet<ValueId> = model.inputs.iter().map(|input| input.value).collect();
    assert_eq!(given.len(), model.inputs.len());
    for node in &model.nodes {
        assert!(node.inputs.iter().flatten().all(|value| given.contains(value)));
        assert!(node.outputs.iter().all(|value| given.insert(*value)));
    }
    assert!(model.outputs.iter().all(|output| given.contains(&output.value)));
    assert!(given.iter().all(|value| value.0 < model.values));
}

fn check_names(model: &Model) {
    let inputs: HashSet<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs.len(), model.inputs.len());
    let outputs: HashSet<&str> = model.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(outputs.len(), model.outputs.len());
    assert!(!inputs.contains("") && !outputs.contains(""));
}

/// That a constant has as many elements as its shape.
fn check_constant(constant: &Constant) {
    match (constant.element, &constant.data) {
        (ElementType::Fixed(dtype), Data::Bytes(bytes)) => {
            assert_eq!(constant.shape.bytes(dtype).expect("it is in memory"), bytes.len());
        }
        (ElementType::String, Data::Strings(texts)) => {
            assert_eq!(constant.shape.elements(), texts.len());
        }
        (element, data) => panic!("{element} in {data:?}"),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&length, rest)) = input.split_first() else { return };
    let (weights, text) = rest.split_at(usize::from(length).min(rest.len()));
    let Ok(xml) = str::from_utf8(text) else { return };
    let _ = read_layer(xml);
    let Ok(model) = read_parts(xml, weights) else { return };
    check_values(&model);
    check_names(&model);
    for node in &model.nodes {
        if let Operator::Constant(constant) = &node.operator {
            check_constant(constant);
        }
    }
});
