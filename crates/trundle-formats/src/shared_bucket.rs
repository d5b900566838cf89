//! Shared outputs in a bucket.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use trundle_zarr::{ByteRange, Object, ObjectStore};

use crate::bucket::UNFINISHED;
use crate::bucket_output::{BucketOutput, MOST_NOTE_BYTES};
use crate::format::{FolderFormat, NewFolder};
use crate::shared::{Shared, WrittenFiles};
use crate::shared_folder::{create_private, open_work_file, work_folder};
use crate::url::{is_registered, not_written};
use crate::{Blob, FileSkeleton, Format, Problem};

/// A Zarr store in a bucket that several processes write, with their notes about finished parts.
#[derive(Debug)]
struct SharedBucket {
    path: PathBuf,
    format: FolderFormat,
    output: Arc<BucketOutput>,
}

/// Begins a store at a URL. Formats other than Zarr are refused.
pub(crate) fn begin_in_bucket(
    format: &Format,
    url: &str,
    overwrite: bool,
    tag: &str,
    skeleton: &FileSkeleton,
) -> Result<Box<dyn Shared>, Problem> {
    let format = format.folder.ok_or_else(|| not_written(url))?;
    let output = BucketOutput::begin(url, overwrite, tag)?;
    (format.begin)(NewFolder::Bucket(Arc::clone(&output) as _, None), skeleton)?;
    output.keep()?;
    Ok(Box::new(SharedBucket { path: PathBuf::from(url), format, output }))
}

/// Joins the store. Returns `Err(is_finished)` if it is no longer being written.
pub(crate) fn join_in_bucket(
    format: &Format,
    url: &str,
    tag: &str,
) -> Result<Result<Box<dyn Shared>, bool>, Problem> {
    let format = format.folder.ok_or_else(|| not_written(url))?;
    let joined = BucketOutput::join(url, tag)?;
    Ok(joined.map(|output| -> Box<dyn Shared> {
        let output = Arc::new(output);
        Box::new(SharedBucket { path: PathBuf::from(url), format, output })
    }))
}

impl Shared for SharedBucket {
    fn id(&self) -> Option<String> {
        Some(self.output.tag.clone())
    }

    fn is_there(&self) -> bool {
        self.output.is_there()
    }

    fn blob(
        &self,
        skeleton: &FileSkeleton,
        written: Arc<WrittenFiles>,
    ) -> Result<Box<dyn Blob>, Problem> {
        let output = Arc::clone(&self.output);
        (self.format.begin)(NewFolder::Bucket(output, Some(written)), skeleton)
    }

    fn has(&self, path: &str, bytes: u64) -> bool {
        let found = self.output.stat(path);
        found.is_ok_and(|found| found.is_some_and(|found| found.bytes == bytes))
    }

    /// Opens a file in the system's temporary folder, if all tasks run in this process. Tasks that write to a bucket
    /// share no files, because they may run on different machines.
    fn work_file(&self, name: &str) -> io::Result<File> {
        if !is_registered(&self.path) {
            let why = "tasks write to a bucket in one pass only: use more memory or larger chunks";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let work = work_folder(&self.path, &self.output.tag);
        match create_private(&work) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => open_work_file(&work.join(name)),
        }
    }

    fn noted(&self, name: &str) -> io::Result<Option<String>> {
        let read = self.output.objects.read(&note(name), ByteRange::All, MOST_NOTE_BYTES)?;
        let text = read.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.output.objects.write(&note(name), Object::Bytes(text.as_bytes().into())).map(drop)
    }

    /// Does nothing. Stores in a bucket are never removed automatically, because no lock shows whether they are in use.
    fn note_planned(&self) -> io::Result<()> {
        Ok(())
    }

    fn unnote(&self, name: &str) {
        // It is not an error if there was no such note.
        let _ = self.output.objects.remove(&note(name));
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
