//! A program of several tensors, planned between the layouts that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use trundle_core::program::{Made, Pass, Program, TensorId};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, Result};

use crate::lowering::{BufferId, Device, Moves, Plans, Runner, Step};

/// A [`Program`] with one output, decided for the layouts of its inputs and of what it makes: what joins several
/// tensors, or puts a constant around one. It runs on bytes, as often as one likes.
///
/// ```
/// use trundle::{Layout, Program, ProgramPlan, Shape};
///
/// let mut program = Program::new();
/// let [one, other] = [program.given(Shape::new([2])?, 1)?, program.given(Shape::new([3])?, 1)?];
/// let joined = program.joined(0, &[one, other])?;
/// program.output(joined)?;
/// // The second backwards.
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
    moved_bytes: usize,
    /// The least bytes of what each step writes to.
    written: Vec<usize>,
}

/// The moves of a plan, with the buffers between which they are.
struct Steps<'a> {
    program: &'a Program,
    output: TensorId,
    inputs: &'a [Layout],
    out: &'a Layout,
    device: &'a Device,
    /// The inputs that are made contiguous first.
    contiguous: BTreeSet<TensorId>,
    moves: Vec<(BufferId, BufferId, Work)>,
    constants: Vec<&'a [u8]>,
}

enum Work {
    One(Move),
    /// All of a tensor in tiles.
    Tiles(TensorId),
}

impl ProgramPlan {
    /// The plan of the only output of `program`, written to `out`, from inputs that have these layouts in the buffers
    /// of a run. `threads` is how many may take part; `None` for [as many as calls have here](crate::threads).
    ///
    /// # Errors
    /// [`Error::NumberOutOfRange`] for a program of other than one output, [`Error::SizesDiffer`] if there is not one
    /// layout for each input, [`Error::ShapeMismatch`] for one of another shape, [`Error::OverlappingLayout`] for an
    /// `out` that would be written twice at one place, [`Error::TooLarge`].
    pub fn new(
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
        threads: Option<usize>,
    ) -> Result<ProgramPlan> {
        let output = only_output(program)?;
        check(program, output, inputs, out)?;
        let device = Device::new(threads);
        let simplified = program.clone().simplified(&device.budget());
        let mut steps = Steps::new(&simplified, output, inputs, out, &device);
        if !steps.put_passes(true)? {
            // Axes are split or merged across gaps of `out`: what is made is put there by a move of its own.
            steps = Steps::new(&simplified, output, inputs, out, &device);
            steps.put_passes(false)?;
            steps.put_copy_to_out()?;
        }
        let moved_bytes = steps.moves.iter().map(|(_, _, work)| match work {
            Work::One(work) => work.moved_bytes(),
            Work::Tiles(target) => simplified.tensor(*target).bytes(),
        });
        let moved_bytes = moved_bytes.fold(0, usize::saturating_add);
        let few = device.budget().few;
        let mut planned = Vec::with_capacity(steps.moves.len());
        for (source, target, work) in &steps.moves {
            let work = match work {
                Work::One(work) => Moves::One(work),
                Work::Tiles(tensor) => Moves::Tiles(
                    simplified
                        .tiles(*tensor, few)
                        .unwrap_or_else(|| unreachable!("only moved tensors are in tiles")),
                ),
            };
            planned.push(Step { source: *source, target: *target, work });
        }
        let runner = Runner::new(device.clone(), &planned, &steps.constants)?;
        let written = steps.moves.iter().map(|(_, _, work)| match work {
            Work::One(work) => work.dst_bytes(),
            Work::Tiles(target) => simplified.tensor(*target).bytes(),
        });
        Ok(ProgramPlan { runner, moved_bytes, written: written.collect() })
    }

    /// [`ProgramPlan::new`] from and to row-major tensors without gaps.
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

    /// The same plan, with what lies between its passes allocated now and not by the first run: unless several threads
    /// run it at once, no run allocates then, but for one of tiles.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the memory has no room for it.
    pub fn allocated(self) -> Result<ProgramPlan> {
        self.runner.allocate()?;
        Ok(self)
    }

    /// Moves the elements of the inputs to `out`. Bytes of `out` that no element covers are left as they are.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a buffer is missing, or shorter than the planned layouts; nothing has been written
    /// then. [`Error::TooLarge`] if the memory has no room for what lies between two passes.
    pub fn run(&self, inputs: &[&[u8]], out: &mut [u8]) -> Result<()> {
        self.runner.run(inputs, &mut [out])
    }

    /// [`ProgramPlan::run`] as long as `go_on` says so, which is asked as [`Plan::run_while`](crate::Plan::run_while)
    /// says.
    ///
    /// # Errors
    /// As [`ProgramPlan::run`], and [`Error::Stopped`] if `go_on` said no: any bytes of `out` may have been written
    /// then, and others not.
    pub fn run_while(
        &self,
        inputs: &[&[u8]],
        out: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.runner.run_while(inputs, &mut [out], go_on)
    }

    /// [`ProgramPlan::run`] on slices of elements of any type, of the width of the program's; `fill` is the
    /// buffer of its constant, if it has one. What lies between two passes is allocated.
    ///
    /// # Errors
    /// As [`ProgramPlan::run`], and [`Error::WidthMismatch`] if elements would be torn.
    pub(crate) fn run_slices<T: Copy + 'static>(
        &self,
        inputs: &[&[T]],
        fill: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let Some(any) = out.first().copied() else { return Ok(()) };
        let mut between: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for (Step { source, target, work }, written) in
            self.runner.steps().iter().zip(&self.written)
        {
            let mut own = match target {
                BufferId::Temporary(id) => Some((*id, between.remove(id).unwrap_or_default())),
                _ => None,
            };
            let target = match &mut own {
                Some((_, buffer)) => {
                    let elements = written.div_ceil(size_of::<T>().max(1));
                    buffer.resize(elements.max(buffer.len()), any);
                    &mut buffer[..]
                }
                None => &mut *out,
            };
            let source = match source {
                BufferId::Input(input) => inputs.get(*input).copied().unwrap_or_default(),
                BufferId::Constant(_) => fill,
                BufferId::Temporary(id) => between.get(id).map_or(&[][..], Vec::as_slice),
                BufferId::Output(_) => unreachable!("an output is not read again"),
            };
            match work {
                Plans::One(plan) => plan.run_buffer_into(source, target)?,
                Plans::Filled(plan, _) => plan.run_slice_into(source, fill, target)?,
                Plans::Along => {}
                Plans::Tiles(_) => {
                    return Err(Error::TooLarge { what: "a tensor in so many boxes".to_owned() });
                }
            }
            between.extend(own);
        }
        Ok(())
    }

    /// How many passes over memory the moves are: those to one tensor are one, each of which writes a part of it.
    pub fn passes(&self) -> usize {
        let mut targets: Vec<BufferId> = Vec::new();
        for step in self.runner.steps() {
            if !targets.contains(&step.target) {
                targets.push(step.target);
            }
        }
        targets.len()
    }

    /// The bytes that are written by all moves together.
    pub fn moved_bytes(&self) -> usize {
        self.moved_bytes
    }

    /// The bytes that are held between passes.
    pub fn scratch_bytes(&self) -> usize {
        self.runner.temporary_bytes()
    }
}

fn only_output(program: &Program) -> Result<TensorId> {
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
        device: &'a Device,
    ) -> Steps<'a> {
        let contiguous = BTreeSet::new();
        let (moves, constants) = (Vec::new(), Vec::new());
        Steps { program, output, inputs, out, device, contiguous, moves, constants }
    }

    /// The passes of the program, the last to `out` if it `is_direct`, else to a contiguous buffer. Whether it is done:
    /// not every program can be written to every layout.
    fn put_passes(&mut self, is_direct: bool) -> Result<bool> {
        let layouts = match is_direct {
            true => BTreeMap::from([(self.output, self.out.clone())]),
            false => BTreeMap::new(),
        };
        for Pass { target, reads, .. } in
            self.program.passes_to(&layouts, &mut self.device.budget())
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
                    self.moves.push((from, to, Work::Tiles(target)));
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
                    work => self.moves.push((from, to, Work::One(work?))),
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
        self.moves.push((source, BufferId::Output(0), Work::One(work)));
        Ok(())
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
            self.moves.push((from, BufferId::Temporary(id.0), Work::One(work)));
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

impl fmt::Display for ProgramPlan {
    /// The plan of each move.
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
