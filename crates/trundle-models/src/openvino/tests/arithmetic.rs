//! Arithmetic layers.

use super::operators::{check, list, made};
use super::{Ir, refusal};
use crate::{Arithmetic, Binary, Operator, Unary};

fn two(by: Binary) -> Operator {
    Operator::Arithmetic(Arithmetic::Binary(by))
}

fn one(of: Unary) -> Operator {
    Operator::Arithmetic(Arithmetic::Unary(of))
}

#[test]
fn each_layer_is_what_its_text_says() {
    let of_two = [
        ("Add", Binary::Add),
        ("Equal", Binary::Equal),
        ("FloorMod", Binary::FloorModulo),
        ("Greater", Binary::Greater),
        ("GreaterEqual", Binary::GreaterOrEqual),
        ("Less", Binary::Less),
        ("LessEqual", Binary::LessOrEqual),
        ("LogicalAnd", Binary::And),
        ("LogicalOr", Binary::Or),
        ("LogicalXor", Binary::Xor),
        ("Maximum", Binary::Maximum),
        ("Minimum", Binary::Minimum),
        ("Mod", Binary::Modulo),
        ("Multiply", Binary::Multiply),
        ("NotEqual", Binary::NotEqual),
        ("Power", Binary::Power),
        ("Subtract", Binary::Subtract),
        ("Xor", Binary::Xor),
    ];
    check(of_two.map(|(kind, by)| (kind, "opset1", "auto_broadcast=\"numpy\"", 2, 1, two(by))));
    let of_one = [
        ("Abs", Unary::Absolute),
        ("Ceiling", Unary::Ceil),
        ("Floor", Unary::Floor),
        ("LogicalNot", Unary::Not),
        ("Negative", Unary::Negate),
        ("Sign", Unary::Sign),
        ("Sqrt", Unary::SquareRoot),
    ];
    check(of_one.map(|(kind, of)| (kind, "opset1", "", 1, 1, one(of))));
    let reduce = |by, keeps_axes| {
        let (axes, empty_is_none) = (list(1), true);
        Operator::Arithmetic(Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none })
    };
    let keeps = "keep_dims=\"true\"";
    check([
        ("Divide", "opset1", "", 2, 1, two(Binary::FloorDivide)),
        ("Divide", "opset1", "m_pythondiv=\"false\"", 2, 1, two(Binary::Divide)),
        ("Round", "opset5", "", 1, 1, one(Unary::RoundToEven)),
        ("Round", "opset5", "mode=\"half_away_from_zero\"", 1, 1, one(Unary::RoundAwayFromZero)),
        ("Select", "opset1", "", 3, 1, Operator::Arithmetic(Arithmetic::Select)),
        ("ConvertLike", "opset1", "", 2, 1, Operator::Arithmetic(Arithmetic::CastLike)),
        ("ReduceSum", "opset1", "", 2, 1, reduce(Binary::Add, false)),
        ("ReduceProd", "opset1", keeps, 2, 1, reduce(Binary::Multiply, true)),
        ("ReduceMax", "opset1", "", 2, 1, reduce(Binary::Maximum, false)),
        ("ReduceMin", "opset1", "", 2, 1, reduce(Binary::Minimum, false)),
        ("ReduceLogicalAnd", "opset1", "", 2, 1, reduce(Binary::And, false)),
        ("ReduceLogicalOr", "opset1", keeps, 2, 1, reduce(Binary::Or, true)),
    ]);
    let pdpd = refusal(made("Add", "opset1", "auto_broadcast=\"pdpd\"", 2, 1));
    assert!(pdpd.ends_with("auto_broadcast \"pdpd\" is not supported"), "{pdpd}");
    let mode = refusal(made("Round", "opset5", "mode=\"up\"", 1, 1));
    assert!(mode.ends_with("mode \"up\" is none of its modes"), "{mode}");
}

#[test]
fn arithmetic_that_computes_is_named_with_what_is_not_supported() {
    let mut ir = Ir::new();
    let x = ir.parameter("x", "f32", "?,?");
    let shape = ir.layer("sizes", "ShapeOf", "opset3", "", &[x], 1);
    // On shapes, arithmetic is allowed.
    let doubled = ir.layer("doubled", "Add", "opset1", "", &[shape, shape], 1);
    ir.result(doubled);
    let sum = ir.layer("sum", "Add", "opset1", "", &[x, x], 1);
    let relu = ir.layer("relu", "Relu", "opset1", "", &[sum], 1);
    ir.result(relu);
    let message = refusal(ir.read());
    assert!(message.contains("Add (1 node), Relu (1 node), which compute;"), "{message}");
}
