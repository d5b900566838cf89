//! Determines the formats of output paths, and checks the paths before anything is written.

use std::io;
use std::path::Path;

use trundle_formats::{FORMATS, Format, Output, Problem, TensorFile, is_url};

use crate::failure::{Failure, Setting};
use crate::names::shown_path;
use crate::request::{Destination, Written};

/// Writes a file atomically: either the whole file appears at `path`, or nothing changes.
///
/// # Errors
/// If the file exists and `force` is false, or the file cannot be written.
pub fn write_with(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut output = Output::create(path, force)?;
    write(&mut output).map_err(|error| {
        let file = if path == Path::new("-") { "stdout".into() } else { path.to_string_lossy() };
        let problem = Problem::Io { doing: "write", source: error };
        trundle_formats::Error { file: file.into_owned(), problem }
    })?;
    Ok(output.finish()?)
}

pub(crate) fn shown_output(path: &Path) -> String {
    match path == Path::new("-") {
        true => "stdout".to_owned(),
        false => shown_path(path).to_string(),
    }
}

/// Returns whether the path exists and is neither a file nor a folder, such as a device or a pipe.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

impl Destination {
    /// Checks that the output at `path` can be read back, if `verify` is true.
    ///
    /// # Errors
    /// If the output is a stream or a device.
    pub(crate) fn check_verified(&self, path: &Path) -> Result<(), Failure> {
        if self.verify && path == Path::new("-") {
            return Err(Failure::usage("--verify reads the output back, which stdout cannot do"));
        }
        if self.verify && is_special(path) {
            let output = shown_path(path);
            return Err(Failure::usage(format!(
                "{output}: --verify reads the output back, which works for files only"
            )));
        }
        Ok(())
    }

    /// Checks that an output of this format can be written to `path`.
    ///
    /// # Errors
    /// If the path exists and must not be overwritten, or its folder does not exist.
    pub(crate) fn check_writable(&self, path: &Path, format: &Format) -> Result<(), Failure> {
        // With --resume, a bucket contains only the unfinished output.
        if self.resume && is_url(path) {
            return Ok(());
        }
        Ok(Output::check_as(format, path, self.overwrite)?)
    }

    /// Returns the format of an output at `path`: the requested format, or the format of the extension. A device or a
    /// pipe gets .npy.
    ///
    /// `None` means the format of the input: no format has the extension, but the input has the same.
    ///
    /// # Errors
    /// If the extension is unknown.
    pub(crate) fn format_at(
        &self,
        path: &Path,
        input: &Path,
    ) -> Result<Option<&'static Format>, Failure> {
        if let Some(format) = self.stated_format().or_else(|| Format::of_ending(path)) {
            return Ok(Some(format));
        }
        if is_special(path) {
            return Ok(Some(Format::of(Path::new("-"))?));
        }
        if path.is_dir() {
            // `check` reports that the path is a folder, which is the problem whatever its extension.
            Output::check(path, true)?;
        }
        if path.extension().is_some() && path.extension() == input.extension() {
            return Ok(None);
        }
        let failure =
            |error| Failure::from(error).with_setting(Setting::To, "selects the output format");
        Format::of(path).map(Some).map_err(failure)
    }

    pub(crate) fn stated_format(&self) -> Option<&'static Format> {
        Written::value_of(&self.format)
    }
}

/// Returns the format for a request without an output: the input's if trundle can write it, otherwise the first
/// writable format that holds several tensors, and metadata if the input's does.
pub(crate) fn format_like(file: &TensorFile) -> &'static Format {
    let keeps = |format: &Format| format.keeps_metadata() || !file.format().keeps_metadata();
    let holds = |format: &&Format| format.is_written() && !format.holds_one() && keeps(format);
    let written = || FORMATS.iter().find(holds);
    Some(file.format()).filter(|format| format.is_written()).or_else(written).unwrap_or(&FORMATS[0])
}
