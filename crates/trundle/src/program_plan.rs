//! Plans of programs, pass by pass.

use std::collections::BTreeMap;
use std::fmt;

use trundle_core::program::{Budget, Program, TensorId};
use trundle_core::{Backend, Layout, Move, Result};

use crate::lower::only_output;
use crate::lowering::{Device, Moves, PlannedPart, PlannedPass, Plans, ProgramMoves, Runner, Step};

/// A [`Program`], planned on the CPU or on another backend.
///
/// Use a program plan to move several tensors, or tensors and constants, into one. On the CPU, you can run it on bytes,
/// any number of times. It has the moves of the program too ([`ProgramPlan::move_of`]).
///
/// ```
/// use trundle::{Layout, Program, ProgramPlan, Shape};
///
/// let mut program = Program::new();
/// let [one, other] = [program.given(Shape::new([2])?, 1)?, program.given(Shape::new([3])?, 1)?];
/// let joined = program.joined(0, &[one, other])?;
/// program.output(joined)?;
/// // The second input is read backwards.
/// let layouts = [Layout::row_major(&Shape::new([2])?, 1)?, Layout::strided(&Shape::new([3])?, 2, &[-1])?];
/// let out = Layout::row_major(&Shape::new([5])?, 1)?;
/// let plan = ProgramPlan::new(&program, &layouts, &out, None)?;
/// let mut bytes = [0; 5];
/// plan.run(&[b"ab", b"cde"], &mut bytes)?;
/// assert_eq!(&bytes, b"abedc");
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// The [`runner`](ProgramPlan::runner) of a plan for several outputs, or for another backend, runs it:
///
/// ```
/// use trundle::lowering::{Backend, Device};
/// use trundle::{Program, ProgramPlan, Shape};
///
/// let mut program = Program::new();
/// let row = program.given(Shape::new([3])?, 1)?;
/// let dash = program.fill(1, b"-")?;
/// let dash = program.broadcast(dash, &Shape::new([2])?)?;
/// let padded = program.joined(0, &[dash, row])?;
/// program.output(padded)?;
/// let device = Device::default();
/// let budget = device.budget();
/// let plan = ProgramPlan::on(device, &program, &budget)?;
/// let mut out = [0; 5];
/// plan.runner().run(&[b"abc"], &mut [&mut out])?;
/// assert_eq!(&out, b"--abc");
/// # Ok::<(), trundle::Error>(())
/// ```
#[derive(Debug)]
pub struct ProgramPlan<B: Backend = Device> {
    moves: ProgramMoves,
    runner: Runner<B>,
}

impl ProgramPlan {
    /// Plans the only output of `program`, for inputs and an output of these layouts.
    ///
    /// `threads` is the maximum number of threads; `None` means [the default](crate::threads).
    ///
    /// # Errors
    /// [`NumberOutOfRange`](crate::OpError::NumberOutOfRange) if the program does not have exactly one output,
    /// [`SizesDiffer`](crate::ShapeError::SizesDiffer) if there is not one layout for each input,
    /// [`ShapeMismatch`](crate::ShapeError::ShapeMismatch) for a layout of another shape,
    /// [`OverlappingLayout`](crate::LayoutError::OverlappingLayout) if elements of `out` overlap,
    /// [`TooLarge`](crate::ShapeError::TooLarge) for a tensor that cannot be addressed.
    pub fn new(
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
        threads: Option<usize>,
    ) -> Result<ProgramPlan> {
        let device = Device::new(threads);
        let moves = ProgramMoves::new(program, inputs, out, &device.budget())?;
        Ok(ProgramPlan { runner: moves.runner(device)?, moves })
    }

    /// Plans `program` as in [`ProgramPlan::new`], for contiguous row-major inputs and output.
    ///
    /// # Errors
    /// As [`ProgramPlan::new`].
    pub fn row_major(program: &Program, threads: Option<usize>) -> Result<ProgramPlan> {
        only_output(program)?;
        let device = Device::new(threads);
        let budget = device.budget();
        ProgramPlan::on(device, &program.clone().simplified(&budget), &budget)
    }

    /// Moves the elements of the inputs to `out`.
    ///
    /// `inputs` has the bytes of one buffer for each input of the program, in order. The buffers must have the planned
    /// layouts. Bytes of `out` outside the elements stay unchanged.
    ///
    /// # Errors
    /// [`OutOfBounds`](crate::LayoutError::OutOfBounds) if a buffer is missing or too short for its planned layout. In
    /// this case, `out` is unchanged. [`TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for the
    /// intermediate tensors.
    pub fn run(&self, inputs: &[&[u8]], out: &mut [u8]) -> Result<()> {
        self.runner.run(inputs, &mut [out])
    }

    /// Runs as [`ProgramPlan::run`] until it is finished or `go_on` returns false, see
    /// [`Plan::run_while`](crate::Plan::run_while).
    ///
    /// # Errors
    /// The errors of [`ProgramPlan::run`], and [`Stopped`](crate::Error::Stopped) if `go_on` returned false. In this
    /// case, `out` may be partly written.
    pub fn run_while(
        &self,
        inputs: &[&[u8]],
        out: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.runner.run_while(inputs, &mut [out], go_on)
    }
}

impl<B: Backend> ProgramPlan<B> {
    /// Plans all outputs of `program` on a backend, for row-major inputs and outputs.
    ///
    /// Input n of the [`runner`](ProgramPlan::runner) is input n of the program. `budget` usually comes from the
    /// [backend](Backend::budget). The program is not simplified: you can call [`Program::simplified`] first.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) for a tensor that cannot be addressed, or if there is not
    /// enough memory for the constants.
    pub fn on(backend: B, program: &Program, budget: &Budget) -> Result<ProgramPlan<B>> {
        let moves = ProgramMoves::row_major(program, budget)?;
        Ok(ProgramPlan { runner: moves.runner(backend)?, moves })
    }

    /// Allocates the memory for intermediate tensors now instead of in the first run.
    ///
    /// Later runs to the caller's buffers allocate only if several threads run the plan at once, or if a move is cut
    /// into tiles: each run plans the tiles again.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory.
    pub fn allocated(self) -> Result<ProgramPlan<B>> {
        self.runner.allocate()?;
        Ok(self)
    }

    /// The passes over memory, in execution order.
    pub fn passes(&self) -> &[PlannedPass] {
        self.moves.passes()
    }

    /// The tensor of each output of the runner. A tensor that is several outputs of the program occurs once.
    pub fn outputs(&self) -> &[TensorId] {
        self.moves.outputs()
    }

    /// The runner that runs the passes.
    pub fn runner(&self) -> &Runner<B> {
        &self.runner
    }

    /// The move of a part. `None` if it would need more boxes than the budget allows; then the tensor is moved in tiles.
    pub fn move_of(&self, part: &PlannedPart) -> Option<&Move> {
        match &self.moves.steps()[part.step].work {
            Moves::One(work) => Some(work),
            Moves::Tiles(_) => None,
        }
    }

    /// The plan of a part.
    pub fn plans_of(&self, part: &PlannedPart) -> &Plans<B> {
        &self.runner.steps()[part.step].work
    }

    /// The number of bytes that all passes together write.
    pub fn moved_bytes(&self) -> usize {
        self.passes().iter().map(|pass| pass.bytes).fold(0, usize::saturating_add)
    }

    /// The size in bytes of the memory for intermediate tensors.
    pub fn scratch_bytes(&self) -> usize {
        self.runner.temporary_bytes()
    }

    /// The peak size in bytes of outputs and intermediate tensors during [`run_new`](ProgramPlan::run_new).
    ///
    /// It is exact for plans of [`ProgramPlan::on`]. For other plans, temporary copies count until the end of the run,
    /// and gaps in outputs do not count.
    pub fn peak_bytes(&self) -> usize {
        let bytes: BTreeMap<_, _> =
            self.passes().iter().map(|pass| (pass.target, pass.bytes)).collect();
        let (mut live, mut peak) = (0usize, 0);
        for pass in self.passes() {
            live = live.saturating_add(pass.bytes);
            peak = peak.max(live);
            let released = pass.released.iter().map(|id| bytes[id]);
            live = live.saturating_sub(released.fold(0, usize::saturating_add));
        }
        peak
    }

    /// Runs all passes to new buffers, one for each of the [outputs](ProgramPlan::outputs).
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
        let mut passes = self.passes().iter();
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
        (0..self.outputs().len()).map(output).collect()
    }
}

impl<B: Backend> fmt::Display for ProgramPlan<B> {
    /// Writes the plan of each move.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.runner.steps();
        let moves = if steps.len() == 1 { "move" } else { "moves" };
        write!(f, "{} {moves}, {} bytes", steps.len(), self.moved_bytes())?;
        for Step { source, target, work } in steps {
            write!(f, "\nfrom {source} to {target}: {work}")?;
        }
        Ok(())
    }
}
