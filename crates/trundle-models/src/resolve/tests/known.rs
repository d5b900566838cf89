//! Shape, Size, Filled, Range, and the mask of Dropout.

use half::{bf16, f16};
use trundle_core::DType;

use super::sketch::{
    Sketch, Tagged, constant, expect, f32s, from_input, given, i64s, refuse, strings,
};
use crate::{Constant, Data, Given, IntegerTypes, Operator};

/// The constant that an operator computes, or the error.
fn made(operator: Operator, inputs: &[Constant]) -> Result<Constant, String> {
    let mut sketch = Sketch::new(inputs);
    let all: Vec<usize> = (0..inputs.len()).collect();
    sketch.node(operator, &all, 1);
    sketch.last_constant()
}

fn shape(start: i64, end: Option<i64>) -> Operator {
    Operator::Shape { start, end, element: DType::I64 }
}

#[test]
fn shape_returns_the_sizes_of_the_axes_in_range() {
    let data = Tagged::counting(&[2, 3, 4], 0).constant();
    // Examples of the specification, and clamped bounds.
    let cases: [(i64, Option<i64>, &[i64]); 11] = [
        (0, None, &[2, 3, 4]),
        (-1, None, &[4]),
        (0, Some(-1), &[2, 3]),
        (1, Some(2), &[3]),
        (2, Some(1), &[]),
        (-4, None, &[2, 3, 4]),
        (0, Some(9), &[2, 3, 4]),
        (0, Some(-9), &[]),
        (9, None, &[]),
        (i64::MIN, Some(i64::MAX), &[2, 3, 4]),
        (i64::MAX, Some(i64::MIN), &[]),
    ];
    for (start, end, sizes) in cases {
        let expected = i64s(&[sizes.len()], sizes);
        let found = made(shape(start, end), std::slice::from_ref(&data));
        assert_eq!(found, Ok(expected), "{start} {end:?}");
    }
    assert_eq!(made(shape(0, None), &[i64s(&[], &[3])]), Ok(i64s(&[0], &[])));
    assert_eq!(made(Operator::Size, &[data]), Ok(i64s(&[], &[24])));
    assert_eq!(made(Operator::Size, &[i64s(&[], &[3])]), Ok(i64s(&[], &[1])));
    assert_eq!(made(Operator::Size, &[i64s(&[0, 7], &[])]), Ok(i64s(&[], &[0])));
    assert_eq!(made(Operator::Size, &[strings(&[2], &["a", "b"])]), Ok(i64s(&[], &[2])));
}

#[test]
fn a_size_over_the_largest_i32_is_refused() {
    let of = |size| {
        let mut sketch = Sketch::new(&[constant(DType::U8, &[0, size], vec![])]);
        sketch.node(Operator::Shape { start: 0, end: None, element: DType::I32 }, &[0], 1);
        sketch.resolve().map(|model| model.constant_of(1).unwrap().data.clone())
    };
    let bytes = vec![0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f];
    assert_eq!(of((1 << 31) - 1).unwrap(), Data::Bytes(bytes.into()));
    let refused = of(1 << 31).unwrap_err().to_string();
    assert!(
        refused.ends_with("size 2147483648 is over 2147483647, the largest of i32"),
        "{refused}"
    );
}

/// The elements of both tensors are unknown.
#[test]
fn shapes_are_known_without_elements() {
    let mut sketch = Sketch::new(&[
        Tagged::counting(&[6, 4], 0).constant(),
        Tagged::counting(&[3, 8], 0).constant(),
    ]);
    let sizes = sketch.node(shape(0, None), &[1], 1)[0];
    let by_sizes = from_input(1, IntegerTypes::I64);
    let zero = crate::ZeroSize::Copies;
    sketch.node(Operator::Reshape { sizes: by_sizes, zero }, &[0, sizes], 1);
    let given: Vec<Given<'_>> = sketch
        .data
        .iter()
        .map(|constant| Given { shape: constant.shape.clone(), data: None })
        .collect();
    let model = sketch.model.resolve(&given).unwrap();
    assert_eq!(model.shape(model.outputs()[1]).sizes(), [3, 8]);
}

#[test]
fn one_element_fills_a_shape() {
    let filled = |sizes: &[i64]| Operator::Filled {
        sizes: given(sizes),
        value: constant(DType::U64, &[1], 77u64.to_le_bytes().to_vec()),
    };
    let of = |sizes: &[i64]| {
        let mut sketch = Sketch::new(&[]);
        sketch.node(filled(sizes), &[], 1);
        sketch.run().map(|outputs| outputs[0].clone())
    };
    assert_eq!(of(&[2, 3]).unwrap(), Tagged { sizes: vec![2, 3], tags: vec![77; 6] });
    assert_eq!(of(&[]).unwrap(), Tagged { sizes: vec![], tags: vec![77] });
    assert_eq!(of(&[3, 0]).unwrap(), Tagged { sizes: vec![3, 0], tags: vec![] });
    let refused = of(&[2, -1]).unwrap_err().to_string();
    assert!(refused.ends_with("sizes may not be negative, got -1"), "{refused}");
    assert!(of(&[i64::MAX, i64::MAX]).is_err());
    let mut two = filled(&[2]);
    let Operator::Filled { value, .. } = &mut two else { panic!() };
    *value = i64s(&[2], &[1, 2]);
    refuse(two, &[1], &[], "value must be one element, got shape [2]");
}

fn range(inputs: &[Constant; 3], element: Option<DType>) -> Result<Constant, String> {
    made(Operator::Range { element, single: true }, inputs)
}

fn whole(ends: [i64; 3]) -> [Constant; 3] {
    ends.map(|end| i64s(&[], &[end]))
}

fn floats(ends: [f32; 3]) -> [Constant; 3] {
    ends.map(|end| f32s(&[], &[end]))
}

fn list<const N: usize>(dtype: DType, entries: impl Iterator<Item = [u8; N]>) -> Constant {
    let bytes: Vec<u8> = entries.flatten().collect();
    constant(dtype, &[bytes.len() / N], bytes)
}

#[test]
fn ranges_end_before_their_limit() {
    let cases: [([i64; 3], &[i64]); 9] = [
        ([3, 9, 3], &[3, 6]),
        ([10, 4, -2], &[10, 8, 6]),
        ([0, 1, 5], &[0]),
        ([0, 0, 1], &[]),
        ([5, 0, 1], &[]),
        ([0, 5, -1], &[]),
        ([0, 7, 3], &[0, 3, 6]),
        ([i64::MIN, i64::MAX, i64::MAX], &[i64::MIN, -1, i64::MAX - 1]),
        ([i64::MAX, i64::MIN, i64::MIN], &[i64::MAX, -1]),
    ];
    for (ends, expected) in cases {
        assert_eq!(range(&whole(ends), None), Ok(i64s(&[expected.len()], expected)), "{ends:?}");
    }
    let tenth = 0.1f32;
    let expected = (0..10).map(|i| ((f64::from(i) * f64::from(tenth)) as f32).to_le_bytes());
    assert_eq!(range(&floats([0.0, 1.0, tenth]), None), Ok(list(DType::F32, expected)));
    let down = [1.0f32, 0.5].into_iter().map(f32::to_le_bytes);
    assert_eq!(range(&floats([1.0, 0.25, -0.5]), None), Ok(list(DType::F32, down)));
}

#[test]
fn ranges_of_16_bit_floats_are_computed_in_f32() {
    let f16s = |ends: [f32; 3]| {
        ends.map(|end| constant(DType::F16, &[], f16::from_f32(end).to_le_bytes().to_vec()))
    };
    // 2049 is not an f16 number. Each number is rounded independently.
    let expected = (0..3u16).map(|i| f16::from_f32(2047.0 + f32::from(i)).to_le_bytes());
    assert_eq!(range(&f16s([2047.0, 2050.0, 1.0]), None), Ok(list(DType::F16, expected)));
    let bf16s = [0.0, 1.0, 0.25]
        .map(|end| constant(DType::BF16, &[], bf16::from_f32(end).to_le_bytes().to_vec()));
    let expected = [0.0, 0.25, 0.5, 0.75].map(|value| bf16::from_f32(value).to_le_bytes());
    assert_eq!(range(&bf16s, None), Ok(list(DType::BF16, expected.into_iter())));
}

/// 65536 + 65537 / 256 is a little above the midpoint of two bf16 numbers. In f32, it is the midpoint.
#[test]
fn ranges_of_16_bit_floats_depend_on_the_precision() {
    let ends = [65536.0, 66048.0, 1.0 / 256.0];
    let ends =
        ends.map(|end| constant(DType::BF16, &[], bf16::from_f32(end).to_le_bytes().to_vec()));
    for (single, expected) in [(true, 65536.0), (false, 66048.0)] {
        let Constant { data, .. } = made(Operator::Range { element: None, single }, &ends).unwrap();
        let Data::Bytes(bytes) = data else { panic!() };
        assert_eq!(bytes.len(), 2 << 17);
        let found = bf16::from_le_bytes([bytes[2 * 65537], bytes[2 * 65537 + 1]]);
        assert_eq!(found, bf16::from_f32(expected), "{single}");
    }
}

/// A number near a midpoint is rounded to the nearer side, even if it is the midpoint in f32. The midpoint itself is
/// rounded to even.
#[test]
fn floats_are_rounded_to_16_bits_once() {
    let of = |start: f64| {
        // The range has one number.
        let ends = [start, f64::MAX, 1e308];
        let ends = ends.map(|end| constant(DType::F64, &[], end.to_le_bytes().to_vec()));
        [DType::F16, DType::BF16].map(|dtype| {
            let made = made(Operator::Range { element: Some(dtype), single: false }, &ends);
            let Data::Bytes(bytes) = made.unwrap().data else { panic!() };
            [bytes[0], bytes[1]]
        })
    };
    let tiny = 2f64.powi(-40);
    let f16_half = 1.0 + 2f64.powi(-11);
    for (start, up) in [(f16_half - tiny, 0.0), (f16_half, 0.0), (f16_half + tiny, 2f64.powi(-10))]
    {
        for sign in [1.0, -1.0] {
            let expected = f16::from_f64(sign * (1.0 + up)).to_le_bytes();
            assert_eq!(of(sign * start)[0], expected, "{start} {sign}");
        }
    }
    let bf16_half = 1.0 + 2f64.powi(-8);
    for (start, up) in
        [(bf16_half - tiny, 0.0), (bf16_half, 0.0), (bf16_half + tiny, 2f64.powi(-7))]
    {
        assert_eq!(of(start)[1], bf16::from_f64(1.0 + up).to_le_bytes(), "{start}");
    }
    assert_eq!(of(1e300), [f16::INFINITY.to_le_bytes(), bf16::INFINITY.to_le_bytes()]);
    assert_eq!(of(-1e-300), [f16::NEG_ZERO.to_le_bytes(), bf16::NEG_ZERO.to_le_bytes()]);
}

#[test]
fn ranges_with_a_stated_type_do_not_convert_floats() {
    let i32s = [0i32, 1, 2].map(i32::to_le_bytes);
    let expected = Ok(list(DType::I32, i32s.into_iter()));
    assert_eq!(range(&whole([0, 3, 1]), Some(DType::I32)), expected);
    for (ends, element, says) in [
        (whole([0, 3, 1]), DType::F32, "to convert start of i64 to f32 is computing"),
        (floats([0.0, 3.0, 1.0]), DType::I64, "to convert start of f32 to i64 is computing"),
        (whole([0, 300, 1]), DType::U8, "limit is 300, which u8 does not hold"),
        (whole([0, -1, -1]), DType::U8, "limit is -1, which u8 does not hold"),
        (whole([0, 1, 1]), DType::U4, "a range may not be of type u4"),
        (whole([0, 1, 1]), DType::Boolean, "a range may not be of type boolean"),
    ] {
        let refused = range(&ends, Some(element)).unwrap_err();
        assert!(refused.ends_with(says), "{refused}");
    }
}

#[test]
fn invalid_ranges_are_refused() {
    let long = "the range has 1000000000000 entries, over the limit of 16777216";
    let nan = [0.0, f32::NAN, 1.0];
    let [start, _, delta] = whole([0, 1, 1]);
    for (ends, says) in [
        (whole([0, 5, 0]), "delta is 0"),
        (floats([0.0, 5.0, 0.0]), "delta is 0"),
        (whole([0, 1_000_000_000_000, 1]), long),
        (floats([0.0, f32::INFINITY, 1.0]), "the range has inf entries"),
        (floats(nan), "start, limit and delta are not numbers"),
        ([start, floats(nan)[0].clone(), delta], "start is of type i64, but limit of f32"),
        (whole([0, 1, 1]).map(|_| i64s(&[2], &[0, 1])), "start must be one number, got 2"),
        (whole([0, 1, 1]).map(|_| strings(&[], &["1"])), "a range may not be of type string"),
    ] {
        let refused = range(&ends, None).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
    // The limit applies to the sum of all ranges of a model.
    let mut sketch = Sketch::new(&whole([0, 1 << 24, 1]));
    for _ in 0..5 {
        sketch.node(Operator::Range { element: None, single: false }, &[0, 1, 2], 1);
    }
    let refused = sketch.resolve().unwrap_err().to_string();
    assert!(refused.contains("take more than 67108864 steps"), "{refused}");
}

#[test]
fn dropout_drops_nothing() {
    let of = |inputs: &[Constant], outputs| {
        let mut all = vec![Tagged::counting(&[2, 3], 5).constant()];
        all.extend_from_slice(inputs);
        let mut sketch = Sketch::new(&all);
        let training = from_input(2, IntegerTypes::Mask);
        let training = (all.len() > 2).then_some(training);
        let ratio = (all.len() > 1).then_some(1);
        let reads: Vec<usize> = (0..all.len()).collect();
        sketch.node(Operator::Dropout { ratio, training }, &reads, outputs);
        sketch
    };
    let ratio = |ratio: f32| f32s(&[], &[ratio]);
    let training = |training| constant(DType::Boolean, &[], vec![training]);
    for inputs in [vec![], vec![ratio(0.5), training(0)], vec![ratio(0.0), training(1)]] {
        let data = of(&inputs, 1).run().unwrap();
        assert_eq!(data, [Tagged::counting(&[2, 3], 5)]);
        let model = of(&inputs, 2).resolve().unwrap();
        let mask = model.outputs()[1];
        assert_eq!(model.shape(mask).sizes(), [2, 3]);
        assert_eq!(model.element(mask), crate::ElementType::Fixed(DType::Boolean));
        assert_eq!(model.constant_of(inputs.len() + 1).unwrap().data, Data::Bytes(vec![1].into()));
    }
    let refused = of(&[ratio(0.25), training(1)], 1).resolve().unwrap_err().to_string();
    assert!(refused.ends_with("only Dropout at inference is supported: this node is training"));
}

#[test]
fn crops_and_pads_keep_the_centre() {
    let crop = |sizes: &[i64], axes: Option<&[i64]>| Operator::CenterCropPad {
        sizes: given(sizes),
        axes: axes.map(given),
    };
    // The smaller half of an odd amount is at the start.
    expect(crop(&[2, 3], None), &[5, 4], &[], &[2, 3], |i| vec![i[0] + 1, i[1]]);
    expect(crop(&[3], Some(&[-1])), &[2, 6], &[], &[2, 3], |i| vec![i[0], i[1] + 1]);
    expect(crop(&[0, 4], None), &[5, 4], &[], &[0, 4], <[usize]>::to_vec);
    let mut sketch = Sketch::new(&[Tagged::counting(&[2], 100).constant()]);
    sketch.node(crop(&[5], None), &[0], 1);
    assert_eq!(sketch.run().unwrap()[0].tags, [0, 100, 101, 0, 0]);
    refuse(crop(&[2], None), &[5, 4], &[], "shape and axes must have the same length, got 1 and 2");
    refuse(crop(&[-2], None), &[5], &[], "sizes may not be negative, got -2");
    refuse(crop(&[2, 2], Some(&[0, -1])), &[5], &[], "axes have axis -1 twice");
    refuse(crop(&[i64::MAX], None), &[5], &[], "too large");
}
