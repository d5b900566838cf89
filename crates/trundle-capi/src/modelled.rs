//! Planned models.

use std::ffi::c_void;
use std::fmt;

use trundle::internal::few::with_list;
use trundle_models::{ElementType, PlannedModel, ResolvedModel};

use super::descriptor::Descriptor;
use super::error::{Failure, Result};
use super::memory::{Memory, check_all_apart};
use super::status::{TRUNDLE_ERROR_DTYPE, TRUNDLE_ERROR_TOO_LARGE};

/// A model planned for its inputs and outputs, all of them packed and row-major.
pub(crate) struct Modelled {
    inputs: Vec<Descriptor>,
    outputs: Vec<Descriptor>,
    planned: PlannedModel,
}

impl Modelled {
    /// Plans a model for these inputs, and allocates what its runs need.
    pub(crate) fn new(inputs: Vec<Descriptor>, resolved: ResolvedModel) -> Result<Modelled> {
        let outputs = (0..resolved.outputs().len()).map(|number| written(&resolved, number));
        let outputs = outputs.collect::<Result<_>>()?;
        let planned = PlannedModel::new(resolved, None).and_then(PlannedModel::allocated);
        Ok(Modelled { inputs, outputs, planned: planned.map_err(|error| no_room(&error))? })
    }

    /// Returns the number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Returns the description of an output.
    pub(crate) fn output(&self, number: usize) -> Option<&Descriptor> {
        self.outputs.get(number)
    }

    /// Checks that the outputs overlap neither the inputs, nor `others`, which the call also reads, nor each other,
    /// and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the outputs.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        outs: &[*mut c_void],
        others: &[Memory],
    ) -> Result<()> {
        let nothing = || Memory::of::<u8>("nothing", &[]);
        with_list(data.len(), nothing, |read| {
            for (number, ((memory, own), data)) in
                read.iter_mut().zip(&self.inputs).zip(data).enumerate()
            {
                *memory = own.memory(data.cast()).map_err(|failure| failure.of_input(number))?;
            }
            with_list(outs.len(), nothing, |written| {
                for (number, ((memory, own), out)) in
                    written.iter_mut().zip(&self.outputs).zip(outs).enumerate()
                {
                    let apart = own.memory(out.cast()).and_then(|memory| {
                        let mut all = others.iter().chain(read.iter());
                        all.try_for_each(|other| memory.check_apart(other))?;
                        Ok(memory)
                    });
                    *memory = apart.map_err(|failure| failure.of_output(number))?;
                }
                check_apart(written)?;
                // SAFETY: the caller owns the memory, and the outputs overlap neither the inputs nor each other.
                unsafe { self.moved(read, written) }
            })
        })
    }

    /// Moves elements from `read` to `written`.
    ///
    /// # Safety
    /// The memory belongs to the caller, and the outputs overlap no other memory of the call. During the call no
    /// one else writes to it or reads the outputs.
    unsafe fn moved(&self, read: &[Memory], written: &[Memory]) -> Result<()> {
        with_list(
            read.len(),
            || &[][..],
            |sources| {
                for (source, memory) in sources.iter_mut().zip(read) {
                    // SAFETY: the caller owns this memory, and no output overlaps it.
                    *source = unsafe { memory.read() };
                }
                with_list(
                    written.len(),
                    || &mut [][..],
                    |targets| {
                        for (target, memory) in targets.iter_mut().zip(written) {
                            // SAFETY: the caller owns this memory, and nothing else overlaps it.
                            *target = unsafe { memory.write() };
                        }
                        self.planned.run_into(sources, targets).map_err(|error| no_room(&error))
                    },
                )
            },
        )
    }
}

/// Checks that the outputs do not overlap each other.
fn check_apart(written: &[Memory]) -> Result<()> {
    let nothing = || (0, Memory::of::<u8>("nothing", &[]));
    with_list(written.len(), nothing, |numbered| {
        for (number, (own, memory)) in numbered.iter_mut().zip(written).enumerate() {
            *own = (number, *memory);
        }
        check_all_apart(numbered).map_err(|(number, failure)| failure.of_output(number))
    })
}

/// Returns the description of an output.
fn written(resolved: &ResolvedModel, number: usize) -> Result<Descriptor> {
    let id = resolved.outputs()[number];
    match resolved.element(id) {
        ElementType::Fixed(dtype) => {
            Descriptor::new("out", (dtype, dtype.into()), resolved.shape(id), None)
        }
        ElementType::String => Err(texts(&format_args!("output {number}"))),
    }
}

/// Returns the error for an input or output of strings.
pub(crate) fn texts(what: &dyn fmt::Display) -> Failure {
    Failure::new(
        TRUNDLE_ERROR_DTYPE,
        format!("{what} is of texts, which C has no element type for"),
    )
}

/// All other errors are found earlier; a run can only lack memory.
fn no_room(error: &trundle_models::Error) -> Failure {
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, error.to_string())
}

impl fmt::Display for Modelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt(f)
    }
}
