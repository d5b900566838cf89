//! Access to the files next to a model.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Where symbolic links in the model's folder may lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Only to files within the model's folder, for models that are not trusted.
    #[default]
    Within,
    /// Anywhere. Some caches store each file of a model as a link.
    Anywhere,
}

impl Links {
    /// Resolves the path `relative` within `folder` and follows symbolic links. `what` names the file in
    /// messages.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file; [`Error::Link`] if a link leads out of the folder and `self`
    /// is `Within`.
    pub(crate) fn follow(self, folder: &Path, relative: &Path, what: &str) -> Result<PathBuf> {
        let failed = |path: &Path, source: io::Error| Error::Io { path: path.to_owned(), source };
        let joined = folder.join(relative);
        let path = fs::canonicalize(&joined).map_err(|source| failed(&joined, source))?;
        let folder = fs::canonicalize(folder).map_err(|source| failed(folder, source))?;
        if self == Links::Within && !path.starts_with(&folder) {
            return Err(Error::Link(format!(
                "{what}{relative:?} is a link that leads out of the model's folder"
            )));
        }
        Ok(path)
    }
}

pub(crate) fn read_range(path: &Path, start: u64, bytes: usize) -> Result<Vec<u8>> {
    let read = || {
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| ErrorKind::OutOfMemory)?;
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        file.take(bytes as u64).read_to_end(&mut data)?;
        if data.len() == bytes { Ok(data) } else { Err(ErrorKind::UnexpectedEof.into()) }
    };
    read().map_err(|source| Error::Io { path: path.to_owned(), source })
}
