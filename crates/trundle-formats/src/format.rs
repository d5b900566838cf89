//! The description of a file format.

use std::path::Path;
use std::sync::Arc;

use crate::attributes::without_typed;
use crate::contents::Contents;
use crate::shared::WrittenFiles;
use crate::source::Source;
use crate::{
    Blob, ChunkFormat, Described, Encoding, FileSkeleton, Problem, StoredDType, TensorHint,
};

type Open = fn(Source, &TensorHint) -> Result<Box<dyn Contents>, Problem>;

type MakeFrame = fn(&[Described<'_>], &[(String, String)]) -> Result<FileSkeleton, Problem>;

/// Creates an output that is a folder, and returns a blob to which its data is written.
type BeginFolder = fn(NewFolder<'_>, &FileSkeleton) -> Result<Box<dyn Blob>, Problem>;

#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "zarr"), allow(dead_code, reason = "no other format has folders"))]
pub(crate) enum NewFolder<'a> {
    /// An empty folder to which one process writes.
    Alone(&'a Path),
    /// A folder to which several processes write. One of them has created the output. Files are created in `made_in`
    /// and then renamed.
    Shared { folder: &'a Path, made_in: &'a Path, written: Arc<WrittenFiles> },
    /// A folder for chunks that are later moved into the existing store `store`. `request` identifies the request.
    Addition { folder: &'a Path, store: &'a Path, request: &'a str },
    /// An existing store in a bucket.
    #[cfg(feature = "zarr")]
    BucketAddition(&'a crate::bucket_addition::BucketAddition),
    /// A bucket. There is a list of written files if several processes write to the store, which one of them has
    /// created.
    #[cfg(feature = "zarr")]
    Bucket(Arc<dyn trundle_zarr::ObjectStore>, Option<Arc<WrittenFiles>>),
}

/// A file format for tensors.
#[derive(Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) endings: &'static [&'static str],
    pub(crate) holds_one: bool,
    pub(crate) keeps: Keeps,
    pub(crate) states_column_major: bool,
    /// Returns whether a file with these first [`FIRST_BYTES`] bytes (all bytes of a shorter file) has this format.
    pub(crate) begins: fn(&[u8]) -> bool,
    pub(crate) open: Open,
    /// `None` for a format that is only read.
    pub(crate) skeleton: Option<MakeFrame>,
    /// `None` unless the files of the format are folders.
    pub(crate) folder: Option<FolderFormat>,
}

/// The metadata that a file of the format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Keeps {
    Nothing,
    /// Pairs of strings for the file.
    OfFile,
    /// Pairs of strings for the file, and [`Annotations`](crate::Annotations) for each tensor.
    All,
    /// [`Keeps::All`], and the types of attributes.
    #[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "the format has a feature"))]
    NetCdf,
    /// [`Keeps::NetCdf`], and attributes that only HDF5 can represent.
    Hdf5,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderFormat {
    pub(crate) name: &'static str,
    pub(crate) is_one: fn(&Path) -> bool,
    pub(crate) begin: BeginFolder,
}

/// The number of bytes that are needed to recognise a format. NIfTI-1 has its magic at the end of its header of 348
/// bytes, which may be compressed.
pub(crate) const FIRST_BYTES: usize = 2 << 10;

impl Format {
    /// Returns the name of the format, its usual file extension.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether trundle can write the format.
    pub fn is_written(&self) -> bool {
        self.skeleton.is_some()
    }

    /// Returns whether files of the format are folders, whose data is in chunks and little-endian.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns the type with which a file stores elements of type `element`. Formats whose files are folders store
    /// little-endian elements.
    pub fn element_as_written(&self, element: &StoredDType) -> StoredDType {
        if self.is_folder() { element.to_little_endian() } else { element.clone() }
    }

    /// Returns the file extensions of the format, without the dot.
    pub fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    /// Returns whether a file of the format holds exactly one tensor, named after the file.
    pub fn holds_one(&self) -> bool {
        self.holds_one
    }

    /// Returns whether the format can hold metadata, as pairs of strings.
    pub fn keeps_metadata(&self) -> bool {
        self.keeps != Keeps::Nothing
    }

    /// Returns whether the format can hold the [`Annotations`](crate::Annotations) of tensors.
    pub fn keeps_annotations(&self) -> bool {
        self.keeps >= Keeps::All
    }

    /// Returns whether the names in a pattern become axis names of a file of the format. In plain HDF5, each name would
    /// add a dataset.
    pub fn takes_axis_names(&self) -> bool {
        matches!(self.keeps, Keeps::All | Keeps::NetCdf)
    }

    /// Returns whether the format can hold attributes that only HDF5 can represent, such as complex numbers.
    pub fn keeps_attributes_of_hdf5(&self) -> bool {
        self.keeps == Keeps::Hdf5
    }

    /// Returns how files of the format store chunks; `None` if their data is contiguous.
    pub fn chunks(&self) -> Option<ChunkFormat> {
        match self.keeps >= Keeps::All {
            true if self.is_folder() => Some(ChunkFormat::Zarr),
            true => Some(ChunkFormat::Hdf5),
            false => None,
        }
    }

    /// Returns the encoding that a file of the format gets from the chunks of a source with this encoding and elements
    /// of `width` bytes, or strings of variable length. `None` if it gets the default of the format.
    #[cfg_attr(
        not(feature = "hdf5"),
        expect(unused_variables, reason = "only HDF5 has a filter of one width")
    )]
    pub fn encoding(&self, source: &Encoding, element: &StoredDType) -> Option<Encoding> {
        let own = self.chunks()?;
        match own {
            _ if own == source.format => Some(source.clone()),
            #[cfg(feature = "hdf5")]
            ChunkFormat::Hdf5 => {
                let (width, holds_texts) = (element.width().units(), element.holds_texts());
                Some(crate::hdf5::codecs::replaced(source, width, holds_texts))
            }
            _ => None,
        }
    }

    /// Returns whether the format can state that data is column-major.
    pub fn states_column_major(&self) -> bool {
        self.states_column_major
    }

    /// Creates the skeleton of a file with these tensors, whose data is stored in this order. `metadata` is left out if
    /// the format [cannot hold it](Format::keeps_metadata).
    ///
    /// # Errors
    /// [`Problem::OneTensor`] if the format holds exactly one tensor and the number differs; [`Problem::CannotHold`] if
    /// the name, order or element type of a tensor cannot be represented; [`Problem::Unsupported`] if the file or its
    /// header would be too long, or the format is [not written](Format::is_written).
    pub fn skeleton(
        &self,
        tensors: &[Described<'_>],
        metadata: &[(String, String)],
    ) -> Result<FileSkeleton, Problem> {
        let Some(skeleton) = self.skeleton else {
            let name = self.name;
            return Err(Problem::Unsupported(format!(
                "trundle reads format {name} but cannot write it: choose another format"
            )));
        };
        if self.holds_one && tensors.len() != 1 {
            let tensors = tensors.iter().map(|tensor| tensor.name.to_owned()).collect();
            return Err(Problem::OneTensor { format: self.name, tensors });
        }
        for tensor in tensors {
            let is_stated = self.states_column_major && tensor.element.width().packing().is_none();
            if tensor.is_column_major() && !is_stated {
                return Err(tensor.refused(self.name, "its data is column-major"));
            }
            // `compare` of trundle-disk compares the numbers of strings as raw bytes.
            let is_raw = self.name == Format::RAW.name;
            if tensor.element.holds_texts() && self.chunks().is_none() && !is_raw {
                let why = "only Zarr, HDF5 and netCDF hold strings of variable length; --only with --tensor NAME leaves it out";
                return Err(tensor.refused(self.name, why));
            }
        }
        match self.keeps >= Keeps::NetCdf {
            true => skeleton(tensors, metadata),
            false => skeleton(tensors, &without_typed(metadata)),
        }
    }
}
