//! Chains: sequences of operators, written as strings.

use std::ffi::{CStr, c_char};

use trundle::notation::NotationError;
use trundle::ops::Operand;
use trundle::{Chain, ChainError, PlanError, Program, Shape};

use super::descriptor::{Descriptor, sizes_of, trundle_tensor_desc};
use super::error::{Failure, Result, guarded};
use super::joins::read_parts;
use super::memory::{check_pointer, list};
use super::pair::{Pair, check_types};
use super::plan::{described, made, trundle_plan};
use super::results::write_sizes;
use super::status::{TRUNDLE_ERROR_CHAIN, status_of, trundle_status};

/// Plans a chain such as "flip(axes=[2]) | h w c -> c h w". docs/chains.md describes the chain language. Lengths and
/// indices must be lists, not files. The plan moves the elements in a single pass if possible.
///
/// - `chain`: a C string in UTF-8, which may be freed after the call.
/// - `data_desc`: the input. A chain with more inputs, such as "concat(_, b)", needs trundle_chain_plan_inputs().
/// - `out_desc`: the output, with the type of the input and the sizes from trundle_chain_out_sizes().
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns TRUNDLE_ERROR_CHAIN if the string is not a chain, or the error of the stage that does not fit, such as
/// TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_AXIS or TRUNDLE_ERROR_NUMBER. The message has several lines: the error, the chain
/// with carets below the fault, and often a suggestion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_plan(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let chain = read(chain)?;
            let pair = Pair::read(data_desc, out_desc)?;
            if !chain.is_map() {
                check_types("out", &pair.data, &pair.out)?;
                return Inputs::one(pair.data).planned(&chain, pair.out);
            }
            trundle_plan::of_chain(pair, &chain).map_err(planning_failed)
        })
    }
}

/// Plans a chain with several inputs, such as "concat(_, b, axis=0) | flip(0)". Run the plan with
/// trundle_plan_run_inputs(), with the inputs in the order of `names`.
///
/// - `chain`: as in trundle_chain_plan().
/// - `names`: `count` C strings, the names of the inputs; "_" is the input without a name. The chain must use all of
///   them, and no other inputs.
/// - `input_descs`: `count` descriptions, one after another, of inputs of the same type.
/// - `out_desc`: the output, with the type of the inputs and the sizes from trundle_chain_out_sizes_inputs().
/// - `plan`: receives the plan, which the caller frees.
///
/// Returns TRUNDLE_ERROR_CHAIN if the names do not match the chain, and the errors of trundle_chain_plan().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_plan_inputs(
    chain: *const c_char,
    names: *const *const c_char,
    input_descs: *const trundle_tensor_desc,
    count: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires.
    unsafe {
        made(plan, || {
            let chain = read(chain)?;
            let inputs = Inputs::read(names, input_descs, count)?;
            let out = Descriptor::read("out", out_desc)?;
            if let Some(first) = inputs.given.first() {
                check_types("out", first, &out)?;
            }
            inputs.planned(&chain, out)
        })
    }
}

/// Computes the output sizes of a chain with several inputs.
///
/// - `chain`, `names`, `input_descs`, `count`: as in trundle_chain_plan_inputs().
/// - `sizes`, `capacity`, `rank`: as in trundle_chain_out_sizes().
///
/// Returns TRUNDLE_ERROR_BUFFER_SIZE, and writes nothing, if the buffer is too small, and the errors of
/// trundle_chain_plan_inputs().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_out_sizes_inputs(
    chain: *const c_char,
    names: *const *const c_char,
    input_descs: *const trundle_tensor_desc,
    count: usize,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to.
    guarded(|| unsafe {
        check_pointer("rank", rank)?;
        let chain = read(chain)?;
        let shape = Inputs::read(names, input_descs, count)?.out_shape(&chain)?;
        write_sizes(sizes_of(&shape), sizes, capacity, rank)
    })
}

/// Computes the output sizes of a chain.
///
/// - `chain`, `data_desc`: as in trundle_chain_plan().
/// - `sizes`, `capacity`: a buffer for `capacity` sizes, the outermost first. With a capacity of 0, only the rank is
///   written, and `sizes` may be NULL.
/// - `rank`: receives the number of sizes.
///
/// Returns TRUNDLE_ERROR_BUFFER_SIZE, and writes nothing, if the buffer is too small, and the errors of
/// trundle_chain_plan().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_out_sizes(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to.
    guarded(|| unsafe {
        check_pointer("rank", rank)?;
        let chain = read(chain)?;
        let shape = Inputs::one(Descriptor::read("data", data_desc)?).out_shape(&chain)?;
        write_sizes(sizes_of(&shape), sizes, capacity, rank)
    })
}

struct Inputs<'a> {
    names: Vec<&'a str>,
    given: Vec<Descriptor>,
}

impl<'a> Inputs<'a> {
    /// The input of a chain without other inputs.
    fn one(data: Descriptor) -> Inputs<'a> {
        Inputs { names: vec!["_"], given: vec![data] }
    }

    /// Reads the caller's inputs, which must have the same type.
    ///
    /// # Safety
    /// If `names` and `descs` are not null, they point to `count` C strings and `count` descriptions.
    unsafe fn read(
        names: *const *const c_char,
        descs: *const trundle_tensor_desc,
        count: usize,
    ) -> Result<Inputs<'a>> {
        // SAFETY: the caller guarantees `count` strings and descriptions.
        unsafe {
            let names = list("names", names, count)?;
            let names = names.iter().map(|name| text("names", *name)).collect::<Result<_>>()?;
            let descs = list("input_descs", descs, count)?;
            Ok(Inputs { names, given: read_parts(descs.iter().map(|desc| &raw const *desc))? })
        }
    }

    /// The position in `self` of each input of the chain.
    ///
    /// # Errors
    /// If an input is missing or unused, or two have the same name.
    fn order(&self, chain: &Chain) -> Result<Vec<usize>> {
        let refused = |message| Failure::new(TRUNDLE_ERROR_CHAIN, message);
        let taken = chain.inputs();
        let position = |operand: &&Operand| match operand {
            Operand::Previous => self.names.iter().position(|name| *name == "_"),
            Operand::Named(own) => self.names.iter().position(|name| name == own),
        };
        let order: Vec<usize> = taken
            .iter()
            .map(|operand| {
                let missing = format!("the chain takes {operand}, which is not one of the inputs");
                position(operand).ok_or_else(|| refused(missing))
            })
            .collect::<Result<_>>()?;
        match (0..self.names.len()).find(|at| !order.contains(at)) {
            None => Ok(order),
            Some(at) => {
                let name = self.names[at];
                let message = match self.names[..at].contains(&name) {
                    true => format!("two of the inputs are called \"{}\"", name.escape_debug()),
                    false => format!("the chain takes no \"{}\"", name.escape_debug()),
                };
                Err(refused(message))
            }
        }
    }

    fn out_shape(&self, chain: &Chain) -> Result<Shape> {
        let shape_of = |at: usize| self.given[at].layout().shape().clone();
        let shapes: Vec<Shape> = self.order(chain)?.into_iter().map(shape_of).collect();
        Ok(chain.out_shape(&shapes)?)
    }

    fn planned(self, chain: &Chain, out: Descriptor) -> Result<trundle_plan> {
        let order = self.order(chain)?;
        let mut program = Program::new();
        let given = self.given.iter().map(|own| {
            let (shape, width) = described(own);
            program.given(shape.clone(), width)
        });
        let given = given.collect::<trundle::Result<Vec<_>>>()?;
        let taken: Vec<_> = order.into_iter().map(|at| given[at]).collect();
        let (dtype, width) = (out.dtype(), out.width());
        let made =
            chain.add_to(&mut program, &taken, |number| number.native_element(dtype, width))?;
        trundle_plan::of_program(&program.with_output(made)?, self.given, out)
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Failure {
        Failure::new(status_of(&error.source), error.to_string())
    }
}

/// The message shows the chain and the operator that does not fit.
pub(crate) fn planning_failed(error: PlanError) -> Failure {
    match error {
        PlanError::Chain(error) => Failure::from(error),
        error => error.into(),
    }
}

/// Parses the caller's chain.
///
/// # Safety
/// If `chain` is not null, it points to a C string.
pub(crate) unsafe fn read(chain: *const c_char) -> Result<Chain> {
    // SAFETY: the caller guarantees a C string.
    let text = unsafe { text("chain", chain)? };
    text.parse()
        .map_err(|error: NotationError| Failure::new(TRUNDLE_ERROR_CHAIN, error.to_string()))
}

/// Returns the caller's string.
///
/// # Safety
/// If `text` is not null, it points to a C string that is valid during `'a`.
unsafe fn text<'a>(argument: &'static str, text: *const c_char) -> Result<&'a str> {
    check_pointer(argument, text)?;
    // SAFETY: the pointer is not null, so the caller has a C string there.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| {
        let (bytes, good) = (text.count_bytes(), error.valid_up_to());
        let message = format!(
            "{argument} is not UTF-8: only the first {good} of its {bytes} bytes are valid"
        );
        Failure::new(TRUNDLE_ERROR_CHAIN, message)
    })
}
