//! Shared outputs in a bucket.

use std::fs::File;
use std::io;
use std::sync::Arc;

use trundle_s3::New;
use trundle_zarr::{ObjectStore, Part};

use crate::bucket_output::{BucketOutput, MOST_NOTE_BYTES, UNFINISHED};
use crate::format::{FolderFormat, NewFolder};
use crate::shared::{Shared, WrittenFiles};
use crate::{Blob, FileSkeleton, Problem};

/// A store in a bucket that several processes write. They note there which parts are done.
#[derive(Debug)]
pub(crate) struct SharedBucket {
    format: FolderFormat,
    output: Arc<BucketOutput>,
    written: Arc<WrittenFiles>,
}

impl SharedBucket {
    pub(crate) fn begin(
        format: FolderFormat,
        url: &str,
        overwrite: bool,
        tag: &str,
        skeleton: &FileSkeleton,
    ) -> Result<SharedBucket, Problem> {
        let output = BucketOutput::begin(url, overwrite, tag)?;
        (format.begin)(NewFolder::Bucket(Arc::clone(&output) as _, None), skeleton)?;
        output.keep()?;
        Ok(SharedBucket { format, output, written: Arc::default() })
    }

    /// Joins the store; `Err(is_finished)` if it is no longer being written.
    pub(crate) fn join(
        format: FolderFormat,
        url: &str,
        tag: &str,
    ) -> Result<Result<SharedBucket, bool>, Problem> {
        let joined = BucketOutput::join(url, tag)?;
        Ok(joined.map(|output| {
            let output = Arc::new(output);
            SharedBucket { format, output, written: Arc::default() }
        }))
    }
}

impl Shared for SharedBucket {
    fn id(&self) -> Option<String> {
        Some(self.output.tag.clone())
    }

    fn is_there(&self) -> bool {
        self.output.is_there()
    }

    fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Problem> {
        let written = Some(Arc::clone(&self.written));
        (self.format.begin)(NewFolder::Bucket(Arc::clone(&self.output) as _, written), skeleton)
    }

    fn written(&self) -> &WrittenFiles {
        &self.written
    }

    fn has(&self, path: &str, bytes: u64) -> bool {
        let found = self.output.stat(path);
        found.is_ok_and(|found| found.is_some_and(|found| found.bytes == bytes))
    }

    /// Tasks that write to a bucket share no files.
    fn work_file(&self, _: &str) -> io::Result<File> {
        let why = "tasks write to a bucket in one pass only: more memory or larger chunks may make it one";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    fn noted(&self, name: &str) -> io::Result<Option<String>> {
        let read = self.output.objects.read(&note(name), Part::All, MOST_NOTE_BYTES)?;
        let text = read.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.output.objects.0.write(&note(name), text.as_bytes().to_vec(), New::OrReplace)
    }

    /// Does nothing: stores in a bucket are never removed automatically, as no locks show whether they are in
    /// use.
    fn note_planned(&self) -> io::Result<()> {
        Ok(())
    }

    fn unnote(&self, name: &str) {
        // It is not an error if there was no such note.
        let _ = self.output.objects.0.remove(&note(name));
    }

    /// Does nothing: completed requests are durable.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<(), Problem> {
        self.output.finish()
    }
}

fn note(name: &str) -> String {
    format!("{UNFINISHED}/notes/{name}")
}
