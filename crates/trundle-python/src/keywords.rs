//! Keywords: one argument under two names, and what a name that no argument has was meant to be.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use trundle::notation::most_similar;

/// What other libraries call an argument: ours, and theirs.
const SYNONYMS: [(&str, &[&str]); 16] = [
    ("axis", &["dim", "dims", "dimension", "dimensions", "seq_axis", "seq_dim", "time_axis"]),
    ("axes", &["dim", "dims", "dimension", "dimensions", "order", "perm", "permutation"]),
    ("order", &["axes", "axis", "dims", "perm", "permutation"]),
    ("batch_axis", &["batch_dim", "batch"]),
    ("lengths", &["lens", "seq_lens", "seq_lengths", "sequence_lens", "sequence_lengths"]),
    ("indices", &["index", "indexes", "idx"]),
    ("mode", &["padding_mode", "boundary"]),
    ("pad_width", &["pad", "padding", "paddings", "pads", "width"]),
    ("repeats", &["counts", "repetitions", "reps", "times"]),
    ("reps", &["multiples", "repeats", "repetitions", "dims"]),
    ("shape", &["size", "sizes"]),
    ("window_shape", &["kernel_size", "size", "window", "window_size"]),
    ("threads", &["num_threads", "n_threads", "num_workers", "workers", "n_jobs"]),
    ("out", &["dst", "output", "result"]),
    ("a", &["arr", "array", "input", "m", "x"]),
    ("m", &["a", "arr", "array", "input", "x"]),
];

/// An argument that goes by the name `axis` and by the name `axes`, whichever of them it came under.
///
/// # Errors
/// TypeError if it came under both.
pub(crate) fn axis_or_axes<T>(
    function: &str,
    axis: Option<T>,
    axes: Option<T>,
) -> PyResult<Option<T>> {
    if axis.is_some() && axes.is_some() {
        let message = format!("{function}() got both axis and axes: they are one");
        return Err(PyTypeError::new_err(message));
    }
    Ok(axis.or(axes))
}

/// An argument that has no default.
///
/// # Errors
/// TypeError if it is not there.
pub(crate) fn required<T>(function: &str, name: &str, value: Option<T>) -> PyResult<T> {
    value.ok_or_else(|| {
        PyTypeError::new_err(format!("{function}() missing required argument '{name}'"))
    })
}

/// The error of a call of `function`; if it is PyO3's for a keyword that its signature does not name,
/// then with the name that was perhaps meant.
pub(crate) fn hinted(py: Python<'_>, function: &str, signature: &str, error: PyErr) -> PyErr {
    // An error that was raised in Python is of another function, which the arguments have called.
    if error.traceback(py).is_some() {
        return error;
    }
    let message = error.value(py).to_string();
    let unknown = message
        .strip_prefix(function)
        .and_then(|said| said.strip_prefix("() got an unexpected keyword argument '"))
        .and_then(|said| said.strip_suffix('\''));
    match unknown {
        Some(name) => unexpected(&format!("{function}()"), name, &named(signature), ""),
        None => error,
    }
}

/// The arguments that may be given by name, of a signature such as `(x, /, axis=None, *, out=None)`.
fn named(signature: &str) -> Vec<&str> {
    let (_, behind) = signature.split_once("/, ").unwrap_or(("", signature));
    let names = behind.trim_start_matches('(').split(", ");
    let names = names.filter_map(|argument| argument.trim_end_matches(')').split('=').next());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())).collect()
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
