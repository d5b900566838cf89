//! Constants: bytes, strings and errors.

use bytes::Bytes;
use trundle_core::{DType, Shape};

use super::super::read_parts;
use super::{Ir, refusal};
use crate::tests::cases;
use crate::{Constant, Data, ElementType, Model, Operator, Result};

fn constants(model: &Model) -> Vec<Constant> {
    let constant = |operator: &Operator| match operator {
        Operator::Constant(constant) => constant.clone(),
        other => panic!("a constant, not {other:?}"),
    };
    model.nodes.iter().map(|node| constant(&node.operator)).collect()
}

/// `at` has the attributes `offset` and `size`.
fn read_constant(element: &str, shape: &str, at: &str, weights: &[u8]) -> Result<Constant> {
    let mut ir = Ir::new();
    let data = format!("element_type=\"{element}\" shape=\"{shape}\" {at}");
    let out = ir.layer("k", "Const", "opset1", &data, &[], 1);
    ir.result(out);
    read_parts(&ir.xml(), weights).map(|model| constants(&model).remove(0))
}

fn bytes(element: DType, sizes: &[usize], bytes: &[u8]) -> Constant {
    let shape = Shape::new(sizes).unwrap();
    Constant {
        element: ElementType::Fixed(element),
        shape,
        data: Data::Bytes(bytes.to_vec().into()),
    }
}

fn strings(sizes: &[usize], strings: &[&str]) -> Constant {
    let strings: Vec<String> = strings.iter().map(ToString::to_string).collect();
    let shape = Shape::new(sizes).unwrap();
    Constant { element: ElementType::String, shape, data: Data::Strings(strings.into()) }
}

/// Encodes strings, perhaps with invalid ends.
fn stored(count: u32, ends: &[u32], letters: &str) -> Vec<u8> {
    let numbers = [count].into_iter().chain(ends.iter().copied());
    numbers.flat_map(u32::to_le_bytes).chain(letters.bytes()).collect()
}

#[test]
fn elements_lie_anywhere_in_the_weights() {
    let weights: Vec<u8> = (0..32).collect();
    for (element, dtype, shape, sizes, at, expected) in [
        ("u8", DType::U8, "3", &[3][..], 1, &[1, 2, 3][..]),
        ("i32", DType::I32, "2, 1", &[2, 1], 3, &[3, 4, 5, 6, 7, 8, 9, 10]),
        ("f64", DType::F64, "", &[], 24, &[24, 25, 26, 27, 28, 29, 30, 31]),
        ("F16", DType::F16, "1,1", &[1, 1], 30, &[30, 31]),
        ("boolean", DType::Boolean, "[1]", &[1], 1, &[1]),
    ] {
        let at = format!("offset=\"{at}\" size=\"{}\"", expected.len());
        let read = read_constant(element, shape, &at, &weights).unwrap();
        assert_eq!(read, bytes(dtype, sizes, expected));
    }
}

#[test]
fn unused_bits_are_cleared() {
    let at = |size: usize| format!("offset=\"0\" size=\"{size}\"");
    let ones = [0xFF; 6];
    for (element, dtype, count, expected) in [
        ("u4", DType::U4, 3, &[0xFF, 0x0F][..]),
        ("nf4", DType::NF4, 1, &[0x0F]),
        ("u1", DType::U1, 10, &[0xFF, 0xC0]),
        ("u2", DType::U2, 3, &[0x3F]),
        ("u3", DType::U3, 9, &[0xFF, 0xFF, 0xFF, 0xC0, 0, 0x80]),
        ("u6", DType::U6, 1, &[0xF0, 0, 0xC0]),
    ] {
        let read = read_constant(element, &count.to_string(), &at(expected.len()), &ones).unwrap();
        assert_eq!(read, bytes(dtype, &[count], expected), "{element}");
    }
}

#[test]
fn a_constant_without_elements_reads_nothing() {
    for at in ["offset=\"0\" size=\"1\"", "offset=\"900\" size=\"0\"", ""] {
        assert_eq!(read_constant("i64", "0", at, &[]).unwrap(), bytes(DType::I64, &[0], &[]));
        assert_eq!(read_constant("string", "2,0", at, &[]).unwrap(), strings(&[2, 0], &[]));
    }
}

#[test]
fn constants_of_the_same_bytes_share_memory() {
    let mut ir = Ir::new();
    ir.weights = vec![0x77; 8];
    for (element, shape) in [("u8", "8"), ("i8", "2,4"), ("i64", "1"), ("u4", "15"), ("u4", "16")] {
        let data = format!("element_type=\"{element}\" shape=\"{shape}\" offset=\"0\" size=\"8\"");
        ir.layer("", "Const", "opset1", &data, &[], 1);
    }
    let bytes = |constant: Constant| match constant.data {
        Data::Bytes(bytes) => bytes,
        Data::Strings(strings) => panic!("bytes, not {strings:?}"),
    };
    let data: Vec<Bytes> = constants(&ir.read().unwrap()).into_iter().map(bytes).collect();
    assert!(data[0].as_ptr() == data[1].as_ptr() && data[0].as_ptr() == data[2].as_ptr());
    // Different constants of packed elements may have the same bytes.
    assert_eq!(data[3][..], [0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x07]);
    assert_eq!(data[4][..], [0x77; 8]);
}

#[test]
fn overlapping_constants_are_bounded() {
    let mut ir = Ir::new();
    ir.weights = vec![0; 100_000];
    for at in 0..40 {
        let size = 100_000 - at;
        let data = format!("element_type=\"u8\" shape=\"{size}\" offset=\"{at}\" size=\"{size}\"");
        ir.layer("", "Const", "opset1", &data, &[], 1);
    }
    assert_eq!(
        refusal(ir.read()),
        "layer 12 (Const, line 15): constants up to here take 1299922 bytes, but the weights have 100000 bytes: they overlap"
    );
}

#[test]
fn strings_are_read() {
    let good = stored(4, &[0, 1, 1, 3, 6], "aé€");
    let at = format!("offset=\"0\" size=\"{}\"", good.len());
    assert_eq!(
        read_constant("string", "2,2", &at, &good).unwrap(),
        strings(&[2, 2], &["a", "", "é", "€"])
    );
    let one_empty = stored(1, &[0, 0], "");
    assert_eq!(
        read_constant("string", "", "offset=\"0\" size=\"12\"", &one_empty).unwrap(),
        strings(&[], &[""])
    );
}

#[test]
fn strings_are_checked_in_full() {
    let refused = |shape: &str, weights: &[u8]| {
        let at = format!("offset=\"0\" size=\"{}\"", weights.len());
        refusal(read_constant("string", shape, &at, weights))
    };
    for (shape, weights, problem) in [
        ("2", stored(3, &[0, 1, 2], "ab"), "its shape has 2 strings, its bytes begin with 3"),
        ("2", vec![2, 0, 0], "its shape has 2 strings, its bytes begin with none"),
        ("2", stored(2, &[0], "ab"), "2 strings take at least 16 bytes; it has 10"),
        (
            "4294967295",
            stored(u32::MAX, &[0], ""),
            "4294967295 strings take at least 17179869188 bytes; it has 8",
        ),
        ("2", stored(2, &[1, 1, 2], "ab"), "its first string begins at byte 1, not 0"),
        ("2", stored(2, &[0, 2, 1], "ab"), "string 1 is bytes 2..1 of 2 bytes"),
        ("2", stored(2, &[0, 1, 3], "ab"), "string 1 is bytes 1..3 of 2 bytes"),
        ("2", stored(2, &[0, 1, u32::MAX], "ab"), "string 1 is bytes 1..4294967295 of 2 bytes"),
        ("2", stored(2, &[0, 1, 2], "abc"), "its strings end at byte 2 of 3"),
        ("2", stored(2, &[0, 1, 2], "é"), "string 0: incomplete utf-8 byte sequence from index 0"),
    ] {
        let message = refused(shape, &weights);
        assert_eq!(message, format!("layer 0 \"k\" (Const, line 3): {problem}"));
    }
}

#[test]
fn invalid_constants_are_refused() {
    for (case, problem) in cases(include_str!("constants.txt")) {
        let mut words = case.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let message = refusal(read_constant(word(), word(), word(), &[0; 8]));
        assert_eq!(message, format!("layer 0 \"k\" (Const, line 3): {problem}"));
    }
}

#[test]
fn early_files_state_types_and_shapes_at_ports() {
    let xml = "<net version=\"10\"><layers><layer id=\"4\" type=\"Const\" version=\"opset1\">\
               <data offset=\"2\" size=\"4\"/><output><port id=\"1\" precision=\"FP16\">\
               <dim>2</dim><dim>1</dim></port></output></layer></layers></net>";
    let model = read_parts(xml, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(constants(&model), [bytes(DType::F16, &[2, 1], &[2, 3, 4, 5])]);
}
