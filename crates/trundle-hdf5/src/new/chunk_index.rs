//! Writes the chunk index of a new dataset: a B-tree of version 1, which every version of HDF5 reads.

use std::io;

use super::encode::{Encoder, UNDEFINED};

/// The most entries of a node: twice the rank of the tree, which is 32 unless the superblock states another one.
const MOST_ENTRIES: usize = 64;

/// A stored chunk of a new dataset.
#[derive(Clone, Debug)]
pub struct NewChunk {
    /// The index of the first element.
    pub at: Vec<u64>,
    /// The stored size in bytes.
    pub bytes: u32,
    /// The file offset.
    pub offset: u64,
}

/// Returns the size of a node in bytes, for a dataset with `axes` axes.
pub(super) fn node_bytes(axes: usize) -> usize {
    // Each entry has a key and an address. A last key and three numbers of 8 bytes follow or precede them.
    24 + MOST_ENTRIES * 8 + (MOST_ENTRIES + 1) * (8 + 8 * (axes + 1))
}

/// Writes the index of chunks with the sizes `chunk` and elements of `width` bytes. `chunks` are in row-major order.
/// The root is at `root`; other nodes begin at `end`. `write` writes bytes at an offset.
///
/// Returns the end of the last node.
///
/// # Errors
/// The errors of `chunks` and `write`.
pub fn write_chunk_index(
    chunks: impl Iterator<Item = io::Result<NewChunk>>,
    (chunk, width): (&[u64], usize),
    (root, end): (u64, u64),
    write: Write<'_>,
) -> io::Result<u64> {
    let bytes = node_bytes(chunk.len());
    let mut tree = Tree { chunk, width, root, end, bytes, beyond: Vec::new(), write };
    let mut upper = tree.level(0, chunks)?;
    for level in 1.. {
        if upper.is_empty() {
            break;
        }
        upper = tree.level(level, upper.into_iter().map(Ok))?;
    }
    Ok(tree.end)
}

/// A function that writes bytes at an offset.
type Write<'a> = &'a mut dyn FnMut(&[u8], u64) -> io::Result<()>;

struct Tree<'a> {
    chunk: &'a [u64],
    width: usize,
    root: u64,
    end: u64,
    /// The size of a node.
    bytes: usize,
    /// The position beyond the last chunk.
    beyond: Vec<u64>,
    write: Write<'a>,
}

impl Tree<'_> {
    /// Writes the nodes of a level, and returns an entry for each of them; none if the only node is the root.
    fn level(
        &mut self,
        level: u8,
        entries: impl Iterator<Item = io::Result<NewChunk>>,
    ) -> io::Result<Vec<NewChunk>> {
        let (mut nodes, mut left) = (Vec::new(), UNDEFINED);
        let mut entries = entries.peekable();
        loop {
            let own = entries.by_ref().take(MOST_ENTRIES).collect::<io::Result<Vec<NewChunk>>>()?;
            if entries.peek().is_some_and(Result::is_err) {
                entries.next().transpose()?;
            }
            let next = entries.peek().and_then(|next| next.as_ref().ok());
            if let (0, None, Some(last)) = (level, next, own.last()) {
                self.beyond = last.at.iter().zip(self.chunk).map(|(at, size)| at + size).collect();
            }
            let is_root = nodes.is_empty() && next.is_none();
            let offset = if is_root { self.root } else { self.end };
            let right = next.map_or(UNDEFINED, |_| offset + self.bytes as u64);
            let mut node = Encoder::default();
            node.bytes(b"TREE").u8(1).u8(level).u16(own.len() as u16).u64(left).u64(right);
            for NewChunk { at, bytes, offset } in &own {
                key(&mut node, *bytes, at, 0).u64(*offset);
            }
            match next {
                Some(next) => key(&mut node, next.bytes, &next.at, 0),
                None => key(&mut node, 0, &self.beyond, self.width as u64),
            };
            node.0.resize(self.bytes, 0);
            (self.write)(&node.0, offset)?;
            if is_root {
                return Ok(nodes);
            }
            nodes.extend(own.into_iter().next().map(|first| NewChunk { offset, ..first }));
            (left, self.end) = (offset, self.end + self.bytes as u64);
            if next.is_none() {
                return Ok(nodes);
            }
        }
    }
}

/// Adds a key: the stored size of a chunk, no skipped filters, its position, and a position within an element.
fn key<'a>(node: &'a mut Encoder, bytes: u32, at: &[u64], within: u64) -> &'a mut Encoder {
    node.u32(bytes).u32(0);
    at.iter().for_each(|at| _ = node.u64(*at));
    node.u64(within)
}
