//! Reads objects of buckets (S3, Google Cloud Storage, Azure) and HTTP servers, and writes objects of buckets, by
//! blocking calls.
//!
//! This is the only crate that uses [`object_store`], which signs, retries and resumes requests, and [`ureq`], which
//! sends them. This crate finds credentials in the files of the AWS command line, reads files at any position through
//! a cache, and makes a new client in a forked process.
#![forbid(unsafe_code)]

mod client;
mod connector;
mod error;
mod file;
mod profile;
mod remote;
mod version;

pub use file::{Opened, RemoteFile};
pub use remote::{ByteRange, New, ObjectInfo, Remote};
