//! Tests of raw bytes, and of types that .npy does not have: read with a hint, written as bits.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use trundle_core::{BitOrder, DType, Shape};
use trundle_formats::{
    Error, ExitClass, FORMATS, Format, NamedTensor, Problem, StoredDType, TensorFile, TensorHint,
    write,
};

use crate::support::{self, can_hold, shape};

fn raw() -> &'static Format {
    FORMATS.iter().find(|format| format.name() == "raw").unwrap()
}

fn described(dtype: DType, sizes: &[usize]) -> TensorHint {
    TensorHint::of(&StoredDType::new(dtype), &shape(sizes))
}

fn counting(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| n as u8).collect()
}

fn read(path: &Path, hint: &TensorHint) -> Result<Vec<u8>, Error> {
    TensorFile::open_as(path, hint)?.load(0, &mut |_| ())
}

fn stream(bytes: &[u8], hint: &TensorHint) -> Result<Vec<u8>, Error> {
    let reader = Cursor::new(bytes.to_vec());
    TensorFile::from_reader(raw(), hint, "pipe", reader)?.load(0, &mut |_| ())
}

fn elements() -> Vec<StoredDType> {
    let mut elements = Vec::new();
    for &dtype in DType::NAMED.iter().chain(&[DType::Bytes(0), DType::Bytes(12)]) {
        elements.push(StoredDType::new(dtype));
        let orders = BitOrder::ALL.into_iter();
        elements.extend(orders.filter_map(|o| StoredDType::new(dtype).with_bit_order(o).ok()));
    }
    elements
}

fn written(format: &Format, element: &StoredDType, shape: &Shape, bytes: &[u8]) -> Vec<u8> {
    support::written(format, &[NamedTensor { name: "x", element, shape, bytes }], &[])
}

#[test]
fn every_type_is_read_back_as_it_was_written() {
    let elements = elements();
    assert!(elements.len() > 40);
    for element in &elements {
        for sizes in [&[3, 5][..], &[2, 4, 3], &[1], &[], &[2, 0]] {
            let shape = shape(sizes);
            let bytes = counting(shape.bytes(element.width()).unwrap());
            assert_eq!(written(raw(), element, &shape, &bytes), bytes, "nothing but the data");
            let formats =
                FORMATS.iter().filter(|format| format.is_written() && !format.is_folder());
            for format in formats.filter(|format| can_hold(format, element, &shape)) {
                let file = written(format, element, &shape, &bytes);
                let hint = TensorHint::of(element, &shape);
                let mut file = match format.holds_one() {
                    true => TensorFile::from_reader(format, &hint, "x", Cursor::new(file)),
                    false => TensorFile::from_bytes(format, &hint, "x", file),
                }
                .unwrap();
                let header = &file.headers()[0];
                assert_eq!((&header.element, &header.shape), (element, &shape));
                assert_eq!(header.data_bytes, bytes.len());
                header.layout().unwrap();
                assert_eq!(file.load(0, &mut |_| ()).unwrap(), bytes, "{element:?} {sizes:?}");
            }
        }
    }
}

#[test]
fn packed_elements_become_a_row_of_bytes_in_npy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for (dtype, bytes) in [(DType::I4, 8), (DType::U3, 6), (DType::U1, 2)] {
        let (element, shape) = (StoredDType::new(dtype), shape(&[3, 5]));
        let bytes = counting(bytes);
        let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &bytes };
        write(&path, &[tensor], true, &mut |_| ()).unwrap();
        let file = TensorFile::open(&path).unwrap();
        let header = &file.headers()[0];
        assert_eq!((header.element.name(), header.shape.sizes()), ("u8", &[bytes.len()][..]));
    }
}

#[test]
fn without_an_offset_a_raw_file_holds_only_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bin");
    fs::write(&path, counting(10)).unwrap();
    let at = |offset, sizes: &[usize]| {
        let hint = TensorHint { offset, ..described(DType::U16, sizes) };
        read(&path, &hint)
    };
    assert_eq!(at(None, &[5]).unwrap(), counting(10));
    assert_eq!(at(Some(0), &[2]).unwrap(), [0, 1, 2, 3]);
    assert_eq!(at(Some(3), &[3]).unwrap(), [3, 4, 5, 6, 7, 8]);
    assert_eq!(at(Some(10), &[0]).unwrap(), [0u8; 0]);
    let refusal = |offset, sizes: &[usize]| {
        let error = at(offset, sizes).unwrap_err();
        assert_eq!(error.exit_class(), ExitClass::Refused);
        error.problem.to_string()
    };
    assert_eq!(refusal(None, &[4]), "the tensor needs 8 bytes, but there are 10");
    let truncated = "truncated: the data should have 12 bytes, but has";
    assert_eq!(refusal(None, &[2, 3]), format!("{truncated} 10"));
    assert_eq!(refusal(Some(0), &[2, 3]), format!("{truncated} 10"));
    assert_eq!(refusal(Some(3), &[2, 3]), format!("{truncated} 7"));
    for sizes in [&[1][..], &[0]] {
        assert_eq!(
            refusal(Some(11), sizes),
            "the data begins at byte 11, but the file has 10 bytes"
        );
    }
    assert!(refusal(Some(u64::MAX), &[1]).contains("18446744073709551615"));
    assert!(refusal(Some(1), &[1 << 61]).starts_with("truncated"));
    assert!(refusal(None, &[1 << 62]).ends_with("is too large to be addressed"));
}

#[test]
fn loading_a_stream_refuses_the_same_sizes() {
    let at = |offset, sizes: &[usize]| {
        stream(&counting(10), &TensorHint { offset, ..described(DType::U16, sizes) })
    };
    assert_eq!(at(None, &[5]).unwrap(), counting(10));
    assert_eq!(at(Some(3), &[3]).unwrap(), [3, 4, 5, 6, 7, 8]);
    let problem = |offset, sizes: &[usize]| at(offset, sizes).unwrap_err().problem;
    assert!(matches!(problem(None, &[4]), Problem::DataLeft { expected: 8, got: 9 }));
    assert!(matches!(problem(None, &[6]), Problem::Truncated { expected: 12, got: 10, .. }));
    assert!(matches!(problem(Some(3), &[4]), Problem::Truncated { expected: 8, got: 7, .. }));
    assert!(matches!(problem(Some(11), &[0]), Problem::OffsetBeyond { offset: 11, length: 10 }));
    // The size in a hint does not cause an allocation.
    assert!(matches!(problem(Some(0), &[1 << 61]), Problem::Truncated { got: 10, .. }));
}

#[test]
fn raw_bytes_need_a_type_and_a_shape() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.raw");
    fs::write(&path, counting(10)).unwrap();
    let whole = described(DType::U8, &[10]);
    for hint in [
        TensorHint::default(),
        TensorHint { element: None, ..whole.clone() },
        TensorHint { shape: None, ..whole },
    ] {
        let error = read(&path, &hint).unwrap_err();
        assert_eq!(error.exit_class(), ExitClass::Usage);
        assert!(matches!(error.problem, Problem::HintMissing(_)), "{error}");
    }
    assert!(matches!(TensorFile::open(&path).unwrap_err().problem, Problem::HintMissing(_)));
}

fn npy(path: &Path, dtype: DType, sizes: &[usize]) {
    let (element, shape) = (StoredDType::new(dtype), shape(sizes));
    let bytes = counting(shape.bytes(dtype).unwrap());
    let tensor = NamedTensor { name: "x", element: &element, shape: &shape, bytes: &bytes };
    write(path, &[tensor], true, &mut |_| ()).unwrap();
}

#[test]
fn a_hint_must_not_contradict_an_npy_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let refusal = |hint: &TensorHint| {
        let error = TensorFile::open_as(&path, hint).unwrap_err();
        (error.exit_class(), error.problem.to_string())
    };
    let no_shape = |dtype| TensorHint { shape: None, ..described(dtype, &[]) };
    npy(&path, DType::U16, &[2, 3]);
    TensorFile::open_as(&path, &no_shape(DType::BF16)).unwrap();
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    TensorFile::open_as(&path, &TensorHint { element: None, ..described(DType::U8, &[2, 3]) })
        .unwrap();
    assert_eq!(
        refusal(&no_shape(DType::F16)),
        (
            ExitClass::Refused,
            format!("holds elements of type u16 ('{order}u2'), not f16 ('{order}f2')")
        )
    );
    assert_eq!(
        refusal(&described(DType::BF16, &[3, 2])),
        (ExitClass::Refused, "holds a tensor of shape [2, 3], not [3, 2]".into())
    );
    let (class, message) = refusal(&TensorHint { offset: Some(0), ..no_shape(DType::BF16) });
    assert_eq!(class, ExitClass::Usage);
    assert!(message.contains("offset"), "{message}");
}

#[test]
fn packed_elements_in_npy_need_their_shape_and_all_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let refusal = |hint: &TensorHint| {
        let error = TensorFile::open_as(&path, hint).unwrap_err();
        (error.exit_class(), error.problem.to_string())
    };
    npy(&path, DType::U8, &[12]);
    for sizes in [[4, 6], [23, 1]] {
        assert_eq!(read(&path, &described(DType::I4, &sizes)).unwrap(), counting(12));
    }
    let (class, _) = refusal(&TensorHint { shape: None, ..described(DType::I4, &[]) });
    assert_eq!(class, ExitClass::Usage);
    for sizes in [&[22][..], &[25], &[], &[0]] {
        let (class, message) = refusal(&described(DType::I4, sizes));
        assert_eq!(class, ExitClass::Refused);
        assert!(message.starts_with("holds bytes of shape [12], but "), "{message}");
    }
    npy(&path, DType::U8, &[3, 4]);
    let (class, message) = refusal(&described(DType::I4, &[4, 6]));
    assert_eq!(class, ExitClass::Refused);
    assert_eq!(message, "holds bytes of shape [3, 4], but i4 [4, 6] is packed into [12]");
    npy(&path, DType::I8, &[12]);
    assert!(refusal(&described(DType::I4, &[4, 6])).1.starts_with("holds elements of type i8"));
}

#[test]
fn files_with_a_hint_are_raw_unless_they_begin_like_npy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dat");
    let format =
        |hint: &TensorHint| TensorFile::open_as(&path, hint).map(|file| file.format().name());
    // These bytes could also begin a .safetensors file: a length and a brace.
    fs::write(&path, [42u64, 123].map(u64::to_le_bytes).concat()).unwrap();
    assert_eq!(format(&described(DType::U64, &[2])).unwrap(), "raw");
    let offset = TensorHint { offset: Some(8), ..described(DType::U64, &[1]) };
    assert_eq!(format(&offset).unwrap(), "raw");
    let error = format(&TensorHint::default()).unwrap_err();
    assert_eq!(error.problem.to_string(), "truncated: the header should have 42 bytes, but has 8");
    fs::write(&path, [42u64, 124].map(u64::to_le_bytes).concat()).unwrap();
    let error = format(&TensorHint::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::UnknownEnding { .. }), "{error}");
    npy(&folder.path().join("x.npy"), DType::U16, &[2]);
    fs::rename(folder.path().join("x.npy"), &path).unwrap();
    assert_eq!(format(&described(DType::BF16, &[2])).unwrap(), "npy");
    // Too few bytes to recognise a format.
    fs::write(&path, [7]).unwrap();
    assert_eq!(format(&described(DType::U8, &[1])).unwrap(), "raw");
}
