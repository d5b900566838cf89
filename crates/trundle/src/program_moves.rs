//! A program of several tensors as moves between the layouts that they have, for any backend.

use std::collections::BTreeSet;

use trundle_core::program::{Budget, Made, Program, TensorId};
use trundle_core::{Backend, Layout, Move, OpError, Result, check_shape, check_sizes};

use crate::lower::{Lowered, TooMany, Work};
use crate::lowering::{BufferId, Moves, Runner, Step};
use crate::runner::temporary_bytes;

/// A [`Program`] with one output as moves between the layouts of its inputs and of what it makes. A [`Runner`] of any
/// backend carries them out; [`ProgramPlan`](crate::ProgramPlan) is one of the CPU.
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
    /// The moves to the only output of `program`, written to `out`, from inputs that have these layouts in the buffers of a
    /// run, at what few of them are worth to a [backend](Backend::budget).
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] for a program of other than one output, [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if there is not one
    /// layout for each input, [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) for one of another shape, [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) for an
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

    /// The moves, planned on a backend.
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

    /// The buffers that are filled before anything runs: an element each.
    pub fn constants(&self) -> Vec<&[u8]> {
        self.0.constants()
    }

    /// How many passes over memory the moves are: those to one tensor are one, each of which writes a part of it.
    pub fn passes(&self) -> usize {
        self.0.steps.iter().map(|step| step.target).collect::<BTreeSet<_>>().len()
    }

    /// The bytes that are held between passes.
    pub fn temporary_bytes(&self) -> usize {
        temporary_bytes(&self.steps().collect::<Vec<_>>(), &self.constants())
    }

    /// The only move, if there is one alone, from the only input to the output.
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
