//! Attributes as a file stores them, without the file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use trundle_json::FILL_VALUE;

use crate::datatype::{Class, Datatype, Float, is_plain_integer, is_self_contained};
use crate::layout::{Dataspace, MOST_AXES};
use crate::new::ELEMENT_BYTES;

/// The most bytes of the type and the elements of an attribute that is written. Longer strings go to a heap.
pub(crate) const MOST_MESSAGE_BYTES: usize = 60_000;

/// The most bytes and the most elements of an attribute that is read.
const MOST_BYTES: usize = 16 << 20;
const MOST_ELEMENTS: usize = 1 << 20;

/// The most empty lists for an attribute without elements.
const MOST_EMPTY_LISTS: usize = 1 << 12;

/// The type, the sizes and the elements of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct TypedValue {
    pub(crate) datatype: Datatype,
    /// The datatype message.
    pub(crate) message: Vec<u8>,
    pub(crate) space: Dataspace,
    /// The elements. A string of variable length is its length in 4 bytes, little-endian, then its bytes.
    pub(crate) data: Vec<u8>,
}

impl TypedValue {
    pub(crate) fn elements(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.data[..];
        std::iter::from_fn(move || {
            let mut length = self.datatype.width;
            if self.datatype.class == Class::VarString {
                let (bytes, after) = rest.split_first_chunk()?;
                (length, rest) = (u32::from_le_bytes(*bytes) as usize, after);
            }
            let (element, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(element)
        })
    }

    /// Returns the bytes of the type and the elements in a new file, without strings in heaps.
    pub(crate) fn message_bytes(&self) -> usize {
        self.message.len()
            + match self.datatype.class {
                Class::VarString => self.elements().count() * ELEMENT_BYTES,
                _ => self.data.len(),
            }
    }

    /// Returns whether the attribute is so large that the memory for its JSON would be a problem.
    pub(crate) fn is_too_large(&self) -> bool {
        self.data.len() > MOST_BYTES || self.elements().count() > MOST_ELEMENTS
    }

    /// Returns whether the netCDF library can read the attribute: strings, or a list of numbers.
    pub(crate) fn is_of_netcdf(&self) -> bool {
        let is_list = self.space.sizes.len() <= 1;
        match self.datatype.class {
            Class::String { .. } | Class::VarString => true,
            Class::Integer { .. } => is_list && is_plain_integer(&self.message),
            Class::Float { kind: Float::F32 | Float::F64, .. } => is_list,
            _ => false,
        }
    }

    /// Converts the attribute to JSON: a single element to a value, several to nested lists. `None` if JSON cannot
    /// represent it.
    ///
    /// A fill value of floats is written as xarray writes it to Zarr: the bytes of an f64 in base 64.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        if let Some(float) = float_of(&self.datatype, &self.data).filter(|_| name == FILL_VALUE) {
            return Some(trundle_json::to_base64(float));
        }
        if self.space.is_null {
            // netCDF stores empty attributes with a null dataspace.
            return match self.datatype.class {
                Class::String { .. } | Class::VarString => Some("".into()),
                Class::Integer { .. } | Class::Float { .. } | Class::Boolean => Some(json!([])),
                _ => None,
            };
        }
        let values = self.elements().map(|element| value_of(&self.datatype, element));
        let mut values = values.collect::<Option<Vec<Value>>>()?;
        // netCDF stores a number as a list of one element.
        if self.space.sizes.len() <= 1 && values.len() == 1 {
            return values.pop();
        }
        let sizes: Option<Vec<usize>> =
            self.space.sizes.iter().map(|size| usize::try_from(*size).ok()).collect();
        let mut sizes = sizes?;
        if let Some(empty) = sizes.iter().position(|size| *size == 0) {
            sizes.truncate(empty);
            let lists = sizes.iter().try_fold(1, |all: usize, size| all.checked_mul(*size));
            values = vec![json!([]); lists.filter(|lists| *lists <= MOST_EMPTY_LISTS)?];
            if sizes.is_empty() {
                return values.pop();
            }
        }
        for size in sizes.iter().skip(1).rev() {
            values = values.chunks(*size).map(|row| Value::Array(row.to_vec())).collect();
        }
        Some(Value::Array(values))
    }

    /// Encodes the attribute in JSON.
    pub(crate) fn to_json(&self) -> Value {
        let sizes = (!self.space.is_null).then_some(&self.space.sizes);
        json!([STANDARD.encode(&self.message), sizes, STANDARD.encode(&self.data)])
    }

    /// Decodes an attribute from the JSON of [`TypedValue::to_json`]; `None` if the JSON is not an attribute.
    pub(crate) fn of_json(value: &Value) -> Option<TypedValue> {
        let [message, sizes, data] = &value.as_array()?[..] else { return None };
        let bytes = |value: &Value| STANDARD.decode(value.as_str()?).ok();
        let is_null = sizes.is_null();
        let sizes = sizes.as_array().into_iter().flatten().map(Value::as_u64);
        let sizes = sizes.collect::<Option<Vec<u64>>>().filter(|sizes| sizes.len() <= MOST_AXES)?;
        let space = Dataspace { most: sizes.clone(), sizes, is_null };
        let (message, data) = (bytes(message)?, bytes(data)?);
        let typed = TypedValue { datatype: Datatype::parse(&message).ok()?, message, space, data };
        let (count, found) = typed
            .elements()
            .fold((0, 0), |(count, bytes), element| (count + 1, bytes + element.len() as u64));
        let is_var = typed.datatype.class == Class::VarString;
        let expected = found + if is_var { 4 * count } else { 0 };
        let is_whole = typed.space.elements() == Some(count) && typed.data.len() as u64 == expected;
        (is_whole && (is_var || is_self_contained(&typed.message))).then_some(typed)
    }
}

/// Converts an element to JSON; `None` for types that JSON lacks, such as complex numbers.
fn value_of(datatype: &Datatype, element: &[u8]) -> Option<Value> {
    match &datatype.class {
        Class::Boolean => Some(Value::Bool(element != [0])),
        Class::String { .. } | Class::VarString => text_of(datatype, element).map(Value::from),
        Class::Integer { .. } => integer_of(datatype, element),
        _ => float_of(datatype, element).map(trundle_json::of_float),
    }
}

/// Returns the text of an element; `None` unless it is a string.
pub(crate) fn text_of(datatype: &Datatype, element: &[u8]) -> Option<String> {
    let is_padded_by_spaces = match datatype.class {
        Class::String { is_padded_by_spaces } => is_padded_by_spaces,
        Class::VarString => false,
        _ => return None,
    };
    let end = element.iter().position(|byte| *byte == 0).unwrap_or(element.len());
    let text = String::from_utf8_lossy(&element[..end]);
    let text = if is_padded_by_spaces { text.trim_end_matches(' ') } else { &text };
    Some(text.to_owned())
}

/// Returns the value of an element; `None` unless it is an integer of at most 64 bits.
pub(crate) fn integer_of(datatype: &Datatype, element: &[u8]) -> Option<Value> {
    let Class::Integer { is_signed, .. } = datatype.class else { return None };
    let bytes = datatype.to_little_endian(element.to_vec());
    let is_negative = is_signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut long = [if is_negative { 0xff } else { 0 }; 8];
    long.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(if is_signed { i64::from_le_bytes(long).into() } else { u64::from_le_bytes(long).into() })
}

/// Returns the value of one element; `None` unless it is a float.
fn float_of(datatype: &Datatype, element: &[u8]) -> Option<f64> {
    let Class::Float { kind, .. } = datatype.class else { return None };
    let bytes = datatype.to_little_endian(element.to_vec());
    Some(match kind {
        Float::F16 => half::f16::from_le_bytes(bytes.try_into().ok()?).into(),
        Float::BF16 => half::bf16::from_le_bytes(bytes.try_into().ok()?).into(),
        Float::F32 => f32::from_le_bytes(bytes.try_into().ok()?).into(),
        Float::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
    })
}
