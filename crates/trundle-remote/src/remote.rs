//! The objects below a URL.

use std::borrow::Cow;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use crate::client::{Client, wait};
use crate::error::{failed, found, invalid};
use crate::version::{Version, changed};

/// The objects below a path of a bucket or an HTTP server, by relative key. The key of the object at the path itself is
/// empty. Threads can share it; each waits for its own requests.
#[derive(Debug)]
pub struct Remote {
    /// The URL without the path: `s3://BUCKET`, or for HTTP the server and the query.
    root: String,
    /// The common prefix of all keys, without a trailing slash.
    prefix: String,
    client: Mutex<Client>,
}

/// The metadata attribute that identifies the writer of an object.
const TAG: Attribute = Attribute::Metadata(Cow::Borrowed("trundle"));

/// The size, the time and the entity tag of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the last write.
    pub modified: SystemTime,
    /// The entity tag, if the server states one.
    pub tag: Option<String>,
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

impl Remote {
    /// Opens `SCHEME://BUCKET/PATH` or an HTTP URL, but sends no request yet. The schemes are s3, gs, az, abfs, abfss,
    /// http and https.
    ///
    /// Credentials, region and endpoint come from the environment, as [`object_store`] reads it. For S3, the second
    /// source is a profile of the AWS command line. HTTP requests have no credentials.
    ///
    /// # Errors
    /// If the URL does not name a bucket and a path, or the settings are invalid.
    pub fn open(url: &str) -> io::Result<Remote> {
        let (root, prefix) = parts(url)?;
        let client = Mutex::new(Client::new(&root)?);
        Ok(Remote { root, prefix, client })
    }

    /// Returns whether the objects are on an HTTP server. Such objects are only read, and not listed.
    pub fn is_http(&self) -> bool {
        self.root.starts_with("http")
    }

    /// Returns the last component of the path.
    pub(crate) fn name(&self) -> &str {
        self.prefix.rsplit('/').next().unwrap_or_default()
    }

    fn client(&self) -> io::Result<Client> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !client.is_usable() {
            // Dropping the client would close connections that the parent process uses.
            let new = Client::new(&self.root)?;
            std::mem::forget(std::mem::replace(&mut *client, new));
        }
        Ok(client.clone())
    }

    /// Returns the full path of a key.
    fn path(&self, key: &str) -> io::Result<Path> {
        let path = match (self.prefix.as_str(), key) {
            (prefix, "") => prefix.to_owned(),
            ("", key) => key.to_owned(),
            (prefix, key) => format!("{prefix}/{key}"),
        };
        Path::parse(path).map_err(invalid)
    }

    /// Returns the size and the time of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// If the request fails.
    pub fn stat(&self, key: &str) -> io::Result<Option<ObjectInfo>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let found = again(|| wait(async { found(client.requests.head(&path).await) }))?;
        Ok(found.as_ref().map(info))
    }

    /// Reads a part of an object; `None` if the object does not exist. Before any byte is read, calls `check` with the
    /// sizes of the whole object and of the part. Sets `version` if it is `None`.
    ///
    /// # Errors
    /// The error of `check`, or if the object cannot be read, is too short for the part, or has another version.
    pub fn read(
        &self,
        key: &str,
        part: ByteRange,
        version: &mut Option<String>,
        check: impl Fn(u64, u64) -> io::Result<()> + Sync,
    ) -> io::Result<Option<Vec<u8>>> {
        let part = match part {
            // Azure does not send the end of an object of unknown size.
            ByteRange::Last(length) if self.root.starts_with('a') => {
                let (client, path) = (self.client()?, self.path(key)?);
                let meta = again(|| wait(async { found(client.requests.head(&path).await) }))?;
                let Some(meta) = meta else { return Ok(None) };
                version.get_or_insert_with(|| Version::of(&meta).text());
                ByteRange::Range(meta.size.saturating_sub(length), length)
            }
            part => part,
        };
        let (range, length) = match part {
            ByteRange::All => (None, None),
            ByteRange::Range(start, length) => {
                (Some(GetRange::Bounded(start..start.saturating_add(length))), Some(length))
            }
            ByteRange::Last(length) => (Some(GetRange::Suffix(length)), Some(length)),
        };
        let mut read = (Vec::new(), None);
        let begin = |got: &GetResult, (read, seen): &mut (Vec<u8>, Option<String>)| {
            let own = Version::of(&got.meta).text();
            if version.as_ref().is_some_and(|version| *version != own) {
                return Err(changed());
            }
            *seen = Some(own);
            let bytes = got.range.end - got.range.start;
            check(got.meta.size, bytes)?;
            if let Some(expected) = length.filter(|length| *length != bytes) {
                let why = format!("has {} bytes, expected {expected}", got.meta.size);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            read.clear();
            let room = usize::try_from(bytes).unwrap_or(usize::MAX);
            read.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory.into())
        };
        let take = |(read, _): &mut (Vec<u8>, Option<String>), part: &[u8]| {
            read.extend_from_slice(part);
            Ok(())
        };
        match self.get(key, range, &mut read, begin, take) {
            Ok(Some(())) => {
                *version = read.1;
                Ok(Some(read.0))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(without_ranges(error)),
        }
    }

    /// Requests a part of an object, and passes its bytes to `take`. Calls `begin` before the first byte, and once more
    /// if the request has to be repeated. Returns `None` if the object does not exist.
    ///
    /// # Errors
    /// If the object cannot be read, and the errors of `begin` and `take`.
    pub(crate) fn get<T: Send>(
        &self,
        key: &str,
        range: Option<GetRange>,
        out: &mut T,
        begin: impl Fn(&GetResult, &mut T) -> io::Result<()> + Sync,
        take: impl Fn(&mut T, &[u8]) -> io::Result<()> + Sync,
    ) -> io::Result<Option<()>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let options = GetOptions { range, ..GetOptions::default() };
        again(|| {
            wait(async {
                let answer = client.requests.get_opts(&path, options.clone()).await;
                let Some(got) = found(answer)? else { return Ok(None) };
                self.check_plain(&got)?;
                begin(&got, out)?;
                let bytes = got.range.end - got.range.start;
                let (mut stream, mut taken) = (got.into_stream(), 0);
                while let Some(part) = stream.next().await {
                    let part = part.map_err(failed)?;
                    taken += part.len() as u64;
                    if taken > bytes {
                        break;
                    }
                    take(out, &part)?;
                }
                if taken != bytes {
                    let why = format!("the answer has {taken} or more bytes, expected {bytes}");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                Ok(Some(()))
            })
        })
    }

    /// Returns all bytes of an object in order, for servers that have no ranges; `None` if it does not exist.
    ///
    /// # Errors
    /// If the object cannot be read.
    pub(crate) fn stream(&self, key: &str) -> io::Result<Option<impl io::Read + Send + use<>>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let got = again(|| {
            wait(async { found(client.requests.get_opts(&path, GetOptions::default()).await) })
        })?;
        let Some(got) = got else { return Ok(None) };
        self.check_plain(&got)?;
        let (mut stream, mut rest) = (got.into_stream(), bytes::Bytes::new());
        Ok(Some(ReadBy(move |buffer: &mut [u8]| {
            if rest.is_empty() {
                let next = wait(async { stream.try_next().await.map_err(failed) });
                rest = next.map_err(without_ranges)?.unwrap_or_default();
            }
            let part = rest.split_to(rest.len().min(buffer.len()));
            buffer[..part.len()].copy_from_slice(&part);
            Ok(part.len())
        })))
    }

    /// Checks that an HTTP server sends the bytes of the object, and not a compressed form of them.
    fn check_plain(&self, got: &GetResult) -> io::Result<()> {
        match got.attributes.get(&Attribute::ContentEncoding) {
            Some(encoding) if self.is_http() && **encoding != *"identity" => {
                let why =
                    format!("the server sends it compressed (Content-Encoding: {})", &**encoding);
                Err(io::Error::other(why))
            }
            _ => Ok(()),
        }
    }

    /// Lists the names directly below a path that have keys below them, sorted.
    ///
    /// # Errors
    /// If the names cannot be listed.
    pub fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let (client, path) = (self.client()?, self.path(path)?);
        let listed = again(|| {
            wait(async { client.requests.list_with_delimiter(Some(&path)).await.map_err(failed) })
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
        let skipped = self.prefix.len() + usize::from(!self.prefix.is_empty());
        let key = |object: Result<ObjectMeta, Error>| {
            let object = object.map_err(failed)?;
            Ok(object.location.as_ref().get(skipped..).unwrap_or_default().to_owned())
        };
        again(|| {
            let listed = client.requests.list(Some(&path)).take(most).map(key);
            wait(listed.try_collect())
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
                tag: None,
            };
            let all = listed.try_fold(None, |all: Option<ObjectInfo>, object| {
                let own = info(&object);
                ready(Ok(Some(match all {
                    None => own,
                    Some(all) => both(all, own),
                })))
            });
            wait(async { all.await.map_err(failed) })
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
            wait(async {
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

    /// Like [`Remote::write`], with an ASCII tag that identifies the writer, see [`Remote::tag`].
    ///
    /// # Errors
    /// The errors of [`Remote::write`].
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
            wait(async { client.requests.put_opts(&path, payload, options).await.map_err(failed) })
        })?;
        Ok(())
    }

    /// Returns whether the server can copy objects from `other` directly: both are in the same bucket of S3 or GCS.
    pub fn is_beside(&self, other: &Remote) -> bool {
        // Azure may confirm a copy that is not finished.
        self.root == other.root && !self.root.starts_with('a')
    }

    /// Lets the server copy an object from `other`, for which [`is_beside`](Remote::is_beside) must be true. Replaces
    /// an existing object.
    ///
    /// # Errors
    /// If the object cannot be copied; [`io::ErrorKind::NotFound`] if the source does not exist.
    pub fn copy(&self, key: &str, other: &Remote, from: &str) -> io::Result<()> {
        let (client, from, to) = (self.client()?, other.path(from)?, self.path(key)?);
        again(|| wait(async { client.requests.copy(&from, &to).await.map_err(failed) }))
    }

    /// Returns the tag of an object; `None` if the object or its tag does not exist.
    ///
    /// # Errors
    /// If the request fails.
    pub fn tag(&self, key: &str) -> io::Result<Option<String>> {
        let (client, path) = (self.client()?, self.path(key)?);
        let options = GetOptions { head: true, ..GetOptions::default() };
        let ask = || wait(async { found(client.requests.get_opts(&path, options.clone()).await) });
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
        again(|| wait(async { found(client.requests.delete(&path).await) })).map(drop)
    }
}

/// The most attempts after truncated answers.
const MOST_TRIES: usize = 5;

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
    let tag = Version::of(object).tag;
    ObjectInfo { bytes: object.size, modified: object.last_modified.into(), tag }
}

/// Explains the error of a server that does not send the requested part, also to continue after an interruption.
fn without_ranges(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Unsupported => {
            io::Error::other("the server does not send parts of files (HTTP ranges)")
        }
        _ => error,
    }
}

/// Splits a URL into its root and its path.
///
/// # Errors
/// If the URL has no bucket or server, the path in a bucket is empty, or the path has a component that is empty, `.` or
/// `..`.
fn parts(url: &str) -> io::Result<(String, String)> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) if scheme.starts_with("http") => (rest, format!("?{query}")),
        _ => (rest, String::new()),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.trim_end_matches('/');
    if scheme.starts_with("http") {
        if host.is_empty() {
            return Err(invalid(format!("has no server: expected {scheme}://SERVER/PATH")));
        }
        if host.contains('@') {
            return Err(invalid("contains a user name or password, which trundle does not send"));
        }
        if rest.contains('#') || query.contains('#') {
            return Err(invalid("contains `#`: write %23 if it is part of the name"));
        }
        if path.to_ascii_lowercase().contains("%2f") {
            return Err(invalid("contains %2F, a slash in a name, which is not supported"));
        }
        let path = Path::from_url_path(path).map_err(invalid)?;
        return Ok((format!("{scheme}://{host}/{query}"), path.to_string()));
    }
    if host.is_empty() {
        return Err(invalid(format!("has no bucket name: expected {scheme}://BUCKET/PATH")));
    }
    if path.is_empty() {
        return Err(invalid(format!("has no path in the bucket: expected {scheme}://BUCKET/PATH")));
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(invalid("has a part that is empty, `.` or `..`"));
    }
    Ok((format!("{scheme}://{host}"), path.to_owned()))
}

/// A reader that calls a function.
struct ReadBy<F>(F);

impl<F: FnMut(&mut [u8]) -> io::Result<usize>> io::Read for ReadBy<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_bucket_or_a_server_and_a_path() {
        let is = |url: &str, root: &str, path: &str| {
            assert_eq!(parts(url).unwrap(), (root.to_owned(), path.to_owned()));
        };
        is("s3://b/x.zarr", "s3://b", "x.zarr");
        is("gs://b/a/x?y%20.zarr//", "gs://b", "a/x?y%20.zarr");
        is("abfss://c@account.host/x", "abfss://c@account.host", "x");
        is("https://h:1/a%20b/x.npy?sig=%2F/", "https://h:1/?sig=%2F/", "a b/x.npy");
        is("http://h", "http://h/", "");
        let wrong = ["s3://", "s3:///x", "s3://b", "az://b/", "s3://b/a//b", "s3://b/../c"];
        for wrong in wrong.into_iter().chain([
            "http:///x",
            "http://h/a/%2e%2e/b",
            "http://h/a%2Fb",
            "http://h/a#b",
            "http://u:p@h/a",
            "http://h/a?b#c",
        ]) {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
