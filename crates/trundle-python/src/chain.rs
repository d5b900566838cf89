//! Chains: written once, compiled for each kind of array that they meet, run often.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNotImplemented, PyString, PyTuple};
use trundle::plan_cache::PlanCache;
use trundle::{OpenChain, Slot};

use crate::array::Class;
use crate::error::not_parsed;
use crate::integer_array::IntegerArray;
use crate::keywords::unexpected;
use crate::memory::{Memory, PerAxis};
use crate::moved::{Call, Planned, moved_by};
use crate::numbers;
use crate::tensor::Tensor;

/// Steps to be done one after another; ``Chain(...)`` is ``chain(...)``.
///
/// Call it with an array as often as you like, as ``chain(x, /, *, out=None, threads=None, **lengths)``: the plans for
/// the arrays that it has met last are kept. A chain never changes. Chains of the same operators are equal. A chain has
/// a hash, can be pickled, and may be used by several threads at once; ``str(chain)`` is its text. ``a | b`` is the
/// chain that does what `a` does, then what `b` does; one of them may be a str.
///
/// Parameters of a call
/// --------------------
/// x : array_like
///     Of a shape that the first step takes. Any dtype, but no object dtype and no MaskedArray.
/// out, threads
///     See `help(trundle)`.
/// **lengths : array_like of integers
///     What the steps leave open, by its names: for ``reverse(axis=1, lengths=n)`` it is ``n``. With a batch axis one length
///     for each of its indices; without, one for each position outside the axis, in the shape of what is reversed with
///     1 on the axis, or as a list in row-major order.
///
/// It returns an array of the kind and dtype of `x`; of a subclass of numpy.ndarray, the base class. It raises ValueError
/// if a step does not fit the shape that it is given, or if `out` does not fit, and TypeError for a dtype that holds objects,
/// and for lengths that are missing, not integers, or not of this chain.
///
/// Examples
/// --------
/// >>> import numpy as np, pickle, trundle
/// >>> turned = trundle.chain("h w -> w h", "flip(0)")
/// >>> turned(np.arange(6).reshape(2, 3))
/// array([[2, 5],
///        [1, 4],
///        [0, 3]])
/// >>> backwards = trundle.chain("b t -> t b", "reverse(axis=0, batch_axis=1, lengths=n)")
/// >>> backwards(np.array([[1, 2, 0], [3, 4, 5]]), n=[2, 3])
/// array([[2, 5],
///        [1, 4],
///        [0, 3]])
/// >>> turned | "flip(1)"
/// trundle.chain('h w -> w h | flip(0) | flip(1)')
/// >>> pickle.loads(pickle.dumps(turned)) == turned
/// True
#[pyclass(frozen, eq, hash, weakref, module = "trundle")]
pub(crate) struct Chain {
    open: OpenChain,
    text: String,
    /// The chain, unless it leaves lengths open.
    whole: Option<Steps>,
    /// The last lengths that it was given, and the chain with them: those of a batch come again
    /// for each of its arrays.
    last: Mutex<Option<(Vec<IntegerArray>, Arc<Steps>)>>,
}

/// The operators of a chain, and how they were done.
#[derive(Default)]
struct Steps {
    chain: trundle::Chain,
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
        self.open == other.open
    }
}

impl std::hash::Hash for Chain {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for slot in self.open.slots() {
            slot.hash(state);
        }
        // Equal operators are written in the same way.
        if let Some(whole) = &self.whole {
            whole.chain.to_string().hash(state);
        }
    }
}

/// Steps to be done one after another, in as few passes over memory as can be: read once, run often.
///
/// Parameters
/// ----------
/// *stages : str
///     Stages, each a pattern (``"h w c -> c h w"``) or a call (``"flip(axes=[2])"``); in a string, ``|`` stands between
///     stages. Without stages, or with an empty one, the elements stay where they are. Lengths may be a name that is given
///     at the call.
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
/// The patterns are einops' ``rearrange``. The calls and their arguments stand in docs/chains.md.
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
    Chain::new(stages)
}

/// The text of stages that are given one by one.
fn joined(stages: &Bound<'_, PyTuple>) -> PyResult<String> {
    let mut texts = Vec::with_capacity(stages.len());
    for stage in stages {
        let Ok(stage) = stage.cast::<PyString>() else {
            let kind = stage.get_type().name()?.to_string();
            let message = format!("each stage must be a str, as 'flip(axes=[-1])', not {kind}");
            return Err(PyTypeError::new_err(message));
        };
        texts.push(stage.to_str()?.trim().to_owned());
    }
    Ok(texts.join(" | "))
}

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (*stages))]
    fn new(stages: &Bound<'_, PyTuple>) -> PyResult<Chain> {
        Chain::of_text(joined(stages)?)
    }

    // CPython shows no text of this method: it stands at the class.
    #[pyo3(signature = (x, /, *, out=None, threads=None, **lengths))]
    fn __call__<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
        lengths: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let steps = self.steps(py, lengths)?;
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        moved_by(py, &x, out, threads, |src, dst| steps.get().planned(py, src, dst, threads))
    }

    /// What would be done for `x`, at every stage; nothing is moved.
    ///
    /// Parameters
    /// ----------
    /// x : array_like
    ///     Its shape, strides and dtype count, not its elements.
    /// threads : int, optional
    ///     See `help(trundle)`.
    /// **lengths : array_like of integers
    ///     What the steps leave open, as for a call.
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
    #[pyo3(signature = (x, /, *, threads=None, **lengths))]
    fn plan(
        &self,
        x: &Bound<'_, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        lengths: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Plan> {
        let py = x.py();
        let steps = self.steps(py, lengths)?;
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        Ok(Plan { planned: steps.get().planned(py, &x.memory, None, threads)? })
    }

    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match text_of(other)? {
            Some(text) => Chain::of_two(other.py(), &self.text, &text),
            None => Ok(PyNotImplemented::get(other.py()).to_owned().into_any()),
        }
    }

    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match text_of(other)? {
            Some(text) => Chain::of_two(other.py(), &text, &self.text),
            None => Ok(PyNotImplemented::get(other.py()).to_owned().into_any()),
        }
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match text_of(other)? {
            Some(_) => Err(PyTypeError::new_err("chains are joined by |, as in a | b, not by +")),
            None => Ok(PyNotImplemented::get(other.py()).to_owned().into_any()),
        }
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

/// The text of a chain or a stage, if an object is one.
fn text_of(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(chain) = object.cast::<Chain>() {
        return Ok(Some(chain.get().text.clone()));
    }
    match object.cast::<PyString>() {
        Ok(text) => Ok(Some(text.to_str()?.trim().to_owned())),
        Err(_) => Ok(None),
    }
}

/// Steps of a chain itself, or with the lengths of a call.
enum OfCall<'a> {
    Whole(&'a Steps),
    Filled(Arc<Steps>),
}

impl OfCall<'_> {
    fn get(&self) -> &Steps {
        match self {
            OfCall::Whole(steps) => steps,
            OfCall::Filled(steps) => steps,
        }
    }
}

/// Keywords of a call that are no lengths.
const KEYWORDS: [&str; 2] = ["out", "threads"];

impl Chain {
    fn of_text(text: String) -> PyResult<Chain> {
        let open = match text.is_empty() {
            true => trundle::Chain::new().into(),
            false => OpenChain::parse(&text).map_err(|error| not_parsed(&error))?,
        };
        if let Some(slot) = open.slots().iter().find(|slot| KEYWORDS.contains(&&*slot.name)) {
            let message = format!("lengths={}: a call has another keyword of that name", slot.name);
            return Err(PyValueError::new_err(message));
        }
        let whole = match open.slots() {
            [] => open.fill(filled_never).ok().map(|chain| Steps { chain, ..Steps::default() }),
            _ => None,
        };
        Ok(Chain { open, text, whole, last: Mutex::default() })
    }

    fn of_two<'py>(py: Python<'py>, first: &str, then: &str) -> PyResult<Bound<'py, PyAny>> {
        let texts: Vec<&str> = [first, then].into_iter().filter(|text| !text.is_empty()).collect();
        Ok(Bound::new(py, Chain::of_text(texts.join(" | "))?)?.into_any())
    }

    /// The steps with the lengths of a call in them.
    ///
    /// # Errors
    /// TypeError for lengths that are missing, that the chain does not have, or that are no
    /// integers.
    fn steps(&self, py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<OfCall<'_>> {
        self.check_names(given)?;
        if let Some(whole) = &self.whole {
            return Ok(OfCall::Whole(whole));
        }
        let slots = self.open.slots();
        let lengths = slots.iter().map(|slot| lengths_of(slot, given));
        let lengths = lengths.collect::<PyResult<Vec<IntegerArray>>>()?;
        if let Ok(last) = self.last.try_lock()
            && let Some((same, steps)) = &*last
            && *same == lengths
        {
            return Ok(OfCall::Filled(Arc::clone(steps)));
        }
        let mut given = lengths.iter();
        let chain = self.open.fill(|slot| {
            let lengths = given.next().cloned().ok_or_else(|| missing(slot))?;
            lengths.fill(py, &slot.name, &slot.unfilled)
        })?;
        let steps = Arc::new(Steps { chain, ..Steps::default() });
        if let Ok(mut last) = self.last.try_lock() {
            *last = Some((lengths, Arc::clone(&steps)));
        }
        Ok(OfCall::Filled(steps))
    }

    /// A keyword that is none of the lengths that are to be given.
    fn unexpected(&self, name: &str) -> PyErr {
        let mut names: Vec<&str> = Vec::new();
        for slot in self.open.slots() {
            if !names.contains(&&*slot.name) {
                names.push(&slot.name);
            }
        }
        let takes = match names.as_slice() {
            [] => "it leaves no lengths open".to_owned(),
            names => format!("its lengths are {}", names.join(", ")),
        };
        names.extend(KEYWORDS);
        unexpected("the chain", name, &names, &takes)
    }

    fn check_names(&self, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        for (name, _) in given.into_iter().flatten() {
            let name = name.to_string();
            if self.open.slots().iter().all(|slot| slot.name != name) {
                return Err(self.unexpected(&name));
            }
        }
        Ok(())
    }
}

fn lengths_of(slot: &Slot, given: Option<&Bound<'_, PyDict>>) -> PyResult<IntegerArray> {
    let value = given.map(|given| given.get_item(&slot.name)).transpose()?.flatten();
    IntegerArray::read(&slot.name, &value.ok_or_else(|| missing(slot))?)
}

fn missing(slot: &Slot) -> PyErr {
    let Slot { name, stage, .. } = slot;
    PyTypeError::new_err(format!(
        "the lengths '{name}' of stage {} are missing: call chain(x, {name}=...)",
        stage + 1
    ))
}

/// For a chain that leaves nothing open.
fn filled_never(slot: &Slot) -> PyResult<trundle::Op> {
    Err(missing(slot))
}

impl Steps {
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

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Plan is for this process and machine: pickle the chain, or str(plan)",
        ))
    }
}
