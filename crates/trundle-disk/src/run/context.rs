//! What every part of a run has to know.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, temporary, writing};
use crate::plan::job::Job;
use crate::run::options::{Observer, RunOptions};

/// A job with its files, and how it is run. None of it changes.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) job: &'a Job,
    /// What messages call the output.
    pub(crate) path: &'a Path,
    /// The file that becomes the output.
    pub(crate) target: &'a File,
    /// Where intermediate files are; `None` for the system's folder of temporary files.
    pub(crate) folder: Option<&'a Path>,
    /// By what intermediate files in the folder are found again.
    pub(crate) tag: &'a str,
    pub(crate) options: RunOptions,
    pub(crate) observer: &'a dyn Observer,
}

impl Context<'_> {
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
