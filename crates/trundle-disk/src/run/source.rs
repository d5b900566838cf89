//! The files that a job reads.

use std::path::Path;

use trundle_formats::{Blob, TensorFile};

/// A file that a job reads.
pub struct Source<'a> {
    /// The file, for which the job was made.
    pub file: &'a mut TensorFile,
    /// What messages call it.
    pub path: &'a Path,
}

/// The same, where it is read from several threads.
#[derive(Clone, Copy)]
pub(crate) struct SourceFile<'a> {
    /// `None` of a stream.
    pub(crate) blob: Option<&'a dyn Blob>,
    pub(crate) path: &'a Path,
}

impl Source<'_> {
    pub(crate) fn file(&self) -> SourceFile<'_> {
        SourceFile { blob: self.file.blob(), path: self.path }
    }
}
