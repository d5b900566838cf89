//! Tests that the spans of a skeleton and the data fill a file, in whatever order they are written.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use trundle_core::{DType, Shape};
use trundle_formats::{
    Described, FORMATS, Format, Header, NamedTensor, Order, StoredDType, TensorFile, crc32,
};

use crate::support::can_hold;

/// Assembles a file from its skeleton and its data, from the end to the start.
fn backwards(
    format: &Format,
    tensors: &[NamedTensor<'_>],
    metadata: &[(String, String)],
) -> Vec<u8> {
    let described: Vec<Described<'_>> = tensors
        .iter()
        .map(|&NamedTensor { name, element, shape, .. }| {
            Described::new(name, element, shape, Order::RowMajor)
        })
        .collect();
    let skeleton = format.skeleton(&described, metadata).unwrap();
    let crc32s: Vec<u32> = match skeleton.needs_crc32() {
        true => tensors.iter().map(|tensor| crc32(tensor.bytes)).collect(),
        false => Vec::new(),
    };
    let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
    for span in skeleton.spans(&crc32s).unwrap() {
        parts.push((span.offset, span.bytes));
    }
    let spans: Vec<u64> = parts.iter().map(|(offset, _)| *offset).collect();
    assert!(spans.is_sorted() && skeleton.data_offsets().is_sorted());
    for ((tensor, offset), bytes) in
        tensors.iter().zip(skeleton.data_offsets()).zip(skeleton.data_bytes())
    {
        assert_eq!(*bytes, tensor.bytes.len());
        parts.push((*offset, tensor.bytes.to_vec()));
    }
    let total: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(total as u64, skeleton.bytes(), "nothing twice, nothing left out");
    let mut file = vec![0; total];
    parts.sort();
    for (offset, bytes) in parts.iter().rev() {
        file[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    file
}

proptest! {
    #[test]
    fn a_file_consists_of_its_spans_and_its_data(
        tensors in vec((0usize..3, vec(0usize..4, 0..4), any::<u8>()), 0..5),
        metadata in vec(any::<String>(), 0..3),
    ) {
        let elements = [DType::U8, DType::F4E2M1, DType::F32].map(StoredDType::new);
        let names: Vec<String> = (0..tensors.len()).map(|n| format!("tensor.{n}")).collect();
        let mut filled = Vec::new();
        for (element, sizes, byte) in &tensors {
            let mut sizes = sizes.clone();
            // An even number of packed elements fills whole bytes.
            sizes.push(2);
            let (element, shape) = (&elements[*element], Shape::new(sizes).unwrap());
            let bytes = vec![*byte; shape.bytes(element.width()).unwrap()];
            filled.push((element, shape, bytes));
        }
        let named: Vec<NamedTensor<'_>> = names
            .iter()
            .zip(&filled)
            .map(|(name, (element, shape, bytes))| NamedTensor { name, element, shape, bytes })
            .collect();
        let metadata: Vec<(String, String)> =
            metadata.into_iter().enumerate().map(|(n, text)| (n.to_string(), text)).collect();
        for format in FORMATS.iter().filter(|format| format.is_written() && !format.is_folder()) {
            let named = if format.holds_one() { named.get(..1) } else { Some(&named[..]) };
            let Some(named) = named else { continue };
            if !named.iter().all(|tensor| can_hold(format, tensor.element, tensor.shape)) {
                continue;
            }
            let mut forwards = Vec::new();
            let mut progress = 0;
            format.write_to(&mut forwards, named, &metadata, &mut |bytes| progress = bytes).unwrap();
            prop_assert_eq!(progress, named.iter().map(|tensor| tensor.bytes.len() as u64).sum::<u64>());
            prop_assert_eq!(backwards(format, named, &metadata), forwards);
        }
    }
}

#[test]
fn column_major_order_is_stated_if_needed_and_possible() {
    let element = StoredDType::new(DType::U8);
    for format in FORMATS.iter().filter(|format| format.is_written() && !format.is_folder()) {
        for (sizes, matters) in
            [(&[2, 3][..], true), (&[6], false), (&[1, 6, 1], false), (&[2, 3, 0], false)]
        {
            let shape = Shape::new(sizes).unwrap();
            if !can_hold(format, &element, &shape) {
                continue;
            }
            let order = Order::ColumnMajor;
            let tensor = Described::new("x", &element, &shape, order);
            let framed = format.skeleton(&[tensor], &[]);
            assert_eq!(framed.is_ok(), !matters || format.states_column_major());
            let Ok(skeleton) = framed else { continue };
            let spans = skeleton.spans(if skeleton.needs_crc32() { &[0] } else { &[] }).unwrap();
            let all: Vec<u8> = spans.into_iter().flat_map(|span| span.bytes).collect();
            let says_so = String::from_utf8_lossy(&all).contains("'fortran_order': True");
            assert_eq!(says_so, matters && format.states_column_major());
        }
    }
}

#[test]
fn a_column_major_header_equals_the_one_of_numpy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/column_major.npy");
    let file = TensorFile::open(&path).unwrap();
    let [Header { name, element, shape, order, .. }] = file.headers() else { panic!("one tensor") };
    assert_eq!(*order, Order::ColumnMajor);
    let described = Described::new(name, element, shape, *order);
    let skeleton = file.format().skeleton(&[described], &[]).unwrap();
    let [header] = &skeleton.spans(&[]).unwrap()[..] else { panic!("one span") };
    let original = std::fs::read(&path).unwrap();
    assert_eq!(header.bytes.escape_ascii().to_string(), original[..128].escape_ascii().to_string());
    assert_eq!((skeleton.bytes(), skeleton.data_offsets()), (original.len() as u64, &[128][..]));
}
