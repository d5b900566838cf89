//! Input types given by the caller.

use super::*;
use crate::onnx::read_typed;
use crate::{ElementType, PartialShape};
use trundle_core::DType;

const F16: ElementType = ElementType::Fixed(DType::F16);
const I64: ElementType = ElementType::Fixed(DType::I64);

/// Returns a value that has only a name.
fn named(name: &str) -> ValueInfo {
    ValueInfo { name: name.to_owned(), r#type: None }
}

/// Reshapes `x` to `shape`, which may be an initializer.
fn reshaped(input: Vec<ValueInfo>, initializer: Vec<Tensor>) -> Vec<u8> {
    let node = nodes("y = Reshape(x, shape)");
    let graph = Graph { node, input, initializer, output: vec![named("y")], ..Graph::default() };
    Proto { graph: Some(graph), ..model(17, Vec::new(), FLOAT) }.encode_to_vec()
}

#[test]
fn types_come_from_the_caller_and_shapes_are_open() {
    let read = read_typed(reshaped(vec![named("x"), named("shape")], vec![]), &[F16, I64]).unwrap();
    let types: Vec<_> = read.inputs.iter().map(|input| input.element).collect();
    assert_eq!(types, [F16, I64]);
    assert!(read.inputs.iter().all(|input| input.shape == PartialShape::Unknown));
    let fnuz = ElementType::Fixed(DType::Bytes(1));
    for element in [fnuz, ElementType::String, ElementType::Fixed(DType::I4)] {
        let bytes = reshaped(vec![named("x"), named("shape")], vec![]);
        assert_eq!(read_typed(bytes, &[element, I64]).unwrap().inputs[0].element, element);
    }
}

#[test]
fn an_initializer_is_not_an_input() {
    let shape = Tensor { int64_data: vec![3, 2], ..tensor("shape", INT64, &[2]) };
    let bytes = reshaped(vec![named("shape"), named("x")], vec![shape]);
    assert_eq!(read_typed(bytes, &[F16]).unwrap().inputs.len(), 1);
}

#[test]
fn types_that_do_not_fit_the_model_are_refused() {
    let refused = |input: Vec<ValueInfo>, types: &[ElementType]| {
        read_typed(reshaped(input, vec![]), types).unwrap_err().to_string()
    };
    let open = || vec![named("x"), named("shape")];
    assert_eq!(refused(open(), &[F16]), "wrong number of inputs: the model takes 2, got 1");
    assert_eq!(
        refused(open(), &[F16, I64, I64]),
        "wrong number of inputs: the model takes 2, got 3"
    );
    let declared = vec![value("x", FLOAT), named("shape")];
    assert_eq!(refused(declared, &[F16, I64]), "input \"x\" is of f32, got f16");
    let lacking = ElementType::Fixed(DType::U1);
    assert_eq!(refused(open(), &[lacking, I64]), "input \"x\" is of u1, which ONNX lacks");
}
