//! What a model makes of its inputs: planned, and run on their memory.

use std::ffi::c_void;
use std::fmt;

use trundle::internal::few::with_list;
use trundle_models::{ElementType, PlannedModel, ResolvedModel};

use super::descriptor::Descriptor;
use super::error::{Failure, Result};
use super::memory::{Memory, check_all_apart};
use super::status::{TRUNDLE_ERROR_DTYPE, TRUNDLE_ERROR_TOO_LARGE};

/// A model decided for the tensors that it reads and those that it writes, all of them packed and row-major.
pub(crate) struct Modelled {
    inputs: Vec<Descriptor>,
    outputs: Vec<Descriptor>,
    planned: PlannedModel,
}

impl Modelled {
    /// The plan of a model for these inputs, with all that its runs need beside them.
    pub(crate) fn new(inputs: Vec<Descriptor>, resolved: ResolvedModel) -> Result<Modelled> {
        let outputs = (0..resolved.outputs().len()).map(|number| written(&resolved, number));
        let outputs = outputs.collect::<Result<_>>()?;
        let planned = PlannedModel::new(resolved, None).and_then(PlannedModel::allocated);
        Ok(Modelled { inputs, outputs, planned: planned.map_err(|error| no_room(&error))? })
    }

    /// How many tensors it reads.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// How many it writes.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// One that it writes.
    pub(crate) fn output(&self, number: usize) -> Option<&Descriptor> {
        self.outputs.get(number)
    }

    /// Runs it on as many tensors as it has, which lie as was described, once it is known that the outputs are apart
    /// from the inputs, from `others`, which the call reads too, and from each other.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the outputs'.
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
                // SAFETY: the contract is the same, and the outputs are apart from the inputs and from each other.
                unsafe { self.moved(read, written) }
            })
        })
    }

    /// Moves what is read to what is written.
    ///
    /// # Safety
    /// The memory is the caller's, the outputs are apart from all others, and nobody else writes to it meanwhile, or
    /// reads the outputs'.
    unsafe fn moved(&self, read: &[Memory], written: &[Memory]) -> Result<()> {
        with_list(
            read.len(),
            || &[][..],
            |sources| {
                for (source, memory) in sources.iter_mut().zip(read) {
                    // SAFETY: the contract is the same.
                    *source = unsafe { memory.read() };
                }
                with_list(
                    written.len(),
                    || &mut [][..],
                    |targets| {
                        for (target, memory) in targets.iter_mut().zip(written) {
                            // SAFETY: the contract is the same.
                            *target = unsafe { memory.write() };
                        }
                        self.planned.run_into(sources, targets).map_err(|error| no_room(&error))
                    },
                )
            },
        )
    }
}

/// Checks that no byte is of two outputs.
fn check_apart(written: &[Memory]) -> Result<()> {
    let nothing = || (0, Memory::of::<u8>("nothing", &[]));
    with_list(written.len(), nothing, |numbered| {
        for (number, (own, memory)) in numbered.iter_mut().zip(written).enumerate() {
            *own = (number, *memory);
        }
        check_all_apart(numbered).map_err(|(number, failure)| failure.of_output(number))
    })
}

/// What an output is.
fn written(resolved: &ResolvedModel, number: usize) -> Result<Descriptor> {
    let id = resolved.outputs()[number];
    match resolved.element(id) {
        ElementType::Fixed(dtype) => {
            Descriptor::new("out", (dtype, dtype.into()), resolved.shape(id), None)
        }
        ElementType::String => Err(texts(&format_args!("output {number}"))),
    }
}

/// A refusal of an input or output of texts.
pub(crate) fn texts(what: &dyn fmt::Display) -> Failure {
    Failure::new(
        TRUNDLE_ERROR_DTYPE,
        format!("{what} is of texts, which C has no element type for"),
    )
}

/// All else is checked before: what may still be missing is memory.
fn no_room(error: &trundle_models::Error) -> Failure {
    Failure::new(TRUNDLE_ERROR_TOO_LARGE, error.to_string())
}

impl fmt::Display for Modelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt(f)
    }
}
