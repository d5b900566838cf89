//! Metadata values of a GGUF file (`enum gguf_metadata_value_type` in its specification).

use std::fmt;

use super::header::read_text;
use crate::Problem;
use crate::header_reader::HeaderReader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

/// The types in the order of their numbers, with trundle's names.
const KINDS: [(ValueType, &str); 13] = [
    (ValueType::U8, "u8"),
    (ValueType::I8, "i8"),
    (ValueType::U16, "u16"),
    (ValueType::I16, "i16"),
    (ValueType::U32, "u32"),
    (ValueType::I32, "i32"),
    (ValueType::F32, "f32"),
    (ValueType::Bool, "boolean"),
    (ValueType::Text, "text"),
    (ValueType::Array, "array"),
    (ValueType::U64, "u64"),
    (ValueType::I64, "i64"),
    (ValueType::F64, "f64"),
];

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl ValueType {
    pub(super) fn read(reader: &mut HeaderReader<'_>) -> Result<ValueType, Problem> {
        let number = u32::from_le_bytes(reader.array("the type of a value")?);
        let known = usize::try_from(number).ok().and_then(|number| KINDS.get(number));
        known.map(|(kind, _)| *kind).ok_or_else(|| {
            Problem::header(format!(
                "a value is of type {number}, expected 0 to {}",
                KINDS.len() - 1
            ))
        })
    }

    /// Returns the size of a value in bytes, if it is fixed.
    fn width(self) -> Option<u64> {
        match self {
            ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
            ValueType::Text | ValueType::Array => None,
        }
    }
}

/// Reads the value of `key` as a string; `None` for an array, which is skipped.
pub(super) fn read(
    reader: &mut HeaderReader<'_>,
    kind: ValueType,
    key: &str,
) -> Result<Option<String>, Problem> {
    const PART: &str = "a value";
    Ok(Some(match kind {
        ValueType::U8 => u8::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::I8 => i8::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::U16 => u16::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::I16 => i16::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::U32 => u32::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::I32 => i32::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::U64 => u64::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::I64 => i64::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::F32 => f32::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::F64 => f64::from_le_bytes(reader.array(PART)?).to_string(),
        ValueType::Bool => match reader.array(PART)? {
            [0] => "false".to_owned(),
            [1] => "true".to_owned(),
            [other] => return Err(Problem::header(format!("{key} must be 0 or 1, got {other}"))),
        },
        ValueType::Text => read_text(reader, PART)?,
        ValueType::Array => {
            skip_array(reader, key)?;
            return Ok(None);
        }
    }))
}

/// Skips an array: the type of its values, their number, and the values.
fn skip_array(reader: &mut HeaderReader<'_>, key: &str) -> Result<(), Problem> {
    const PART: &str = "an array";
    let kind = ValueType::read(reader)?;
    let count = u64::from_le_bytes(reader.array(PART)?);
    match kind.width() {
        Some(width) => {
            let bytes = count.checked_mul(width).ok_or_else(|| {
                Problem::header(format!(
                    "{key} has {count} values of {width} bytes, too many to count"
                ))
            })?;
            reader.skip(PART, bytes)
        }
        None if kind == ValueType::Text => {
            for _ in 0..count {
                let bytes = u64::from_le_bytes(reader.array(PART)?);
                reader.skip(PART, bytes)?;
            }
            Ok(())
        }
        None => Err(Problem::Unsupported(format!("{key} is an array of arrays"))),
    }
}
