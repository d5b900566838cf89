//! What every part of a run has to know.

use std::io;
use std::path::Path;

use trundle_formats::{Begin, Blob};

use crate::error::{Error, temporary, writing};
use crate::plan::job::Job;
use crate::recovery::key_of_pass;
use crate::run::options::{Observer, RunOptions};
use crate::store::Store;

/// A job with its files, and how it is run. None of it changes.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) job: &'a Job,
    /// What messages call the output.
    pub(crate) path: &'a Path,
    /// What becomes the output.
    pub(crate) target: &'a dyn Blob,
    /// Where everything else is that it writes.
    pub(crate) store: &'a dyn Store,
    /// What messages call that; `None` for the system's folder of temporary files, where nothing has
    /// a name.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) options: RunOptions,
    pub(crate) observer: &'a dyn Observer,
}

impl Context<'_> {
    /// What a pass writes for the next one, to be found again where the context has a folder.
    pub(crate) fn of_pass(&self, pass: usize, begin: Begin) -> Result<Box<dyn Blob>, Error> {
        let Some(folder) = self.folder else { return self.unnamed() };
        let opened = self.store.open(&key_of_pass(pass), begin);
        opened.map_err(|problem| Error::file(folder, problem))
    }

    /// The same for this run alone.
    pub(crate) fn unnamed(&self) -> Result<Box<dyn Blob>, Error> {
        self.store.unnamed().map_err(|error| self.writing_intermediate(error))
    }

    /// That what becomes the output cannot be written: that of a stream is a temporary file.
    pub(crate) fn writing(&self, error: io::Error) -> Error {
        match self.folder {
            Some(_) => writing(self.path)(error),
            None => temporary(None)(error),
        }
    }

    /// That an intermediate file cannot be written.
    pub(crate) fn writing_intermediate(&self, error: io::Error) -> Error {
        temporary(self.folder)(error)
    }

    /// That so many bytes of memory cannot be had.
    pub(crate) fn no_memory(&self, bytes: usize) -> Error {
        Error::file(self.path, trundle_formats::Problem::NoMemory { bytes })
    }
}
