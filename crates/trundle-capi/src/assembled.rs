//! What is made of several tensors, or of one and a constant: planned, and run on their memory.

use std::ffi::c_void;
use std::fmt;

use trundle::internal::few::with_list;
use trundle::{Layout, Program, ProgramPlan, Shape, Width};

use super::descriptor::Descriptor;
use super::error::{Failure, Result};
use super::memory::Memory;

/// A program decided for the tensors that it reads and the one that it writes.
pub(crate) struct Assembled {
    inputs: Vec<Descriptor>,
    out: Descriptor,
    plan: ProgramPlan,
}

impl Assembled {
    /// The plan of a program of these inputs, with all that its runs need beside them.
    pub(crate) fn new(
        program: &Program,
        inputs: Vec<Descriptor>,
        out: Descriptor,
    ) -> Result<Assembled> {
        let layouts: Vec<Layout> = inputs.iter().map(|own| own.layout().clone()).collect();
        let plan = ProgramPlan::new(program, &layouts, out.layout(), None)?.allocated()?;
        Ok(Assembled { inputs, out, plan })
    }

    /// The plan of an output without elements, for which nothing of the data is read.
    pub(crate) fn of_nothing(data: Descriptor, out: Descriptor) -> Result<Assembled> {
        let mut program = Program::new();
        let width = out.width();
        let fill = program.fill(width, &vec![0; width.bytes(width.units())])?;
        let nothing = program.broadcast(fill, out.layout().shape())?;
        let plan = ProgramPlan::new(&program.with_output(nothing)?, &[], out.layout(), None)?;
        Ok(Assembled { inputs: vec![data], out, plan })
    }

    /// How many tensors it reads.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// What it writes.
    pub(crate) fn output(&self) -> &Descriptor {
        &self.out
    }

    /// Runs it on as many inputs as it has and an output that lie as was described, once it is known that the output
    /// is apart from them and from `others`, which the call reads too.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
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
                    // SAFETY: the contract is the same, and the output is apart from it.
                    *bytes = unsafe { memory.read() };
                }
                // SAFETY: the same: no byte of the output is one of the inputs.
                Ok(unsafe { self.plan.run(read, out.write()) }?)
            },
        )
    }

    /// A refusal of one of the inputs, by its number where there are several.
    fn of_input(&self, number: usize, failure: Failure) -> Failure {
        if self.inputs.len() > 1 { failure.of_input(number) } else { failure }
    }
}

impl fmt::Display for Assembled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// What a program knows of a tensor.
pub(crate) fn described(own: &Descriptor) -> (&Shape, Width) {
    (own.layout().shape(), own.width())
}
