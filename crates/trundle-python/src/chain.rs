//! Chains: written once, compiled for each kind of array that they meet, run often.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use trundle::plan_cache::PlanCache;

use crate::array::Class;
use crate::error::not_parsed;
use crate::memory::{Memory, PerAxis};
use crate::moved::{Call, Planned, moved_by};
use crate::numbers;
use crate::tensor::Tensor;

/// Steps to be done one after another, made by `chain`.
///
/// Call it with an array as often as you like: the plans for the arrays that it has met last are kept. A chain never
/// changes. Chains of the same operators are equal. A chain has a hash, can be pickled, and may be used by several
/// threads at once; ``str(chain)`` is its text.
///
/// Examples
/// --------
/// >>> import pickle, trundle
/// >>> windows = trundle.chain("b (h p) (w q) c -> (b h w) (p q) c, p=7, q=7")
/// >>> pickle.loads(pickle.dumps(windows)) == windows
/// True
#[pyclass(frozen, eq, hash, module = "trundle")]
pub(crate) struct Chain {
    chain: trundle::Chain,
    text: String,
    plans: Mutex<Plans>,
}

/// How many bytes the plans of a chain hold between passes at most, unless one alone holds more.
const MOST_SCRATCH_BYTES: usize = 256 << 20;

/// The plans for the arrays that a chain has met last.
#[derive(Default)]
struct Plans {
    cache: PlanCache<Arc<Planned>>,
    /// What they hold between passes, those that have made way among them.
    scratch_bytes: usize,
}

impl Plans {
    fn put(&mut self, call: &Call<'_, ()>, planned: Arc<Planned>) {
        let bytes = planned.plan.scratch_bytes();
        if self.scratch_bytes.saturating_add(bytes) > MOST_SCRATCH_BYTES {
            *self = Plans::default();
        }
        self.scratch_bytes = self.scratch_bytes.saturating_add(bytes);
        self.cache.put(call, planned);
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Chain) -> bool {
        self.chain == other.chain
    }
}

impl std::hash::Hash for Chain {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Equal operators are written in the same way.
        self.chain.to_string().hash(state);
    }
}

/// Steps to be done one after another, in as few passes over memory as can be: read once, run often.
///
/// Parameters
/// ----------
/// *stages : str
///     Stages, each a pattern (``"h w c -> c h w"``) or a call (``"flip(axes=[2])"``); in a string, ``|`` stands between
///     stages. Without stages the elements stay where they are.
///
/// Returns
/// -------
/// Chain
///
/// Raises
/// ------
/// ValueError
///     If a stage is none; the message shows where.
/// TypeError
///     If a stage is no str.
///
/// Notes
/// -----
/// The patterns are einops' ``rearrange``. The calls: flip, reshape, reverse, roll, slice, tile and transpose; their
/// arguments stand in docs/chains.md.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> to_tensor = trundle.chain("flip(axes=[2])", "h w c -> c h w")
/// >>> to_tensor
/// trundle.chain('flip(axes=[2]) | h w c -> c h w')
/// >>> to_tensor(np.zeros((480, 640, 3), dtype=np.uint8)).shape
/// (3, 480, 640)
#[pyfunction]
#[pyo3(signature = (*stages))]
pub(crate) fn chain(stages: &Bound<'_, PyTuple>) -> PyResult<Chain> {
    let mut texts = Vec::with_capacity(stages.len());
    for stage in stages {
        let Ok(stage) = stage.cast::<PyString>() else {
            let kind = stage.get_type().name()?.to_string();
            let message = format!("each stage must be a str, as 'flip(axes=[-1])', not {kind}");
            return Err(PyTypeError::new_err(message));
        };
        texts.push(stage.to_str()?.trim().to_owned());
    }
    let text = texts.join(" | ");
    let chain = if texts.is_empty() {
        trundle::Chain::new()
    } else {
        text.parse().map_err(|error| not_parsed(&error))?
    };
    Ok(Chain { chain, text, plans: Mutex::default() })
}

#[pymethods]
impl Chain {
    /// The result of the steps.
    ///
    /// Parameters
    /// ----------
    /// x : array_like
    ///     Of a shape that the first step takes. Any dtype, but no object dtype and no MaskedArray.
    /// out, threads
    ///     See `help(trundle)`.
    ///
    /// Returns
    /// -------
    /// array of the kind and dtype of `x`; of a subclass of numpy.ndarray, the base class
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If a step does not fit the shape that it is given, or if `out` does not fit; the message shows which step.
    /// TypeError
    ///     For a dtype that holds objects.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, trundle
    /// >>> trundle.chain("h w -> w h", "flip(0)")(np.arange(6).reshape(2, 3))
    /// array([[2, 5],
    ///        [1, 4],
    ///        [0, 3]])
    #[pyo3(signature = (x, /, *, out=None, threads=None))]
    fn __call__<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        moved_by(py, &x, out, threads, |src, dst| self.planned(py, src, dst, threads))
    }

    /// What would be done for `x`, at every stage; nothing is moved.
    ///
    /// Parameters
    /// ----------
    /// x : array_like
    ///     Its shape, strides and dtype count, not its elements.
    /// threads : int, optional
    ///     See `help(trundle)`.
    ///
    /// Returns
    /// -------
    /// Plan
    ///
    /// Raises
    /// ------
    /// ValueError, TypeError
    ///     As a call of the chain.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, trundle
    /// >>> plan = trundle.chain("flip(axes=[2]) | h w c -> c h w").plan(np.zeros((480, 640, 3), dtype=np.uint8))
    /// >>> plan.passes, plan.out_shape
    /// (1, (3, 480, 640))
    #[pyo3(signature = (x, /, *, threads=None))]
    fn plan(&self, x: &Bound<'_, PyAny>, threads: Option<&Bound<'_, PyAny>>) -> PyResult<Plan> {
        let py = x.py();
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        Ok(Plan { planned: self.planned(py, &x.memory, None, threads)? })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let stages = match self.text.as_str() {
            "" => String::new(),
            text => PyString::new(py, text).repr()?.to_string(),
        };
        Ok(format!("trundle.chain({stages})"))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let stages = Some(&self.text).filter(|text| !text.is_empty());
        Ok((py.import("trundle")?.getattr("chain")?, PyTuple::new(py, stages)?))
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
        // What is done is the chain, whose own plans these are.
        let call = Call { what: (), src: src.form(), dst: dst.map(Memory::form), threads };
        if let Ok(mut plans) = self.plans.try_lock()
            && let Some(kept) = plans.cache.get(&call)
        {
            return Ok(kept);
        }
        let planned = Arc::new(Planned::new(py, &self.chain, src, dst, threads, true)?);
        if let Ok(mut plans) = self.plans.try_lock() {
            plans.put(&call, Arc::clone(&planned));
        }
        Ok(planned)
    }
}

/// What a chain would do for an array, from the steps down to the kernels; ``print`` it. Made by `Chain.plan`.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> plan = trundle.chain("h w -> w h").plan(np.zeros((2, 3)))
/// >>> str(plan).splitlines()[:4]
/// ['1 pass over memory', '', 'pass 0', '  transpose(1, 0)']
#[pyclass(frozen, module = "trundle")]
pub(crate) struct Plan {
    planned: Arc<Planned>,
}

#[pymethods]
impl Plan {
    /// How often the elements are read and written: 1, unless steps do not go together.
    #[getter]
    fn passes(&self) -> usize {
        self.planned.plan.passes().len()
    }

    /// The shape of the result.
    #[getter]
    fn out_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.planned.sizes.iter().copied().collect::<PerAxis<isize>>())
    }

    /// The memory that is needed beside `x` and the result, in bytes: 0 for one pass.
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
