//! Zarr stores in folders, zip archives, buckets and on HTTP servers. [`trundle_zarr`] reads versions 2 and 3, and writes version 3.
//!
//! An array is a chunked tensor. A group has one for each of its arrays, named by path. A store is read and written as
//! one sequence of bytes (`chunked/mod.rs`), from which the writer omits elements beyond the end of the tensor
//! (`new_store.rs`).

mod arrays;
mod codecs;
mod new_store;
mod skeleton;
mod texts;
pub(crate) mod zip;

use std::io;
use std::path::Path;
use std::sync::Arc;

use trundle_zarr::{Folder, ObjectStore, Store};

use self::arrays::Arrays;
use crate::bucket;
use crate::contents::Contents;
use crate::format::{FIRST_BYTES, FolderFormat, Keeps};
use crate::source::Source;
use crate::url::{is_registered, url_of, without_query};
use crate::{Format, Problem, TensorHint, npz};

const NAME: &str = "zarr";

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    endings: &[NAME],
    holds_one: false,
    keeps: Keeps::All,
    states_column_major: false,
    begins: |_| false,
    open: open_file,
    skeleton: Some(skeleton::skeleton),
    folder: Some(FolderFormat { name: NAME, is_one: Store::is_store, begin: skeleton::begin }),
};

/// Opens the store in a zip archive.
fn open_file(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    match source.length().is_some() && (npz::FORMAT.begins)(&source.peek(FIRST_BYTES)?) {
        true => zip::open(source, hint),
        false => Err(Problem::unsupported("a Zarr store is a folder or a zip archive")),
    }
}

/// Opens the store in the folder at `path`, or at a URL. `None` if the path is not a folder, or `format` is another
/// format.
///
/// # Errors
/// [`Problem`] if the folder is not a store, or no array of it can be read.
pub(crate) fn open_folder(
    path: &Path,
    format: Option<&'static Format>,
    hint: &TensorHint,
) -> Result<Option<Box<dyn Contents>>, Problem> {
    let is_requested = format.is_some_and(|format| format.name == FORMAT.name);
    if let Some(url) = url_of(path) {
        let is_requested = is_requested || is_registered(path);
        return match is_requested || format.is_none() {
            true => open_remote(url, path, hint, is_requested),
            false => Ok(None),
        };
    }
    if !path.is_dir() || (format.is_some() && !is_requested) {
        return Ok(None);
    }
    if !Store::is_store(path) {
        let missing =
            "is a folder without zarr.json, .zarray or .zgroup, so it is not a Zarr store";
        return Err(Problem::Malformed(missing.to_owned()));
    }
    let objects: Arc<dyn ObjectStore> = Arc::new(Folder::new(path));
    read(path, &objects, hint).map(Some)
}

/// Returns whether a server refuses a request or its method.
pub(crate) fn is_not_allowed(problem: &Problem) -> bool {
    matches!(problem, Problem::Io { source, .. }
        if source.kind() == std::io::ErrorKind::PermissionDenied
            || source.to_string().contains("405 Method Not Allowed"))
}

fn read(
    path: &Path,
    objects: &Arc<dyn ObjectStore>,
    hint: &TensorHint,
) -> Result<Box<dyn Contents>, Problem> {
    let store = Store::open(objects)?;
    Ok(Box::new(Arrays::new(path, store, hint)?))
}

/// Opens the store at a URL; `None` if there is none and `is_requested` is false.
fn open_remote(
    url: &str,
    path: &Path,
    hint: &TensorHint,
    is_requested: bool,
) -> Result<Option<Box<dyn Contents>>, Problem> {
    let bucket = bucket::open(url)?;
    if !Store::is_in(&*bucket)? {
        if !is_requested {
            return Ok(None);
        }
        // A request for an object does not tell a missing bucket from a missing object; a list does.
        if bucket.is_listed()
            && let Err(error) = bucket.folders("")
            && error.kind() != io::ErrorKind::PermissionDenied
        {
            return Err(Problem::opening(error));
        }
        let missing = "zarr.json, .zarray and .zgroup are missing";
        return Err(Problem::opening(io::Error::new(io::ErrorKind::NotFound, missing)));
    }
    let objects: Arc<dyn ObjectStore> = Arc::clone(&bucket) as _;
    let store = read(without_query(path), &objects, hint);
    bucket.check_reads().map_err(Problem::opening)?;
    store.map(Some)
}
