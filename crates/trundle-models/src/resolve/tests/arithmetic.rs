//! Arithmetic on known values, and its refusal on elements of inputs.

use trundle_core::DType;

use super::sketch::{Sketch, constant, f32s, from_input, given, i64s};
use crate::{Arithmetic, Binary, Constant, IntegerTypes, Operator, Unary};

/// The constant that an operator computes, or the error.
fn made(what: Arithmetic, operands: &[Constant]) -> Result<Constant, String> {
    let mut sketch = Sketch::new(&[]);
    let constants = operands.iter().map(|operand| Operator::Constant(operand.clone()));
    let inputs: Vec<usize> = constants.flat_map(|operator| sketch.node(operator, &[], 1)).collect();
    sketch.node(Operator::Arithmetic(what), &inputs, 1);
    sketch.last_constant()
}

fn booleans(entries: &[bool]) -> Constant {
    constant(DType::Boolean, &[entries.len()], entries.iter().map(|is| u8::from(*is)).collect())
}

#[test]
fn integers_are_combined_elementwise() {
    let (a, b) = (i64s(&[4], &[7, -7, 7, -7]), i64s(&[4], &[2, 2, -2, -2]));
    let cases: [(Binary, [i64; 4]); 9] = [
        (Binary::Add, [9, -5, 5, -9]),
        (Binary::Subtract, [5, -9, 9, -5]),
        (Binary::Multiply, [14, -14, -14, 14]),
        (Binary::Divide, [3, -3, -3, 3]),
        (Binary::FloorDivide, [3, -4, -4, 3]),
        (Binary::Modulo, [1, -1, 1, -1]),
        (Binary::FloorModulo, [1, 1, -1, -1]),
        (Binary::Minimum, [2, -7, -2, -7]),
        (Binary::Maximum, [7, 2, 7, -2]),
    ];
    for (by, expected) in cases {
        let found = made(Arithmetic::Binary(by), &[a.clone(), b.clone()]);
        assert_eq!(found, Ok(i64s(&[4], &expected)), "{by:?}");
    }
    let power = made(Arithmetic::Binary(Binary::Power), &[i64s(&[2], &[3, -2]), i64s(&[], &[3])]);
    assert_eq!(power, Ok(i64s(&[2], &[27, -8])));
    let compared = [
        (Binary::Equal, [false, false, true]),
        (Binary::NotEqual, [true, true, false]),
        (Binary::Less, [true, false, false]),
        (Binary::LessOrEqual, [true, false, true]),
        (Binary::Greater, [false, true, false]),
        (Binary::GreaterOrEqual, [false, true, true]),
    ];
    for (by, expected) in compared {
        let found = made(Arithmetic::Binary(by), &[i64s(&[3], &[1, 3, 2]), i64s(&[1], &[2])]);
        assert_eq!(found, Ok(booleans(&expected)), "{by:?}");
    }
}

#[test]
fn operands_are_broadcast() {
    let found =
        made(Arithmetic::Binary(Binary::Add), &[i64s(&[2, 1], &[10, 20]), i64s(&[3], &[1, 2, 3])]);
    assert_eq!(found, Ok(i64s(&[2, 3], &[11, 12, 13, 21, 22, 23])));
    let empty = made(Arithmetic::Binary(Binary::Add), &[i64s(&[0], &[]), i64s(&[1], &[1])]);
    assert_eq!(empty, Ok(i64s(&[0], &[])));
    let refused =
        made(Arithmetic::Binary(Binary::Add), &[i64s(&[2], &[1, 2]), i64s(&[3], &[1, 2, 3])]);
    assert!(refused.unwrap_err().contains("shape [3] cannot be broadcast to [2]"));
    let found = made(
        Arithmetic::Select,
        &[booleans(&[true, false]), i64s(&[2, 1], &[1, 2]), i64s(&[], &[9])],
    );
    assert_eq!(found, Ok(i64s(&[2, 2], &[1, 9, 2, 9])));
    let clipped =
        made(Arithmetic::Clip, &[i64s(&[3], &[1, 5, 9]), i64s(&[], &[2]), i64s(&[], &[7])]);
    assert_eq!(clipped, Ok(i64s(&[3], &[2, 5, 7])));
}

#[test]
fn floats_are_rounded_once_and_cast_towards_zero() {
    let third = made(Arithmetic::Binary(Binary::Divide), &[f32s(&[], &[1.0]), f32s(&[], &[3.0])]);
    assert_eq!(third, Ok(f32s(&[], &[1.0 / 3.0])));
    // Even a zero has the sign of the divisor.
    let rest = made(
        Arithmetic::Binary(Binary::FloorModulo),
        &[f32s(&[4], &[-6.0, 6.0, -7.5, 7.5]), f32s(&[4], &[3.0, -3.0, 2.0, -2.0])],
    );
    assert_eq!(rest, Ok(f32s(&[4], &[0.0, -0.0, 0.5, -0.5])));
    let unary = [
        (Unary::Floor, [-2.0, 2.0]),
        (Unary::Ceil, [-1.0, 3.0]),
        (Unary::RoundToEven, [-2.0, 2.0]),
        (Unary::RoundAwayFromZero, [-2.0, 3.0]),
        (Unary::Absolute, [1.5, 2.5]),
        (Unary::Negate, [1.5, -2.5]),
        (Unary::Sign, [-1.0, 1.0]),
    ];
    for (of, expected) in unary {
        let found = made(Arithmetic::Unary(of), &[f32s(&[2], &[-1.5, 2.5])]);
        assert_eq!(found, Ok(f32s(&[2], &expected)), "{of:?}");
    }
    let whole = made(Arithmetic::Cast(DType::I64), &[f32s(&[2], &[-1.5, 2.75])]);
    assert_eq!(whole, Ok(i64s(&[2], &[-1, 2])));
    let refused = made(Arithmetic::Cast(DType::I64), &[f32s(&[1], &[f32::NAN])]);
    assert!(refused.unwrap_err().contains("NaN is out of range of i64"));
    // 2^24 + 1 is between two f32 numbers.
    let rounded = made(Arithmetic::Cast(DType::F32), &[i64s(&[], &[(1 << 24) + 1])]);
    assert_eq!(rounded, Ok(f32s(&[], &[16_777_216.0])));
    let truth = made(Arithmetic::Cast(DType::Boolean), &[f32s(&[3], &[0.0, -0.5, f32::NAN])]);
    assert_eq!(truth, Ok(booleans(&[false, true, true])));
    let not = made(Arithmetic::Unary(Unary::Not), &[booleans(&[true, false])]);
    assert_eq!(not, Ok(booleans(&[false, true])));
}

#[test]
fn reductions_combine_numbers_along_axes() {
    let data = i64s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let reduce = |by, axes: &[i64], keeps_axes, empty_is_none| Arithmetic::Reduce {
        by,
        axes: given(axes),
        keeps_axes,
        empty_is_none,
    };
    let of = |what| made(what, std::slice::from_ref(&data));
    assert_eq!(of(reduce(Binary::Add, &[1], true, false)), Ok(i64s(&[2, 1], &[6, 15])));
    assert_eq!(of(reduce(Binary::Multiply, &[-2], false, false)), Ok(i64s(&[3], &[4, 10, 18])));
    assert_eq!(of(reduce(Binary::Maximum, &[], false, false)), Ok(i64s(&[], &[6])));
    assert_eq!(of(reduce(Binary::Minimum, &[], true, false)), Ok(i64s(&[1, 1], &[1])));
    assert_eq!(of(reduce(Binary::Add, &[], true, true)), Ok(data.clone()));
    let none = made(reduce(Binary::Multiply, &[], false, false), &[i64s(&[0], &[])]);
    assert_eq!(none, Ok(i64s(&[], &[1])));
    let refused = made(reduce(Binary::Maximum, &[], false, false), &[i64s(&[0], &[])]);
    assert!(refused.unwrap_err().contains("shape [0] has no elements along the axes"));
}

#[test]
fn integers_out_of_range_are_refused() {
    let refused = |by, a: i64, b: i64| {
        made(Arithmetic::Binary(by), &[i64s(&[], &[a]), i64s(&[], &[b])]).unwrap_err()
    };
    let says =
        "its result 9223372036854775808, of 4611686018427387904 and 2, is out of range of i64";
    assert!(refused(Binary::Multiply, 1 << 62, 2).contains(says));
    assert!(refused(Binary::Add, i64::MAX, 1).contains("is out of range of i64"));
    assert!(refused(Binary::Divide, i64::MIN, -1).contains("is out of range of i64"));
    assert!(refused(Binary::Divide, 3, 0).contains("3 is divided by 0"));
    assert!(refused(Binary::FloorModulo, 3, 0).contains("3 is divided by 0"));
    assert!(refused(Binary::Power, 2, 1 << 40).contains("is not an integer within range"));
    assert!(refused(Binary::Power, 2, -1).contains("is not an integer within range"));
    let types = made(Arithmetic::Binary(Binary::Add), &[i64s(&[], &[1]), f32s(&[], &[1.0])]);
    assert!(types.unwrap_err().contains("its inputs must have the same type, got i64 and f32"));
    let logical = made(Arithmetic::Binary(Binary::And), &[i64s(&[], &[1]), i64s(&[], &[1])]);
    assert!(logical.unwrap_err().contains("type i64 is not supported"));
}

#[test]
fn arithmetic_works_on_shapes_but_not_on_input_elements() {
    let mut sketch = Sketch::new(&[i64s(&[6, 4], &[0; 24])]);
    let shape = Operator::Shape { start: 0, end: None, element: DType::I64 };
    let sizes = sketch.node(shape, &[0], 1)[0];
    let two = sketch.node(Operator::Constant(i64s(&[], &[2])), &[], 1)[0];
    let halves =
        sketch.node(Operator::Arithmetic(Arithmetic::Binary(Binary::Divide)), &[sizes, two], 1)[0];
    let tile = Operator::Tile { repeats: from_input(1, IntegerTypes::I64) };
    let tiled = sketch.node(tile, &[0, halves], 1)[0];
    let model = sketch.resolve().unwrap();
    assert_eq!(model.shape(*model.outputs().last().unwrap()).sizes(), [18, 8]);

    let sum = Operator::Arithmetic(Arithmetic::Binary(Binary::Add));
    sketch.node(sum.clone(), &[tiled, two], 1);
    sketch.node(sum, &[0, 0], 1);
    let refused = sketch.resolve().unwrap_err().to_string();
    let says = "Kind \"n4\": not supported: Kind (2 nodes), which computes: arithmetic is supported only on";
    assert!(refused.starts_with(says), "{refused}");
    // Data of any kind may keep its type.
    let mut sketch = Sketch::new(&[i64s(&[2], &[1, 2])]);
    sketch.node(Operator::Arithmetic(Arithmetic::Cast(DType::I64)), &[0], 1);
    assert!(sketch.resolve().is_ok());
}

#[test]
fn sizes_of_computed_constants_are_bounded() {
    let sizes = Operator::Constant(i64s(&[1], &[1 << 40]));
    let mut sketch = Sketch::new(&[]);
    let sizes = sketch.node(sizes, &[], 1)[0];
    let filled =
        Operator::Filled { sizes: from_input(0, IntegerTypes::I64), value: i64s(&[], &[1]) };
    let filled = sketch.node(filled, &[sizes], 1)[0];
    sketch.node(Operator::Arithmetic(Arithmetic::Unary(Unary::Negate)), &[filled], 1);
    let refused = sketch.resolve().unwrap_err().to_string();
    assert!(
        refused.contains("1099511627776 operands of its arithmetic, over the limit of 1048576"),
        "{refused}"
    );
    // The broadcast size is checked before anything is allocated.
    let mut sketch = Sketch::new(&[]);
    let list = |sizes: &[usize]| Operator::Constant(i64s(sizes, &vec![0; 1 << 14]));
    let (row, column) = (list(&[1, 1 << 14]), list(&[1 << 14, 1]));
    let (row, column) = (sketch.node(row, &[], 1)[0], sketch.node(column, &[], 1)[0]);
    sketch.node(Operator::Arithmetic(Arithmetic::Binary(Binary::Add)), &[row, column], 1);
    let refused = sketch.resolve().unwrap_err().to_string();
    assert!(refused.contains("268435456 operands of its arithmetic, over the limit"), "{refused}");
}
