//! Tensors that trundle cannot decode, and copies as they are stored.

use std::collections::HashMap;
use std::path::Path;

use trundle_formats::{Format, Header, Shown, TensorFile, Unreadable};

use crate::failure::Failure;
use crate::names::{cannot_keep, listed, shown_path};

/// Returns the tensors of a file that cannot be decoded and go to the output as they are stored: their indices in
/// [`TensorFile::stored`].
///
/// # Errors
/// If an unreadable tensor cannot be copied, `format` cannot hold it, or the operation moves it.
pub(crate) fn kept(
    file: &TensorFile,
    path: &Path,
    format: &Format,
    is_moved: impl Fn(&Header) -> Result<bool, Failure>,
) -> Result<Vec<usize>, Failure> {
    let names = file.stored().iter().map(|stored| &*stored.header.name);
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
        if is_moved(&file.stored()[index].header)? {
            return Err(Failure::refused(format!(
                "{file_name}: the operation moves \"{name}\", which trundle cannot decode: {why}"
            )));
        }
        Ok(index)
    };
    file.unreadable().iter().map(index).collect()
}

/// Describes in one line the tensors that are copied as they are stored; `None` if there are none.
pub(crate) fn line(file: &TensorFile, kept: &[usize]) -> Option<String> {
    let name = |index: &usize| {
        let Header { name, element, shape, .. } = &file.stored()[*index].header;
        format!("{name} ({} {shape})", element.name())
    };
    let names = listed(kept.iter().map(name));
    (!kept.is_empty())
        .then(|| format!("copied as stored, since trundle cannot decode them: {names}"))
}
