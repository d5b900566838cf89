//! Parses the header of a GGUF file.

use super::value::{self, ValueType};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC};
use crate::Problem;
use crate::header_reader::HeaderReader;
use crate::names::check_unique;

/// The largest rank that is read. ggml itself supports 4 axes (`GGML_MAX_DIMS`).
const MAX_DIMENSIONS: u32 = 64;

pub(super) struct GgufHeader {
    /// The keys and values, except for arrays.
    pub metadata: Vec<(String, String)>,
    pub arrays: Vec<String>,
    pub tensors: Vec<TensorRecord>,
    /// The alignment of each tensor's data in bytes.
    pub alignment: u64,
}

pub(super) struct TensorRecord {
    pub name: String,
    /// The sizes of the axes, the fastest axis first.
    pub sizes: Vec<u64>,
    /// The number of the element type.
    pub dtype: u32,
    /// The offset of the tensor's data from the start of all data, in bytes.
    pub offset: u64,
}

impl GgufHeader {
    pub(super) fn read(reader: &mut HeaderReader<'_>) -> Result<GgufHeader, Problem> {
        let tensors = read_start(reader)?;
        let pairs = u64::from_le_bytes(reader.array("the number of pairs")?);
        let mut header = GgufHeader {
            metadata: Vec::new(),
            arrays: Vec::new(),
            tensors: Vec::new(),
            alignment: DEFAULT_ALIGNMENT,
        };
        // The counts are not trusted: memory is reserved only as entries are read.
        for _ in 0..pairs {
            header.read_pair(reader)?;
        }
        for _ in 0..tensors {
            header.tensors.push(TensorRecord::read(reader)?);
        }
        let twice = |name| Problem::header(format!("\"{name}\" occurs twice"));
        check_unique(header.tensors.iter().map(|entry| &entry.name[..])).map_err(twice)?;
        check_unique(header.metadata.iter().map(|(key, _)| &key[..])).map_err(twice)?;
        Ok(header)
    }

    fn read_pair(&mut self, reader: &mut HeaderReader<'_>) -> Result<(), Problem> {
        let key = read_text(reader, "a key")?;
        let kind = ValueType::read(reader)?;
        let value = value::read(reader, kind, &key)?;
        if key == ALIGNMENT_KEY {
            self.alignment = alignment(kind, value.as_deref())?;
        }
        match value {
            Some(value) => self.metadata.push((key, value)),
            None => self.arrays.push(key),
        }
        Ok(())
    }
}

fn read_start(reader: &mut HeaderReader<'_>) -> Result<u64, Problem> {
    let magic: [u8; 4] = reader.array("the beginning")?;
    if magic != *MAGIC {
        return Err(Problem::magic("a GGUF", &magic, MAGIC));
    }
    match u32::from_le_bytes(reader.array("the version")?) {
        2 | 3 => Ok(u64::from_le_bytes(reader.array("the number of tensors")?)),
        version if matches!(version.swap_bytes(), 1..=3) => {
            Err(Problem::unsupported("is big-endian: only little-endian GGUF is read"))
        }
        version => Err(Problem::Unsupported(format!(
            "version {version} of GGUF is unknown: expected 2 or 3"
        ))),
    }
}

fn alignment(kind: ValueType, value: Option<&str>) -> Result<u64, Problem> {
    let number =
        value.filter(|_| kind == ValueType::U32).and_then(|value| value.parse::<u32>().ok());
    number.filter(|number| number.is_power_of_two()).map(u64::from).ok_or_else(|| {
        let found = value.unwrap_or("an array");
        Problem::header(format!(
            "{ALIGNMENT_KEY} must be a power of two of type u32, got {kind} {found}"
        ))
    })
}

/// Reads a string: its length in bytes, then the bytes.
pub(super) fn read_text(
    reader: &mut HeaderReader<'_>,
    part: &'static str,
) -> Result<String, Problem> {
    let bytes = u64::from_le_bytes(reader.array(part)?);
    let text = reader.bytes(part, bytes)?;
    String::from_utf8(text)
        .map_err(|error| Problem::header(format!("{part} is not UTF-8: {}", error.utf8_error())))
}

impl TensorRecord {
    fn read(reader: &mut HeaderReader<'_>) -> Result<TensorRecord, Problem> {
        let name = read_text(reader, "a tensor's name")?;
        let dimensions = u32::from_le_bytes(reader.array("a tensor's number of dimensions")?);
        if dimensions > MAX_DIMENSIONS {
            return Err(Problem::Unsupported(format!(
                "\"{name}\" has {dimensions} dimensions, over {MAX_DIMENSIONS}"
            )));
        }
        let mut sizes = Vec::new();
        for _ in 0..dimensions {
            sizes.push(u64::from_le_bytes(reader.array("a tensor's dimensions")?));
        }
        let dtype = u32::from_le_bytes(reader.array("a tensor's type")?);
        let offset = u64::from_le_bytes(reader.array("a tensor's offset")?);
        Ok(TensorRecord { name, sizes, dtype, offset })
    }
}
