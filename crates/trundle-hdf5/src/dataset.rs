//! Reads the metadata of datasets.

use std::sync::OnceLock;

use crate::attributes::{Attribute, Attributes, Heaps, TYPED_KEY};
use crate::chunks::{Chunked, MOST_CHUNK_BYTES};
use crate::datatype::{ASCII_STRING, Class, Datatype};
use crate::error::Error;
use crate::filters::Filters;
use crate::header::{ObjectHeader, kind};
use crate::heaps::{HeapStrings, check_lengths};
use crate::layout::{Dataspace, Layout, fill_value};
use crate::metadata::Metadata;
use crate::new::UNLIMITED;
use crate::typed::MOST_MESSAGE_BYTES;

/// A dataset: its metadata, and the position of its data.
#[derive(Debug)]
pub struct Dataset {
    /// The path below the root, without a leading or trailing slash.
    pub path: String,
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The element type in numpy's notation, such as `>f4`, or trundle's name if numpy has none, such as `bf16`. Strings
    /// of variable length are [`STRING`](crate::STRING) or [`ASCII_STRING`], and
    /// [`HeapStrings`] reads their elements.
    pub dtype: String,
    /// The size of an element in bytes.
    pub width: usize,
    /// The position of the data.
    pub data: Data,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// For each axis, the length of its unlimited netCDF dimension if this is longer than the axis, otherwise 0. Empty
    /// if no dimension is longer.
    pub dimension_lengths: Vec<u64>,
    /// The attributes, without HDF5's internal ones. Those that JSON cannot represent are only in [`TYPED_KEY`].
    pub attributes: Attributes,
    /// The names of attributes that cannot be read, such as references.
    pub unheld: Vec<String>,
    /// For each axis, the size to which it can grow: [`UNLIMITED`], or 0 if it cannot grow.
    pub max_sizes: Vec<u64>,
    /// The little-endian bytes of the fill value, if the dataset states one.
    pub fill: Option<Vec<u8>>,
}

/// The position of a dataset's data.
#[derive(Debug)]
pub enum Data {
    /// Contiguous and row-major in the file, from this byte.
    At(u64),
    /// In the metadata.
    InMemory(Vec<u8>),
    /// Not stored: all elements have this value.
    Filled(Vec<u8>),
    /// In chunks.
    Chunked(Box<Chunked>),
}

/// The attributes that the HDF5 library, dimension scales and netCDF-4 use internally.
const INTERNAL: &str = "\
    DIMENSION_LIST REFERENCE_LIST DIMENSION_LABELS _Netcdf4Dimid _Netcdf4Coordinates \
    _nc3_strict _NCProperties";

/// The attributes that a dimension scale uses internally.
const INTERNAL_OF_SCALES: [&str; 2] = ["CLASS", "NAME"];

impl Dataset {
    pub(crate) fn is_unlimited(&self, axis: usize) -> bool {
        self.max_sizes.get(axis) == Some(&UNLIMITED)
    }

    /// Reads the dataset at `path` from its header, without axis names.
    pub(crate) fn read(
        metadata: &Metadata,
        path: &str,
        header: &ObjectHeader,
    ) -> Result<Dataset, Error> {
        let needed = |kind, what: &str| {
            let found = header.find(metadata, kind)?;
            found.ok_or_else(|| Error::malformed(format!("has no {what}")))
        };
        let message = needed(kind::DATATYPE, "type")?;
        let datatype = Datatype::parse(&message)?;
        let dtype = datatype.name()?;
        if datatype.class == Class::VarString {
            check_references(&datatype, metadata)?;
        }
        // The character set is 0 for ASCII, and 1 for UTF-8.
        let is_ascii = datatype.class == Class::VarString && message[2] & 0xf == 0;
        let dtype = if is_ascii { ASCII_STRING.to_owned() } else { dtype };
        let space = Dataspace::parse(&needed(kind::DATASPACE, "sizes")?, metadata)?;
        if space.is_null {
            return Err(Error::unsupported("has a null dataspace (no sizes and no elements)"));
        }
        if header.messages.iter().any(|message| message.kind == kind::EXTERNAL_FILES) {
            return Err(Error::unsupported("its data is in other files"));
        }
        let fill_value = fill(metadata, header, &datatype)?;
        let zeros = || vec![0; datatype.width];
        let element = fill_value.clone().unwrap_or_else(zeros);
        let layout = Layout::parse(&needed(kind::LAYOUT, "data")?, metadata)?;
        let bytes = space.elements().and_then(|count| count.checked_mul(datatype.width as u64));
        let bytes = bytes.filter(|bytes| *bytes <= i64::MAX as u64);
        let bytes = bytes.ok_or_else(|| Error::unsupported("more bytes than a file can have"))?;
        let data = match layout {
            Layout::Compact(data) => in_memory(data, bytes)?,
            Layout::Contiguous(None) => Data::Filled(element),
            Layout::Contiguous(Some(_)) if bytes == 0 => Data::Filled(element),
            Layout::Contiguous(Some(address)) => {
                Data::At(metadata.file_offset(address, bytes).ok_or_else(|| {
                    Error::malformed(format!(
                        "its {bytes} bytes at byte {address} are beyond the end of the file"
                    ))
                })?)
            }
            Layout::Chunked { address, chunk, width, index, edges_are_plain } => {
                if width != datatype.width as u64 {
                    return Err(Error::malformed(format!(
                        "chunks of elements of {width} bytes, but its type has {}",
                        datatype.width
                    )));
                }
                let chunk_bytes = chunk_bytes(&chunk, &space, datatype.width)?;
                let filters = header.find(metadata, kind::FILTERS)?;
                let filters =
                    filters.map(|body| Filters::parse(&body, metadata.codecs)).transpose()?;
                Data::Chunked(Box::new(Chunked {
                    shape: space.sizes.clone(),
                    chunk,
                    chunk_bytes,
                    path: path.to_owned(),
                    metadata: metadata.clone(),
                    space: space.clone(),
                    address,
                    index,
                    edges_are_plain,
                    filters: filters.unwrap_or_default(),
                    fill: element,
                    table: OnceLock::new(),
                }))
            }
        };
        Ok(Dataset {
            path: path.to_owned(),
            max_sizes: max_sizes(&space),
            shape: space.sizes,
            dtype,
            width: datatype.width,
            data,
            dimension_names: Vec::new(),
            dimension_lengths: Vec::new(),
            attributes: Attributes::new(),
            unheld: Vec::new(),
            fill: fill_value.map(|fill| datatype.to_little_endian(fill)),
        })
    }
}

/// Returns the attributes without internal ones, and the names of attributes that cannot be read.
pub(crate) fn public(
    metadata: &Metadata,
    all: &[Attribute],
    is_scale: bool,
    heaps: &mut Heaps,
) -> (Attributes, Vec<String>) {
    let is_internal = |name: &str| {
        INTERNAL.split(' ').any(|known| known == name)
            || is_scale && INTERNAL_OF_SCALES.contains(&name)
    };
    let public = all.iter().filter(|attribute| !is_internal(&attribute.name));
    let (mut values, mut typed, mut unheld) = (Attributes::new(), Attributes::new(), Vec::new());
    for attribute in public {
        let name = &attribute.name;
        let own = attribute.typed(metadata, heaps).filter(|own| !own.is_too_large());
        let value = own.as_ref().and_then(|own| own.value(name));
        // A new file cannot store larger attributes with their types.
        let own = own.filter(|own| own.message_bytes() <= MOST_MESSAGE_BYTES);
        if own.is_none() && value.is_none() {
            unheld.push(name.clone());
        }
        values.extend(value.map(|value| (name.clone(), value)));
        typed.extend(own.map(|own| (name.clone(), own.to_json())));
    }
    if !typed.is_empty() {
        values.insert(TYPED_KEY.to_owned(), typed.into());
    }
    (values, unheld)
}

fn max_sizes(space: &Dataspace) -> Vec<u64> {
    let axes = space.most.iter().zip(&space.sizes);
    axes.map(|(most, size)| if most > size { *most } else { 0 }).collect()
}

/// Checks that elements of variable length are references to heaps, with addresses as in the rest of the file.
fn check_references(datatype: &Datatype, metadata: &Metadata) -> Result<(), Error> {
    check_lengths(metadata)?;
    let (width, expected) = (datatype.width, HeapStrings::of(metadata).width());
    match width == expected {
        true => Ok(()),
        false => Err(Error::malformed(format!(
            "strings of variable length in elements of {width} bytes, expected {expected}"
        ))),
    }
}

fn in_memory(mut data: Vec<u8>, bytes: u64) -> Result<Data, Error> {
    if (data.len() as u64) < bytes {
        let got = data.len();
        return Err(Error::malformed(format!("its data has {got} bytes, expected {bytes}")));
    }
    data.truncate(bytes as usize);
    Ok(Data::InMemory(data))
}

fn chunk_bytes(chunk: &[u64], space: &Dataspace, width: usize) -> Result<usize, Error> {
    if chunk.len() != space.sizes.len() {
        let (chunk, axes) = (chunk.len(), space.sizes.len());
        return Err(Error::malformed(format!("chunks of {chunk} axes in a dataset of {axes}")));
    }
    let bytes = chunk.iter().try_fold(width as u64, |bytes, size| bytes.checked_mul(*size));
    let bytes = bytes.filter(|bytes| *bytes <= MOST_CHUNK_BYTES);
    let bytes = bytes.ok_or_else(|| {
        Error::unsupported(format!(
            "chunks of sizes {chunk:?} with {width}-byte elements, the limit is {MOST_CHUNK_BYTES} bytes"
        ))
    })?;
    Ok(bytes as usize)
}

fn fill(
    metadata: &Metadata,
    header: &ObjectHeader,
    datatype: &Datatype,
) -> Result<Option<Vec<u8>>, Error> {
    let (new, old) = (kind::FILL_VALUE, kind::FILL_VALUE_OLD);
    let found = match header.find(metadata, new)? {
        Some(body) => fill_value(&body, false)?,
        None => header.find(metadata, old)?.map_or(Ok(None), |body| fill_value(&body, true))?,
    };
    match found {
        Some(fill) if fill.len() != datatype.width => {
            let (got, width) = (fill.len(), datatype.width);
            Err(Error::malformed(format!("its fill value has {got} bytes, elements have {width}")))
        }
        other => Ok(other),
    }
}
