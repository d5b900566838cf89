//! Encodes the metadata of a new file, and assigns positions to its data.
//!
//! The metadata precedes the data: superblock, groups, datasets, and heaps of strings and references. Lengths do not
//! depend on addresses, so all blocks are encoded twice: first to learn the lengths, which give the addresses, then
//! with the addresses.

mod attribute;
mod datatype;
mod encode;
mod heap;
mod scales;
mod tree;

use std::collections::{BTreeMap, HashMap};

use hdf5_reader::checksum::jenkins_lookup3;

use self::attribute::{Encoded, encoded_attributes, message};
use self::encode::{Encoder, UNDEFINED, object_header};
pub(crate) use self::heap::ELEMENT_BYTES;
use self::heap::Heap;
use self::scales::{Scales, leave_names_to_dimensions};
use self::tree::Tree;
use crate::SIGNATURE;
use crate::attributes::Attributes;
use crate::error::Error;
use crate::header::kind;

/// A dataset to be written, contiguous and row-major.
#[derive(Clone, Debug, Default)]
pub struct NewDataset {
    /// The path below the root, without a leading or trailing slash.
    pub path: String,
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The element type in numpy's notation, such as `>f4`, or `bf16`.
    pub dtype: String,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// The axis names; empty if no axis has a name.
    pub dimension_names: Vec<Option<String>>,
    /// The attributes.
    pub attributes: Attributes,
    /// The little-endian bytes of the fill value, if there is one.
    pub fill: Option<Vec<u8>>,
}

/// A new file without its data.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// The bytes before the data.
    pub metadata: Vec<u8>,
    /// The file offset of each dataset's data.
    pub data: Vec<u64>,
}

/// The alignment of data in bytes, so that it can be memory-mapped.
const DATA_ALIGNMENT: u64 = 64;

const SUPERBLOCK_BYTES: u64 = 48;

/// The type of the group info message, which describes how a group stores its links. The reader does not need it.
const GROUP_INFO: u16 = 0x0a;

/// The addresses of all blocks; empty until they are known.
#[derive(Debug, Default)]
struct BlockAddresses {
    /// Groups, datasets and dimensions without data, in the order of the tree.
    objects: Vec<u64>,
    heaps: Vec<u64>,
    data: Vec<u64>,
    end: u64,
}

impl BlockAddresses {
    fn object(&self, at: usize) -> u64 {
        self.objects.get(at).copied().unwrap_or(0)
    }
}

impl NewFile {
    /// Encodes an HDF5 or netCDF-4 file with these datasets. `groups` maps paths to attributes; the root's path is empty.
    /// Groups without datasets are written too.
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
            let begin = end.checked_next_multiple_of(DATA_ALIGNMENT);
            let (begin, next) = begin
                .and_then(|begin| Some((begin, begin.checked_add(dataset.bytes)?)))
                .filter(|(_, next)| *next <= i64::MAX as u64)
                .ok_or_else(|| Error::unsupported("more bytes than a file can have"))?;
            addresses.data.push(begin);
            end = next;
        }
        addresses.end = end;
        let (blocks, heaps) = encoded(&tree, &scales, &addresses)?;
        let mut metadata = superblock(&addresses);
        for block in blocks {
            metadata.extend(block);
            metadata.resize(metadata.len().next_multiple_of(8), 0);
        }
        heaps.into_iter().for_each(|heap| metadata.extend(heap));
        Ok(NewFile { metadata, data: addresses.data })
    }
}

/// Encodes a superblock of version 2, which HDF5 can read since version 1.8.
fn superblock(addresses: &BlockAddresses) -> Vec<u8> {
    let mut out = Encoder::default();
    out.bytes(SIGNATURE).u8(2).u8(8).u8(8).u8(0);
    out.u64(0).u64(UNDEFINED).u64(addresses.end).u64(addresses.object(0));
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
            tree::NodeKind::Dimension(size) => {
                let dimension = NewDataset {
                    shape: vec![*size],
                    dtype: "<f4".to_owned(),
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
    let element = datatype::Element::named(&dataset.dtype)?;
    let mut layout = Encoder::default();
    let address = if dataset.bytes == 0 { UNDEFINED } else { address };
    layout.u8(3).u8(1).u64(address).u64(dataset.bytes);
    // Version 2; allocate space late (2); write the fill value only if the user has set it (2); a value is defined (1).
    let mut fill = Encoder::default();
    let value = dataset.fill.as_ref().filter(|fill| fill.len() == element.width);
    let value = value.map(|fill| element.stored(fill.clone())).unwrap_or_default();
    fill.u8(2).u8(2).u8(2).u8(1).u32(value.len() as u32).bytes(&value);
    let mut messages = vec![
        (kind::DATASPACE, encode::dataspace(&dataset.shape)),
        (kind::DATATYPE, element.encoded.clone()),
        (kind::FILL_VALUE, fill.0),
        (kind::LAYOUT, layout.0),
    ];
    let said: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    for (name, value) in names {
        messages.push((kind::ATTRIBUTE, message(name, value)?));
    }
    let attributes = encoded_attributes(&dataset.attributes, Some(&element), heap);
    for (name, value) in attributes.into_iter().filter(|(name, _)| !said.contains(name)) {
        messages.push((kind::ATTRIBUTE, message(name, &value)?));
    }
    Ok(messages)
}
