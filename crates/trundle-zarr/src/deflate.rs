//! Decodes and encodes whole buffers of zlib and gzip by libdeflate, in two thirds of flate2's time.
//!
//! libdeflate does not describe mistakes in data, and its Rust interface does not say where a stream ends. So the
//! decoders here return `None` for some data, and the caller decodes it by flate2.

use std::cell::Cell;
use std::io;

use libdeflater::{CompressionError, CompressionLvl, Compressor, Decompressor, crc32};
use memchr::memmem;

/// The bit of a gzip header's flags for a checksum of the header, which libdeflate does not check.
const HAS_HEADER_CRC: u8 = 1 << 1;

/// The most bytes that a byte of deflate becomes: two bits stand for up to 258 bytes.
const MOST_RATIO: usize = 1032;

thread_local! {
    /// The level and the encoder that this thread used last. An encoder has 700 KiB: a new one for each chunk would take
    /// a tenth more time for chunks of 64 KiB (measured).
    static LAST: Cell<Option<(u8, Compressor)>> = const { Cell::new(None) };
}

type Encode = fn(&mut Compressor, &[u8], &mut [u8]) -> Result<usize, CompressionError>;

/// Decodes a zlib stream, and ignores bytes after its end. Returns `None` if the data is damaged, or decodes to more
/// than `most` bytes.
pub fn zlib_decoded(encoded: &[u8], most: usize) -> Option<Vec<u8>> {
    decoded(encoded, most, zlib_decoded_into)
}

/// Decodes a zlib stream to `out` like [`zlib_decoded`]. Returns the number of decoded bytes.
pub fn zlib_decoded_into(encoded: &[u8], out: &mut [u8]) -> Option<usize> {
    Decompressor::new().zlib_decompress(encoded, out).ok()
}

/// Decodes a gzip member. Returns `None` if the data is damaged, decodes to more than `most` bytes, or does not end with
/// this member.
pub(crate) fn gzip_decoded(encoded: &[u8], most: usize) -> Option<Vec<u8>> {
    if encoded.get(3)? & HAS_HEADER_CRC != 0 {
        return None;
    }
    let bytes = decoded(encoded, most, |encoded, out| {
        Decompressor::new().gzip_decompress(encoded, out).ok()
    })?;
    // A member ends with the CRC-32 and the size of its bytes. If they are found only at the end, nothing follows.
    let end = [crc32(&bytes), bytes.len() as u32].map(u32::to_le_bytes);
    let end = end.as_flattened();
    (memmem::find(encoded, end)? + end.len() == encoded.len()).then_some(bytes)
}

fn decoded(
    encoded: &[u8],
    most: usize,
    decode: fn(&[u8], &mut [u8]) -> Option<usize>,
) -> Option<Vec<u8>> {
    let most = most.min(encoded.len().saturating_mul(MOST_RATIO));
    let mut out = Vec::new();
    out.try_reserve_exact(most).ok()?;
    out.resize(most, 0);
    let bytes = decode(encoded, &mut out)?;
    out.truncate(bytes);
    Some(out)
}

/// Encodes bytes as a zlib stream, at a level of 0 to 9.
///
/// # Errors
/// If the memory is not enough, or the level is higher than 12.
pub fn zlib_encoded(bytes: &[u8], level: u8) -> io::Result<Vec<u8>> {
    encoded(bytes, level, Compressor::zlib_compress_bound, Compressor::zlib_compress)
}

/// Encodes bytes as a gzip member, at a level of 0 to 9.
///
/// # Errors
/// If the memory is not enough, or the level is higher than 12.
pub(crate) fn gzip_encoded(bytes: &[u8], level: u8) -> io::Result<Vec<u8>> {
    encoded(bytes, level, Compressor::gzip_compress_bound, Compressor::gzip_compress)
}

fn encoded(
    bytes: &[u8],
    level: u8,
    most: fn(&mut Compressor, usize) -> usize,
    encode: Encode,
) -> io::Result<Vec<u8>> {
    let mut encoder = match LAST.take() {
        Some((last, encoder)) if last == level => encoder,
        _ => {
            let level = CompressionLvl::new(level.into());
            Compressor::new(level.map_err(|_| io::ErrorKind::InvalidInput)?)
        }
    };
    let most = most(&mut encoder, bytes.len());
    let mut out = Vec::new();
    out.try_reserve_exact(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
    out.resize(most, 0);
    let found = encode(&mut encoder, bytes, &mut out).map_err(io::Error::other)?;
    out.truncate(found);
    LAST.set(Some((level, encoder)));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::{GzDecoder, ZlibDecoder};
    use flate2::{Compression, GzBuilder};

    use super::*;

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * at / 7 % 251) as u8).collect()
    }

    #[test]
    fn other_decoders_read_every_level() {
        for count in [0, 1, 40, 1000, 300_000] {
            let bytes = bytes(count);
            for level in 0..10 {
                let (zlib, gzip) =
                    (zlib_encoded(&bytes, level).unwrap(), gzip_encoded(&bytes, level).unwrap());
                let (mut of_zlib, mut of_gzip) = (Vec::new(), Vec::new());
                ZlibDecoder::new(&zlib[..]).read_to_end(&mut of_zlib).unwrap();
                GzDecoder::new(&gzip[..]).read_to_end(&mut of_gzip).unwrap();
                assert!(of_zlib == bytes && of_gzip == bytes, "{count} bytes, level {level}");
                assert!(zlib_decoded(&zlib, count).is_some_and(|decoded| decoded == bytes));
                // The end of an empty member, 8 zeros, follows another zero.
                let decoded = gzip_decoded(&gzip, count);
                assert!(count == 0 || decoded.is_some_and(|decoded| decoded == bytes));
                let is_stored = zlib.len() > count;
                assert!(is_stored || level > 0, "{count} bytes, level {level}");
            }
        }
        assert!(zlib_encoded(&[], 13).is_err());
    }

    #[test]
    fn only_a_single_member_of_gzip_is_decoded() {
        let bytes = bytes(100);
        let member = |header: GzBuilder| {
            let mut encoded = Vec::new();
            header.read(&bytes[..], Compression::default()).read_to_end(&mut encoded).unwrap();
            encoded
        };
        let plain = member(GzBuilder::new());
        let named = member(GzBuilder::new().filename("x").extra("abc").comment("y"));
        let decoded = |encoded: &[u8]| gzip_decoded(encoded, 1000);
        assert_eq!((decoded(&plain), decoded(&named)), (Some(bytes.clone()), Some(bytes.clone())));
        let empty = gzip_encoded(&[], 6).unwrap();
        for after in [&plain[..], &named, &empty, &[0], &[0; 8], &plain[..plain.len() - 8]] {
            assert_eq!(decoded(&[&plain, after].concat()), None, "{after:?}");
        }
        // A member whose header has a checksum, which is wrong.
        let mut checked = plain.clone();
        checked[3] |= HAS_HEADER_CRC;
        checked.splice(10..10, [0; 2]);
        assert_eq!(decoded(&checked), None);
    }
}
