//! Decompresses strips and tiles.

use std::io::Read;

use flate2::read::ZlibDecoder;
use weezl::LzwStatus;

use crate::stored_dtype::ByteOrder;

/// A compression that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Compression {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstd,
}

/// The names of compressions that are not read.
const UNREAD: [(u64, &str); 16] = [
    (2, "CCITT RLE"),
    (3, "CCITT fax 3"),
    (4, "CCITT fax 4"),
    (6, "JPEG"),
    (7, "JPEG"),
    (32_771, "CCITT RLE"),
    (33_003, "JPEG 2000"),
    (33_005, "JPEG 2000"),
    (34_676, "SGI LogLuv"),
    (34_677, "SGI LogLuv"),
    (34_712, "JPEG 2000"),
    (34_887, "LERC"),
    (34_925, "LZMA"),
    (50_001, "WebP"),
    (50_002, "JPEG XL"),
    (52_546, "JPEG XL"),
];

impl Compression {
    /// Returns the compression with this number.
    ///
    /// # Errors
    /// A message if it is not read.
    pub(super) fn of(number: u64) -> Result<Compression, String> {
        match number {
            1 => Ok(Compression::None),
            5 => Ok(Compression::Lzw),
            8 | 32_946 => Ok(Compression::Deflate),
            32_773 => Ok(Compression::PackBits),
            34_926 | 50_000 if cfg!(feature = "zarr") => Ok(Compression::Zstd),
            34_926 | 50_000 => Err("this build of trundle cannot decompress zstd".to_owned()),
            _ => {
                let name = UNREAD.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
                let name =
                    name.map_or_else(|| format!("{number}"), |name| format!("{number} ({name})"));
                Err(format!(
                    "compression {name} is not read: save the file with deflate, LZW or zstd"
                ))
            }
        }
    }

    /// Returns the most bytes that an encoded byte can become, which tells bombs from data.
    pub(super) fn most_ratio(self) -> u64 {
        match self {
            Compression::None => 1,
            Compression::PackBits => 64,
            Compression::Deflate => 1032,
            // A code of 12 bits stands for at most 4096 bytes.
            Compression::Lzw => 2731,
            // A block of 3 bytes and one value, with 128 KiB.
            Compression::Zstd => 1 << 15,
        }
    }

    /// Returns the most bytes that are useful to encode `bytes` bytes.
    pub(super) fn most_stored(self, bytes: u64) -> u64 {
        let more = match self {
            Compression::None => return bytes,
            Compression::PackBits => bytes,
            // A code of 12 bits stands for at least one byte.
            Compression::Lzw => bytes / 2,
            Compression::Deflate | Compression::Zstd => bytes / 8,
        };
        bytes.saturating_add(more).saturating_add(4 << 10)
    }

    /// Estimates the time in picoseconds that one core takes to decode a byte.
    pub(super) fn decoding_picoseconds(self) -> u64 {
        match self {
            Compression::None => 0,
            Compression::PackBits => 500,
            Compression::Zstd => 1000,
            Compression::Deflate => 4000,
            Compression::Lzw => 5000,
        }
    }

    /// Decompresses `encoded` until `out` is full.
    ///
    /// # Errors
    /// A message if the data is damaged or too short.
    pub(super) fn decode(self, encoded: &[u8], out: &mut [u8]) -> Result<(), String> {
        let got = match self {
            Compression::None => {
                let got = encoded.len().min(out.len());
                out[..got].copy_from_slice(&encoded[..got]);
                got
            }
            Compression::Lzw => lzw(encoded, out)?,
            Compression::Deflate => deflate(encoded, out).map_err(|error| error.to_string())?,
            Compression::PackBits => pack_bits(encoded, out),
            Compression::Zstd => zstd(encoded, out)?,
        };
        match got < out.len() {
            true => Err(format!("{got} bytes, expected {}", out.len())),
            false => Ok(()),
        }
    }
}

fn deflate(encoded: &[u8], out: &mut [u8]) -> std::io::Result<usize> {
    #[cfg(feature = "zarr")]
    if let Some(got) = trundle_zarr::zlib_decoded_into(encoded, out) {
        return Ok(got);
    }
    // This takes longer, but finds the mistake in damaged data, and stops where `out` is full.
    let mut decoder = ZlibDecoder::new(encoded);
    let mut got = 0;
    while got < out.len() {
        match decoder.read(&mut out[got..])? {
            0 => return Ok(got),
            read => got += read,
        }
    }
    // The checksum is compared at the end.
    decoder.read(&mut [0]).map(|_| got)
}

fn lzw(encoded: &[u8], out: &mut [u8]) -> Result<usize, String> {
    if let [0, second, ..] = encoded
        && second & 1 == 1
    {
        return Err("LZW of TIFF before version 6 is not read".to_owned());
    }
    let decoder = weezl::decode::Configuration::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
    let mut decoder = decoder.with_yield_on_full_buffer(true).build();
    let (mut read, mut got) = (0, 0);
    while got < out.len() {
        let step = decoder.decode_bytes(&encoded[read..], &mut out[got..]);
        (read, got) = (read + step.consumed_in, got + step.consumed_out);
        match step.status.map_err(|error| error.to_string())? {
            LzwStatus::Ok => {}
            LzwStatus::NoProgress | LzwStatus::Done => break,
        }
    }
    Ok(got)
}

fn pack_bits(mut encoded: &[u8], out: &mut [u8]) -> usize {
    let mut got = 0;
    while let [head, rest @ ..] = encoded
        && got < out.len()
    {
        let left = out.len() - got;
        match head.cast_signed() {
            // It stands for nothing.
            i8::MIN => encoded = rest,
            repeats @ ..0 => {
                let [byte, rest @ ..] = rest else { break };
                let count = (1 - isize::from(repeats)) as usize;
                out[got..][..count.min(left)].fill(*byte);
                (got, encoded) = (got + count.min(left), rest);
            }
            literals => {
                let count = (literals as usize + 1).min(rest.len());
                let taken = count.min(left);
                out[got..][..taken].copy_from_slice(&rest[..taken]);
                (got, encoded) = (got + taken, &rest[count..]);
            }
        }
    }
    got
}

#[cfg(feature = "zarr")]
fn zstd(encoded: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let decoded = trundle_zarr::CompressionFormat::Zstd.unpack(encoded, out.len())?;
    out[..decoded.len()].copy_from_slice(&decoded);
    Ok(decoded.len())
}

#[cfg(not(feature = "zarr"))]
fn zstd(_: &[u8], _: &mut [u8]) -> Result<usize, String> {
    Err("this build of trundle cannot decompress zstd".to_owned())
}

/// How elements are changed before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Predictor {
    None,
    /// Each integer is stored as the difference from the same sample of the previous pixel.
    Horizontal,
    /// The bytes of the floats of a row are sorted by significance, and stored as differences.
    Float,
}

impl Predictor {
    /// Returns the predictor with this number for elements of the type `dtype`.
    ///
    /// # Errors
    /// A message if it is not read.
    pub(super) fn of(number: u64, dtype: &str) -> Result<Predictor, String> {
        match (number, &dtype[1..2]) {
            (1, _) => Ok(Predictor::None),
            (2, "u" | "i" | "f") => Ok(Predictor::Horizontal),
            (3, "f") => Ok(Predictor::Float),
            (2 | 3, _) => {
                Err(format!("predictor {number} of elements of type {dtype} is not read"))
            }
            _ => Err(format!("predictor {number} is not read")),
        }
    }

    /// Restores the elements of a row. A pixel has `samples` elements of `width` bytes.
    pub(super) fn restore(self, row: &mut [u8], samples: usize, width: usize, order: ByteOrder) {
        match (self, width) {
            (Predictor::None, _) => {}
            (Predictor::Float, _) => restore_floats(row, samples, width, order),
            (Predictor::Horizontal, 1) => add_previous(row, samples),
            (Predictor::Horizontal, 2) => add_previous_of::<2>(row, samples, order),
            (Predictor::Horizontal, 4) => add_previous_of::<4>(row, samples, order),
            (Predictor::Horizontal, _) => add_previous_of::<8>(row, samples, order),
        }
    }
}

/// Adds to each integer of `N` bytes the one `distance` integers before it.
fn add_previous_of<const N: usize>(row: &mut [u8], distance: usize, order: ByteOrder) {
    let number = |mut bytes: [u8; N]| {
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&bytes);
        u64::from_le_bytes(wide)
    };
    let (elements, _) = row.as_chunks_mut::<N>();
    for at in distance..elements.len() {
        let sum = number(elements[at]).wrapping_add(number(elements[at - distance]));
        elements[at].copy_from_slice(&sum.to_le_bytes()[..N]);
        if order == ByteOrder::Big {
            elements[at].reverse();
        }
    }
}

fn add_previous(bytes: &mut [u8], distance: usize) {
    for at in distance..bytes.len() {
        bytes[at] = bytes[at].wrapping_add(bytes[at - distance]);
    }
}

fn restore_floats(row: &mut [u8], samples: usize, width: usize, order: ByteOrder) {
    add_previous(row, samples);
    let (sorted, count) = (row.to_vec(), row.len() / width);
    for (at, element) in row.chunks_exact_mut(width).enumerate() {
        for (rank, byte) in element.iter_mut().enumerate() {
            // The most significant bytes are the first ones.
            let rank = if order == ByteOrder::Little { width - 1 - rank } else { rank };
            *byte = sorted[rank * count + at];
        }
    }
}
