//! Tensors that trundle copies without decoding them: most of them cannot be decoded.

use std::collections::HashMap;
use std::path::Path;

use trundle_formats::{Format, Header, Shown, TensorFile, Unreadable};

use crate::axes;
use crate::failure::Failure;
use crate::names::{cannot_keep, check_readable, leaving_out, listed, shown_path};
use crate::request::Axis;

/// Returns the tensors of a file that cannot be decoded and are copied to the output without decoding: their indices in
/// [`TensorFile::undecoded`].
///
/// # Errors
/// If an unreadable tensor cannot be copied, `format` cannot hold it, or the operation moves it.
pub(crate) fn kept(
    file: &TensorFile,
    path: &Path,
    format: &Format,
    is_moved: impl Fn(&Header) -> Result<bool, Failure>,
) -> Result<Vec<usize>, Failure> {
    let names = file.undecoded().iter().map(|undecoded| &*undecoded.header.name);
    let by_name: HashMap<&str, usize> = names.zip(0..).collect();
    let index = |tensor: &Unreadable| {
        let index = *by_name.get(&*tensor.name).ok_or_else(|| cannot_keep(path, tensor))?;
        let (file_name, name, why) =
            (shown_path(path), Shown(&tensor.name), Shown(&tensor.problem));
        if !format.is_folder() {
            return Err(Failure::refused(format!(
                "{file_name}: trundle cannot decode \"{name}\", so only a .{} output can hold it: {why}",
                file.format().name()
            )));
        }
        if is_moved(&file.undecoded()[index].header)? {
            return Err(Failure::refused(format!(
                "{file_name}: the operation moves \"{name}\", which trundle cannot decode: {why}"
            )));
        }
        Ok(index)
    };
    file.unreadable().iter().map(index).collect()
}

/// Returns the tensors that a split or a join along `axis` (`None`: a new axis) copies [without decoding](kept); none
/// if `name` selects tensors.
///
/// # Errors
/// The errors of [`kept`], and of [`check_readable`] if `name` selects tensors.
pub(crate) fn kept_along(
    file: &TensorFile,
    path: &Path,
    name: Option<&str>,
    axis: Option<&Axis>,
    format: &Format,
) -> Result<Vec<usize>, Failure> {
    if name.is_some() {
        return check_readable(path, file, name).map(|()| Vec::new());
    }
    let has_axis = |header: &Header| match axis {
        Some(Axis::Name(name)) => Ok(axes::called(header, name)?.is_some()),
        Some(Axis::Number(_)) | None => Ok(true),
    };
    kept(file, path, format, has_axis).map_err(leaving_out)
}

/// Describes in a line of a plan the tensors that are copied without decoding; empty if there are none.
pub(crate) fn line(file: &TensorFile, kept: &[usize]) -> String {
    if kept.is_empty() {
        return String::new();
    }
    let name = |index: &usize| {
        let Header { name, element, shape, .. } = &file.undecoded()[*index].header;
        format!("{name} ({} {shape})", element.name())
    };
    let names = listed(kept.iter().map(name));
    format!("  copied as stored, without decoding: {names}\n")
}
