//! Encodes attributes.

use serde_json::{Number, Value};
use trundle_json::FILL_VALUE;

use super::datatype::{Element, encoded};
use super::encode::{Encoder, dataspace, null_dataspace};
use super::heap::{ELEMENT_BYTES, Heap};
use crate::attributes::{Attributes, TYPED_KEY};
use crate::datatype::{Class, Datatype, Float};
use crate::error::Error;
use crate::layout::MOST_AXES;
use crate::typed::{MOST_MESSAGE_BYTES, TypedValue};

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

/// Encodes the attributes of a group, or of a dataset with elements of this type. Attributes from another file keep
/// their types, except for types that netCDF lacks.
pub(super) fn encoded_attributes<'a>(
    attributes: &'a Attributes,
    element: Option<&Element>,
    heap: &mut Heap<'_>,
) -> Vec<(&'a str, Encoded)> {
    let typed = attributes.get(TYPED_KEY).and_then(Value::as_object);
    let is_typed = |name: &String| typed.is_some_and(|typed| typed.contains_key(name));
    let others = attributes.keys().filter(|name| *name != TYPED_KEY && !is_typed(name));
    let names = typed.into_iter().flatten().map(|(name, _)| name).chain(others);
    let encode = |name: &'a String| {
        let value = attributes.get(name);
        let typed = typed.and_then(|typed| TypedValue::of_json(typed.get(name)?));
        // The value was changed or removed since it was read.
        let typed = typed.filter(|typed| typed.value(name).as_ref() == value);
        let of_typed = |heap: &mut Heap<'_>| of_typed(typed?, heap);
        let fill = element.filter(|_| name == FILL_VALUE);
        let fill = fill.and_then(|element| match value?.as_str() {
            Some(text) if element.is_string() => {
                let datatype = element.encoded.clone();
                Some(Encoded { datatype, ..var_strings(&[text], &[1], heap) })
            }
            _ => element.of_fill_value(value?),
        });
        // In netCDF, a fill value has the type of the elements.
        let encoded = match (fill, heap.is_netcdf) {
            (Some(fill), true) => Some(fill),
            (fill, _) => of_typed(heap).or(fill).or_else(|| Some(of_value(value?, heap))),
        };
        Some((&name[..], encoded?))
    };
    names.filter_map(encode).collect()
}

/// Encodes an attribute with its type in another file; `None` if it is too large, or netCDF cannot read it.
fn of_typed(typed: TypedValue, heap: &mut Heap<'_>) -> Option<Encoded> {
    let TypedValue { space, datatype, .. } = &typed;
    let is_var = datatype.class == Class::VarString;
    if heap.is_netcdf && !typed.is_of_netcdf() || typed.message_bytes() > MOST_MESSAGE_BYTES {
        return None;
    }
    let data = match is_var {
        true => typed.elements().flat_map(|text| heap.add(text, text.len())).collect(),
        false => typed.data.clone(),
    };
    let space = if space.is_null { null_dataspace() } else { dataspace(&space.sizes) };
    let mut datatype = typed.message;
    if is_var {
        // The width depends on the size of addresses in the file.
        datatype.get_mut(4..8)?.copy_from_slice(&(ELEMENT_BYTES as u32).to_le_bytes());
    }
    Some(Encoded { datatype, space, data })
}

/// Encodes a JSON value. Values that HDF5 attributes cannot represent, such as objects, are written as JSON text.
pub(super) fn of_value(value: &Value, heap: &mut Heap<'_>) -> Encoded {
    let (elements, sizes) = elements_of(value, if heap.is_netcdf { 1 } else { MOST_AXES });
    let is_any = !elements.is_empty();
    let is_all = |is: fn(&Value) -> bool| elements.iter().all(|element| is(element));
    let floats = || elements.iter().map(|value| trundle_json::float(value));
    let (datatype, data): (Datatype, Vec<u8>) = if is_any && is_all(Value::is_boolean) {
        let bytes = elements.iter().map(|value| u8::from(**value == Value::Bool(true)));
        // netCDF has no booleans.
        let class = match heap.is_netcdf {
            true => Class::Integer { is_signed: true, is_big: false },
            false => Class::Boolean,
        };
        (Datatype { width: 1, class }, bytes.collect())
    } else if is_any && is_all(Value::is_i64) {
        let class = Class::Integer { is_signed: true, is_big: false };
        let longs = elements.iter().filter_map(|value| value.as_i64()).flat_map(i64::to_le_bytes);
        (Datatype { width: 8, class }, longs.collect())
    } else if is_any && is_all(Value::is_u64) {
        let class = Class::Integer { is_signed: false, is_big: false };
        let longs = elements.iter().filter_map(|value| value.as_u64()).flat_map(u64::to_le_bytes);
        (Datatype { width: 8, class }, longs.collect())
    } else if is_all(is_exact_as_float) {
        let class = Class::Float { kind: Float::F64, is_big: false };
        (Datatype { width: 8, class }, floats().flatten().flat_map(f64::to_le_bytes).collect())
    } else if is_all(|value| value.as_str().is_some_and(|text| !text.starts_with('\0'))) {
        return strings(elements.into_iter().filter_map(Value::as_str), &sizes, heap);
    } else {
        return strings(std::iter::once(&trundle_json::to_text(value)[..]), &[], heap);
    };
    if data.len() > MOST_MESSAGE_BYTES {
        return strings(std::iter::once(&trundle_json::to_text(value)[..]), &[], heap);
    }
    Encoded { datatype: encoded(&datatype), space: dataspace(&sizes), data }
}

/// Returns whether a value is a number that a float of 64 bits can hold. Other integers are written as JSON.
fn is_exact_as_float(value: &Value) -> bool {
    let Some(float) = trundle_json::float(value) else { return false };
    let whole = value.as_number().and_then(Number::as_i128);
    match value {
        Value::String(text) => !text.ends_with(|last: char| last.is_ascii_digit()),
        _ => whole.is_none_or(|whole| float as i128 == whole),
    }
}

/// Returns the elements of a list, or of lists of equal lengths within each other, and the sizes of the axes.
fn elements_of(value: &Value, most_axes: usize) -> (Vec<&Value>, Vec<u64>) {
    let (mut elements, mut sizes) = (vec![value], Vec::new());
    while sizes.len() < most_axes && !elements.is_empty() {
        let lists = elements.iter().map(|element| element.as_array());
        let Some(lists) = lists.collect::<Option<Vec<_>>>() else { break };
        if lists.iter().any(|list| list.len() != lists[0].len()) {
            break;
        }
        sizes.push(lists[0].len() as u64);
        elements = lists.into_iter().flatten().collect();
    }
    (elements, sizes)
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
        [one] if heap.has_own_strings && sizes.is_empty() && one.len() < MOST_MESSAGE_BYTES => {
            string(one)
        }
        _ if strings.len() * ELEMENT_BYTES > MOST_MESSAGE_BYTES => {
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
