//! Objects of S3 buckets, read and written by threads that wait.
//!
//! This is the only crate that names [`object_store`] and the asynchronous runtime that it needs. How a request is
//! signed, tried again and gone on with when its body is cut off is [`object_store`]'s; what is here is which bucket a
//! URL names, where credentials are found, and a runtime that a process made by `fork` has anew.
//!
//! Source: the Amazon S3 API reference (`GetObject`, `PutObject`, `ListObjectsV2`, conditional writes).
#![forbid(unsafe_code)]

mod bucket;
mod client;
mod profile;
mod url;

pub use bucket::{Bucket, New, ObjectInfo, Part};
pub use url::is_url;
