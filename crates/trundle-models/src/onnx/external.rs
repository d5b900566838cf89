//! Tensor data in files next to the model.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use super::proto::StringEntry;
use crate::links::read_range;
use crate::problem::{Checked, wrong};
use crate::{Error, Links};

/// The bytes that a model may read from a file, as a multiple of the file's size. Tensors may share bytes, but a small
/// model must not fill the memory by reading the same bytes many times.
const MOST_READ: u64 = 4;

/// Reads external data within the model's folder.
pub(super) struct ExternalData {
    folder: Option<PathBuf>,
    links: Links,
    /// Ranges that have been read. Equal ranges share memory.
    read: HashMap<Range, Bytes>,
    /// The bytes read from each file.
    totals: HashMap<PathBuf, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Range {
    path: PathBuf,
    offset: u64,
    bytes: usize,
}

struct ExternalRange<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

impl ExternalData {
    /// Reads only from `folder`, through links that `links` allows. Without a folder, external data is refused.
    pub(super) fn new(folder: Option<&Path>, links: Links) -> ExternalData {
        let folder = folder.map(Path::to_owned);
        ExternalData { folder, links, read: HashMap::new(), totals: HashMap::new() }
    }

    /// Reads the range that `entries` describe, which must have `bytes` bytes. `what` names the tensor in
    /// messages.
    ///
    /// # Errors
    /// If the entries have no location, if they describe a range outside the folder or the file, or if they
    /// state another length.
    pub(super) fn read(
        &mut self,
        entries: &[StringEntry],
        bytes: usize,
        what: &str,
    ) -> Checked<Bytes> {
        let external = ExternalRange::new(entries)?;
        if let Some(length) = external.length
            && length != bytes as u64
        {
            return wrong!("the external data has {length} bytes, its shape takes {bytes}");
        }
        let relative = within_folder(external.location)?;
        let Some(folder) = &self.folder else {
            let location = external.location;
            return wrong!(
                "{location:?} is in the model's folder, but the model was not read from a folder"
            );
        };
        let path = self.links.follow(folder, relative, &format!("{what}: "))?;
        let range = Range { path, offset: external.offset, bytes };
        if let Some(data) = self.read.get(&range) {
            return Ok(data.clone());
        }
        let data = self.read_range(&range)?;
        self.read.insert(range, data.clone());
        Ok(data)
    }

    fn read_range(&mut self, range: &Range) -> Checked<Bytes> {
        let io_error = |source| Error::Io { path: range.path.clone(), source };
        let path = range.path.display();
        let size = fs::metadata(&range.path).map_err(io_error)?;
        if !size.is_file() {
            return wrong!("{path}: not a file");
        }
        let size = size.len();
        let Range { offset, bytes, .. } = *range;
        if offset.checked_add(bytes as u64).is_none_or(|end| end > size) {
            return wrong!("{path}: {bytes} bytes from {offset} on, but it has {size}");
        }
        let total = self.totals.entry(range.path.clone()).or_default();
        *total = total.saturating_add(bytes as u64);
        if *total > size.saturating_mul(MOST_READ) {
            return wrong!("{path}: the tensors take more than {MOST_READ} times its {size} bytes");
        }
        Ok(read_range(&range.path, offset, bytes)?.into())
    }
}

impl<'a> ExternalRange<'a> {
    fn new(entries: &'a [StringEntry]) -> Checked<ExternalRange<'a>> {
        let mut external = ExternalRange { location: "", offset: 0, length: None };
        for StringEntry { key, value } in entries {
            let number = || {
                let refused =
                    format!("the {key} of external data is {value:?}, which is not a number");
                value.parse().map_err(|_| refused)
            };
            match key.as_str() {
                "location" => external.location = value,
                "offset" => external.offset = number()?,
                "length" => external.length = Some(number()?),
                // The library `onnx` sometimes writes `basepath`, but never reads it.
                "checksum" | "basepath" => (),
                _ => return wrong!("external data has {key:?}, which is not known"),
            }
        }
        match external.location {
            "" => wrong!("external data has no location"),
            _ => Ok(external),
        }
    }
}

/// Refuses invalid paths, and paths that lead outside the folder.
fn within_folder(location: &str) -> Checked<&Path> {
    if location.contains('\0') {
        return wrong!("external data is in {location:?}, which is not a file name");
    }
    let path = Path::new(location);
    let inside =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match inside {
        true => Ok(path),
        false => wrong!("{location:?} is not in the model's folder"),
    }
}
