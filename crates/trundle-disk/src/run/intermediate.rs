//! Files that exist only while a job runs: what is written between passes, and unpacked data.

use std::fs::File;

use trundle_formats::{Begin, TemporaryFile};

use crate::error::Error;
use crate::run::context::Context;

/// A file that exists until the job is done.
pub(crate) enum Intermediate {
    /// One that a later run finds again by its name.
    Named(TemporaryFile),
    Unnamed(File),
}

impl Intermediate {
    /// The file that a pass writes for the next one, to be found again where the context has a
    /// folder.
    pub(crate) fn of_pass(
        context: Context<'_>,
        pass: usize,
        begin: Begin,
    ) -> Result<Intermediate, Error> {
        let Some(folder) = context.folder else { return Intermediate::unnamed(context) };
        let file = TemporaryFile::tagged(folder, context.tag, &format!("pass{pass}"), begin, None);
        Ok(Intermediate::Named(file.map_err(|problem| Error::file(folder, problem))?))
    }

    pub(crate) fn unnamed(context: Context<'_>) -> Result<Intermediate, Error> {
        let file = match context.folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        file.map(Intermediate::Unnamed).map_err(|error| context.writing_intermediate(error))
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            Intermediate::Named(file) => file.file(),
            Intermediate::Unnamed(file) => file,
        }
    }

    /// [`TemporaryFile::keep`].
    pub(crate) fn keep(&mut self, kept: bool) {
        if let Intermediate::Named(file) = self {
            file.keep(kept);
        }
    }
}
