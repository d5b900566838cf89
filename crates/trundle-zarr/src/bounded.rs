//! Codecs that never decode to more bytes than a chunk has.
//!
//! A few bytes of zstd or Blosc can claim to decode to 2^60 bytes, and zarrs reserves the claimed size. gzip can expand
//! a thousandfold, and zarrs decodes all of it before it checks the size. [`Bounded`] wraps each codec and limits the
//! decoded size. It is registered under the codec's own name, because zarrs prefers registered codecs to its own.

use std::borrow::Cow;
use std::hint::black_box;
use std::io::Read;
use std::sync::{Arc, Once};

use flate2::Crc;
use serde_json::Value;
use zarrs::array::codec::api::{
    BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecPluginV2,
    CodecRuntimePluginV2, CodecRuntimePluginV3, CodecTraits, CodecTraitsV2,
    PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency, register_codec_v2,
    register_codec_v3,
};
use zarrs::array::codec::{
    BloscCodec, BloscCodecConfiguration, Bz2Codec, Bz2CodecConfiguration, GzipCodec,
    GzipCodecConfiguration, ZlibCodec, ZlibCodecConfiguration, ZstdCodec, ZstdCodecConfiguration,
    blosc_decompress_bytes, blosc_validate,
};
use zarrs::array::{ArrayBytesRaw, BytesRepresentation, CodecOptions};
use zarrs::metadata::Configuration;
use zarrs::metadata::v2::MetadataV2;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion, impl_extension_aliases};
use zstd::zstd_safe::WriteBuf;

use crate::deflate::{gzip_decoded, gzip_encoded, zlib_decoded, zlib_encoded};

#[derive(Debug)]
struct Bounded {
    /// The codec of zarrs; `None` for formats that zarrs lacks.
    inner: Option<Arc<dyn BytesToBytesCodecTraits>>,
    kind: CompressionFormat,
    /// The level, if the codec has one.
    level: Option<u8>,
}

/// A format of compressed data.
#[derive(Clone, Copy, Debug)]
pub enum CompressionFormat {
    /// Frames of Zstandard.
    Zstd,
    /// Members of gzip.
    Gzip,
    /// A zlib stream.
    Zlib,
    /// Streams of bzip2.
    Bz2,
    /// A buffer of Blosc 1.
    Blosc,
    /// An LZ4 block without a header.
    Lz4Block,
    /// The codec of numcodecs that zarrs lacks: the decoded size in 4 bytes, then one LZ4 block. It is only decoded,
    /// because Zarr version 3 does not have it. Its only parameter, the acceleration, has no effect on decoding.
    Lz4,
    /// The codec of numcodecs with the CRC-32 of the bytes in 4 bytes before or after them. It is only decoded.
    Crc32 {
        /// Whether the checksum follows the bytes.
        is_at_end: bool,
    },
    /// The codec of numcodecs for booleans: the number of unused bits, then the booleans as bits, the highest first. It
    /// is only decoded.
    PackedBits,
}

/// The error message of zstd if the decoded bytes do not fit into the buffer.
const FULL: &str = "Destination buffer is too small";

/// The length of Blosc's header in bytes. The bytes 4 to 7 are the decoded size, and the bytes 8 to 11 the size of a
/// block.
const BLOSC_HEADER: usize = 16;

impl CompressionFormat {
    /// Decodes `encoded` to at most `most` bytes. More bytes are refused before memory for them is allocated.
    ///
    /// # Errors
    /// Returns a message if the data has more bytes or is damaged.
    pub fn unpack(self, encoded: &[u8], most: usize) -> Result<Vec<u8>, String> {
        self.decode(encoded, most as u64).map_err(|error| error.to_string())
    }

    fn decode(self, encoded: &[u8], most: u64) -> Result<Vec<u8>, CodecError> {
        let too_many = || too_many(most);
        // Reserve the exact size: a vector that grows would need up to three times as much memory.
        let room = |bytes: u64| {
            let mut room: Vec<u8> = Vec::new();
            let reserved = room.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
            reserved.map_err(|_| CodecError::Other(format!("no memory for {bytes} bytes")))?;
            Ok::<_, CodecError>(room)
        };
        let read = |reader: &mut dyn Read| {
            let mut unpacked = room(most.saturating_add(1))?;
            reader.take(most.saturating_add(1)).read_to_end(&mut unpacked)?;
            if unpacked.len() as u64 > most { Err(too_many()) } else { Ok(unpacked) }
        };
        let most_in_memory = usize::try_from(most).unwrap_or(usize::MAX);
        match self {
            // Decode in one call: a streaming decoder keeps a window of up to 128 MiB.
            CompressionFormat::Zstd => {
                let mut unpacked = room(most)?;
                unpack_zstd(encoded, most, &mut unpacked)?;
                Ok(unpacked)
            }
            // flate2 takes longer, but it finds the mistake in damaged data, and decodes several members.
            CompressionFormat::Gzip => gzip_decoded(encoded, most_in_memory)
                .map_or_else(|| read(&mut flate2::read::MultiGzDecoder::new(encoded)), Ok),
            CompressionFormat::Zlib => zlib_decoded(encoded, most_in_memory)
                .map_or_else(|| read(&mut flate2::read::ZlibDecoder::new(encoded)), Ok),
            CompressionFormat::Bz2 => read(&mut bzip2::read::MultiBzDecoder::new(encoded)),
            CompressionFormat::Blosc => {
                let too_short = || CodecError::Other("is too short for Blosc".to_owned());
                let head = encoded.first_chunk::<BLOSC_HEADER>().ok_or_else(too_short)?;
                let claimed = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
                if u64::from(claimed) > most {
                    return Err(too_many());
                }
                let damaged = || CodecError::Other("is not a buffer of Blosc".to_owned());
                let bytes = blosc_validate(encoded).ok_or_else(damaged)?;
                // Blosc ends the process if there is no memory for the result and three blocks.
                let block = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
                black_box(room(u64::from(claimed) + 3 * u64::from(block.min(claimed)))?);
                blosc_decompress_bytes(encoded, bytes, 1)
                    .map_err(|error| CodecError::Other(error.to_string()))
            }
            CompressionFormat::Lz4Block => {
                let mut unpacked = room(most)?;
                unpacked.resize(most as usize, 0);
                let found = lz4_flex::block::decompress_into(encoded, &mut unpacked)
                    .map_err(|error| CodecError::Other(format!("lz4: {error}")))?;
                unpacked.truncate(found);
                Ok(unpacked)
            }
            CompressionFormat::Crc32 { is_at_end } => {
                let too_short = || CodecError::Other("is too short for a CRC-32".to_owned());
                let (checksum, bytes) = match is_at_end {
                    true => encoded.split_last_chunk().map(|(bytes, checksum)| (checksum, bytes)),
                    false => encoded.split_first_chunk(),
                }
                .ok_or_else(too_short)?;
                let mut found = Crc::new();
                found.update(bytes);
                match found.sum() == u32::from_le_bytes(*checksum) {
                    true if bytes.len() as u64 <= most => Ok(bytes.to_vec()),
                    true => Err(too_many()),
                    false => Err(CodecError::Other("its CRC-32 is wrong".to_owned())),
                }
            }
            CompressionFormat::PackedBits => {
                let (unused, bits) = encoded.split_first().unwrap_or((&0, &[]));
                let count = (8 * bits.len() as u64).checked_sub((*unused).into());
                if count != Some(most) || *unused > 7 {
                    return Err(CodecError::Other(format!("does not have {most} bits")));
                }
                let mut unpacked = room(8 * bits.len() as u64)?;
                let bits =
                    bits.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
                unpacked.extend(bits.take(most as usize));
                Ok(unpacked)
            }
            CompressionFormat::Lz4 => {
                let too_short = || CodecError::Other("is too short for lz4".to_owned());
                let (claimed, block) = encoded.split_first_chunk().ok_or_else(too_short)?;
                let claimed = u64::from(u32::from_le_bytes(*claimed));
                if claimed > most {
                    return Err(too_many());
                }
                let unpacked = CompressionFormat::Lz4Block.decode(block, claimed)?;
                match unpacked.len() {
                    found if found as u64 == claimed => Ok(unpacked),
                    found => Err(CodecError::Other(format!(
                        "lz4: {found} bytes, but {claimed} are stated"
                    ))),
                }
            }
        }
    }
}

/// The start of the error message for data that decodes to too many bytes.
pub(crate) const TOO_MANY: &str = "decodes to more than";

fn too_many(most: u64) -> CodecError {
    CodecError::Other(format!("{TOO_MANY} the {most} bytes of a chunk"))
}

/// Decodes zstd into `out`. Returns the number of decoded bytes, or an error if there are more than `most`.
pub(crate) fn unpack_zstd(
    encoded: &[u8],
    most: u64,
    out: &mut (impl WriteBuf + ?Sized),
) -> Result<usize, CodecError> {
    match zstd::bulk::Decompressor::new()?.decompress_to_buffer(encoded, out) {
        Ok(bytes) if bytes as u64 > most => Err(too_many(most)),
        Ok(bytes) => Ok(bytes),
        Err(error) if error.to_string() == FULL => Err(too_many(most)),
        Err(error) => Err(error.into()),
    }
}

impl ExtensionName for Bounded {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        match (&self.inner, version) {
            (Some(inner), _) => inner.name(version),
            (None, version) => {
                let name = match self.kind {
                    CompressionFormat::Crc32 { .. } => "numcodecs.crc32",
                    CompressionFormat::PackedBits => "numcodecs.packbits",
                    _ => "numcodecs.lz4",
                };
                let own = name.trim_start_matches("numcodecs.");
                Some(Cow::Borrowed(if version == ZarrVersion::V2 { own } else { name }))
            }
        }
    }
}

impl CodecTraits for Bounded {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        match &self.inner {
            Some(inner) => inner.configuration(version, options),
            // zarrs makes the codec of an array of version 2 again from this configuration.
            None => Some(match self.kind {
                CompressionFormat::Crc32 { is_at_end: true } => {
                    serde_json::Map::from_iter([("location".to_owned(), "end".into())]).into()
                }
                _ => Configuration::default(),
            }),
        }
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl BytesToBytesCodecTraits for Bounded {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        decoded: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        match &self.inner {
            Some(inner) => inner.recommended_concurrency(decoded),
            None => Ok(RecommendedConcurrency::new_maximum(1)),
        }
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        match (&self.inner, decoded.size()) {
            (Some(inner), _) => inner.encoded_representation(decoded),
            // `LZ4_compressBound` of lz4.h, plus the 4 bytes of the size.
            (None, Some(bytes)) => BytesRepresentation::BoundedSize(match self.kind {
                CompressionFormat::PackedBits => 1 + bytes.div_ceil(8),
                _ => bytes + bytes / 255 + 16 + 4,
            }),
            (None, None) => BytesRepresentation::UnboundedSize,
        }
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let only_read = || CodecError::Other(format!("{:?} is only read", self.kind));
        let inner = self.inner.as_ref().ok_or_else(only_read)?;
        match (self.kind, self.level) {
            (CompressionFormat::Gzip, Some(level)) => Ok(gzip_encoded(&decoded, level)?.into()),
            (CompressionFormat::Zlib, Some(level)) => Ok(zlib_encoded(&decoded, level)?.into()),
            _ => inner.encode(decoded, options),
        }
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let no_bound = || CodecError::Other("its decoded size is unknown".to_owned());
        let most = decoded.size().ok_or_else(no_bound)?;
        self.kind.decode(&encoded, most).map(Cow::Owned)
    }
}

/// Registers the bounded codecs with zarrs, once in a process.
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        macro_rules! register {
            ($kind:ident, $codec:ty, $configuration:ty, $v3:literal, $v2:literal) => {
                let make = |read: Result<$configuration, PluginCreateError>| {
                    let inner = Arc::new(<$codec>::new_with_configuration(&read?)?);
                    Ok(bounded(Some(inner), CompressionFormat::$kind))
                };
                register_codec_v3(CodecRuntimePluginV3::new(
                    |name| name == $v3,
                    move |metadata| make(metadata.to_typed_configuration().map_err(Into::into)),
                ));
                register_codec_v2(CodecRuntimePluginV2::new(
                    |name| name == $v2,
                    move |metadata| make(metadata.to_typed_configuration().map_err(Into::into)),
                ));
            };
        }
        register!(Zstd, ZstdCodec, ZstdCodecConfiguration, "zstd", "zstd");
        register!(Gzip, GzipCodec, GzipCodecConfiguration, "gzip", "gzip");
        register!(Zlib, ZlibCodec, ZlibCodecConfiguration, "numcodecs.zlib", "zlib");
        register!(Bz2, Bz2Codec, Bz2CodecConfiguration, "numcodecs.bz2", "bz2");
        register!(Blosc, BloscCodec, BloscCodecConfiguration, "blosc", "blosc");
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == "numcodecs.lz4",
            |_| Ok(bounded(None, CompressionFormat::Lz4)),
        ));
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == "numcodecs.packbits",
            |_| Ok(bounded(None, CompressionFormat::PackedBits)),
        ));
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == "numcodecs.crc32",
            |metadata| crc32(metadata.configuration().and_then(|it| it.get("location"))),
        ));
    });
}

fn bounded(inner: Option<Arc<dyn BytesToBytesCodecTraits>>, kind: CompressionFormat) -> Codec {
    let level = inner.as_ref().and_then(|codec| {
        let options = CodecMetadataOptions::default();
        let configuration = codec.configuration(ZarrVersion::V3, &options)?;
        u8::try_from(configuration.get("level")?.as_u64()?).ok()
    });
    Codec::BytesToBytes(Arc::new(Bounded { inner, kind, level }))
}

/// The name under which zarrs finds [`CompressionFormat::Lz4`] when it converts metadata of version 2.
enum Lz4 {}

impl_extension_aliases!(Lz4, v3: "numcodecs.lz4", [], v2: "lz4", []);

inventory::submit! { CodecPluginV2::new::<Lz4>() }

impl CodecTraitsV2 for Lz4 {
    fn create(_: &MetadataV2) -> Result<Codec, PluginCreateError> {
        Ok(bounded(None, CompressionFormat::Lz4))
    }
}

/// Returns the codec of numcodecs with a CRC-32 at this `location`; the default is the start.
fn crc32(location: Option<&Value>) -> Result<Codec, PluginCreateError> {
    match location.map(Value::as_str) {
        None | Some(Some("start")) => {
            Ok(bounded(None, CompressionFormat::Crc32 { is_at_end: false }))
        }
        Some(Some("end")) => Ok(bounded(None, CompressionFormat::Crc32 { is_at_end: true })),
        Some(_) => Err(PluginCreateError::Other("the location of a CRC-32 is unknown".to_owned())),
    }
}

/// The name under which zarrs finds [`CompressionFormat::Crc32`] when it converts metadata of version 2.
enum Crc32 {}

impl_extension_aliases!(Crc32, v3: "numcodecs.crc32", [], v2: "crc32", []);

inventory::submit! { CodecPluginV2::new::<Crc32>() }

impl CodecTraitsV2 for Crc32 {
    fn create(metadata: &MetadataV2) -> Result<Codec, PluginCreateError> {
        crc32(metadata.configuration().get("location"))
    }
}

/// The name under which zarrs finds [`CompressionFormat::PackedBits`] when it converts metadata of version 2.
enum PackedBits {}

impl_extension_aliases!(PackedBits, v3: "numcodecs.packbits", [], v2: "packbits", []);

inventory::submit! { CodecPluginV2::new::<PackedBits>() }

impl CodecTraitsV2 for PackedBits {
    fn create(_: &MetadataV2) -> Result<Codec, PluginCreateError> {
        Ok(bounded(None, CompressionFormat::PackedBits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_and_zlib_are_decoded_or_refused() {
        let bytes: Vec<u8> = (0..1000).map(|at| (at * at / 7 % 251) as u8).collect();
        let changed = |encoded: &[u8], at: usize| {
            let mut changed = encoded.to_vec();
            changed[at] ^= 1;
            changed
        };
        for (format, encode, sum) in [
            (CompressionFormat::Gzip, gzip_encoded as fn(&[u8], u8) -> _, 8),
            (CompressionFormat::Zlib, zlib_encoded, 4),
        ] {
            let encoded = encode(&bytes, 6).unwrap();
            let unpack = |encoded: &[u8], most: usize| format.unpack(encoded, most);
            assert!(unpack(&encoded, 1000).is_ok_and(|unpacked| unpacked == bytes));
            assert!(unpack(&encoded, 5000).is_ok_and(|unpacked| unpacked == bytes));
            let too_many =
                |most: usize| format!("decodes to more than the {most} bytes of a chunk");
            assert_eq!(unpack(&encoded, 999), Err(too_many(999)), "{format:?}");
            assert_eq!(unpack(&encoded, 0), Err(too_many(0)), "{format:?}");
            for cut in [0, 1, 9, encoded.len() / 2, encoded.len() - 1] {
                assert!(unpack(&encoded[..cut], 1000).is_err(), "{format:?}: {cut} bytes");
            }
            let error = unpack(&changed(&encoded, encoded.len() - sum), 1000).unwrap_err();
            assert!(error.contains("corrupt"), "{format:?}: {error}");
            assert!(unpack(&changed(&encoded, 0), 1000).is_err(), "{format:?}");
            let after = unpack(&[&encoded[..], &[0; 9]].concat(), 1000);
            assert_eq!(after.is_ok(), matches!(format, CompressionFormat::Zlib), "{after:?}");
        }
        let parts = [&bytes[..300], &bytes[300..], &[]].map(|part| gzip_encoded(part, 6).unwrap());
        let gzip = CompressionFormat::Gzip;
        assert!(gzip.unpack(&parts.concat(), 1000).is_ok_and(|unpacked| unpacked == bytes));
        assert!(gzip.unpack(&parts.concat(), 999).is_err());
        let twice = parts[0].repeat(2);
        assert!(gzip.unpack(&twice, 600).is_ok_and(|unpacked| unpacked == bytes[..300].repeat(2)));
        let error = gzip.unpack(&twice, 300).unwrap_err();
        assert!(error.contains(TOO_MANY), "{error}");
    }
}
