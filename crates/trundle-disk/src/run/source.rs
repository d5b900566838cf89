//! The files that a job reads.

use std::path::Path;

use trundle_formats::{Blob, TensorFile};

/// A file that a job reads.
pub struct Source<'a> {
    /// The file for which the job was planned.
    pub file: &'a mut TensorFile,
    /// The name in messages.
    pub path: &'a Path,
}

/// A source that several threads read.
#[derive(Clone, Copy)]
pub(crate) struct SourceFile<'a> {
    /// `None` for a stream.
    pub(crate) blob: Option<&'a dyn Blob>,
    pub(crate) path: &'a Path,
}

impl Source<'_> {
    pub(crate) fn file(&self) -> SourceFile<'_> {
        SourceFile { blob: self.file.blob(), path: self.path }
    }
}
