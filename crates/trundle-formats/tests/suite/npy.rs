//! Tests of .npy files: supported ones, refused ones, and output identical to numpy's.

use std::fs;
use std::io::{Cursor, Read};

use proptest::prelude::*;
use trundle_core::{DType, Shape};
use trundle_formats::{
    Error, ExitClass, FORMATS, Format, Header, NamedTensor, Order, Problem, StoredDType,
    TensorFile, TensorHint,
};

use crate::support::{self, data, pairs, rows};

fn npy() -> &'static Format {
    FORMATS.iter().find(|format| format.name() == "npy").unwrap()
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn described(descr: &str, shape: &str) -> Vec<u8> {
    file(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"), &[])
}

fn read(bytes: &[u8]) -> Result<(Header, Vec<u8>), Error> {
    let mut file = TensorFile::from_reader(
        npy(),
        &TensorHint::default(),
        "stdin",
        Cursor::new(bytes.to_vec()),
    )?;
    let data = file.load(0, &mut |_| ())?;
    Ok((file.headers()[0].clone(), data))
}

fn refusal(bytes: &[u8]) -> String {
    let error = read(bytes).unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Refused);
    error.to_string()
}

fn written(element: &StoredDType, shape: &Shape, bytes: &[u8]) -> Vec<u8> {
    support::written(npy(), &[NamedTensor { name: "x", element, shape, bytes }], &[])
}

fn row_major_little_endian(header: &Header, data: &[u8]) -> Vec<u8> {
    let width = header.element.dtype().width();
    let layout = header.layout().unwrap();
    let mut elements = Vec::new();
    header.shape.for_each_index(|index| {
        let steps = index.iter().zip(layout.strides_bytes());
        let start: usize = steps.map(|(index, stride)| index * stride.unsigned_abs()).sum();
        let mut element = data[start..start + width].to_vec();
        if header.element.descr().starts_with("'>") {
            element.reverse();
        }
        elements.extend(element);
    });
    elements
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn the_conformance_files_are_read() {
    for row in rows(include_str!("cases/npy-conformance.txt")) {
        let [name, shape, element, descr] = [0, 1, 2, 3].map(|field| row[field]);
        let hex = row.get(4).copied().unwrap_or_default();
        let shape: Vec<usize> = serde_json::from_str(shape).unwrap();
        let path = data(&format!("conformance/{name}.npy"));
        let mut file = TensorFile::open(&path).unwrap();
        let bytes = file.load(0, &mut |_| ()).unwrap();
        let header = &file.headers()[0];
        assert_eq!(header.name, name);
        assert_eq!(header.shape.sizes(), shape, "{name}");
        assert_eq!(header.element.name(), element, "{name}");
        assert_eq!(header.element.descr(), descr, "{name}");
        assert_eq!(header.data_offset, Some(128), "{name}");
        assert_eq!(header.data_bytes, bytes.len(), "{name}");
        assert_eq!(header.order == Order::ColumnMajor, name == "fortran");
        assert_eq!(row_major_little_endian(header, &bytes), from_hex(hex), "{name}");
        // A stream with the same bytes gives the same tensor, but no warning about bytes after the data.
        let (streamed, streamed_bytes) = read(&fs::read(&path).unwrap()).unwrap();
        let annotations = header.annotations.clone();
        assert_eq!(Header { name: name.into(), annotations, ..streamed }, *header);
        assert_eq!(streamed_bytes, bytes);
    }
}

#[test]
fn the_malformed_conformance_files_are_refused() {
    for (name, message) in [
        ("truncated_header", "truncated: the header should have 118 bytes, but has 30"),
        ("negative_dim", "malformed header: 'shape' has the negative size -1"),
    ] {
        let path = data(&format!("conformance/{name}.npy"));
        let error = TensorFile::open(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {message}", path.display()));
        assert_eq!(error.exit_class(), ExitClass::Refused);
    }
}

#[test]
fn files_of_numpy_are_written_again_byte_for_byte() {
    let mut count = 0;
    for entry in fs::read_dir(data("numpy")).unwrap() {
        let path = entry.unwrap().path();
        let original = fs::read(&path).unwrap();
        let (header, bytes) = read(&original).unwrap();
        let again = written(&header.element, &header.shape, &bytes);
        assert_eq!(again.escape_ascii().to_string(), original.escape_ascii().to_string());
        count += 1;
    }
    assert_eq!(count, 17);
}

#[test]
fn types_and_shapes_of_numpy_files_are_read() {
    for (name, shape, element) in [
        ("rank_0", &[][..], "f64"),
        ("one_axis", &[3], "u16"),
        ("zero_inner", &[7, 0, 123_456_789], "complex64"),
        ("twelve_axes", &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2], "u8"),
        ("empty_bytes", &[2, 3], "S0"),
        ("void", &[2], "V3"),
        ("dates", &[2], "datetime64[ns]"),
        ("spans", &[2], "timedelta64[25s]"),
        ("extended", &[1], "float128"),
        ("nested", &[2], "V19"),
        ("aligned", &[2], "V24"),
        ("titles", &[], "V4"),
        ("no_fields", &[2], "V0"),
    ] {
        let file = TensorFile::open(&data(&format!("numpy/{name}.npy"))).unwrap();
        let header = &file.headers()[0];
        assert_eq!(header.shape.sizes(), shape, "{name}");
        assert_eq!(header.element.name(), element, "{name}");
    }
}

#[test]
fn headers_of_python_2_are_read() {
    let header = "{'descr': [(u'a', '<f4', (1L,))], 'fortran_order': False, 'shape': (2L, 0L)}";
    let (header, _) = read(&file(header, &[])).unwrap();
    assert_eq!(header.shape.sizes(), [2, 0]);
    assert_eq!(header.element.descr(), "[('a', '<f4', (1,))]");
}

#[test]
fn wrong_headers_are_refused_with_the_reason() {
    for (bytes, message) in [
        (vec![], "truncated: the beginning should have 8 bytes, but has 0"),
        (
            b"\x93NUMPY\x01\x00v".to_vec(),
            "truncated: the header's length should have 2 bytes, but has 1",
        ),
        (
            b"PK\x03\x04....".to_vec(),
            r#"not an .npy file: it begins with "PK\x03\x04..", expected "\x93NUMPY""#,
        ),
        (
            b"\x93NUMPY\x01\x01\0\0".to_vec(),
            "version 1.1 of .npy is unknown: expected 1.0, 2.0 or 3.0",
        ),
        (
            b"\x93NUMPY\x04\x00\0\0".to_vec(),
            "version 4.0 of .npy is unknown: expected 1.0, 2.0 or 3.0",
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
            "the header has 4294967295 bytes, over 1048576",
        ),
        (
            described("'<f4'", "(4294967296, 4294967296)"),
            "shape [4294967296, 4294967296] is too large to be addressed",
        ),
        (
            described("'<f4'", "(4611686018427387904,)"),
            "shape [4611686018427387904] of 4-byte elements is too large to be addressed",
        ),
        (
            described("'|O'", "()"),
            "elements of type object are stored as a Python pickle, which cannot be read without running code",
        ),
        (described("'<f4'", "(2,)"), "truncated: the data should have 8 bytes, but has 0"),
    ] {
        assert_eq!(refusal(&bytes), format!("stdin: {message}"));
    }
    let no_text = b"\x93NUMPY\x03\x00\x02\x00\x00\x00'\xff";
    let message = "not UTF-8: invalid utf-8 sequence of 1 bytes from index 1";
    assert_eq!(refusal(no_text), format!("stdin: malformed header: {message}"));
    for (header, message) in pairs(include_str!("cases/npy-headers.txt")) {
        let bytes = file(header, &[]);
        assert_eq!(refusal(&bytes), format!("stdin: malformed header: {message}"), "{header}");
    }
}

#[test]
fn bytes_after_the_data_are_named() {
    let array = described("'|u1'", "(0,)");
    for (bytes, unread) in [(array.clone(), &[][..]), (array.repeat(2), &["bytes behind the data"])]
    {
        let file = TensorFile::from_bytes(npy(), &TensorHint::default(), "x", bytes).unwrap();
        assert_eq!(file.headers()[0].annotations.unread, unread);
    }
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    for name in ["conformance/be_f8.npy", "numpy/utf_8.npy", "numpy/rank_0.npy"] {
        let whole = fs::read(data(name)).unwrap();
        assert!(read(&whole).is_ok());
        for length in 0..whole.len() {
            let message = refusal(&whole[..length]);
            assert!(message.starts_with("stdin: truncated: "), "{message}");
        }
    }
}

#[test]
fn the_size_in_a_stream_does_not_reserve_memory() {
    // If the reader reserved the stated size, the error would be about memory.
    let mut bytes = described("'|u1'", "(4611686018427387904,)");
    bytes.extend(vec![7; 3_000_000]);
    let error = read(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Truncated { got: 3_000_000, .. }), "{error}");
}

struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(&mut buffer[..1])? {
            0 => Err(std::io::Error::other("the line is cut")),
            read => Ok(read),
        }
    }
}

#[test]
fn a_failing_stream_is_not_a_malformed_file() {
    let bytes = described("'<f4'", "(2,)");
    for length in [3, 20, bytes.len()] {
        let reader = Failing(Cursor::new(bytes[..length].to_vec()));
        let error = TensorFile::from_reader(npy(), &TensorHint::default(), "pipe", reader)
            .and_then(|mut file| file.load(0, &mut |_| ()))
            .unwrap_err();
        assert_eq!(error.to_string(), "pipe: cannot read: the line is cut");
        assert_eq!(error.exit_class(), ExitClass::Failed);
    }
}

#[test]
fn a_file_can_be_loaded_again_and_a_stream_cannot() {
    let path = data("conformance/be_i4.npy");
    let mut file = TensorFile::open(&path).unwrap();
    let first = file.load(0, &mut |_| ()).unwrap();
    assert_eq!(file.load(0, &mut |_| ()).unwrap(), first);

    let reader = Cursor::new(fs::read(&path).unwrap());
    let mut stream =
        TensorFile::from_reader(npy(), &TensorHint::default(), "stdin", reader).unwrap();
    assert_eq!(stream.load(0, &mut |_| ()).unwrap(), first);
    let error = stream.load(0, &mut |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "stdin: cannot read: a stream at byte 152 cannot go to byte 128");
}

#[test]
fn missing_files_folders_and_unknown_formats_are_distinct() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |name: &str| TensorFile::open(&folder.path().join(name)).unwrap_err();
    assert_eq!(problem("none.npy").exit_class(), ExitClass::Failed);
    fs::create_dir(folder.path().join("folder.npy")).unwrap();
    assert!(matches!(problem("folder.npy").problem, Problem::Folder));
    for (name, ending) in [("x.foo", ".foo"), ("x", ""), (".npy", "")] {
        assert_eq!(problem(name).exit_class(), ExitClass::Failed, "it is missing");
        fs::write(folder.path().join(name), b"some text").unwrap();
        let error = problem(name);
        assert_eq!(error.exit_class(), ExitClass::Usage);
        let known: Vec<String> =
            FORMATS.iter().flat_map(Format::endings).map(|ending| format!(".{ending}")).collect();
        assert!(known.len() >= 5 && known[..3] == [".npy", ".npz", ".safetensors"]);
        let known = known.join(" ");
        let expected =
            format!("unknown ending \"{ending}\": expected one of {known}, or - for a stream");
        assert_eq!(error.problem.to_string(), expected);
    }
    fs::write(
        folder.path().join("x.NPY"),
        written(&StoredDType::new(DType::U8), &Shape::default(), &[3]),
    )
    .unwrap();
    assert!(TensorFile::open(&folder.path().join("x.NPY")).is_ok());
}

#[test]
fn the_lowest_version_that_can_hold_a_header_is_written() {
    let version = |name: &str, fields: usize| {
        let fields: Vec<String> =
            (0..fields).map(|index| format!("('{name}{index:05}', '|u1')")).collect();
        let descr = format!("[{}]", fields.join(", "));
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (0,)}}");
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let bytes = [b"\x93NUMPY\x03\x00", &length[..], header.as_bytes()].concat();
        let (original, _) = read(&bytes).unwrap();
        let written = written(&original.element, &original.shape, &[]);
        let (again, _) = read(&written).unwrap();
        assert_eq!(again.data_offset, Some(written.len() as u64));
        assert_eq!(written.len() % 64, 0);
        assert_eq!(Header { data_offset: original.data_offset, ..again }, original);
        written[6]
    };
    assert_eq!(version("é", 10), 1);
    assert_eq!(version("é", 4000), 2);
    assert_eq!(version("π", 10), 3);
    assert_eq!(version("π", 4000), 3);
    // Each field, such as `('00000', '|u1')`, takes 18 bytes with its separator. With 3,637 fields, the header
    // exceeds 65,535 bytes.
    assert_eq!(version("", 3636), 1);
    assert_eq!(version("", 3637), 2);
}

#[test]
fn a_header_that_is_too_long_to_read_back_is_not_written() {
    // Each character is written as `\x01`, with four bytes.
    let name = "\u{1}".repeat(300_000);
    let header = format!("{{'descr': [('{name}', '<f4')], 'fortran_order': False, 'shape': (0,)}}");
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let bytes = [b"\x93NUMPY\x02\x00", &length[..], header.as_bytes()].concat();
    let (header, _) = read(&bytes).unwrap();
    let tensor =
        NamedTensor { name: "x", element: &header.element, shape: &header.shape, bytes: &[] };
    let mut out = Vec::new();
    let problem = npy().write_to(&mut out, &[tensor], &[], &mut |_| ()).unwrap_err();
    assert_eq!(problem.to_string(), "the header would have 1200118 bytes, over 1048576");
    assert!(out.is_empty());
}

#[test]
fn wrong_counts_and_sizes_of_tensors_are_refused() {
    let (element, shape) = (StoredDType::new(DType::F32), Shape::new([2]).unwrap());
    let tensor = |bytes| NamedTensor { name: "x", element: &element, shape: &shape, bytes };
    for (tensors, message) in [
        (vec![], "a file of format npy holds one tensor, got none"),
        (vec![tensor(&[0; 8]); 2], "a file of format npy holds one tensor, got 2: x, x"),
        (vec![tensor(&[0; 7])], "tensor \"x\" needs 8 bytes, got 7"),
    ] {
        let mut out = Vec::new();
        let problem = npy().write_to(&mut out, &tensors, &[], &mut |_| ()).unwrap_err();
        assert_eq!(problem.to_string(), message);
        assert!(out.is_empty());
    }
}

#[test]
fn progress_counts_up_to_all_bytes() {
    let bytes = vec![1; 20_000_000];
    let (element, shape) = (StoredDType::new(DType::U8), Shape::new([bytes.len()]).unwrap());
    let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &bytes };
    let (mut out, mut progress) = (Vec::new(), Vec::new());
    npy().write_to(&mut out, &[tensor], &[], &mut |so_far| progress.push(so_far)).unwrap();
    assert!(progress.len() > 1 && progress.is_sorted(), "{progress:?}");
    assert_eq!(progress.last(), Some(&20_000_000));

    let mut file =
        TensorFile::from_reader(npy(), &TensorHint::default(), "stdin", Cursor::new(out)).unwrap();
    progress.clear();
    assert_eq!(file.load(0, &mut |so_far| progress.push(so_far)).unwrap(), bytes);
    assert!(progress.len() > 1 && progress.is_sorted(), "{progress:?}");
    assert_eq!(progress.last(), Some(&20_000_000));
}

/// Type descriptions as numpy writes them: scalar types, and structures of scalar types.
fn any_descr() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        prop::sample::select(vec!["|b1", "|i1", "|u1"]).prop_map(|text| format!("'{text}'")),
        ("[<>]", prop::sample::select(vec!["i2", "u4", "f2", "f4", "f8", "c8", "c16", "f16"]))
            .prop_map(|(order, text)| format!("'{order}{text}'")),
        ("[<>][mM]", prop::sample::select(vec!["", "[D]", "[25s]", "[as]"]))
            .prop_map(|(start, unit)| format!("'{start}8{unit}'")),
        (0usize..5, "[SV]").prop_map(|(size, kind)| format!("'|{kind}{size}'")),
        (0usize..5, "[<>]").prop_map(|(size, order)| format!("'{order}U{size}'")),
    ];
    let shape = prop_oneof![Just(""), Just(", (2,)"), Just(", (3, 0)"), Just(", (1, 2)")];
    let name = prop_oneof!["'[a-z]{0,3}'", "'[éπ😀]{1,3}'", r"'\\x0[0-8]\\\\'"];
    let fields = prop::collection::vec((name, scalar.clone(), shape), 0..4).prop_map(|fields| {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, scalar, shape)| format!("({name}, {scalar}{shape})"))
            .collect();
        format!("[{}]", fields.join(", "))
    });
    prop_oneof![3 => scalar, 1 => fields]
}

proptest! {
    #[test]
    fn a_written_tensor_is_read_back(
        descr in any_descr(),
        sizes in prop::collection::vec(0usize..4, 0..5),
        seed in any::<u8>(),
    ) {
        let zero = file_of_any_text(&descr);
        let (Header { element, .. }, _) = read(&zero).unwrap();
        prop_assert_eq!(element.descr(), &descr);
        let shape = Shape::new(sizes).unwrap();
        let count = shape.bytes(element.dtype().width()).unwrap();
        let bytes: Vec<u8> =
            (0..count).map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed)).collect();

        let written = written(&element, &shape, &bytes);
        let (header, read) = read(&written).unwrap();
        prop_assert_eq!(header.element, element);
        prop_assert_eq!(header.shape, shape);
        prop_assert_eq!(header.order, Order::RowMajor);
        prop_assert_eq!(header.data_offset.map(|at| at % 64), Some(0));
        prop_assert_eq!(read, bytes);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = read(&bytes);
        let _ = read(&[b"\x93NUMPY\x01\x00", &bytes[..]].concat());
        let _ = read(&file(&String::from_utf8_lossy(&bytes), &[]));
    }
}

fn file_of_any_text(descr: &str) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (0,)}}");
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x03\x00", &length[..], header.as_bytes()].concat()
}
