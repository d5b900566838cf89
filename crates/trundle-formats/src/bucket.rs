//! Object stores to which Zarr stores are written: buckets, and stores that the calling program registers.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::io;
use std::sync::{Arc, Mutex};

pub use trundle_zarr::{Below, ByteRange, Object, ObjectStore, Stat, check_bytes};

use crate::Problem;
use crate::lock::lock;
#[cfg(feature = "remote")]
use crate::remote_objects::Objects;
use crate::url::REGISTERED;

/// The prefix of the keys that exist only in an unfinished store.
pub const UNFINISHED: &str = ".trundle-unfinished";

/// The key of the note of a run that adds to an existing store.
pub const ADDING: &str = ".trundle-append";

/// An object store in which an output can be written: its objects can be listed, created and removed.
pub trait Bucket: ObjectStore {
    /// Returns whether the store has no objects.
    ///
    /// # Errors
    /// If the objects cannot be listed.
    fn is_empty(&self) -> io::Result<bool>;

    /// Lists the keys of all objects below a path.
    ///
    /// # Errors
    /// If the keys cannot be listed.
    fn keys(&self, path: &str) -> io::Result<Vec<String>>;

    /// Creates an object with a tag that identifies its writer.
    ///
    /// # Errors
    /// If the object cannot be written; [`io::ErrorKind::AlreadyExists`] if it exists.
    fn create(&self, key: &str, bytes: Vec<u8>, tag: &str) -> io::Result<()>;

    /// Returns the tag of an object; `None` if the object or its tag does not exist.
    ///
    /// # Errors
    /// If the object cannot be queried.
    fn tag(&self, key: &str) -> io::Result<Option<String>>;

    /// Removes an object if it exists.
    ///
    /// # Errors
    /// If the object cannot be removed.
    fn remove(&self, key: &str) -> io::Result<()>;

    /// Removes all objects below a path except the key `kept`.
    ///
    /// # Errors
    /// If the objects cannot be listed or removed.
    fn remove_below(&self, path: &str, kept: &str) -> io::Result<()>;

    /// Returns whether the objects can be listed and written. An HTTP server allows neither.
    fn is_listed(&self) -> bool {
        true
    }

    /// Returns whether the metadata of an array must exist before its chunks.
    fn needs_metadata_first(&self) -> bool {
        false
    }

    /// Checks that no read request has failed since the store was opened. Without this check, an array whose metadata
    /// could not be read would count as malformed.
    ///
    /// # Errors
    /// The error of the first request that failed.
    fn check_reads(&self) -> io::Result<()>;
}

type Open = Box<dyn Fn() -> Arc<dyn Bucket> + Send + Sync>;

/// The registered stores by address.
static STORES: Mutex<BTreeMap<String, Arc<Entry>>> = Mutex::new(BTreeMap::new());

struct Entry {
    open: Open,
    /// The process that has registered the store. A forked process has a copy of it.
    process: u32,
}

/// A store of the calling program, which has an address like a URL until this value is dropped.
pub struct RegisteredStore {
    address: String,
    entry: Arc<Entry>,
}

impl RegisteredStore {
    /// Registers a store under a name, instead of any other store with this name. `open` opens the store.
    pub fn new(name: &str, open: Open) -> RegisteredStore {
        let address = format!("{REGISTERED}{name}");
        let entry = Arc::new(Entry { open, process: std::process::id() });
        lock(&STORES).insert(address.clone(), Arc::clone(&entry));
        RegisteredStore { address, entry }
    }

    /// Returns the address, which is used in the place of a path.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Debug for RegisteredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredStore").field(&self.address).finish()
    }
}

impl Drop for RegisteredStore {
    fn drop(&mut self) {
        let mut stores = lock(&STORES);
        if stores.get(&self.address).is_some_and(|entry| Arc::ptr_eq(entry, &self.entry)) {
            stores.remove(&self.address);
        }
    }
}

/// Opens a registered store, a bucket or an HTTP server.
///
/// # Errors
/// If the store is not registered in this process, or the URL or the settings are invalid.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Bucket>, Problem> {
    if !url.starts_with(REGISTERED) {
        return open_remote(url);
    }
    let entry = lock(&STORES).get(url).cloned();
    match entry.filter(|entry| entry.process == std::process::id()) {
        Some(entry) => Ok((entry.open)()),
        None => Err(Problem::unsupported(
            "this store exists only in the process that made the plan: run the tasks there, in threads",
        )),
    }
}

#[cfg(feature = "remote")]
fn open_remote(url: &str) -> Result<Arc<dyn Bucket>, Problem> {
    Ok(Arc::new(Objects::open(url).map_err(Problem::opening)?))
}

#[cfg(not(feature = "remote"))]
fn open_remote(_: &str) -> Result<Arc<dyn Bucket>, Problem> {
    Err(crate::url::no_remote())
}
