//! The objects of a Zarr store in a bucket.

use std::any::Any;
use std::io;
use std::sync::{Arc, OnceLock};

use trundle_s3::Bucket;
use trundle_zarr::{Below, ByteRange, Elsewhere, Object, ObjectStore, Stat, check_bytes};

#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) bucket: Arc<Bucket>,
    /// The first read request that failed. Opening a store reports it instead of a malformed array.
    failure: OnceLock<String>,
}

#[derive(Debug)]
struct InBucket {
    bucket: Arc<Bucket>,
    key: String,
    bytes: u64,
}

/// The largest object in bytes that the server copies. The copy of a larger object may exceed the request timeout.
const MOST_COPIED_BYTES: u64 = 1 << 30;

impl Elsewhere for InBucket {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let check = |all, _| check_bytes(all, self.bytes);
        let read = self.bucket.read(&self.key, trundle_s3::ByteRange::All, check);
        // The message names the source, because the caller adds only the path of the destination.
        let wrong = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} of the source: {error}", self.key))
        };
        read.and_then(|read| read.ok_or_else(|| io::ErrorKind::NotFound.into())).map_err(wrong)
    }
}

impl Objects {
    /// Opens the bucket of a URL.
    ///
    /// # Errors
    /// If the URL or the settings are invalid.
    pub(crate) fn open(url: &str) -> io::Result<Objects> {
        let bucket = Arc::new(Bucket::open(url)?);
        Ok(Objects { bucket, failure: OnceLock::new() })
    }

    /// Checks that no read request has failed so far.
    ///
    /// # Errors
    /// The error of the first request that failed.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }

    fn noted<T>(&self, answer: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &answer
            && error.kind() != io::ErrorKind::InvalidData
        {
            self.failure.get_or_init(|| error.to_string());
        }
        answer
    }
}

impl ObjectStore for Objects {
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        let found = self.noted(self.bucket.stat(key))?;
        Ok(found.map(|found| Stat { bytes: found.bytes, modified: Some(found.modified) }))
    }

    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        let asked = match part {
            ByteRange::All => trundle_s3::ByteRange::All,
            // Servers refuse empty ranges.
            ByteRange::Range(_, 0) | ByteRange::Last(0) => {
                let Some(found) = self.noted(self.bucket.stat(key))? else { return Ok(None) };
                return part.within(found.bytes, most).map(|_| Some(Vec::new()));
            }
            ByteRange::Range(start, length) => trundle_s3::ByteRange::Range(start, length),
            ByteRange::Last(length) => trundle_s3::ByteRange::Last(length),
        };
        self.noted(self.bucket.read(key, asked, |all, _| part.within(all, most).map(drop)))
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        let Some(found) = self.noted(self.bucket.stat(key))? else { return Ok(None) };
        check_bytes(found.bytes, most)?;
        let (bucket, key) = (Arc::clone(&self.bucket), key.to_owned());
        Ok(Some(Object::Elsewhere(Box::new(InBucket { bucket, key, bytes: found.bytes }))))
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        let names = self.noted(self.bucket.folders(path))?;
        Ok(names.into_iter().map(|name| Below { name, is_link: false }).collect())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64> {
        if let Object::Elsewhere(elsewhere) = &object
            && let Some(from) = (&**elsewhere as &dyn Any).downcast_ref::<InBucket>()
            && self.bucket.is_beside(&from.bucket)
            && from.bytes <= MOST_COPIED_BYTES
        {
            match self.bucket.copy(key, &from.bucket, &from.key) {
                Ok(()) => return Ok(from.bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                // The user may lack the permission to copy, or the server the operation. Download and upload instead.
                Err(_) => {}
            }
        }
        let bytes = in_memory(object)?;
        let written = bytes.len() as u64;
        self.bucket.write(key, bytes, trundle_s3::New::OrReplace)?;
        Ok(written)
    }
}

pub(crate) fn in_memory(object: Object<'_>) -> io::Result<Vec<u8>> {
    match object {
        Object::Bytes(bytes) => Ok(bytes.into_owned()),
        Object::Elsewhere(object) => object.read(),
        Object::File(mut file) => {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut file, &mut bytes)?;
            Ok(bytes)
        }
    }
}
