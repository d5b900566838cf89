//! Applies and undoes the filters of chunks.

use std::borrow::Cow;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdf5_reader::checksum::fletcher32;
use hdf5_reader::filters::apply_pipeline_with_limit;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::filter_pipeline::{
    self, FILTER_DEFLATE, FILTER_FLETCHER32, FILTER_NBIT, FILTER_SCALEOFFSET, FILTER_SHUFFLE,
    FILTER_SZIP, FilterDescription,
};

use crate::error::Error;
use crate::plugins::{self, Codecs, PLUGINS};

/// LZF, a filter of h5py.
const FILTER_LZF: u16 = 32000;

const KNOWN: [u16; 7] = [
    FILTER_DEFLATE,
    FILTER_SHUFFLE,
    FILTER_FLETCHER32,
    FILTER_SZIP,
    FILTER_NBIT,
    FILTER_SCALEOFFSET,
    FILTER_LZF,
];

/// The names of filters that are only read.
const ONLY_READ: [(u16, &str); 4] = [
    (FILTER_SZIP, "szip"),
    (FILTER_NBIT, "n-bit"),
    (FILTER_SCALEOFFSET, "scale-offset"),
    (FILTER_LZF, "LZF"),
];

/// The highest level of deflate, and the level of zlib's default.
const MOST_LEVEL: u32 = 9;
const DEFAULT_LEVEL: u32 = 6;

/// A filter of the chunks of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Stores the first bytes of all elements, then their second bytes, and so on.
    Shuffle,
    /// Compresses a chunk to a zlib stream, at a level of 0 to 9.
    Deflate(u8),
    /// Appends a checksum.
    Fletcher32,
    /// A filter with this name, which is only read.
    OnlyRead(&'static str),
    /// A compressor of a plugin with this name, which is only read.
    Plugin(&'static str),
}

/// The names of other registered filters, for error messages.
const OTHERS: [(u16, &str); 4] = [(305, "LZO"), (32013, "ZFP"), (32017, "SZ"), (32026, "Blosc2")];

/// The most filters of a dataset.
const MOST_FILTERS: usize = 32;

/// The most bytes that filters add to a chunk that does not compress, including checksums.
const MOST_ADDED_BYTES: usize = 64 << 10;

/// The filters of a dataset, in the order of encoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    all: Vec<FilterDescription>,
    /// The codecs for deflate and the filters of plugins.
    codecs: Option<Codecs>,
}

impl Filters {
    /// Reads a filter message; an error if one of the filters is not supported.
    pub(crate) fn parse(body: &[u8], codecs: Option<Codecs>) -> Result<Filters, Error> {
        let filters = filter_pipeline::parse(&mut Cursor::new(body), 8, 8, body.len())?.filters;
        for filter in &filters {
            let plugin = name_in(&PLUGINS, filter.id);
            if KNOWN.contains(&filter.id) || plugin.is_some() && codecs.is_some() {
                plugins::check(filter).map_err(Error::Unsupported)?;
                continue;
            }
            let known = plugin.or_else(|| name_in(&OTHERS, filter.id));
            let own = filter.name.as_deref().filter(|name| !name.is_empty());
            let name = known.or(own).unwrap_or("without a name");
            let id = filter.id;
            let why = match plugin {
                Some(_) => {
                    "; this program was built without its decoder: `cargo install` it with `--features zarr`"
                }
                None => "",
            };
            return Err(Error::unsupported(format!(
                "the filter {id} ({name}) is not supported{why}"
            )));
        }
        Filters::checked(filters, codecs, Error::malformed)
    }

    /// Returns the filters in which a new dataset stores chunks of elements of `width` bytes.
    ///
    /// # Errors
    /// If one of them is only read.
    pub(crate) fn of(
        filters: &[Filter],
        width: usize,
        codecs: Option<Codecs>,
    ) -> Result<Filters, Error> {
        let description = |filter: &Filter| {
            let (id, client_data) = match filter {
                Filter::Shuffle => (FILTER_SHUFFLE, vec![width as u32]),
                Filter::Deflate(level) => (FILTER_DEFLATE, vec![u32::from(*level)]),
                Filter::Fletcher32 => (FILTER_FLETCHER32, Vec::new()),
                Filter::OnlyRead(name) | Filter::Plugin(name) => {
                    return Err(Error::unsupported(format!("the filter {name} is not written")));
                }
            };
            Ok(FilterDescription { id, name: None, client_data })
        };
        let filters = filters.iter().map(description).collect::<Result<_, _>>()?;
        Filters::checked(filters, codecs, Error::unsupported)
    }

    fn checked(
        all: Vec<FilterDescription>,
        codecs: Option<Codecs>,
        error: fn(String) -> Error,
    ) -> Result<Filters, Error> {
        match all.len() <= MOST_FILTERS {
            true => Ok(Filters { all, codecs }),
            false => Err(error(format!("{} filters, the limit is {MOST_FILTERS}", all.len()))),
        }
    }

    /// Returns the filters in the order of encoding.
    pub(crate) fn list(&self) -> Vec<Filter> {
        let filter = |filter: &FilterDescription| match filter.id {
            FILTER_SHUFFLE => Filter::Shuffle,
            FILTER_FLETCHER32 => Filter::Fletcher32,
            FILTER_DEFLATE => {
                let level = filter.client_data.first().copied().unwrap_or(DEFAULT_LEVEL);
                Filter::Deflate(level.min(MOST_LEVEL) as u8)
            }
            id => match name_in(&PLUGINS, id) {
                Some(name) => Filter::Plugin(name),
                None => Filter::OnlyRead(name_in(&ONLY_READ, id).unwrap_or("unknown")),
            },
        };
        self.all.iter().map(filter).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Encodes the message about the filters, in version 2.
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut message = vec![2, self.all.len() as u8];
        for FilterDescription { id, client_data, .. } in &self.all {
            // The library may skip a filter that fails, except for the checksum.
            let flags = u16::from(*id != FILTER_FLETCHER32);
            for value in [*id, flags, client_data.len() as u16] {
                message.extend(value.to_le_bytes());
            }
            message.extend(client_data.iter().flat_map(|value| value.to_le_bytes()));
        }
        message
    }

    /// Encodes a chunk with elements of `width` bytes.
    pub(crate) fn apply<'a>(&self, chunk: &'a [u8], width: usize) -> io::Result<Cow<'a, [u8]>> {
        let mut data = Cow::from(chunk);
        for filter in &self.all {
            data = match filter.id {
                FILTER_SHUFFLE => shuffled(&data, width)?.into(),
                FILTER_FLETCHER32 => {
                    let sum = fletcher32(&data).to_le_bytes();
                    let mut data = data.into_owned();
                    data.extend(sum);
                    data.into()
                }
                FILTER_DEFLATE => {
                    let level = filter.client_data.first().copied().unwrap_or(DEFAULT_LEVEL);
                    let level = level.min(MOST_LEVEL) as u8;
                    match self.codecs {
                        Some(codecs) => (codecs.deflate)(&data, level)?.into(),
                        None => deflated(&data, level)?.into(),
                    }
                }
                _ => return Err(io::ErrorKind::Unsupported.into()),
            };
        }
        Ok(data)
    }

    /// Returns the estimated picoseconds that one core takes to undo the filters, for each byte (measured on a core of
    /// 2023).
    pub(crate) fn picoseconds(&self) -> u64 {
        let of_filter = |filter: &FilterDescription| match filter.id {
            FILTER_SHUFFLE | FILTER_FLETCHER32 => 300,
            FILTER_LZF | FILTER_NBIT | FILTER_SCALEOFFSET => 2000,
            id if name_in(&PLUGINS, id).is_some() => plugins::picoseconds(id),
            _ => 4000,
        };
        self.all.iter().map(of_filter).sum()
    }

    /// Returns the working memory to undo the filters of a chunk of `bytes` bytes, without its input and output.
    pub(crate) fn working_bytes(&self, bytes: usize) -> usize {
        let of_filters = self.all.iter().map(|filter| plugins::working_bytes(filter.id, bytes));
        of_filters.max().unwrap_or(0)
    }

    /// Returns the most stored bytes of a chunk of `bytes` bytes.
    pub(crate) fn most_stored(&self, bytes: usize) -> usize {
        if self.all.is_empty() {
            return bytes;
        }
        let has_blocks = self.all.iter().any(|filter| plugins::has_blocks(filter.id));
        // A block can be as small as a byte, and its size takes four bytes.
        let added = if has_blocks { bytes.saturating_mul(4) } else { bytes / 8 };
        bytes.saturating_add(added).saturating_add(MOST_ADDED_BYTES)
    }

    /// Decodes a stored chunk to exactly `bytes` bytes, with elements of `width` bytes. A bit of `mask` marks a filter
    /// that was skipped. More bytes are refused before memory for them is allocated.
    pub(crate) fn undo(
        &self,
        mut data: Vec<u8>,
        mask: u32,
        width: usize,
        bytes: usize,
    ) -> Result<Vec<u8>, String> {
        for (at, filter) in self.all.iter().enumerate().rev() {
            if mask & (1 << at) != 0 {
                continue;
            }
            // The output of later filters may be slightly larger than the chunk.
            let most = if at == 0 { bytes } else { self.most_stored(bytes) };
            data = match (filter.id, self.codecs) {
                (FILTER_LZF, _) => lzf(&data, most)?,
                (id, Some(codecs)) if name_in(&PLUGINS, id).is_some() => {
                    plugins::undo(filter, &data, most, codecs.unpack)?
                }
                _ => {
                    let inflated = self.inflated(at, &data, (bytes, most));
                    inflated.map_or_else(|| undone(filter, &data, width, most), Ok)?
                }
            };
        }
        if data.len() != bytes {
            return Err(format!("has {} bytes, expected {bytes}", data.len()));
        }
        Ok(data)
    }

    /// Decodes deflate, if it is the filter `at`, by the codecs of another crate. Returns `None` for data that they
    /// refuse, because hdf5-reader finds the mistake in it, or decodes the first `most` bytes of more.
    fn inflated(&self, at: usize, data: &[u8], (bytes, most): (usize, usize)) -> Option<Vec<u8>> {
        let codecs = self.codecs.filter(|_| self.all[at].id == FILTER_DEFLATE)?;
        // Shuffling does not change the size.
        let is_chunk = self.all[..at].iter().all(|filter| filter.id == FILTER_SHUFFLE);
        (codecs.inflate)(data, if is_chunk { bytes } else { most })
    }
}

/// Undoes a filter by hdf5-reader.
fn undone(
    filter: &FilterDescription,
    data: &[u8],
    width: usize,
    most: usize,
) -> Result<Vec<u8>, String> {
    let one = std::slice::from_ref(filter);
    let undone = apply_pipeline_with_limit(data, one, 0, width, None, Some(most));
    undone.map_err(|error| error.to_string())
}

/// Encodes a zlib stream without the codecs of another crate.
fn deflated(data: &[u8], level: u8) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    packed.try_reserve_exact(data.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut encoder = ZlibEncoder::new(packed, Compression::new(level.into()));
    encoder.write_all(data)?;
    encoder.finish()
}

/// Returns the name of a filter, if the list has it.
fn name_in(names: &[(u16, &'static str)], id: u16) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == id).map(|(_, name)| *name)
}

/// Returns the first bytes of all elements, then their second bytes, and so on.
fn shuffled(data: &[u8], width: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    out.try_reserve_exact(data.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let whole = data.len() - data.len() % width;
    for byte in 0..width {
        out.extend(data[..whole].iter().skip(byte).step_by(width));
    }
    out.extend(&data[whole..]);
    Ok(out)
}

/// Decodes LZF (`liblzf` 3.6) to at most `most` bytes. A control byte `c` below 32 precedes `c + 1` literal bytes; any
/// other begins a copy of earlier output.
fn lzf(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let ends = || "LZF: ends too early".to_owned();
    let mut bytes = packed.iter().map(|byte| usize::from(*byte));
    let mut out = Vec::new();
    while let Some(control) = bytes.next() {
        let literal = control + 1;
        let (distance, count) = if control < 32 {
            (None, literal)
        } else {
            let long = if control >> 5 == 7 { bytes.next().ok_or_else(ends)? } else { 0 };
            let distance = ((control & 31) << 8) + bytes.next().ok_or_else(ends)? + 1;
            (Some(distance), (control >> 5) + long + 2)
        };
        if count > most - out.len() {
            return Err(format!("LZF: more than {most} bytes"));
        }
        match distance {
            None => {
                for _ in 0..count {
                    out.push(bytes.next().ok_or_else(ends)? as u8);
                }
            }
            Some(distance) => {
                let from =
                    out.len().checked_sub(distance).ok_or("LZF: a copy before the first byte")?;
                // A copy may overlap its own output.
                for at in from..from + count {
                    out.push(out[at]);
                }
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_in_small_blocks_can_be_larger_than_their_elements() {
        for (ids, most) in [
            (&[][..], 1 << 20),
            (&[FILTER_DEFLATE], (1 << 20) + (1 << 17) + MOST_ADDED_BYTES),
            (&[FILTER_SHUFFLE, 32004], (5 << 20) + MOST_ADDED_BYTES),
            (&[32008], (5 << 20) + MOST_ADDED_BYTES),
        ] {
            let filter = |id: &u16| FilterDescription { id: *id, name: None, client_data: vec![] };
            let filters = Filters { all: ids.iter().map(filter).collect(), codecs: None };
            assert_eq!(filters.most_stored(1 << 20), most, "{ids:?}");
        }
    }

    #[test]
    fn lzf_decodes_literals_and_copies() {
        // "ab", then a copy of 2 + 3 bytes from 2 back.
        assert_eq!(lzf(&[1, b'a', b'b', 3 << 5, 1], 7).as_deref(), Ok(&b"abababa"[..]));
        // A long copy of 7 + 1 + 2 bytes from 1 back.
        assert_eq!(lzf(&[0, b'x', 7 << 5, 1, 0], 11).as_deref(), Ok(&b"xxxxxxxxxxx"[..]));
        for (packed, most, why) in [
            (&[1, b'a', b'b', 3 << 5, 1][..], 6, "more than 6"),
            (&[5, b'a'], 9, "too early"),
            (&[0, b'a', 2 << 5, 1], 9, "before the first byte"),
            (&[0, b'a', 7 << 5], 9, "too early"),
        ] {
            assert!(lzf(packed, most).is_err_and(|error| error.contains(why)), "{packed:?}");
        }
    }
}
