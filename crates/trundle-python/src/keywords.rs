//! Keywords: one argument under two names, and what a name that no argument has was meant to be.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use trundle::notation::most_similar;

/// What other libraries call an argument: ours, and theirs.
const SYNONYMS: [(&str, &[&str]); 8] = [
    ("axis", &["dim", "dims", "dimension", "dimensions", "seq_axis", "seq_dim", "time_axis"]),
    ("axes", &["dim", "dims", "dimension", "dimensions", "order", "perm", "permutation"]),
    ("order", &["axes", "axis", "dims", "perm", "permutation"]),
    ("batch_axis", &["batch_dim", "batch"]),
    ("lengths", &["lens", "seq_lens", "seq_lengths", "sequence_lens", "sequence_lengths"]),
    ("threads", &["num_threads", "n_threads", "num_workers", "workers", "n_jobs"]),
    ("out", &["dst", "output", "result"]),
    ("a", &["arr", "array", "input", "m", "x"]),
];

/// What a function is called, and its arguments that may be given by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) function: &'static str,
    pub(crate) names: &'static [&'static str],
}

impl Signature {
    /// Takes none of the keywords of a call that its signature does not name.
    ///
    /// # Errors
    /// TypeError for the first of `others`, with the name that was perhaps meant.
    pub(crate) fn refuse(&self, others: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        match others.and_then(|others| others.iter().next()) {
            Some((name, _)) => Err(self.unexpected(&name)),
            None => Ok(()),
        }
    }

    /// An argument that is there under the name `axis` and under the name `axes`: `value`, if it came
    /// under the one that the signature has, or the one of `others`.
    ///
    /// # Errors
    /// TypeError if it was given under both names, or for any other keyword.
    pub(crate) fn axis_or_axes<'py>(
        &self,
        value: Option<&Bound<'py, PyAny>>,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut axes = value.cloned();
        for (name, other) in others.into_iter().flatten() {
            if !matches!(name.cast::<PyString>()?.to_str()?, "axis" | "axes") {
                return Err(self.unexpected(&name));
            }
            if axes.is_some() {
                let message = format!("{}() got both axis and axes: they are one", self.function);
                return Err(PyTypeError::new_err(message));
            }
            axes = Some(other).filter(|other| !other.is_none());
        }
        Ok(axes)
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

    fn unexpected(&self, name: &Bound<'_, PyAny>) -> PyErr {
        unexpected(&format!("{}()", self.function), &name.to_string(), self.names, "")
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
