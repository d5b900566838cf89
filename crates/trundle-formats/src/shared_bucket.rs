//! An output of several processes in a bucket.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bucket_output::BucketOutput;
use crate::format::NewFolder;
use crate::shared_output::{Shared, Sharing};
use crate::{Blob, FileSkeleton, Problem, zarr};

/// A store that several processes write to a bucket, where they note what is done.
#[derive(Debug)]
pub(crate) struct SharedBucket {
    output: Arc<BucketOutput>,
    tag: String,
    sharing: Arc<Sharing>,
}

impl SharedBucket {
    /// Begins a store at a URL.
    pub(crate) fn begin(
        url: &str,
        overwrite: bool,
        tag: &str,
        skeleton: &FileSkeleton,
    ) -> Result<SharedBucket, Problem> {
        let output = Arc::new(BucketOutput::begin(url, overwrite, tag)?);
        (zarr::FOLDER.begin)(NewFolder::Bucket(Arc::clone(&output), None), skeleton)?;
        output.keep()?;
        Ok(SharedBucket::of(output, tag))
    }

    /// The store that was begun like this; `Err` of whether it is finished.
    pub(crate) fn join(url: &str, tag: &str) -> Result<Result<SharedBucket, bool>, Problem> {
        let joined = BucketOutput::join(url, tag)?;
        Ok(joined.map(|output| SharedBucket::of(Arc::new(output), tag)))
    }

    fn of(output: Arc<BucketOutput>, tag: &str) -> SharedBucket {
        let sharing = Arc::new(Sharing::in_folder(PathBuf::new()));
        SharedBucket { output, tag: tag.to_owned(), sharing }
    }
}

impl Shared for SharedBucket {
    fn id(&self) -> Option<String> {
        Some(self.tag.clone())
    }

    fn is_there(&self) -> bool {
        self.output.is_there()
    }

    fn blob(&self, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Problem> {
        let sharing = Some(Arc::clone(&self.sharing));
        (zarr::FOLDER.begin)(NewFolder::Bucket(Arc::clone(&self.output), sharing), skeleton)
    }

    fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    fn has(&self, path: &str, bytes: u64) -> bool {
        use trundle_zarr::ObjectStore;

        let found = self.output.stat(path);
        found.is_ok_and(|found| found.is_some_and(|found| found.bytes == bytes))
    }

    /// Tasks share no files beside a bucket.
    fn work_file(&self, _: &str) -> io::Result<File> {
        let why = "tasks write to a bucket in one pass only: more memory (--max-mem) or larger chunks may make it one";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    fn noted(&self, name: &str) -> io::Result<Option<String>> {
        self.output.noted(name)
    }

    fn note(&self, name: &str, text: &str) -> io::Result<()> {
        self.output.note(name, text)
    }

    fn unnote(&self, name: &str) {
        self.output.unnote(name);
    }

    /// What a bucket has taken is there.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<(), Problem> {
        self.output.finish()
    }
}
