//! Every version of layers.

use trundle_core::DType;

use super::super::read_parts;
use super::{Ir, described, refusal};
use crate::tests::cases;
use crate::{Arithmetic, IntegerTypes, Integers, Operator, Result, ValueId};

/// The first input is f32, other inputs are i64.
fn read_operator(
    kind: &str,
    version: &str,
    data: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Operator> {
    let mut ir = Ir::new();
    let from: Vec<_> = (0..inputs)
        .map(|input| ir.parameter("", if input == 0 { "f32" } else { "i64" }, "?,?"))
        .collect();
    let (layer, port) = ir.layer("moves", kind, version, data, &from, outputs);
    (0..outputs).for_each(|output| ir.result((layer, port + output)));
    let model = ir.read()?;
    let [node] = &model.nodes[..] else { panic!("one node, not {:?}", model.nodes) };
    assert_eq!((node.name.as_str(), node.kind.as_str()), ("moves", kind));
    let values = |values: std::ops::Range<usize>| values.map(ValueId);
    assert_eq!(node.inputs, values(0..inputs).map(Some).collect::<Vec<_>>());
    assert_eq!(node.outputs, values(inputs..inputs + outputs).collect::<Vec<_>>());
    assert_eq!(model.values, inputs + outputs);
    Ok(node.operator.clone())
}

#[test]
fn each_layer_is_read_in_each_of_its_versions() {
    for (case, expected) in cases(include_str!("operators.txt")) {
        let mut words = case.splitn(5, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (kind, version) = (word(), word());
        let inputs: usize = word().parse().unwrap();
        let outputs = word().parse().unwrap();
        let found = match read_operator(kind, version, word(), inputs, outputs) {
            Ok(operator) => described(&operator),
            Err(error) => {
                let layer = format!("layer {inputs} \"moves\" ({kind}, line {}): ", inputs + 3);
                error.to_string().strip_prefix(&layer).expect("the layer is named").to_owned()
            }
        };
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn a_reverse_by_a_mask_reads_booleans() {
    let mask = |element: &str| {
        let mut ir = Ir::new();
        let from = [ir.parameter("", "u8", "?,?"), ir.parameter("", element, "2")];
        let out = ir.layer("r", "Reverse", "opset1", "mode=\"mask\"", &from, 1);
        ir.result(out);
        ir.read()
    };
    let expected =
        Operator::FlipMask { mask: Integers::Input { input: 1, types: IntegerTypes::Mask } };
    assert_eq!(described(&mask("boolean").unwrap().nodes[0].operator), described(&expected));
    assert_eq!(
        refusal(mask("i64")),
        "layer 2 \"r\" (Reverse, line 5): its mask is i64, not boolean"
    );
}

/// The output type of the layer differs from the type of its data.
#[test]
fn shape_of_has_the_stated_output_type() {
    let mut ir = Ir::new();
    let x = ir.parameter("x", "f32", "2,3");
    let shape = ir.layer("s", "ShapeOf", "opset3", "output_type=\"i32\"", &[x], 1);
    let same = ir.layer("c", "Convert", "opset1", "destination_type=\"i32\"", &[shape], 1);
    ir.result(same);
    assert_eq!(described(&ir.read().unwrap().nodes[1].operator), described(&Operator::Identity));
}

fn converted(from: &str, to: &str, mark: &str) -> Result<Operator> {
    let mut ir = Ir::new();
    let constant = ir.constant(from, "1", &[0; 8]);
    let out =
        ir.layer("c", "Convert", "opset1", &format!("destination_type=\"{to}\""), &[constant], 1);
    ir.result(out);
    let marks = format!("<rt_info><attribute name=\"{mark}\" version=\"0\"/></rt_info><input>");
    let xml = ir.xml().replacen("<input><port", &format!("{marks}<port"), 1);
    read_parts(&xml, &ir.weights).map(|model| model.nodes[1].operator.clone())
}

#[test]
fn compressed_constants_are_widened_again() {
    for (from, to, dtype) in [
        ("f16", "f32", DType::F32),
        ("f16", "f64", DType::F64),
        ("bf16", "f32", DType::F32),
        ("bf16", "f64", DType::F64),
        ("f32", "f64", DType::F64),
    ] {
        let operator = converted(from, to, "decompression").unwrap();
        assert_eq!(described(&operator), described(&Operator::Widen(dtype)), "{from} {to}");
    }
    let same = converted("f16", "f16", "decompression").unwrap();
    assert_eq!(described(&same), described(&Operator::Identity));
}

#[test]
fn conversions_other_than_decompression_are_arithmetic() {
    let cast = |to| described(&Operator::Arithmetic(Arithmetic::Cast(to)));
    assert_eq!(described(&converted("f16", "f32", "other").unwrap()), cast(DType::F32));
    for (from, to, dtype) in [
        ("f16", "bf16", DType::BF16),
        ("f32", "f16", DType::F16),
        ("f64", "f32", DType::F32),
        ("u8", "f32", DType::F32),
        ("i32", "i64", DType::I64),
    ] {
        assert_eq!(described(&converted(from, to, "decompression").unwrap()), cast(dtype));
    }
}
