//! Chains: any operators in a row, as text.

use std::ffi::{CStr, c_char};

use trundle::notation::NotationError;
use trundle::ops::Operand;
use trundle::{Chain, ChainError, PlanError, Program, Shape};

use super::assembled::{Assembled, described};
use super::descriptor::{Descriptor, sizes_of, trundle_tensor_desc};
use super::error::{Failure, Result, guarded};
use super::joins::read_parts;
use super::memory::{check_pointer, list};
use super::moved::Moved;
use super::pair::{Pair, check_types};
use super::plan::{made, trundle_plan};
use super::status::{TRUNDLE_ERROR_CHAIN, status_of, trundle_status};
use super::told::tell_sizes;

/// Plans any stages in a row, such as "flip(axes=[2]) | h w c -> c h w": all that docs/chains.md
/// says, but that lengths are lists and no files. It takes one pass over memory where one is enough.
/// The plan is written to `plan`, and is the caller's to free. A chain that names other tensors, as
/// "concat(_, b)" does, is refused: see trundle_chain_plan_inputs().
///
/// `chain` is UTF-8, and is not needed any more when this returns. `out` has the type of `data`, and
/// the sizes that trundle_chain_out_sizes() says. What is wrong with the chain, or does not fit the
/// sizes, the message shows in several lines: the part of the chain, carets below it, and often what
/// to write instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_plan(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
    unsafe {
        made(plan, || {
            let chain = read(chain)?;
            let pair = Pair::read(data_desc, out_desc)?;
            if !chain.is_map() {
                check_types("out", &pair.data, &pair.out)?;
                let inputs = Inputs { names: vec!["_"], given: vec![pair.data] };
                return inputs.planned(&chain, pair.out);
            }
            Ok(Moved::of_chain(pair, &chain).map_err(planning_failed)?.into())
        })
    }
}

/// Plans a chain of several tensors, such as "concat(_, b, axis=0) | flip(0)": trundle_chain_plan() with
/// `count` tensors, whose names are `names` and which are described by `input_descs`, one after another.
/// "_" is the name of the one without a name. The plan is run by trundle_plan_run_inputs(), which is
/// given them in the same order.
///
/// Every tensor that the chain takes is one of them, and each of them is taken. They have one type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_plan_inputs(
    chain: *const c_char,
    names: *const *const c_char,
    input_descs: *const trundle_tensor_desc,
    count: usize,
    out_desc: *const trundle_tensor_desc,
    plan: *mut *mut trundle_plan,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says.
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

/// Says the sizes of what a chain of several tensors makes, which are given as to
/// trundle_chain_plan_inputs(): see trundle_chain_out_sizes().
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
    // SAFETY: pointers lead to what the header says, and are checked before they are written to.
    guarded(|| unsafe {
        check_pointer("rank", rank)?;
        let chain = read(chain)?;
        let inputs = Inputs::read(names, input_descs, count)?;
        let shape_of = |at: usize| inputs.given[at].layout().shape().clone();
        let shapes: Vec<Shape> = inputs.order(&chain)?.into_iter().map(shape_of).collect();
        tell_sizes(sizes_of(&chain.out_shape(&shapes)?), sizes, capacity, rank)
    })
}

/// Says the sizes of what a chain makes of `data`: how many there are is written to `rank`, and they
/// to `sizes`, which has room for `capacity` of them. With a capacity of 0 only the rank is asked
/// for, and `sizes` may be NULL; with one that is too small otherwise nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_chain_out_sizes(
    chain: *const c_char,
    data_desc: *const trundle_tensor_desc,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointers lead to what the header says, and are checked before they are written to.
    guarded(|| unsafe {
        check_pointer("rank", rank)?;
        let chain = read(chain)?;
        let data = Descriptor::read("data", data_desc)?;
        check_one(&chain)?;
        tell_sizes(sizes_of(&chain.out_shape(data.layout().shape())?), sizes, capacity, rank)
    })
}

/// Tensors with their names.
struct Inputs<'a> {
    names: Vec<&'a str>,
    given: Vec<Descriptor>,
}

impl<'a> Inputs<'a> {
    /// Those that a caller has, all of one type.
    ///
    /// # Safety
    /// Pointers that are not null lead to so many strings and descriptors.
    unsafe fn read(
        names: *const *const c_char,
        descs: *const trundle_tensor_desc,
        count: usize,
    ) -> Result<Inputs<'a>> {
        // SAFETY: the contract is the same.
        unsafe {
            let names = list("names", names, count)?;
            let names = names.iter().map(|name| text("names", *name)).collect::<Result<_>>()?;
            let descs = list("input_descs", descs, count)?;
            Ok(Inputs { names, given: read_parts(descs.iter().map(|desc| &raw const *desc))? })
        }
    }

    /// For each input of a chain which of them it is.
    ///
    /// # Errors
    /// If one is missing, one too much, or two have one name.
    fn order(&self, chain: &Chain) -> Result<Vec<usize>> {
        let refused = |message| Failure::new(TRUNDLE_ERROR_CHAIN, message);
        let taken = chain.inputs();
        let place = |operand: &&Operand| match operand {
            Operand::Previous => self.names.iter().position(|name| *name == "_"),
            Operand::Named(own) => self.names.iter().position(|name| name == own),
        };
        let order: Vec<usize> = taken
            .iter()
            .map(|operand| {
                let missing = format!("the chain takes {operand}, which is none of the inputs");
                place(operand).ok_or_else(|| refused(missing))
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

    /// The plan of a chain of them.
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
        let made = chain.add_to(&mut program, &taken, |number| number.element(dtype, width))?;
        Ok(Assembled::new(&program.with_output(made)?, self.given, out)?.into())
    }
}

/// Checks that a chain takes one tensor without a name, and no others.
fn check_one(chain: &Chain) -> Result<()> {
    match chain.inputs().into_iter().find(|input| **input != Operand::Previous) {
        None => Ok(()),
        Some(name) => {
            let message = format!("the chain takes {name}, which is none of the inputs");
            Err(Failure::new(TRUNDLE_ERROR_CHAIN, message))
        }
    }
}

/// A stage that does not fit: shown in the chain.
impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Failure {
        Failure::new(status_of(&error.source), error.to_string())
    }
}

/// What a chain was refused for: of an operator that does not fit, the message shows the place.
pub(crate) fn planning_failed(error: PlanError) -> Failure {
    match error {
        PlanError::Chain(error) => Failure::from(error),
        error => error.into(),
    }
}

/// The chain that a caller's text says.
///
/// # Safety
/// A pointer that is not null leads to a C string.
pub(crate) unsafe fn read(chain: *const c_char) -> Result<Chain> {
    // SAFETY: the contract is the same.
    let text = unsafe { text("chain", chain)? };
    text.parse()
        .map_err(|error: NotationError| Failure::new(TRUNDLE_ERROR_CHAIN, error.to_string()))
}

/// A caller's text, which outlives the call.
///
/// # Safety
/// A pointer that is not null leads to a C string.
unsafe fn text<'a>(argument: &'static str, text: *const c_char) -> Result<&'a str> {
    check_pointer(argument, text)?;
    // SAFETY: it is no null pointer, so the caller has a C string there.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| {
        let (bytes, good) = (text.count_bytes(), error.valid_up_to());
        let message = format!("{argument} is no UTF-8: of its {bytes} bytes the first {good} are");
        Failure::new(TRUNDLE_ERROR_CHAIN, message)
    })
}
