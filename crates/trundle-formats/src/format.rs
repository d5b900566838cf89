//! The list of formats, and what each can do.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "s3")]
use crate::bucket_output::BucketOutput;
use crate::error::is_stream;
#[cfg(feature = "hdf5")]
use crate::hdf5;
use crate::shared_output::WrittenFiles;
use crate::source::Source;
#[cfg(feature = "zarr")]
use crate::zarr;
use crate::{
    Blob, Described, Error, FileSkeleton, Header, Problem, StoredDType, TensorHint, Unreadable,
    gguf, nifti, npy, npz, nrrd, pt, raw, safetensors,
};

/// Every format: one row each. The first is that of stdin and stdout.
pub static FORMATS: &[Format] = &[
    npy::FORMAT,
    npz::FORMAT,
    safetensors::FORMAT,
    #[cfg(feature = "zarr")]
    zarr::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::FORMAT,
    #[cfg(feature = "hdf5")]
    hdf5::NETCDF,
    gguf::FORMAT,
    nrrd::FORMAT,
    nifti::FORMAT,
    pt::FORMAT,
    raw::FORMAT,
];

/// Told how many bytes of data were read or written so far.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

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
    Bucket(Arc<BucketOutput>, Option<Arc<WrittenFiles>>),
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

/// What a file of some format holds.
pub(crate) trait Contents: Send {
    /// Each tensor, without its data.
    fn headers(&self) -> &[Header];

    /// Pairs that are kept beside the tensors, in order.
    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    /// What is said of the file as a whole and cannot be held, as messages call it.
    fn unread(&self) -> &[String] {
        &[]
    }

    /// What else there is, of which nothing but the name can be told.
    fn unreadable(&self) -> &[Unreadable] {
        &[]
    }

    /// Reads a stream on to its end, and checks that it is whole.
    fn read_on(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    /// The bytes in which [`Header::data_offset`] counts, if they can be read at any place.
    fn blob(&self) -> Option<&dyn Blob>;

    /// Whether the file has CRC-32 of the data.
    fn has_crc32(&self) -> bool {
        false
    }

    /// The data of the tensor at `index`, exactly as long as its header says.
    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem> {
        let bytes = self.headers()[index].data_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| Problem::NoMemory { bytes })?;
        self.copy_to(index, &mut data, progress)?;
        Ok(data)
    }

    /// The same data, in parts.
    fn copy_to(
        &mut self,
        index: usize,
        out: &mut dyn Write,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem>;
}

impl Format {
    /// Raw bytes: the data of one tensor, and nothing else.
    pub const RAW: &Format = &raw::FORMAT;

    /// The format of an output, by the path's ending in small or capital letters; .npy for `-`.
    ///
    /// # Errors
    /// [`Problem::UnknownEnding`] if no format has the ending.
    pub fn of(path: &Path) -> Result<&'static Format, Error> {
        if is_stream(path) {
            return Ok(&FORMATS[0]);
        }
        Format::of_ending(path)
            .ok_or_else(|| Error::at(path, "-", Format::unknown_ending(path, true)))
    }

    /// The format of the path's ending, in small or capital letters, if one has it.
    pub fn of_ending(path: &Path) -> Option<&'static Format> {
        let ending = path.extension().unwrap_or_default();
        let is_known = |known: &&str| ending.eq_ignore_ascii_case(known);
        FORMATS.iter().find(|format| format.endings.iter().any(is_known))
    }

    /// The format of this [name](Format::name).
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    pub(crate) fn unknown_ending(path: &Path, is_output: bool) -> Problem {
        let ending = path.extension().unwrap_or_default();
        let dot = if ending.is_empty() { "" } else { "." };
        Problem::UnknownEnding { ending: format!("{dot}{}", ending.to_string_lossy()), is_output }
    }

    /// The format of a file whose ending tells none, by its first bytes, [`FIRST_BYTES`] if it has
    /// as many, and by what is said of it. Raw bytes are what has an offset, and what has a type and
    /// a shape and does not begin as numpy's files do: by accident, they never begin so.
    pub(crate) fn of_start(first: &[u8], hint: &TensorHint) -> Option<&'static Format> {
        let TensorHint { element, shape, offset, .. } = hint;
        if offset.is_some() {
            return Some(&raw::FORMAT);
        }
        let begun = FORMATS.iter().find(|format| (format.begins)(first));
        let is_described = element.is_some() && shape.is_some();
        match begun {
            Some(format) if !is_described || format.name != safetensors::FORMAT.name => begun,
            None if element.is_none() && shape.is_none() => None,
            _ => Some(&raw::FORMAT),
        }
    }

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
