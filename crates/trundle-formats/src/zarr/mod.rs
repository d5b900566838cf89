//! Zarr stores, which are folders: of versions 2 and 3 read, of version 3 written, through [`trundle_zarr`].
//!
//! An array is a tensor whose data is in chunks, and a group as many tensors as there are arrays in it, by
//! their paths. To whoever writes, the store is one sequence of bytes as it is to whoever reads
//! (`chunked/mod.rs`), but for what lies beyond the tensor's end (`new_store.rs`).

mod arrays;
mod codecs;
mod new_store;
mod skeleton;

use std::path::Path;

use trundle_zarr::Store;

use self::arrays::Arrays;
use crate::format::{Contents, FolderFormat};
use crate::source::Source;
use crate::{Format, Problem, TensorHint};

const NAME: &str = "zarr";

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    endings: &[NAME],
    holds_one: false,
    keeps_metadata: true,
    states_column_major: false,
    begins: |_| false,
    open: |_: Source, _| Err(Problem::Unsupported("a Zarr store is a folder".to_owned())),
    skeleton: Some(skeleton::skeleton),
    folder: Some(FolderFormat { name: NAME, is_one: Store::is_store, begin: skeleton::begin }),
};

/// The store in the folder at `path`, if there is a folder and it is to be a store.
///
/// # Errors
/// [`Problem`] if it is none, or nothing of it can be read.
pub(crate) fn open_folder(
    path: &Path,
    format: Option<&'static Format>,
    hint: &TensorHint,
) -> Result<Option<Box<dyn Contents>>, Problem> {
    let is_asked_for = format.is_some_and(|format| format.name == FORMAT.name);
    if !path.is_dir() || (format.is_some() && !is_asked_for) {
        return Ok(None);
    }
    if !Store::is_store(path) {
        let missing = "is a folder without zarr.json, .zarray or .zgroup".to_owned();
        return if is_asked_for { Err(Problem::Malformed(missing)) } else { Ok(None) };
    }
    let store = Store::open(path).map_err(problem)?;
    Ok(Some(Box::new(Arrays::new(path, store, hint)?)))
}

fn problem(error: trundle_zarr::Error) -> Problem {
    match error {
        trundle_zarr::Error::Unsupported(why) | trundle_zarr::Error::TooMany(why) => {
            Problem::Unsupported(why)
        }
        other => Problem::reading(other.into()),
    }
}
