//! Lazy values without a lock.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A value that is initialised once.
///
/// The initialisation may run Python code, for example an import, and another thread may fork during that time.
/// `PyOnceLock::get_or_try_init` would hold a lock, which would never be released in the child. Here, each thread
/// creates a value, and the first is kept.
pub(crate) struct Lazy<T>(PyOnceLock<T>);

impl<T> Lazy<T> {
    pub(crate) const fn new() -> Lazy<T> {
        Lazy(PyOnceLock::new())
    }

    pub(crate) fn get(&self, py: Python<'_>) -> Option<&T> {
        self.0.get(py)
    }

    /// The value, created by `make` if needed.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn get_or_make(
        &self,
        py: Python<'_>,
        make: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<&T> {
        if let Some(value) = self.0.get(py) {
            return Ok(value);
        }
        let made = make()?;
        Ok(self.0.get_or_init(py, || made))
    }
}

impl Lazy<Py<PyAny>> {
    /// The attribute `name` of a module.
    ///
    /// # Errors
    /// The exceptions of the import.
    pub(crate) fn import<'py>(
        &self,
        py: Python<'py>,
        module: &str,
        name: &str,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let object = self.get_or_make(py, || Ok(py.import(module)?.getattr(name)?.unbind()))?;
        Ok(object.bind(py))
    }
}
