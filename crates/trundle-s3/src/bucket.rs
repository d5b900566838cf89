//! The objects below a path of an S3 bucket.

use std::borrow::Cow;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutOptions, PutPayload,
};

use crate::client::{Client, invalid};
use crate::url;

/// The objects below a path of a bucket, by relative key. Threads can share it; each waits for its own requests.
#[derive(Debug)]
pub struct Bucket {
    name: String,
    /// The common prefix of all keys, without a trailing slash.
    prefix: String,
    client: Mutex<Client>,
}

/// The metadata attribute that identifies the writer of an object.
const TAG: Attribute = Attribute::Metadata(Cow::Borrowed("trundle"));

/// The size and the time of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last write.
    pub modified: SystemTime,
}

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// The whole object.
    All,
    /// The part that begins at the first number, with the second number as length, both in bytes. The length is at
    /// least 1.
    Range(u64, u64),
    /// The last bytes of the object, as many as the number, which is at least 1.
    Last(u64),
}

/// What to do if an object with the same key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New {
    /// Replace the object.
    OrReplace,
    /// Return [`io::ErrorKind::AlreadyExists`].
    Only,
}

impl Bucket {
    /// Opens `s3://BUCKET/PATH`, but sends no request yet.
    ///
    /// Credentials, region and endpoint come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_REGION`,
    /// `AWS_ENDPOINT_URL`, …), then from a profile of the AWS command line, then from the machine's role.
    ///
    /// # Errors
    /// If the URL does not name a bucket and a path, or the settings are invalid.
    pub fn open(url: &str) -> io::Result<Bucket> {
        let (name, prefix) = url::parts(url)?;
        let client = Mutex::new(Client::new(name)?);
        Ok(Bucket { name: name.to_owned(), prefix: prefix.to_owned(), client })
    }

    fn client(&self) -> io::Result<Client> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !client.is_usable() {
            // The threads of the parent process's client do not exist here, and dropping it would wait for them.
            let new = Client::new(&self.name)?;
            std::mem::forget(std::mem::replace(&mut *client, new));
        }
        Ok(client.clone())
    }

    /// Returns the full path of a key; for an empty key, the common prefix.
    fn path(&self, key: &str) -> io::Result<Path> {
        let path =
            if key.is_empty() { self.prefix.clone() } else { format!("{}/{key}", self.prefix) };
        Path::parse(path).map_err(invalid)
    }

    /// Returns the size and the time of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// If the request fails.
    pub fn stat(&self, key: &str) -> io::Result<Option<ObjectInfo>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let found = again(|| found(client.wait(client.requests.head(&path))))?;
        Ok(found.as_ref().map(info))
    }

    /// Reads a part of an object; `None` if the object does not exist. Before any byte is read, calls `check` with the
    /// sizes of the whole object and of the part.
    ///
    /// # Errors
    /// The error of `check`, or if the object cannot be read or is too short for the part.
    pub fn read(
        &self,
        key: &str,
        part: ByteRange,
        check: impl FnOnce(u64, u64) -> io::Result<()>,
    ) -> io::Result<Option<Vec<u8>>> {
        let range = match part {
            ByteRange::All => None,
            ByteRange::Range(start, length) => {
                Some(GetRange::Bounded(start..start.saturating_add(length)))
            }
            ByteRange::Last(length) => Some(GetRange::Suffix(length)),
        };
        let (client, path) = (self.client()?, self.path(key)?);
        let options = GetOptions { range, ..GetOptions::default() };
        let ask = || found(client.wait(client.requests.get_opts(&path, options.clone())));
        let Some(got) = again(ask)? else {
            return Ok(None);
        };
        let bytes = got.range.end - got.range.start;
        check(got.meta.size, bytes)?;
        let whole = match part {
            ByteRange::All => got.meta.size,
            ByteRange::Range(_, length) | ByteRange::Last(length) => length,
        };
        if bytes != whole {
            let all = got.meta.size;
            let why = format!("has {all} bytes, expected {whole}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut read = Vec::new();
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        read.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut stream = got.into_stream();
        client.wait(async {
            while let Some(next) = stream.next().await {
                read.extend_from_slice(&next.map_err(failed)?);
            }
            Ok::<_, io::Error>(())
        })?;
        if read.len() as u64 != bytes {
            let why = format!("ended after {} of {bytes} bytes", read.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        Ok(Some(read))
    }

    /// Lists the names directly below a path that have keys below them, sorted.
    ///
    /// # Errors
    /// If the names cannot be listed.
    pub fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let (client, path) = (self.client()?, self.path(path)?);
        let listed = again(|| {
            client.wait(client.requests.list_with_delimiter(Some(&path))).map_err(failed)
        })?;
        let last = |path: &Path| path.filename().map(str::to_owned);
        let mut names: Vec<String> = listed.common_prefixes.iter().filter_map(last).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Lists the first keys below a path, at most `most`.
    ///
    /// # Errors
    /// If the keys cannot be listed.
    pub fn keys(&self, path: &str, most: usize) -> io::Result<Vec<String>> {
        let (client, path) = (self.client()?, self.path(path)?);
        let skipped = self.prefix.len() + 1;
        let key = |object: Result<ObjectMeta, Error>| {
            let object = object.map_err(failed)?;
            Ok(object.location.as_ref().get(skipped..).unwrap_or_default().to_owned())
        };
        again(|| {
            let listed = client.requests.list(Some(&path)).take(most);
            let listed: Vec<Result<ObjectMeta, Error>> = client.wait(listed.collect());
            listed.into_iter().map(key).collect()
        })
    }

    /// Returns the total size of all objects below a path, and the time of the last write; `None` if there are none.
    ///
    /// # Errors
    /// If the objects cannot be listed.
    pub fn all_below(&self, path: &str) -> io::Result<Option<ObjectInfo>> {
        let (client, path) = (self.client()?, self.path(path)?);
        again(|| {
            let listed = client.requests.list(Some(&path));
            let both = |one: ObjectInfo, other: ObjectInfo| ObjectInfo {
                bytes: one.bytes + other.bytes,
                modified: one.modified.max(other.modified),
            };
            let all = listed.try_fold(None, |all: Option<ObjectInfo>, object| {
                let own = info(&object);
                ready(Ok(Some(all.map_or(own, |all| both(all, own)))))
            });
            client.wait(all).map_err(failed)
        })
    }

    /// Removes all objects below a path except the key `kept`.
    ///
    /// # Errors
    /// If the objects cannot be listed or removed.
    pub fn remove_below(&self, path: &str, kept: &str) -> io::Result<()> {
        let (client, path, kept) = (self.client()?, self.path(path)?, self.path(kept)?);
        again(|| {
            let kept = kept.clone();
            let listed = client.requests.list(Some(&path)).filter_map(move |object| {
                let path = object.map(|object| object.location);
                ready(Some(path).filter(|path| path.as_ref().map_or(true, |path| *path != kept)))
            });
            let mut removed = client.requests.delete_stream(listed.boxed());
            client.wait(async {
                while let Some(each) = removed.next().await {
                    match each {
                        Ok(_) | Err(Error::NotFound { .. }) => {}
                        Err(error) => return Err(failed(error)),
                    }
                }
                Ok(())
            })
        })
    }

    /// Writes an object atomically: a reader sees either the old object or the new one.
    ///
    /// # Errors
    /// If the object cannot be written, or exists and `new` is [`New::Only`].
    pub fn write(&self, key: &str, bytes: Vec<u8>, new: New) -> io::Result<()> {
        self.put(key, bytes, new, Attributes::new())
    }

    /// Like [`Bucket::write`], with an ASCII tag that identifies the writer, see [`Bucket::tag`].
    ///
    /// # Errors
    /// The errors of [`Bucket::write`].
    pub fn write_tagged(&self, key: &str, bytes: Vec<u8>, new: New, tag: &str) -> io::Result<()> {
        self.put(key, bytes, new, Attributes::from_iter([(TAG, tag.to_owned())]))
    }

    fn put(&self, key: &str, bytes: Vec<u8>, new: New, own: Attributes) -> io::Result<()> {
        let (client, path) = (self.client()?, self.path(key)?);
        let mode = match new {
            New::OrReplace => PutMode::Overwrite,
            New::Only => PutMode::Create,
        };
        let payload = PutPayload::from(bytes);
        let options = PutOptions { mode, attributes: own, ..PutOptions::default() };
        again(|| {
            let (payload, options) = (payload.clone(), options.clone());
            client.wait(client.requests.put_opts(&path, payload, options)).map_err(failed)
        })?;
        Ok(())
    }

    /// Returns whether the server can copy objects from `other` directly: both are in the same bucket.
    pub fn is_beside(&self, other: &Bucket) -> bool {
        self.name == other.name
    }

    /// Lets the server copy an object from `other`, for which [`is_beside`](Bucket::is_beside) must be true. Replaces
    /// an existing object.
    ///
    /// # Errors
    /// If the object cannot be copied; [`io::ErrorKind::NotFound`] if the source does not exist.
    pub fn copy(&self, key: &str, other: &Bucket, from: &str) -> io::Result<()> {
        let (client, from, to) = (self.client()?, other.path(from)?, self.path(key)?);
        again(|| client.wait(client.requests.copy(&from, &to)).map_err(failed))
    }

    /// Returns the tag of an object; `None` if the object or its tag does not exist.
    ///
    /// # Errors
    /// If the request fails.
    pub fn tag(&self, key: &str) -> io::Result<Option<String>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let options = GetOptions { head: true, ..GetOptions::default() };
        let ask = || found(client.wait(client.requests.get_opts(&path, options.clone())));
        let got = again(ask)?;
        let tag = got.and_then(|got| got.attributes.get(&TAG).map(|tag| tag.to_string()));
        Ok(tag)
    }

    /// Removes an object if it exists.
    ///
    /// # Errors
    /// If the object cannot be removed.
    pub fn remove(&self, key: &str) -> io::Result<()> {
        let (client, path) = (self.client()?, self.path(key)?);
        again(|| found(client.wait(client.requests.delete(&path)))).map(drop)
    }
}

/// The most attempts after truncated answers.
const MOST_TRIES: usize = 5;

/// The text of the client's error if the body of an answer was truncated.
const CUT_OFF: &str = "body error";

/// The text of the error if an object has no byte of the requested range.
const NOT_WITHIN: &str = "416 Range Not Satisfiable";

/// Repeats a request whose answer was truncated. `object_store` itself retries other failures, and resumes the body of
/// an object, but does not repeat truncated lists and error documents.
fn again<T>(mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..MOST_TRIES {
        match ask() {
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            other => return other,
        }
    }
    ask()
}

fn info(object: &ObjectMeta) -> ObjectInfo {
    ObjectInfo { bytes: object.size, modified: object.last_modified.into() }
}

fn found<T>(answer: Result<T, Error>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

const NO_CREDENTIALS: &str = "no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the AWS command line's files and this machine have none (AWS_SKIP_SIGNATURE=true reads a public bucket)";

#[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
fn failed(error: Error) -> io::Error {
    let kind = match &error {
        Error::AlreadyExists { .. } | Error::Precondition { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    let text = error.to_string();
    let kind = match kind {
        io::ErrorKind::Other if text.contains(CUT_OFF) => io::ErrorKind::ConnectionAborted,
        io::ErrorKind::Other if text.contains(NOT_WITHIN) => io::ErrorKind::InvalidData,
        other => other,
    };
    io::Error::new(kind, said(&text))
}

/// Shortens the text of an error: only the code and the message of an XML document are kept.
fn said(text: &str) -> String {
    // The metadata server of a cloud machine, which the client asks last for credentials.
    if text.contains("169.254.169.254") {
        return NO_CREDENTIALS.to_owned();
    }
    let Some((before, document)) = text.split_once("<?xml") else { return text.to_owned() };
    let within = |name: &str| {
        let (_, from) = document.split_once(&format!("<{name}>"))?;
        Some(from.split_once("</")?.0)
    };
    match (within("Code"), within("Message")) {
        (Some(code), Some(message)) => format!("{before}{code}: {message}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_document_there_is_the_message() {
        let document = "404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>It does not exist</Message></Error>";
        assert_eq!(said(document), "404 Not Found: NoSuchBucket: It does not exist");
        assert_eq!(said("<?xml but not whole"), "<?xml but not whole");
        assert_eq!(said("GET http://169.254.169.254/latest in 1 s"), NO_CREDENTIALS);
    }
}
