//! The Python class `Model`: models whose operators only move elements.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use trundle::Shape;
use trundle_models::{
    Dimension, ElementType, Error, Input, Links, PartialShape, PlanCache, PlannedModel, TensorId,
};

use crate::array::Array;
use crate::array_like::array_of;
use crate::error::refused as refused_by_core;
use crate::error::system_error;
use crate::memory::ArrayMemory;
use crate::numbers;
use crate::run::run_of;
use crate::tensor::numpy_dtype;

/// A model whose operators only move elements, read from an ONNX file or OpenVINO IR. Call it with arrays.
///
/// Outputs are made in as few passes over memory as possible, usually in one pass each. The model keeps the plans for
/// recent shapes. docs/models.md lists the supported operators. A model is immutable and can be used by several threads
/// at once. It can be pickled; the pickle contains only its path. ``print`` it to see its operators.
///
/// Parameters
/// ----------
/// path : path_like
///     An ``.onnx`` file, with its external data in the same folder, or the ``.xml`` file of an IR, with its
///     ``.bin`` file.
/// follow_links : bool, optional
///     Whether files of external data may be links that lead out of the folder, as in a Hugging Face cache.
///
/// Parameters of a call
/// --------------------
/// *arrays, **named : array_like
///     The inputs, in the order of `inputs` or by name. They must have the dtypes of the model; nothing is
///     cast.
/// out : dict of array, optional
///     C-contiguous arrays for outputs, by name. Outputs without an entry are new arrays.
/// threads : int, optional
///     See `help(trundle)`.
///
/// Returns a dict of the outputs by name, as numpy arrays. Raises TypeError for inputs that are missing,
/// unknown or of another dtype. Raises ValueError for shapes that do not fit, for operators that compute, and
/// if `out` does not fit. Types that numpy does not have, such as bf16, have the dtypes of ``ml_dtypes``. Elements
/// smaller than a byte and strings are not supported; use ``trundle run`` for them.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> model = trundle.Model("patches.onnx")  # doctest: +SKIP
/// >>> model.inputs  # doctest: +SKIP
/// {'image': ('f32', ('batch', 224, 224, 3))}
/// >>> model(image=np.zeros((5, 224, 224, 3), dtype=np.float32))["patches"].shape  # doctest: +SKIP
/// (5, 196, 768)
#[pyclass(frozen, weakref, module = "trundle")]
pub(crate) struct Model {
    model: trundle_models::Model,
    path: PathBuf,
    follow_links: bool,
    plans: PlanCache,
}

struct ModelInput<'py> {
    shape: Shape,
    memory: ArrayMemory,
    bytes: PyReadonlyArray1<'py, u8>,
}

struct Made<'py> {
    array: Bound<'py, PyAny>,
    memory: ArrayMemory,
}

impl ModelInput<'_> {
    fn bytes(&self) -> PyResult<&[u8]> {
        Ok(self.bytes.as_slice()?)
    }

    /// What a plan depends on.
    fn described(&self) -> PyResult<trundle_models::InputView<'_>> {
        Ok(trundle_models::InputView { sizes: self.shape.sizes(), bytes: self.bytes()? })
    }
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (path, /, *, follow_links=false))]
    fn new(py: Python<'_>, path: PathBuf, follow_links: bool) -> PyResult<Model> {
        let links = if follow_links { Links::Anywhere } else { Links::Within };
        let opened = py.detach(|| trundle_models::Model::open_with(&path, links));
        let model = opened.map_err(|error| refused(&error))?;
        Ok(Model { model, path, follow_links, plans: PlanCache::default() })
    }

    /// The inputs by name, each with its element type and its sizes. A size that may vary is None or a name. If the
    /// rank may vary, None stands for the sizes.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inputs = PyDict::new(py);
        for Input { name, element, shape, .. } in &self.model.inputs {
            inputs.set_item(name, (element.to_string(), sizes_of(py, shape)?))?;
        }
        Ok(inputs)
    }

    /// The names of the outputs, in the order of the model.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.model.outputs.iter().map(|output| &output.name))
    }

    #[pyo3(signature = (*arrays, out=None, threads=None, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyDict>>,
        threads: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = self.read_inputs(arrays, named)?;
        let planned = self.planned(py, &inputs, numbers::threads(threads)?)?;
        let made = self.made(py, &planned, out)?;
        run(py, &planned, &inputs, &made)?;
        let outputs = PyDict::new(py);
        for (output, made) in self.model.outputs.iter().zip(made) {
            outputs.set_item(&output.name, made.array)?;
        }
        Ok(outputs)
    }

    /// Returns the plan for a call with these arrays, pass by pass, without moving anything.
    ///
    /// Parameters
    /// ----------
    /// *arrays, **named : array_like
    ///     As in a call. For most inputs, only the shapes matter.
    /// threads : int, optional
    ///     See `help(trundle)`.
    ///
    /// Returns
    /// -------
    /// ModelPlan
    ///
    /// Raises
    /// ------
    /// ValueError, TypeError
    ///     As a call of the model.
    #[pyo3(signature = (*arrays, threads=None, **named))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
        threads: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<ModelPlan> {
        let inputs = self.read_inputs(arrays, named)?;
        let planned = self.planned(py, &inputs, numbers::threads(threads)?)?;
        Ok(ModelPlan { planned })
    }

    fn __str__(&self) -> String {
        self.model.to_string()
    }

    fn __repr__(&self) -> String {
        format!("trundle.Model({:?})", self.path.display().to_string())
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let keywords = PyDict::new(py);
        keywords.set_item("follow_links", self.follow_links)?;
        Ok((PyTuple::new(py, [&self.path])?, keywords))
    }
}

impl Model {
    /// Reads the inputs of a call, in the order of the model.
    fn read_inputs<'py>(
        &self,
        arrays: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<ModelInput<'py>>> {
        let inputs = &self.model.inputs;
        if arrays.len() > inputs.len() {
            let (takes, got) = (inputs.len(), arrays.len());
            return Err(PyTypeError::new_err(format!(
                "wrong number of inputs: the model takes {takes}, got {got}"
            )));
        }
        for name in named.into_iter().flat_map(PyDictMethods::keys) {
            let name = name.to_string();
            match inputs.iter().position(|input| input.name == name) {
                Some(at) if at >= arrays.len() => {}
                Some(_) => {
                    return Err(PyTypeError::new_err(format!("input '{name}' is given twice")));
                }
                None => {
                    let names: Vec<String> =
                        inputs.iter().map(|input| format!("'{}'", input.name)).collect();
                    let names = names.join(", ");
                    let message = format!("the model has no input '{name}': it takes {names}");
                    return Err(PyTypeError::new_err(message));
                }
            }
        }
        let read = |(number, input): (usize, &Input)| {
            let given = match arrays.len() > number {
                true => Some(arrays.get_item(number)?),
                false => named.map(|named| named.get_item(&input.name)).transpose()?.flatten(),
            };
            let missing = || PyTypeError::new_err(format!("input '{}' is missing", input.name));
            read_input(input, &given.ok_or_else(missing)?)
        };
        inputs.iter().enumerate().map(read).collect()
    }

    /// Returns the plan for these inputs, from the cache or a new one.
    fn planned(
        &self,
        py: Python<'_>,
        inputs: &[ModelInput<'_>],
        threads: Option<usize>,
    ) -> PyResult<Arc<PlannedModel>> {
        let inputs = inputs.iter().map(ModelInput::described).collect::<PyResult<Vec<_>>>()?;
        if let Some(kept) = self.plans.find(&inputs, threads) {
            return Ok(kept);
        }
        py.detach(|| self.plans.plan(&self.model, &inputs, threads))
            .map_err(|error| refused(&error))
    }

    /// The arrays for the outputs: from `out`, or new ones.
    fn made<'py>(
        &self,
        py: Python<'py>,
        planned: &PlannedModel,
        out: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Made<'py>>> {
        let is_output =
            |name: &String| self.model.outputs.iter().any(|output| output.name == *name);
        let names = out.into_iter().flat_map(PyDictMethods::keys).map(|name| name.to_string());
        if let Some(name) = names.into_iter().find(|name| !is_output(name)) {
            return Err(PyValueError::new_err(format!("out: the model has no output '{name}'")));
        }
        let made = |(output, id): (&trundle_models::Output, &TensorId)| {
            let model = planned.model();
            let (name, sizes) = (&output.name, PyTuple::new(py, model.shape(*id).sizes())?);
            let dtype = dtype_of(py, &format!("output '{name}'"), model.element(*id))?;
            let given = out.map(|out| out.get_item(name)).transpose()?.flatten();
            let given = match given {
                Some(given) => given,
                None => py.import("numpy")?.call_method1("empty", (&sizes, &dtype))?,
            };
            let misfit = || {
                PyValueError::new_err(format!(
                    "out: output '{name}' must be a writeable C-contiguous array of shape {sizes} and dtype {dtype}"
                ))
            };
            let array = Array::of(&given).ok_or_else(misfit)?;
            let memory = array.memory("out")?;
            let own = memory.sizes.iter().map(|size| size.unsigned_abs());
            let fits = own.eq(model.shape(*id).iter().copied())
                && (memory.is_empty() || memory.is_contiguous())
                && array.dtype().eq(&dtype)?
                && array.check_writable("out").is_ok();
            if fits { Ok(Made { array: given, memory }) } else { Err(misfit()) }
        };
        self.model.outputs.iter().zip(planned.model().outputs()).map(made).collect()
    }
}

/// A contiguous array of the input's dtype.
fn read_input<'py>(input: &Input, given: &Bound<'py, PyAny>) -> PyResult<ModelInput<'py>> {
    let (name, argument) = (&input.name, format!("input '{}'", input.name));
    let dtype = dtype_of(given.py(), &argument, input.element)?;
    let array = match Array::of(given) {
        Some(array) => array,
        None if given.hasattr(intern!(given.py(), "dtype"))? => {
            as_array(&array_of(&argument, given)?, None)?
        }
        None => as_array(given, Some(&dtype))?,
    };
    let mut memory = array.memory(&argument)?;
    let got = array.dtype();
    if !got.is(&dtype) && !got.eq(&dtype)? {
        return Err(PyTypeError::new_err(format!(
            "{argument} is of dtype {dtype}, got {got}: trundle does not cast, pass {name}.astype('{dtype}')"
        )));
    }
    let mut array = array;
    if !memory.is_contiguous() {
        array = as_array(&array.into_object(), Some(&dtype))?;
        memory = array.memory(&argument)?;
    }
    let sizes = memory.sizes.iter().map(|size| size.unsigned_abs());
    let shape = Shape::new(sizes.collect::<Vec<_>>());
    let shape = shape.map_err(|error| refused_by_core(given.py(), &error.into()))?;
    let bytes = bytes_of(&array.into_object())?.try_readonly();
    let bytes = bytes.map_err(|error| PyValueError::new_err(format!("{argument}: {error}")))?;
    Ok(ModelInput { shape, memory, bytes })
}

/// `numpy.asarray` with C order, and with a dtype if there is one.
fn as_array<'py>(
    object: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Array<'py>> {
    Array::made_of(&object.py().import("numpy")?.call_method1("asarray", (object, dtype, "C"))?)
}

/// The array is C-contiguous.
fn bytes_of<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let flat = array.call_method1(intern!(array.py(), "reshape"), (-1,))?;
    let bytes = flat.call_method1(intern!(array.py(), "view"), ("uint8",))?;
    Ok(bytes.cast_into::<PyArray1<u8>>()?)
}

fn run(
    py: Python<'_>,
    planned: &PlannedModel,
    inputs: &[ModelInput<'_>],
    made: &[Made<'_>],
) -> PyResult<()> {
    for (number, Made { memory, .. }) in made.iter().enumerate() {
        let read = inputs.iter().map(|input| &input.memory);
        let mut others = read.chain(made[..number].iter().map(|other| &other.memory));
        if others.any(|other| memory.may_overlap(other)) {
            let message = "out: an array overlaps an input or another output";
            return Err(PyValueError::new_err(message));
        }
    }
    let sources = inputs.iter().map(ModelInput::bytes).collect::<PyResult<Vec<_>>>()?;
    let arrays = made.iter().map(|made| bytes_of(&made.array)).collect::<PyResult<Vec<_>>>()?;
    let mut borrowed = arrays.iter().map(to_write).collect::<PyResult<Vec<_>>>()?;
    let mut targets = borrowed
        .iter_mut()
        .map(|array: &mut PyReadwriteArray1<'_, u8>| array.as_slice_mut())
        .collect::<Result<Vec<_>, _>>()?;
    let written = targets.iter().map(|target| target.len()).sum();
    run_of(py, written, move |go_on| {
        planned.run_into_while(&sources, &mut targets, go_on).map_err(|error| match error {
            Error::Stopped => trundle::Error::Stopped,
            // The buffers are checked, so other errors cannot occur.
            error => trundle::Error::too_large(error.to_string()),
        })
    })
}

fn to_write<'py>(array: &Bound<'py, PyArray1<u8>>) -> PyResult<PyReadwriteArray1<'py, u8>> {
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out: {error}")))
}

/// The numpy dtype of an element type.
///
/// # Errors
/// TypeError for a type that numpy arrays cannot hold, ImportError if `ml_dtypes` is needed and missing.
fn dtype_of<'py>(py: Python<'py>, what: &str, element: ElementType) -> PyResult<Bound<'py, PyAny>> {
    let dtype = match element {
        ElementType::Fixed(dtype) => numpy_dtype(py, dtype)?,
        ElementType::String => None,
    };
    dtype.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{what} is of {element}, which arrays cannot hold: use `trundle run`"
        ))
    })
}

fn sizes_of<'py>(py: Python<'py>, shape: &PartialShape) -> PyResult<Bound<'py, PyAny>> {
    let PartialShape::Ranked(dimensions) = shape else {
        return Ok(py.None().into_bound(py));
    };
    let size = |dimension: &Dimension| -> PyResult<Bound<'py, PyAny>> {
        Ok(match dimension {
            Dimension::Fixed(size) => size.into_pyobject(py)?.into_any(),
            Dimension::Named(name) => name.into_pyobject(py)?.into_any(),
            Dimension::Between { .. } => py.None().into_bound(py),
        })
    };
    let sizes = dimensions.iter().map(size).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, sizes)?.into_any())
}

fn refused(error: &Error) -> PyErr {
    match error {
        Error::Io { path, source } => {
            let (number, kind) = (source.raw_os_error(), source.kind());
            system_error(number, kind, &error.to_string(), &path.to_string_lossy())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The plan of a model for inputs of given shapes. `Model.plan` creates it. ``print`` it to see the passes.
///
/// Examples
/// --------
/// >>> import numpy as np, trundle
/// >>> plan = trundle.Model("patches.onnx").plan(np.zeros((5, 224, 224, 3), np.float32))  # doctest: +SKIP
/// >>> plan.passes, plan.moved_bytes  # doctest: +SKIP
/// (1, 3010560)
#[pyclass(frozen, module = "trundle")]
pub(crate) struct ModelPlan {
    planned: Arc<PlannedModel>,
}

#[pymethods]
impl ModelPlan {
    /// The number of tensors that are written: the outputs, and intermediate tensors if necessary.
    #[getter]
    fn passes(&self) -> usize {
        self.planned.passes().len()
    }

    /// The number of bytes that all passes together write.
    #[getter]
    fn moved_bytes(&self) -> usize {
        self.planned.moved_bytes()
    }

    fn __str__(&self) -> String {
        self.planned.to_string()
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a ModelPlan is for this process and machine: pickle the model, or str(plan)",
        ))
    }
}
