//! The Python class `Chain`: parsed once, planned once for each shape, strides and dtype, run many times.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNotImplemented, PyString, PyTuple};
use trundle::internal::plan_cache::PlanCache;
use trundle::notation::NumbersFile;
use trundle::ops::Operand;
use trundle::{ChainError, Op, OpenChain, Program, Slot, TensorId};

use crate::array::Class;
use crate::assembled::{Assembly, assembled, run_to_new};
use crate::chain_plan::{Overlap, Plan};
use crate::error::{not_parsed, not_planned};
use crate::integer_array::IntegerArray;
use crate::memory::{ArrayMemory, LayoutKey};
use crate::moved::{PlanKey, Planned, in_place, moved_by};
use crate::numbers;
use crate::tensor::{Elements, Tensor};

/// A sequence of operators; ``Chain(...)`` is ``chain(...)``.
///
/// Call a chain with an array: ``chain(x, /, *, out=None, threads=None, **given)``. A chain keeps the plans for
/// recent shapes, strides and dtypes. Chains are immutable and hashable, can be pickled, and can be used by several
/// threads at once. Two chains are equal if their operators are equal. ``str(chain)`` returns the chain as a string.
/// ``a | b`` is a chain that applies `a`, then `b`; one of the two may be a str.
///
/// Parameters of a call
/// --------------------
/// x : array_like
///     An array with a shape that the first operator accepts. Any dtype, except object dtypes and MaskedArray. Omit
///     it if the first operator takes tensors by name, but not ``_``.
/// out, threads
///     See `help(trundle)`.
/// **given : array_like
///     The values of the names in the chain, such as ``n`` in ``reverse(axis=1, lengths=n)``. Lengths with a batch
///     axis: one for each index of this axis. Lengths without a batch axis: one for each row along the axis, as an
///     array with the shape of the data but size 1 on the axis, or as a list in row-major order. Operands of
///     ``concat``, ``stack``, ``put_along_axis``, ``scatter_nd`` and ``slice_scatter``: arrays of the kind and dtype
///     of `x`.
///
/// Returns an array of the kind and dtype of `x`; for a subclass of numpy.ndarray, the base class. Raises
/// ValueError if an operator does not fit its input shape, or if `out` does not fit. Raises TypeError for a
/// dtype that holds objects, for missing or unexpected keywords, and for lengths that are not integers.
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
/// >>> trundle.chain("concat(_, more, axis=1) | pad(1, value=9)")(np.array([[1, 2]]), more=np.array([[3]]))
/// array([[9, 9, 9, 9, 9],
///        [9, 1, 2, 3, 9],
///        [9, 9, 9, 9, 9]])
/// >>> turned | "flip(1)"
/// trundle.chain('h w -> w h | flip(0) | flip(1)')
/// >>> pickle.loads(pickle.dumps(turned)) == turned
/// True
#[pyclass(frozen, eq, hash, weakref, module = "trundle")]
pub(crate) struct Chain {
    open: OpenChain,
    text: String,
    /// The unnamed array is `_`.
    inputs: Vec<Operand>,
    is_map: bool,
    /// The chain, if all its lengths and indices are given.
    whole: Option<Steps>,
    /// The lengths and indices of the last call, and the chain with them. Arrays of a batch often have the same
    /// lengths.
    last: Mutex<Option<(Vec<IntegerArray>, Arc<Steps>)>>,
}

#[derive(Default)]
struct Steps {
    chain: trundle::Chain,
    plans: Mutex<Plans>,
}

/// Limits the bytes that the cached plans of a chain keep between passes, unless one plan alone needs more.
const MOST_SCRATCH_BYTES: usize = 256 << 20;

#[derive(Default)]
struct Plans {
    cache: PlanCache<Arc<Planned>>,
    /// The bytes that the plans keep between passes, including plans that the cache has dropped.
    scratch_bytes: usize,
}

impl Plans {
    fn put(&mut self, key: &impl Hash, planned: Arc<Planned>) {
        let bytes = planned.plan.scratch_bytes();
        if self.scratch_bytes.saturating_add(bytes) > MOST_SCRATCH_BYTES {
            *self = Plans::default();
        }
        self.scratch_bytes = self.scratch_bytes.saturating_add(bytes);
        self.cache.put(key, planned);
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Chain) -> bool {
        self.open == other.open
    }
}

impl Hash for Chain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for slot in self.open.slots() {
            slot.hash(state);
        }
        if let Some(whole) = &self.whole {
            whole.chain.to_string().hash(state);
        }
    }
}

/// Creates a chain of operators, which run in as few passes over memory as possible.
///
/// A chain is parsed once and can be called many times.
///
/// Parameters
/// ----------
/// *stages : str
///     Each stage is a pattern (``"h w c -> c h w"``) or a call (``"flip(axes=[2])"``). A string may have
///     several stages, separated by ``|``. An empty chain copies its input. Instead of lengths, indices and further
///     arrays, a stage has names; the call of the chain gives their values.
///
/// Returns
/// -------
/// Chain
///
/// Raises
/// ------
/// ValueError
///     If a stage is invalid. The message shows the fault.
/// TypeError
///     If a stage is not a str.
///
/// Notes
/// -----
/// Patterns have the syntax of einops' ``rearrange``. docs/chains.md lists the calls and their arguments.
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

/// Returns the stages as strings, each with the names whose values a call gives. ``trundle.torch`` uses them for
/// unknown shapes and for gradients.
#[pyfunction]
pub(crate) fn chain_stages(chain: &Bound<'_, Chain>) -> PyResult<Vec<(String, Vec<String>)>> {
    let open = &chain.get().open;
    let whole = open.fill(|slot| slot.unfilled.fill(NumbersFile::list(Vec::new())));
    let whole = whole.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let stages = whole.ops().iter().enumerate().map(|(stage, op)| {
        let (mut text, mut names) =
            (op.to_string(), named(op.operands()).cloned().collect::<Vec<_>>());
        if let Some(slot) = open.slots().iter().find(|slot| slot.stage == stage) {
            let argument = slot.unfilled.argument();
            text =
                text.replacen(&format!("{argument}=[]"), &format!("{argument}={}", slot.name), 1);
            names.push(slot.name.clone());
        }
        (text, names)
    });
    Ok(stages.collect())
}

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

    // CPython does not show a docstring of this method, so the class has it.
    #[pyo3(signature = (x=None, /, *, out=None, threads=None, **given))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let steps = self.steps(py, given)?;
        if !self.is_map {
            let (inputs, threads) = (self.tensors(x, given)?, numbers::threads(threads)?);
            return steps.get().assembled(py, &inputs, out, threads);
        }
        let x = x.ok_or_else(|| self.missing_x())?;
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        moved_by(py, &x, out, threads, |src, dst| steps.get().planned(py, src, dst, threads))
    }

    /// Returns the plan for a call with `x`, without moving anything.
    ///
    /// Parameters
    /// ----------
    /// x : array_like
    ///     As in a call. Only its shape, strides and dtype matter.
    /// out : array, optional
    ///     As in a call. If it is `x` itself, the plan is for a move in place.
    /// threads : int, optional
    ///     See `help(trundle)`.
    /// **given : array_like
    ///     The values of names in the chain, as in a call.
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
    #[pyo3(signature = (x=None, /, *, out=None, threads=None, **given))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Plan> {
        let steps = self.steps(py, given)?;
        if !self.is_map {
            let (inputs, threads) = (self.tensors(x, given)?, numbers::threads(threads)?);
            let planned = steps.get().planned_of_several(py, &inputs, threads)?;
            return Ok(Plan { planned, overlap: None });
        }
        let x = x.ok_or_else(|| self.missing_x())?;
        let (x, threads) = (Tensor::to_read("x", x, Class::Plain)?, numbers::threads(threads)?);
        let target = out.map(|out| Tensor::to_write("out", out, &x)).transpose()?;
        let dst = target.as_ref().map(|target| &target.memory);
        let planned = steps.get().planned(py, &x.memory, dst, threads)?;
        let bytes = x.memory.contiguous_bytes();
        let overlap = dst.filter(|dst| x.memory.may_overlap(dst)).map(|dst| {
            let within = x.memory.is_in_place(dst).then(|| in_place(&planned, bytes));
            within.flatten().map_or(Overlap::Copied(bytes), Overlap::InPlace)
        });
        Ok(Plan { planned, overlap })
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
            Some(_) => Err(PyTypeError::new_err("join chains by |, as in a | b, not by +")),
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

/// `None` for an object that is neither a chain nor a str.
fn text_of(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(chain) = object.cast::<Chain>() {
        return Ok(Some(chain.get().text.clone()));
    }
    match object.cast::<PyString>() {
        Ok(text) => Ok(Some(text.to_str()?.trim().to_owned())),
        Err(_) => Ok(None),
    }
}

/// The steps of the chain, perhaps with the lengths and indices of a call.
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

/// Keywords of a call, which a chain cannot have as names.
const KEYWORDS: [&str; 2] = ["out", "threads"];

impl Chain {
    fn of_text(text: String) -> PyResult<Chain> {
        let open = match text.is_empty() {
            true => trundle::Chain::new().into(),
            false => OpenChain::parse(&text).map_err(|error| not_parsed(&error))?,
        };
        let inputs: Vec<Operand> = open.inputs().into_iter().cloned().collect();
        let slots = open.slots().iter().map(|slot| (slot.unfilled.argument(), &slot.name));
        let inputs_named = named(&inputs).map(|name| ("inputs", name));
        if let Some((argument, name)) =
            slots.chain(inputs_named).find(|(_, name)| KEYWORDS.contains(&&***name))
        {
            let message = format!("{argument}={name}: the call already has a keyword of that name");
            return Err(PyValueError::new_err(message));
        }
        let whole = match open.slots() {
            [] => open.fill(filled_never).ok().map(|chain| Steps { chain, ..Steps::default() }),
            _ => None,
        };
        let is_map = open.is_map();
        Ok(Chain { open, text, inputs, is_map, whole, last: Mutex::default() })
    }

    fn of_two<'py>(py: Python<'py>, first: &str, then: &str) -> PyResult<Bound<'py, PyAny>> {
        let texts: Vec<&str> = [first, then].into_iter().filter(|text| !text.is_empty()).collect();
        Ok(Bound::new(py, Chain::of_text(texts.join(" | "))?)?.into_any())
    }

    /// Returns the steps with the lengths and indices of a call.
    ///
    /// # Errors
    /// TypeError for missing or unexpected keywords, and for lengths that are not integers.
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

    /// Reads the arrays of a call, which must have the kind and dtype of the first one.
    ///
    /// # Errors
    /// TypeError for a missing array, or an array of another kind or dtype.
    fn tensors<'py>(
        &self,
        x: Option<&Bound<'py, PyAny>>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Tensor<'py>>> {
        if x.is_some() && !self.inputs.contains(&Operand::Previous) {
            let message = "the chain takes no unnamed array: write _ for one in the chain";
            return Err(PyTypeError::new_err(message));
        }
        let mut tensors: Vec<Tensor<'py>> = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let (name, array) = match input {
                Operand::Previous => ("x", x.cloned().ok_or_else(|| self.missing_x())?),
                Operand::Named(name) => {
                    let array = given.map(|given| given.get_item(name)).transpose()?.flatten();
                    (&**name, array.ok_or_else(|| missing_array(name))?)
                }
            };
            let tensor = Tensor::to_read(name, &array, Class::Plain)?;
            if let Some(first) = tensors.first() {
                first.check_like(name, &tensor)?;
            }
            tensors.push(tensor);
        }
        Ok(tensors)
    }

    fn missing_x(&self) -> PyErr {
        match self.open.slots() {
            [] => PyTypeError::new_err("the array is missing: call chain(x)"),
            [slot, ..] => PyTypeError::new_err(format!(
                "the array is missing: call chain(x, {}=...)",
                slot.name
            )),
        }
    }

    /// The values that a call must give.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.open.slots().iter().map(|slot| &slot.name).chain(named(&self.inputs)) {
            if !names.contains(&&**name) {
                names.push(name);
            }
        }
        names
    }

    /// Keywords must be names in the chain.
    ///
    /// # Errors
    /// TypeError for a keyword that is not a name in the chain.
    fn check_names(&self, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        for (name, _) in given.into_iter().flatten() {
            let (name, names) = (name.to_string(), self.names());
            if names.contains(&&*name) {
                continue;
            }
            let takes = match names.as_slice() {
                [] => "it has no open names".to_owned(),
                names => format!("it takes {}", names.join(", ")),
            };
            return Err(PyTypeError::new_err(format!(
                "the chain got an unexpected keyword argument '{name}'; {takes}"
            )));
        }
        Ok(())
    }
}

fn named(operands: &[Operand]) -> impl Iterator<Item = &String> {
    operands.iter().filter_map(|operand| match operand {
        Operand::Named(name) => Some(name),
        Operand::Previous => None,
    })
}

fn missing_array(name: &str) -> PyErr {
    PyTypeError::new_err(format!("the array '{name}' is missing: give {name}=... at the call"))
}

fn lengths_of(slot: &Slot, given: Option<&Bound<'_, PyDict>>) -> PyResult<IntegerArray> {
    let value = given.map(|given| given.get_item(&slot.name)).transpose()?.flatten();
    IntegerArray::read(&slot.name, &value.ok_or_else(|| missing(slot))?)
}

fn missing(slot: &Slot) -> PyErr {
    let Slot { name, stage, unfilled } = slot;
    PyTypeError::new_err(format!(
        "the {} '{name}' of stage {} are missing: call chain(x, {name}=...)",
        unfilled.argument(),
        stage + 1
    ))
}

/// Never called, because the chain has no slots.
fn filled_never(slot: &Slot) -> PyResult<trundle::Op> {
    Err(missing(slot))
}

impl Steps {
    /// Applies the chain to several arrays, or to an array and a constant.
    fn assembled<'py>(
        &self,
        py: Python<'py>,
        inputs: &[Tensor<'py>],
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if out.is_some() {
            let elements = self.elements(py, inputs)?;
            return assembled(
                py,
                inputs,
                |program, given| self.add_to(program, given, elements),
                out,
                threads,
            );
        }
        run_to_new(py, &*self.planned_of_several(py, inputs, threads)?, inputs)
    }

    /// A plan for a new result. Does not wait for locks.
    fn planned_of_several(
        &self,
        py: Python<'_>,
        inputs: &[Tensor<'_>],
        threads: Option<usize>,
    ) -> PyResult<Arc<Planned>> {
        let elements = self.elements(py, inputs)?;
        let others: Vec<LayoutKey<'_>> =
            inputs[1..].iter().map(|each| each.memory.layout_key()).collect();
        let src = inputs[0].memory.layout_key();
        let key = PlanKey { what: (elements, &*others), src, dst: None, threads };
        self.cached(&key, || {
            let memories = inputs.iter().map(|each| &each.memory);
            let assembly =
                Assembly::new(memories, |program, given| self.add_to(program, given, elements));
            let assembly = assembly.map_err(|error| not_planned(py, &error, true))?;
            assembly.planned(py, &inputs[0].memory, None, threads)
        })
    }

    /// Returns the plan with this key from the cache, which belongs to the chain, or makes it.
    fn cached(
        &self,
        key: &impl Hash,
        plan: impl FnOnce() -> PyResult<Planned>,
    ) -> PyResult<Arc<Planned>> {
        if let Ok(mut plans) = self.plans.try_lock()
            && let Some(kept) = plans.cache.get(key)
        {
            return Ok(kept);
        }
        let planned = Arc::new(plan()?);
        if let Ok(mut plans) = self.plans.try_lock() {
            plans.put(key, Arc::clone(&planned));
        }
        Ok(planned)
    }

    /// The type of the chain's constants, if there are any.
    fn elements(&self, py: Python<'_>, inputs: &[Tensor<'_>]) -> PyResult<Elements> {
        match self.chain.ops().iter().any(|op| matches!(op, Op::PadConstant(_))) {
            true => inputs[0].elements(py),
            false => Ok(Elements::UNKNOWN),
        }
    }

    /// Adds the operators of the chain to a program. Its constants have the type `elements`.
    fn add_to(
        &self,
        program: &mut Program,
        given: &[TensorId],
        elements: Elements,
    ) -> Result<TensorId, ChainError> {
        self.chain.add_to(program, given, |number| elements.of_number(number))
    }

    /// A plan for one array, cached if possible. Does not wait for locks.
    fn planned(
        &self,
        py: Python<'_>,
        src: &ArrayMemory,
        dst: Option<&ArrayMemory>,
        threads: Option<usize>,
    ) -> PyResult<Arc<Planned>> {
        let key = PlanKey {
            what: (),
            src: src.layout_key(),
            dst: dst.map(ArrayMemory::layout_key),
            threads,
        };
        self.cached(&key, || Planned::new(py, &self.chain, src, dst, threads, true))
    }
}
