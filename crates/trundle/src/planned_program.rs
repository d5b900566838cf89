//! A program as passes over memory, each planned on a backend.

use std::collections::BTreeMap;
use std::fmt;

use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, Move, Result};

use crate::lower::{Lowered, TooMany, outputs};
use crate::runner::{Plans, Runner};

/// A [`Program`] decided down to the backend's plans: what is written, in which order, from where
/// and how.
///
/// ```
/// use trundle::lowering::{Device, PlannedProgram};
/// use trundle::{Program, Shape};
///
/// let mut program = Program::new();
/// let row = program.given(Shape::new([3])?, 1)?;
/// let dash = program.fill(1, b"-")?;
/// let dash = program.broadcast(dash, &Shape::new([2])?)?;
/// let padded = program.joined(0, &[dash, row])?;
/// program.output(padded)?;
/// let planned = PlannedProgram::new(Device::default(), &program)?;
/// let mut out = [0; 5];
/// planned.runner().run(&[b"abc"], &mut [&mut out])?;
/// assert_eq!(&out, b"--abc");
/// # Ok::<(), trundle::Error>(())
/// ```
pub struct PlannedProgram<B: Backend> {
    passes: Vec<PlannedPass>,
    outputs: Vec<TensorId>,
    /// The bytes of each tensor that is written.
    bytes: BTreeMap<TensorId, usize>,
    runner: Runner<B>,
}

/// One tensor written in one pass.
#[derive(Clone, Debug)]
pub struct PlannedPass {
    /// Which tensor is written.
    pub target: TensorId,
    /// From where: one part for each tensor that is read. Each is a step of the runner.
    pub parts: Vec<PlannedPart>,
    /// The tensors on the way, which are nowhere written for this pass.
    pub via: Vec<TensorId>,
    /// The tensors that no later pass reads, and that are no outputs.
    pub released: Vec<TensorId>,
}

/// What one pass reads of one tensor.
#[derive(Clone, Debug)]
pub struct PlannedPart {
    /// The tensor that is read.
    pub from: TensorId,
    /// What is moved, in bytes; `None` where it is moved in tiles, since one move would be too many
    /// boxes.
    pub work: Option<Move>,
    /// Which of the runner's steps it is.
    pub step: usize,
}

impl<B: Backend> PlannedProgram<B> {
    /// Decides how each output of `program` is written, at what few passes are worth to `backend`.
    /// Input n of the runner is input n of the program.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) for a tensor that cannot be addressed, or if the
    /// memory has no room for the fills.
    pub fn new(backend: B, program: &Program) -> Result<PlannedProgram<B>> {
        let budget = backend.budget();
        PlannedProgram::within(backend, program, budget)
    }

    /// [`PlannedProgram::new`] at other costs.
    ///
    /// # Errors
    /// As [`PlannedProgram::new`].
    pub fn within(backend: B, program: &Program, budget: Budget) -> Result<PlannedProgram<B>> {
        let lowered = Lowered::new(program, None, budget, TooMany::Tiles)?;
        let steps: Vec<_> = lowered.steps().collect();
        let runner = Runner::new(backend, &steps, &lowered.constants())?;
        let Lowered { steps, mut passes, .. } = lowered;
        // Each step is of one part, in their order.
        let parts = passes.iter_mut().flat_map(|pass| &mut pass.parts);
        parts.zip(steps).for_each(|(part, step)| part.work = step.work.one());
        let bytes = |pass: &PlannedPass| (pass.target, program.tensor(pass.target).bytes());
        let bytes = passes.iter().map(bytes).collect();
        Ok(PlannedProgram { passes, outputs: outputs(program), bytes, runner })
    }

    /// The same, with what lies between its passes allocated now and not by the first run of its
    /// [`runner`](PlannedProgram::runner).
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the memory has no room for it.
    pub fn allocated(self) -> Result<PlannedProgram<B>> {
        self.runner.allocate()?;
        Ok(self)
    }

    /// The passes, in the order in which they run.
    pub fn passes(&self) -> &[PlannedPass] {
        &self.passes
    }

    /// Which tensor each output of the runner is. One that is an output of the program several times
    /// is here once.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// What carries the passes out.
    pub fn runner(&self) -> &Runner<B> {
        &self.runner
    }

    /// How a part is moved.
    pub fn plans_of(&self, part: &PlannedPart) -> &Plans<B> {
        &self.runner.steps()[part.step].work
    }

    /// The bytes that a pass writes: all of its tensor.
    pub fn bytes_of(&self, pass: &PlannedPass) -> usize {
        self.bytes[&pass.target]
    }

    /// The bytes that all passes write.
    pub fn moved_bytes(&self) -> usize {
        self.passes.iter().map(|pass| self.bytes_of(pass)).fold(0, usize::saturating_add)
    }

    /// The most bytes of outputs, and of what is written on the way, that
    /// [`run_new`](PlannedProgram::run_new) holds at once.
    pub fn peak_bytes(&self) -> usize {
        let (mut held, mut peak) = (0usize, 0);
        for pass in &self.passes {
            held = held.saturating_add(self.bytes_of(pass));
            peak = peak.max(held);
            let released = pass.released.iter().map(|id| self.bytes[id]);
            held = held.saturating_sub(released.fold(0, usize::saturating_add));
        }
        peak
    }

    /// Runs all passes to new buffers: one for each of the [outputs](PlannedProgram::outputs).
    /// `done` is told each pass that has ended.
    ///
    /// # Errors
    /// As [`Runner::run_new`].
    pub fn run_new(
        &self,
        inputs: &[&B::Buffer],
        mut done: impl FnMut(&PlannedPass),
    ) -> Result<Vec<Box<B::Buffer>>> {
        let mut passes = self.passes.iter();
        let mut next = passes.next();
        let mut outputs = self.runner.run_new(inputs, |step| {
            while let Some(pass) = next
                && pass.parts.last().is_none_or(|last| last.step <= step)
            {
                done(pass);
                next = passes.next();
            }
        })?;
        next.into_iter().chain(passes).for_each(done);
        // One without elements is written by no step.
        let output = |at: usize| {
            let written = outputs.remove(&at);
            written.map_or_else(|| self.runner.backend().buffer(0), Ok)
        };
        (0..self.outputs.len()).map(output).collect()
    }
}

impl<B: Backend> fmt::Debug for PlannedProgram<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlannedProgram { passes, outputs, bytes: _, runner } = self;
        let mut debug = f.debug_struct("PlannedProgram");
        debug.field("passes", passes).field("outputs", outputs).field("runner", runner).finish()
    }
}
