//! ONNX's arithmetic operators, supported only on numbers from shapes and constants.

use super::element::{element_type, named};
use super::operator_node::{OperatorNode, OperatorVersion, missing, version};
use crate::arithmetic::{Arithmetic, Binary, Unary};
use crate::problem::{Checked, unsupported, wrong};
use crate::{ElementType, IntegerTypes, Integers, Operator};

/// Sorted by name, oldest version first.
pub(super) const ARITHMETIC: &[OperatorVersion] = &[
    version("Abs", 1, &["X"], &[], |node| unary(node, Unary::Absolute)),
    version("Add", 1, &["A", "B"], &[], |node| binary(node, Binary::Add)),
    version("And", 1, &["A", "B"], &[], |node| binary(node, Binary::And)),
    version("Cast", 1, &["input"], &[], cast),
    version("CastLike", 15, &["input", "target_type"], &[], cast_like),
    version("Ceil", 1, &["X"], &[], |node| unary(node, Unary::Ceil)),
    version("Clip", 11, &["input"], &["min", "max"], |_| {
        Ok(Operator::Arithmetic(Arithmetic::Clip))
    }),
    version("Div", 1, &["A", "B"], &[], |node| binary(node, Binary::Divide)),
    version("Equal", 1, &["A", "B"], &[], |node| binary(node, Binary::Equal)),
    version("Floor", 1, &["X"], &[], |node| unary(node, Unary::Floor)),
    version("Greater", 1, &["A", "B"], &[], |node| binary(node, Binary::Greater)),
    version("GreaterOrEqual", 12, &["A", "B"], &[], |node| binary(node, Binary::GreaterOrEqual)),
    version("Less", 1, &["A", "B"], &[], |node| binary(node, Binary::Less)),
    version("LessOrEqual", 12, &["A", "B"], &[], |node| binary(node, Binary::LessOrEqual)),
    OperatorVersion {
        inputs: None,
        ..version("Max", 1, &[], &[], |node| variadic(node, Binary::Maximum))
    },
    OperatorVersion {
        inputs: None,
        ..version("Min", 1, &[], &[], |node| variadic(node, Binary::Minimum))
    },
    version("Mod", 10, &["A", "B"], &[], modulo),
    version("Mul", 1, &["A", "B"], &[], |node| binary(node, Binary::Multiply)),
    version("Neg", 1, &["X"], &[], |node| unary(node, Unary::Negate)),
    version("Not", 1, &["X"], &[], |node| unary(node, Unary::Not)),
    version("Or", 1, &["A", "B"], &[], |node| binary(node, Binary::Or)),
    version("Pow", 1, &["X", "Y"], &[], |node| binary(node, Binary::Power)),
    version("Reciprocal", 1, &["X"], &[], |node| unary(node, Unary::Reciprocal)),
    version("ReduceMax", 1, &["data"], &["axes"], |node| reduce(node, Binary::Maximum, 18)),
    version("ReduceMin", 1, &["data"], &["axes"], |node| reduce(node, Binary::Minimum, 18)),
    version("ReduceProd", 1, &["data"], &["axes"], |node| reduce(node, Binary::Multiply, 18)),
    version("ReduceSum", 1, &["data"], &["axes"], |node| reduce(node, Binary::Add, 13)),
    version("Round", 11, &["X"], &[], |node| unary(node, Unary::RoundToEven)),
    version("Sign", 9, &["input"], &[], |node| unary(node, Unary::Sign)),
    version("Sqrt", 1, &["X"], &[], |node| unary(node, Unary::SquareRoot)),
    version("Sub", 1, &["A", "B"], &[], |node| binary(node, Binary::Subtract)),
    OperatorVersion {
        inputs: None,
        ..version("Sum", 1, &[], &[], |node| variadic(node, Binary::Add))
    },
    version("Where", 9, &["condition", "X", "Y"], &[], |_| {
        Ok(Operator::Arithmetic(Arithmetic::Select))
    }),
    version("Xor", 1, &["A", "B"], &[], |node| binary(node, Binary::Xor)),
];

pub(super) fn is_arithmetic(name: &str) -> bool {
    ARITHMETIC.iter().any(|version| version.name == name)
}

fn unary(node: &mut OperatorNode, of: Unary) -> Checked<Operator> {
    if node.opset < 6 {
        node.attributes.ignore("consumed_inputs");
    }
    Ok(Operator::Arithmetic(Arithmetic::Unary(of)))
}

/// Before opset 7, both operands must have the same shape, unless an attribute requests broadcasting.
fn binary(node: &mut OperatorNode, by: Binary) -> Checked<Operator> {
    if node.opset < 7 {
        node.attributes.ignore("consumed_inputs");
        if node.attributes.int("broadcast")?.unwrap_or(0) != 0 {
            return unsupported!("the broadcasting of opset {} is not supported", node.opset);
        }
        node.attributes.int("axis")?;
    }
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn variadic(node: &mut OperatorNode, by: Binary) -> Checked<Operator> {
    if node.opset < 6 {
        node.attributes.ignore("consumed_inputs");
    }
    if node.inputs.is_empty() {
        return wrong!("it has no inputs");
    }
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

/// With `fmod`, the result has the sign of the dividend.
fn modulo(node: &mut OperatorNode) -> Checked<Operator> {
    let by = match node.attributes.int("fmod")?.unwrap_or(0) {
        0 => Binary::FloorModulo,
        1 => Binary::Modulo,
        other => return wrong!("fmod is {other}, expected 0 or 1"),
    };
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn cast(node: &mut OperatorNode) -> Checked<Operator> {
    // These affect only conversions to 8-bit and narrower floats, which arithmetic does not support.
    node.attributes.int("saturate")?;
    node.attributes.text("round_mode")?;
    let to = if node.opset < 6 {
        let name = node.attributes.text("to")?.ok_or_else(|| missing("to"))?;
        named(name).ok_or_else(|| format!("to is {name:?}, which is not a type"))?
    } else {
        let number = node.attributes.int("to")?.ok_or_else(|| missing("to"))?;
        element_type(i32::try_from(number).unwrap_or(-1), "the type it casts to")?.1
    };
    match to {
        ElementType::Fixed(to) => Ok(Operator::Arithmetic(Arithmetic::Cast(to))),
        ElementType::String => unsupported!("conversion of numbers to strings is not supported"),
    }
}

fn cast_like(node: &mut OperatorNode) -> Checked<Operator> {
    node.attributes.int("saturate")?;
    node.attributes.text("round_mode")?;
    Ok(Operator::Arithmetic(Arithmetic::CastLike))
}

/// The axes are an input since opset `input_since`; before, they are an attribute.
fn reduce(node: &mut OperatorNode, by: Binary, input_since: i64) -> Checked<Operator> {
    let keeps_axes = node.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let (axes, empty_is_none) = if node.opset < input_since {
        if node.inputs.len() > 1 {
            return wrong!("opset {} has its axes as an attribute", node.opset);
        }
        (node.given("axes")?, false)
    } else {
        let empty = node.attributes.int("noop_with_empty_axes")?.unwrap_or(0);
        (node.optional_list(1, IntegerTypes::I64), empty != 0)
    };
    let axes = axes.unwrap_or_else(|| Integers::Given(Vec::new()));
    Ok(Operator::Arithmetic(Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none }))
}
