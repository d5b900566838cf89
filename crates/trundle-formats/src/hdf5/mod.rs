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
use trundle_hdf5::{Hdf5File, SIGNATURE, Unpack};
#[cfg(feature = "zarr")]
use trundle_zarr::CompressionFormat;

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

/// Decodes the filters of plugins by the codecs of Zarr.
#[cfg(feature = "zarr")]
const UNPACK: Option<Unpack> = Some(|compression, packed, most| {
    let format = match compression {
        Compression::Bzip2 => CompressionFormat::Bz2,
        Compression::Blosc => CompressionFormat::Blosc,
        Compression::Lz4Block => CompressionFormat::Lz4Block,
        Compression::Zstd => CompressionFormat::Zstd,
    };
    format.unpack(packed, most)
});
#[cfg(not(feature = "zarr"))]
const UNPACK: Option<Unpack> = None;

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
    let file = Hdf5File::open(Arc::new(Bytes { blob: Arc::clone(&blob), bytes }), UNPACK)?;
    Ok(Box::new(datasets::read(blob, bytes, &name, file, hint)?))
}
