//! The LZ4 codec of numcodecs, which zarrs lacks: the decoded size in 4 bytes, then one LZ4 block. Decoding only,
//! because version 3 of Zarr does not have this codec.

use std::borrow::Cow;
use std::sync::Arc;

use zarrs::array::codec::api::{
    BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecPluginV2, CodecPluginV3,
    CodecTraits, CodecTraitsV2, CodecTraitsV3, PartialDecoderCapability, PartialEncoderCapability,
    RecommendedConcurrency,
};
use zarrs::array::{ArrayBytesRaw, BytesRepresentation, CodecOptions};
use zarrs::metadata::Configuration;
use zarrs::metadata::v2::MetadataV2;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion, impl_extension_aliases};

/// The codec. Its only parameter, the acceleration, does not matter for decoding.
#[derive(Debug)]
struct Lz4;

impl_extension_aliases!(Lz4, v3: "numcodecs.lz4", [], v2: "lz4", []);

inventory::submit! { CodecPluginV3::new::<Lz4>() }
inventory::submit! { CodecPluginV2::new::<Lz4>() }

impl CodecTraitsV3 for Lz4 {
    fn create(_: &MetadataV3) -> Result<Codec, PluginCreateError> {
        Ok(Codec::BytesToBytes(Arc::new(Lz4)))
    }
}

impl CodecTraitsV2 for Lz4 {
    fn create(_: &MetadataV2) -> Result<Codec, PluginCreateError> {
        Ok(Codec::BytesToBytes(Arc::new(Lz4)))
    }
}

impl CodecTraits for Lz4 {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(Configuration::default())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl BytesToBytesCodecTraits for Lz4 {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        _: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    /// Source: `LZ4_compressBound` in lz4.h, plus the 4 bytes of the size.
    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        decoded.size().map_or(BytesRepresentation::UnboundedSize, |bytes| {
            BytesRepresentation::BoundedSize(bytes + bytes / 255 + 16 + 4)
        })
    }

    fn encode<'a>(
        &self,
        _: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Err(CodecError::Other("lz4 is only read".to_owned()))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let wrong = |why: String| CodecError::Other(why);
        let no_bound = || wrong("nothing says how many bytes it decodes to".to_owned());
        let most = decoded.size().ok_or_else(no_bound)?;
        let (claimed, block) =
            encoded.split_first_chunk().ok_or_else(|| wrong("is too short for lz4".to_owned()))?;
        let claimed = u32::from_le_bytes(*claimed);
        if u64::from(claimed) > most {
            return Err(wrong(format!("decodes to more than the {most} bytes of a chunk")));
        }
        let (bytes, mut unpacked) = (claimed as usize, Vec::new());
        let reserved = unpacked.try_reserve_exact(bytes);
        reserved.map_err(|_| wrong(format!("no memory for {bytes} bytes")))?;
        unpacked.resize(bytes, 0);
        let found = lz4_flex::block::decompress_into(block, &mut unpacked);
        match found.map_err(|error| wrong(format!("lz4: {error}")))? {
            found if found == bytes => Ok(Cow::Owned(unpacked)),
            found => Err(wrong(format!("lz4: {found} bytes, where {bytes} are stated"))),
        }
    }
}
