//! The format of Hugging Face's safetensors: a JSON header, then the little-endian, row-major data of the tensors.
//!
//! As in the format's own library, the data must cover everything after the header without gaps or overlaps. Tensors
//! are listed in the order of their data. Tensors and `__metadata__` are written in the given order. Unknown keys are
//! refused, because they would be lost.
//!
//! <https://huggingface.co/docs/safetensors>

pub(crate) mod dtype;
mod header;
mod index;

use std::fmt::Write as _;

use self::header::{FileHeader, TensorHeader};
pub(crate) use self::index::INDEX;
use crate::contents::{Contents, Listing};
use crate::error::in_bytes;
use crate::format::Keeps;
use crate::header::{checked_offset, checked_shape};
use crate::names::check_unique;
use crate::skeleton::check_names;
use crate::source::{Source, read_exactly};
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Described, FileSkeleton, Format, Header, Problem};

pub(crate) const FORMAT: Format = Format {
    name: "safetensors",
    endings: &["safetensors"],
    holds_one: false,
    keeps: Keeps::OfFile,
    states_column_major: false,
    begins,
    open,
    skeleton: Some(skeleton),
    folder: None,
};

/// The bytes of the header's length field, which is little-endian.
const LENGTH_BYTES: usize = 8;

/// The longest header that is read or written, in bytes: the limit of the format's own library.
const MAX_HEADER_BYTES: usize = 100_000_000;

/// The header is padded with spaces to a multiple of this number of bytes.
const ALIGNMENT: usize = 8;

const METADATA: &str = "__metadata__";

fn open(source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    Ok(open_with(source, hint)?)
}

fn open_with(mut source: Source, hint: &TensorHint) -> Result<Box<Uncompressed>, Problem> {
    let text = read_header_text(&mut source)?;
    let file_header = FileHeader::parse(&text).map_err(Problem::header)?;
    let start = (LENGTH_BYTES + text.len()) as u64;
    let headers = headers(file_header.tensors, start)?;
    let headers = hint.apply_to_any(headers)?;
    let trailing = TrailingBytes::Refused(|expected, got| {
        Problem::Malformed(format!("the tensors need {expected} bytes, but there are {got}"))
    });
    let listing = Listing { headers, metadata: file_header.metadata, ..Listing::default() };
    Uncompressed::new(listing, start, source, trailing)
}

/// Returns whether a file begins with a valid header length and an opening brace.
fn begins(first: &[u8]) -> bool {
    let Some((length, [b'{', ..])) = first.split_first_chunk::<LENGTH_BYTES>() else {
        return false;
    };
    u64::from_le_bytes(*length) <= MAX_HEADER_BYTES as u64
}

fn read_header_text(source: &mut Source) -> Result<Vec<u8>, Problem> {
    let mut length = [0; LENGTH_BYTES];
    length.copy_from_slice(&read_exactly(source, "the header's length", LENGTH_BYTES)?);
    let length = u64::from_le_bytes(length);
    let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= MAX_HEADER_BYTES);
    let bytes = bytes.ok_or_else(|| {
        Problem::Unsupported(format!("the header has {length} bytes, over {MAX_HEADER_BYTES}"))
    })?;
    let text = read_exactly(source, "the header", bytes)?;
    match text.first() {
        Some(b'{') => Ok(text),
        Some(first) => Err(Problem::header(format!(
            "it begins with \"{}\", expected \"{{\"",
            [*first].escape_ascii()
        ))),
        None => Err(Problem::header("it is empty")),
    }
}

/// Returns the headers in the order of the data, which begins at `start`. Refuses gaps and overlaps.
fn headers(mut tensors: Vec<(String, TensorHeader)>, start: u64) -> Result<Vec<Header>, Problem> {
    // Tensors without data keep the order of the header.
    tensors.sort_by_key(|(_, entry)| entry.data_offsets);
    let mut end = 0;
    let mut headers = Vec::with_capacity(tensors.len());
    for (name, entry) in tensors {
        let [first, beyond] = entry.data_offsets;
        if first != end {
            return Err(Problem::header(format!(
                "the data of \"{name}\" begins at byte {first}, but the previous tensor ends at {end}"
            )));
        }
        let header = header(name, &entry, start)?;
        if beyond.checked_sub(first) != Some(header.data_bytes as u64) {
            let (name, shape) = (&header.name, &header.shape);
            let needed = in_bytes(header.data_bytes as u64);
            return Err(Problem::header(format!(
                "\"{name}\", {} {shape}, needs {needed}, but has bytes {first} to {beyond}",
                entry.dtype
            )));
        }
        end = beyond;
        headers.push(header);
    }
    Ok(headers)
}

fn header(name: String, entry: &TensorHeader, start: u64) -> Result<Header, Problem> {
    let element = dtype::element(&entry.dtype).ok_or_else(|| {
        Problem::Unsupported(format!("\"{name}\" is of the unknown type {:?}", entry.dtype))
    })?;
    let shape = checked_shape(&name, entry.shape.iter().copied())?;
    if let Some(bits) = dtype::open_bits(&element, &shape) {
        return Err(Problem::header(format!("\"{name}\", {} {shape}, {bits}", entry.dtype)));
    }
    let data_offset = Some(checked_offset(&name, start, entry.data_offsets[0])?);
    Header::row_major(name, element, shape, data_offset)
}

fn skeleton(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
) -> Result<FileSkeleton, Problem> {
    let text = header_text(tensors, metadata)?;
    let mut skeleton = FileSkeleton::default();
    skeleton.push([&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat())?;
    for tensor in tensors {
        skeleton.push_data(tensor.bytes()?)?;
    }
    Ok(skeleton)
}

fn header_text(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
) -> Result<String, Problem> {
    let mut entries = Vec::with_capacity(tensors.len() + 1);
    if !metadata.is_empty() {
        check_unique(metadata.iter().map(|(key, _)| &key[..]))
            .map_err(|key| Problem::Unsupported(format!("metadata \"{key}\" occurs twice")))?;
        let pair = |(key, value): &(String, String)| format!("{}:{}", json(key), json(value));
        let pairs: Vec<String> = metadata.iter().map(pair).collect();
        entries.push(format!("{}:{{{}}}", json(METADATA), pairs.join(",")));
    }
    let mut start = 0u64;
    for tensor in tensors {
        // The skeleton refuses files that are too long.
        let end = start.saturating_add(tensor.bytes()? as u64);
        entries.push(entry(tensor, start, end)?);
        start = end;
    }
    check_names(FORMAT.name, tensors)?;
    let mut text = format!("{{{}}}", entries.join(","));
    let padding = text.len().next_multiple_of(ALIGNMENT) - text.len();
    let _ = write!(text, "{:padding$}", "");
    if text.len() > MAX_HEADER_BYTES {
        return Err(Problem::Unsupported(format!(
            "the header would have {} bytes, over {MAX_HEADER_BYTES}",
            text.len()
        )));
    }
    Ok(text)
}

fn entry(tensor: &Described<'_>, start: u64, end: u64) -> Result<String, Problem> {
    let refused = |why| tensor.refused(FORMAT.name, why);
    if tensor.name == METADATA {
        return Err(refused("the format reserves that name".to_owned()));
    }
    let dtype = dtype::name(tensor.element).map_err(refused)?;
    if let Some(bits) = dtype::open_bits(tensor.element, tensor.shape) {
        return Err(refused(format!("its shape {} {bits}", tensor.shape)));
    }
    let sizes: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
    let (name, sizes) = (json(tensor.name), sizes.join(","));
    Ok(format!(r#"{name}:{{"dtype":"{dtype}","shape":[{sizes}],"data_offsets":[{start},{end}]}}"#))
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
