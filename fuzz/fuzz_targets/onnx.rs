//! Any bytes as an ONNX model: refused, or a graph whose values are each given once, before they
//! are read, and whose constants hold what their shapes say.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use trundle_models::{Constant, Data, ElementType, Operator, onnx};

fn check(constant: &Constant) {
    match (&constant.data, constant.element) {
        (Data::Bytes(bytes), ElementType::Fixed(dtype)) => {
            assert_eq!(Ok(bytes.len()), constant.shape.bytes(dtype));
        }
        (Data::Strings(texts), ElementType::String) => {
            assert_eq!(texts.len(), constant.shape.elements());
        }
        other => panic!("{other:?}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = onnx::read_bytes(bytes.to_vec(), None) else { return };
    let mut known = HashSet::new();
    let names: HashSet<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names.len(), model.inputs.len());
    for input in &model.inputs {
        assert!(known.insert(input.value));
    }
    for node in &model.nodes {
        assert!(node.inputs.iter().flatten().all(|value| known.contains(value)), "{node:?}");
        for output in &node.outputs {
            assert!(output.0 < model.values && known.insert(*output), "{node:?}");
        }
        if let Operator::Constant(constant) = &node.operator {
            check(constant);
        }
    }
    assert!(model.outputs.iter().all(|output| known.contains(&output.value)));
});
