//! Lists the members of groups.

use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::link::{self, LinkMessage, LinkTarget};
use hdf5_reader::messages::link_info;
use hdf5_reader::symbol_table::SymbolTableNode;

use crate::error::Error;
use crate::header::{ObjectHeader, kind};
use crate::metadata::Metadata;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Object(u64),
    /// A soft link: another path in the file.
    Name,
    OtherFile(String),
}

/// The cache type of a symbol table entry that is a soft link.
const IS_NAME: u32 = 2;

/// Lists the members of a group, in creation order if it is known, otherwise by name.
pub(crate) fn children(
    metadata: &Metadata,
    header: &ObjectHeader,
) -> Result<Vec<(String, Target)>, Error> {
    if let Some(body) = header.find(metadata, kind::SYMBOL_TABLE)? {
        let mut cursor = Cursor::new(&body);
        let (Some(tree), Some(heap)) =
            (metadata.address(&mut cursor)?, metadata.address(&mut cursor)?)
        else {
            return Ok(Vec::new());
        };
        return symbols(metadata, tree, heap);
    }
    let sizes = (metadata.offset_size, metadata.length_size);
    let mut links = Vec::new();
    for message in header.messages.iter().filter(|message| message.kind == kind::LINK) {
        let body = message.resolved(metadata)?;
        links.push(link::parse(&mut Cursor::new(&body), sizes.0, sizes.1, body.len())?);
    }
    if let Some(body) = header.find(metadata, kind::LINK_INFO)? {
        let info = link_info::parse(&mut Cursor::new(&body), sizes.0, sizes.1, body.len())?;
        let (heap, tree) = (info.fractal_heap_address, info.btree_name_index_address);
        for body in dense(metadata, heap, tree)? {
            links.push(link::parse(&mut Cursor::new(&body), sizes.0, sizes.1, body.len())?);
        }
    }
    match links.iter().all(|link| link.creation_order.is_some()) {
        true => links.sort_by_key(|link| link.creation_order),
        false => links.sort_by(|one, other| one.name.cmp(&other.name)),
    }
    Ok(links.into_iter().map(target).collect())
}

fn target(link: LinkMessage) -> (String, Target) {
    let target = match link.target {
        LinkTarget::Hard { address } => Target::Object(address),
        LinkTarget::Soft { .. } => Target::Name,
        LinkTarget::External { filename, .. } => Target::OtherFile(filename),
    };
    (link.name, target)
}

/// Reads the objects of a fractal heap (links or attributes) through its B-tree; none without a heap.
pub(crate) fn dense(metadata: &Metadata, heap: u64, tree: u64) -> Result<Vec<Vec<u8>>, Error> {
    let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
    let is_none = |address| Cursor::is_undefined_offset(address, offset_size);
    if is_none(heap) || is_none(tree) {
        return Ok(Vec::new());
    }
    let heap = FractalHeap::parse_at_storage(metadata, heap, offset_size, length_size)?;
    let tree = BTreeV2Header::parse_at_storage(metadata, tree, offset_size, length_size)?;
    let records = collect_btree_v2_records_storage(
        metadata,
        &tree,
        offset_size,
        length_size,
        None,
        &[],
        None,
    )?;
    let mut blocks = FractalHeapDirectBlockCache::default();
    let mut objects = Vec::new();
    for record in records {
        let (BTreeV2Record::LinkNameHash { heap_id, .. }
        | BTreeV2Record::CreationOrder { heap_id, .. }
        | BTreeV2Record::AttributeNameHash { heap_id, .. }
        | BTreeV2Record::AttributeCreationOrder { heap_id, .. }) = record
        else {
            return Err(Error::malformed("a tree of links or attributes has another type"));
        };
        objects.push(heap.get_object_storage_cached_with_registry(
            &heap_id,
            metadata,
            offset_size,
            length_size,
            &mut blocks,
            None,
        )?);
    }
    Ok(objects)
}

/// Lists the members of a group of the old kind, with a symbol table.
fn symbols(metadata: &Metadata, tree: u64, heap: u64) -> Result<Vec<(String, Target)>, Error> {
    let (offset_size, length_size) = (metadata.offset_size, metadata.length_size);
    let heap = LocalHeap::parse_at_storage(metadata, heap, offset_size, length_size)?;
    let bytes = usize::try_from(heap.data_segment_size).unwrap_or(usize::MAX);
    let names = metadata.read(heap.data_segment_address, bytes)?;
    let leaves =
        collect_btree_v1_leaves_storage(metadata, tree, offset_size, length_size, None, &[], None)?;
    let mut children = Vec::new();
    for (_, address) in leaves {
        let prefix = metadata.read(address, 8)?;
        let count = usize::from(u16::from_le_bytes([prefix[6], prefix[7]]));
        let entry = 2 * usize::from(offset_size) + 4 + 4 + 16;
        let node = metadata.read(address, 8 + count * entry)?;
        let node = SymbolTableNode::parse(&mut Cursor::new(&node), offset_size, length_size)?;
        for entry in node.entries {
            let target = match entry.cache_type {
                IS_NAME => Target::Name,
                _ => Target::Object(entry.object_header_address),
            };
            children.push((name_at(&names, entry.link_name_offset)?, target));
        }
    }
    Ok(children)
}

/// Reads the NUL-terminated string at an offset of a heap.
fn name_at(heap: &[u8], offset: u64) -> Result<String, Error> {
    let text = usize::try_from(offset).ok().and_then(|offset| heap.get(offset..));
    let text = text.and_then(|text| Some(&text[..text.iter().position(|byte| *byte == 0)?]));
    let text = text.ok_or_else(|| Error::malformed("a name is not in the heap of names"))?;
    Ok(String::from_utf8_lossy(text).into_owned())
}
