//! URLs of files and stores in buckets and on HTTP servers.

use std::path::Path;

use crate::Problem;

const BUCKETS: [&str; 5] = ["s3://", "gs://", "az://", "abfs://", "abfss://"];
const SERVERS: [&str; 2] = ["http://", "https://"];

/// The scheme of the stores that the calling program registers.
pub(crate) const REGISTERED: &str = "store://";

pub(crate) fn url_of(path: &Path) -> Option<&str> {
    let is_url = |text: &&str| {
        BUCKETS.iter().chain(&SERVERS).chain([&REGISTERED]).any(|scheme| text.starts_with(scheme))
    };
    path.to_str().filter(is_url)
}

/// Returns whether a path is a URL of a bucket, as in `s3://BUCKET/PATH`, or of an HTTP server, or the address of a store
/// that the calling program has registered.
pub fn is_url(path: &Path) -> bool {
    url_of(path).is_some()
}

/// Returns whether a path is the address of a store that the calling program has registered.
#[cfg(feature = "zarr")]
pub(crate) fn is_registered(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with(REGISTERED))
}

/// Returns the part of a URL that identifies its objects for other processes: the address of a registered store without
/// the name of the store.
pub fn lasting_url(path: &Path) -> Option<&str> {
    let url = url_of(path)?;
    match url.strip_prefix(REGISTERED) {
        Some(name) => Some(name.find('/').map_or("", |at| &name[at..])),
        None => Some(url),
    }
}

/// Hides the user name and the password of an HTTP URL, which is refused later.
pub(crate) fn without_password(path: &str) -> String {
    let Some((scheme, rest)) = path.split_once("://") else { return path.to_owned() };
    let (host, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    match host.rsplit_once('@') {
        Some((user, _)) if scheme.to_ascii_lowercase().starts_with("http") => {
            format!("{scheme}://***{}", &rest[user.len()..])
        }
        _ => path.to_owned(),
    }
}

/// Checks that a path with a scheme is a URL that this crate knows.
///
/// # Errors
/// If the scheme is unknown.
pub(crate) fn check_url(path: &Path) -> Result<(), Problem> {
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map_or("", |(it, _)| it);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next));
    match is_scheme && !is_url(path) {
        true => Err(Problem::unsupported(format!(
            "the scheme {scheme}:// is unknown: use s3://, gs://, az://, abfs://, abfss://, http://, https://, or a path without a scheme"
        ))),
        false => Ok(()),
    }
}

/// Splits a path before its query, which only URLs of HTTP servers have.
fn split_query(path: &Path) -> (&Path, &str) {
    let url = url_of(path).filter(|url| SERVERS.iter().any(|scheme| url.starts_with(scheme)));
    let at = url.and_then(|url| Some((url, url.find(['?', '#'])?)));
    at.map_or((path, ""), |(url, at)| (Path::new(&url[..at]), &url[at..]))
}

/// Returns the path whose last component is the name of the file.
pub(crate) fn without_query(path: &Path) -> &Path {
    split_query(path).0
}

/// Returns the URL of a file in the folder of the file at `path`; `None` if that path is not a URL.
pub(crate) fn url_beside(path: &Path, name: &str) -> Option<String> {
    let (path, query) = split_query(path);
    let (folder, _) = url_of(path)?.rsplit_once('/')?;
    Some(format!("{folder}/{name}{query}"))
}

/// Returns the error that an output cannot be written to a URL.
pub(crate) fn not_written(url: &str) -> Problem {
    Problem::unsupported(match SERVERS.iter().any(|scheme| url.starts_with(scheme)) {
        true => "HTTP servers are only read: write to a local path or a bucket",
        false => "only Zarr stores are written to a bucket: --to zarr",
    })
}

#[cfg(not(feature = "remote"))]
pub(crate) fn no_remote() -> Problem {
    Problem::unsupported(
        "this program was built without buckets and HTTP: `cargo install` it with `--features remote`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_known_by_their_scheme() {
        let is = |text: &str| is_url(Path::new(text));
        assert!(is("s3://b/x") && is("https://h/x") && is("abfss://c@a.host/x"));
        assert!(is("store://x") && !is("store:/x"));
        let is_refused = |text: &str| check_url(Path::new(text)).is_err();
        assert!(is_refused("HTTP://h/x") && is_refused("s3a://b/x") && is_refused("file:///x"));
        assert!(!is_refused("s3://b/x") && !is_refused("./x://y") && !is_refused("x"));
        assert_eq!(without_password("http://u:p@h/x@y"), "http://***@h/x@y");
        assert_eq!(without_password("abfss://c@h/x"), "abfss://c@h/x");
        assert!(!is("s3:/b/x") && !is("./s3://b") && !is("file:///x"));
    }

    #[test]
    fn only_http_urls_have_queries() {
        let split = |text| split_query(Path::new(text));
        assert_eq!(split("https://h/x.npy?a/b.c"), (Path::new("https://h/x.npy"), "?a/b.c"));
        assert_eq!(split("s3://b/x?.npy").1, "");
        let neighbour = |text| url_beside(Path::new(text), "y.raw");
        assert_eq!(neighbour("https://h/a/x.nhdr?s").unwrap(), "https://h/a/y.raw?s");
        assert_eq!(neighbour("a/x.nhdr"), None);
    }
}
