//! Values that are made when they are first needed, without a lock.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A value that is made once. To make it may run Python code, as an import does, and meanwhile another
/// thread may fork. `PyOnceLock::get_or_try_init` would hold a lock at that moment, and in the child
/// nobody would ever release it. Here, threads that need the value at the same time each make one, and
/// the first is kept.
pub(crate) struct Lazy<T>(PyOnceLock<T>);

impl<T> Lazy<T> {
    pub(crate) const fn new() -> Lazy<T> {
        Lazy(PyOnceLock::new())
    }

    /// The value, if it has been made.
    pub(crate) fn get(&self, py: Python<'_>) -> Option<&T> {
        self.0.get(py)
    }

    /// # Errors
    /// Those of `make`.
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
    /// The object that a module calls `name`.
    ///
    /// # Errors
    /// What the import raises.
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
