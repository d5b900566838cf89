//! The parameters of a run.

use std::io;
use std::path::Path;

use trundle_formats::{Begin, Blob};

use crate::error::{Error, temporary, writing};
use crate::plan::job::Job;
use crate::recovery::key_of_pass;
use crate::run::options::{Observer, RunOptions};
use crate::store::Store;

/// A job with its files and options, constant during a run.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) job: &'a Job,
    /// The name of the output in messages.
    pub(crate) path: &'a Path,
    pub(crate) target: &'a dyn Blob,
    pub(crate) store: &'a dyn Store,
    /// The folder in messages; `None` for the system's temporary folder, in which files have no names.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) options: RunOptions,
    pub(crate) observer: &'a dyn Observer,
}

impl Context<'_> {
    /// Opens the intermediate of a pass, with a name if the context has a folder.
    pub(crate) fn of_pass(&self, pass: usize, begin: Begin) -> Result<Box<dyn Blob>, Error> {
        let Some(folder) = self.folder else { return self.unnamed() };
        let opened = self.store.open(&key_of_pass(pass), begin);
        opened.map_err(|problem| Error::file(folder, problem))
    }

    pub(crate) fn unnamed(&self) -> Result<Box<dyn Blob>, Error> {
        self.store.unnamed().map_err(|error| self.writing_intermediate(error))
    }

    /// Converts an error of writing the output; a stream is first written to a temporary file.
    pub(crate) fn writing(&self, error: io::Error) -> Error {
        match self.folder {
            Some(_) => writing(self.path)(error),
            None => temporary(None)(error),
        }
    }

    pub(crate) fn writing_intermediate(&self, error: io::Error) -> Error {
        temporary(self.folder)(error)
    }

    pub(crate) fn no_memory(&self, bytes: usize) -> Error {
        Error::file(self.path, trundle_formats::Problem::NoMemory { bytes })
    }
}
