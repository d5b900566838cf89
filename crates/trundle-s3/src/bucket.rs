//! The objects below a path of a bucket.

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

/// The objects below a path of a bucket, by their keys below it. Several threads use it at once, each waits for
/// its own requests.
#[derive(Debug)]
pub struct Bucket {
    name: String,
    /// What all keys begin with, without a slash at its end.
    prefix: String,
    client: Mutex<Client>,
}

/// Under what an object says who wrote it.
const TAG: Attribute = Attribute::Metadata(Cow::Borrowed("trundle"));

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written.
    pub modified: SystemTime,
}

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// From this byte on so many, of which there is one at least.
    Range(u64, u64),
    /// The last bytes, so many: one at least.
    Last(u64),
}

/// Whether an object is written where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New {
    /// In its place.
    OrReplace,
    /// No: [`io::ErrorKind::AlreadyExists`].
    Only,
}

impl Bucket {
    /// What a URL names: `s3://BUCKET/PATH`. Credentials, region and server are those of the environment
    /// (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …), else of a profile of the AWS command line, else
    /// of the machine. Nothing is asked of the server yet.
    ///
    /// # Errors
    /// If the URL names nothing, or what the environment says cannot be used.
    pub fn open(url: &str) -> io::Result<Bucket> {
        let (name, prefix) = url::parts(url)?;
        let client = Mutex::new(Client::new(name)?);
        Ok(Bucket { name: name.to_owned(), prefix: prefix.to_owned(), client })
    }

    fn client(&self) -> io::Result<Client> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !client.is_usable() {
            // As its threads are those of another process, nobody must wait for them.
            let new = Client::new(&self.name)?;
            std::mem::forget(std::mem::replace(&mut *client, new));
        }
        Ok(client.clone())
    }

    /// Where the object of a key is; of an empty one, what all are below.
    fn path(&self, key: &str) -> io::Result<Path> {
        let path =
            if key.is_empty() { self.prefix.clone() } else { format!("{}/{key}", self.prefix) };
        Path::parse(path).map_err(invalid)
    }

    /// What is known of an object, if it is there.
    ///
    /// # Errors
    /// If that cannot be asked.
    pub fn stat(&self, key: &str) -> io::Result<Option<ObjectInfo>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let found = again(|| found(client.wait(client.requests.head(&path))))?;
        Ok(found.as_ref().map(info))
    }

    /// A part of an object, if it is there, and how many bytes the whole has. `check` is asked before any byte
    /// is read, with what the whole and the part have.
    ///
    /// # Errors
    /// What `check` says, if it cannot be read, or does not have all of the part.
    pub fn read(
        &self,
        key: &str,
        part: Part,
        check: impl FnOnce(u64, u64) -> io::Result<()>,
    ) -> io::Result<Option<Vec<u8>>> {
        let range = match part {
            Part::All => None,
            Part::Range(start, length) => {
                Some(GetRange::Bounded(start..start.saturating_add(length)))
            }
            Part::Last(length) => Some(GetRange::Suffix(length)),
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
            Part::All => got.meta.size,
            Part::Range(_, length) | Part::Last(length) => length,
        };
        if bytes != whole {
            let all = got.meta.size;
            let why = format!("has {all} bytes, not the {whole} that were asked for");
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

    /// The names of what is below a path and has keys below itself, sorted.
    ///
    /// # Errors
    /// If they cannot be listed.
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

    /// The first keys below a path, `most` at most.
    ///
    /// # Errors
    /// If they cannot be listed.
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

    /// The bytes of all objects below a path together, and when the last of them was written; `None` if there are none.
    ///
    /// # Errors
    /// If they cannot be listed.
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

    /// Removes all objects below a path but that of a key.
    ///
    /// # Errors
    /// If they cannot be listed or removed.
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

    /// Writes an object: whoever reads it finds all of it, or what was there before.
    ///
    /// # Errors
    /// If it cannot be written, and as `new` says.
    pub fn write(&self, key: &str, bytes: Vec<u8>, new: New) -> io::Result<()> {
        self.put(key, bytes, new, Attributes::new())
    }

    /// [`Bucket::write`] of an object that says of itself who wrote it, in ASCII: see [`Bucket::tag`].
    ///
    /// # Errors
    /// As [`Bucket::write`].
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

    /// Whether the server can copy objects of another one to this without sending them: if they are in one bucket.
    pub fn is_beside(&self, other: &Bucket) -> bool {
        self.name == other.name
    }

    /// Lets the server copy an object of a bucket that this [is beside](Bucket::is_beside), in place of one that is
    /// there.
    ///
    /// # Errors
    /// If it cannot be copied: [`io::ErrorKind::NotFound`] if it is not there.
    pub fn copy(&self, key: &str, other: &Bucket, from: &str) -> io::Result<()> {
        let (client, from, to) = (self.client()?, other.path(from)?, self.path(key)?);
        again(|| client.wait(client.requests.copy(&from, &to)).map_err(failed))
    }

    /// What an object says of who wrote it, if it is there and says so.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn tag(&self, key: &str) -> io::Result<Option<String>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let options = GetOptions { head: true, ..GetOptions::default() };
        let ask = || found(client.wait(client.requests.get_opts(&path, options.clone())));
        let got = again(ask)?;
        let tag = got.and_then(|got| got.attributes.get(&TAG).map(|tag| tag.to_string()));
        Ok(tag)
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, key: &str) -> io::Result<()> {
        let (client, path) = (self.client()?, self.path(key)?);
        again(|| found(client.wait(client.requests.delete(&path)))).map(drop)
    }
}

/// What was cut off is asked for so often.
const MOST_TRIES: usize = 5;

/// How the client says that the body of an answer was cut off.
const CUT_OFF: &str = "body error";

/// How a server says that an object has nothing of the part that was asked for.
const NOT_WITHIN: &str = "416 Range Not Satisfiable";

/// Does again what ended in the midst of an answer. Requests that fail otherwise are made again further below, and
/// so is what remains of an object; but not lists, nor what says why something failed.
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

/// What was found; none if it is not there.
fn found<T>(answer: Result<T, Error>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Said where nobody gave this process any credentials.
const NO_CREDENTIALS: &str = "no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the AWS command line's files and this machine have none (AWS_SKIP_SIGNATURE=true reads a public bucket)";

/// Why a request failed.
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

/// What there is to say of an error: where a server answers with a document, its message.
fn said(text: &str) -> String {
    // The address at which a machine of a cloud has credentials.
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
