//! OpenVINO's arithmetic layers, supported only on numbers from shapes and constants.

use std::ops::RangeInclusive;

use super::layer::Layer;
use super::operators::{LayerType, Operand, integers, kind};
use crate::Operator;
use crate::arithmetic::{Arithmetic, Binary, Unary};
use crate::problem::{Checked, unsupported, wrong};

const ONE: RangeInclusive<usize> = 1..=1;
const TWO: RangeInclusive<usize> = 2..=2;

/// Sorted by name.
pub(super) const ARITHMETIC: [LayerType; 35] = [
    kind("Abs", 1, ONE, |_, _| unary(Unary::Absolute)),
    kind("Add", 1, TWO, |layer, _| binary(layer, Binary::Add)),
    kind("Ceiling", 1, ONE, |_, _| unary(Unary::Ceil)),
    kind("ConvertLike", 1, TWO, |_, _| Ok(Operator::Arithmetic(Arithmetic::CastLike))),
    kind("Divide", 1, TWO, divide),
    kind("Equal", 1, TWO, |layer, _| binary(layer, Binary::Equal)),
    kind("Floor", 1, ONE, |_, _| unary(Unary::Floor)),
    kind("FloorMod", 1, TWO, |layer, _| binary(layer, Binary::FloorModulo)),
    kind("Greater", 1, TWO, |layer, _| binary(layer, Binary::Greater)),
    kind("GreaterEqual", 1, TWO, |layer, _| binary(layer, Binary::GreaterOrEqual)),
    kind("Less", 1, TWO, |layer, _| binary(layer, Binary::Less)),
    kind("LessEqual", 1, TWO, |layer, _| binary(layer, Binary::LessOrEqual)),
    kind("LogicalAnd", 1, TWO, |layer, _| binary(layer, Binary::And)),
    kind("LogicalNot", 1, ONE, |_, _| unary(Unary::Not)),
    kind("LogicalOr", 1, TWO, |layer, _| binary(layer, Binary::Or)),
    kind("LogicalXor", 1, TWO, |layer, _| binary(layer, Binary::Xor)),
    kind("Maximum", 1, TWO, |layer, _| binary(layer, Binary::Maximum)),
    kind("Minimum", 1, TWO, |layer, _| binary(layer, Binary::Minimum)),
    kind("Mod", 1, TWO, |layer, _| binary(layer, Binary::Modulo)),
    kind("Multiply", 1, TWO, |layer, _| binary(layer, Binary::Multiply)),
    kind("Negative", 1, ONE, |_, _| unary(Unary::Negate)),
    kind("NotEqual", 1, TWO, |layer, _| binary(layer, Binary::NotEqual)),
    kind("Power", 1, TWO, |layer, _| binary(layer, Binary::Power)),
    kind("ReduceLogicalAnd", 1, TWO, |layer, _| reduce(layer, Binary::And)),
    kind("ReduceLogicalOr", 1, TWO, |layer, _| reduce(layer, Binary::Or)),
    kind("ReduceMax", 1, TWO, |layer, _| reduce(layer, Binary::Maximum)),
    kind("ReduceMin", 1, TWO, |layer, _| reduce(layer, Binary::Minimum)),
    kind("ReduceProd", 1, TWO, |layer, _| reduce(layer, Binary::Multiply)),
    kind("ReduceSum", 1, TWO, |layer, _| reduce(layer, Binary::Add)),
    kind("Round", 5, ONE, round),
    kind("Select", 1, 3..=3, select),
    kind("Sign", 1, ONE, |_, _| unary(Unary::Sign)),
    kind("Sqrt", 1, ONE, |_, _| unary(Unary::SquareRoot)),
    kind("Subtract", 1, TWO, |layer, _| binary(layer, Binary::Subtract)),
    kind("Xor", 1, TWO, |layer, _| binary(layer, Binary::Xor)),
];

fn unary(of: Unary) -> Checked<Operator> {
    Ok(Operator::Arithmetic(Arithmetic::Unary(of)))
}

/// Broadcasts as numpy, or not at all.
fn binary(layer: &Layer, by: Binary) -> Checked<Operator> {
    broadcasts(layer)?;
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn broadcasts(layer: &Layer) -> Checked<()> {
    match layer.attribute("auto_broadcast") {
        None | Some("numpy" | "none") => Ok(()),
        Some(other) => unsupported!("auto_broadcast {other:?} is not supported"),
    }
}

/// Quotients of integers are rounded down, unless `m_pythondiv` is false.
fn divide(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let by = if layer.truth("m_pythondiv", true)? { Binary::FloorDivide } else { Binary::Divide };
    binary(layer, by)
}

fn round(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    match layer.attribute("mode").unwrap_or("half_to_even") {
        "half_to_even" => unary(Unary::RoundToEven),
        "half_away_from_zero" => unary(Unary::RoundAwayFromZero),
        mode => wrong!("mode {mode:?} is none of its modes"),
    }
}

fn select(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    broadcasts(layer)?;
    Ok(Operator::Arithmetic(Arithmetic::Select))
}

/// An empty list of axes leaves the data unchanged.
fn reduce(layer: &Layer, by: Binary) -> Checked<Operator> {
    let (axes, keeps_axes) = (integers(1), layer.truth("keep_dims", false)?);
    Ok(Operator::Arithmetic(Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none: true }))
}
