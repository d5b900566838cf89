//! Widen converts constants exactly.

use half::{bf16, f16};
use trundle_core::{DType, Shape};
use trundle_formats::StoredDType;

use super::sketch::{Sketch, constant, given, strings};
use crate::resolve::element::{Number, number};
use crate::{Constant, Data, ElementType, Operator};

fn widened(from: Constant, to: DType) -> Result<Constant, String> {
    let mut sketch = Sketch::new(&[]);
    let value = sketch.node(Operator::Constant(from), &[], 1)[0];
    sketch.node(Operator::Widen(to), &[value], 1);
    sketch.last_constant()
}

#[test]
fn widening_keeps_values() {
    let f16s =
        |values: &[f64]| values.iter().flat_map(|v| f16::from_f64(*v).to_le_bytes()).collect();
    let bf16s =
        |values: &[f64]| values.iter().flat_map(|v| bf16::from_f64(*v).to_le_bytes()).collect();
    let f32s = |values: &[f64]| values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
    let f64s = |values: &[f64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let i64s = |values: &[i64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let tiny = 2f64.powi(-24);
    let values = [1.5, -0.0, 65504.0, tiny, f64::NEG_INFINITY];
    let cases: [(DType, Vec<u8>, DType, Vec<u8>); 12] = [
        (DType::F16, f16s(&values), DType::F32, f32s(&values)),
        (DType::F16, f16s(&values), DType::F64, f64s(&values)),
        (
            DType::BF16,
            bf16s(&[1e38, -3.0]),
            DType::F32,
            f32s(&[f64::from(bf16::from_f64(1e38)), -3.0]),
        ),
        (
            DType::F32,
            f32s(&[0.1, 1e-45]),
            DType::F64,
            f64s(&[f64::from(0.1f32), f64::from(1e-45f32)]),
        ),
        (DType::I8, vec![0x80, 0xff, 0x7f], DType::I64, i64s(&[-128, -1, 127])),
        (DType::U8, vec![0x80, 0xff], DType::I64, i64s(&[128, 255])),
        (DType::I4, vec![0x8f, 0x07], DType::I64, i64s(&[-1, -8, 7])),
        (DType::I8, vec![0x80, 0x7f], DType::F16, f16s(&[-128.0, 127.0])),
        (DType::U8, vec![0xff], DType::BF16, bf16s(&[255.0])),
        (DType::Boolean, vec![0, 1], DType::F32, f32s(&[0.0, 1.0])),
        (DType::F8E4M3, vec![0x01, 0x7e, 0xf8], DType::F16, f16s(&[2f64.powi(-9), 448.0, -256.0])),
        (DType::F4E2M1, vec![0xf1], DType::BF16, bf16s(&[0.5, -6.0])),
    ];
    for (from, bytes, to, expected) in cases {
        let elements = expected.len() / to.width();
        let result = widened(constant(from, &[elements], bytes), to);
        assert_eq!(result, Ok(constant(to, &[elements], expected)), "{from} to {to}");
    }
}

/// For every value of every type of at most two bytes, an allowed widening gives the same number.
#[test]
fn allowed_widenings_are_exact() {
    let mut allowed = 0;
    for &from in DType::NAMED {
        let (count, bytes): (usize, Vec<u8>) = match (from.packing(), from.width()) {
            (Some(packing), _) => {
                let count = 1 << packing.bits();
                let mut bytes = vec![0; packing.bytes(count)];
                (0..count).for_each(|at| packing.set(&mut bytes, at, u8::try_from(at).unwrap()));
                (count, bytes)
            }
            (None, 1) if from == DType::Boolean => (2, vec![0, 1]),
            (None, 1) => (256, (0..=255).collect()),
            (None, 2) => (1 << 16, (0..=u16::MAX).flat_map(u16::to_le_bytes).collect()),
            _ => continue,
        };
        for &to in DType::NAMED {
            let Ok(result) = widened(constant(from, &[count], bytes.clone()), to) else { continue };
            allowed += usize::from(from != to);
            let Data::Bytes(after) = &result.data else { panic!() };
            assert_eq!(result.element, ElementType::Fixed(to));
            for at in (0..count).filter(|_| from != to) {
                let value = |number: Option<Number>| match number.unwrap() {
                    Number::Integer(value) => value as f64,
                    Number::Float(value) => value,
                };
                let number =
                    |dtype, bytes| value(number(&StoredDType::little_endian(dtype), bytes, at));
                let (one, other) = (number(from, &bytes[..]), number(to, &after[..]));
                let same = one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan();
                assert!(same, "{from} {one} to {to} {other}");
            }
        }
    }
    assert!(allowed > 100, "{allowed}");
}

#[test]
fn inexact_widenings_are_refused() {
    for (from, to) in [
        (DType::F32, DType::F16),
        (DType::F16, DType::BF16),
        (DType::BF16, DType::F16),
        (DType::F64, DType::F32),
        (DType::I64, DType::I32),
        (DType::I64, DType::F64),
        (DType::U64, DType::I64),
        (DType::I8, DType::U64),
        (DType::U16, DType::F16),
        (DType::I32, DType::F32),
        (DType::F8E8M0, DType::F16),
        (DType::U8, DType::Boolean),
        (DType::F32, DType::I64),
        (DType::U4, DType::U6),
    ] {
        let bytes = vec![0; Shape::new([2]).unwrap().bytes(from).unwrap()];
        assert_eq!(
            widened(constant(from, &[2], bytes), to).unwrap_err(),
            format!("Kind \"n1\": {to} does not hold every value of {from} exactly")
        );
    }
    assert!(widened(strings(&[1], &["1"]), DType::F32).unwrap_err().contains("string"));
    let mut sketch = Sketch::new(&[constant(DType::F16, &[1], vec![0, 0])]);
    sketch.node(Operator::Widen(DType::F32), &[0], 1);
    assert_eq!(
        sketch.resolve().unwrap_err().to_string(),
        "Kind \"n0\": to convert f16 to f32 is computing, which is done for constants only"
    );
}

#[test]
fn a_constant_is_widened_once() {
    let mut sketch = Sketch::new(&[]);
    let value = sketch.node(Operator::Constant(constant(DType::F16, &[1], vec![0, 0])), &[], 1)[0];
    for _ in 0..3 {
        let wide = sketch.node(Operator::Widen(DType::F32), &[value], 1)[0];
        sketch.node(Operator::Roll { shift: given(&[0]), axes: given(&[0]) }, &[wide], 1);
    }
    assert_eq!(sketch.resolve().unwrap().program().tensors().len(), 2);
}
