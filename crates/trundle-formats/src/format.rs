//! What a format can do.

use std::path::Path;
use std::sync::Arc;

use crate::contents::Contents;
use crate::shared::WrittenFiles;
use crate::source::Source;
use crate::{Blob, Described, FileSkeleton, Problem, StoredDType, TensorHint};

/// Reads what a file holds beside its data.
type Open = fn(Source, &TensorHint) -> Result<Box<dyn Contents>, Problem>;

/// All of a file but the data of its tensors.
type MakeFrame = fn(&[Described<'_>], &[(String, String)]) -> Result<FileSkeleton, Problem>;

/// The data of a new folder.
type BeginFolder = fn(NewFolder<'_>, &FileSkeleton) -> Result<Box<dyn Blob>, Problem>;

/// Where a new folder is written.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "zarr"), allow(dead_code, reason = "no other format has folders"))]
pub(crate) enum NewFolder<'a> {
    /// In this one, which is empty.
    Alone(&'a Path),
    /// In this one, by several processes, of which one has begun it: each file is made in another folder and then
    /// renamed.
    Shared { folder: &'a Path, made_in: &'a Path, written: Arc<WrittenFiles> },
    /// In a bucket; by several processes, of which one has begun it, if they note what was written.
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
    /// Whether the first [`FIRST_BYTES`] of a file, or all of a shorter one, are those of its files.
    pub(crate) begins: fn(&[u8]) -> bool,
    pub(crate) open: Open,
    /// None of a format that is only read.
    pub(crate) skeleton: Option<MakeFrame>,
    /// Of a format whose files are folders.
    pub(crate) folder: Option<FolderFormat>,
}

/// What the files of a format say beside the tensors' names, types, sizes and elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    /// Pairs of strings for the file.
    OfFile,
    /// Pairs of strings for the file, and [`Annotations`](crate::Annotations) of each tensor.
    All,
}

/// What a format whose files are folders can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderFormat {
    /// The format's name.
    pub(crate) name: &'static str,
    /// Whether the folder at a path is one of it.
    pub(crate) is_one: fn(&Path) -> bool,
    /// The data of a new one.
    pub(crate) begin: BeginFolder,
}

/// How many bytes tell the format of a file: those of NIfTI-1 have their magic at the end of the header.
pub(crate) const FIRST_BYTES: usize = 348;

/// What files that gzip has compressed begin with (RFC 1952, 2.3.1).
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Why such a file is not read, whatever is in it.
pub(crate) fn gzip_refused() -> Problem {
    Problem::Unsupported("is compressed with gzip: gunzip it first".to_owned())
}

impl Format {
    /// Its name: the usual ending.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether files of it can be written, and not only read.
    pub fn is_written(&self) -> bool {
        self.skeleton.is_some()
    }

    /// Whether its files are folders, in which data is in chunks, little-endian.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// The type that elements of this one have in its files: a format of folders has them little-endian.
    pub fn element_as_written(&self, element: &StoredDType) -> StoredDType {
        if self.is_folder() { element.to_little_endian() } else { element.clone() }
    }

    pub(crate) fn folder(&self) -> Option<FolderFormat> {
        self.folder
    }

    /// The endings of its files, without the dot.
    pub fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    /// Whether its files hold exactly one tensor, which has the file's name.
    pub fn holds_one(&self) -> bool {
        self.holds_one
    }

    /// Whether its files keep pairs of strings beside the tensors.
    pub fn keeps_metadata(&self) -> bool {
        self.keeps != Keeps::Nothing
    }

    /// Whether its files keep the [`Annotations`](crate::Annotations) of tensors.
    pub fn keeps_annotations(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// Whether other programs write its files with chunks, compression and unlimited axes, and trundle writes none of
    /// these.
    pub fn leaves_out_chunks(&self) -> bool {
        self.keeps_annotations() && !self.is_folder()
    }

    /// Whether its files can say that a tensor's data is column-major.
    pub fn states_column_major(&self) -> bool {
        self.states_column_major
    }

    /// All of a file but the data of its tensors, which will lie in the order in which they are
    /// given here. A format that [keeps no metadata](Format::keeps_metadata) leaves it out.
    ///
    /// # Errors
    /// [`Problem::OneTensor`] if the tensors are too many or too few; [`Problem::CannotHold`] if the
    /// name, the order or the element type of one cannot be stated; [`Problem::Unsupported`] if the
    /// file or its headers would be too long, or the format is [only read](Format::is_written).
    pub fn skeleton(
        &self,
        tensors: &[Described<'_>],
        metadata: &[(String, String)],
    ) -> Result<FileSkeleton, Problem> {
        let Some(skeleton) = self.skeleton else {
            let name = self.name;
            return Err(Problem::Unsupported(format!("format {name} is read, but not written")));
        };
        if self.holds_one && tensors.len() != 1 {
            let tensors = tensors.iter().map(|tensor| tensor.name.to_owned()).collect();
            return Err(Problem::OneTensor { format: self.name, tensors });
        }
        for tensor in tensors {
            let stated = self.states_column_major && tensor.element.width().packing().is_none();
            if tensor.is_column_major() && !stated {
                return Err(tensor.refused(self.name, "its data is column-major"));
            }
        }
        skeleton(tensors, metadata)
    }

    pub(crate) fn open(
        &self,
        source: Source,
        hint: &TensorHint,
    ) -> Result<Box<dyn Contents>, Problem> {
        (self.open)(source, hint)
    }
}
