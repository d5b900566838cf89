//! Lists in tensors.

use trundle_core::{DType, Shape};

use super::sketch::{Sketch, Tagged, constant, from_input, given, i64s};
use crate::{Given, IntegerTypes, Integers, Operator, PadValue, Pads, Parts, ZeroSize};

fn reshape(sizes: Integers) -> Operator {
    Operator::Reshape { sizes, zero: ZeroSize::Zero }
}

fn i64_input(input: usize) -> Integers {
    from_input(input, IntegerTypes::I64)
}

/// Data of 24 elements, and a list that a test moves before an operator reads it.
fn with_list(list: &[i64]) -> Sketch {
    Sketch::new(&[Tagged::counting(&[24], 0).constant(), i64s(&[list.len()], list)])
}

#[test]
fn lists_are_read_through_movements_and_joins() {
    let mut sketch = with_list(&[9, 2, 9, 3, 9]);
    let every_other = Operator::Slice {
        starts: given(&[1]),
        stops: given(&[i64::MAX]),
        axes: None,
        steps: Some(given(&[2])),
    };
    let [odd] = sketch.node(every_other, &[1], 1)[..] else { panic!() };
    let [turned] = sketch.node(Operator::Flip { axes: given(&[0]) }, &[odd], 1)[..] else {
        panic!()
    };
    let four = sketch.node(Operator::Constant(i64s(&[1, 1], &[4])), &[], 1)[0];
    let four =
        sketch.node(Operator::Squeeze { axes: Some(given(&[0])), keeps_others: false }, &[four], 1)
            [0];
    let sizes = sketch.node(Operator::Concat { axis: 0 }, &[four, turned], 1)[0];
    sketch.node(reshape(i64_input(1)), &[0, sizes], 1);
    sketch.model.outputs.drain(..sketch.model.outputs.len() - 1);
    assert_eq!(sketch.run().unwrap(), [Tagged::counting(&[4, 3, 2], 0)]);
}

#[test]
fn lists_are_read_from_the_parts_of_a_split_and_from_padding() {
    let mut sketch = with_list(&[6, 4, 8, 3]);
    let split = Operator::Split { axis: given(&[0]), parts: Parts::Equal };
    let halves = sketch.node(split, &[1], 2);
    let pads = Pads::Each { begins: given(&[1]), ends: given(&[0]) };
    let one = sketch.node(Operator::Constant(i64s(&[], &[1])), &[], 1)[0];
    let padded = sketch.node(
        Operator::Pad { pads, axes: None, value: Some(PadValue::Input(1)) },
        &[halves[1], one],
        1,
    )[0];
    sketch.node(reshape(i64_input(1)), &[0, padded], 1);
    sketch.node(reshape(i64_input(1)), &[0, halves[0]], 1);
    sketch.model.outputs.drain(..sketch.model.outputs.len() - 2);
    let expected = [&[1, 8, 3][..], &[6, 4]].map(|sizes| Tagged::counting(sizes, 0));
    assert_eq!(sketch.run().unwrap(), expected);
}

#[test]
fn a_missing_list_is_named_in_the_error() {
    let mut sketch = with_list(&[4, 6]);
    let list = sketch.node(Operator::Flip { axes: given(&[0]) }, &[1], 1)[0];
    sketch.node(reshape(i64_input(1)), &[0, list], 1);
    let shape = |sizes: [usize; 1]| Shape::new(sizes).unwrap();
    let given = [Given { shape: shape([24]), data: None }, Given { shape: shape([2]), data: None }];
    assert_eq!(
        sketch.model.resolve(&given).unwrap_err().to_string(),
        "Kind \"n1\": its sizes depend on the elements of input \"x1\", which are not given"
    );
    let known = Given { shape: shape([2]), data: Some(&sketch.data[1].data) };
    assert!(sketch.model.resolve(&[given[0].clone(), known]).is_ok());
}

#[test]
fn each_kind_of_list_accepts_its_element_types() {
    use IntegerTypes::{I32OrI64, I64, Integers, Mask, Numbers};
    let takes = |types: IntegerTypes| {
        let accepted = |dtype: &&DType| {
            let bytes = vec![0; Shape::new([1]).unwrap().bytes(**dtype).unwrap()];
            let mut sketch = with_list(&[]);
            let list = sketch.node(Operator::Constant(constant(**dtype, &[1], bytes)), &[], 1)[0];
            let roll = Operator::Roll { shift: from_input(1, types), axes: given(&[0]) };
            sketch.node(roll, &[0, list], 1);
            sketch.resolve().is_ok()
        };
        DType::NAMED.iter().filter(accepted).map(DType::to_string).collect::<Vec<_>>().join(" ")
    };
    let integers = "i8 i16 i32 i64 u8 u16 u32 u64";
    let packed = "u1 u2 i2 u3 u4 i4 u6";
    assert_eq!(takes(I64), "i64");
    assert_eq!(takes(I32OrI64), "i32 i64");
    assert_eq!(takes(Integers), format!("{integers} {packed}"));
    assert_eq!(takes(Mask), format!("boolean {integers} {packed}"));
    // F8E8M0 is missing, because its smallest number, 2^-127, is not whole.
    assert_eq!(
        takes(Numbers),
        format!("{integers} f8e4m3 f8e5m2 bf16 f16 f32 f64 {packed} f4e2m1")
    );
}
