//! Tuning for this machine.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trundle::tuning;

use crate::error::refused;
use crate::run::signals;

/// Measures which settings are fastest on this machine, and stores them for later processes.
///
/// This takes some seconds. Other programs should not run at the same time, because each movement is timed alternately
/// with a copy. The settings change the speed, but never the results. They do not affect the current process. The
/// environment variable TRUNDLE_TUNING can have the path of another file, or `off` to ignore stored settings.
///
/// Parameters
/// ----------
/// keep : bool, optional
///     Whether to store the settings, in the folder `trundle` of the user's cache, for this type of processor,
///     number of cores and version of trundle.
///
/// Returns
/// -------
/// dict
///     `tuning` and `built_in`: the measured and the default settings. `kept`: the file, or None. `trials`: for
///     each timed movement its `name`, and the speeds `built_in`, `tuned` and `copy` in bytes read and written
///     per second.
///
/// Raises
/// ------
/// MemoryError
///     If there is not enough memory for two arrays of 64 MiB.
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
    let record = PyDict::new(py);
    record.set_item("tuning", tuned.tuning.to_string())?;
    record.set_item("built_in", tuned.built_in.to_string())?;
    record.set_item("kept", path.map(|path| path.to_string_lossy().into_owned()))?;
    record.set_item("trials", trials)?;
    Ok(record)
}
