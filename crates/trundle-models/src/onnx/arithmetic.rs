//! ONNX's arithmetic operators. They are supported only on numbers that come from shapes and constants.

use super::call::{Call, Row, missing, row};
use super::element::{element_type, named};
use crate::arithmetic::{Arithmetic, Binary, Unary};
use crate::problem::{Checked, unsupported, wrong};
use crate::{ElementType, IntegerTypes, Integers, Operator};

/// All versions of all operators, sorted by name; the oldest version of an operator comes first.
pub(super) const ARITHMETIC: &[Row] = &[
    row("Abs", 1, &["X"], &[], |call| unary(call, Unary::Absolute)),
    row("Add", 1, &["A", "B"], &[], |call| binary(call, Binary::Add)),
    row("And", 1, &["A", "B"], &[], |call| binary(call, Binary::And)),
    row("Cast", 1, &["input"], &[], cast),
    row("CastLike", 15, &["input", "target_type"], &[], cast_like),
    row("Ceil", 1, &["X"], &[], |call| unary(call, Unary::Ceil)),
    row("Clip", 11, &["input"], &["min", "max"], |_| Ok(Operator::Arithmetic(Arithmetic::Clip))),
    row("Div", 1, &["A", "B"], &[], |call| binary(call, Binary::Divide)),
    row("Equal", 1, &["A", "B"], &[], |call| binary(call, Binary::Equal)),
    row("Floor", 1, &["X"], &[], |call| unary(call, Unary::Floor)),
    row("Greater", 1, &["A", "B"], &[], |call| binary(call, Binary::Greater)),
    row("GreaterOrEqual", 12, &["A", "B"], &[], |call| binary(call, Binary::GreaterOrEqual)),
    row("Less", 1, &["A", "B"], &[], |call| binary(call, Binary::Less)),
    row("LessOrEqual", 12, &["A", "B"], &[], |call| binary(call, Binary::LessOrEqual)),
    Row { inputs: None, ..row("Max", 1, &[], &[], |call| variadic(call, Binary::Maximum)) },
    Row { inputs: None, ..row("Min", 1, &[], &[], |call| variadic(call, Binary::Minimum)) },
    row("Mod", 10, &["A", "B"], &[], modulo),
    row("Mul", 1, &["A", "B"], &[], |call| binary(call, Binary::Multiply)),
    row("Neg", 1, &["X"], &[], |call| unary(call, Unary::Negate)),
    row("Not", 1, &["X"], &[], |call| unary(call, Unary::Not)),
    row("Or", 1, &["A", "B"], &[], |call| binary(call, Binary::Or)),
    row("Pow", 1, &["X", "Y"], &[], |call| binary(call, Binary::Power)),
    row("Reciprocal", 1, &["X"], &[], |call| unary(call, Unary::Reciprocal)),
    row("ReduceMax", 1, &["data"], &["axes"], |call| reduce(call, Binary::Maximum, 18)),
    row("ReduceMin", 1, &["data"], &["axes"], |call| reduce(call, Binary::Minimum, 18)),
    row("ReduceProd", 1, &["data"], &["axes"], |call| reduce(call, Binary::Multiply, 18)),
    row("ReduceSum", 1, &["data"], &["axes"], |call| reduce(call, Binary::Add, 13)),
    row("Round", 11, &["X"], &[], |call| unary(call, Unary::RoundToEven)),
    row("Sign", 9, &["input"], &[], |call| unary(call, Unary::Sign)),
    row("Sqrt", 1, &["X"], &[], |call| unary(call, Unary::SquareRoot)),
    row("Sub", 1, &["A", "B"], &[], |call| binary(call, Binary::Subtract)),
    Row { inputs: None, ..row("Sum", 1, &[], &[], |call| variadic(call, Binary::Add)) },
    row("Where", 9, &["condition", "X", "Y"], &[], |_| {
        Ok(Operator::Arithmetic(Arithmetic::Select))
    }),
    row("Xor", 1, &["A", "B"], &[], |call| binary(call, Binary::Xor)),
];

pub(super) fn is_arithmetic(name: &str) -> bool {
    ARITHMETIC.iter().any(|row| row.name == name)
}

fn unary(call: &mut Call, of: Unary) -> Checked<Operator> {
    if call.opset < 6 {
        call.attributes.ignore("consumed_inputs");
    }
    Ok(Operator::Arithmetic(Arithmetic::Unary(of)))
}

/// A binary operator. Before opset 7, both operands must have the same shape, unless an attribute requests
/// broadcasting.
fn binary(call: &mut Call, by: Binary) -> Checked<Operator> {
    if call.opset < 7 {
        call.attributes.ignore("consumed_inputs");
        if call.attributes.int("broadcast")?.unwrap_or(0) != 0 {
            return unsupported!("the broadcasting of opset {} is not supported", call.opset);
        }
        call.attributes.int("axis")?;
    }
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn variadic(call: &mut Call, by: Binary) -> Checked<Operator> {
    if call.opset < 6 {
        call.attributes.ignore("consumed_inputs");
    }
    if call.inputs.is_empty() {
        return wrong!("it has no inputs");
    }
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

/// Mod. If the attribute `fmod` is set, the result has the sign of the dividend.
fn modulo(call: &mut Call) -> Checked<Operator> {
    let by = match call.attributes.int("fmod")?.unwrap_or(0) {
        0 => Binary::FloorModulo,
        1 => Binary::Modulo,
        other => return wrong!("fmod is {other}, expected 0 or 1"),
    };
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn cast(call: &mut Call) -> Checked<Operator> {
    // The next two attributes affect only conversions to 8-bit and narrower floats, which arithmetic does
    // not support.
    call.attributes.int("saturate")?;
    call.attributes.text("round_mode")?;
    let to = if call.opset < 6 {
        let name = call.attributes.text("to")?.ok_or_else(|| missing("to"))?;
        named(name).ok_or_else(|| format!("to is {name:?}, which is not a type"))?
    } else {
        let number = call.attributes.int("to")?.ok_or_else(|| missing("to"))?;
        element_type(i32::try_from(number).unwrap_or(-1), "what it casts to")?.1
    };
    match to {
        ElementType::Fixed(to) => Ok(Operator::Arithmetic(Arithmetic::Cast(to))),
        ElementType::String => unsupported!("numbers are not made texts here"),
    }
}

fn cast_like(call: &mut Call) -> Checked<Operator> {
    call.attributes.int("saturate")?;
    call.attributes.text("round_mode")?;
    Ok(Operator::Arithmetic(Arithmetic::CastLike))
}

/// A reduction. Since opset `input_since`, its axes are an input; before, they are an attribute.
fn reduce(call: &mut Call, by: Binary, input_since: i64) -> Checked<Operator> {
    let keeps_axes = call.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let (axes, empty_is_none) = if call.opset < input_since {
        if call.inputs.len() > 1 {
            return wrong!("opset {} has its axes as an attribute", call.opset);
        }
        (call.given("axes")?, false)
    } else {
        let empty = call.attributes.int("noop_with_empty_axes")?.unwrap_or(0);
        (call.optional_list(1, IntegerTypes::I64), empty != 0)
    };
    let axes = axes.unwrap_or_else(|| Integers::Given(Vec::new()));
    Ok(Operator::Arithmetic(Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none }))
}
