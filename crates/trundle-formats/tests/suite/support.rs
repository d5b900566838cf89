//! Functions that the tests of several formats share.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use trundle_core::Shape;
use trundle_formats::{
    Described, Error, ExitClass, Format, NamedTensor, Order, StoredDType, TensorFile, TensorHint,
};

pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

pub(crate) fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// Defines, for the tests of a format, its `format()`, and [`open`], [`stream`] and [`refusal`] of its files.
macro_rules! readers {
    ($name:literal) => {
        fn format() -> &'static trundle_formats::Format {
            trundle_formats::Format::named($name).unwrap()
        }

        fn open(bytes: Vec<u8>) -> Result<TensorFile, trundle_formats::Error> {
            crate::support::open(format(), bytes)
        }

        fn stream(bytes: Vec<u8>) -> Result<TensorFile, trundle_formats::Error> {
            crate::support::stream(format(), bytes)
        }

        fn refusal(bytes: Vec<u8>) -> String {
            crate::support::refusal(format(), bytes)
        }
    };
}
pub(crate) use readers;

pub(crate) fn open(format: &'static Format, bytes: Vec<u8>) -> Result<TensorFile, Error> {
    TensorFile::from_bytes(format, &TensorHint::default(), "x", bytes)
}

pub(crate) fn stream(format: &'static Format, bytes: Vec<u8>) -> Result<TensorFile, Error> {
    TensorFile::from_reader(format, &TensorHint::default(), "pipe", Cursor::new(bytes))
}

pub(crate) fn refusal(format: &'static Format, bytes: Vec<u8>) -> String {
    let error = open(format, bytes).unwrap_err();
    assert_eq!(error.exit_class(), ExitClass::Refused, "{error}");
    error.problem.to_string()
}

/// Returns the file that a format writes for these tensors.
pub(crate) fn written(
    format: &Format,
    tensors: &[NamedTensor<'_>],
    metadata: &[(String, String)],
) -> Vec<u8> {
    let mut out = Vec::new();
    format.write_to(&mut out, tensors, metadata, &mut |_| ()).unwrap();
    out
}

/// Returns the data of all tensors, read by both methods.
pub(crate) fn read(file: &mut TensorFile) -> Result<Vec<Vec<u8>>, Error> {
    let mut tensors = Vec::new();
    for index in 0..file.headers().len() {
        let mut copied = Vec::new();
        let copied_result = file.copy_to(index, &mut copied, &mut |_| ());
        let loaded = file.load(index, &mut |_| ());
        let text_of = |result: Result<(), &Error>| result.map_err(ToString::to_string);
        assert_eq!(
            text_of(copied_result.as_ref().map(|_| ())),
            text_of(loaded.as_ref().map(|_| ()))
        );
        tensors.push(loaded?);
        assert_eq!(tensors[index], copied);
    }
    Ok(tensors)
}

pub(crate) fn named(file: &mut TensorFile) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let names: Vec<String> = file.headers().iter().map(|header| header.name.clone()).collect();
    Ok(names.into_iter().zip(read(file)?).collect())
}

/// Checks that a file is refused if it is truncated at any byte.
pub(crate) fn check_truncated(format: &'static Format, whole: &[u8]) {
    for end in 0..whole.len() {
        let message = refusal(format, whole[..end].to_vec());
        let expected = ["truncated: ", "the data begins at byte "];
        assert!(expected.iter().any(|start| message.starts_with(start)), "{end}: {message}");
    }
}

/// Checks that a file with one changed byte is either refused or read. Each byte is replaced by each of `others`, and
/// by itself with the lowest bit flipped.
pub(crate) fn check_changed_bytes(format: &'static Format, whole: &[u8], others: &[u8]) {
    for at in 0..whole.len() {
        for byte in others.iter().copied().chain([whole[at] ^ 1]) {
            let mut changed = whole.to_vec();
            changed[at] = byte;
            let Ok(mut file) = open(format, changed) else { continue };
            for header in file.headers() {
                header.layout().unwrap();
            }
            read(&mut file).unwrap();
        }
    }
}

/// Returns a new folder, and the path of an output in it.
pub(crate) fn output_path(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Damages gzip data in different ways, each with the message for it.
pub(crate) fn damaged_gzip(packed: &[u8]) -> Vec<(Vec<u8>, &'static str)> {
    let last = packed.len() - 1;
    let mut wrong = packed.to_vec();
    wrong[last - 4] ^= 1;
    let damaged = "cannot read: the gzip data is damaged: ";
    vec![
        (packed[..last - 8].to_vec(), damaged),
        (packed[..last].to_vec(), "cannot read: the gzip data is damaged: unexpected end of file"),
        (wrong, "corrupt gzip stream does not have a matching checksum"),
    ]
}

/// Formats that cannot hold some types or shapes. The tests of all formats leave out what these formats refuse.
const PARTIAL: [&str; 3] = ["safetensors", "hdf5", "netcdf"];

/// Returns whether `format` can hold a row-major tensor. Only the formats in [`PARTIAL`] may refuse one.
pub(crate) fn can_hold(format: &Format, element: &StoredDType, shape: &Shape) -> bool {
    let tensor = Described::new("x", element, shape, Order::RowMajor);
    let is_held = format.skeleton(&[tensor], &[]).is_ok();
    assert!(is_held || PARTIAL.contains(&format.name()), "{}: {element:?} {shape}", format.name());
    is_held
}

/// The rows of a table: fields separated by two spaces, and comments after `#`.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split("  ").collect())
}

/// The pairs of a table: each has a line, and an indented one below it. Lines that begin with `#` are comments.
pub(crate) fn pairs<'a>(table: &'a str) -> Vec<(&'a str, &'a str)> {
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    let pair = |pair: &[&'a str]| (pair[0], pair[1].strip_prefix("    ").unwrap());
    lines.chunks(2).map(pair).collect()
}
