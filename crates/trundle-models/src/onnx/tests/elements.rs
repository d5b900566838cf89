//! Tensors in the file: every type in every field.

use prost::bytes::Bytes;

use super::super::proto::data_location;
use super::*;
use crate::{Data, Operator};

/// The type, shape and elements of a tensor that was read, or the error.
fn read_as(tensor: Tensor) -> String {
    match read(&with_initializer(tensor)) {
        Ok(model) => described(&model),
        Err(error) => error.to_string(),
    }
}

/// The last node, which must be a constant.
fn described(model: &Model) -> String {
    match &model.nodes.last().expect("there is a node").operator {
        Operator::Constant(constant) => {
            let (element, shape) = (constant.element, &constant.shape);
            match &constant.data {
                Data::Bytes(bytes) => format!("{element} {shape} {:?}", &bytes[..]),
                Data::Strings(strings) => format!("{element} {shape} {strings:?}"),
            }
        }
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn refuse(tensor: Tensor, says: &str) {
    assert_eq!(read_as(tensor), format!("initializer \"w\": {says}"));
}

fn raw(data_type: i32, dims: &[i64], bytes: &[u8]) -> Tensor {
    Tensor { raw_data: Bytes::copy_from_slice(bytes), ..tensor("w", data_type, dims) }
}

fn int32(data_type: i32, dims: &[i64], values: &[i32]) -> Tensor {
    Tensor { int32_data: values.to_vec(), ..tensor("w", data_type, dims) }
}

/// A type's number, its type in this library, and the bytes of 3 elements.
const TYPES: [(i32, &str, i32); 25] = [
    (1, "f32", 12),
    (2, "u8", 3),
    (3, "i8", 3),
    (4, "u16", 6),
    (5, "i16", 6),
    (6, "i32", 12),
    (7, "i64", 24),
    (9, "boolean", 3),
    (10, "f16", 6),
    (11, "f64", 24),
    (12, "u32", 12),
    (13, "u64", 24),
    (14, "complex64", 24),
    (15, "complex128", 48),
    (16, "bf16", 6),
    (17, "f8e4m3", 3),
    (18, "bytes1", 3),
    (19, "f8e5m2", 3),
    (20, "bytes1", 3),
    (21, "u4", 2),
    (22, "i4", 2),
    (23, "f4e2m1", 2),
    (24, "f8e8m0", 3),
    (25, "u2", 1),
    (26, "i2", 1),
];

#[test]
fn raw_data_of_every_type() {
    for (number, name, bytes) in TYPES {
        let bytes: Vec<u8> = (0..bytes).map(|byte| byte as u8 & 7).collect();
        assert_eq!(read_as(raw(number, &[3], &bytes)), format!("{name} [3] {bytes:?}"));
        let short = &bytes[1..];
        let refused = read_as(raw(number, &[3], short));
        let problem = if short.is_empty() {
            // The field for the type is read.
            continue;
        } else {
            format!("takes {} bytes, raw_data has {}", bytes.len(), short.len())
        };
        assert!(refused.ends_with(&problem), "{refused}");
    }
}

#[test]
fn missing_data_is_refused_unless_the_shape_is_empty() {
    for (number, ..) in TYPES {
        let refused = read_as(tensor("w", number, &[3]));
        assert!(refused.contains("has 0"), "{refused}");
    }
    assert_eq!(read_as(tensor("w", 1, &[3, 0])), "f32 [3, 0] []");
    assert_eq!(read_as(raw(1, &[], &[0, 0, 128, 63])), "f32 [] [0, 0, 128, 63]");
}

#[test]
fn float_data_keeps_every_bit_pattern() {
    // A signalling NaN, negative zero, and the smallest subnormal number.
    let float_data = vec![0x7f80_0001, 0x8000_0000, 1];
    let of = |data_type, dims: &[i64]| Tensor {
        float_data: float_data.clone(),
        ..tensor("w", data_type, dims)
    };
    assert_eq!(read_as(of(1, &[3])), "f32 [3] [1, 0, 128, 127, 0, 0, 0, 128, 1, 0, 0, 0]");
    refuse(of(14, &[2]), "shape [2] of complex64 takes 16 bytes, float_data has 12");
    let doubles = Tensor { double_data: vec![0x7ff0_0000_0000_0001, 1], ..tensor("w", 11, &[2]) };
    assert_eq!(
        read_as(doubles.clone()),
        "f64 [2] [1, 0, 0, 0, 0, 0, 240, 127, 1, 0, 0, 0, 0, 0, 0, 0]"
    );
    let complex = Tensor { data_type: 15, dims: vec![], ..doubles };
    assert_eq!(
        read_as(complex),
        "complex128 [] [1, 0, 0, 0, 0, 0, 240, 127, 1, 0, 0, 0, 0, 0, 0, 0]"
    );
}

#[test]
fn int32_data_holds_bit_patterns() {
    assert_eq!(read_as(int32(6, &[1], &[-2])), "i32 [1] [254, 255, 255, 255]");
    assert_eq!(read_as(int32(5, &[2], &[-2, 32767])), "i16 [2] [254, 255, 255, 127]");
    assert_eq!(read_as(int32(4, &[1], &[65535])), "u16 [1] [255, 255]");
    assert_eq!(read_as(int32(3, &[1], &[-128])), "i8 [1] [128]");
    assert_eq!(read_as(int32(2, &[1], &[255])), "u8 [1] [255]");
    assert_eq!(read_as(int32(9, &[2], &[0, 1])), "boolean [2] [0, 1]");
    assert_eq!(read_as(int32(10, &[1], &[0x7c01])), "f16 [1] [1, 124]");
    assert_eq!(read_as(int32(16, &[1], &[0xff81])), "bf16 [1] [129, 255]");
    assert_eq!(read_as(int32(17, &[1], &[0x80])), "f8e4m3 [1] [128]");
    assert_eq!(read_as(int32(18, &[1], &[0x80])), "bytes1 [1] [128]");
    assert_eq!(read_as(int32(19, &[1], &[0x7f])), "f8e5m2 [1] [127]");
    assert_eq!(read_as(int32(24, &[1], &[0xff])), "f8e8m0 [1] [255]");
    refuse(int32(2, &[1], &[256]), "int32_data holds 256, which is not a valid UINT8");
    refuse(int32(10, &[1], &[-32769]), "int32_data holds -32769, which is not a valid FLOAT16");
}

/// An entry is one byte of packed elements. Bits after the last element are cleared.
#[test]
fn packed_types() {
    assert_eq!(read_as(int32(21, &[3], &[0x21, 0xf3])), "u4 [3] [33, 3]");
    assert_eq!(read_as(int32(22, &[4], &[0x21, -1])), "i4 [4] [33, 255]");
    assert_eq!(read_as(int32(23, &[1], &[0x5f])), "f4e2m1 [1] [15]");
    assert_eq!(read_as(int32(25, &[5], &[0x87, 0xff])), "u2 [5] [135, 3]");
    assert_eq!(read_as(raw(26, &[7], &[0x87, 0xff])), "i2 [7] [135, 63]");
    assert_eq!(read_as(raw(26, &[8], &[0x87, 0xff])), "i2 [8] [135, 255]");
    refuse(int32(21, &[3], &[1, 2, 3]), "shape [3] of u4 takes 2 bytes, int32_data has 3");
}

#[test]
fn other_integers() {
    let int64_data = vec![-2];
    let of = Tensor { int64_data, ..tensor("w", INT64, &[]) };
    assert_eq!(read_as(of), "i64 [] [254, 255, 255, 255, 255, 255, 255, 255]");
    let unsigned =
        |data_type, value| Tensor { uint64_data: vec![value], ..tensor("w", data_type, &[1]) };
    assert_eq!(read_as(unsigned(13, u64::MAX)), "u64 [1] [255, 255, 255, 255, 255, 255, 255, 255]");
    assert_eq!(read_as(unsigned(12, 0xffff_fffe)), "u32 [1] [254, 255, 255, 255]");
    refuse(unsigned(12, 1 << 32), "uint64_data holds 4294967296, which is not a valid UINT32");
}

#[test]
fn strings_are_read() {
    let of = |dims: &[i64], strings: &[&'static [u8]]| Tensor {
        string_data: strings.iter().map(|text| Bytes::from_static(text)).collect(),
        ..tensor("w", 8, dims)
    };
    assert_eq!(read_as(of(&[2], &[b"a", b""])), r#"string [2] ["a", ""]"#);
    refuse(of(&[2], &[b"a"]), "shape [2] takes 2 strings, string_data has 1");
    refuse(of(&[1], &[b"\xff"]), "string 0 is not UTF-8");
    let raw = Tensor { raw_data: Bytes::from_static(b"a"), ..of(&[1], &[b"a"]) };
    refuse(raw, "it has raw_data, where there can be none");
}

#[test]
fn types_and_forms_that_are_not_supported_are_refused_by_name() {
    for (number, expected) in [
        (0, r#"initializer "w" has no element type"#),
        (27, r#"initializer "w" has elements of FLOAT6E2M3, which are not supported"#),
        (28, r#"initializer "w" has elements of FLOAT6E3M2, which are not supported"#),
        (29, r#"initializer "w" has the unknown element type 29"#),
        (-1, r#"initializer "w" has the unknown element type -1"#),
    ] {
        assert_eq!(read_as(tensor("w", number, &[])), expected);
    }
    let segment = Tensor { segment: Some(Bytes::new()), ..tensor("w", 1, &[]) };
    assert_eq!(read_as(segment), r#"initializer "w" is a segment of a larger tensor"#);
    let elsewhere = Tensor { data_location: 2, ..tensor("w", 1, &[]) };
    assert_eq!(read_as(elsewhere), r#"initializer "w" has its data at the unknown location 2"#);
    let text = Tensor { data_location: data_location::EXTERNAL, ..tensor("w", 8, &[]) };
    refuse(text, "strings cannot be external data");
    let unnamed = Tensor { name: String::new(), ..raw(2, &[1], &[1]) };
    assert_eq!(read_as(unnamed), "an initializer has no name");
}

#[test]
fn data_in_two_fields_or_the_wrong_field_is_refused() {
    let twice = Tensor { raw_data: Bytes::from_static(&[0; 4]), ..int32(6, &[1], &[1]) };
    refuse(twice, "it has its data twice, once in int32_data");
    let wrong = int32(1, &[1], &[1]);
    refuse(wrong, "its data is in int32_data, but must be in float_data");
}

/// No memory is allocated without data.
#[test]
fn invalid_and_too_large_shapes_are_refused() {
    let refused = |dims: &[i64]| read_as(raw(1, dims, &[0; 4]));
    assert_eq!(refused(&[-1]), r#"initializer "w": [-1] is not a valid shape"#);
    for dims in [&[i64::MAX][..], &[1 << 40, 1 << 40], &[i64::MAX / 4 + 1]] {
        let message = refused(dims);
        assert!(message.contains("too") || message.contains("over"), "{message}");
    }
    assert!(refused(&[1 << 60]).ends_with("raw_data has 4"), "{}", refused(&[1 << 60]));
}

#[test]
fn constants_in_every_form() {
    let read_as = |version, attributes| match read(&model(
        version,
        vec![node("Constant", &[], &["y"], attributes)],
        FLOAT,
    )) {
        Ok(model) => described(&model),
        Err(error) => error.to_string(),
    };
    let bytes = |list: &[&'static [u8]]| list.iter().map(|text| Bytes::from_static(text)).collect();
    let floats = Attribute {
        floats: vec![0x7f80_0001, 1],
        ..attribute("value_floats", attribute_type::FLOATS)
    };
    let strings = Attribute {
        strings: bytes(&[b"a", b"b"]),
        ..attribute("value_strings", attribute_type::STRINGS)
    };
    for (attribute, expected) in [
        (tensor_attribute("value", raw(2, &[2], &[7, 8])), "u8 [2] [7, 8]"),
        (float("value_float", -0.0), "f32 [] [0, 0, 0, 128]"),
        (floats, "f32 [2] [1, 0, 128, 127, 1, 0, 0, 0]"),
        (int("value_int", -1), "i64 [] [255, 255, 255, 255, 255, 255, 255, 255]"),
        (ints("value_ints", &[]), "i64 [0] []"),
        (text("value_string", "a"), r#"string [] ["a"]"#),
        (strings, r#"string [2] ["a", "b"]"#),
        (attribute("sparse_value", 11), r#"Constant "y": sparse constants are not supported"#),
    ] {
        assert_eq!(read_as(12, vec![attribute.clone()]), expected);
        assert_eq!(read_as(28, vec![attribute]), expected);
    }
    assert_eq!(
        read_as(11, vec![int("value_int", 1)]),
        r#"Constant "y": Constant of opset 11 has no attribute "value_int""#
    );
    let one_of = r#"Constant "y": it takes exactly one of the attributes value, sparse_value, "#;
    assert!(read_as(12, vec![]).starts_with(one_of));
    assert!(read_as(12, vec![int("value_int", 1), int("value", 1)]).starts_with(one_of));
    assert_eq!(
        read_as(1, vec![tensor_attribute("value", raw(1, &[2], &[0; 4]))]),
        r#"the constant "w": shape [2] of f32 takes 8 bytes, raw_data has 4"#
    );
}
