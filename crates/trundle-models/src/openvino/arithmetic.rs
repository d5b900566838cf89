//! OpenVINO's arithmetic layers, supported on numbers that come from shapes and constants.

use std::ops::RangeInclusive;

use super::layer::Layer;
use super::operators::{Kind, Operand, Role, integers};
use crate::arithmetic::{Arithmetic, Binary, Unary};
use crate::{Operator, Result};

use Role::Operator as Op;

const TWO: RangeInclusive<usize> = 2..=2;

/// A layer with two operands.
const fn two(name: &'static str, since: u32, role: Role) -> Kind {
    Kind { name, since, inputs: TWO, outputs: 1..=1, role }
}

/// A layer with one operand.
const fn one(name: &'static str, since: u32, role: Role) -> Kind {
    Kind { name, since, inputs: 1..=1, outputs: 1..=1, role }
}

/// The arithmetic layers, sorted by name.
pub(super) const ARITHMETIC: [Kind; 35] = [
    one("Abs", 1, Op(|_, _| unary(Unary::Absolute))),
    two("Add", 1, Op(|layer, _| binary(layer, Binary::Add))),
    one("Ceiling", 1, Op(|_, _| unary(Unary::Ceil))),
    two("ConvertLike", 1, Op(|_, _| Ok(Operator::Arithmetic(Arithmetic::CastLike)))),
    two("Divide", 1, Op(divide)),
    two("Equal", 1, Op(|layer, _| binary(layer, Binary::Equal))),
    one("Floor", 1, Op(|_, _| unary(Unary::Floor))),
    two("FloorMod", 1, Op(|layer, _| binary(layer, Binary::FloorModulo))),
    two("Greater", 1, Op(|layer, _| binary(layer, Binary::Greater))),
    two("GreaterEqual", 1, Op(|layer, _| binary(layer, Binary::GreaterOrEqual))),
    two("Less", 1, Op(|layer, _| binary(layer, Binary::Less))),
    two("LessEqual", 1, Op(|layer, _| binary(layer, Binary::LessOrEqual))),
    two("LogicalAnd", 1, Op(|layer, _| binary(layer, Binary::And))),
    one("LogicalNot", 1, Op(|_, _| unary(Unary::Not))),
    two("LogicalOr", 1, Op(|layer, _| binary(layer, Binary::Or))),
    two("LogicalXor", 1, Op(|layer, _| binary(layer, Binary::Xor))),
    two("Maximum", 1, Op(|layer, _| binary(layer, Binary::Maximum))),
    two("Minimum", 1, Op(|layer, _| binary(layer, Binary::Minimum))),
    two("Mod", 1, Op(|layer, _| binary(layer, Binary::Modulo))),
    two("Multiply", 1, Op(|layer, _| binary(layer, Binary::Multiply))),
    one("Negative", 1, Op(|_, _| unary(Unary::Negate))),
    two("NotEqual", 1, Op(|layer, _| binary(layer, Binary::NotEqual))),
    two("Power", 1, Op(|layer, _| binary(layer, Binary::Power))),
    two("ReduceLogicalAnd", 1, Op(|layer, _| reduce(layer, Binary::And))),
    two("ReduceLogicalOr", 1, Op(|layer, _| reduce(layer, Binary::Or))),
    two("ReduceMax", 1, Op(|layer, _| reduce(layer, Binary::Maximum))),
    two("ReduceMin", 1, Op(|layer, _| reduce(layer, Binary::Minimum))),
    two("ReduceProd", 1, Op(|layer, _| reduce(layer, Binary::Multiply))),
    two("ReduceSum", 1, Op(|layer, _| reduce(layer, Binary::Add))),
    one("Round", 5, Op(round)),
    Kind { name: "Select", since: 1, inputs: 3..=3, outputs: 1..=1, role: Op(select) },
    one("Sign", 1, Op(|_, _| unary(Unary::Sign))),
    one("Sqrt", 1, Op(|_, _| unary(Unary::SquareRoot))),
    two("Subtract", 1, Op(|layer, _| binary(layer, Binary::Subtract))),
    two("Xor", 1, Op(|layer, _| binary(layer, Binary::Xor))),
];

fn unary(of: Unary) -> Result<Operator> {
    Ok(Operator::Arithmetic(Arithmetic::Unary(of)))
}

/// A binary operator, with numpy's broadcasting or none.
fn binary(layer: &Layer, by: Binary) -> Result<Operator> {
    broadcasts(layer)?;
    Ok(Operator::Arithmetic(Arithmetic::Binary(by)))
}

fn broadcasts(layer: &Layer) -> Result<()> {
    match layer.attribute("auto_broadcast") {
        None | Some("numpy" | "none") => Ok(()),
        Some(other) => {
            let other = other.escape_debug();
            Err(layer.unsupported(format!("auto_broadcast \"{other}\" is not supported")))
        }
    }
}

/// Divide. Rounds quotients of integers down unless the attribute says otherwise.
fn divide(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    let downwards =
        layer.attribute("m_pythondiv").map_or(Ok(true), |text| layer.truth("m_pythondiv", text))?;
    binary(layer, if downwards { Binary::FloorDivide } else { Binary::Divide })
}

fn round(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    match layer.attribute("mode").unwrap_or("half_to_even") {
        "half_to_even" => unary(Unary::RoundToEven),
        "half_away_from_zero" => unary(Unary::RoundAwayFromZero),
        mode => Err(layer.malformed(format!("mode {mode:?} is none of its modes"))),
    }
}

fn select(layer: &Layer, _: &[Operand]) -> Result<Operator> {
    broadcasts(layer)?;
    Ok(Operator::Arithmetic(Arithmetic::Select))
}

/// A reduction along axes. An empty list of axes leaves the data unchanged.
fn reduce(layer: &Layer, by: Binary) -> Result<Operator> {
    let keeps_axes =
        layer.attribute("keep_dims").map_or(Ok(false), |text| layer.truth("keep_dims", text))?;
    let axes = integers(1);
    Ok(Operator::Arithmetic(Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none: true }))
}
