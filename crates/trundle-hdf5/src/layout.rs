//! Reads the shapes of datasets and the layouts of their data.

use hdf5_reader::io::Cursor;

use crate::error::Error;
use crate::metadata::Metadata;

pub(crate) const MOST_AXES: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dataspace {
    pub(crate) sizes: Vec<u64>,
    /// The maximum shape. `u64::MAX` stands for an unlimited axis.
    pub(crate) most: Vec<u64>,
    /// Whether the dataspace is null: it has no axes and no elements.
    pub(crate) is_null: bool,
}

impl Dataspace {
    pub(crate) fn parse(body: &[u8], metadata: &Metadata) -> Result<Dataspace, Error> {
        let mut cursor = Cursor::new(body);
        let (version, axes, flags) = (cursor.read_u8()?, cursor.read_u8()?, cursor.read_u8()?);
        let kind = cursor.read_u8()?;
        match version {
            1 => cursor.skip(4)?,
            2 => {}
            version => {
                return Err(Error::unsupported(format!("sizes of version {version} are unknown")));
            }
        }
        if flags & !1 != 0 {
            return Err(Error::unsupported(format!("sizes with the flags {flags:#x} are unknown")));
        }
        let axes = usize::from(axes);
        if axes > MOST_AXES {
            return Err(Error::unsupported(format!("{axes} axes, the limit is {MOST_AXES}")));
        }
        let mut list = || -> Result<Vec<u64>, Error> {
            (0..axes).map(|_| Ok(cursor.read_length(metadata.length_size)?)).collect()
        };
        let sizes = list()?;
        let most = if flags & 1 != 0 { list()? } else { sizes.clone() };
        let unlimited = u64::MAX >> (64 - 8 * u32::from(metadata.length_size));
        let most = most.into_iter().map(|most| if most == unlimited { u64::MAX } else { most });
        Ok(Dataspace { sizes, most: most.collect(), is_null: version == 2 && kind == 2 })
    }

    pub(crate) fn elements(&self) -> Option<u64> {
        if self.is_null {
            return Some(0);
        }
        self.sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size))
    }
}

/// The layout of a dataset's data. The address is `None` if nothing was ever written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact(Vec<u8>),
    Contiguous(Option<u64>),
    Chunked {
        address: Option<u64>,
        /// The chunk sizes. In the file, the element width follows them as another size.
        chunk: Vec<u64>,
        width: u64,
        index: Index,
        /// Whether chunks that extend beyond the edge are stored without filters.
        edges_are_plain: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    BTreeV1,
    Single { stored: Option<u64>, mask: u32 },
    Implicit,
    FixedArray,
    ExtensibleArray,
    BTreeV2,
}

impl Layout {
    pub(crate) fn parse(body: &[u8], metadata: &Metadata) -> Result<Layout, Error> {
        let mut cursor = Cursor::new(body);
        match cursor.read_u8()? {
            1 | 2 => old(&mut cursor, metadata),
            version @ 3..=5 => {
                let class = cursor.read_u8()?;
                match (class, version) {
                    (0, _) => {
                        let bytes = cursor.read_u16_le()?;
                        Ok(Layout::Compact(cursor.read_bytes(usize::from(bytes))?.to_vec()))
                    }
                    (1, _) => Ok(Layout::Contiguous(metadata.address(&mut cursor)?)),
                    (2, 3) => {
                        let axes = usize::from(cursor.read_u8()?);
                        let address = metadata.address(&mut cursor)?;
                        chunked_by_tree(&mut cursor, axes, address)
                    }
                    (2, version) => chunked(&mut cursor, metadata, version),
                    (3, _) => Err(Error::unsupported("is virtual: its data is in other datasets")),
                    _ => Err(unknown("class", class)),
                }
            }
            version => Err(unknown("version", version)),
        }
    }
}

fn unknown(what: &str, value: u8) -> Error {
    Error::unsupported(format!("storage of {what} {value} is unknown"))
}

fn old(cursor: &mut Cursor<'_>, metadata: &Metadata) -> Result<Layout, Error> {
    let (axes, class) = (usize::from(cursor.read_u8()?), cursor.read_u8()?);
    cursor.skip(5)?;
    let address = if class == 0 { None } else { metadata.address(cursor)? };
    match class {
        0 => {
            cursor.skip(4 * axes)?;
            let bytes = cursor.read_u32_le()? as usize;
            Ok(Layout::Compact(cursor.read_bytes(bytes)?.to_vec()))
        }
        1 => Ok(Layout::Contiguous(address)),
        2 => chunked_by_tree(cursor, axes, address),
        class => Err(unknown("class", class)),
    }
}

fn chunked_by_tree(
    cursor: &mut Cursor<'_>,
    axes: usize,
    address: Option<u64>,
) -> Result<Layout, Error> {
    let sizes: Result<Vec<u64>, _> =
        (0..axes).map(|_| cursor.read_u32_le().map(u64::from)).collect();
    let (chunk, width) = without_element(sizes?)?;
    Ok(Layout::Chunked { address, chunk, width, index: Index::BTreeV1, edges_are_plain: false })
}

/// Reads a chunked layout of version 4 or 5. In version 5, the size of a stored chunk always has 8 bytes.
fn chunked(cursor: &mut Cursor<'_>, metadata: &Metadata, version: u8) -> Result<Layout, Error> {
    let (flags, axes, size_bytes) = (cursor.read_u8()?, cursor.read_u8()?, cursor.read_u8()?);
    let sizes: Result<Vec<u64>, _> =
        (0..axes).map(|_| cursor.read_uvar(usize::from(size_bytes))).collect();
    let (chunk, width) = without_element(sizes?)?;
    if flags & !3 != 0 {
        return Err(Error::unsupported(format!("chunks with the flags {flags:#x} are unknown")));
    }
    let index = match cursor.read_u8()? {
        1 if flags & 2 != 0 => {
            let length_size = if version == 4 { metadata.length_size } else { 8 };
            let stored = Some(cursor.read_length(length_size)?);
            Index::Single { stored, mask: cursor.read_u32_le()? }
        }
        1 => Index::Single { stored: None, mask: 0 },
        2 => Index::Implicit,
        3 => {
            cursor.skip(1)?;
            Index::FixedArray
        }
        4 => {
            cursor.skip(5)?;
            Index::ExtensibleArray
        }
        5 => {
            cursor.skip(6)?;
            Index::BTreeV2
        }
        index => {
            return Err(Error::unsupported(format!(
                "an index of chunks of kind {index} is unknown"
            )));
        }
    };
    let address = metadata.address(cursor)?;
    Ok(Layout::Chunked { address, chunk, width, index, edges_are_plain: flags & 1 != 0 })
}

/// Splits off the element width, which follows the chunk sizes.
fn without_element(mut sizes: Vec<u64>) -> Result<(Vec<u64>, u64), Error> {
    let width = sizes.pop().unwrap_or(0);
    if sizes.is_empty() || sizes.len() > MOST_AXES || sizes.contains(&0) {
        return Err(Error::malformed(format!("chunks of sizes {sizes:?}")));
    }
    Ok((sizes, width))
}

/// Reads the bytes of the fill value; `None` if the dataset states none.
pub(crate) fn fill_value(body: &[u8], is_old: bool) -> Result<Option<Vec<u8>>, Error> {
    let mut cursor = Cursor::new(body);
    let is_there = is_old || {
        let version = cursor.read_u8()?;
        match version {
            1 | 2 => {
                cursor.skip(2)?;
                // In version 1 the size is always present, but may be 0.
                cursor.read_u8()? != 0 || version == 1
            }
            3 => cursor.read_u8()? & 0x20 != 0,
            version => {
                return Err(Error::unsupported(format!(
                    "fill values of version {version} are unknown"
                )));
            }
        }
    };
    if !is_there || cursor.remaining() < 4 {
        return Ok(None);
    }
    let bytes = cursor.read_u32_le()?;
    // A negative length means no value.
    if bytes == 0 || bytes > i32::MAX as u32 {
        return Ok(None);
    }
    Ok(Some(cursor.read_bytes(bytes as usize)?.to_vec()))
}
