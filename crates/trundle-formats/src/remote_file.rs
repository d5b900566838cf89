//! Files in buckets and on HTTP servers.

use std::io;

use trundle_remote::RemoteFile;

use crate::blob::nanoseconds;
use crate::{Blob, BlobIdentity};

impl Blob for RemoteFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(RemoteFile::bytes(self))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        RemoteFile::read_at(self, buffer, offset)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn identity(&self) -> io::Result<Option<BlobIdentity>> {
        // The size alone does not identify the content. Servers may state the time of the answer, so a tag takes precedence.
        let modified = match (self.tag(), self.modified()) {
            (Some(_), _) => 0,
            (None, Some(modified)) => nanoseconds(modified),
            (None, None) => return Ok(None),
        };
        let samples = self.tag().unwrap_or_default().as_bytes().to_vec();
        Ok(Some(BlobIdentity { bytes: RemoteFile::bytes(self), modified, samples }))
    }
}
