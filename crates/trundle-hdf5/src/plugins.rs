//! Undoes the filters that the HDF5 library loads as plugins, by the codecs of another crate.
//!
//! Sources: `H5Zlz4.c` of the HDF Group's plugins, and `bshuf_h5filter.c` of bitshuffle.

use std::io;

use hdf5_reader::messages::filter_pipeline::FilterDescription;

/// The ids of the filters.
const BZIP2: u16 = 307;
const BLOSC: u16 = 32001;
const LZ4: u16 = 32004;
const BITSHUFFLE: u16 = 32008;
const ZSTD: u16 = 32015;

/// The names of the filters.
pub(crate) const PLUGINS: [(u16, &str); 5] = [
    (BZIP2, "bzip2"),
    (BLOSC, "Blosc"),
    (LZ4, "LZ4"),
    (BITSHUFFLE, "bitshuffle"),
    (ZSTD, "Zstandard"),
];

/// A compression that another crate decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Streams of bzip2.
    Bzip2,
    /// A buffer of Blosc 1.
    Blosc,
    /// An LZ4 block without a header.
    Lz4Block,
    /// Frames of Zstandard.
    Zstd,
}

/// The codecs of another crate.
#[derive(Clone, Copy, Debug)]
pub struct Codecs {
    /// Decodes compressed data to at most the given number of bytes.
    ///
    /// It must return an error, before it allocates more memory, if there are more bytes.
    pub unpack: Unpack,
    /// Decodes a zlib stream to at most the given number of bytes; `None` if there are more, or the data is damaged.
    pub inflate: fn(&[u8], usize) -> Option<Vec<u8>>,
    /// Encodes a zlib stream at a level of 0 to 9.
    pub deflate: fn(&[u8], u8) -> io::Result<Vec<u8>>,
}

pub(crate) type Unpack = fn(Compression, &[u8], usize) -> Result<Vec<u8>, String>;

/// The parameters of bitshuffle.
struct Bitshuffle {
    /// The bytes of an element.
    width: usize,
    /// The bytes of a block. Compressed data states them itself.
    block: usize,
    compression: Option<Compression>,
}

impl Bitshuffle {
    fn parse(filter: &FilterDescription) -> Result<Bitshuffle, String> {
        // The first two values are the version.
        let value = |at| filter.client_data.get(at).map_or(0, |value: &u32| *value as usize);
        let (width, elements) = (value(2), value(3));
        let compression = match value(4) {
            0 => None,
            2 => Some(Compression::Lz4Block),
            3 => Some(Compression::Zstd),
            other => return Err(format!("bitshuffle: the compression {other} is not supported")),
        };
        if width == 0 {
            return Err("bitshuffle: the size of an element is not stated".to_owned());
        }
        let elements = match elements {
            // The largest multiple of 8 elements in 8 KiB, but at least 128.
            0 => ((8192 / width) & !7).max(128),
            stated => stated,
        };
        Ok(Bitshuffle { width, block: elements.saturating_mul(width), compression })
    }

    fn undo(&self, data: &[u8], most: usize, unpack: Unpack) -> Result<Vec<u8>, String> {
        let mut blocks = match self.compression {
            Some(_) => Blocks::parse(data, most)?,
            None => {
                Blocks { rest: data, bytes: within(data.len() as u64, most)?, block: self.block }
            }
        };
        let (bytes, block, eight) = (blocks.bytes, blocks.block, self.width.saturating_mul(8));
        if !bytes.is_multiple_of(self.width) || !block.is_multiple_of(eight) {
            return Err(format!(
                "{bytes} bytes in blocks of {block}, with elements of {} bytes",
                self.width
            ));
        }
        let mut out = reserved(bytes)?;
        while out.len() < bytes {
            let left = bytes - out.len();
            let count = block.min(left - left % eight);
            if count == 0 {
                // Fewer than eight elements are stored without transposing.
                out.extend(blocks.take(left)?);
                continue;
            }
            let unpacked;
            let stored = match self.compression {
                Some(compression) => {
                    unpacked = exactly(count, unpack(compression, blocks.packed()?, count)?)?;
                    &unpacked[..]
                }
                None => blocks.take(count)?,
            };
            let at = out.len();
            out.resize(at + count, 0);
            unshuffle_bits(stored, self.width, &mut out[at..]);
        }
        Ok(out)
    }
}

/// Checks the parameters of a filter of [`PLUGINS`].
///
/// # Errors
/// Returns a message if they are not supported.
pub(crate) fn check(filter: &FilterDescription) -> Result<(), String> {
    if filter.id == BITSHUFFLE { Bitshuffle::parse(filter).map(drop) } else { Ok(()) }
}

/// Undoes a filter of [`PLUGINS`]. More than `most` bytes are refused before memory for them is allocated.
pub(crate) fn undo(
    filter: &FilterDescription,
    data: &[u8],
    most: usize,
    unpack: Unpack,
) -> Result<Vec<u8>, String> {
    match filter.id {
        BZIP2 => unpack(Compression::Bzip2, data, most),
        BLOSC => unpack(Compression::Blosc, data, most),
        LZ4 => lz4(data, most, unpack).map_err(|why| format!("LZ4: {why}")),
        BITSHUFFLE => {
            let undone = Bitshuffle::parse(filter)?.undo(data, most, unpack);
            undone.map_err(|why| format!("bitshuffle: {why}"))
        }
        _ => unpack(Compression::Zstd, data, most),
    }
}

/// Returns the estimated picoseconds that one core takes to undo a filter of [`PLUGINS`], for each byte.
pub(crate) fn picoseconds(id: u16) -> u64 {
    match id {
        BZIP2 => 35_000,
        BLOSC => 600,
        LZ4 => 500,
        _ => 1000,
    }
}

/// Returns whether a filter stores blocks with their sizes.
pub(crate) fn has_blocks(id: u16) -> bool {
    [LZ4, BITSHUFFLE].contains(&id)
}

/// Returns the working memory to undo a filter on a chunk of `bytes` bytes, without its input and output.
pub(crate) fn working_bytes(id: u16, bytes: usize) -> usize {
    match id {
        BZIP2 => 4 << 20,
        // Blosc has three blocks, usually of 1 MiB at most.
        BLOSC => bytes.min(1 << 20) * 3,
        // A block can be as large as the chunk.
        LZ4 | BITSHUFFLE => bytes,
        _ => 0,
    }
}

fn lz4(data: &[u8], most: usize, unpack: Unpack) -> Result<Vec<u8>, String> {
    let mut blocks = Blocks::parse(data, most)?;
    let mut out = reserved(blocks.bytes)?;
    while out.len() < blocks.bytes {
        let count = blocks.block.min(blocks.bytes - out.len());
        let packed = blocks.packed()?;
        // A block that does not become smaller is stored uncompressed.
        match packed.len() == count {
            true => out.extend(packed),
            false => out.extend(exactly(count, unpack(Compression::Lz4Block, packed, count)?)?),
        }
    }
    Ok(out)
}

/// Stored blocks.
struct Blocks<'a> {
    rest: &'a [u8],
    /// The decoded bytes of all blocks.
    bytes: usize,
    /// The decoded bytes of each block, except the last.
    block: usize,
}

impl<'a> Blocks<'a> {
    /// Parses the header: the decoded size of all blocks in 8 bytes and of one block in 4 bytes, both big-endian.
    fn parse(data: &'a [u8], most: usize) -> Result<Blocks<'a>, String> {
        let (bytes, rest) = data.split_first_chunk().ok_or_else(ends)?;
        let (block, rest) = rest.split_first_chunk().ok_or_else(ends)?;
        let (bytes, block) = (u64::from_be_bytes(*bytes), u32::from_be_bytes(*block) as usize);
        let bytes = within(bytes, most)?;
        if block == 0 {
            return Err("blocks of 0 bytes".to_owned());
        }
        Ok(Blocks { rest, bytes, block })
    }

    /// Takes the next compressed block. Its size precedes it in 4 bytes, big-endian.
    fn packed(&mut self) -> Result<&'a [u8], String> {
        let size = self.take(4)?.first_chunk().map_or(0, |size| u32::from_be_bytes(*size));
        self.take(size as usize)
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(ends)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn ends() -> String {
    "ends too early".to_owned()
}

fn within(bytes: u64, most: usize) -> Result<usize, String> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= most);
    bytes.ok_or_else(|| format!("decodes to more than {most} bytes"))
}

fn reserved(bytes: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    out.try_reserve_exact(bytes).map_err(|_| format!("no memory for {bytes} bytes"))?;
    Ok(out)
}

fn exactly(bytes: usize, unpacked: Vec<u8>) -> Result<Vec<u8>, String> {
    match unpacked.len() {
        found if found == bytes => Ok(unpacked),
        found => Err(format!("a block has {found} bytes, expected {bytes}")),
    }
}

/// Undoes bitshuffle of a block, which stores the lowest bits of all elements, then their second bits, and so on.
fn unshuffle_bits(stored: &[u8], width: usize, out: &mut [u8]) {
    // The bytes for one bit of all elements.
    let row = stored.len() / (8 * width);
    for byte in 0..width {
        let rows: [&[u8]; 8] = std::array::from_fn(|bit| &stored[(8 * byte + bit) * row..][..row]);
        for (at, elements) in out.chunks_exact_mut(8 * width).enumerate() {
            let bits = transposed(u64::from_le_bytes(rows.map(|row| row[at])));
            for (element, value) in elements.chunks_exact_mut(width).zip(bits.to_le_bytes()) {
                element[byte] = value;
            }
        }
    }
}

/// Transposes a matrix of 8 x 8 bits, whose rows are the bytes.
fn transposed(mut bits: u64) -> u64 {
    // Swaps single bits, then squares of 2 x 2, then squares of 4 x 4.
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (bits ^ (bits >> distance)) & mask;
        bits ^= swapped ^ (swapped << distance);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes LZ4 blocks of up to 14 literal bytes.
    fn literals(compression: Compression, packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
        assert_eq!(compression, Compression::Lz4Block);
        let (token, bytes) = packed.split_first().ok_or("empty")?;
        assert_eq!(usize::from(token >> 4), bytes.len());
        if bytes.len() > most { Err("too many".to_owned()) } else { Ok(bytes.to_vec()) }
    }

    fn decoded(id: u16, client_data: &[u32], data: &[u8], most: usize) -> Result<Vec<u8>, String> {
        let filter = FilterDescription { id, name: None, client_data: client_data.to_vec() };
        undo(&filter, data, most, literals)
    }

    #[test]
    fn lz4_decodes_compressed_and_stored_blocks() {
        let header = |bytes: u8, block: u8| [0, 0, 0, 0, 0, 0, 0, bytes, 0, 0, 0, block];
        let blocks = b"\0\0\0\x03abc\0\0\0\x04\x30def\0\0\0\x01g";
        for (bytes, block, blocks, expected) in [
            (7, 3, &blocks[..], Ok(&b"abcdefg"[..])),
            (0, 3, b"", Ok(b"")),
            // A block may be larger than all data.
            (2, 9, b"\0\0\0\x02ab", Ok(b"ab")),
            (8, 3, blocks, Err("LZ4: decodes to more than 7 bytes")),
            (7, 0, blocks, Err("LZ4: blocks of 0 bytes")),
            (7, 3, &blocks[..17], Err("LZ4: ends too early")),
            (7, 3, b"\0\0\0\x03abc\xff\xff\xff\xffdef", Err("LZ4: ends too early")),
            (7, 4, b"\0\0\0\x03\x20ab", Err("LZ4: a block has 2 bytes, expected 4")),
        ] {
            let data = [&header(bytes, block)[..], blocks].concat();
            let expected = expected.map(<[u8]>::to_vec).map_err(str::to_owned);
            assert_eq!(decoded(LZ4, &[], &data, 7), expected, "{blocks:?}");
        }
        assert_eq!(decoded(LZ4, &[], &[0; 11], 7), Err("LZ4: ends too early".to_owned()));
    }

    #[test]
    fn bitshuffle_transposes_the_bits_of_eight_elements() {
        // The elements have the bits 0 and 8 set, 1 and 9, and so on. A ninth element is not transposed.
        let elements: Vec<u8> = (0..8).flat_map(|bit| [1 << bit, 1 << bit]).chain([7, 9]).collect();
        let stored = [
            &elements[..16].chunks(2).map(|pair| pair[0]).collect::<Vec<u8>>().repeat(2)[..],
            &[7, 9],
        ]
        .concat();
        assert_eq!(decoded(BITSHUFFLE, &[0, 2, 2], &stored, 18), Ok(elements));
        // One byte of each element: two blocks of eight elements, each of a block of literals.
        let packed = |block: &[u8]| [&[0, 0, 0, 9, 0x80][..], block].concat();
        let ones = packed(&[0xff, 0, 0, 0, 0, 0, 0, 0]);
        let data = [&[0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 8][..], &ones, &ones, &[5]].concat();
        let expected = [&[1; 16][..], &[5]].concat();
        assert_eq!(decoded(BITSHUFFLE, &[0, 2, 1, 0, 2], &data, 17), Ok(expected));
        let with = |at: usize, value: u8| {
            let mut data = data.clone();
            data[at] = value;
            data
        };
        for (client_data, data, why) in [
            (&[0, 2][..], &data[..], "the size of an element is not stated"),
            (&[0, 2, 1, 0, 1], &data, "the compression 1 is not supported"),
            (&[0, 2, 1, 4], &data[..8], "8 bytes in blocks of 4, with elements of 1 bytes"),
            (&[0, 2, 2, 0, 2], &data, "17 bytes in blocks of 8, with elements of 2 bytes"),
            (&[0, 2, u32::MAX, u32::MAX], &data[..9], "9 bytes in blocks of"),
            (&[0, 2, 1, 0, 2], &with(0, 1), "decodes to more than 17 bytes"),
            (&[0, 2, 1, 0, 2], &with(11, 0), "blocks of 0 bytes"),
            (&[0, 2, 1, 0, 2], &data[..38], "ends too early"),
            (&[0, 2, 1, 0, 2], &with(11, 16), "a block has 8 bytes, expected 16"),
        ] {
            let error = decoded(BITSHUFFLE, client_data, data, 17).unwrap_err();
            assert!(error.starts_with("bitshuffle: ") && error.contains(why), "{error}");
        }
    }
}
