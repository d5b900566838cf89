//! HDF5 and netCDF-4, which [`trundle_hdf5`] reads and writes.
//!
//! Each dataset is a tensor, named by its path. Contiguous data is read in place. All other data (chunks, data within
//! the metadata, and fill values) follows the file as a sequence of decoded bytes (`chunked/file.rs`).

pub(crate) mod codecs;
mod data;
mod datasets;
mod new_file;
mod skeleton;
mod texts;

use std::sync::Arc;

#[cfg(feature = "zarr")]
use trundle_hdf5::Compression;
use trundle_hdf5::{Codecs, Hdf5File, SIGNATURE};
#[cfg(feature = "zarr")]
use trundle_zarr::{CompressionFormat, zlib_decoded, zlib_encoded};

use self::data::Bytes;
pub(crate) use self::new_file::begin;
use crate::contents::Contents;
use crate::format::Keeps;
use crate::source::Source;
use crate::{Format, Problem, TensorHint};

pub(crate) const FORMAT: Format = Format {
    name: "hdf5",
    endings: &["h5", "hdf5", "hdf", "he5"],
    holds_one: false,
    keeps: Keeps::Hdf5,
    states_column_major: false,
    begins: |first| first.starts_with(SIGNATURE) || first.starts_with(MATLAB),
    open,
    skeleton: Some(skeleton::hdf5),
    folder: None,
};

/// HDF5 by the rules of netCDF-4: only coordinates may have the name of a dimension.
pub(crate) const NETCDF: Format = Format {
    name: "netcdf",
    endings: &["nc", "nc4"],
    keeps: Keeps::NetCdf,
    skeleton: Some(skeleton::netcdf),
    ..FORMAT
};

/// The first bytes of classic netCDF, which is not HDF5.
const CLASSIC: [&[u8]; 3] = [b"CDF\x01", b"CDF\x02", b"CDF\x05"];

/// The first bytes of a MATLAB file: a text in a user block of 512 bytes before the HDF5 data.
const MATLAB: &[u8] = b"MATLAB 7.3 MAT-file";

/// The codecs of Zarr, for deflate and the filters of plugins.
#[cfg(feature = "zarr")]
const CODECS: Option<Codecs> = Some(Codecs {
    unpack: |compression, packed, most| {
        let format = match compression {
            Compression::Bzip2 => CompressionFormat::Bz2,
            Compression::Blosc => CompressionFormat::Blosc,
            Compression::Lz4Block => CompressionFormat::Lz4Block,
            Compression::Zstd => CompressionFormat::Zstd,
        };
        format.unpack(packed, most)
    },
    inflate: zlib_decoded,
    deflate: zlib_encoded,
});
#[cfg(not(feature = "zarr"))]
const CODECS: Option<Codecs> = None;

const HDF4: &[u8] = b"\x0e\x03\x13\x01";

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let first = source.peek(SIGNATURE.len())?;
    if CLASSIC.iter().any(|magic| first.starts_with(magic)) {
        return Err(Problem::unsupported(
            "is a classic netCDF file: convert it to netCDF-4 by nccopy -k nc4",
        ));
    }
    if first.starts_with(HDF4) {
        return Err(Problem::unsupported("is HDF4, not HDF5"));
    }
    let name = source.name().to_owned();
    let Some(blob) = source.into_blob() else {
        return Err(Problem::unsupported(
            "HDF5 is read at many positions, so it must be a file, not a stream",
        ));
    };
    let bytes = blob.bytes().map_err(Problem::reading)?;
    let file = Hdf5File::open(Arc::new(Bytes { blob: Arc::clone(&blob), bytes }), CODECS)?;
    Ok(Box::new(datasets::read(blob, bytes, &name, file, hint)?))
}

#[cfg(all(test, feature = "zarr"))]
mod tests {
    use trundle_hdf5::ChunkCoder;
    use trundle_hdf5::Filter::{Deflate, Fletcher32, Shuffle};

    use super::*;

    #[test]
    fn deflated_chunks_are_decoded_or_refused_as_without_the_codecs_of_zarr() {
        const BYTES: usize = 1000;
        let coder = |filters, bytes, codecs| ChunkCoder::new(filters, 4, bytes, codecs).unwrap();
        let data: Vec<u8> = (0..2 * BYTES).map(|at| (at * at / 7 % 251) as u8).collect();
        for filters in [
            &[Deflate(1)][..],
            &[Shuffle, Deflate(6)],
            &[Deflate(4), Fletcher32],
            &[Deflate(9), Deflate(0)],
            &[Fletcher32, Shuffle, Deflate(9)],
        ] {
            let ours = coder(filters, BYTES, CODECS);
            let readers = coder(filters, BYTES, None);
            let encoded = ours.encode(&data[..BYTES]).unwrap().into_owned();
            assert_eq!(ours.decode(encoded.clone()).unwrap(), data[..BYTES], "{filters:?}");
            let mut all = vec![readers.encode(&data[..BYTES]).unwrap().into_owned(), Vec::new()];
            for bytes in [0, 1, BYTES - 1, BYTES + 1, BYTES + 100, 2 * BYTES] {
                all.push(ours.encode(&data[..bytes]).unwrap().into_owned());
            }
            all.extend((1..9).map(|cut| encoded[..encoded.len() - cut].to_vec()));
            all.extend((1..9).map(|more| [&encoded[..], &vec![0; more]].concat()));
            all.extend((0..encoded.len()).map(|at| {
                let mut changed = encoded.clone();
                changed[at] ^= 1;
                changed
            }));
            for stored in all {
                let decoded = [&ours, &readers]
                    .map(|coder| coder.decode(stored.clone()).map_err(|error| error.to_string()));
                assert_eq!(decoded[0], decoded[1], "{filters:?}");
            }
        }
    }
}
