//! Converts between codecs and the metadata for codecs of Zarr version 3.

use serde_json::{Value, json};

use crate::codecs::{BLOSC_COMPRESSORS, BLOSC_SHUFFLES, Codec, MOST_LEVEL};
use crate::{ChunkFormat, Codecs, Encoding};

/// Returns the encoding with the codecs that an output can keep: compression and checksums, which are lossless in any
/// order of elements. `width` is the bytes of an element.
///
/// The other codecs are listed by name, with their replacement if there is one.
pub(super) fn encoding(
    stored: &[Value],
    shard: Option<Vec<usize>>,
    order: Option<Vec<usize>>,
    width: usize,
) -> Encoding {
    let (mut kept, mut not_kept, mut as_written) = (Vec::new(), Vec::new(), true);
    let (mut decoding_bytes, mut not_written) = (0, None);
    for codec in stored {
        let name = codec["name"].as_str().unwrap_or_default();
        if name == "numcodecs.bz2" {
            decoding_bytes = BZ2_BYTES;
        }
        match name {
            // Byte order and element order are part of the movement; see `order`.
            "bytes" => as_written &= codec["configuration"]["endian"] != "big",
            "transpose" => as_written = false,
            _ => match kept_codec(name, &codec["configuration"], width) {
                Some((codec, None)) => kept.push(codec),
                Some((codec, Some(replacement))) => {
                    as_written = false;
                    if name == LZ4 {
                        not_written.get_or_insert_with(|| format!("its codec {name} is only read"));
                    }
                    not_kept.push(format!("{name} (replaced by {replacement})"));
                    kept.push(codec);
                }
                None => {
                    as_written = false;
                    let why = "loses information, or is only read";
                    not_written.get_or_insert_with(|| format!("its codec {name} {why}"));
                    not_kept.push(name.to_owned());
                }
            },
        }
    }
    let (format, codecs) = (ChunkFormat::Zarr, Codecs(kept));
    Encoding { format, shard, order, codecs, not_kept, not_written, as_written, decoding_bytes }
}

/// A codec that trundle only reads.
const LZ4: &str = "numcodecs.lz4";

pub(super) fn decoding_picoseconds(stored: &[Value], encoding: &Encoding) -> u64 {
    let not_kept = match stored.iter().any(|codec| codec["name"] == "numcodecs.bz2") {
        true => BZ2_PICOSECONDS,
        false => 0,
    };
    encoding.codecs.decoding_picoseconds() + not_kept
}

/// The decoding time of bzip2 in picoseconds per byte, measured as for [`Codecs::decoding_picoseconds`].
const BZ2_PICOSECONDS: u64 = 35_000;

/// The bytes of memory for decoding bzip2: four for each byte of a block of 900,000 bytes, and tables.
const BZ2_BYTES: usize = 4 << 20;

/// Returns the codec to write for a stored one, and its name if it is another one.
fn kept_codec(
    name: &str,
    configuration: &Value,
    width: usize,
) -> Option<(Codec, Option<&'static str>)> {
    let size = |key: &str| usize::try_from(configuration[key].as_u64()?).ok();
    let level =
        |key: &str| u8::try_from(configuration[key].as_u64()?).ok().filter(|it| *it <= MOST_LEVEL);
    let one_of = |key: &str, known: &[&str]| {
        let found = configuration[key].as_str().filter(|name| known.contains(name));
        found.map(str::to_owned)
    };
    let codec = match name {
        "zstd" => Codec::Zstd {
            level: i32::try_from(configuration["level"].as_i64()?).ok()?,
            checksum: configuration["checksum"].as_bool().unwrap_or(false),
        },
        "gzip" => Codec::Gzip { level: level("level")? },
        "blosc" => {
            let shuffle = one_of("shuffle", &BLOSC_SHUFFLES).unwrap_or("noshuffle".to_owned());
            let element_bytes = size("typesize").filter(|bytes| *bytes != of_blosc(width));
            Codec::Blosc {
                compressor: one_of("cname", &BLOSC_COMPRESSORS)?,
                level: level("clevel")?,
                shuffle,
                block_bytes: size("blocksize").unwrap_or(0),
                element_bytes,
            }
        }
        "crc32c" => Codec::Crc32c,
        "numcodecs.shuffle" => {
            let element_bytes = size("elementsize").filter(|bytes| *bytes > 0)?;
            Codec::Shuffle { element_bytes: Some(element_bytes) }
        }
        // The same compressed data with another header and trailer. Version 3 has only gzip.
        "numcodecs.zlib" => {
            return Some((Codec::Gzip { level: level("level")? }, Some("gzip of the same level")));
        }
        "numcodecs.fletcher32" | "numcodecs.adler32" | "numcodecs.crc32" => {
            return Some((Codec::Crc32c, Some("crc32c")));
        }
        // The most similar codecs of version 3.
        LZ4 => {
            let (compressor, shuffle) = ("lz4".to_owned(), "noshuffle".to_owned());
            let (level, block_bytes, element_bytes) = (5, 0, None);
            let codec = Codec::Blosc { compressor, level, shuffle, block_bytes, element_bytes };
            return Some((codec, Some("blosc of lz4")));
        }
        "numcodecs.bz2" => {
            return Some((Codec::Zstd { level: 9, checksum: false }, Some("zstd of level 9")));
        }
        _ => return None,
    };
    Some((codec, None))
}

/// Returns Blosc's type size, a field of 8 bits, for an element of `width` bytes.
fn of_blosc(width: usize) -> usize {
    if width <= 255 { width } else { 1 }
}

/// Checks that the codecs fit chunks of `chunk_bytes` bytes.
///
/// # Errors
/// Returns a message with the reason if they do not.
pub(super) fn check(codecs: &Codecs, chunk_bytes: usize) -> Result<(), String> {
    for codec in &codecs.0 {
        match codec {
            Codec::Shuffle { element_bytes: Some(bytes) }
                if !chunk_bytes.is_multiple_of(*bytes) =>
            {
                return Err(format!(
                    "its chunks of {chunk_bytes} bytes are not a multiple of shuffle's element size {bytes}"
                ));
            }
            Codec::Deflate { .. } | Codec::Fletcher32 => {
                return Err(format!(
                    "Zarr has no codec {codec}: use gzip instead of deflate, crc32c instead of fletcher32"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn to_metadata(codecs: &Codecs, width: usize) -> Vec<Value> {
    let metadata = |codec: &Codec| match codec {
        Codec::Zstd { level, checksum } => {
            json!({"name": "zstd", "configuration": {"level": level, "checksum": checksum}})
        }
        Codec::Gzip { level } => json!({"name": "gzip", "configuration": {"level": level}}),
        Codec::Blosc { compressor, level, shuffle, block_bytes, element_bytes } => {
            let element_bytes = element_bytes.unwrap_or(of_blosc(width));
            json!({"name": "blosc", "configuration": {
                "cname": compressor, "clevel": level, "shuffle": shuffle,
                "typesize": element_bytes, "blocksize": block_bytes,
            }})
        }
        Codec::Shuffle { element_bytes } => {
            let element_bytes = element_bytes.unwrap_or(width);
            json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": element_bytes}})
        }
        Codec::Crc32c => json!({"name": "crc32c"}),
        // `check` refuses the filters of HDF5.
        Codec::Deflate { .. } | Codec::Fletcher32 => Value::Null,
    };
    codecs.0.iter().map(metadata).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_codecs_are_kept() {
        for text in [
            "none",
            "zstd:-7:checksum",
            "gzip:6,crc32c",
            "blosc:lz4:5:shuffle",
            "blosc:zlib:9:bitshuffle:65536:2",
            "shuffle:8,zstd:0",
        ] {
            let codecs: Codecs = text.parse().unwrap();
            let found = encoding(&to_metadata(&codecs, 4), None, None, 4);
            assert_eq!((&found.codecs, found.as_written), (&codecs, true), "{text}");
            assert!(found.not_kept.is_empty(), "{:?}", found.not_kept);
        }
    }

    #[test]
    fn codecs_that_are_not_kept_are_named() {
        let of = |codecs: Value| {
            let Value::Array(codecs) = codecs else { panic!("a list") };
            let found = encoding(&codecs, None, None, 4);
            (found.codecs.to_string(), found.not_kept, found.as_written)
        };
        let order = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
        let bytes = |endian: &str| json!({"name": "bytes", "configuration": {"endian": endian}});
        assert_eq!(of(json!([order, bytes("little")])), ("none".to_owned(), vec![], false));
        assert_eq!(of(json!([bytes("big")])), ("none".to_owned(), vec![], false));
        assert_eq!(of(json!([bytes("little")])), ("none".to_owned(), vec![], true));
        let zlib = json!({"name": "numcodecs.zlib", "configuration": {"level": 7}});
        let replacement = "numcodecs.zlib (replaced by gzip of the same level)".to_owned();
        assert_eq!(
            of(json!([bytes("little"), zlib])),
            ("gzip:7".to_owned(), vec![replacement], false)
        );
        for (name, kept, replacement) in [
            ("numcodecs.lz4", "blosc:lz4:5:noshuffle", "blosc of lz4"),
            ("numcodecs.bz2", "zstd:9", "zstd of level 9"),
            ("numcodecs.adler32", "crc32c", "crc32c"),
        ] {
            let not_kept = vec![format!("{name} (replaced by {replacement})")];
            let codec = json!({"name": name, "configuration": {}});
            assert_eq!(of(json!([bytes("little"), codec])), (kept.to_owned(), not_kept, false));
        }
        let scale = json!({"name": "fixedscaleoffset", "configuration": {"scale": 10}});
        let not_kept = vec!["fixedscaleoffset".to_owned()];
        assert_eq!(of(json!([scale, bytes("little")])), ("none".to_owned(), not_kept, false));
    }
}
