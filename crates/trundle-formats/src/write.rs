//! Writes tensors that are in memory to a file.

use std::io::Write;
use std::path::Path;

use trundle_core::Shape;

use crate::{Described, Error, Format, Order, Output, Problem, Progress, StoredDType, crc32};

/// The size of a write in bytes. Progress is reported after each write.
const CHUNK_BYTES: usize = 8 << 20;

/// A tensor in memory that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NamedTensor<'a> {
    /// The name in the file. Formats without names ignore it.
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
    /// Writes `tensors` to `out`. `metadata` is the same as for [`Format::skeleton`]. Calls `progress` with the number
    /// of data bytes written so far.
    ///
    /// # Errors
    /// [`Problem`] if the bytes of a tensor do not match its shape, or cannot be written. The errors of
    /// [`Format::skeleton`] are also returned.
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

/// Returns the format from the file extension of a path. Returns an error if the files of the format are folders.
fn format_of_file(path: &Path) -> Result<&'static Format, Error> {
    let format = Format::of(path)?;
    if format.is_folder() {
        let why = format!("format {} is written from files only", format.name());
        return Err(Error::at(path, "stdout", Problem::Unsupported(why)));
    }
    Ok(format)
}

/// Checks that `path` can be written, before any work is done: its file extension is known, its folder exists, and the
/// path does not exist unless `overwrite` is true. If `path` is `-`, the output is stdout.
///
/// # Errors
/// [`Error`] that names the reason.
pub fn check_output(path: &Path, overwrite: bool) -> Result<(), Error> {
    format_of_file(path)?;
    Output::check(path, overwrite)
}

/// Writes `tensors` to the file at `path`. The file extension determines the format. If `path` is `-`, writes .npy to
/// stdout. The file gets its final name only when it is complete, as [`Output`] explains. Calls `progress` with the
/// number of data bytes written so far.
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

/// Writes the file like [`write()`], and `metadata` too, but does not give it its final name yet.
///
/// [`Output::read_back`] opens the result, and [`Output::finish`] gives it its final name.
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
