//! Where the files beside a model may lie.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{Error, Result};

/// Where symbolic links at the files beside a model may lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// To places within the model's folder only: a model is not trusted, nor is the archive it came
    /// in.
    #[default]
    Within,
    /// Anywhere, as in caches where each file of a model is a link to a store of files.
    Anywhere,
}

impl Links {
    /// `relative` within `folder`, with links followed. `what` it is, for messages.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file, [`Error::Link`] if a link leads out of the folder
    /// that may not.
    pub(crate) fn follow(self, folder: &Path, relative: &Path, what: &str) -> Result<PathBuf> {
        let failed = |path: &Path, source: io::Error| Error::Io { path: path.to_owned(), source };
        let place = folder.join(relative);
        let path = fs::canonicalize(&place).map_err(|source| failed(&place, source))?;
        let folder = fs::canonicalize(folder).map_err(|source| failed(folder, source))?;
        if self == Links::Within && !path.starts_with(&folder) {
            return Err(Error::Link(format!(
                "{what}{relative:?} is a link that leads out of the model's folder"
            )));
        }
        Ok(path)
    }
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
