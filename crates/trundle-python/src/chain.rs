//! Chains: written once, compiled for each kind of array that they meet, run often.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use trundle::plan_cache::{Key, PlanCache};

use crate::array::Class;
use crate::error::not_parsed;
use crate::memory::{Memory, PerAxis};
use crate::moved::{Planned, moved_by, push_memories};
use crate::numbers;
use crate::tensor::Tensor;

#[pyclass(frozen, eq, hash, module = "trundle")]
pub(crate) struct Chain {
    chain: trundle::Chain,
    text: String,
    plans: Mutex<PlanCache<Arc<Planned>>>,
}

impl PartialEq for Chain {
    fn eq(&self, other: &Chain) -> bool {
        self.text == other.text
    }
}

impl std::hash::Hash for Chain {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[pyfunction]
#[pyo3(signature = (*stages))]
pub(crate) fn chain(stages: &Bound<'_, PyTuple>) -> PyResult<Chain> {
    let mut text = String::new();
    for stage in stages {
        let Ok(stage) = stage.cast::<PyString>() else {
            let kind = stage.get_type().name()?.to_string();
            let message = format!("each stage must be a str, as 'flip(axes=[-1])', not {kind}");
            return Err(PyTypeError::new_err(message));
        };
        let separator = if text.is_empty() { "" } else { " | " };
        let _ = write!(text, "{separator}{}", stage.to_str()?.trim());
    }
    let chain = if text.is_empty() {
        trundle::Chain::new()
    } else {
        text.parse().map_err(|error| not_parsed(&error))?
    };
    Ok(Chain { chain, text, plans: Mutex::new(PlanCache::new()) })
}

#[pymethods]
impl Chain {
    #[pyo3(signature = (x, /, *, out=None, threads=None))]
    fn __call__<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        moved_by(py, &x, out, |src, dst| self.planned(py, src, dst, threads))
    }

    #[pyo3(signature = (x, /, *, threads=None))]
    fn plan(&self, x: &Bound<'_, PyAny>, threads: Option<&Bound<'_, PyAny>>) -> PyResult<Plan> {
        let py = x.py();
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        Ok(Plan { planned: self.planned(py, &x.memory, None, threads)? })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("trundle.chain({})", PyString::new(py, &self.text).repr()?))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.import("trundle")?.getattr("chain")?, (self.text.clone(),)))
    }
}

impl Chain {
    /// The plan for two memories: one that is kept, or a new one. No thread waits for another.
    fn planned(
        &self,
        py: Python<'_>,
        src: &Memory,
        dst: Option<&Memory>,
        threads: Option<usize>,
    ) -> PyResult<Arc<Planned>> {
        let mut key = Key::new();
        push_memories(&mut key, src, dst, threads);
        if let Ok(mut plans) = self.plans.try_lock()
            && let Some(kept) = plans.get(&key)
        {
            return Ok(kept);
        }
        let planned = Arc::new(Planned::new(py, &self.chain, src, dst, threads, true)?);
        if let Ok(mut plans) = self.plans.try_lock() {
            plans.put(&key, Arc::clone(&planned));
        }
        Ok(planned)
    }
}

#[pyclass(frozen, module = "trundle")]
pub(crate) struct Plan {
    planned: Arc<Planned>,
}

#[pymethods]
impl Plan {
    #[getter]
    fn passes(&self) -> usize {
        self.planned.plan.passes().len()
    }

    #[getter]
    fn out_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.planned.sizes.iter().copied().collect::<PerAxis<isize>>())
    }

    #[getter]
    fn scratch_bytes(&self) -> usize {
        self.planned.plan.scratch_bytes()
    }

    fn __str__(&self) -> String {
        self.planned.plan.to_string()
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }
}
