//! Keywords: one argument under two names, and what a name that no argument has was meant to be.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use trundle::notation::most_similar;

/// What other libraries call an argument: ours, and theirs.
const SYNONYMS: [(&str, &[&str]); 9] = [
    ("axis", &["dim", "dims", "dimension", "dimensions", "seq_axis", "seq_dim", "time_axis"]),
    ("axes", &["dim", "dims", "dimension", "dimensions", "order", "perm", "permutation"]),
    ("order", &["axes", "axis", "dims", "perm", "permutation"]),
    ("batch_axis", &["batch_dim", "batch"]),
    ("lengths", &["lens", "seq_lens", "seq_lengths", "sequence_lens", "sequence_lengths"]),
    ("threads", &["num_threads", "n_threads", "num_workers", "workers", "n_jobs"]),
    ("out", &["dst", "output", "result"]),
    ("a", &["arr", "array", "input", "m", "x"]),
    ("m", &["a", "arr", "array", "input", "x"]),
];

/// What a function is called, and its arguments that may be given by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) function: &'static str,
    pub(crate) names: &'static [&'static str],
}

impl Signature {
    /// An argument that goes by the name `axis` and by the name `axes`, whichever of them it came under.
    ///
    /// # Errors
    /// TypeError if it came under both.
    pub(crate) fn axis_or_axes<T>(&self, axis: Option<T>, axes: Option<T>) -> PyResult<Option<T>> {
        if axis.is_some() && axes.is_some() {
            let message = format!("{}() got both axis and axes: they are one", self.function);
            return Err(PyTypeError::new_err(message));
        }
        Ok(axis.or(axes))
    }

    /// An argument that has no default.
    ///
    /// # Errors
    /// TypeError if it is not there.
    pub(crate) fn required<T>(&self, name: &str, value: Option<T>) -> PyResult<T> {
        value.ok_or_else(|| {
            let message = format!("{}() missing required argument '{name}'", self.function);
            PyTypeError::new_err(message)
        })
    }

    /// The error of a call; if it is PyO3's for a keyword that the signature does not name, then with
    /// the name that was perhaps meant.
    pub(crate) fn hinted(&self, py: Python<'_>, error: PyErr) -> PyErr {
        // An error that was raised in Python is of another function, which the arguments have called.
        if error.traceback(py).is_some() {
            return error;
        }
        match self.unknown_in(&error.value(py).to_string()) {
            Some(name) => unexpected(&format!("{}()", self.function), name, self.names, ""),
            None => error,
        }
    }

    /// The keyword that PyO3 says is none of the signature's.
    fn unknown_in<'a>(&self, message: &'a str) -> Option<&'a str> {
        let said = message.strip_prefix(self.function)?;
        said.strip_prefix("() got an unexpected keyword argument '")?.strip_suffix('\'')
    }
}

/// A keyword that a call of `whose` does not take, and the name that was perhaps meant; if there is
/// none, `else_hint`.
pub(crate) fn unexpected(whose: &str, name: &str, names: &[&str], else_hint: &str) -> PyErr {
    let hint = match (name, meant(name, names)) {
        // What numpy casts with: another word would mislead.
        ("dtype" | "casting", _) => "; trundle moves elements and casts none".to_owned(),
        (_, Some(meant)) => format!("; did you mean '{meant}'?"),
        (_, None) if else_hint.is_empty() => String::new(),
        (_, None) => format!("; {else_hint}"),
    };
    PyTypeError::new_err(format!("{whose} got an unexpected keyword argument '{name}'{hint}"))
}

/// Which of `names` the name `given` was meant to be.
fn meant<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let is_called_so =
        |name: &str| SYNONYMS.iter().any(|(own, theirs)| *own == name && theirs.contains(&given));
    let synonym = names.iter().copied().find(|name| is_called_so(name));
    synonym.or_else(|| most_similar(given, names.iter().copied()))
}
