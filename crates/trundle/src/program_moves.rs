//! A program of several tensors as moves between the layouts that they have, for any backend.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::program::{Budget, Made, Pass, Program, TensorId, Tiles};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, Result};

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
pub struct ProgramMoves {
    steps: Vec<Step<Work>>,
    constants: Vec<Vec<u8>>,
}

/// What a step moves.
#[derive(Clone, Debug)]
enum Work {
    One(Move),
    /// All of a tensor in tiles.
    Tiles(Tiles),
}

impl Work {
    fn borrowed(&self) -> Moves<'_> {
        match self {
            Work::One(work) => Moves::One(work),
            Work::Tiles(tiles) => Moves::Tiles(tiles.clone()),
        }
    }
}

impl ProgramMoves {
    /// The moves to the only output of `program`, written to `out`, from inputs that have these layouts in the buffers of a
    /// run, at what few of them are worth to a [backend](Backend::budget).
    ///
    /// # Errors
    /// [`Error::NumberOutOfRange`] for a program of other than one output, [`Error::SizesDiffer`] if there is not one
    /// layout for each input, [`Error::ShapeMismatch`] for one of another shape, [`Error::OverlappingLayout`] for an
    /// `out` that would be written twice at one place, [`Error::TooLarge`].
    pub fn new(
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
        budget: &Budget,
    ) -> Result<ProgramMoves> {
        let output = only_output(program)?;
        check(program, output, inputs, out)?;
        let simplified = program.clone().simplified(budget);
        let mut steps = Steps::new(&simplified, output, inputs, out, budget);
        if !steps.put_passes(true)? {
            // Axes are split or merged across gaps of `out`: what is made is put there by a move of its own.
            steps = Steps::new(&simplified, output, inputs, out, budget);
            steps.put_passes(false)?;
            steps.put_copy_to_out()?;
        }
        let constants = steps.constants.iter().map(|element| element.to_vec()).collect();
        Ok(ProgramMoves { steps: steps.moves, constants })
    }

    /// The moves, planned on a backend.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if its memory has no room for the constants.
    pub fn runner<B: Backend>(&self, backend: B) -> Result<Runner<B>> {
        Runner::new(backend, &self.steps().collect::<Vec<_>>(), &self.constants())
    }

    /// The moves, in the order in which they run.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<Moves<'_>>> {
        self.steps.iter().map(|Step { source, target, work }| Step {
            source: *source,
            target: *target,
            work: work.borrowed(),
        })
    }

    /// The buffers that are filled before anything runs: an element each.
    pub fn constants(&self) -> Vec<&[u8]> {
        self.constants.iter().map(Vec::as_slice).collect()
    }

    /// How many passes over memory the moves are: those to one tensor are one, each of which writes a part of it.
    pub fn passes(&self) -> usize {
        self.steps.iter().map(|step| step.target).collect::<BTreeSet<_>>().len()
    }

    /// The bytes that are held between passes.
    pub fn temporary_bytes(&self) -> usize {
        temporary_bytes(&self.steps().collect::<Vec<_>>(), &self.constants())
    }

    /// The only move, if there is one alone, from the only input to the output.
    pub fn only_move(&self) -> Option<&Move> {
        match &self.steps[..] {
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

/// The moves on their way, with the buffers between which they are.
struct Steps<'a> {
    program: &'a Program,
    output: TensorId,
    inputs: &'a [Layout],
    out: &'a Layout,
    budget: &'a Budget,
    /// The inputs that are made contiguous first.
    contiguous: BTreeSet<TensorId>,
    moves: Vec<Step<Work>>,
    constants: Vec<&'a [u8]>,
}

pub(crate) fn only_output(program: &Program) -> Result<TensorId> {
    let [output] = program.outputs() else {
        let number = i64::try_from(program.outputs().len()).unwrap_or(i64::MAX);
        let argument = "the number of outputs";
        return Err(Error::NumberOutOfRange { argument, number, expected: "1" });
    };
    Ok(*output)
}

fn check(program: &Program, output: TensorId, inputs: &[Layout], out: &Layout) -> Result<()> {
    if inputs.len() != program.inputs() {
        let (left, right) = ("the layouts of the inputs", "the inputs of the program");
        let (left_size, right_size) = (inputs.len(), program.inputs());
        return Err(Error::SizesDiffer { left, right, left_size, right_size });
    }
    let given = program.tensors().iter().filter_map(|tensor| match tensor.made {
        Made::Given(input) => Some(("data", &tensor.shape, &inputs[input])),
        _ => None,
    });
    for (argument, shape, layout) in given.chain([("out", &program.tensor(output).shape, out)]) {
        if layout.shape() != shape {
            let (expected, got) = (shape.clone(), layout.shape().clone());
            return Err(Error::ShapeMismatch { argument, expected, got });
        }
    }
    Ok(())
}

impl<'a> Steps<'a> {
    fn new(
        program: &'a Program,
        output: TensorId,
        inputs: &'a [Layout],
        out: &'a Layout,
        budget: &'a Budget,
    ) -> Steps<'a> {
        let contiguous = BTreeSet::new();
        let (moves, constants) = (Vec::new(), Vec::new());
        Steps { program, output, inputs, out, budget, contiguous, moves, constants }
    }

    /// The passes of the program, the last to `out` if it `is_direct`, else to a contiguous buffer. Whether it is done:
    /// not every program can be written to every layout.
    fn put_passes(&mut self, is_direct: bool) -> Result<bool> {
        let layouts = match is_direct {
            true => BTreeMap::from([(self.output, self.out.clone())]),
            false => BTreeMap::new(),
        };
        for Pass { target, reads, .. } in self.program.passes_to(&layouts, &mut self.budget.clone())
        {
            let is_last = target == self.output;
            let to = match is_last && is_direct {
                true => BufferId::Output(0),
                false => BufferId::Temporary(target.0),
            };
            for read in reads {
                let from = self.source(read.from);
                let Some(regions) = &read.regions else {
                    if is_last && is_direct && !self.is_contiguous(self.out) {
                        return Ok(false);
                    }
                    let from = self.contiguous_source(read.from)?;
                    let tiles = self.tiles(target);
                    self.put(from, to, Work::Tiles(tiles));
                    continue;
                };
                let width = self.program.tensor(read.from).width;
                let own = self.layout(read.from)?;
                let counted = match own.shape() == regions.shape() {
                    true => Some(own),
                    false => own.reshaped(regions.shape()),
                };
                let (from, layout) = match counted {
                    Some(layout) => (from, layout),
                    None => {
                        let from = self.contiguous_source(read.from)?;
                        (from, Layout::row_major(regions.shape(), width.units())?)
                    }
                };
                match Move::of_regions(regions, width, &layout) {
                    Err(Error::NotOnePass { .. }) if is_direct => return Ok(false),
                    work => self.put(from, to, Work::One(work?)),
                }
            }
        }
        Ok(true)
    }

    /// What stands in a contiguous buffer is put to `out`.
    fn put_copy_to_out(&mut self) -> Result<()> {
        let tensor = self.program.tensor(self.output);
        let from = Layout::row_major(&tensor.shape, tensor.width.units())?;
        let map = IndexMap::identity(&tensor.shape);
        let work = Move::new(&map, tensor.width, &from, self.out, 1)?;
        let source = BufferId::Temporary(self.output.0);
        self.put(source, BufferId::Output(0), Work::One(work));
        Ok(())
    }

    fn put(&mut self, source: BufferId, target: BufferId, work: Work) {
        self.moves.push(Step { source, target, work });
    }

    /// All of a tensor that is moved.
    fn tiles(&self, target: TensorId) -> Tiles {
        let tiles = self.program.tiles(target, self.budget.few);
        tiles.unwrap_or_else(|| unreachable!("only moved tensors are in tiles"))
    }

    /// Where a tensor is read.
    fn source(&mut self, id: TensorId) -> BufferId {
        match &self.program.tensor(id).made {
            Made::Given(_) if self.contiguous.contains(&id) => BufferId::Temporary(id.0),
            Made::Given(input) => BufferId::Input(*input),
            Made::Fill(element) => {
                self.constants.push(element);
                BufferId::Constant(self.constants.len() - 1)
            }
            Made::Moved { .. } | Made::Joined { .. } => BufferId::Temporary(id.0),
        }
    }

    /// The same, made contiguous first if it is not.
    fn contiguous_source(&mut self, id: TensorId) -> Result<BufferId> {
        let layout = self.layout(id)?;
        if !self.is_contiguous(&layout) {
            let tensor = self.program.tensor(id);
            let map = IndexMap::identity(&tensor.shape);
            let to = Layout::row_major(&tensor.shape, tensor.width.units())?;
            let work = Move::new(&map, tensor.width, &layout, &to, 1)?;
            let from = self.source(id);
            self.put(from, BufferId::Temporary(id.0), Work::One(work));
            self.contiguous.insert(id);
        }
        Ok(self.source(id))
    }

    /// How the elements of a tensor that is read lie.
    fn layout(&self, id: TensorId) -> Result<Layout> {
        let tensor = self.program.tensor(id);
        match &tensor.made {
            Made::Given(input) if !self.contiguous.contains(&id) => Ok(self.inputs[*input].clone()),
            _ => Layout::row_major(&tensor.shape, tensor.width.units()),
        }
    }

    fn is_contiguous(&self, layout: &Layout) -> bool {
        let width = self.program.tensor(self.output).width;
        Layout::row_major(layout.shape(), width.units()).is_ok_and(|packed| packed == *layout)
    }
}
