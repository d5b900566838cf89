//! Edges, the order of layers, and shapes.

use super::Ir;
use crate::{Dimension, ElementType, Model, PartialShape, ValueId};

/// Returns the shape that an attribute of a Parameter states.
fn shape(text: &str) -> Result<PartialShape, String> {
    let mut ir = Ir::new();
    ir.parameter("x", "f32", text);
    match ir.read() {
        Ok(model) => Ok(model.inputs[0].shape.clone()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn shapes_of_every_form() {
    use Dimension::{Between, Fixed};
    let upto = |least, most| Between { least, most };
    for (text, sizes) in [
        ("2,3,4", vec![Fixed(2), Fixed(3), Fixed(4)]),
        ("2, 3", vec![Fixed(2), Fixed(3)]),
        ("[ 2 , 3 ]", vec![Fixed(2), Fixed(3)]),
        ("0", vec![Fixed(0)]),
        ("?,-1, ? ", vec![Dimension::ANY, Dimension::ANY, Dimension::ANY]),
        ("1..10,6", vec![upto(1, Some(10)), Fixed(6)]),
        ("..10,2..,0..", vec![upto(0, Some(10)), upto(2, None), Dimension::ANY]),
        ("5..5", vec![Fixed(5)]),
        ("", vec![]),
        (" ", vec![]),
        ("[]", vec![]),
    ] {
        assert_eq!(shape(text), Ok(PartialShape::Ranked(sizes)), "{text:?}");
    }
    assert_eq!(shape("..."), Ok(PartialShape::Unknown));
    assert_eq!(shape("[...]"), Ok(PartialShape::Unknown));
}

#[test]
fn invalid_shapes_are_refused() {
    for text in [
        ",",
        "2,",
        ",2",
        "2 3",
        "2;3",
        "-2",
        "+2",
        "2.5",
        "0x2",
        "..",
        "3..2",
        "?..3",
        "-1..3",
        "1..-1",
        "1 .. 2",
        "...,3",
        "3,...",
        "[2",
        "2]",
        "a",
        "1..2..3",
        "99999999999999999999",
    ] {
        let problem = format!("shape {text:?} is not a list of sizes");
        assert_eq!(shape(text), Err(format!("layer 0 \"x\" (Parameter, line 3): {problem}")));
    }
    assert_eq!(
        shape("4294967296,4294967296"),
        Err("layer 0 \"x\" (Parameter, line 3): shape [4294967296, 4294967296] is too large to be addressed".into())
    );
    assert!(shape("4294967296,4294967296,?").is_ok());
}

#[test]
fn type_names_of_attributes_and_ports_are_known() {
    let element = |name: &str| {
        let mut ir = Ir::new();
        ir.parameter("x", name, "2");
        ir.read()
            .map(|model| model.inputs[0].element.to_string())
            .map_err(|error| error.to_string())
    };
    for name in [
        "boolean", "bf16", "f16", "f32", "f64", "i4", "i8", "i16", "i32", "i64", "u1", "u2", "u3",
        "u4", "u6", "u8", "u16", "u32", "u64", "nf4", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1",
        "string",
    ] {
        assert_eq!(element(name), Ok(name.to_owned()));
        assert_eq!(element(&name.to_uppercase()), Ok(name.to_owned()));
    }
    for (port, name) in
        [("FP16", "f16"), ("FP32", "f32"), ("FP64", "f64"), ("BOOL", "boolean"), ("BIN", "u1")]
    {
        assert_eq!(element(port), Ok(name.to_owned()));
    }
    for name in ["", "dynamic", "i2", "complex64", "bytes4", "f31", "f32 "] {
        assert_eq!(
            element(name),
            Err(format!(
                "layer 0 \"x\" (Parameter, line 3): element type {name:?} is unknown; known are \
                 bf16, boolean, f16, f32, f4e2m1, f64, f8e4m3, f8e5m2, f8e8m0, i16, i32, i4, i64, \
                 i8, nf4, string, u1, u16, u2, u3, u32, u4, u6, u64, u8"
            ))
        );
    }
}

fn kinds(model: &Model) -> Vec<&str> {
    model.nodes.iter().map(|node| node.kind.as_str()).collect()
}

#[test]
fn layers_are_sorted_after_their_inputs() {
    let mut ir = Ir::new();
    // Layers 0 to 3 read later layers.
    ir.result((1, 2));
    ir.layer("t", "Transpose", "opset1", "", &[(2, 3), (5, 0)], 1);
    ir.layer("r", "Roll", "opset7", "", &[(4, 0), (6, 0), (6, 0)], 1);
    ir.result((4, 0));
    ir.parameter("x", "f32", "2,3");
    ir.constant("i64", "2", &[0; 16]);
    ir.constant("i32", "1", &[0; 4]);
    let model = ir.read().unwrap();
    assert_eq!(kinds(&model), ["Const", "Const", "Roll", "Transpose"]);
    let [order, shift, roll, transpose] = &model.nodes[..] else { panic!("{:?}", model.nodes) };
    let x = model.inputs[0].value;
    let (order, shift) = (order.outputs[0], shift.outputs[0]);
    assert_eq!(roll.inputs, [Some(x), Some(shift), Some(shift)]);
    assert_eq!(transpose.inputs, [Some(roll.outputs[0]), Some(order)]);
    let outputs: Vec<ValueId> = model.outputs.iter().map(|output| output.value).collect();
    assert_eq!(outputs, [transpose.outputs[0], x]);
    assert_eq!(model.values, 5);
    assert_eq!((model.name.as_str(), model.dialect.as_str()), ("test", "OpenVINO IR 11"));
    assert_eq!(model.inputs[0].element, ElementType::Fixed(trundle_core::DType::F32));
}

#[test]
fn ports_have_any_numbers_and_edges_any_order() {
    let xml = "<net version='11'><edges>\
               <edge from-layer='7' from-port='0' to-layer='9' to-port='8'/>\
               <edge from-layer='3' from-port='6' to-layer='9' to-port='40'/>\
               <edge from-layer='9' from-port='40' to-layer='1' to-port='5'/></edges><layers>\
               <layer id='3' type='Parameter' version='opset1'><data element_type='u8' shape='2'/>\
               <output><port id='6'/></output></layer>\
               <layer id='7' type='Parameter' version='opset1'><data element_type='i64' shape='1'/>\
               <output><port id='0'/></output></layer>\
               <layer id='9' type='Tile' version='opset1'><input><port id='40'/><port id='8'/></input>\
               <output><port id='40'/></output></layer>\
               <layer id='1' type='Result' version='opset1'><input><port id='5'/></input>\
               <output><port id='5'/></output></layer></layers></net>";
    let model = super::read_parts(xml, &[]).unwrap();
    assert_eq!(model.nodes[0].inputs, [Some(ValueId(0)), Some(ValueId(1))]);
    assert_eq!(model.outputs[0].value, ValueId(2));
}

#[test]
fn a_long_chain_does_not_overflow_the_stack() {
    let mut ir = Ir::new();
    let mut at = ir.parameter("x", "f32", "2");
    for _ in 0..20_000 {
        at = ir.layer("", "Squeeze", "opset1", "", &[at], 1);
    }
    ir.result(at);
    assert_eq!(ir.read().unwrap().nodes.len(), 20_000);
}
