//! Truncated files and files of other formats.

use super::super::proto::{Function, StringEntry};
use super::*;

/// Messages of all kinds. The functions come last, so a truncated model calls unknown functions.
fn whole() -> Vec<u8> {
    let data = Tensor {
        float_data: vec![1, 2, 3, 4, 5, 6],
        external_data: vec![StringEntry { key: "location".to_owned(), value: String::new() }],
        ..tensor("w", FLOAT, &[2, 3])
    };
    let body = vec![node("Transpose", &["a"], &["b"], vec![reference("perm", 7, "order")])];
    let function = Function {
        name: "F".to_owned(),
        domain: "own".to_owned(),
        input: strings(&["a"]),
        output: strings(&["b"]),
        attribute: strings(&["order"]),
        node: body,
        opset_import: vec![opset("", 17)],
        ..Function::default()
    };
    let call = Node {
        domain: "own".to_owned(),
        ..node("F", &["y"], &["z"], vec![ints("order", &[1, 0])])
    };
    let concat = node("Concat", &["x", "w"], &["y"], vec![int("axis", 0)]);
    let mut proto = Proto { functions: vec![function], ..model(17, vec![concat, call], FLOAT) };
    let graph = proto.graph.as_mut().unwrap();
    graph.input.retain(|input| input.name == "x");
    graph.initializer.push(data);
    proto.encode_to_vec()
}

#[test]
fn a_truncated_file_is_refused() {
    let bytes = whole();
    assert_eq!(
        kinds(&read_bytes(bytes.clone(), None).unwrap()),
        ["Initializer", "Concat", "Transpose"]
    );
    for length in 0..bytes.len() {
        assert!(read_bytes(bytes[..length].to_vec(), None).is_err(), "length {length}");
    }
}

/// The reader never panics. Many results are still models.
#[test]
fn a_changed_byte_never_panics() {
    let bytes = whole();
    for at in 0..bytes.len() {
        for change in [1, 2, 4, 8, 0x10, 0x40, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= change;
            let _ = read_bytes(bytes, None);
        }
    }
}

#[test]
fn files_of_other_formats_are_refused() {
    for bytes in [&b""[..], b"\x93NUMPY", b"<?xml version=\"1.0\"?>", &[0xff; 100]] {
        let refused = read_bytes(bytes.to_vec(), None).unwrap_err().to_string();
        assert!(refused.starts_with("not an ONNX model: "), "{refused}");
    }
}

/// Groups may be nested, so the decoder limits their depth.
#[test]
fn deep_groups_are_refused() {
    let refused = read_bytes(vec![0x7b; 1 << 20], None).unwrap_err().to_string();
    assert!(refused.starts_with("not an ONNX model: "), "{refused}");
}

/// The reader does not allocate the stated length.
#[test]
fn a_length_beyond_the_file_is_refused() {
    // Field 7, the graph, with 2^40 bytes.
    let bytes = vec![0x08, 0x08, 0x3a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
    assert!(read_bytes(bytes, None).is_err());
}
