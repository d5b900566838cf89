//! Reads and writes objects of S3 buckets with blocking calls.
//!
//! This is the only crate that uses [`object_store`] and its asynchronous runtime. [`object_store`] signs, retries and
//! resumes requests. This crate parses URLs, finds credentials, and makes a new runtime in a forked process.
//!
//! Source: the Amazon S3 API reference (`GetObject`, `PutObject`, `ListObjectsV2`, conditional writes).
#![forbid(unsafe_code)]

mod bucket;
mod client;
mod profile;
mod url;

pub use bucket::{Bucket, ByteRange, New, ObjectInfo};
