//! Reads the chunk indices of older files, which are B-trees of version 1.
//!
//! The nodes have no checksums. The HDF5 library searches for chunks by key, so it would not find every chunk of a tree
//! whose keys are out of order. Such a tree is refused.

use hdf5_reader::btree_v1::{BTreeV1Key, BTreeV1Node};
use hdf5_reader::chunk_index::ChunkEntry;
use hdf5_reader::io::Cursor;

use crate::error::Error;
use crate::metadata::Metadata;

const OF_CHUNKS: u8 = 1;

struct Walk<'a> {
    metadata: &'a Metadata,
    axes: usize,
    entries: Vec<ChunkEntry>,
}

/// Reads all chunk entries of the tree at `address`, for a dataset with `axes` axes.
///
/// # Errors
/// [`Error`] if a node cannot be read, or the keys are out of order.
pub(crate) fn entries(
    metadata: &Metadata,
    address: u64,
    axes: usize,
) -> Result<Vec<ChunkEntry>, Error> {
    let mut walk = Walk { metadata, axes, entries: Vec::new() };
    let root = walk.node(address)?;
    walk.add(root, None)?;
    Ok(walk.entries)
}

impl Walk<'_> {
    fn node(&self, address: u64) -> Result<BTreeV1Node, Error> {
        let Metadata { offset_size, length_size, .. } = *self.metadata;
        let start = self.metadata.read(address, 8)?;
        if !start.starts_with(b"TREE") || start[4] != OF_CHUNKS {
            return Err(Error::malformed(format!("no tree of chunks at byte {address}")));
        }
        let children = usize::from(u16::from_le_bytes([start[6], start[7]]));
        // A key has a length, a filter mask, and an offset along each axis and within an element.
        let key = 8 + 8 * (self.axes + 1);
        let pointer = usize::from(offset_size);
        let bytes = 8 + 2 * pointer + children * (key + pointer) + key;
        let node = self.metadata.read(address, bytes)?;
        let axes = Some(self.axes as u32);
        Ok(BTreeV1Node::parse(&mut Cursor::new(&node), offset_size, length_size, axes)?)
    }

    /// Adds the chunks below a node, whose keys must be between the two keys in `parent`.
    fn add(&mut self, node: BTreeV1Node, parent: Option<(&[u64], &[u64])>) -> Result<(), Error> {
        let keys: Option<Vec<(u32, u32, Vec<u64>)>> = node.keys.into_iter().map(parts).collect();
        let keys = keys.ok_or_else(|| Error::malformed("a tree of links instead of chunks"))?;
        let offsets: Vec<&[u64]> = keys.iter().map(|(_, _, offsets)| &offsets[..]).collect();
        let is_within = parent.is_none_or(|(least, most)| {
            offsets.first().is_some_and(|first| *first >= least)
                && offsets.last().is_some_and(|last| *last <= most)
        });
        if !is_within || !offsets.is_sorted_by(|one, other| one < other) {
            return Err(Error::malformed("the keys of their tree are out of order"));
        }
        for (at, child) in node.children.into_iter().enumerate() {
            if node.level > 0 {
                let below = self.node(child)?;
                if below.level + 1 != node.level {
                    return Err(Error::malformed("a node of their tree is at the wrong level"));
                }
                self.add(below, Some((offsets[at], offsets[at + 1])))?;
                continue;
            }
            let (size, filter_mask, offsets) = &keys[at];
            let (offsets, within) = offsets.split_at(self.axes);
            if within != [0] {
                return Err(Error::malformed(format!(
                    "one begins at byte {within:?} of an element"
                )));
            }
            self.entries.push(ChunkEntry {
                address: child,
                size: (*size).into(),
                filter_mask: *filter_mask,
                offsets: offsets.to_vec(),
            });
        }
        Ok(())
    }
}

/// Splits a key into length, filter mask and offsets; `None` for a key of a group.
fn parts(key: BTreeV1Key) -> Option<(u32, u32, Vec<u64>)> {
    match key {
        BTreeV1Key::RawData { chunk_size, filter_mask, offsets } => {
            Some((chunk_size, filter_mask, offsets))
        }
        BTreeV1Key::Group { .. } => None,
    }
}
