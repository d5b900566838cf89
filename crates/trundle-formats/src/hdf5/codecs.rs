//! Converts between codecs and the filters of HDF5.

use trundle_hdf5::Filter;

use crate::codecs::Codec;
use crate::{ChunkFormat, Codecs, Encoding};

/// The level of deflate that replaces other compressors.
const LEVEL: u8 = 4;

const SHUFFLE: Codec = Codec::Shuffle { element_bytes: None };

/// Returns the encoding of chunks that are stored with these filters.
pub(super) fn encoding(filters: &[Filter]) -> Encoding {
    let has_deflate = filters.iter().any(|filter| matches!(filter, Filter::Deflate(_)));
    let mut kept = Kept { has_deflate, ..Kept::default() };
    for filter in filters {
        match filter {
            Filter::Shuffle => kept.codecs.push(SHUFFLE),
            Filter::Deflate(level) => kept.codecs.push(Codec::Deflate { level: *level }),
            Filter::Fletcher32 => kept.codecs.push(Codec::Fletcher32),
            Filter::OnlyRead(name) => kept.deflate(name, false),
            Filter::Plugin(name) => kept.deflate(name, true),
        }
    }
    kept.encoding()
}

/// Returns the encoding of an output for chunks of another format, with elements of `width` bytes. Codecs that HDF5
/// lacks are replaced. Strings of variable length have no checksums in HDF5.
pub(crate) fn replaced(encoding: &Encoding, width: usize, holds_texts: bool) -> Encoding {
    let has_deflate = encoding.codecs.0.iter().any(|codec| matches!(codec, Codec::Gzip { .. }));
    let not_kept = encoding.not_kept.clone();
    let mut kept = Kept { not_kept, has_deflate, ..Kept::default() };
    for codec in &encoding.codecs.0 {
        match codec {
            Codec::Crc32c if holds_texts => kept.not_kept.push(codec.to_string()),
            Codec::Crc32c => {
                kept.not_kept.push("crc32c (replaced by fletcher32)".to_owned());
                kept.codecs.push(Codec::Fletcher32);
            }
            Codec::Gzip { level } => kept.codecs.push(Codec::Deflate { level: *level }),
            Codec::Zstd { .. } => kept.deflate("zstd", true),
            Codec::Blosc { .. } => kept.deflate("blosc", true),
            Codec::Shuffle { element_bytes } => {
                if element_bytes.is_some_and(|bytes| bytes != width) {
                    kept.not_kept.push(format!("{codec} (replaced by {})", Codecs(vec![SHUFFLE])));
                }
                kept.codecs.push(SHUFFLE);
            }
            Codec::Deflate { .. } | Codec::Fletcher32 => kept.codecs.push(codec.clone()),
        }
    }
    kept.encoding()
}

#[derive(Default)]
struct Kept {
    codecs: Vec<Codec>,
    not_kept: Vec<String>,
    /// Whether deflate is one of the codecs, or will be.
    has_deflate: bool,
}

impl Kept {
    /// Replaces a compressor by deflate, with shuffle if `is_shuffled` is true. If there is deflate already, the
    /// compressor is left out.
    fn deflate(&mut self, name: &str, is_shuffled: bool) {
        if std::mem::replace(&mut self.has_deflate, true) {
            self.not_kept.push(name.to_owned());
            return;
        }
        let mut new = vec![Codec::Deflate { level: LEVEL }];
        if is_shuffled && !self.codecs.iter().any(|codec| matches!(codec, Codec::Shuffle { .. })) {
            new.insert(0, SHUFFLE);
        }
        let text = Codecs(new.clone());
        self.not_kept.push(format!("{name} (replaced by {text})"));
        self.codecs.extend(new);
    }

    fn encoding(self) -> Encoding {
        Encoding {
            format: ChunkFormat::Hdf5,
            shard: None,
            order: None,
            codecs: Codecs(self.codecs),
            not_kept: self.not_kept,
            not_written: None,
            as_written: false,
            decoding_bytes: 0,
        }
    }
}

/// Returns the filters of chunks with elements of `width` bytes.
///
/// # Errors
/// A message if HDF5 has no such filter.
pub(super) fn filters(codecs: &Codecs, width: usize) -> Result<Vec<Filter>, String> {
    let filter = |codec: &Codec| match codec {
        Codec::Shuffle { element_bytes: Some(bytes) } if *bytes != width => {
            Err(format!("its elements have {width} bytes, but {codec} shuffles {bytes}"))
        }
        Codec::Shuffle { .. } => Ok(Filter::Shuffle),
        Codec::Deflate { level } | Codec::Gzip { level } => Ok(Filter::Deflate(*level)),
        Codec::Fletcher32 => Ok(Filter::Fletcher32),
        _ => Err(format!("HDF5 has no codec {codec}: use deflate:4:shuffle, fletcher32, or none")),
    };
    codecs.0.iter().map(filter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_kept_or_replaced() {
        for (stored, codecs, not_kept) in [
            (&[][..], "none", &[][..]),
            (
                &[Filter::Shuffle, Filter::Deflate(9), Filter::Fletcher32],
                "shuffle,deflate:9,fletcher32",
                &[],
            ),
            (&[Filter::Fletcher32, Filter::Deflate(0)], "fletcher32,deflate:0", &[]),
            (
                &[Filter::Shuffle, Filter::OnlyRead("LZF")],
                "shuffle,deflate:4",
                &["LZF (replaced by deflate:4)"],
            ),
            (
                &[Filter::Plugin("Zstandard"), Filter::Fletcher32],
                "shuffle,deflate:4,fletcher32",
                &["Zstandard (replaced by shuffle,deflate:4)"],
            ),
            (
                &[Filter::Shuffle, Filter::Plugin("Blosc")],
                "shuffle,deflate:4",
                &["Blosc (replaced by deflate:4)"],
            ),
            (&[Filter::OnlyRead("n-bit"), Filter::Deflate(9)], "deflate:9", &["n-bit"]),
            (
                &[Filter::OnlyRead("n-bit"), Filter::OnlyRead("szip")],
                "deflate:4",
                &["n-bit (replaced by deflate:4)", "szip"],
            ),
        ] {
            let found = encoding(stored);
            assert_eq!(
                (found.codecs.to_string(), &found.not_kept[..]),
                (
                    codecs.to_owned(),
                    &not_kept.iter().map(ToString::to_string).collect::<Vec<_>>()[..]
                )
            );
            if not_kept.is_empty() {
                assert_eq!(filters(&found.codecs, 4).as_deref(), Ok(stored));
            }
        }
    }

    #[test]
    fn codecs_of_zarr_are_replaced() {
        for (stored, codecs, not_kept) in [
            ("none", "none", ""),
            ("gzip:6", "deflate:6", ""),
            ("zstd:3", "shuffle,deflate:4", "zstd (replaced by shuffle,deflate:4)"),
            ("shuffle:4,zstd:1", "shuffle,deflate:4", "zstd (replaced by deflate:4)"),
            ("shuffle:2,gzip:1", "shuffle,deflate:1", "shuffle:2 (replaced by shuffle)"),
            ("zstd:1,gzip:2", "deflate:2", "zstd"),
            (
                "blosc,crc32c",
                "shuffle,deflate:4,fletcher32",
                "blosc (replaced by shuffle,deflate:4), crc32c (replaced by fletcher32)",
            ),
        ] {
            let zarr = Encoding { codecs: stored.parse().unwrap(), ..encoding(&[]) };
            let found = replaced(&zarr, 4, false);
            assert_eq!(
                (&*found.codecs.to_string(), &*found.not_kept.join(", ")),
                (codecs, not_kept)
            );
            assert!(filters(&found.codecs, 4).is_ok());
        }
        let of_texts = Encoding { codecs: "gzip:1,crc32c".parse().unwrap(), ..encoding(&[]) };
        let of_texts = replaced(&of_texts, 1, true);
        assert_eq!(
            (&*of_texts.codecs.to_string(), of_texts.not_kept.join(",")),
            ("deflate:1", "crc32c".to_owned())
        );
        for (codecs, why) in
            [("zstd:3", "no codec zstd:3"), ("shuffle:2", "4 bytes, but shuffle:2 shuffles 2")]
        {
            assert!(filters(&codecs.parse().unwrap(), 4).unwrap_err().contains(why));
        }
    }
}
