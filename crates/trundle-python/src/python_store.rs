//! Stores of zarr-python as buckets. The Python class `StoreObjects` (`_zarr_store.py`) calls their methods.

use std::io;
use std::sync::{Arc, OnceLock};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use trundle_formats::bucket::{
    Below, Bucket, ByteRange, Object, ObjectStore, RegisteredStore, Stat, check_bytes,
};

/// A `StoreObjects`.
#[derive(Debug)]
struct PythonStore {
    objects: Arc<Py<PyAny>>,
    needs_metadata_first: bool,
    /// The first request that failed since the store was opened.
    failure: OnceLock<String>,
}

/// A registered store of zarr-python, which has an address until this object is deleted.
#[pyclass(frozen)]
pub(crate) struct StoreAddress(RegisteredStore);

#[pymethods]
impl StoreAddress {
    /// Register a `StoreObjects` under a unique name.
    #[new]
    fn new(py: Python<'_>, objects: Py<PyAny>, name: &str) -> PyResult<StoreAddress> {
        let needs_metadata_first = objects.getattr(py, "needs_metadata_first")?.extract(py)?;
        let objects = Arc::new(objects);
        Ok(StoreAddress(RegisteredStore::new(
            name,
            Box::new(move || {
                let (objects, failure) = (Arc::clone(&objects), OnceLock::new());
                Arc::new(PythonStore { objects, needs_metadata_first, failure })
            }),
        )))
    }

    fn __str__(&self) -> &str {
        self.0.address()
    }
}

impl PythonStore {
    /// Calls a method of the `StoreObjects`, which releases the GIL while it waits.
    fn call<T>(&self, method: &str, arguments: impl for<'py> PyCallArgs<'py>) -> io::Result<T>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py>,
    {
        let answer = Python::try_attach(|py| {
            let answer = self.objects.bind(py).call_method1(method, arguments);
            let answer = answer.and_then(|answer| answer.extract::<T>().map_err(Into::into));
            answer.map_err(|error| failed(&error))
        });
        let ended = || Err(io::Error::other("the interpreter is being shut down"));
        answer.unwrap_or_else(ended).inspect_err(|error| {
            self.failure.get_or_init(|| error.to_string());
        })
    }
}

/// Returns the error with the class and the message of an exception, on one line.
fn failed(error: &PyErr) -> io::Error {
    let text = error.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    io::Error::other(words.join(" "))
}

impl ObjectStore for PythonStore {
    /// The tag is empty: a store of zarr-python cannot detect that an object was replaced by one of the same size.
    fn stat(&self, key: &str) -> io::Result<Option<Stat>> {
        let bytes: Option<u64> = self.call("size", (key,))?;
        Ok(bytes.map(|bytes| Stat { bytes, modified: None, tag: Some(String::new()) }))
    }

    /// Checks the limit after a read of the whole object, because many stores read the object to return its size.
    fn read(&self, key: &str, part: ByteRange, most: u64) -> io::Result<Option<Vec<u8>>> {
        let read: Option<PyBackedBytes> = match part {
            ByteRange::All => self.call("get", (key,))?,
            // Stores refuse empty ranges.
            ByteRange::Range(_, 0) | ByteRange::Last(0) => {
                let Some(found) = self.stat(key)? else { return Ok(None) };
                return part.within(found.bytes, most).map(|_| Some(Vec::new()));
            }
            ByteRange::Range(start, length) => self.call("get", (key, start, length.min(most)))?,
            ByteRange::Last(length) => self.call("get", (key, None::<u64>, length.min(most)))?,
        };
        let Some(read) = read else { return Ok(None) };
        let bytes = read.len() as u64;
        match part {
            ByteRange::Range(_, length) | ByteRange::Last(length) if length != bytes => {
                let why = format!("has a part of {bytes} bytes, expected {length}");
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
            _ => check_bytes(bytes, most).map(|()| Some(read.to_vec())),
        }
    }

    fn object(&self, key: &str, most: u64) -> io::Result<Option<Object<'static>>> {
        let read = self.read(key, ByteRange::All, most)?;
        Ok(read.map(|bytes| Object::Bytes(bytes.into())))
    }

    fn folders(&self, path: &str) -> io::Result<Vec<Below>> {
        let names: Vec<String> = self.call("names", (path,))?;
        Ok(names.into_iter().map(|name| Below { name, is_link: false }).collect())
    }

    /// Chunks are held in memory, like the chunks of a server.
    fn is_remote(&self) -> bool {
        true
    }

    fn write(&self, key: &str, object: Object<'_>) -> io::Result<u64> {
        let bytes = object.into_bytes()?;
        self.call::<Option<bool>>("set", (key, &bytes[..]))?;
        Ok(bytes.len() as u64)
    }
}

impl Bucket for PythonStore {
    fn is_empty(&self) -> io::Result<bool> {
        self.call("is_empty", ())
    }

    fn keys(&self, path: &str) -> io::Result<Vec<String>> {
        self.call("keys", (path,))
    }

    fn create(&self, key: &str, bytes: Vec<u8>, tag: &str) -> io::Result<()> {
        match self.call("create", (key, &bytes[..], tag))? {
            true => Ok(()),
            false => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    fn tag(&self, key: &str) -> io::Result<Option<String>> {
        self.call("tag", (key,))
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        self.call::<Option<bool>>("remove", (key,)).map(drop)
    }

    fn remove_below(&self, path: &str, kept: &str) -> io::Result<()> {
        self.call::<Option<bool>>("remove_below", (path, kept)).map(drop)
    }

    fn needs_metadata_first(&self) -> bool {
        self.needs_metadata_first
    }

    fn check_reads(&self) -> io::Result<()> {
        self.failure.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
    }
}
