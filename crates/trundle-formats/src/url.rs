//! URLs of files and stores in buckets and on HTTP servers.

use std::path::Path;

use crate::Problem;

const BUCKETS: [&str; 5] = ["s3://", "gs://", "az://", "abfs://", "abfss://"];
const SERVERS: [&str; 2] = ["http://", "https://"];

pub(crate) fn url_of(path: &Path) -> Option<&str> {
    let is_url =
        |text: &&str| BUCKETS.iter().chain(&SERVERS).any(|scheme| text.starts_with(scheme));
    path.to_str().filter(is_url)
}

/// Returns whether a path is a URL: of a bucket, as in `s3://BUCKET/PATH`, or of an HTTP server.
pub fn is_url(path: &Path) -> bool {
    url_of(path).is_some()
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
    fn only_the_scheme_makes_a_url() {
        let is = |text: &str| is_url(Path::new(text));
        assert!(is("s3://b/x") && is("https://h/x") && is("abfss://c@a.host/x"));
        assert!(!is("s3:/b/x") && !is("./s3://b") && !is("file:///x"));
    }

    #[test]
    fn only_http_has_queries() {
        let split = |text| split_query(Path::new(text));
        assert_eq!(split("https://h/x.npy?a/b.c"), (Path::new("https://h/x.npy"), "?a/b.c"));
        assert_eq!(split("s3://b/x?.npy").1, "");
        let beside = |text| url_beside(Path::new(text), "y.raw");
        assert_eq!(beside("https://h/a/x.nhdr?s").unwrap(), "https://h/a/y.raw?s");
        assert_eq!(beside("a/x.nhdr"), None);
    }
}
