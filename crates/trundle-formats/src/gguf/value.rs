//! Metadata values of a GGUF file (`enum gguf_metadata_value_type` in its specification).

use std::fmt;

use super::header::read_text;
use crate::Problem;
use crate::header_reader::HeaderReader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

/// The types in the order of their numbers, with the names that trundle uses.
const KINDS: [(Kind, &str); 13] = [
    (Kind::U8, "u8"),
    (Kind::I8, "i8"),
    (Kind::U16, "u16"),
    (Kind::I16, "i16"),
    (Kind::U32, "u32"),
    (Kind::I32, "i32"),
    (Kind::F32, "f32"),
    (Kind::Bool, "boolean"),
    (Kind::Text, "text"),
    (Kind::Array, "array"),
    (Kind::U64, "u64"),
    (Kind::I64, "i64"),
    (Kind::F64, "f64"),
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl Kind {
    pub(super) fn read(reader: &mut HeaderReader<'_>) -> Result<Kind, Problem> {
        let number = u32::from_le_bytes(reader.array("the type of a value")?);
        let known = usize::try_from(number).ok().and_then(|number| KINDS.get(number));
        known.map(|(kind, _)| *kind).ok_or_else(|| {
            Problem::header(format!(
                "a value is of type {number}, expected 0 to {}",
                KINDS.len() - 1
            ))
        })
    }

    /// Returns the size of a value in bytes; `None` if the type has no fixed size.
    fn width(self) -> Option<u64> {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => Some(1),
            Kind::U16 | Kind::I16 => Some(2),
            Kind::U32 | Kind::I32 | Kind::F32 => Some(4),
            Kind::U64 | Kind::I64 | Kind::F64 => Some(8),
            Kind::Text | Kind::Array => None,
        }
    }
}

/// Reads the value of `key` as a string. Skips an array and returns `None`.
pub(super) fn read(
    reader: &mut HeaderReader<'_>,
    kind: Kind,
    key: &str,
) -> Result<Option<String>, Problem> {
    const PART: &str = "a value";
    Ok(Some(match kind {
        Kind::U8 => u8::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::I8 => i8::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::U16 => u16::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::I16 => i16::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::U32 => u32::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::I32 => i32::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::U64 => u64::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::I64 => i64::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::F32 => f32::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::F64 => f64::from_le_bytes(reader.array(PART)?).to_string(),
        Kind::Bool => match reader.array(PART)? {
            [0] => "false".to_owned(),
            [1] => "true".to_owned(),
            [other] => return Err(Problem::header(format!("{key} must be 0 or 1, got {other}"))),
        },
        Kind::Text => read_text(reader, PART)?,
        Kind::Array => {
            skip_array(reader, key)?;
            return Ok(None);
        }
    }))
}

/// Skips an array, which is stored as the type of its values, their number, and the values.
fn skip_array(reader: &mut HeaderReader<'_>, key: &str) -> Result<(), Problem> {
    const PART: &str = "an array";
    let kind = Kind::read(reader)?;
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
        None if kind == Kind::Text => {
            for _ in 0..count {
                let bytes = u64::from_le_bytes(reader.array(PART)?);
                reader.skip(PART, bytes)?;
            }
            Ok(())
        }
        None => Err(Problem::Unsupported(format!("{key} is an array of arrays"))),
    }
}
