//! Models whose operators only move elements.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Display;
use std::path::PathBuf;
use std::ptr::null;

use trundle::OpError;
use trundle_models::{
    Data, Dimension, ElementType, Given, Input, Links, Model, PartialShape, PlannedModel,
    ResolvedModel,
};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::dtype::{number_of_element, trundle_dtype};
use super::error::{Failure, Result, guarded, no_room};
use super::memory::{check_pointer, check_room, list, object};
use super::pair::check_types;
use super::plan::{PlanMoves, free, made, trundle_plan};
use super::results::{check_optional, write_sizes, write_words};
use super::status::{
    TRUNDLE_ERROR_DTYPE, TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_SHAPE, trundle_status,
};

/// A model whose operators only move elements. Several threads may use it at once.
pub struct trundle_model {
    model: Model,
    /// The names of the inputs as C strings.
    inputs: Vec<CString>,
    outputs: Vec<CString>,
}

/// To which files symbolic links in a model's folder may lead: one of TRUNDLE_LINKS_*.
pub type trundle_links = i32;

/// Links may lead only into the folder of the model, for models from untrusted sources.
pub const TRUNDLE_LINKS_WITHIN: trundle_links = 0;
/// Links may lead anywhere, as in the cache of Hugging Face, whose files are links to other folders.
pub const TRUNDLE_LINKS_ANYWHERE: trundle_links = 1;

/// The rank of an input that accepts any rank.
pub const TRUNDLE_RANK_ANY: u32 = 0xffff_ffff;

/// Opens a model, whose weight files must be in the same folder. docs/models.md lists the supported operators. The
/// files are not used after the call.
///
/// - `path`: a C string that ends with .onnx for ONNX, or .xml for OpenVINO IR.
/// - `links`: one of TRUNDLE_LINKS_*.
/// - `model`: receives the model, which the caller frees with trundle_model_free().
///
/// Returns TRUNDLE_ERROR_FILE, TRUNDLE_ERROR_MODEL, TRUNDLE_ERROR_NUMBER for unknown `links`, or
/// TRUNDLE_ERROR_UNSUPPORTED if the model computes. The message then lists the operators that compute, and how
/// often each occurs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_open(
    path: *const c_char,
    links: trundle_links,
    model: *mut *mut trundle_model,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are dereferenced.
    guarded(|| unsafe {
        check_pointer("path", path)?;
        check_pointer("model", model)?;
        let opened = Model::open_with(&path_of(CStr::from_ptr(path))?, links_of(links)?)?;
        model.write(Box::into_raw(Box::new(trundle_model::new(opened))));
        Ok(())
    })
}

/// Writes a description of a model for people: inputs with types and sizes, operators and outputs. It has several
/// lines, and may change with any version.
///
/// - `model`: the model.
/// - `buffer`, `capacity`, `needed`: as in trundle_plan_describe().
///
/// Returns TRUNDLE_ERROR_BUFFER_SIZE, and writes nothing, if the buffer is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_describe(
    model: *const trundle_model,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `model` comes from trundle_model_open().
    guarded(|| unsafe { write_words(&object("model", model)?.model, buffer, capacity, needed) })
}

/// Returns the number of inputs of a model; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input_count(model: *const trundle_model) -> usize {
    // SAFETY: `model` is null or comes from trundle_model_open().
    unsafe { model.as_ref() }.map_or(0, |model| model.inputs.len())
}

/// Returns the number of outputs of a model; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_output_count(model: *const trundle_model) -> usize {
    // SAFETY: `model` is null or comes from trundle_model_open().
    unsafe { model.as_ref() }.map_or(0, |model| model.outputs.len())
}

/// Returns the name of the input with index `input`, from 0, in UTF-8; NULL if there is no such input. The string is
/// valid until the model is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input_name(
    model: *const trundle_model,
    input: usize,
) -> *const c_char {
    // SAFETY: `model` is null or comes from trundle_model_open().
    let name = unsafe { model.as_ref() }.and_then(|model| model.inputs.get(input));
    name.map_or(null(), |name| name.as_ptr())
}

/// Returns the name of the output with index `output`, from 0, in UTF-8; NULL if there is no such output. The string is
/// valid until the model is freed. trundle_plan_output() gets the type and the sizes of an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_output_name(
    model: *const trundle_model,
    output: usize,
) -> *const c_char {
    // SAFETY: `model` is null or comes from trundle_model_open().
    let name = unsafe { model.as_ref() }.and_then(|model| model.outputs.get(output));
    name.map_or(null(), |name| name.as_ptr())
}

/// Gets the element type and the sizes that an input of a model must have.
///
/// - `model`: the model.
/// - `input`: the index of the input, from 0.
/// - `dtype`: receives the element type; may be NULL.
/// - `sizes`, `capacity`, `rank`: as in trundle_chain_out_sizes(). A size that may vary is -1; trundle_model_describe()
///   shows its limits. If the input may have any rank, TRUNDLE_RANK_ANY is written to `rank`, and nothing to `sizes`.
///
/// Returns TRUNDLE_ERROR_NUMBER if there is no such input, TRUNDLE_ERROR_DTYPE if the input holds strings, or
/// TRUNDLE_ERROR_BUFFER_SIZE if `sizes` is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input(
    model: *const trundle_model,
    input: usize,
    dtype: *mut trundle_dtype,
    sizes: *mut i64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to;
    // `model` comes from trundle_model_open().
    guarded(|| unsafe {
        let model = object("model", model)?;
        check_pointer("rank", rank)?;
        check_optional("dtype", dtype)?;
        let own = model.input(input)?;
        let number = number_of(own)?;
        match &own.shape {
            PartialShape::Unknown => rank.write(TRUNDLE_RANK_ANY),
            PartialShape::Ranked(known) => {
                write_sizes(known.iter().map(size_of_dimension), sizes, capacity, rank)?;
            }
        }
        if !dtype.is_null() {
            dtype.write(number);
        }
        Ok(())
    })
}

/// Finds the inputs whose elements control how a model moves other tensors, such as an order of axes, a size or an
/// index.
///
/// - `model`: the model.
/// - `input_descs`, `data`, `count`: as in trundle_model_plan(). `data` must have the data of every input that might
///   control moves.
/// - `decides`: receives `count` entries: 1 for an input that controls moves, 0 for any other.
///
/// Returns the errors of trundle_model_plan().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_deciding_inputs(
    model: *const trundle_model,
    input_descs: *const trundle_tensor_desc,
    data: *const *const c_void,
    count: usize,
    decides: *mut u8,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to;
    // `model` comes from trundle_model_open().
    guarded(|| unsafe {
        let model = object("model", model)?;
        let (model, inputs) = (&model.model, model.described(input_descs, count)?);
        check_room("decides", decides, count, count)?;
        let data = elements(&inputs, data)?;
        let deciding = model.deciding_inputs(&given(&inputs, &data))?;
        for number in 0..inputs.len() {
            decides.add(number).write(u8::from(deciding.contains(&number)));
        }
        Ok(())
    })
}

/// Plans a model for inputs of fixed sizes. trundle_plan_output() gets the types and sizes of the outputs.
/// trundle_plan_run_all() runs the plan; it takes the inputs in the same order.
///
/// - `model`: the model, which may be freed before the plan.
/// - `input_descs`, `count`: the descriptions of all inputs of the model, in its order, one after another. Inputs must
///   be row-major, without gaps.
/// - `data`: one pointer for each input: its data, if its elements control moves (see trundle_model_deciding_inputs()),
///   and else NULL. The elements are read only during this call, but runs of the plan need valid pointers for these
///   inputs too. `data` may be NULL if no input controls moves.
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns TRUNDLE_ERROR_SHAPE or TRUNDLE_ERROR_DTYPE if an input does not fit the model, or TRUNDLE_ERROR_MODEL if the
/// operators do not fit the inputs, or if the data of an input is missing; the message then has its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_plan(
    model: *const trundle_model,
    input_descs: *const trundle_tensor_desc,
    data: *const *const c_void,
    count: usize,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `model` comes from trundle_model_open().
    unsafe {
        made(plan, || {
            let model = object("model", model)?;
            let (model, inputs) = (&model.model, model.described(input_descs, count)?);
            // For most models, the shapes of the inputs are enough; otherwise, copy the data of the inputs.
            let shapes_alone = model.resolve(&given(&inputs, &vec![None; count]));
            let resolved = match shapes_alone {
                Ok(resolved) => resolved,
                Err(_) => model.resolve(&given(&inputs, &elements(&inputs, data)?))?,
            };
            planned(inputs, resolved)
        })
    }
}

/// Frees a model that no call is using. NULL is ignored. Plans of the model stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_free(model: *mut trundle_model) {
    // SAFETY: `model` comes from trundle_model_open(), and no call uses it any more.
    unsafe { free(model) };
}

impl trundle_model {
    fn new(model: Model) -> trundle_model {
        let inputs = model.inputs.iter().map(|input| c_string(&input.name)).collect();
        let outputs = model.outputs.iter().map(|output| c_string(&output.name)).collect();
        trundle_model { model, inputs, outputs }
    }

    fn input(&self, number: usize) -> Result<&Input> {
        self.model.inputs.get(number).ok_or_else(|| {
            let count = self.inputs.len();
            let message = format!("input {number} is out of range: the model has {count}");
            Failure::new(TRUNDLE_ERROR_NUMBER, message)
        })
    }

    /// Reads the descriptions of all inputs, and checks that the model accepts them.
    ///
    /// # Safety
    /// If `descs` is not null, it points to `count` descriptions.
    unsafe fn described(
        &self,
        descs: *const trundle_tensor_desc,
        count: usize,
    ) -> Result<Vec<Descriptor>> {
        let inputs = &self.model.inputs;
        if count != inputs.len() {
            let message =
                format!("wrong number of inputs: the model takes {}, got {count}", inputs.len());
            return Err(Failure::new(TRUNDLE_ERROR_SHAPE, message));
        }
        // SAFETY: the caller guarantees `count` descriptions.
        let descs = unsafe { list("input_descs", descs, count)? };
        let described = |(number, (input, desc)): (usize, (&Input, &trundle_tensor_desc))| {
            // SAFETY: `desc` is one of these descriptions.
            unsafe { described(input, desc) }.map_err(|failure| failure.of_input(number))
        };
        inputs.iter().zip(descs).enumerate().map(described).collect()
    }
}

/// Reads the description of an input, and checks that the model accepts it.
///
/// # Safety
/// As [`Descriptor::read`].
unsafe fn described(input: &Input, desc: *const trundle_tensor_desc) -> Result<Descriptor> {
    // SAFETY: the caller guarantees a valid description.
    let own = unsafe { Descriptor::read("data", desc)? };
    let ElementType::Fixed(dtype) = input.element else {
        return Err(holds_strings(&format_args!("{:?}", input.name)));
    };
    if own.dtype() != dtype {
        let (name, got) = (&input.name, own.dtype());
        let message = format!("{name:?} must have element type {dtype}, got {got}");
        return Err(Failure::new(TRUNDLE_ERROR_DTYPE, message));
    }
    let shape = own.layout().shape();
    let packed = Descriptor::new("data", (dtype, dtype.into()), shape, None)?;
    check_types("data", &packed, &own)?;
    if own.is_dense() {
        return Ok(packed);
    }
    let message = format!("{:?} must be packed, row-major: its strides leave gaps", input.name);
    Err(Failure::new(TRUNDLE_ERROR_SHAPE, message))
}

/// Plans a model, and allocates the memory for tensors between its passes. Outputs are row-major, without gaps.
fn planned(inputs: Vec<Descriptor>, resolved: ResolvedModel) -> Result<trundle_plan> {
    let output = |(number, id): (usize, &_)| match resolved.element(*id) {
        ElementType::Fixed(dtype) => {
            Descriptor::new("out", (dtype, dtype.into()), resolved.shape(*id), None)
        }
        ElementType::String => Err(holds_strings(&format_args!("output {number}"))),
    };
    let outputs = resolved.outputs().iter().enumerate().map(output).collect::<Result<_>>()?;
    let model = PlannedModel::new(resolved, None).and_then(PlannedModel::allocated);
    let moves = PlanMoves::Model(Box::new(model.map_err(|error| no_room(&error))?));
    Ok(trundle_plan { inputs, outputs, moves })
}

fn holds_strings(what: &dyn Display) -> Failure {
    let message = format!("{what} holds strings, which have no element type in C");
    Failure::new(TRUNDLE_ERROR_DTYPE, message)
}

/// Copies the elements of each input whose pointer in `data` is not null.
///
/// # Safety
/// `data` is null or points to one pointer for each input. Each pointer is null or points to a tensor with the
/// description of the input.
unsafe fn elements(inputs: &[Descriptor], data: *const *const c_void) -> Result<Vec<Option<Data>>> {
    let none = vec![null(); inputs.len()];
    let pointers = match data.is_null() {
        true => &none[..],
        // SAFETY: the caller guarantees one pointer for each input.
        false => unsafe { list("data", data, inputs.len())? },
    };
    let copied = |(number, (own, data)): (usize, (&Descriptor, &*const c_void))| {
        let has_none = own.layout().shape().elements() == 0;
        if data.is_null() && !has_none {
            return Ok(None);
        }
        let memory = own.memory(data.cast()).map_err(|failure| failure.of_input(number))?;
        // SAFETY: the caller guarantees a tensor of this description.
        Ok(Some(Data::Bytes(unsafe { memory.read() }.to_vec().into())))
    };
    inputs.iter().zip(pointers).enumerate().map(copied).collect()
}

fn given<'a>(inputs: &[Descriptor], data: &'a [Option<Data>]) -> Vec<Given<'a>> {
    let given = |(own, data): (&Descriptor, &'a Option<Data>)| Given {
        shape: own.layout().shape().clone(),
        data: data.as_ref(),
    };
    inputs.iter().zip(data).map(given).collect()
}

fn number_of(input: &Input) -> Result<trundle_dtype> {
    let number = match input.element {
        ElementType::Fixed(dtype) => number_of_element(dtype, dtype.into()),
        ElementType::String => None,
    };
    number.ok_or_else(|| holds_strings(&format_args!("input {:?}", input.name)))
}

/// -1 for a size that may vary.
fn size_of_dimension(dimension: &Dimension) -> i64 {
    let size = match dimension {
        Dimension::Fixed(size) => *size,
        Dimension::Between { least, most: Some(most) } if least == most => *least,
        Dimension::Between { .. } | Dimension::Named(_) => return -1,
    };
    // Every size of a tensor fits an i64.
    size.try_into().unwrap_or(i64::MAX)
}

fn links_of(links: trundle_links) -> Result<Links> {
    match links {
        TRUNDLE_LINKS_WITHIN => Ok(Links::Within),
        TRUNDLE_LINKS_ANYWHERE => Ok(Links::Anywhere),
        _ => {
            let (argument, expected) = ("links", "one of TRUNDLE_LINKS_*");
            Err(OpError::NumberOutOfRange { argument, number: links.into(), expected }.into())
        }
    }
}

/// On Unix, a path may consist of any bytes.
#[cfg(unix)]
fn path_of(text: &CStr) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(text.to_bytes()).into())
}

#[cfg(not(unix))]
fn path_of(text: &CStr) -> Result<PathBuf> {
    let refused = |_| Failure::new(super::status::TRUNDLE_ERROR_FILE, "path is not UTF-8");
    text.to_str().map(PathBuf::from).map_err(refused)
}

/// NUL bytes are escaped.
fn c_string(name: &str) -> CString {
    CString::new(name.replace('\0', "\\0")).unwrap_or_default()
}
