//! The description of a file format.

use std::path::Path;
use std::sync::Arc;

use crate::contents::Contents;
use crate::shared::WrittenFiles;
use crate::source::Source;
use crate::{Blob, Described, FileSkeleton, Problem, StoredDType, TensorHint};

type Open = fn(Source, &TensorHint) -> Result<Box<dyn Contents>, Problem>;

type MakeFrame = fn(&[Described<'_>], &[(String, String)]) -> Result<FileSkeleton, Problem>;

/// Creates a folder output and returns its data for writing.
type BeginFolder = fn(NewFolder<'_>, &FileSkeleton) -> Result<Box<dyn Blob>, Problem>;

/// Where a folder output is written.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "zarr"), allow(dead_code, reason = "no other format has folders"))]
pub(crate) enum NewFolder<'a> {
    /// In this empty folder, by one process.
    Alone(&'a Path),
    /// In this folder, by several processes. One of them has created the output. Files are created in
    /// `made_in` and then renamed.
    Shared { folder: &'a Path, made_in: &'a Path, written: Arc<WrittenFiles> },
    /// In a bucket. With a list of written files, by several processes; one of them has created the store.
    #[cfg(feature = "s3")]
    Bucket(Arc<dyn trundle_zarr::ObjectStore>, Option<Arc<WrittenFiles>>),
}

/// A format of files of tensors.
#[derive(Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) endings: &'static [&'static str],
    pub(crate) holds_one: bool,
    pub(crate) keeps: Keeps,
    pub(crate) states_column_major: bool,
    /// Whether a file with these first bytes ([`FIRST_BYTES`] of them, or the whole of a shorter file) has
    /// this format.
    pub(crate) begins: fn(&[u8]) -> bool,
    pub(crate) open: Open,
    /// `None` for a format that is only read.
    pub(crate) skeleton: Option<MakeFrame>,
    /// For formats whose files are folders.
    pub(crate) folder: Option<FolderFormat>,
}

/// Metadata that files of the format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    /// Pairs of strings for the file.
    OfFile,
    /// Pairs of strings for the file, and [`Annotations`](crate::Annotations) for each tensor.
    All,
}

/// Functions of a format whose files are folders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderFormat {
    pub(crate) name: &'static str,
    /// Whether the folder at a path has this format.
    pub(crate) is_one: fn(&Path) -> bool,
    pub(crate) begin: BeginFolder,
}

/// Number of bytes needed to recognise a format: NIfTI-1 has its magic at the end of the header.
pub(crate) const FIRST_BYTES: usize = 348;

/// First bytes of a gzip file (RFC 1952, 2.3.1).
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Returns the error for files that are compressed with gzip.
pub(crate) fn gzip_refused() -> Problem {
    Problem::unsupported("is compressed with gzip: gunzip it first")
}

impl Format {
    /// Returns the name of the format: the usual ending.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether the format can be written.
    pub fn is_written(&self) -> bool {
        self.skeleton.is_some()
    }

    /// Returns whether its files are folders, whose data is in chunks and little-endian.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns the type with which elements are stored. Folder-based formats store them little-endian.
    pub fn element_as_written(&self, element: &StoredDType) -> StoredDType {
        if self.is_folder() { element.to_little_endian() } else { element.clone() }
    }

    /// Returns the endings of its files, without the dot.
    pub fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    /// Returns whether its files hold exactly one tensor, named after the file.
    pub fn holds_one(&self) -> bool {
        self.holds_one
    }

    /// Returns whether its files hold pairs of strings as metadata.
    pub fn keeps_metadata(&self) -> bool {
        self.keeps != Keeps::Nothing
    }

    /// Returns whether its files hold [`Annotations`](crate::Annotations) of tensors.
    pub fn keeps_annotations(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// Returns whether the format supports chunks, compression and unlimited axes that trundle does not
    /// write.
    pub fn leaves_out_chunks(&self) -> bool {
        self.keeps_annotations() && !self.is_folder()
    }

    /// Returns whether its files can state that data is column-major.
    pub fn states_column_major(&self) -> bool {
        self.states_column_major
    }

    /// Creates the skeleton of a file with these tensors, whose data is stored in the given order. `metadata`
    /// is left out if the format [holds none](Format::keeps_metadata).
    ///
    /// # Errors
    /// [`Problem::OneTensor`] if the format holds exactly one tensor and the number differs;
    /// [`Problem::CannotHold`] if the name, order or element type of a tensor cannot be represented;
    /// [`Problem::Unsupported`] if the file or its header would be too long, or the format is [only
    /// read](Format::is_written).
    pub fn skeleton(
        &self,
        tensors: &[Described<'_>],
        metadata: &[(String, String)],
    ) -> Result<FileSkeleton, Problem> {
        let Some(skeleton) = self.skeleton else {
            let name = self.name;
            return Err(Problem::Unsupported(format!(
                "trundle reads format {name} but cannot write it: choose another, such as .npy, .h5 or .zarr"
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
        }
        skeleton(tensors, metadata)
    }
}
