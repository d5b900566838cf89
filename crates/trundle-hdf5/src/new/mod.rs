//! Encodes the metadata of a new file, and assigns positions to its data.
//!
//! The metadata precedes the data: superblock, groups, datasets, heaps of strings and references, and space for the
//! roots of chunk indices. Lengths do not depend on addresses, so all blocks are encoded twice: first to learn the
//! lengths, which give the addresses, then with the addresses.
//!
//! The encoded sizes of chunks are not known in advance. So chunks follow all contiguous data in any order. The chunk
//! indices are written after them, and only their roots and the superblock at known positions.

mod attribute;
mod chunk_index;
mod datatype;
mod encode;
mod heap;
mod scales;
mod tree;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;

use hdf5_reader::checksum::jenkins_lookup3;

use self::attribute::{Encoded, encoded_attributes, message};
use self::chunk_index::node_bytes;
pub use self::chunk_index::{NewChunk, write_chunk_index};
use self::encode::{Encoder, UNDEFINED, object_header};
use self::heap::Heap;
pub use self::heap::{ELEMENT_BYTES, encoded_strings};
use self::scales::{Scales, leave_names_to_dimensions};
use self::tree::Tree;
use crate::SIGNATURE;
use crate::attributes::Attributes;
use crate::chunks::MOST_CHUNK_BYTES;
use crate::error::Error;
use crate::filters::{Filter, Filters};
use crate::header::kind;
use crate::plugins::Codecs;

/// The size to which an unlimited axis can grow.
pub const UNLIMITED: u64 = u64::MAX;

/// A dataset to be written, row-major.
#[derive(Clone, Debug, Default)]
pub struct NewDataset {
    /// The path below the root, without a leading or trailing slash.
    pub path: String,
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The element type in numpy's notation, such as `>f4`, `bf16`, [`STRING`](crate::STRING) or
    /// [`ASCII_STRING`](crate::ASCII_STRING).
    pub dtype: String,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// The chunks; `None` for contiguous data.
    pub chunks: Option<NewChunks>,
    /// For each axis, the size to which it can grow, if the data is in chunks: [`UNLIMITED`], or 0 if it cannot grow.
    pub max_sizes: Vec<u64>,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// For each axis, the length of its netCDF dimension if this is longer than the axis. Empty if none is.
    pub dimension_lengths: Vec<u64>,
    /// The attributes.
    pub attributes: Attributes,
    /// The little-endian bytes of the fill value, if there is one; for strings of variable length, the string.
    pub fill: Option<Vec<u8>>,
}

impl NewDataset {
    fn is_unlimited(&self, axis: usize) -> bool {
        self.chunks.is_some() && self.max_sizes.get(axis) == Some(&UNLIMITED)
    }
}

/// The chunks of a dataset to be written.
#[derive(Clone, Debug)]
pub struct NewChunks {
    /// The chunk sizes, each at least 1. They do not exceed the size of an axis that cannot grow.
    pub chunk: Vec<u64>,
    /// The filters in the order of encoding.
    pub filters: Vec<Filter>,
}

/// Encodes and decodes the chunks of a new dataset.
#[derive(Debug)]
pub struct ChunkCoder {
    filters: Filters,
    width: usize,
    bytes: usize,
}

impl ChunkCoder {
    /// Creates the coder for chunks of `bytes` bytes with elements of `width` bytes. `codecs` makes deflate faster.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a filter is only read.
    pub fn new(
        filters: &[Filter],
        width: usize,
        bytes: usize,
        codecs: Option<Codecs>,
    ) -> Result<ChunkCoder, Error> {
        Ok(ChunkCoder { filters: Filters::of(filters, width, codecs)?, width, bytes })
    }

    /// Encodes a chunk.
    ///
    /// # Errors
    /// If the memory is not enough.
    pub fn encode<'a>(&self, chunk: &'a [u8]) -> io::Result<Cow<'a, [u8]>> {
        self.filters.apply(chunk, self.width)
    }

    /// Decodes a stored chunk.
    ///
    /// # Errors
    /// [`Error`] if it was not stored in this way.
    pub fn decode(&self, stored: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.filters.undo(stored, 0, self.width, self.bytes).map_err(Error::Malformed)
    }
}

/// A new file without its data.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// The bytes before the data.
    pub metadata: Vec<u8>,
    /// The file offset of each dataset's data, or of the root of its chunk index.
    pub data: Vec<u64>,
}

/// The alignment of data in bytes, so that it can be memory-mapped.
const DATA_ALIGNMENT: u64 = 64;

const SUPERBLOCK_BYTES: u64 = 48;

/// The most axes of a dataset.
const MOST_AXES: usize = 32;

/// The type of the group info message, which describes how a group stores its links. The reader does not need it.
const GROUP_INFO: u16 = 0x0a;

/// The addresses of all blocks; empty until they are known.
#[derive(Debug, Default)]
struct BlockAddresses {
    /// Groups, datasets and dimensions without data, in the order of the tree.
    objects: Vec<u64>,
    heaps: Vec<u64>,
    data: Vec<u64>,
}

impl BlockAddresses {
    fn object(&self, at: usize) -> u64 {
        self.objects.get(at).copied().unwrap_or(0)
    }
}

impl NewFile {
    /// Encodes an HDF5 or netCDF-4 file with these datasets. `groups` maps paths to attributes, also of groups without
    /// datasets; the root's path is empty.
    ///
    /// In netCDF, a dataset that has the name of an axis, but is not the coordinate of the axis, gets a name with a
    /// prefix, which netCDF readers remove.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if HDF5 does not allow a type or a name.
    pub fn of(
        mut datasets: Vec<NewDataset>,
        groups: &BTreeMap<String, Attributes>,
        is_netcdf: bool,
    ) -> Result<NewFile, Error> {
        if is_netcdf {
            leave_names_to_dimensions(&mut datasets);
        }
        let datasets = &datasets[..];
        let encoded = |tree: &Tree, scales: &Scales, addresses: &BlockAddresses| {
            let heap = Heap::new(&addresses.heaps, scales.are_there(), is_netcdf);
            encoded(datasets, groups, tree, scales, addresses, heap)
        };
        let tree = Tree::of(datasets, groups.keys())?;
        let (tree, scales) = Scales::of(datasets, tree);
        let (blocks, heaps) = encoded(&tree, &scales, &BlockAddresses::default())?;
        let mut end = SUPERBLOCK_BYTES;
        let mut addresses = BlockAddresses::default();
        for block in &blocks {
            addresses.objects.push(end);
            end = (end + block.len() as u64).next_multiple_of(8);
        }
        for heap in &heaps {
            addresses.heaps.push(end);
            end += heap.len() as u64;
        }
        for dataset in datasets {
            let root = dataset.chunks.as_ref().filter(|_| dataset.bytes > 0);
            addresses.data.push(end);
            end += root.map_or(0, |chunks| node_bytes(chunks.chunk.len()) as u64);
        }
        let metadata_end = end;
        for (dataset, data) in datasets.iter().zip(&mut addresses.data) {
            if dataset.chunks.is_some() {
                continue;
            }
            let begin = end.checked_next_multiple_of(DATA_ALIGNMENT);
            let (begin, next) = begin
                .and_then(|begin| Some((begin, begin.checked_add(dataset.bytes)?)))
                .filter(|(_, next)| *next <= i64::MAX as u64)
                .ok_or_else(|| Error::unsupported("more bytes than a file can have"))?;
            (*data, end) = (begin, next);
        }
        let (blocks, heaps) = encoded(&tree, &scales, &addresses)?;
        let mut metadata = superblock(end);
        for block in blocks {
            metadata.extend(block);
            metadata.resize(metadata.len().next_multiple_of(8), 0);
        }
        heaps.into_iter().for_each(|heap| metadata.extend(heap));
        metadata.resize(metadata_end as usize, 0);
        Ok(NewFile { metadata, data: addresses.data })
    }
}

/// Encodes the first bytes of a new file that ends at `end`: a superblock of version 2, which HDF5 can read since
/// version 1.8. The root group follows it.
pub fn superblock(end: u64) -> Vec<u8> {
    let mut out = Encoder::default();
    out.bytes(SIGNATURE).u8(2).u8(8).u8(8).u8(0);
    out.u64(0).u64(UNDEFINED).u64(end).u64(SUPERBLOCK_BYTES);
    let sum = jenkins_lookup3(&out.0);
    out.u32(sum);
    out.0
}

type Blocks = Vec<Vec<u8>>;

/// Encodes all objects in the order of the tree, and the heaps.
fn encoded(
    datasets: &[NewDataset],
    groups: &BTreeMap<String, Attributes>,
    tree: &Tree,
    scales: &Scales,
    addresses: &BlockAddresses,
    mut heap: Heap<'_>,
) -> Result<(Blocks, Blocks), Error> {
    let mut blocks = Vec::new();
    let attributes: HashMap<usize, &Attributes> =
        groups.iter().filter_map(|(path, own)| Some((tree.find(path)?, own))).collect();
    for (at, node) in tree.nodes.iter().enumerate() {
        let messages = match &node.kind {
            tree::NodeKind::Group(children) => {
                let own = attributes.get(&at).copied();
                group(tree, children, own, addresses, &mut heap)?
            }
            tree::NodeKind::Dataset(index) => {
                let address = addresses.data.get(*index).copied().unwrap_or(0);
                let names = scales.attributes(at, &datasets[*index], addresses, &mut heap);
                dataset(&datasets[*index], address, &names, &mut heap).map_err(|error| {
                    Error::unsupported(format!("\"{}\": {error}", datasets[*index].path))
                })?
            }
            tree::NodeKind::Dimension { size, is_unlimited } => {
                let chunks = NewChunks { chunk: vec![1], filters: Vec::new() };
                let dimension = NewDataset {
                    shape: vec![*size],
                    dtype: "<f4".to_owned(),
                    chunks: is_unlimited.then_some(chunks),
                    max_sizes: vec![UNLIMITED],
                    ..NewDataset::default()
                };
                let names = scales.attributes(at, &dimension, addresses, &mut heap);
                dataset(&dimension, UNDEFINED, &names, &mut heap)?
            }
        };
        blocks.push(object_header(&messages)?);
    }
    Ok((blocks, heap.finish()))
}

type Messages = Vec<(u16, Vec<u8>)>;

type Named = Vec<(&'static str, Encoded)>;

fn group(
    tree: &Tree,
    children: &[usize],
    attributes: Option<&Attributes>,
    addresses: &BlockAddresses,
    heap: &mut Heap<'_>,
) -> Result<Messages, Error> {
    // Compact storage: links are messages in the header, in creation order.
    let mut info = Encoder::default();
    info.u8(0).u8(1).u64(children.len() as u64).u64(UNDEFINED).u64(UNDEFINED);
    let mut messages = vec![(kind::LINK_INFO, info.0), (GROUP_INFO, vec![0, 0])];
    for (order, child) in children.iter().enumerate() {
        let name = tree.nodes[*child].name.as_bytes();
        let length = u16::try_from(name.len());
        let length = length.map_err(|_| Error::unsupported("a name of more than 65535 bytes"))?;
        // The name length has 2 bytes; creation order and character set (UTF-8) are present.
        let mut link = Encoder::default();
        link.u8(1).u8(0x01 | 0x04 | 0x10).u64(order as u64).u8(1).u16(length).bytes(name);
        link.u64(addresses.object(*child));
        messages.push((kind::LINK, link.0));
    }
    let attributes = attributes.map(|own| encoded_attributes(own, None, heap));
    for (name, value) in attributes.into_iter().flatten() {
        messages.push((kind::ATTRIBUTE, message(name, &value)?));
    }
    Ok(messages)
}

fn dataset(
    dataset: &NewDataset,
    address: u64,
    names: &Named,
    heap: &mut Heap<'_>,
) -> Result<Messages, Error> {
    let (element, axes) = (datatype::Element::named(&dataset.dtype)?, dataset.shape.len());
    if axes > MOST_AXES {
        return Err(Error::unsupported(format!("{axes} axes, the limit of HDF5 is {MOST_AXES}")));
    }
    let address = if dataset.bytes == 0 { UNDEFINED } else { address };
    let (mut layout, mut most) = (Encoder::default(), Vec::new());
    match &dataset.chunks {
        None => _ = layout.u8(3).u8(1).u64(address).u64(dataset.bytes),
        Some(NewChunks { chunk, .. }) => {
            check_chunk(chunk, element.width)?;
            layout.u8(3).u8(2).u8(chunk.len() as u8 + 1).u64(address);
            chunk
                .iter()
                .chain([&(element.width as u64)])
                .for_each(|size| _ = layout.u32(*size as u32));
            if dataset.max_sizes.iter().any(|most| *most > 0) {
                let axes = dataset.shape.iter().zip(&dataset.max_sizes);
                most = axes.map(|(size, most)| *size.max(most)).collect();
            }
        }
    }
    // Version 2; space is allocated late (2), or for each chunk when it is written (3); the fill value is written only
    // if the user has set it (2); a value is defined (1).
    let mut fill = Encoder::default();
    let value = match &dataset.fill {
        Some(text) if element.is_string() => heap.add(text, text.len()),
        Some(fill) if fill.len() == element.width => element.stored(fill.clone()),
        _ => Vec::new(),
    };
    let allocated = if dataset.chunks.is_some() { 3 } else { 2 };
    fill.u8(2).u8(allocated).u8(2).u8(1).u32(value.len() as u32).bytes(&value);
    let mut messages = vec![
        (kind::DATASPACE, encode::growing_dataspace(&dataset.shape, &most)),
        (kind::DATATYPE, element.encoded.clone()),
        (kind::FILL_VALUE, fill.0),
        (kind::LAYOUT, layout.0),
    ];
    if let Some(NewChunks { filters, .. }) = &dataset.chunks {
        let filters = Filters::of(filters, element.width, None)?;
        messages.extend((!filters.is_empty()).then(|| (kind::FILTERS, filters.message())));
    }
    let written: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    for (name, value) in names {
        messages.push((kind::ATTRIBUTE, message(name, value)?));
    }
    let attributes = encoded_attributes(&dataset.attributes, Some(&element), heap);
    for (name, value) in attributes.into_iter().filter(|(name, _)| !written.contains(name)) {
        messages.push((kind::ATTRIBUTE, message(name, &value)?));
    }
    Ok(messages)
}

/// Checks that a chunk of these sizes can be read again.
fn check_chunk(chunk: &[u64], width: usize) -> Result<(), Error> {
    let bytes = chunk.iter().try_fold(width as u64, |bytes, size| bytes.checked_mul(*size));
    match bytes.is_some_and(|bytes| (1..=MOST_CHUNK_BYTES).contains(&bytes)) {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "chunks of {chunk:?} elements of {width} bytes, the limit is {MOST_CHUNK_BYTES} bytes"
        ))),
    }
}

/// Returns the stored bytes of a fill value, whose little-endian bytes are `little`, in elements of type `dtype`.
///
/// # Errors
/// [`Error::Unsupported`] if HDF5 has no such type.
pub fn stored_fill(dtype: &str, little: Vec<u8>) -> Result<Vec<u8>, Error> {
    Ok(datatype::Element::named(dtype)?.stored(little))
}
