//! Planned programs with several inputs, or with one input and a constant.

use std::ffi::c_void;
use std::fmt;

use trundle::internal::few::with_list;
use trundle::{Layout, Program, ProgramPlan, Shape, Width};

use super::descriptor::Descriptor;
use super::error::{Failure, Result};
use super::memory::Memory;

/// A program planned for its inputs and its output.
pub(crate) struct Assembled {
    inputs: Vec<Descriptor>,
    out: Descriptor,
    plan: ProgramPlan,
}

impl Assembled {
    /// Plans `program` for these inputs and this output, and allocates what its runs need.
    pub(crate) fn new(
        program: &Program,
        inputs: Vec<Descriptor>,
        out: Descriptor,
    ) -> Result<Assembled> {
        let layouts: Vec<Layout> = inputs.iter().map(|own| own.layout().clone()).collect();
        let plan = ProgramPlan::new(program, &layouts, out.layout(), None)?.allocated()?;
        Ok(Assembled { inputs, out, plan })
    }

    /// Plans an output without elements, which reads nothing.
    pub(crate) fn of_nothing(data: Descriptor, out: Descriptor) -> Result<Assembled> {
        let mut program = Program::new();
        let width = out.width();
        let fill = program.fill(width, &vec![0; width.bytes(width.units())])?;
        let nothing = program.broadcast(fill, out.layout().shape())?;
        let plan = ProgramPlan::new(&program.with_output(nothing)?, &[], out.layout(), None)?;
        Ok(Assembled { inputs: vec![data], out, plan })
    }

    /// Returns the number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the output's description.
    pub(crate) fn output(&self) -> &Descriptor {
        &self.out
    }

    /// Checks that the output overlaps neither an input nor `others`, which the call also reads, and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the output.
    pub(crate) unsafe fn run(
        &self,
        data: &[*const c_void],
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        let out = self.out.memory(out.cast())?;
        others.iter().try_for_each(|other| out.check_apart(other))?;
        with_list(
            data.len(),
            || &[][..],
            |read| {
                for (number, ((bytes, own), data)) in
                    read.iter_mut().zip(&self.inputs).zip(data).enumerate()
                {
                    let memory = own
                        .memory(data.cast())
                        .map_err(|failure| self.of_input(number, failure))?;
                    out.check_apart(&memory)?;
                    // SAFETY: the caller owns this memory, and the output does not overlap it.
                    *bytes = unsafe { memory.read() };
                }
                // SAFETY: the caller owns this memory; no byte of the output is part of an input.
                Ok(unsafe { self.plan.run(read, out.write()) }?)
            },
        )
    }

    /// Adds the input's index to an error if there are several inputs.
    fn of_input(&self, number: usize, failure: Failure) -> Failure {
        if self.inputs.len() > 1 { failure.of_input(number) } else { failure }
    }
}

impl fmt::Display for Assembled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// Returns what a program needs to know of a tensor.
pub(crate) fn described(own: &Descriptor) -> (&Shape, Width) {
    (own.layout().shape(), own.width())
}
