//! Reads the directories of a file: lists of fields, each with a number (its tag), a type and values.

use std::io;
use std::sync::Arc;

use crate::stored_dtype::ByteOrder;
use crate::{Blob, Problem};

/// The bytes that are read at once, because the values of a directory are often near it.
const WINDOW_BYTES: u64 = 4 << 10;

/// The largest number of fields. Classic TIFF cannot state more.
const MAX_FIELDS: u64 = 65_535;

/// The values of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    kind: u16,
    pub(super) count: u64,
    /// The offset of the values in the file.
    at: u64,
}

/// A list of fields, by tag, and the offset of the next directory; 0 after the last one.
#[derive(Default)]
pub(super) struct Directory {
    fields: Vec<(u16, Values)>,
    pub(super) next: u64,
}

impl Directory {
    pub(super) fn get(&self, tag: u16) -> Option<Values> {
        self.all(tag).next()
    }

    /// Returns all fields with a tag. tifffile writes two descriptions.
    pub(super) fn all(&self, tag: u16) -> impl Iterator<Item = Values> {
        self.fields.iter().filter(move |(known, _)| *known == tag).map(|(_, values)| *values)
    }
}

/// The file, with its byte order.
#[derive(Clone, Debug)]
pub(super) struct TiffBytes {
    pub(super) blob: Arc<dyn Blob>,
    pub(super) bytes: u64,
    pub(super) order: ByteOrder,
}

impl TiffBytes {
    /// Fills `out` from the file.
    ///
    /// # Errors
    /// If the file is too short, or cannot be read.
    pub(super) fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match at.checked_add(out.len() as u64) {
            Some(end) if end <= self.bytes => self.blob.read_exact_at(out, at),
            _ => {
                let (count, file) = (out.len(), self.bytes);
                let text = format!("{count} bytes at byte {at}, but the file has {file}");
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
        }
    }

    /// Returns the integer at `index` of the values.
    pub(super) fn number(&self, values: Values, index: u64) -> io::Result<u64> {
        let width = values.width();
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..width as usize];
        let at = index.checked_mul(width).and_then(|before| values.at.checked_add(before));
        self.read(at.unwrap_or(u64::MAX), bytes)?;
        Ok(self.integer(bytes))
    }

    fn integer(&self, bytes: &[u8]) -> u64 {
        let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self.order {
            ByteOrder::Little => bytes.iter().rev().fold(0, append),
            ByteOrder::Big => bytes.iter().fold(0, append),
        }
    }
}

impl Values {
    /// Returns the bytes of a value; 0 for unknown types.
    fn width(self) -> u64 {
        match self.kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16..=18 => 8,
            _ => 0,
        }
    }

    /// Returns the values from `index` on.
    pub(super) fn after(self, index: u64) -> Values {
        let at = self.at.saturating_add(index.saturating_mul(self.width()));
        Values { at, count: self.count - index, ..self }
    }

    pub(super) fn is_unsigned(self) -> bool {
        matches!(self.kind, 1 | 3 | 4 | 13 | 16 | 18)
    }
}

/// Reads directories. Their total size is limited, because damaged directories can overlap.
pub(super) struct DirectoryReader {
    pub(super) file: TiffBytes,
    /// Whether this is BigTIFF, which has larger offsets and counts.
    is_big: bool,
    /// The offset of the first directory.
    pub(super) first: u64,
    /// The bytes that may still be read.
    left: u64,
    window: (u64, Vec<u8>),
}

impl DirectoryReader {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// [`Problem`] if the file is not TIFF, or is truncated.
    pub(super) fn new(blob: Arc<dyn Blob>) -> Result<DirectoryReader, Problem> {
        let bytes = blob.bytes().map_err(Problem::reading)?;
        let file = TiffBytes { blob, bytes, order: ByteOrder::Little };
        let left = bytes.saturating_mul(16).saturating_add(1 << 20);
        let window = (0, Vec::new());
        let mut reader = DirectoryReader { file, is_big: false, first: 0, left, window };
        let start = reader.bytes("the header", 0, 8)?;
        (reader.file.order, reader.is_big) = match &start[..4] {
            b"II*\0" => (ByteOrder::Little, false),
            b"MM\0*" => (ByteOrder::Big, false),
            b"II+\0" => (ByteOrder::Little, true),
            b"MM\0+" => (ByteOrder::Big, true),
            other => return Err(Problem::magic("a TIFF", other, b"II*\0")),
        };
        let at = if reader.is_big { 8 } else { 4 };
        if reader.is_big && reader.file.integer(&start[4..6]) != 8 {
            return Err(Problem::header("offsets of BigTIFF have 8 bytes"));
        }
        reader.first = reader.word("the header", at)?;
        Ok(reader)
    }

    /// Returns the bytes of an offset or count.
    fn word_bytes(&self) -> u64 {
        if self.is_big { 8 } else { 4 }
    }

    fn word(&mut self, part: &'static str, at: u64) -> Result<u64, Problem> {
        let bytes = self.bytes(part, at, self.word_bytes())?;
        Ok(self.file.integer(&bytes))
    }

    /// Reads bytes, which errors name `part`.
    fn bytes(&mut self, part: &'static str, at: u64, bytes: u64) -> Result<Vec<u8>, Problem> {
        let end = at.checked_add(bytes).filter(|end| *end <= self.file.bytes);
        let got = self.file.bytes.saturating_sub(at);
        let end = end.ok_or(Problem::Truncated { part, expected: bytes, got })?;
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let why = "its directories overlap: together they are much longer than the file";
            Problem::unsupported(why)
        })?;
        let read = |at: u64, bytes: u64| -> Result<Vec<u8>, Problem> {
            let mut read = vec![0; bytes as usize];
            self.file.read(at, &mut read).map_err(Problem::reading)?;
            Ok(read)
        };
        if bytes > WINDOW_BYTES {
            return read(at, bytes);
        }
        let (begin, window) = &mut self.window;
        if at < *begin || end > *begin + window.len() as u64 {
            *window = read(at, WINDOW_BYTES.min(self.file.bytes - at))?;
            *begin = at;
        }
        Ok(window[(at - *begin) as usize..][..bytes as usize].to_vec())
    }

    /// Reads the directory at an offset.
    ///
    /// # Errors
    /// [`Problem`] if it is malformed or truncated.
    pub(super) fn directory(&mut self, at: u64) -> Result<Directory, Problem> {
        const PART: &str = "a directory";
        let (word, head) = (self.word_bytes(), if self.is_big { 8 } else { 2 });
        let count = self.bytes(PART, at, head)?;
        let count = self.file.integer(&count);
        if count > MAX_FIELDS {
            let more = format!("a directory with {count} fields, over {MAX_FIELDS}");
            return Err(Problem::header(more));
        }
        let each = 4 + 2 * word;
        let begin = at + head;
        let all = self.bytes(PART, begin, count * each + word)?;
        let (fields, next) = all.split_at((count * each) as usize);
        let mut directory = Directory { fields: Vec::new(), next: self.file.integer(next) };
        for (index, field) in fields.chunks_exact(each as usize).enumerate() {
            let (head, values) = field.split_at(4 + word as usize);
            let kind = self.file.integer(&head[2..4]) as u16;
            let mut values = Values {
                kind,
                count: self.file.integer(&head[4..]),
                at: self.file.integer(values),
            };
            // Short values are in the field itself.
            if values.width().checked_mul(values.count).is_some_and(|bytes| bytes <= word) {
                values.at = begin + index as u64 * each + 4 + word;
            }
            if values.width() > 0 {
                directory.fields.push((self.file.integer(&head[..2]) as u16, values));
            }
        }
        Ok(directory)
    }

    /// Reads values, at most `most`, as bytes of their width.
    fn values(&mut self, values: Values, most: u64) -> Result<Vec<u8>, Problem> {
        self.bytes("the values of a field", values.at, values.width() * values.count.min(most))
    }

    /// Returns values that are unsigned integers, at most `most`.
    ///
    /// # Errors
    /// [`Problem`] if they are truncated or of another type, or there are none.
    pub(super) fn numbers(&mut self, values: Values, most: u64) -> Result<Vec<u64>, Problem> {
        if !values.is_unsigned() || values.count == 0 {
            let Values { kind, count, .. } = values;
            let found = format!("a field has {count} values of type {kind}, expected integers");
            return Err(Problem::header(found));
        }
        let bytes = self.values(values, most)?;
        Ok(bytes.chunks_exact(values.width() as usize).map(|it| self.file.integer(it)).collect())
    }

    /// Returns the first value of a field; `default` if the directory lacks it.
    pub(super) fn number(
        &mut self,
        directory: &Directory,
        tag: u16,
        default: u64,
    ) -> Result<u64, Problem> {
        match directory.get(tag) {
            Some(values) => Ok(self.numbers(values, 1)?[0]),
            None => Ok(default),
        }
    }

    /// Returns a text: UTF-8, or else Latin-1.
    pub(super) fn text(&mut self, values: Values, most: u64) -> Result<String, Problem> {
        let mut bytes = self.values(values, most)?;
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        let text = String::from_utf8(bytes);
        Ok(text.unwrap_or_else(|latin| latin.as_bytes().iter().copied().map(char::from).collect()))
    }

    /// Returns numbers of any type; none for texts.
    pub(super) fn floats(&mut self, values: Values, most: u64) -> Result<Vec<f64>, Problem> {
        let (kind, width) = (values.kind, values.width().max(1));
        let bytes = self.values(values, most)?;
        let unsigned = |it: &[u8]| self.file.integer(it) as f64;
        let signed = |it: &[u8]| {
            let unused = 64 - 8 * it.len();
            ((self.file.integer(it) << unused).cast_signed() >> unused) as f64
        };
        let float = |it: &[u8]| match kind {
            5 => unsigned(&it[..4]) / unsigned(&it[4..]),
            10 => signed(&it[..4]) / signed(&it[4..]),
            6 | 8 | 9 | 17 => signed(it),
            11 => f32::from_bits(self.file.integer(it) as u32).into(),
            12 => f64::from_bits(self.file.integer(it)),
            _ => unsigned(it),
        };
        Ok(bytes.chunks_exact(width as usize).map(float).collect())
    }
}
