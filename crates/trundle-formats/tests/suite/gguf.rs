//! Tests with GGUF files made by hand from the specification, valid and invalid ones.

use trundle_core::DType;
use trundle_formats::{Error, Order, Problem, StoredDType, TensorFile, TensorHint};

use crate::support::{check_changed_bytes, check_truncated, read, readers, shape};

readers!("gguf");

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A metadata entry: the key, the number of the value's type, and the value.
fn pair(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&text(key)[..], &kind.to_le_bytes(), value].concat()
}

/// An array: the number of the element type, the number of elements, and the elements.
fn array(kind: u32, count: u64, values: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), values].concat()
}

/// A header entry of a tensor. `sizes` begins with the fastest axis.
fn tensor(name: &str, sizes: &[u64], dtype: u32, offset: u64) -> Vec<u8> {
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    let count = (sizes.len() as u32 / 8).to_le_bytes();
    [&text(name)[..], &count, &sizes, &dtype.to_le_bytes(), &offset.to_le_bytes()].concat()
}

fn header(version: u32, pairs: &[Vec<u8>], tensors: &[Vec<u8>]) -> Vec<u8> {
    let counts = [tensors.len() as u64, pairs.len() as u64].map(u64::to_le_bytes).concat();
    [b"GGUF", &version.to_le_bytes()[..], &counts, &pairs.concat(), &tensors.concat()].concat()
}

/// A file: `header` padded to a multiple of `alignment` bytes, and `data_bytes` bytes that count up from 0.
fn padded(mut header: Vec<u8>, alignment: usize, data_bytes: usize) -> Vec<u8> {
    header.resize(header.len().next_multiple_of(alignment), 0xff);
    header.extend((0..data_bytes).map(|n| n as u8));
    header
}

fn file(tensors: &[Vec<u8>], data_bytes: usize) -> Vec<u8> {
    padded(header(3, &[], tensors), 32, data_bytes)
}

/// Three tensors in the reverse order of their data. The middle one cannot be read.
fn mixed() -> Vec<u8> {
    let tensors =
        [tensor("b", &[3], 25, 96), tensor("q", &[32, 2], 8, 32), tensor("a", &[3, 2], 0, 0)];
    let pairs = [
        pair("general.architecture", 8, &text("größe")),
        pair("n", 4, &7u32.to_le_bytes()),
        pair("words", 9, &array(8, 2, &[text("a"), text("bc")].concat())),
        pair("scores", 9, &array(6, 3, &[1; 12])),
        pair("is", 7, &[1]),
    ];
    padded(header(3, &pairs, &tensors), 32, 102)
}

#[test]
fn tensors_are_listed_in_the_order_of_their_data() {
    let bytes = mixed();
    let mut file = open(bytes.clone()).unwrap();
    let [a, b] = file.headers() else { panic!("two tensors") };
    assert_eq!((&a.name[..], a.element.name(), &a.shape[..]), ("a", "f32", &[2, 3][..]));
    assert_eq!((&b.name[..], b.element.name(), &b.shape[..]), ("b", "i16", &[3][..]));
    let start = bytes.len() as u64 - 102;
    assert_eq!((a.data_offset, b.data_offset), (Some(start), Some(start + 96)));
    assert_eq!((a.data_bytes, b.data_bytes, a.order), (24, 6, Order::RowMajor));
    let data: Vec<u8> = (0..102).collect();
    assert_eq!(read(&mut file).unwrap(), [&data[..24], &data[96..]]);
    let [q] = file.unreadable() else { panic!("one that cannot be read") };
    assert_eq!(q.name, "q");
    let why = "is of type Q8_0, which is quantised: its elements share bytes in blocks";
    assert_eq!(q.problem.to_string(), why);
    let pairs: Vec<(&str, &str)> = file.metadata().iter().map(|(k, v)| (&k[..], &v[..])).collect();
    assert_eq!(pairs, [("general.architecture", "größe"), ("n", "7"), ("is", "true")]);
    assert_eq!(file.unread(), ["array words", "array scores"]);
}

#[test]
fn a_stream_is_read_in_order() {
    let mut file = stream(mixed()).unwrap();
    let data: Vec<u8> = (0..102).collect();
    assert_eq!(file.load(0, &mut |_| ()).unwrap(), &data[..24]);
    assert_eq!(file.load(1, &mut |_| ()).unwrap(), &data[96..]);
    assert!(file.load(0, &mut |_| ()).is_err());
}

#[test]
fn every_type_that_is_not_quantised_is_read() {
    for (number, name, width) in [
        (0, "f32", 4),
        (1, "f16", 2),
        (24, "i8", 1),
        (25, "i16", 2),
        (26, "i32", 4),
        (27, "i64", 8),
        (28, "f64", 8),
        (30, "bf16", 2),
    ] {
        for version in [2, 3] {
            let header = header(version, &[], &[tensor("x", &[5, 3, 2], number, 0)]);
            let mut file = open(padded(header, 32, 30 * width)).unwrap();
            let [x] = file.headers() else { panic!("one tensor") };
            assert_eq!((x.element.name(), &x.shape[..]), (name, &[2, 3, 5][..]));
            let big = width > 1 && x.element.descr().starts_with("'>");
            assert!(!big, "{name} is little-endian");
            assert_eq!(read(&mut file).unwrap()[0].len(), 30 * width);
        }
    }
    for number in [2, 6, 14, 16, 29, 39] {
        let message = refusal(file(&[tensor("x", &[256], number, 0)], 256));
        assert!(
            message.contains("member \"x\": is of type") && message.contains("quantised"),
            "{message}"
        );
    }
    for number in [4, 5, 31, 77, u32::MAX] {
        let message = refusal(file(&[tensor("x", &[256], number, 0)], 256));
        assert_eq!(message, format!("member \"x\": is of the unknown type {number}"));
    }
}

#[test]
fn data_begins_at_a_multiple_of_the_alignment() {
    for alignment in [1u32, 8, 32, 64, 4096] {
        let pairs = [pair("general.alignment", 4, &alignment.to_le_bytes())];
        let header = header(3, &pairs, &[tensor("x", &[4], 24, 0)]);
        let end = header.len().next_multiple_of(alignment as usize) as u64;
        let file = open(padded(header, alignment as usize, 4)).unwrap();
        assert_eq!(file.headers()[0].data_offset, Some(end));
    }
    let key = "general.alignment";
    for (kind, value, found) in [
        (4, 0u64.to_le_bytes(), "u32 0"),
        (4, 24u64.to_le_bytes(), "u32 24"),
        (10, 32u64.to_le_bytes(), "u64 32"),
    ] {
        let value = &value[..if kind == 4 { 4 } else { 8 }];
        let message = refusal(header(3, &[pair(key, kind, value)], &[]));
        let must = "general.alignment must be a power of two of type u32";
        assert_eq!(message, format!("malformed header: {must}, got {found}"));
    }
    let message = refusal(header(3, &[pair(key, 9, &array(4, 0, &[]))], &[]));
    assert!(message.ends_with("got array an array"), "{message}");
    assert_eq!(
        refusal(file(&[tensor("x", &[4], 24, 16)], 32)),
        "malformed header: the data of \"x\" begins at byte 16 of all data, which is not a multiple of 32"
    );
}

#[test]
fn values_except_arrays_are_kept_as_text() {
    let cases: [(u32, &[u8], &str); 12] = [
        (0, &[200], "200"),
        (1, &[200], "-56"),
        (2, &0xfffeu16.to_le_bytes(), "65534"),
        (3, &(-2i16).to_le_bytes(), "-2"),
        (4, &u32::MAX.to_le_bytes(), "4294967295"),
        (5, &i32::MIN.to_le_bytes(), "-2147483648"),
        (6, &0.1f32.to_le_bytes(), "0.1"),
        (7, &[0], "false"),
        (8, &text("a\nb"), "a\nb"),
        (10, &u64::MAX.to_le_bytes(), "18446744073709551615"),
        (11, &i64::MIN.to_le_bytes(), "-9223372036854775808"),
        (12, &(-0.1f64).to_le_bytes(), "-0.1"),
    ];
    let mut pairs = vec![pair("array", 9, &array(12, 2, &[0; 16]))];
    pairs.extend(cases.map(|(kind, value, _)| pair(&kind.to_string(), kind, value)));
    let file = open(header(2, &pairs, &[])).unwrap();
    let expected = cases.map(|(kind, _, text)| (kind.to_string(), text.to_owned()));
    assert_eq!(file.metadata(), expected);
    assert!(file.headers().is_empty() && file.unreadable().is_empty());
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    let whole = mixed();
    check_truncated(format(), &whole);
    for end in 0..whole.len() {
        let streamed = stream(whole[..end].to_vec());
        let loaded = streamed.and_then(|mut file| read_in_order(&mut file));
        assert!(loaded.is_err(), "{end}");
    }
}

fn read_in_order(file: &mut TensorFile) -> Result<(), Error> {
    (0..file.headers().len()).try_for_each(|index| file.load(index, &mut |_| ()).map(drop))
}

#[test]
fn a_file_with_a_changed_byte_is_read_or_refused() {
    check_changed_bytes(format(), &mixed(), &[0, 1, 0x7f, 0x80, 0xff]);
}

#[test]
fn other_files_and_other_versions_are_refused() {
    assert_eq!(
        refusal(b"GGML0000".to_vec()),
        "not a GGUF file: it begins with \"GGML\", expected \"GGUF\""
    );
    for version in [0, 1, 4, u32::MAX] {
        assert_eq!(
            refusal(header(version, &[], &[])),
            format!("version {version} of GGUF is unknown: expected 2 or 3")
        );
    }
    for version in [1u32, 2, 3] {
        let message = refusal(header(version.swap_bytes(), &[], &[]));
        assert_eq!(message, "is big-endian: only little-endian GGUF is read");
    }
}

#[test]
fn wrong_sizes_are_refused_before_reading_data() {
    let message =
        |sizes: &[u64], dtype, offset| refusal(file(&[tensor("x", sizes, dtype, offset)], 64));
    assert!(message(&[u64::MAX], 0, 0).contains("too large to be addressed"));
    assert!(message(&[1 << 40, 1 << 40], 0, 0).contains("too large to be addressed"));
    assert!(message(&[1 << 61], 0, 0).contains("too large to be addressed"));
    assert!(
        message(&[1 << 60], 24, 0)
            .starts_with("truncated: the data should have 1152921504606846976")
    );
    assert!(
        message(&[17], 0, 0).starts_with("truncated: the data should have 68 bytes, but has 64")
    );
    assert!(
        message(&[1], 0, 64).starts_with("truncated: the data should have 68 bytes, but has 64")
    );
    let far = u64::MAX / 32 * 32;
    assert!(message(&[1], 0, far).contains("too far to be addressed"));
    assert!(message(&[1], 0, far - 96).starts_with("truncated"));
    assert!(message(&[0], 0, 96).starts_with("truncated"));
    assert_eq!(message(&[1; 65], 0, 0), "\"x\" has 65 dimensions, over 64");
}

#[test]
fn wrong_counts_do_not_reserve_memory() {
    let counts = |tensors: u64, pairs: u64| {
        let numbers = [tensors, pairs].map(u64::to_le_bytes).concat();
        [b"GGUF", &3u32.to_le_bytes()[..], &numbers].concat()
    };
    for bytes in [counts(u64::MAX, 0), counts(0, u64::MAX), counts(1 << 40, 1 << 40)] {
        assert!(refusal(bytes).starts_with("truncated: "));
    }
    let over = |value: &[u8], kind| refusal(header(3, &[pair("k", kind, value)], &[]));
    let message = over(&u64::MAX.to_le_bytes(), 8);
    assert!(message.contains("goes on for 18446744073709551615 bytes at byte"), "{message}");
    assert!(message.ends_with("over 100000000 bytes"), "{message}");
    assert!(
        over(&50_000_000u64.to_le_bytes(), 8)
            .starts_with("truncated: a value should have 50000000")
    );
    assert!(over(&array(12, 1 << 61, &[]), 9).contains("too many to count"));
    assert!(over(&array(12, 1 << 40, &[]), 9).contains("over 100000000 bytes"));
    assert!(over(&array(8, u64::MAX, &text("a")), 9).starts_with("truncated: an array"));
    assert_eq!(over(&array(9, 1, &[]), 9), "k is an array of arrays");
    assert_eq!(over(&[], 13), "malformed header: a value is of type 13, expected 0 to 12");
    assert_eq!(over(&[2], 7), "malformed header: k must be 0 or 1, got 2");
}

#[test]
fn names_must_be_unique_and_utf_8() {
    let x = |offset| tensor("x", &[4], 24, offset);
    assert_eq!(refusal(file(&[x(0), x(32)], 64)), "malformed header: \"x\" occurs twice");
    let k = pair("k", 0, &[1]);
    assert_eq!(refusal(header(3, &[k.clone(), k], &[])), "malformed header: \"k\" occurs twice");
    let mut bytes = file(&[x(0)], 64);
    let at = bytes.iter().position(|byte| *byte == b'x').unwrap();
    bytes[at] = 0xff;
    assert!(refusal(bytes).starts_with("malformed header: a tensor's name is not UTF-8"));
}

#[test]
fn tensors_with_common_bytes_are_refused() {
    let pair = |offset| file(&[tensor("x", &[33], 24, 0), tensor("y", &[4], 24, offset)], 96);
    let message = refusal(pair(32));
    assert!(message.starts_with("malformed header: the data of \"y\" begins at byte"), "{message}");
    open(pair(64)).unwrap();
    // A tensor without data overlaps no other.
    open(file(&[tensor("x", &[33], 24, 0), tensor("y", &[0, 7], 24, 32)], 96)).unwrap();
}

#[test]
fn a_hint_must_fit_a_tensor_of_the_file() {
    let bytes = file(&[tensor("x", &[4, 2], 24, 0), tensor("y", &[2], 0, 32)], 64);
    let fits = TensorHint::of(&StoredDType::new(DType::I8), &shape(&[2, 4]));
    TensorFile::from_bytes(format(), &fits, "x", bytes.clone()).unwrap();
    let other = TensorHint::of(&StoredDType::new(DType::U8), &shape(&[2, 4]));
    let error = TensorFile::from_bytes(format(), &other, "x", bytes.clone()).unwrap_err();
    assert!(matches!(error.problem, Problem::HintDiffers(_)), "{error}");
    let offset = TensorHint { offset: Some(0), ..TensorHint::default() };
    let error = TensorFile::from_bytes(format(), &offset, "x", bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Offset), "{error}");
}

#[test]
fn a_file_with_another_ending_is_known_by_its_magic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.dat");
    std::fs::write(&path, mixed()).unwrap();
    assert_eq!(TensorFile::open(&path).unwrap().format().name(), "gguf");
}

#[test]
fn writing_is_refused() {
    assert!(!format().is_written());
    let error = format().skeleton(&[], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "trundle reads format gguf but cannot write it: choose another format"
    );
}
