//! The codecs of chunks.

use std::fmt;
use std::str::FromStr;

/// The codecs of a chunked tensor, in the order of encoding.
///
/// As text: `zstd:3`, `blosc:lz4:5:shuffle`, `gzip:6,crc32c`, `shuffle,deflate:4,fletcher32`, `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codecs(pub(crate) Vec<Codec>);

trundle_core::fingerprint!(struct Codecs(codecs));

/// A codec of Zarr version 3, or a filter of HDF5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Zstd {
        level: i32,
        checksum: bool,
    },
    Gzip {
        level: u8,
    },
    Blosc {
        /// One of [`BLOSC_COMPRESSORS`].
        compressor: String,
        level: u8,
        /// One of [`BLOSC_SHUFFLES`].
        shuffle: String,
        /// The size of a block in bytes; 0 if Blosc chooses it.
        block_bytes: usize,
        /// Blosc's type size in bytes, if it differs from the size of the tensor's elements.
        element_bytes: Option<usize>,
    },
    /// Stores the first bytes of all elements, then their second bytes, and so on.
    Shuffle {
        /// The bytes of an element, if they differ from the size of the tensor's elements.
        element_bytes: Option<usize>,
    },
    Crc32c,
    /// HDF5's zlib stream.
    Deflate {
        level: u8,
    },
    /// HDF5's checksum.
    Fletcher32,
}

trundle_core::fingerprint!(enum Codec {
    "zstd" Zstd { level, checksum },
    "gzip" Gzip { level },
    "blosc" Blosc { compressor, level, shuffle, block_bytes, element_bytes },
    "shuffle" Shuffle { element_bytes },
    "crc32c" Crc32c,
    "deflate" Deflate { level },
    "fletcher32" Fletcher32,
});

pub(crate) const BLOSC_COMPRESSORS: [&str; 6] =
    ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

pub(crate) const BLOSC_SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];

/// The lowest and the highest level of zstd; 0 stands for zstd's default level.
const ZSTD_LEVELS: (i32, i32) = (-131_072, 22);

/// The highest level of gzip and Blosc. Level 0 does not compress.
pub(crate) const MOST_LEVEL: u8 = 9;

/// The largest size in bytes of Blosc's blocks, and of the elements of shuffle. Chunks are not larger.
const MOST_BYTES: usize = i32::MAX as usize;

/// The container formats that store tensors in chunks, each with its own codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkFormat {
    /// Zarr stores.
    Zarr,
    /// HDF5 files, including netCDF-4.
    Hdf5,
}

trundle_core::fingerprint!(enum ChunkFormat { "zarr" Zarr, "hdf5" Hdf5 });

impl ChunkFormat {
    /// Returns the size of the largest default chunk in bytes.
    pub fn default_chunk_bytes(self) -> usize {
        match self {
            // Large enough for disks and codecs, small enough for partial reads.
            ChunkFormat::Zarr => 4 << 20,
            // The HDF5 library caches this much of a dataset by default.
            ChunkFormat::Hdf5 => 1 << 20,
        }
    }

    /// Returns the most chunks of a tensor. The index of more takes too much memory.
    pub fn most_chunks(self) -> u64 {
        match self {
            ChunkFormat::Zarr => u64::MAX,
            ChunkFormat::Hdf5 => 1 << 24,
        }
    }
}

impl Default for Codecs {
    /// Returns zstd at its default level, a good choice for unknown data.
    fn default() -> Codecs {
        Codecs(vec![Codec::Zstd { level: 3, checksum: false }])
    }
}

impl Codecs {
    /// Returns the same codecs, with the size of the elements in each shuffle: `width` bytes unless it states another.
    pub(crate) fn of_elements(&self, width: usize) -> Codecs {
        let codec = |codec: &Codec| match codec {
            Codec::Shuffle { element_bytes: None } => Codec::Shuffle { element_bytes: Some(width) },
            other => other.clone(),
        };
        Codecs(self.0.iter().map(codec).collect())
    }

    /// Returns whether chunks are stored without encoding.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of codecs.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the working memory in bytes of a thread that encodes chunks of `chunk_bytes` bytes, without its input
    /// and output.
    ///
    /// The numbers for zstd are `ZSTD_estimateCCtxSize` of zstd 1.5 for inputs of this size, rounded to whole MiB.
    pub fn encoding_bytes(&self, chunk_bytes: usize) -> usize {
        let of_codec = |codec: &Codec| -> usize {
            let of_blocks = blocks(codec, 3, chunk_bytes);
            let mib = match codec {
                Codec::Zstd { level, .. } => match level {
                    ..0 | 1..=2 => 1,
                    0 | 3 => 2,
                    4 => 3,
                    5..=9 => 13,
                    10..=16 => 65,
                    17..=19 => 82,
                    20 => 162,
                    21 => 322,
                    22.. => 650,
                },
                // Blosc uses the higher levels of zstd, in blocks of at most 2 MiB.
                Codec::Blosc { compressor, level, .. } if compressor == "zstd" => match level {
                    ..=2 => 3,
                    3..=5 => 13,
                    6.. => 40,
                },
                Codec::Gzip { .. } | Codec::Deflate { .. } | Codec::Blosc { .. } => 1,
                Codec::Shuffle { .. } | Codec::Crc32c | Codec::Fletcher32 => 0,
            };
            of_blocks.saturating_add(chunk_bytes.saturating_mul(48).min(mib << 20))
        };
        self.0.iter().map(of_codec).max().unwrap_or(0)
    }

    /// Returns the working memory in bytes of a thread that decodes chunks, without its input and output.
    pub fn decoding_bytes(&self, chunk_bytes: usize) -> usize {
        self.0.iter().map(|codec| blocks(codec, 3, chunk_bytes)).max().unwrap_or(0)
    }

    /// Estimates the time in picoseconds that one core takes to decode a byte of a chunk.
    ///
    /// Measured on a core of 2023 with numbers that compress by a quarter.
    pub fn decoding_picoseconds(&self) -> u64 {
        let of_codec = |codec: &Codec| match codec {
            Codec::Zstd { .. } => 1000,
            Codec::Gzip { .. } | Codec::Deflate { .. } => 4000,
            Codec::Blosc { compressor, .. } => match &compressor[..] {
                "zlib" => 1500,
                "zstd" => 600,
                _ => 250,
            },
            Codec::Shuffle { .. } | Codec::Fletcher32 => 300,
            Codec::Crc32c => 100,
        };
        self.0.iter().map(of_codec).sum()
    }

    /// Estimates the time in picoseconds that one core takes to encode a byte of a chunk, within a factor of four.
    pub fn encoding_picoseconds(&self) -> u64 {
        let of_level = |level: u8, [low, usual, high]: [u64; 3]| match level {
            0..=3 => low,
            4..=6 => usual,
            _ => high,
        };
        let of_codec = |codec: &Codec| match codec {
            Codec::Zstd { level, .. } => match level {
                ..0 | 1..=2 => 2000,
                0 | 3..=5 => 3500,
                6..=9 => 8000,
                10..=15 => 60_000,
                16.. => 300_000,
            },
            Codec::Gzip { level } | Codec::Deflate { level } => {
                of_level(*level, [18_000, 35_000, 100_000])
            }
            Codec::Blosc { compressor, level, .. } => match &compressor[..] {
                "zlib" => of_level(*level, [10_000, 20_000, 100_000]),
                "zstd" => of_level(*level, [1700, 8000, 130_000]),
                "lz4hc" => of_level(*level, [1800, 15_000, 40_000]),
                _ => 700,
            },
            Codec::Shuffle { .. } | Codec::Fletcher32 => 300,
            Codec::Crc32c => 100,
        };
        self.0.iter().map(of_codec).sum()
    }
}

/// Returns the bytes of `count` Blosc blocks, which Blosc allocates as working memory; 0 for other codecs.
fn blocks(codec: &Codec, count: usize, chunk_bytes: usize) -> usize {
    /// The largest block in bytes, unless `block_bytes` is larger.
    const MOST_BLOCK: usize = 1 << 20;
    match codec {
        Codec::Blosc { block_bytes, .. } => {
            let block = MOST_BLOCK.max(*block_bytes).min(chunk_bytes);
            block.saturating_mul(count)
        }
        _ => 0,
    }
}

impl fmt::Display for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (at, codec) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { "," } else { "" })?;
            codec.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Codec::Zstd { level, checksum: false } => write!(f, "zstd:{level}"),
            Codec::Zstd { level, checksum: true } => write!(f, "zstd:{level}:checksum"),
            Codec::Gzip { level } => write!(f, "gzip:{level}"),
            Codec::Blosc { compressor, level, shuffle, block_bytes, element_bytes } => {
                write!(f, "blosc:{compressor}:{level}:{shuffle}")?;
                match (block_bytes, element_bytes) {
                    (0, None) => Ok(()),
                    (bytes, None) => write!(f, ":{bytes}"),
                    (bytes, Some(element)) => write!(f, ":{bytes}:{element}"),
                }
            }
            Codec::Shuffle { element_bytes: Some(bytes) } => write!(f, "shuffle:{bytes}"),
            Codec::Shuffle { element_bytes: None } => f.write_str("shuffle"),
            Codec::Crc32c => f.write_str("crc32c"),
            Codec::Deflate { level } => write!(f, "deflate:{level}"),
            Codec::Fletcher32 => f.write_str("fletcher32"),
        }
    }
}

impl FromStr for Codecs {
    type Err = String;

    fn from_str(text: &str) -> Result<Codecs, String> {
        if text.trim() == "none" {
            return Ok(Codecs(Vec::new()));
        }
        let mut codecs = Vec::new();
        for part in text.split(',') {
            codecs.extend(Codec::parse(part.trim())?);
        }
        Ok(Codecs(codecs))
    }
}

impl Codec {
    /// Parses a codec, and shuffle before it if the text ends with it: `deflate:4:shuffle`.
    fn parse(text: &str) -> Result<Vec<Codec>, String> {
        let mut codecs = Vec::new();
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let codec = match name {
            "zstd" => Codec::Zstd {
                level: number(words.next(), "a level", ZSTD_LEVELS)?.unwrap_or(3),
                checksum: one_of(words.next(), &["checksum"])?.is_some(),
            },
            "gzip" => Codec::Gzip { level: number(words.next(), "a level", LEVELS)?.unwrap_or(5) },
            "blosc" => Codec::Blosc {
                compressor: one_of(words.next(), &BLOSC_COMPRESSORS)?.unwrap_or("lz4").to_owned(),
                level: number(words.next(), "a level", LEVELS)?.unwrap_or(5),
                shuffle: one_of(words.next(), &BLOSC_SHUFFLES)?.unwrap_or("shuffle").to_owned(),
                block_bytes: number(words.next(), "a block size", (0, MOST_BYTES))?.unwrap_or(0),
                element_bytes: number(words.next(), "an element size", (1, 255))?,
            },
            "shuffle" => Codec::Shuffle {
                element_bytes: number(words.next(), "an element size", (1, MOST_BYTES))?,
            },
            "crc32c" => Codec::Crc32c,
            "deflate" => {
                let level = number(words.next(), "a level", LEVELS)?.unwrap_or(4);
                let shuffle = one_of(words.next(), &["shuffle"])?;
                codecs.extend(shuffle.map(|_| Codec::Shuffle { element_bytes: None }));
                Codec::Deflate { level }
            }
            "fletcher32" => Codec::Fletcher32,
            "none" => return Err("none cannot be combined with other codecs".to_owned()),
            _ => {
                return Err(format!(
                    "\"{name}\" is not a codec: zstd:3, gzip:6, blosc:lz4:5:shuffle, crc32c, or none; in HDF5 \
                     deflate:4:shuffle, fletcher32, or none"
                ));
            }
        };
        match words.next() {
            None => {
                codecs.push(codec);
                Ok(codecs)
            }
            Some(word) => Err(format!("\"{word}\" is one value too many for {name}")),
        }
    }
}

const LEVELS: (u8, u8) = (0, MOST_LEVEL);

/// Parses a number within these limits, if there is a word.
fn number<T>(word: Option<&str>, what: &str, (least, most): (T, T)) -> Result<Option<T>, String>
where
    T: FromStr + PartialOrd + fmt::Display,
{
    let Some(word) = word else { return Ok(None) };
    let read = word.parse().ok().filter(|number| (&least..=&most).contains(&number));
    read.map(Some).ok_or_else(|| format!("\"{word}\" is not {what}: {least} to {most}"))
}

/// Checks that a word, if there is one, is in the list.
fn one_of<'a>(word: Option<&str>, known: &[&'a str]) -> Result<Option<&'a str>, String> {
    let Some(word) = word else { return Ok(None) };
    let found = known.iter().find(|known| **known == word);
    found.map(|found| Some(*found)).ok_or_else(|| format!("\"{word}\" is not {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_printed_as_they_were_parsed() {
        for text in [
            "none",
            "zstd:3",
            "zstd:-7:checksum",
            "gzip:0",
            "gzip:6,crc32c",
            "blosc:lz4:5:shuffle",
            "blosc:blosclz:9:noshuffle:65536",
            "blosc:zstd:1:bitshuffle:0:8",
            "shuffle:8,zstd:1",
            "shuffle,deflate:4,fletcher32",
        ] {
            assert_eq!(text.parse::<Codecs>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn omitted_parameters_have_defaults() {
        for (text, all) in [
            ("zstd", "zstd:3"),
            ("gzip", "gzip:5"),
            ("blosc", "blosc:lz4:5:shuffle"),
            ("blosc:zstd", "blosc:zstd:5:shuffle"),
            ("blosc:zstd:9", "blosc:zstd:9:shuffle"),
            (" gzip:1 , crc32c ", "gzip:1,crc32c"),
            ("deflate", "deflate:4"),
            ("deflate:9:shuffle,fletcher32", "shuffle,deflate:9,fletcher32"),
        ] {
            assert_eq!(text.parse::<Codecs>().unwrap(), all.parse().unwrap());
        }
        assert_eq!(Codecs::default(), "zstd".parse().unwrap());
    }

    #[test]
    fn wrong_codecs_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "\"\" is not a codec"),
            ("lzma", "\"lzma\" is not a codec: zstd:3, "),
            ("zstd:23", "\"23\" is not a level: -131072 to 22"),
            ("gzip:10", "\"10\" is not a level: 0 to 9"),
            ("gzip:six", "\"six\" is not a level"),
            ("gzip:-1", "\"-1\" is not a level"),
            ("gzip:6:7", "\"7\" is one value too many for gzip"),
            ("zstd:3:sum", "\"sum\" is not checksum"),
            ("blosc:gzip", "\"gzip\" is not blosclz, lz4, "),
            ("blosc:lz4:5:yes", "\"yes\" is not noshuffle, "),
            ("blosc:lz4:5:shuffle:0:256", "\"256\" is not an element size: 1 to 255"),
            ("deflate:10", "\"10\" is not a level: 0 to 9"),
            ("deflate:4:bitshuffle", "\"bitshuffle\" is not shuffle"),
            ("fletcher32:1", "\"1\" is one value too many for fletcher32"),
            ("zstd,none", "none cannot be combined with other codecs"),
        ] {
            let error = text.parse::<Codecs>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
