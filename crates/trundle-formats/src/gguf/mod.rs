//! GGUF, the format of ggml's models. A file has a header with values and tensors, then the aligned data of the
//! tensors.
//!
//! Versions 2 and 3 are read, little-endian only: big-endian files of version 3 are refused. GGUF lists the fastest
//! axis first, so the sizes are reversed. Tensors are listed in the order of their data. Quantised tensors cannot be
//! read, because their elements share bytes in blocks. Strings, numbers and booleans become metadata. Arrays, such as a
//! tokenizer's vocabulary, are skipped with a warning. Other bytes between and after the data of the tensors are
//! ignored.
//!
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>

mod dtype;
mod header;
mod value;

use self::header::{GgufHeader, TensorRecord};
use crate::contents::{Contents, Listing};
use crate::format::Keeps;
use crate::header::{checked_offset, checked_shape};
use crate::header_reader::HeaderReader;
use crate::source::Source;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{Format, Header, Problem, StoredDType, Unreadable};

pub(crate) const FORMAT: Format = Format {
    name: "gguf",
    endings: &["gguf"],
    holds_one: false,
    keeps: Keeps::OfFile,
    states_column_major: false,
    begins: |first| first.starts_with(MAGIC),
    open,
    skeleton: None,
    folder: None,
};

const MAGIC: &[u8; 4] = b"GGUF";

/// The longest header that is read, in bytes. A header with a vocabulary has some millions of bytes.
const MAX_HEADER_BYTES: u64 = 100_000_000;

const ALIGNMENT_KEY: &str = "general.alignment";
/// The alignment in bytes, if the file does not state it.
const DEFAULT_ALIGNMENT: u64 = 32;

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let mut reader = HeaderReader::new(&mut source, MAX_HEADER_BYTES);
    let GgufHeader { metadata, arrays, mut tensors, alignment } = GgufHeader::read(&mut reader)?;
    let end = reader.position();
    drop(reader);
    // This cannot overflow: the header has at most [`MAX_HEADER_BYTES`] bytes.
    let start = end.next_multiple_of(alignment);
    tensors.sort_by_key(|record| record.offset);
    let mut headers = Vec::new();
    let mut unreadable = Vec::new();
    for record in tensors {
        record.check_aligned(alignment)?;
        match dtype::element(record.dtype) {
            Ok(element) => headers.push(record.header(element, start)?),
            Err(problem) => unreadable.push(Unreadable { name: record.name, problem }),
        }
    }
    check_apart(&headers)?;
    if headers.is_empty() && !unreadable.is_empty() {
        return Err(unreadable.swap_remove(0).into_problem());
    }
    let headers = hint.apply_to_any(headers)?;
    // A file without data need not be padded.
    let start = if headers.is_empty() { end } else { start };
    let unread = arrays.into_iter().map(|key| format!("array {key}")).collect();
    let listing = Listing { headers, metadata, unread, unreadable };
    Ok(Uncompressed::new(listing, start, source, TrailingBytes::Ignored)?)
}

impl TensorRecord {
    fn check_aligned(&self, alignment: u64) -> Result<(), Problem> {
        let TensorRecord { name, offset, .. } = self;
        if offset.is_multiple_of(alignment) {
            return Ok(());
        }
        Err(Problem::header(format!(
            "the data of \"{name}\" begins at byte {offset} of all data, which is not a multiple of {alignment}"
        )))
    }

    fn header(self, element: StoredDType, start: u64) -> Result<Header, Problem> {
        let TensorRecord { name, sizes, offset, .. } = self;
        let shape = checked_shape(&name, sizes.into_iter().rev())?;
        let data_offset = Some(checked_offset(&name, start, offset)?);
        Header::row_major(name, element, shape, data_offset)
    }
}

/// Checks that no two tensors share bytes, so that the size of the file limits the size of the data.
fn check_apart(headers: &[Header]) -> Result<(), Problem> {
    let mut end = 0;
    for Header { name, data_offset, data_bytes, .. } in headers.iter().filter(|h| h.data_bytes > 0)
    {
        let begin = data_offset.unwrap_or(0);
        if begin < end {
            return Err(Problem::header(format!(
                "the data of \"{name}\" begins at byte {begin}, but the previous tensor ends at {end}"
            )));
        }
        end = begin.saturating_add(*data_bytes as u64);
    }
    Ok(())
}
