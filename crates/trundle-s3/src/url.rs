//! Parses S3 URLs.

use std::io;

/// Splits `s3://bucket/a/b` into the bucket and the path `a/b`.
///
/// # Errors
/// If the bucket or the path is empty, or the path has a component that is empty, `.` or `..`.
pub(crate) fn parts(url: &str) -> io::Result<(&str, &str)> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let rest = url.strip_prefix("s3://").unwrap_or(url);
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return refused("has no bucket name: expected s3://BUCKET/PATH");
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() {
        return refused("has no path in the bucket: expected s3://BUCKET/PATH");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refused("has a part that is empty, `.` or `..`");
    }
    Ok((bucket, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_bucket_and_a_path_in_it() {
        assert_eq!(parts("s3://b/x.zarr").unwrap(), ("b", "x.zarr"));
        assert_eq!(parts("s3://b/a/x.zarr//").unwrap(), ("b", "a/x.zarr"));
        for wrong in ["s3://", "s3:///x", "s3://b", "s3://b/", "s3://b/a//b", "s3://b/../c"] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
