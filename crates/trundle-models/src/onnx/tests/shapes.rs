//! Operators whose output depends only on shapes, and operators that use such outputs.

use super::operators::{check, read_as};
use super::*;

#[test]
fn shape_and_size() {
    let of = |attributes| node("Shape", &["x"], &["y"], attributes);
    check(vec![
        (1, 28, of(vec![]), "Shape { start: 0, end: None, element: I64 }"),
        (15, 28, of(vec![int("start", -2)]), "Shape { start: -2, end: None, element: I64 }"),
        (
            15,
            28,
            of(vec![int("start", 1), int("end", -1)]),
            "Shape { start: 1, end: Some(-1), element: I64 }",
        ),
        (14, 14, of(vec![int("end", 1)]), r#"Shape "y": Shape of opset 14 has no attribute "end""#),
        (1, 28, node("Size", &["x"], &["y"], vec![]), "Size"),
    ]);
}

#[test]
fn ranges_and_crops() {
    let range = |attributes| node("Range", &["s", "l", "d"], &["y"], attributes);
    let crop = |attributes| node("CenterCropPad", &["x", "shape"], &["y"], attributes);
    let sizes = "CenterCropPad { sizes: Input { input: 1, types: I32OrI64 }";
    check(vec![
        (11, 28, range(vec![]), "Range { element: None, single: true }"),
        (27, 28, range(vec![int("stash_type", 1)]), "Range { element: None, single: true }"),
        (27, 28, range(vec![int("stash_type", 11)]), "Range { element: None, single: false }"),
        (
            27,
            28,
            range(vec![int("stash_type", 10)]),
            r#"Range "y": stash_type is 10, expected 1 (FLOAT) or 11 (DOUBLE)"#,
        ),
        (
            26,
            26,
            range(vec![int("stash_type", 1)]),
            r#"Range "y": Range of opset 26 has no attribute "stash_type""#,
        ),
        (18, 28, crop(vec![]), &format!("{sizes}, axes: None }}")),
        (18, 28, crop(vec![ints("axes", &[-1])]), &format!("{sizes}, axes: Some(Given([-1])) }}")),
        (
            17,
            17,
            crop(vec![]),
            r#"CenterCropPad "y": opset 17 has no CenterCropPad, it came with opset 18"#,
        ),
    ]);
}

#[test]
fn constant_of_shape() {
    let of = |attributes| read_as(9, node("ConstantOfShape", &["shape"], &["y"], attributes));
    let value = |tensor| vec![tensor_attribute("value", tensor)];
    let filled = of(vec![]);
    assert!(filled.starts_with("Filled { sizes: Input { input: 0, types: I64 }"), "{filled}");
    assert!(filled.contains("Fixed(F32)") && filled.contains("Bytes([0, 0, 0, 0])"), "{filled}");
    let seven = Tensor { int64_data: vec![7], ..tensor("", INT64, &[1]) };
    let filled = of(value(seven));
    assert!(filled.contains("Fixed(I64)"), "{filled}");
    assert!(filled.contains("Bytes([7, 0, 0, 0, 0, 0, 0, 0])"), "{filled}");
    let refused = of(value(tensor("", INT64, &[1])));
    assert!(refused.starts_with(r#"its value"#), "{refused}");
}
