//! Reads the attributes of datasets and groups.

use hdf5_reader::io::Cursor;
use hdf5_reader::messages::attribute_info;
use serde_json::Value;

use crate::datatype::{Class, Datatype, is_self_contained};
use crate::error::Error;
use crate::group::dense;
use crate::header::{ObjectHeader, kind, shared_message};
use crate::heaps::HeapCache;
use crate::layout::Dataspace;
use crate::metadata::Metadata;
use crate::typed::{TypedValue, integer_of, text_of};

/// The attributes of a dataset or a group: JSON values by name. Numbers that JSON lacks are as in [`trundle_json`].
pub type Attributes = serde_json::Map<String, Value>;

/// The key of an entry in [`Attributes`] that is not an attribute, but has the types and bytes of all attributes in the
/// file. A new file stores an attribute in the same way if its value is unchanged. No attribute of HDF5 has this name,
/// because names end at NUL.
pub const TYPED_KEY: &str = "\0hdf5";

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    datatype: Datatype,
    /// The datatype message.
    message: Vec<u8>,
    space: Dataspace,
    data: Vec<u8>,
}

/// The global heaps, which contain values of variable length.
#[derive(Debug, Default)]
pub(crate) struct Heaps {
    cache: HeapCache,
    /// The bytes of all strings that were read.
    bytes: u64,
}

/// The most bytes of strings that are read, as a multiple of the size of the file. Some strings are read several times.
const MOST_READ: u64 = 16;

/// Reads the attributes of an object. Skips attributes whose names cannot be read.
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
        let mut read = || {
            let message = whole(is_shared(1), kind::DATATYPE, datatype)?;
            let datatype = Datatype::parse(&message)?;
            let space = Dataspace::parse(&whole(is_shared(2), kind::DATASPACE, space)?, metadata)?;
            let rest = cursor.remaining() as usize;
            let mut data = cursor.read_bytes(rest)?.to_vec();
            let bytes = space.elements().and_then(|count| count.checked_mul(datatype.width as u64));
            let bytes = bytes.filter(|bytes| *bytes <= data.len() as u64);
            let bytes =
                bytes.ok_or_else(|| Error::malformed("an attribute is shorter than stated"))?;
            data.truncate(bytes as usize);
            Ok::<_, Error>((datatype, message, space, data))
        };
        // The name is known, so that a warning can name an attribute that cannot be read.
        let (datatype, message, space, data) = read().unwrap_or_else(|error| {
            let class = Class::Other(error.to_string());
            let space = Dataspace { sizes: Vec::new(), most: Vec::new(), is_null: true };
            (Datatype { width: 1, class }, Vec::new(), space, Vec::new())
        });
        Ok(Attribute { name, datatype, message, space, data })
    }

    /// Returns the attribute without references to the rest of the file; `None` if its type has other references than
    /// strings.
    pub(crate) fn typed(&self, metadata: &Metadata, heaps: &mut Heaps) -> Option<TypedValue> {
        let data = match self.datatype.class {
            Class::VarString => heaps.strings(metadata, self)?,
            _ => is_self_contained(&self.message).then(|| self.data.clone())?,
        };
        let (datatype, message) = (self.datatype.clone(), self.message.clone());
        Some(TypedValue { datatype, message, space: self.space.clone(), data })
    }

    pub(crate) fn strings(&self, metadata: &Metadata, heaps: &mut Heaps) -> Option<Vec<String>> {
        let typed = self.typed(metadata, heaps)?;
        typed.elements().map(|element| text_of(&self.datatype, element)).collect()
    }

    pub(crate) fn integers(&self) -> Option<Vec<i64>> {
        let elements = self.data.chunks_exact(self.datatype.width);
        elements.map(|element| integer_of(&self.datatype, element)?.as_i64()).collect()
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
            let list = heaps.cache.get(metadata, element).ok()??;
            Cursor::new(list).read_offset(metadata.offset_size).ok()
        });
        Some(first.collect())
    }
}

impl Heaps {
    /// Reads the elements of an attribute of strings, in the form of [`TypedValue::data`]. `None` if a damaged file has
    /// many references to the same strings.
    fn strings(&mut self, metadata: &Metadata, attribute: &Attribute) -> Option<Vec<u8>> {
        let mut data = Vec::new();
        for element in attribute.data.chunks_exact(attribute.datatype.width) {
            // A string that was never written is empty.
            let text = self.cache.get(metadata, element).ok().flatten().unwrap_or_default();
            self.bytes += text.len() as u64;
            if self.bytes / MOST_READ > metadata.bytes.bytes() {
                return None;
            }
            data.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
            data.extend(text);
        }
        Some(data)
    }
}
