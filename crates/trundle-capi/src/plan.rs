//! Plans: calls and models that are planned once and run many times.

use std::ffi::{c_char, c_void};
use std::fmt;

use trundle::internal::few::with_list;
use trundle::{Chain, Layout, Op, Plan, PlanError, Program, ProgramPlan, Shape, Width};
use trundle_models::PlannedModel;

use super::descriptor::{Descriptor, sizes_of};
use super::dtype::trundle_dtype;
use super::error::{Failure, Result, guarded, no_room};
use super::memory::{CallerMemory, check_all_apart, check_pointer, list, object};
use super::pair::Pair;
use super::results::{check_optional, write_sizes, write_words};
use super::scatters::Scatter;
use super::status::{TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_SHAPE, trundle_status};

/// A planned call or model, for tensors with fixed element types, sizes and strides. Run it with trundle_plan_run(),
/// trundle_plan_run_inputs(), trundle_plan_run_outputs() or trundle_plan_run_all().
pub struct trundle_plan {
    pub(crate) inputs: Vec<Descriptor>,
    pub(crate) outputs: Vec<Descriptor>,
    pub(crate) moves: PlanMoves,
}

pub(crate) enum PlanMoves {
    /// A chain from the input to the output.
    Chain(Plan),
    /// A program that makes the output from the inputs.
    Program(ProgramPlan),
    /// Copies the first input to the output, then writes the updates, the second input.
    Scatter(Box<Scatter>),
    /// Moves a part of the input to each output.
    Parts(Vec<Plan>),
    Model(Box<PlannedModel>),
}

impl PlanMoves {
    /// The slices are the memory of all inputs and outputs.
    fn run(&self, read: &[&[u8]], written: &mut [&mut [u8]]) -> Result<()> {
        match (self, read, written) {
            (PlanMoves::Chain(plan), [data], [out]) => Ok(plan.run(data, out)?),
            (PlanMoves::Program(plan), _, [out]) => Ok(plan.run(read, out)?),
            (PlanMoves::Scatter(scatter), [data, updates], [out]) => {
                scatter.run(data, updates, out)
            }
            (PlanMoves::Parts(parts), [data], written) => {
                let mut parts = parts.iter().zip(written);
                Ok(parts.try_for_each(|(part, out)| part.run(data, out))?)
            }
            (PlanMoves::Model(model), read, written) => {
                model.run_into(read, written).map_err(|error| no_room(&error))
            }
            _ => unreachable!("inputs and outputs are counted"),
        }
    }
}

impl trundle_plan {
    pub(crate) fn of_op(pair: Pair, op: impl Into<Op>) -> Result<trundle_plan> {
        Ok(trundle_plan::of_chain(pair, &Chain::new().then(op))?)
    }

    pub(crate) fn of_chain(pair: Pair, chain: &Chain) -> Result<trundle_plan, PlanError> {
        let moves = PlanMoves::Chain(pair.plan(chain)?);
        Ok(trundle_plan { inputs: vec![pair.data], outputs: vec![pair.out], moves })
    }

    /// Also allocates the memory for tensors between passes.
    pub(crate) fn of_program(
        program: &Program,
        inputs: Vec<Descriptor>,
        out: Descriptor,
    ) -> Result<trundle_plan> {
        let layouts: Vec<Layout> = inputs.iter().map(|own| own.layout().clone()).collect();
        let plan = ProgramPlan::new(program, &layouts, out.layout(), None)?.allocated()?;
        Ok(trundle_plan { inputs, outputs: vec![out], moves: PlanMoves::Program(plan) })
    }

    /// Plans a call whose output has no elements, and which reads nothing.
    pub(crate) fn of_nothing(pair: Pair) -> Result<trundle_plan> {
        let (shape, width) = described(&pair.out);
        let mut program = Program::new();
        let fill = program.fill(width, &vec![0; width.bytes(width.units())])?;
        let nothing = program.broadcast(fill, shape)?;
        let program = program.with_output(nothing)?;
        let plan = ProgramPlan::new(&program, &[], pair.out.layout(), None)?;
        let moves = PlanMoves::Program(plan);
        Ok(trundle_plan { inputs: vec![pair.data], outputs: vec![pair.out], moves })
    }

    /// The size in bytes of a plan of a single chain, for the plan cache.
    pub(crate) fn own_bytes(&self) -> usize {
        match &self.moves {
            PlanMoves::Chain(plan) => plan.own_bytes(),
            _ => unreachable!("calls of this operator are not cached"),
        }
    }

    /// Adds the index of the input to an error, if the plan is a model or has several inputs.
    fn of_input(&self, number: usize, failure: Failure) -> Failure {
        match matches!(self.moves, PlanMoves::Model(_)) || self.inputs.len() > 1 {
            true => failure.of_input(number),
            false => failure,
        }
    }

    /// Adds the index of the output to an error, if the plan is a model or a split.
    fn of_output(&self, number: usize, failure: Failure) -> Failure {
        match self.moves {
            PlanMoves::Model(_) | PlanMoves::Parts(_) => failure.of_output(number),
            _ => failure,
        }
    }

    /// Checks the memory of all tensors, and runs the plan.
    ///
    /// The outputs must not overlap each other, the inputs, or `others`, which is other memory that the call reads. The
    /// memory of all outputs is collected first, so no list of the inputs' memory is necessary.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call, no other thread writes to it or reads
    /// the outputs.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        outs: &[*mut c_void],
        others: &[CallerMemory],
    ) -> Result<()> {
        check_count("input", self.inputs.len(), data.len())?;
        check_count("output", self.outputs.len(), outs.len())?;
        let nothing = || (0, CallerMemory::of::<u8>("nothing", &[]));
        with_list(outs.len(), nothing, |covered| {
            let outs = self.outputs.iter().zip(outs).enumerate();
            for ((number, (own, out)), output) in outs.zip(&mut *covered) {
                let memory = own.memory(out.cast());
                *output = (number, memory.map_err(|failure| self.of_output(number, failure))?);
            }
            check_all_apart(covered)
                .map_err(|(number, failure)| self.of_output(number, failure))?;
            let check_apart = |other: &CallerMemory| {
                covered.iter().try_for_each(|(number, memory)| {
                    memory.check_apart(other).map_err(|failure| self.of_output(*number, failure))
                })
            };
            others.iter().try_for_each(check_apart)?;
            with_list(
                data.len(),
                || &[][..],
                |read| {
                    let data = self.inputs.iter().zip(data).enumerate();
                    for ((number, (own, data)), bytes) in data.zip(&mut *read) {
                        let memory = own.memory(data.cast());
                        let memory = memory.map_err(|failure| self.of_input(number, failure))?;
                        check_apart(&memory)?;
                        // SAFETY: the caller owns this memory, and no output overlaps it.
                        *bytes = unsafe { memory.read() };
                    }
                    with_list(
                        covered.len(),
                        || &mut [][..],
                        |written| {
                            for (number, memory) in &*covered {
                                // SAFETY: the caller owns this memory, and nothing else overlaps it.
                                written[*number] = unsafe { memory.write() };
                            }
                            self.moves.run(read, written)
                        },
                    )
                },
            )
        })
    }
}

#[cfg(test)]
impl trundle_plan {
    /// Returns the plan of a chain with one input.
    pub(crate) fn chain(&self) -> &Plan {
        match &self.moves {
            PlanMoves::Chain(plan) => plan,
            _ => panic!("not a chain"),
        }
    }
}

impl fmt::Display for trundle_plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.moves {
            PlanMoves::Chain(plan) => plan.fmt(f),
            PlanMoves::Program(plan) => plan.fmt(f),
            PlanMoves::Scatter(scatter) => scatter.fmt(f),
            PlanMoves::Parts(parts) => parts.iter().enumerate().try_for_each(|(number, part)| {
                let between = if number == 0 { "" } else { "\n\n" };
                write!(f, "{between}from input 0 to output {number}: {part}")
            }),
            PlanMoves::Model(model) => model.fmt(f),
        }
    }
}

/// The shape and the width of a tensor, for a program.
pub(crate) fn described(own: &Descriptor) -> (&Shape, Width) {
    (own.layout().shape(), own.width())
}

/// Runs a plan with one input and one output. Several threads may run the same plan at once.
///
/// - `plan`: the plan. Plans with more inputs or outputs need trundle_plan_run_inputs(), trundle_plan_run_outputs() or
///   trundle_plan_run_all().
/// - `data`, `out`: the tensors, with the descriptions of the plan.
///
/// Returns TRUNDLE_ERROR_SHAPE if the plan has more than one input or output, or TRUNDLE_ERROR_OVERLAP.
///
/// A run allocates no memory, with two exceptions. The plan has buffers for the tensors between passes; if several
/// threads run the plan at once, all but one allocate their own buffers. A move with too many pieces for one plan is
/// planned piece by piece in each run; trundle_plan_describe() then says "in tiles".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run(
    plan: *const trundle_plan,
    data: *const c_void,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: `plan` comes from a planning function, and the caller owns the memory of its tensors.
    guarded(|| unsafe { object("plan", plan)?.run(&[data], &[out], &[]) })
}

/// Runs a plan with several inputs and one output.
///
/// - `plan`: the plan.
/// - `inputs`, `count`: the data of all inputs, in the order and with the descriptions of the plan. Inputs may share
///   memory.
/// - `out`: the output, with the description of the plan.
///
/// Returns the errors of trundle_plan_run(). It allocates memory as trundle_plan_run() does. For more than 64 inputs,
/// it also allocates a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_inputs(
    plan: *const trundle_plan,
    inputs: *const *const c_void,
    count: usize,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        let plan = object("plan", plan)?;
        let inputs = list("inputs", inputs, count)?;
        plan.run(inputs, &[out], &[CallerMemory::of("inputs", inputs)])
    })
}

/// Runs a plan with one input and several outputs.
///
/// - `plan`: the plan.
/// - `data`: the input, with the description of the plan.
/// - `outputs`, `count`: the memory of all outputs, in the order and with the descriptions of the plan. They must not
///   overlap each other.
///
/// Returns the errors of trundle_plan_run(). It allocates memory as trundle_plan_run() does. For more than 64 outputs,
/// it also allocates lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_outputs(
    plan: *const trundle_plan,
    data: *const c_void,
    outputs: *const *mut c_void,
    count: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        let plan = object("plan", plan)?;
        let outputs = list("outputs", outputs, count)?;
        plan.run(&[data], outputs, &[CallerMemory::of("outputs", outputs)])
    })
}

/// Runs any plan.
///
/// - `plan`: the plan.
/// - `inputs`, `input_count`: as in trundle_plan_run_inputs().
/// - `outputs`, `output_count`: as in trundle_plan_run_outputs(). No output may overlap an input.
///
/// Returns the errors of trundle_plan_run(). It allocates memory as trundle_plan_run() does. For more than 64 inputs or
/// outputs, it also allocates lists; here, the constants that a model moves count as inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_run_all(
    plan: *const trundle_plan,
    inputs: *const *const c_void,
    input_count: usize,
    outputs: *const *mut c_void,
    output_count: usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe {
        let plan = object("plan", plan)?;
        let inputs = list("inputs", inputs, input_count)?;
        let outputs = list("outputs", outputs, output_count)?;
        let lists = [CallerMemory::of("inputs", inputs), CallerMemory::of("outputs", outputs)];
        plan.run(inputs, outputs, &lists)
    })
}

/// Gets the element type and the sizes of an output. Outputs of a model have no gaps and are row-major.
///
/// - `plan`: the plan.
/// - `output`: the index of the output, from 0.
/// - `dtype`: receives the element type; may be NULL.
/// - `sizes`, `capacity`, `rank`: as in trundle_chain_out_sizes().
///
/// Returns TRUNDLE_ERROR_NUMBER if there is no such output, or TRUNDLE_ERROR_BUFFER_SIZE if `sizes` is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_output(
    plan: *const trundle_plan,
    output: usize,
    dtype: *mut trundle_dtype,
    sizes: *mut u64,
    capacity: u32,
    rank: *mut u32,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires, and are checked before they are written to; `plan`
    // comes from a planning function.
    guarded(|| unsafe {
        let outputs = &object("plan", plan)?.outputs;
        check_pointer("rank", rank)?;
        check_optional("dtype", dtype)?;
        let out = outputs.get(output).ok_or_else(|| {
            let count = outputs.len();
            let message = format!("output {output} is out of range: the plan has {count}");
            Failure::new(TRUNDLE_ERROR_NUMBER, message)
        })?;
        write_sizes(sizes_of(out.layout().shape()), sizes, capacity, rank)?;
        if !dtype.is_null() {
            dtype.write(out.number().unwrap_or_default());
        }
        Ok(())
    })
}

/// Writes a description of a plan for people. It has the passes over memory and, for each, the operators, the source of
/// every element, the loops, the kernels and the threads. It has several lines, and may change with any version.
///
/// - `plan`: the plan.
/// - `buffer`, `capacity`: a buffer of `capacity` bytes for the text in UTF-8 and a NUL. With a capacity of 0, only
///   `needed` is written, and `buffer` may be NULL.
/// - `needed`: receives the size of the text in bytes, including the NUL; may be NULL.
///
/// Returns TRUNDLE_ERROR_BUFFER_SIZE, and writes nothing, if the buffer is too small.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_describe(
    plan: *const trundle_plan,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; `plan` comes from a planning function.
    guarded(|| unsafe { write_words(object("plan", plan)?, buffer, capacity, needed) })
}

/// Frees a plan that no thread is running. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_plan_free(plan: *mut trundle_plan) {
    // SAFETY: `plan` comes from a planning function, and no thread uses it any more.
    unsafe { free(plan) };
}

/// The caller must give as many tensors as the plan has.
fn check_count(what: &str, planned: usize, given: usize) -> Result<()> {
    if given == planned {
        return Ok(());
    }
    let plural = if planned == 1 { "" } else { "s" };
    let message = format!("the plan is for {planned} {what}{plural}, but is run on {given}");
    Err(Failure::new(TRUNDLE_ERROR_SHAPE, message))
}

/// Frees a plan or a model. NULL is ignored.
///
/// # Safety
/// The object comes from a function of this library, and no call uses it any more.
pub(crate) unsafe fn free<T>(object: *mut T) {
    guarded(|| {
        if !object.is_null() {
            // SAFETY: the caller guarantees that this is the last use.
            drop(unsafe { Box::from_raw(object) });
        }
        Ok(())
    });
}

/// Writes the plan that `make` returns to `plan`.
///
/// # Safety
/// If `plan` is aligned and not null, a pointer can be written to its address.
pub(crate) unsafe fn made(
    plan: *mut *mut trundle_plan,
    make: impl FnOnce() -> Result<trundle_plan>,
) -> trundle_status {
    guarded(|| {
        check_pointer("plan", plan)?;
        let made = Box::new(make()?);
        // SAFETY: the pointer is aligned and not null, so the caller has a pointer there.
        unsafe { plan.write(Box::into_raw(made)) };
        Ok(())
    })
}
