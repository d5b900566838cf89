//! URLs of paths in a bucket.

use std::path::Path;

#[cfg(not(feature = "s3"))]
use crate::Problem;

const SCHEME: &str = "s3://";

pub(crate) fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with(SCHEME))
}

/// Returns whether a path is a bucket URL: `s3://BUCKET/PATH`.
pub fn is_url(path: &Path) -> bool {
    url_of(path).is_some()
}

#[cfg(not(feature = "s3"))]
pub(crate) fn no_s3() -> Problem {
    Problem::unsupported(
        "this program was built without S3: `cargo install` it with `--features s3`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_scheme_makes_a_url() {
        let is = |text: &str| is_url(Path::new(text));
        assert!(is("s3://b/x") && !is("s3:/b/x") && !is("./s3://b"));
    }
}
