//! Reads the attributes of datasets and groups.

use std::collections::HashMap;

use hdf5_reader::global_heap::GlobalHeapCollection;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::attribute_info;
use serde_json::{Number, Value};

use crate::datatype::{Class, Datatype};
use crate::error::Error;
use crate::group::dense;
use crate::header::{ObjectHeader, kind, shared_message};
use crate::layout::Dataspace;
use crate::metadata::Metadata;

/// The attributes of a dataset or a group: JSON values by name.
pub type Attributes = serde_json::Map<String, Value>;

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) space: Dataspace,
    pub(crate) data: Vec<u8>,
}

/// A cache of the global heaps with values of variable length, by address; `None` for an unreadable heap.
#[derive(Debug, Default)]
pub(crate) struct Heaps(HashMap<u64, Option<GlobalHeapCollection>>);

const MOST_HEAPS: usize = 64;

/// Reads the attributes of an object. Skips attributes that are not understood.
pub(crate) fn attributes(
    metadata: &Metadata,
    header: &ObjectHeader,
) -> Result<Vec<Attribute>, Error> {
    let mut bodies = Vec::new();
    for message in header.messages.iter().filter(|message| message.kind == kind::ATTRIBUTE) {
        bodies.extend(message.resolved(metadata));
    }
    if let Some(body) = header.find(metadata, kind::ATTRIBUTE_INFO)? {
        let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
        let info =
            attribute_info::parse(&mut Cursor::new(&body), offset_size, length_size, body.len())?;
        let is_none = |address: &u64| Cursor::is_undefined_offset(*address, offset_size);
        let ordered = info.btree_creation_order_address.filter(|address| !is_none(address));
        let tree = ordered.unwrap_or(info.btree_name_index_address);
        bodies.extend(dense(metadata, info.fractal_heap_address, tree)?);
    }
    Ok(bodies.iter().filter_map(|body| Attribute::parse(metadata, body).ok()).collect())
}

impl Attribute {
    fn parse(metadata: &Metadata, body: &[u8]) -> Result<Attribute, Error> {
        let mut cursor = Cursor::new(body);
        let (version, flags) = (cursor.read_u8()?, cursor.read_u8()?);
        if !(1..=3).contains(&version) {
            return Err(Error::unsupported(format!("attributes of version {version} are unknown")));
        }
        let sizes = [cursor.read_u16_le()?, cursor.read_u16_le()?, cursor.read_u16_le()?];
        if version == 3 {
            cursor.skip(1)?;
        }
        let mut part = |bytes: u16| {
            let read = cursor.read_bytes(usize::from(bytes))?;
            if version == 1 {
                let bytes = usize::from(bytes);
                cursor.skip(bytes.next_multiple_of(8) - bytes)?;
            }
            Ok::<_, Error>(read)
        };
        let [name, datatype, space] = [part(sizes[0])?, part(sizes[1])?, part(sizes[2])?];
        let whole = |is_shared: bool, kind, body: &[u8]| match is_shared {
            true => shared_message(metadata, kind, body),
            false => Ok(body.to_vec()),
        };
        let is_shared = |bit| version > 1 && flags & bit != 0;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        let datatype = Datatype::parse(&whole(is_shared(1), kind::DATATYPE, datatype)?)?;
        let space = Dataspace::parse(&whole(is_shared(2), kind::DATASPACE, space)?, metadata)?;
        let rest = cursor.remaining() as usize;
        let mut data = cursor.read_bytes(rest)?.to_vec();
        let bytes = space.elements().and_then(|count| count.checked_mul(datatype.width as u64));
        let bytes = bytes.filter(|bytes| *bytes <= data.len() as u64);
        let bytes = bytes.ok_or_else(|| Error::malformed("an attribute is shorter than stated"))?;
        data.truncate(bytes as usize);
        Ok(Attribute { name, datatype, space, data })
    }

    /// Converts the attribute to JSON: a single element to a value, several to nested lists. `None` if JSON cannot
    /// represent it.
    pub(crate) fn value(&self, metadata: &Metadata, heaps: &mut Heaps) -> Option<Value> {
        if self.space.is_null {
            return None;
        }
        let elements = self.data.chunks_exact(self.datatype.width);
        let values: Option<Vec<Value>> =
            elements.map(|element| value_of(&self.datatype, element, metadata, heaps)).collect();
        let mut values = values?;
        // netCDF stores a number as a list of one element.
        if self.space.sizes.len() <= 1 && values.len() == 1 {
            return values.pop();
        }
        for size in self.space.sizes.iter().skip(1).rev() {
            let size = usize::try_from(*size).ok().filter(|size| *size > 0)?;
            values = values.chunks(size).map(|row| Value::Array(row.to_vec())).collect();
        }
        Some(Value::Array(values))
    }

    pub(crate) fn strings(&self, metadata: &Metadata, heaps: &mut Heaps) -> Option<Vec<String>> {
        let elements = self.data.chunks_exact(self.datatype.width);
        let strings =
            elements.map(|element| match value_of(&self.datatype, element, metadata, heaps)? {
                Value::String(text) => Some(text),
                _ => None,
            });
        strings.collect()
    }

    pub(crate) fn integers(&self) -> Option<Vec<i64>> {
        let Class::Integer { .. } = self.datatype.class else { return None };
        let elements = self.data.chunks_exact(self.datatype.width);
        elements.map(|element| number_of(&self.datatype, element)?.as_i64()).collect()
    }

    /// Returns the first address in each list of references; `None` for an empty list.
    pub(crate) fn first_references(
        &self,
        metadata: &Metadata,
        heaps: &mut Heaps,
    ) -> Option<Vec<Option<u64>>> {
        let Class::VarReferences = self.datatype.class else { return None };
        let elements = self.data.chunks_exact(self.datatype.width);
        let first = elements.map(|element| {
            let list = heaps.get(metadata, element)?;
            Cursor::new(&list).read_offset(metadata.offset_size).ok()
        });
        Some(first.collect())
    }
}

/// Converts an element to JSON; `None` for references, and for numbers that are not finite.
fn value_of(
    datatype: &Datatype,
    element: &[u8],
    metadata: &Metadata,
    heaps: &mut Heaps,
) -> Option<Value> {
    match &datatype.class {
        Class::Boolean => Some(Value::Bool(element != [0])),
        Class::String { is_padded_by_spaces } => {
            Some(text_of(element, *is_padded_by_spaces).into())
        }
        // A string that was never written is empty.
        Class::VarString => {
            Some(text_of(&heaps.get(metadata, element).unwrap_or_default(), false).into())
        }
        _ => number_of(datatype, element).map(Value::Number),
    }
}

fn text_of(bytes: &[u8], is_padded_by_spaces: bool) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    let text = if is_padded_by_spaces { text.trim_end_matches(' ') } else { &text };
    text.to_owned()
}

fn number_of(datatype: &Datatype, element: &[u8]) -> Option<Number> {
    match datatype.class {
        Class::Integer { is_signed, .. } => {
            let bytes = datatype.to_little_endian(element.to_vec());
            let is_negative = is_signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut long = [if is_negative { 0xff } else { 0 }; 8];
            long.get_mut(..bytes.len())?.copy_from_slice(&bytes);
            Some(if is_signed {
                i64::from_le_bytes(long).into()
            } else {
                u64::from_le_bytes(long).into()
            })
        }
        _ => Number::from_f64(float_of(datatype, element)?),
    }
}

/// Returns the value of one element; `None` unless it is an f32 or f64.
pub(crate) fn float_of(datatype: &Datatype, element: &[u8]) -> Option<f64> {
    let Class::Float { .. } = datatype.class else { return None };
    match *datatype.to_little_endian(element.to_vec()) {
        [a, b, c, d] => Some(f32::from_le_bytes([a, b, c, d]).into()),
        [a, b, c, d, e, f, g, h] => Some(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

impl Heaps {
    /// Reads an element of variable length from its heap; `None` if the reference is null or invalid.
    fn get(&mut self, metadata: &Metadata, element: &[u8]) -> Option<Vec<u8>> {
        let mut cursor = Cursor::new(element);
        cursor.skip(4).ok()?;
        let address = metadata.address(&mut cursor).ok()?.filter(|address| *address != 0)?;
        let index = u16::try_from(cursor.read_u32_le().ok()?).ok()?;
        if self.0.len() >= MOST_HEAPS && !self.0.contains_key(&address) {
            self.0.clear();
        }
        let heap = self.0.entry(address).or_insert_with(|| {
            let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
            GlobalHeapCollection::parse_at_storage(metadata, address, offset_size, length_size).ok()
        });
        heap.as_ref()?.get_object(index).map(|object| object.data.clone())
    }
}
