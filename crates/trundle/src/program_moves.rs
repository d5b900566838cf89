//! Lowers a program to moves between given layouts, for any backend.

use std::collections::BTreeSet;

use trundle_core::program::{Budget, Made, Program, TensorId};
use trundle_core::{Backend, Layout, Move, OpError, Result, check_shape, check_sizes};

use crate::lower::{Lowered, TooMany, Work};
use crate::lowering::{BufferId, Moves, Runner, Step};
use crate::runner::temporary_bytes;

/// A [`Program`] with one output as moves between the layouts of its inputs and its output. A [`Runner`] of any
/// backend runs them; [`ProgramPlan`](crate::ProgramPlan) runs them on the CPU.
///
/// ```
/// use trundle::lowering::{Backend, Device, ProgramMoves};
/// use trundle::{Layout, Program, Shape};
///
/// let mut program = Program::new();
/// let [one, other] = [program.given(Shape::new([2])?, 1)?, program.given(Shape::new([3])?, 1)?];
/// let joined = program.joined(0, &[one, other])?;
/// program.output(joined)?;
/// // The second backwards.
/// let layouts = [Layout::row_major(&Shape::new([2])?, 1)?, Layout::strided(&Shape::new([3])?, 2, &[-1])?];
/// let out = Layout::row_major(&Shape::new([5])?, 1)?;
/// let device = Device::default();
/// let moves = ProgramMoves::new(&program, &layouts, &out, &device.budget())?;
/// let mut bytes = [0; 5];
/// moves.runner(device)?.run(&[b"ab", b"cde"], &mut [&mut bytes])?;
/// assert_eq!(&bytes, b"abedc");
/// # Ok::<(), trundle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProgramMoves(Lowered);

impl ProgramMoves {
    /// Lowers the only output of `program` to moves that write layout `out` and read inputs of the given
    /// layouts. `budget` usually comes from a [backend](Backend::budget).
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] for a program of other than one output,
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if there is not one
    /// layout for each input, [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) for one of another
    /// shape, [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) for an
    /// `out` that would be written twice at one place, [`ShapeError::TooLarge`](crate::ShapeError::TooLarge).
    pub fn new(
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
        budget: &Budget,
    ) -> Result<ProgramMoves> {
        let output = only_output(program)?;
        check(program, output, inputs, out)?;
        let simplified = program.clone().simplified(budget);
        let lowered =
            Lowered::new(&simplified, Some((inputs, out)), budget.clone(), TooMany::Tiles)?;
        Ok(ProgramMoves(lowered))
    }

    /// Plans the moves on a backend.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if its memory has no room for the constants.
    pub fn runner<B: Backend>(&self, backend: B) -> Result<Runner<B>> {
        Runner::new(backend, &self.steps().collect::<Vec<_>>(), &self.constants())
    }

    /// The moves, in the order in which they run.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<Moves<'_>>> {
        self.0.steps()
    }

    /// The constant buffers, of one element each; they are filled before a run.
    pub fn constants(&self) -> Vec<&[u8]> {
        self.0.constants()
    }

    /// The number of passes over memory. Several moves to the same tensor are one pass.
    pub fn passes(&self) -> usize {
        self.0.steps.iter().map(|step| step.target).collect::<BTreeSet<_>>().len()
    }

    /// The bytes of memory between passes.
    pub fn temporary_bytes(&self) -> usize {
        temporary_bytes(&self.steps().collect::<Vec<_>>(), &self.constants())
    }

    /// The only move, if the program is one move from its only input to the output.
    pub fn only_move(&self) -> Option<&Move> {
        match &self.0.steps[..] {
            [
                Step {
                    source: BufferId::Input(0),
                    target: BufferId::Output(0),
                    work: Work::One(work),
                },
            ] => Some(work),
            _ => None,
        }
    }
}

pub(crate) fn only_output(program: &Program) -> Result<TensorId> {
    let [output] = program.outputs() else {
        let number = i64::try_from(program.outputs().len()).unwrap_or(i64::MAX);
        let argument = "the number of outputs";
        return Err(OpError::NumberOutOfRange { argument, number, expected: "1" }.into());
    };
    Ok(*output)
}

fn check(program: &Program, output: TensorId, inputs: &[Layout], out: &Layout) -> Result<()> {
    let layouts = ("the layouts of the inputs", inputs.len());
    check_sizes(layouts, ("the inputs of the program", program.inputs()))?;
    let given = program.tensors().iter().filter_map(|tensor| match tensor.made {
        Made::Given(input) => Some(("data", &tensor.shape, &inputs[input])),
        _ => None,
    });
    for (argument, shape, layout) in given.chain([("out", &program.tensor(output).shape, out)]) {
        check_shape(argument, shape, layout.shape())?;
    }
    Ok(())
}
