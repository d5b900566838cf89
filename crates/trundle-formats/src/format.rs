//! The list of formats, and what each can do.

use std::io::Write;
use std::path::Path;

use trundle_core::Shape;

use crate::error::is_stream;
use crate::source::Source;
use crate::{Description, Element, Error, Header, Output, Problem, npy, raw};

/// Every format: one row each. The first is that of stdin and stdout.
pub static FORMATS: &[Format] = &[npy::FORMAT, raw::FORMAT];

/// Bytes are written in pieces of this size, each reported to whoever watches the progress.
const CHUNK_BYTES: usize = 8 << 20;

/// Told how many bytes of data were read or written so far.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// Reads what a file holds beside its data.
type Open = fn(Source, &Description) -> Result<Box<dyn Contents>, Problem>;

/// Writes all of a file.
type WriteTensors =
    fn(&mut dyn Write, &[NamedTensor<'_>], &mut Progress<'_>) -> Result<(), Problem>;

/// A format of files of tensors.
#[derive(Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) endings: &'static [&'static str],
    pub(crate) open: Open,
    pub(crate) write: WriteTensors,
}

/// What a file of some format holds.
pub(crate) trait Contents: Send {
    /// Each tensor, without its data.
    fn headers(&self) -> &[Header];

    /// The data of the tensor at `index`, exactly as long as its header says.
    fn load(&mut self, index: usize, progress: &mut Progress<'_>) -> Result<Vec<u8>, Problem>;
}

/// A tensor to write.
#[derive(Clone, Copy, Debug)]
pub struct NamedTensor<'a> {
    /// Its name in the file, where the format has names.
    pub name: &'a str,
    /// The type of its elements.
    pub element: &'a Element,
    /// The sizes of its axes.
    pub shape: &'a Shape,
    /// Its elements: packed, row-major, in the byte order and the bit order of `element`.
    pub bytes: &'a [u8],
}

impl Format {
    /// The format of the path's ending, in small or capital letters; .npy for `-`.
    pub(crate) fn of(path: &Path) -> Result<&'static Format, Problem> {
        if is_stream(path) {
            return Ok(&FORMATS[0]);
        }
        let ending = path.extension().unwrap_or_default();
        FORMATS
            .iter()
            .find(|format| format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
            .ok_or_else(|| {
                let dot = if ending.is_empty() { "" } else { "." };
                Problem::UnknownEnding { ending: format!("{dot}{}", ending.to_string_lossy()) }
            })
    }

    /// Its name: the usual ending.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The endings of its files, without the dot.
    pub fn endings(&self) -> &'static [&'static str] {
        self.endings
    }

    pub(crate) fn open(
        &self,
        source: Source,
        description: &Description,
    ) -> Result<Box<dyn Contents>, Problem> {
        (self.open)(source, description)
    }

    /// Writes `tensors` to `out`. `progress` is told the bytes of data written so far.
    ///
    /// # Errors
    /// [`Problem`] if the tensors are too many or too few for the format, do not have the bytes
    /// that their shapes need, or cannot be written.
    pub fn write_to(
        &self,
        out: &mut dyn Write,
        tensors: &[NamedTensor<'_>],
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        for tensor in tensors {
            let expected = tensor.shape.bytes(tensor.element.width())?;
            let got = tensor.bytes.len();
            if got != expected {
                return Err(Problem::DataSize { name: tensor.name.to_owned(), expected, got });
            }
        }
        (self.write)(out, tensors, progress)
    }
}

/// Checks that `path` can become an output, before any work is done for it: its ending is known,
/// its folder is there, and it does not exist unless `overwrite` allows that. `-` is stdout.
///
/// # Errors
/// [`Error`] saying which of these does not hold.
pub fn check_output(path: &Path, overwrite: bool) -> Result<(), Error> {
    Format::of(path).map_err(|problem| Error::at(path, "stdout", problem))?;
    Output::check(path, overwrite)
}

/// Writes `tensors` to the file at `path`, in the format of its ending, or to stdout for `-`, as
/// .npy. The file appears whole or not at all, see [`Output`]. `progress` is told the bytes of
/// data written so far.
///
/// # Errors
/// As [`check_output`] and [`Format::write_to`].
pub fn write(
    path: &Path,
    tensors: &[NamedTensor<'_>],
    overwrite: bool,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    stage(path, tensors, overwrite, progress)?.finish()
}

/// [`write()`] up to the point where the file appears: [`Output::read_back`] shows what was
/// written, [`Output::finish`] makes it appear.
///
/// # Errors
/// As [`write()`].
pub fn stage(
    path: &Path,
    tensors: &[NamedTensor<'_>],
    overwrite: bool,
    progress: &mut Progress<'_>,
) -> Result<Output, Error> {
    let error = |problem| Error::at(path, "stdout", problem);
    let format = Format::of(path).map_err(error)?;
    let mut output = Output::create(path, overwrite)?;
    format.write_to(&mut output, tensors, progress).map_err(error)?;
    Ok(output)
}

/// The tensor to write to a file of a format that holds one.
pub(crate) fn one<'a>(
    format: &Format,
    tensors: &'a [NamedTensor<'a>],
) -> Result<&'a NamedTensor<'a>, Problem> {
    match tensors {
        [tensor] => Ok(tensor),
        _ => Err(Problem::OneTensor { format: format.name, tensors: tensors.len() }),
    }
}

/// Writes `bytes` in pieces; `progress` is told the bytes so far.
pub(crate) fn write_data(
    out: &mut dyn Write,
    bytes: &[u8],
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    let mut written = 0;
    for chunk in bytes.chunks(CHUNK_BYTES) {
        out.write_all(chunk).map_err(Problem::writing)?;
        written += chunk.len() as u64;
        progress(written);
    }
    Ok(())
}
