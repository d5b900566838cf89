//! Plans of programs on any backend, pass by pass.

use std::collections::BTreeMap;
use std::fmt;

use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, Move, Result};

use crate::lower::{ProgramMoves, TooMany, outputs};
use crate::runner::{Plans, Runner};

/// A [`Program`] planned on a backend: its passes in order, with their sources and plans.
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
    bytes: BTreeMap<TensorId, usize>,
    runner: Runner<B>,
}

/// A pass: it writes one tensor.
#[derive(Clone, Debug)]
pub struct PlannedPass {
    /// The tensor that the pass writes.
    pub target: TensorId,
    /// One part for each tensor that the pass reads. A part is a step of the runner.
    pub parts: Vec<PlannedPart>,
    /// The program's tensors between the tensors that the pass reads and the target. The pass does not write them.
    pub via: Vec<TensorId>,
    /// The tensors whose memory can be freed after this pass. This pass or an earlier one wrote them, they are not
    /// outputs, and no later pass reads them.
    pub released: Vec<TensorId>,
}

/// The part of a pass that reads from one tensor.
#[derive(Clone, Debug)]
pub struct PlannedPart {
    /// The tensor that the part reads.
    pub from: TensorId,
    /// The move. `None` if it would need more boxes than the budget allows; then the tensor is moved in tiles.
    pub work: Option<Move>,
    /// The index of the step in the runner.
    pub step: usize,
}

impl<B: Backend> PlannedProgram<B> {
    /// Plans all outputs of `program` with the budget of `backend`.
    ///
    /// Input n of the runner is input n of the program.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) for a tensor that cannot be addressed, or if there is not
    /// enough memory for the constants.
    pub fn new(backend: B, program: &Program) -> Result<PlannedProgram<B>> {
        let budget = backend.budget();
        PlannedProgram::within(backend, program, budget)
    }

    /// Plans all outputs as in [`PlannedProgram::new`], with another budget.
    ///
    /// # Errors
    /// As [`PlannedProgram::new`].
    pub fn within(backend: B, program: &Program, budget: Budget) -> Result<PlannedProgram<B>> {
        let lowered = ProgramMoves::lowered(program, None, budget, TooMany::Tiles)?;
        let steps: Vec<_> = lowered.steps().collect();
        let runner = Runner::new(backend, &steps, &lowered.constants())?;
        let ProgramMoves { steps, mut passes, .. } = lowered;
        // One step for each part, in order.
        let parts = passes.iter_mut().flat_map(|pass| &mut pass.parts);
        parts.zip(steps).for_each(|(part, step)| part.work = step.work.one());
        let bytes = |pass: &PlannedPass| (pass.target, program.tensor(pass.target).bytes());
        let bytes = passes.iter().map(bytes).collect();
        Ok(PlannedProgram { passes, outputs: outputs(program), bytes, runner })
    }

    /// Allocates the memory for intermediate tensors now instead of in the first run of the
    /// [`runner`](PlannedProgram::runner).
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the backend does not have enough memory.
    pub fn allocated(self) -> Result<PlannedProgram<B>> {
        self.runner.allocate()?;
        Ok(self)
    }

    /// The passes, in execution order.
    pub fn passes(&self) -> &[PlannedPass] {
        &self.passes
    }

    /// The tensor of each output of the runner. A tensor that is several outputs of the program occurs once.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// The runner that runs the passes.
    pub fn runner(&self) -> &Runner<B> {
        &self.runner
    }

    /// The plan of a part.
    pub fn plans_of(&self, part: &PlannedPart) -> &Plans<B> {
        &self.runner.steps()[part.step].work
    }

    /// The number of bytes that a pass writes.
    pub fn bytes_of(&self, pass: &PlannedPass) -> usize {
        self.bytes[&pass.target]
    }

    /// The number of bytes that all passes together write.
    pub fn moved_bytes(&self) -> usize {
        self.passes.iter().map(|pass| self.bytes_of(pass)).fold(0, usize::saturating_add)
    }

    /// The peak size in bytes of outputs and intermediate tensors during [`run_new`](PlannedProgram::run_new).
    pub fn peak_bytes(&self) -> usize {
        let (mut live, mut peak) = (0usize, 0);
        for pass in &self.passes {
            live = live.saturating_add(self.bytes_of(pass));
            peak = peak.max(live);
            let released = pass.released.iter().map(|id| self.bytes[id]);
            live = live.saturating_sub(released.fold(0, usize::saturating_add));
        }
        peak
    }

    /// Runs all passes to new buffers, one for each of the [outputs](PlannedProgram::outputs).
    ///
    /// `done` is called after each pass.
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
        // No step writes an output without elements.
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
