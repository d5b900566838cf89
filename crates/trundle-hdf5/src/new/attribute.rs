//! Encodes attributes.

use serde_json::Value;

use super::datatype::encoded;
use super::encode::{Encoder, dataspace};
use super::heap::{ELEMENT_BYTES, Heap};
use crate::datatype::{Class, Datatype, Float};
use crate::error::Error;

/// The attribute of the CF conventions for the fill value, which has the element type of the dataset.
pub(super) const FILL_VALUE: &str = "_FillValue";

/// The most bytes of data in an attribute message. Longer strings go to a heap.
const MOST_STRING_BYTES: usize = 60_000;

#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) datatype: Vec<u8>,
    pub(super) space: Vec<u8>,
    pub(super) data: Vec<u8>,
}

/// Encodes an attribute message.
///
/// # Errors
/// If the name is too long.
pub(super) fn message(name: &str, value: &Encoded) -> Result<Vec<u8>, Error> {
    let too_long = |_| Error::unsupported("an attribute's name is too long");
    let name_bytes = u16::try_from(name.len() + 1).map_err(too_long)?;
    // Version 3, no flags, three sizes, and character set 1 (UTF-8).
    let mut out = Encoder::default();
    out.u8(3)
        .u8(0)
        .u16(name_bytes)
        .u16(value.datatype.len() as u16)
        .u16(value.space.len() as u16)
        .u8(1);
    out.bytes(name.as_bytes()).u8(0).bytes(&value.datatype).bytes(&value.space).bytes(&value.data);
    Ok(out.0)
}

/// Encodes a JSON value. Values that HDF5 attributes cannot represent, such as objects, are written as JSON text.
pub(super) fn of_value(value: &Value, heap: &mut Heap<'_>) -> Encoded {
    let (elements, sizes) = match value {
        Value::Array(list) => (&list[..], vec![list.len() as u64]),
        one => (std::slice::from_ref(one), Vec::new()),
    };
    let is_all = |is: fn(&Value) -> bool| !elements.is_empty() && elements.iter().all(is);
    let (datatype, data): (Datatype, Vec<u8>) = if is_all(Value::is_boolean) {
        let bytes = elements.iter().map(|value| u8::from(*value == Value::Bool(true)));
        (Datatype { width: 1, class: Class::Boolean }, bytes.collect())
    } else if is_all(Value::is_i64) {
        let class = Class::Integer { is_signed: true, is_big: false };
        let longs = elements.iter().filter_map(Value::as_i64).flat_map(i64::to_le_bytes);
        (Datatype { width: 8, class }, longs.collect())
    } else if is_all(Value::is_u64) {
        let class = Class::Integer { is_signed: false, is_big: false };
        let longs = elements.iter().filter_map(Value::as_u64).flat_map(u64::to_le_bytes);
        (Datatype { width: 8, class }, longs.collect())
    } else if is_all(Value::is_number) {
        let class = Class::Float { kind: Float::F64, is_big: false };
        let floats = elements.iter().filter_map(Value::as_f64).flat_map(f64::to_le_bytes);
        (Datatype { width: 8, class }, floats.collect())
    } else if is_all(Value::is_string) {
        return strings(elements.iter().filter_map(Value::as_str), &sizes, heap);
    } else {
        return strings(std::iter::once(&value.to_string()[..]), &[], heap);
    };
    if data.len() > MOST_STRING_BYTES {
        return strings(std::iter::once(&value.to_string()[..]), &[], heap);
    }
    Encoded { datatype: encoded(&datatype), space: dataspace(&sizes), data }
}

/// Encodes strings. If `has_own_strings` is true, a single string is stored in the attribute unless it is too long. All
/// other strings are stored in a heap.
fn strings<'a>(
    strings: impl Iterator<Item = &'a str>,
    sizes: &[u64],
    heap: &mut Heap<'_>,
) -> Encoded {
    let strings: Vec<&str> = strings.collect();
    match strings[..] {
        [one] if heap.has_own_strings && sizes.is_empty() && one.len() < MOST_STRING_BYTES => {
            string(one)
        }
        _ if strings.len() * ELEMENT_BYTES > MOST_STRING_BYTES => {
            let all =
                Value::from(strings.iter().map(|text| Value::from(*text)).collect::<Vec<_>>());
            var_strings(&[&all.to_string()], &[], heap)
        }
        _ => var_strings(&strings, sizes, heap),
    }
}

pub(super) fn string(text: &str) -> Encoded {
    let mut out = Encoder::default();
    // NUL-terminated UTF-8.
    let width = (text.len() + 1) as u32;
    out.u32(0x10 << 8 | 0x10 | 3).u32(width);
    Encoded { datatype: out.0, space: dataspace(&[]), data: [text.as_bytes(), b"\0"].concat() }
}

pub(super) fn var_strings(strings: &[&str], sizes: &[u64], heap: &mut Heap<'_>) -> Encoded {
    let datatype = encoded(&Datatype { width: ELEMENT_BYTES, class: Class::VarString });
    let data = strings.iter().flat_map(|text| heap.add(text.as_bytes(), text.len())).collect();
    Encoded { datatype, space: dataspace(sizes), data }
}

/// Encodes lists of one reference each, in a heap: the scale of each axis.
pub(super) fn references(addresses: &[u64], heap: &mut Heap<'_>) -> Encoded {
    let datatype = encoded(&Datatype { width: ELEMENT_BYTES, class: Class::VarReferences });
    let data = addresses.iter().flat_map(|address| heap.add(&address.to_le_bytes(), 1)).collect();
    Encoded { datatype, space: dataspace(&[addresses.len() as u64]), data }
}
