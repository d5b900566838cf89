//! The bytes of a model's constants.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use trundle_core::{DType, Shape};
use trundle_formats::folder_of;

use super::layer::Layer;
use crate::constant::unused_cleared;
use crate::links::read_range;
use crate::problem::{Checked, wrong};
use crate::{Data, ElementType, Error, Links, Result};

/// Constants may take twice the size of the weights and this many bytes. Without a limit, overlapping constants could
/// expand a small file.
const SLACK_BYTES: u64 = 1 << 20;

pub(super) struct Weights<'a> {
    source: Source<'a>,
    /// The size of the weights in bytes, once determined.
    length: OnceCell<u64>,
    /// Equal constants share memory.
    read: HashMap<Stored, Data>,
    bytes_read: u64,
}

enum Source<'a> {
    Bytes(&'a [u8]),
    /// Opened for each constant, so that a model without constants needs no file.
    File(PathBuf, Links),
}

/// Constants with equal keys are equal.
#[derive(PartialEq, Eq, Hash)]
struct Stored {
    start: u64,
    bytes: usize,
    /// Set for strings, and for packed elements if the last byte may have unused bits.
    special: Option<(ElementType, usize)>,
}

impl<'a> Weights<'a> {
    pub(super) fn bytes(bytes: &'a [u8]) -> Weights<'a> {
        Weights::new(Source::Bytes(bytes))
    }

    /// The file need not exist if no constant is read.
    pub(super) fn file(path: PathBuf, links: Links) -> Weights<'a> {
        Weights::new(Source::File(path, links))
    }

    fn new(source: Source<'a>) -> Weights<'a> {
        Weights { source, length: OnceCell::new(), read: HashMap::new(), bytes_read: 0 }
    }

    /// Returns a Const layer's elements: `size` bytes from `offset` on. Nothing is read for an empty constant, for
    /// which OpenVINO writes one meaningless byte.
    pub(super) fn data(
        &mut self,
        layer: &Layer,
        element: ElementType,
        shape: &Shape,
    ) -> Checked<Data> {
        if shape.elements() == 0 {
            return Ok(Data::empty(element));
        }
        let start: u64 = layer.required_number("offset")?;
        let size: u64 = layer.required_number("size")?;
        let length = self.length()?;
        if start.checked_add(size).is_none_or(|end| end > length) {
            return wrong!(
                "its {size} bytes from offset {start} on do not lie in the weights, which are \
                 {length} bytes"
            );
        }
        match element {
            ElementType::Fixed(dtype) => self.elements(dtype, shape, start, size),
            ElementType::String => self.strings(shape.elements(), start, size),
        }
    }

    fn length(&self) -> Result<u64> {
        if let Some(length) = self.length.get() {
            return Ok(*length);
        }
        let length = self.source.length()?;
        Ok(*self.length.get_or_init(|| length))
    }

    fn elements(&mut self, dtype: DType, shape: &Shape, start: u64, size: u64) -> Checked<Data> {
        let (bytes, count) = (shape.bytes(dtype)?, shape.elements());
        if size < bytes as u64 {
            return wrong!("{count} elements of {dtype} take {bytes} bytes; it has {size}");
        }
        let special = dtype.packing().map(|_| (ElementType::Fixed(dtype), count));
        self.once(Stored { start, bytes, special }, |bytes| {
            Ok(Data::Bytes(unused_cleared(bytes.into(), dtype, count)))
        })
    }

    fn strings(&mut self, count: usize, start: u64, size: u64) -> Checked<Data> {
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        let special = Some((ElementType::String, count));
        self.once(Stored { start, bytes, special }, |bytes| {
            Ok(Data::Strings(decoded_strings(&bytes, count)?.into()))
        })
    }

    /// Returns the cached constant, or what `make` builds from the bytes.
    fn once(
        &mut self,
        stored: Stored,
        make: impl FnOnce(Vec<u8>) -> Checked<Data>,
    ) -> Checked<Data> {
        if let Some(data) = self.read.get(&stored) {
            return Ok(data.clone());
        }
        let length = self.length()?;
        self.bytes_read += stored.bytes as u64;
        if self.bytes_read > length.saturating_mul(2).saturating_add(SLACK_BYTES) {
            return wrong!(
                "constants up to here take {} bytes, but the weights have {length} bytes: they overlap",
                self.bytes_read
            );
        }
        let data = make(self.source.read(stored.start, stored.bytes)?)?;
        self.read.insert(stored, data.clone());
        Ok(data)
    }
}

impl Source<'_> {
    fn length(&self) -> Result<u64> {
        match self {
            Source::Bytes(bytes) => Ok(bytes.len() as u64),
            Source::File(path, links) => {
                let name = path.file_name().map(Path::new).unwrap_or(path);
                let path = &links.follow(folder_of(path), name, "")?;
                let length = fs::metadata(path).map(|file| file.len());
                length.map_err(|source| Error::Io { path: path.clone(), source })
            }
        }
    }

    /// The caller must have checked the range.
    fn read(&self, start: u64, bytes: usize) -> Result<Vec<u8>> {
        match self {
            Source::Bytes(all) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let span = start.checked_add(bytes).and_then(|end| all.get(start..end));
                Ok(span.unwrap_or_default().to_vec())
            }
            Source::File(path, _) => read_range(path, start, bytes),
        }
    }
}

/// Decodes strings: their count, the start of the first and the end of each, all as u32, then their bytes, into which
/// start and ends are offsets.
fn decoded_strings(bytes: &[u8], count: usize) -> Checked<Vec<String>> {
    let (numbers, _) = bytes.as_chunks::<4>();
    let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number) as usize);
    let declared = numbers.next();
    if declared != Some(count) {
        let declared = declared.map_or("none".to_owned(), |declared| declared.to_string());
        return wrong!("its shape has {count} strings, its bytes begin with {declared}");
    }
    let header = (count as u64 + 2) * 4;
    let Some(letters) = usize::try_from(header).ok().and_then(|header| bytes.get(header..)) else {
        return wrong!("{count} strings take at least {header} bytes; it has {}", bytes.len());
    };
    let mut start = numbers.next().unwrap_or_default();
    if start != 0 {
        return wrong!("its first string begins at byte {start}, not 0");
    }
    let mut strings = Vec::with_capacity(count);
    for (number, end) in numbers.take(count).enumerate() {
        let Some(text) = letters.get(start..end) else {
            return wrong!("string {number} is bytes {start}..{end} of {} bytes", letters.len());
        };
        let text = str::from_utf8(text).map_err(|error| format!("string {number}: {error}"))?;
        strings.push(text.to_owned());
        start = end;
    }
    if start != letters.len() {
        return wrong!("its strings end at byte {start} of {}", letters.len());
    }
    Ok(strings)
}
