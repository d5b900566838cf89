//! The search for what is fastest on this machine.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trundle::tuning;

use crate::error::refused;
use crate::run::signals;

/// Find what is fastest on this machine, and keep it for later processes.
///
/// It takes some seconds, in which nothing else should run: movements are timed in turn with a copy. What is
/// found changes how fast results are made, and never what they are. This process goes on as it is. The
/// environment variable TRUNDLE_TUNING names another file, or is `off` where what is kept shall not be used.
///
/// Parameters
/// ----------
/// keep : bool, optional
///     Whether to keep what is found, in the folder `trundle` of the user's cache, under the make of the
///     processor, the cores and the version of trundle.
///
/// Returns
/// -------
/// dict
///     `tuning` and `built_in`: the record that was found, and what comes with trundle; `kept`: the file, or None;
///     `trials`: for each movement that was timed its `name`, and its speed `built_in` and `tuned` beside that of a
///     `copy`, in bytes read and written a second.
///
/// Raises
/// ------
/// MemoryError
///     If there is no room for two arrays of 64 MiB.
/// OSError
///     If the file cannot be written.
///
/// Examples
/// --------
/// >>> trundle.tune()["kept"]  # doctest: +SKIP
/// '/home/me/.cache/trundle/tuning-AuthenticAMD-26-2-1-8-0.1.0.txt'
#[pyfunction]
#[pyo3(signature = (*, keep = true))]
pub(crate) fn tune(py: Python<'_>, keep: bool) -> PyResult<Bound<'_, PyDict>> {
    let mut stopped = Ok(());
    let found = py.detach(|| {
        tuning::tune(&mut |_| {
            stopped = signals();
            stopped.is_ok()
        })
    });
    stopped?;
    let Some(tuned) = found.map_err(|error| refused(py, &error))? else {
        return Ok(PyDict::new(py));
    };
    let path = if keep { Some(tuned.keep()?) } else { None };
    let mut trials = Vec::with_capacity(tuned.trials.len());
    for trial in &tuned.trials {
        let each = PyDict::new(py);
        each.set_item("name", trial.name)?;
        each.set_item("built_in", trial.before)?;
        each.set_item("tuned", trial.after)?;
        each.set_item("copy", trial.copy)?;
        trials.push(each);
    }
    let told = PyDict::new(py);
    told.set_item("tuning", tuned.tuning.to_string())?;
    told.set_item("built_in", tuned.built_in.to_string())?;
    told.set_item("kept", path.map(|path| path.to_string_lossy().into_owned()))?;
    told.set_item("trials", trials)?;
    Ok(told)
}
