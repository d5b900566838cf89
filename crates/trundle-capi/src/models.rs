//! Models of operators that only move elements: opened, asked what they take, and planned.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;
use std::ptr::null;

use trundle::Error;
use trundle_models::{Data, Dimension, ElementType, Given, Input, Links, Model, PartialShape};

use super::descriptor::{Descriptor, trundle_tensor_desc};
use super::dtype::{number_of_element, trundle_dtype};
use super::error::{Failure, Result, guarded};
use super::memory::{check_pointer, check_room, list};
use super::modelled::{Modelled, texts};
use super::pair::check_types;
use super::plan::{made, trundle_plan};
use super::status::{
    TRUNDLE_ERROR_DTYPE, TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_SHAPE, trundle_status,
};
use super::told::{tell_sizes, tell_words};

/// A model made of operators that only move elements. It never changes: several threads may ask it, and
/// plan for it, at once.
pub struct trundle_model {
    model: Model,
    /// The names that C is given.
    inputs: Vec<CString>,
    outputs: Vec<CString>,
}

/// Where links at the files beside a model may lead: one of TRUNDLE_LINKS_*.
pub type trundle_links = i32;

/// To places within the model's folder: a model is not trusted, nor is the archive that it came in.
pub const TRUNDLE_LINKS_WITHIN: trundle_links = 0;
/// Anywhere, as in the cache of Hugging Face, whose files are links to a store of files.
pub const TRUNDLE_LINKS_ANYWHERE: trundle_links = 1;

/// The rank of an input that may have any rank.
pub const TRUNDLE_RANK_ANY: u32 = 0xffff_ffff;

/// Opens a model: ONNX at a `path` that ends with .onnx, OpenVINO IR at one with .xml, with the files of its
/// weights in the same folder. The model is written to `model`, and is the caller's to free; its files are not
/// needed any more when this returns. `links` is one of TRUNDLE_LINKS_*.
///
/// What models may hold, docs/models.md says. One that computes is refused with TRUNDLE_ERROR_UNSUPPORTED, and
/// the message names and counts all operators that do.
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

/// Says in words what a model is: its inputs with their types and sizes, its operators, its outputs. The words are
/// told as those of trundle_plan_describe().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_describe(
    model: *const trundle_model,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> trundle_status {
    // SAFETY: the caller has this model from trundle_model_open(); pointers lead to what the header says.
    guarded(|| unsafe {
        check_pointer("model", model)?;
        tell_words(&(*model).model, buffer, capacity, needed)
    })
}

/// How many inputs a model takes; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input_count(model: *const trundle_model) -> usize {
    // SAFETY: the caller has this model from trundle_model_open().
    unsafe { model.as_ref() }.map_or(0, |model| model.inputs.len())
}

/// How many outputs a model gives; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_output_count(model: *const trundle_model) -> usize {
    // SAFETY: as above.
    unsafe { model.as_ref() }.map_or(0, |model| model.outputs.len())
}

/// The name of input number `input` of a model, from 0 on, in UTF-8; NULL if there is none. It is valid until the
/// model is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input_name(
    model: *const trundle_model,
    input: usize,
) -> *const c_char {
    // SAFETY: as above.
    let name = unsafe { model.as_ref() }.and_then(|model| model.inputs.get(input));
    name.map_or(null(), |name| name.as_ptr())
}

/// The name of output number `output` of a model, as trundle_model_input_name() has it. What it is, a plan knows:
/// see trundle_plan_output().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_output_name(
    model: *const trundle_model,
    output: usize,
) -> *const c_char {
    // SAFETY: as above.
    let name = unsafe { model.as_ref() }.and_then(|model| model.outputs.get(output));
    name.map_or(null(), |name| name.as_ptr())
}

/// Says what input number `input` of a model must be, from 0 on: its element type is written to `dtype`, which may
/// be NULL, and its sizes to `sizes`, as trundle_chain_out_sizes() has it. A size that may be any, or one of
/// several, is -1: trundle_model_describe() says more of it. Where the rank may be any, TRUNDLE_RANK_ANY is
/// written to `rank`, and no size. An input of texts is refused with TRUNDLE_ERROR_DTYPE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_input(
    model: *const trundle_model,
    input: usize,
    dtype: *mut trundle_dtype,
    sizes: *mut i64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: the caller has this model from trundle_model_open(); pointers lead to what the header says, and are
    // checked before they are written to.
    guarded(|| unsafe {
        check_pointer("model", model)?;
        check_pointer("rank", rank)?;
        if !dtype.is_null() {
            check_pointer("dtype", dtype)?;
        }
        let own = (*model).input(input)?;
        let number = number_of(own)?;
        match &own.shape {
            PartialShape::Unknown => rank.write(TRUNDLE_RANK_ANY),
            PartialShape::Ranked(known) => {
                tell_sizes(known.iter().map(size_of_dimension), sizes, capacity, rank)?;
            }
        }
        if !dtype.is_null() {
            dtype.write(number);
        }
        Ok(())
    })
}

/// Says of which inputs the elements decide what a model moves where, as an order of axes, a size or an index does:
/// for each of the `count` inputs 1 is written to `decides`, or 0. The inputs are given as to
/// trundle_model_plan(), with the data of all that may decide.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_deciding_inputs(
    model: *const trundle_model,
    input_descs: *const trundle_tensor_desc,
    data: *const *const c_void,
    count: usize,
    decides: *mut u8,
) -> trundle_status {
    // SAFETY: the caller has this model from trundle_model_open(); pointers lead to what the header says, and are
    // checked before they are written to.
    guarded(|| unsafe {
        check_pointer("model", model)?;
        let (model, inputs) = (&(*model).model, (*model).described(input_descs, count)?);
        check_room("decides", decides, count, count)?;
        let data = elements(&inputs, data)?;
        let deciding = model.deciding_inputs(&given(&inputs, &data))?;
        for number in 0..inputs.len() {
            decides.add(number).write(u8::from(deciding.contains(&number)));
        }
        Ok(())
    })
}

/// Plans a model for `count` inputs, as many as it takes and in its order, which are described one after another
/// and lie packed, row-major. The plan is written to `plan`, and is the caller's to free; trundle_plan_output()
/// says what its outputs are, and trundle_plan_run_all() runs it on the same inputs, in the same order. The model
/// may be freed before it.
///
/// `data` has the data of those inputs whose elements decide what is moved where, and NULL for all others; it may be
/// NULL where none does. They are read now and not again, but must be there when the plan is run. One that is
/// missing is named in the message: see trundle_model_deciding_inputs().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_plan(
    model: *const trundle_model,
    input_descs: *const trundle_tensor_desc,
    data: *const *const c_void,
    count: usize,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: the caller has this model from trundle_model_open(); pointers lead to what the header says.
    unsafe {
        made(plan, || {
            check_pointer("model", model)?;
            let (model, inputs) = (&(*model).model, (*model).described(input_descs, count)?);
            // Most models say with shapes alone what they move. Of others, what is read is copied.
            let shapes_alone = model.resolve(&given(&inputs, &vec![None; count]));
            let resolved = match shapes_alone {
                Ok(resolved) => resolved,
                Err(_) => model.resolve(&given(&inputs, &elements(&inputs, data)?))?,
            };
            Ok(Modelled::new(inputs, resolved)?.into())
        })
    }
}

/// Frees a model, which no call may be using. NULL is no model, and nothing is done. Its plans stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_model_free(model: *mut trundle_model) {
    guarded(|| {
        if !model.is_null() {
            // SAFETY: the caller has this model from trundle_model_open(), and nobody uses it.
            drop(unsafe { Box::from_raw(model) });
        }
        Ok(())
    });
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

    /// What a caller says that the inputs are, held against their types in the model.
    ///
    /// # Safety
    /// A pointer that is not null leads to `count` descriptions.
    unsafe fn described(
        &self,
        descs: *const trundle_tensor_desc,
        count: usize,
    ) -> Result<Vec<Descriptor>> {
        let inputs = &self.model.inputs;
        if count != inputs.len() {
            let message = format!("the model takes {} inputs, got {count}", inputs.len());
            return Err(Failure::new(TRUNDLE_ERROR_SHAPE, message));
        }
        // SAFETY: the caller guarantees it, see `# Safety`.
        let descs = unsafe { list("input_descs", descs, count)? };
        let described = |(number, (input, desc)): (usize, (&Input, &trundle_tensor_desc))| {
            // SAFETY: as above.
            unsafe { described(input, desc) }.map_err(|failure| failure.of_input(number))
        };
        inputs.iter().zip(descs).enumerate().map(described).collect()
    }
}

/// What a caller says that an input is.
///
/// # Safety
/// As [`Descriptor::read`].
unsafe fn described(input: &Input, desc: *const trundle_tensor_desc) -> Result<Descriptor> {
    // SAFETY: the caller guarantees it, see `# Safety`.
    let own = unsafe { Descriptor::read("data", desc)? };
    let ElementType::Fixed(dtype) = input.element else {
        return Err(texts(&format_args!("{:?}", input.name)));
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

/// The elements of those inputs whose data is there, copied.
///
/// # Safety
/// A pointer that is not null leads to as many pointers, and each of these that is not null to what is described.
unsafe fn elements(inputs: &[Descriptor], data: *const *const c_void) -> Result<Vec<Option<Data>>> {
    let none = vec![null(); inputs.len()];
    let pointers = match data.is_null() {
        true => &none[..],
        // SAFETY: the caller guarantees it, see `# Safety`.
        false => unsafe { list("data", data, inputs.len())? },
    };
    let copied = |(number, (own, data)): (usize, (&Descriptor, &*const c_void))| {
        let has_none = own.layout().shape().elements() == 0;
        if data.is_null() && !has_none {
            return Ok(None);
        }
        let memory = own.memory(data.cast()).map_err(|failure| failure.of_input(number))?;
        // SAFETY: the caller guarantees it, see `# Safety`.
        Ok(Some(Data::Bytes(unsafe { memory.read() }.to_vec().into())))
    };
    inputs.iter().zip(pointers).enumerate().map(copied).collect()
}

/// What a model is told of its inputs.
fn given<'a>(inputs: &[Descriptor], data: &'a [Option<Data>]) -> Vec<Given<'a>> {
    let given = |(own, data): (&Descriptor, &'a Option<Data>)| Given {
        shape: own.layout().shape().clone(),
        data: data.as_ref(),
    };
    inputs.iter().zip(data).map(given).collect()
}

/// The number of the element type of an input.
fn number_of(input: &Input) -> Result<trundle_dtype> {
    let number = match input.element {
        ElementType::Fixed(dtype) => number_of_element(dtype, dtype.into()),
        ElementType::String => None,
    };
    number.ok_or_else(|| texts(&format_args!("input {:?}", input.name)))
}

/// A size as a number, if it is one.
fn size_of_dimension(dimension: &Dimension) -> i64 {
    let size = match dimension {
        Dimension::Fixed(size) => *size,
        Dimension::Between { least, most: Some(most) } if least == most => *least,
        Dimension::Between { .. } | Dimension::Named(_) => return -1,
    };
    // No tensor has so many that C's number does not hold them.
    size.try_into().unwrap_or(i64::MAX)
}

fn links_of(links: trundle_links) -> Result<Links> {
    match links {
        TRUNDLE_LINKS_WITHIN => Ok(Links::Within),
        TRUNDLE_LINKS_ANYWHERE => Ok(Links::Anywhere),
        _ => {
            let (argument, expected) = ("links", "one of TRUNDLE_LINKS_*");
            Err(Error::NumberOutOfRange { argument, number: links.into(), expected }.into())
        }
    }
}

/// The path that a caller's text says: on Unix any bytes are one.
#[cfg(unix)]
fn path_of(text: &CStr) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(text.to_bytes()).into())
}

#[cfg(not(unix))]
fn path_of(text: &CStr) -> Result<PathBuf> {
    let refused = |_| Failure::new(super::status::TRUNDLE_ERROR_FILE, "path is no UTF-8");
    text.to_str().map(PathBuf::from).map_err(refused)
}

/// A name as C has it: what would end it there is shown.
fn c_string(name: &str) -> CString {
    CString::new(name.replace('\0', "\\0")).unwrap_or_default()
}
