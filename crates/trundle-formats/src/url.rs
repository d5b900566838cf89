//! Paths that name something in a bucket.

use std::path::Path;

#[cfg(not(feature = "s3"))]
use crate::Problem;

/// What URLs of buckets begin with.
const SCHEME: &str = "s3://";

/// The URL that a path is, if it is one.
pub(crate) fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with(SCHEME))
}

/// Whether a path is the URL of something in a bucket, `s3://BUCKET/PATH`, and no file.
pub fn is_url(path: &Path) -> bool {
    url_of(path).is_some()
}

/// That this was built without.
#[cfg(not(feature = "s3"))]
pub(crate) fn no_s3() -> Problem {
    let why = "this program was built without S3: `cargo install` it with `--features s3`";
    Problem::Unsupported(why.to_owned())
}
