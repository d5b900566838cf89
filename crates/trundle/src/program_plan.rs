//! Plans of programs on the CPU, for inputs and an output of any layouts.

use std::fmt;

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{Backend, Layout, Result};

use crate::lower::only_output;
use crate::lowering::{Device, ProgramMoves, Runner, Step};

/// A [`Program`] with one output, planned for the layouts of its inputs and its output.
///
/// Use a program plan to move several tensors, or tensors and constants, into one. You can run it on bytes, any number
/// of times.
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
#[derive(Debug)]
pub struct ProgramPlan {
    runner: Runner<Device>,
    passes: usize,
    moved_bytes: usize,
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
        let moved_bytes = moves.steps().map(|step| step.work.moved_bytes());
        let moved_bytes = moved_bytes.fold(0, usize::saturating_add);
        let passes = moves.passes();
        Ok(ProgramPlan { runner: moves.runner(device)?, passes, moved_bytes })
    }

    /// Plans `program` as in [`ProgramPlan::new`], for contiguous row-major inputs and output.
    ///
    /// # Errors
    /// As [`ProgramPlan::new`].
    pub fn row_major(program: &Program, threads: Option<usize>) -> Result<ProgramPlan> {
        let layout = |id: TensorId| {
            let tensor = program.tensor(id);
            Layout::row_major(&tensor.shape, tensor.width.units())
        };
        let is_given = |id: &TensorId| matches!(program.tensor(*id).made, Made::Given(_));
        let given = (0..program.tensors().len()).map(TensorId).filter(is_given);
        let inputs = given.map(layout).collect::<Result<Vec<_>>>()?;
        let out = layout(only_output(program)?)?;
        ProgramPlan::new(program, &inputs, &out, threads)
    }

    /// Allocates the memory for intermediate tensors now instead of in the first run.
    ///
    /// Later runs allocate only if several threads run the plan at once, or if a move is cut into tiles: each run plans
    /// the tiles again.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory.
    pub fn allocated(self) -> Result<ProgramPlan> {
        self.runner.allocate()?;
        Ok(self)
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

    /// The number of passes over memory. All moves to the same tensor are one pass.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// The number of bytes that all moves together write.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }

    /// The size in bytes of the memory for intermediate tensors.
    pub fn scratch_bytes(&self) -> usize {
        self.runner.temporary_bytes()
    }
}

impl fmt::Display for ProgramPlan {
    /// Writes the plan of each move.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.runner.steps();
        let moves = if steps.len() == 1 { "move" } else { "moves" };
        write!(f, "{} {moves}, {} bytes", steps.len(), self.moved_bytes)?;
        for Step { source, target, work } in steps {
            write!(f, "\nfrom {source} to {target}: {work}")?;
        }
        Ok(())
    }
}
