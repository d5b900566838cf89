//! Writes tensors that are in memory to a file.

use std::io::Write;
use std::path::Path;

use trundle_core::Shape;

use crate::{Described, Error, Format, Order, Output, Problem, Progress, StoredDType, crc32};

/// The bytes of a write, after which progress is reported.
const CHUNK_BYTES: usize = 8 << 20;

/// A tensor in memory, to be written.
#[derive(Clone, Copy, Debug)]
pub struct NamedTensor<'a> {
    /// The name in the file, which formats without names ignore.
    pub name: &'a str,
    /// The element type.
    pub element: &'a StoredDType,
    /// The sizes of the axes.
    pub shape: &'a Shape,
    /// The elements, contiguous and row-major, in the byte order and bit order of `element`.
    pub bytes: &'a [u8],
}

impl NamedTensor<'_> {
    fn described(&self) -> Described<'_> {
        let NamedTensor { name, element, shape, .. } = self;
        Described::new(name, element, shape, Order::RowMajor)
    }
}

impl Format {
    /// Writes `tensors` to `out`, with `metadata` as for [`Format::skeleton`]. Calls `progress` with the data bytes
    /// written so far.
    ///
    /// # Errors
    /// [`Problem`] if the bytes of a tensor do not match its shape or cannot be written, and the errors of
    /// [`Format::skeleton`].
    pub fn write_to(
        &self,
        out: &mut dyn Write,
        tensors: &[NamedTensor<'_>],
        metadata: &[(String, String)],
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        let described: Vec<Described<'_>> = tensors.iter().map(NamedTensor::described).collect();
        for tensor in tensors {
            let (expected, got) = (tensor.described().bytes()?, tensor.bytes.len());
            if got != expected {
                return Err(Problem::DataSize { name: tensor.name.to_owned(), expected, got });
            }
        }
        let skeleton = self.skeleton(&described, metadata)?;
        let crc32s = match skeleton.needs_crc32() {
            true => tensors.iter().map(|tensor| crc32(tensor.bytes)).collect(),
            false => Vec::new(),
        };
        let mut spans = skeleton.spans(&crc32s)?.into_iter().peekable();
        let mut written = 0;
        for (tensor, offset) in tensors.iter().zip(skeleton.data_offsets()) {
            while let Some(span) = spans.next_if(|span| span.offset < *offset) {
                out.write_all(&span.bytes).map_err(Problem::writing)?;
            }
            for chunk in tensor.bytes.chunks(CHUNK_BYTES) {
                out.write_all(chunk).map_err(Problem::writing)?;
                written += chunk.len() as u64;
                progress(written);
            }
        }
        spans.try_for_each(|span| out.write_all(&span.bytes).map_err(Problem::writing))
    }
}

/// Returns the format of a path's extension, unless its files are folders.
fn format_of_file(path: &Path) -> Result<&'static Format, Error> {
    let format = Format::of(path)?;
    if format.is_folder() {
        let why = format!("format {} is written from files only", format.name());
        return Err(Error::at(path, "stdout", Problem::Unsupported(why)));
    }
    Ok(format)
}

/// Checks, before any work is done, that `path` can be written: its extension is known, its folder exists, and the path
/// does not exist unless `overwrite` is true. `-` is stdout.
///
/// # Errors
/// [`Error`] that names the reason.
pub fn check_output(path: &Path, overwrite: bool) -> Result<(), Error> {
    format_of_file(path)?;
    Output::check(path, overwrite)
}

/// Writes `tensors` to the file at `path` in the format of its extension; `-` is stdout, as .npy. The file appears
/// completely or not at all, see [`Output`]. Calls `progress` with the data bytes written so far.
///
/// # Errors
/// The errors of [`check_output`] and [`Format::write_to`].
pub fn write(
    path: &Path,
    tensors: &[NamedTensor<'_>],
    overwrite: bool,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    stage(path, tensors, &[], overwrite, progress)?.finish()
}

/// Writes the file like [`write()`], with `metadata`, but does not give it its final name yet.
///
/// [`Output::read_back`] opens the result, [`Output::finish`] names it.
///
/// # Errors
/// The errors of [`write()`].
pub fn stage(
    path: &Path,
    tensors: &[NamedTensor<'_>],
    metadata: &[(String, String)],
    overwrite: bool,
    progress: &mut Progress<'_>,
) -> Result<Output, Error> {
    let error = |problem| Error::at(path, "stdout", problem);
    let format = format_of_file(path)?;
    let mut output = Output::create(path, overwrite)?;
    format.write_to(&mut output, tensors, metadata, progress).map_err(error)?;
    Ok(output)
}
