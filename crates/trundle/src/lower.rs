//! Lowers a program to passes over memory, and each pass to moves between buffers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use trundle_core::program::{Budget, Made, Pass, Program, Read, TensorId};
use trundle_core::{
    Backend, Error, IndexMap, Layout, Move, MoveError, OpError, Result, Width, check_shape,
    check_sizes,
};

use crate::lowering::{BufferId, Device, Moves, Runner, Step};
use crate::runner::temporary_bytes;

/// A pass, which writes one tensor. If the target is also the source, the pass copies it to another layout.
#[derive(Clone, Debug)]
pub struct PlannedPass {
    /// The tensor that the pass writes.
    pub target: TensorId,
    /// The size of the target in bytes.
    pub bytes: usize,
    /// One part for each tensor that the pass reads; none if the target has no elements. A part is a step of the
    /// runner.
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
    /// The index of the step in the runner.
    pub step: usize,
}

/// The treatment of a tensor that has too many boxes for one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooMany {
    /// The tensor is moved in tiles, between contiguous buffers.
    Tiles,
    /// The tensor is made by one move of the composed maps. Each tensor of the program must be moved from the previous
    /// one.
    Directly,
}

/// The layouts of the inputs and of the only output.
type Layouts<'a> = (&'a [Layout], &'a Layout);

/// The moves that make the outputs of a [`Program`], pass by pass.
///
/// A [`Runner`] runs them on any backend.
///
/// ```
/// use trundle::lowering::{Backend, Device, ProgramMoves};
/// use trundle::{Layout, Program, Shape};
///
/// let mut program = Program::new();
/// let [one, other] = [program.given(Shape::new([2])?, 1)?, program.given(Shape::new([3])?, 1)?];
/// let joined = program.joined(0, &[one, other])?;
/// program.output(joined)?;
/// // The second input is read backwards.
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
    /// A temporary buffer has the index of its tensor.
    steps: Vec<Step<Moves>>,
    passes: Vec<PlannedPass>,
    constants: Vec<Vec<u8>>,
    outputs: Vec<TensorId>,
}

impl ProgramMoves {
    /// Lowers the only output of `program` to moves that read and write tensors with these layouts.
    ///
    /// `budget` usually comes from a [backend](Backend::budget).
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] if the program does not have exactly one output,
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the number of layouts differs from the
    /// number of inputs, [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) for a layout of another
    /// shape, [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) if two elements of `out`
    /// share a byte, [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if a tensor cannot be addressed.
    pub fn new(
        program: &Program,
        inputs: &[Layout],
        out: &Layout,
        budget: &Budget,
    ) -> Result<ProgramMoves> {
        let output = only_output(program)?;
        check(program, output, inputs, out)?;
        let simplified = program.clone().simplified(budget);
        ProgramMoves::lowered(&simplified, Some((inputs, out)), budget, TooMany::Tiles)
    }

    /// Lowers all outputs of `program` to moves between row-major tensors. The program is not simplified.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) for a tensor that cannot be addressed.
    pub fn row_major(program: &Program, budget: &Budget) -> Result<ProgramMoves> {
        ProgramMoves::lowered(program, None, budget, TooMany::Tiles)
    }

    /// Lowers `program` for the given layouts, or for row-major ones.
    ///
    /// # Errors
    /// [`Error`] for a layout that cannot be addressed or written, and [`MoveError::NotOnePass`] if
    /// [`TooMany::Directly`] meets a map that cannot be one move.
    fn lowered(
        program: &Program,
        layouts: Option<Layouts<'_>>,
        budget: &Budget,
        too_many: TooMany,
    ) -> Result<ProgramMoves> {
        let lowering = || Lowering {
            program,
            layouts,
            budget,
            too_many,
            contiguous: BTreeSet::new(),
            constant_of: BTreeMap::new(),
            moves: ProgramMoves {
                steps: Vec::new(),
                passes: Vec::new(),
                constants: Vec::new(),
                outputs: outputs(program),
            },
        };
        let mut direct = lowering();
        if direct.put_passes(true)? {
            return Ok(direct.moves);
        }
        // Split or merged axes cross gaps of the output, so a separate move copies the result there.
        let mut through_copy = lowering();
        through_copy.put_passes(false)?;
        if let (Some((_, out)), [output]) = (layouts, through_copy.moves.outputs[..].as_ref()) {
            let (id, packed) = (*output, through_copy.packed(*output)?);
            let source = BufferId::Temporary(id.0);
            through_copy.put_copy(id, source, (packed, out), BufferId::Output(0))?;
        }
        Ok(through_copy.moves)
    }

    /// Creates a runner that runs the moves on a backend.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the backend does not have enough memory for the
    /// constants.
    pub fn runner<B: Backend>(&self, backend: B) -> Result<Runner<B>> {
        Runner::new(backend, &self.steps, &self.constants)
    }

    /// The moves, in execution order.
    pub fn steps(&self) -> &[Step<Moves>] {
        &self.steps
    }

    /// The passes over memory, in execution order.
    pub fn passes(&self) -> &[PlannedPass] {
        &self.passes
    }

    /// The tensor of each output of the runner. A tensor that is several outputs of the program occurs once.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// The size in bytes of the memory for tensors between passes.
    pub fn temporary_bytes(&self) -> usize {
        temporary_bytes(&self.steps, &self.constants)
    }

    /// Returns the move if there is only one, from the first input to the output.
    pub fn only_move(&self) -> Option<&Move> {
        match &self.steps[..] {
            [
                Step {
                    source: BufferId::Input(0),
                    target: BufferId::Output(0),
                    work: Moves::One(work),
                },
            ] => Some(work),
            _ => None,
        }
    }
}

fn outputs(program: &Program) -> Vec<TensorId> {
    let mut seen = BTreeSet::new();
    program.outputs().iter().copied().filter(|output| seen.insert(*output)).collect()
}

struct Lowering<'a> {
    program: &'a Program,
    layouts: Option<Layouts<'a>>,
    budget: &'a Budget,
    too_many: TooMany,
    /// The inputs that a copy first makes contiguous.
    contiguous: BTreeSet<TensorId>,
    constant_of: BTreeMap<TensorId, usize>,
    moves: ProgramMoves,
}

impl Lowering<'_> {
    /// Lowers the passes of the program, to outputs in the given layouts if `direct`, otherwise to contiguous buffers.
    ///
    /// Returns false if the layouts cannot be written directly.
    fn put_passes(&mut self, direct: bool) -> Result<bool> {
        let layouts = match (direct, self.layouts) {
            (true, Some((_, out))) => {
                self.moves.outputs.iter().map(|output| (*output, out.clone())).collect()
            }
            _ => BTreeMap::new(),
        };
        let mut last = TensorId(0);
        for pass in self.program.passes_to(&layouts, &mut self.budget.clone()) {
            let Pass { target, reads, via, released } = pass;
            let index = self.output(target).filter(|_| direct);
            let to = index.map_or(BufferId::Temporary(target.0), BufferId::Output);
            let out = self.layouts.filter(|_| index.is_some()).map(|(_, out)| out);
            let mut parts = Vec::new();
            let reads = match reads.is_empty() && self.too_many == TooMany::Directly {
                // A tensor without elements gets a move too: each pass of a chain is one move.
                true => vec![Read { from: last, regions: None }],
                false => reads,
            };
            for Read { from, regions } in reads {
                let (source, work) = match regions {
                    Some(regions) => {
                        let own = self.layout(from)?;
                        let counted = match own.shape() == regions.shape() {
                            true => Some(own),
                            false => own.reshaped(regions.shape()),
                        };
                        let width = self.program.tensor(from).width;
                        let (source, layout) = match counted {
                            Some(layout) => (self.source(from), layout),
                            None => {
                                let source = self.contiguous_source(from)?;
                                (source, Layout::row_major(regions.shape(), width.units())?)
                            }
                        };
                        (source, Move::of_regions(&regions, width, &layout).map(Moves::One))
                    }
                    None if self.too_many == TooMany::Directly => {
                        (self.source(from), self.composed(from, target, out).map(Moves::One))
                    }
                    None if out.is_some_and(|out| !self.is_contiguous(target, out)) => {
                        return Ok(false);
                    }
                    None => {
                        let source = self.contiguous_source(from)?;
                        let tiles = self.program.tiles(target, self.budget.few);
                        let tiles = tiles
                            .unwrap_or_else(|| unreachable!("only moved tensors are in tiles"));
                        (source, Ok(Moves::Tiles(tiles)))
                    }
                };
                match work {
                    Err(Error::Move(MoveError::NotOnePass { .. }))
                        if direct && self.layouts.is_some() =>
                    {
                        return Ok(false);
                    }
                    work => {
                        parts.push(PlannedPart { from, step: self.moves.steps.len() });
                        self.moves.steps.push(Step { source, target: to, work: work? });
                    }
                }
            }
            let bytes = self.program.tensor(target).bytes();
            self.moves.passes.push(PlannedPass { target, bytes, parts, via, released });
            last = target;
        }
        Ok(true)
    }

    fn composed(&self, from: TensorId, target: TensorId, out: Option<&Layout>) -> Result<Move> {
        let (width, contiguous) = (self.program.tensor(target).width, self.packed(target)?);
        let (src, dst) = (self.layout(from)?, out.unwrap_or(&contiguous));
        Move::new(&map_between(self.program, from, target)?, width, &src, dst, self.budget.directly)
    }

    /// Adds a pass that copies a tensor to another layout.
    fn put_copy(
        &mut self,
        id: TensorId,
        source: BufferId,
        (from, to): (Layout, &Layout),
        target: BufferId,
    ) -> Result<()> {
        let tensor = self.program.tensor(id);
        let map = IndexMap::identity(&tensor.shape);
        let work = Move::new(&map, tensor.width, &from, to, 1)?;
        let parts = vec![PlannedPart { from: id, step: self.moves.steps.len() }];
        self.moves.passes.push(PlannedPass {
            target: id,
            bytes: tensor.bytes(),
            parts,
            via: Vec::new(),
            released: Vec::new(),
        });
        self.moves.steps.push(Step { source, target, work: Moves::One(work) });
        Ok(())
    }

    fn output(&self, id: TensorId) -> Option<usize> {
        self.moves.outputs.iter().position(|output| *output == id)
    }

    /// Returns the buffer of a tensor. Inputs and constants have their own buffer, even if they are outputs.
    fn source(&mut self, id: TensorId) -> BufferId {
        match &self.program.tensor(id).made {
            Made::Given(_) if self.contiguous.contains(&id) => BufferId::Temporary(id.0),
            Made::Given(input) => BufferId::Input(*input),
            Made::Fill(element) => {
                let constants = &mut self.moves.constants;
                BufferId::Constant(*self.constant_of.entry(id).or_insert_with(|| {
                    constants.push(element.clone());
                    constants.len() - 1
                }))
            }
            Made::Moved { .. } | Made::Joined { .. } => {
                self.output(id).map_or(BufferId::Temporary(id.0), BufferId::Output)
            }
        }
    }

    /// Returns the buffer from which to read a tensor, and makes it contiguous if necessary.
    fn contiguous_source(&mut self, id: TensorId) -> Result<BufferId> {
        let layout = self.layout(id)?;
        if !self.is_contiguous(id, &layout) {
            let (source, packed) = (self.source(id), self.packed(id)?);
            self.put_copy(id, source, (layout, &packed), BufferId::Temporary(id.0))?;
            self.contiguous.insert(id);
        }
        Ok(self.source(id))
    }

    fn layout(&self, id: TensorId) -> Result<Layout> {
        match (&self.program.tensor(id).made, self.layouts) {
            (Made::Given(input), Some((inputs, _))) if !self.contiguous.contains(&id) => {
                Ok(inputs[*input].clone())
            }
            _ => self.packed(id),
        }
    }

    fn packed(&self, id: TensorId) -> Result<Layout> {
        let tensor = self.program.tensor(id);
        Layout::row_major(&tensor.shape, tensor.width.units())
    }

    fn is_contiguous(&self, id: TensorId, layout: &Layout) -> bool {
        self.packed(id).is_ok_and(|packed| packed == *layout)
    }
}

/// Composes the maps from one tensor to a later one, each moved from the previous one.
///
/// # Errors
/// The errors of [`IndexMap::then`].
fn map_between(program: &Program, from: TensorId, to: TensorId) -> Result<IndexMap> {
    let between = &program.tensors()[from.0 + 1..=to.0];
    let identity = IndexMap::identity(&program.tensor(from).shape);
    between.iter().try_fold(identity, |whole, next| match &next.made {
        Made::Moved { map, .. } => whole.then(map),
        _ => Ok(whole),
    })
}

/// One pass over memory, which usually runs one or more neighbouring operators of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPass {
    /// The indices of the operators that the pass completes. Empty for a copy, and for a pass that does only a part of
    /// an operator.
    pub stages: Range<usize>,
    /// The map from indices of the pass's output to indices of its input.
    pub map: IndexMap,
}

/// Makes one move of a map between two layouts; `None` if it has too many boxes for one pass on `device`.
///
/// This builds no program, because most calls have one operator and are planned every time.
///
/// # Errors
/// As [`chain_passes`].
pub(crate) fn one_move(
    map: &IndexMap,
    width: Width,
    src: &Layout,
    dst: &Layout,
    device: &Device,
) -> Result<Option<Move>> {
    match Move::new(map, width, src, dst, device.budget().most(dst.shape())) {
        Err(Error::Move(MoveError::NotOnePass { .. })) => Ok(None),
        work => work.map(Some),
    }
}

/// Lowers `maps`, applied in order, to passes from layout `src` to layout `dst`, with as few passes as the budget of
/// `device` allows.
///
/// The tensors between two passes are contiguous. [`ChainPass::stages`] are indices of `maps`.
///
/// # Errors
/// [`Error`] if a layout does not have the shape of its end of the maps, or cannot be addressed or written.
pub(crate) fn chain_passes(
    maps: Vec<IndexMap>,
    width: Width,
    src: &Layout,
    dst: &Layout,
    device: &Device,
) -> Result<(Vec<ChainPass>, Vec<Move>)> {
    let stages = maps.len();
    // Planning a composed map of one layer without a program takes half the time.
    let whole = match &maps[..] {
        [] => None,
        [first, rest @ ..] => {
            let whole = rest.iter().try_fold(first.clone(), |whole, next| whole.then(next))?;
            (stages == 1 || whole.layers().len() == 1).then_some(whole)
        }
    };
    if let Some(map) = whole
        && let Some(work) = one_move(&map, width, src, dst, device)?
    {
        return Ok((vec![ChainPass { stages: 0..stages, map }], vec![work]));
    }
    let budget = device.budget();
    let maps = MapProgram::new(maps, width, src, &budget)?;
    check_shape("out", &maps.program.tensor(maps.last()).shape, dst.shape())?;
    let layouts = (std::slice::from_ref(src), dst);
    let program = &maps.program;
    let lowered = ProgramMoves::lowered(program, Some(layouts), &budget, TooMany::Directly);
    let lowered = lowered.map_err(|error| match error {
        Error::Move(MoveError::NotOnePass { .. }) => {
            let (from, to) = (src.shape().clone(), dst.shape().clone());
            Error::Move(MoveError::NotOnePass { from, to })
        }
        error => error,
    })?;
    let (mut passes, mut moves) = (Vec::new(), Vec::new());
    for Step { source, target, work } in lowered.steps {
        let Moves::One(work) = work else { unreachable!("a chain is not moved in tiles") };
        let [from, to] = [source, target].map(|id| maps.tensor(id));
        let stages = maps.reached[from.0]..maps.reached[to.0];
        passes.push(ChainPass { stages, map: map_between(program, from, to)? });
        moves.push(work);
    }
    joined((passes, moves), width, (src, dst), device)
}

/// Joins neighbouring passes whose composed map can run as one.
///
/// The maps of a program are composed one after another. So an intermediate map may need its own pass although the
/// composed map does not. For example, a slice with a step cannot be pulled back through partly reversed rows.
fn joined(
    (passes, moves): (Vec<ChainPass>, Vec<Move>),
    width: Width,
    (src, dst): (&Layout, &Layout),
    device: &Device,
) -> Result<(Vec<ChainPass>, Vec<Move>)> {
    let count = passes.len();
    let (mut joined_passes, mut joined_moves) = (Vec::<ChainPass>::new(), Vec::new());
    for (number, (mut pass, mut work)) in passes.into_iter().zip(moves).enumerate() {
        if let Some(before) = joined_passes.last() {
            let map = before.map.then(&pass.map)?;
            let contiguous = |shape| Layout::row_major(shape, width.units());
            let is_first = joined_passes.len() == 1;
            let from = if is_first { src.clone() } else { contiguous(map.in_shape())? };
            let to = if number + 1 == count { dst.clone() } else { contiguous(map.out_shape())? };
            if let Some(both) = one_move(&map, width, &from, &to, device)? {
                let stages = before.stages.start..pass.stages.end;
                (pass, work) = (ChainPass { stages, map }, both);
                joined_passes.pop();
                joined_moves.pop();
            }
        }
        joined_passes.push(pass);
        joined_moves.push(work);
    }
    Ok((joined_passes, joined_moves))
}

struct MapProgram {
    program: Program,
    /// For each tensor, the number of completely applied maps.
    reached: Vec<usize>,
}

impl MapProgram {
    /// A map that would have too many blocks is split into several tensors.
    fn new(maps: Vec<IndexMap>, width: Width, src: &Layout, budget: &Budget) -> Result<MapProgram> {
        let mut program = Program::new();
        let mut last = program.given(src.shape().clone(), width)?;
        let mut reached = vec![0];
        for (stage, map) in maps.into_iter().enumerate() {
            let mut left = vec![map];
            while let Some(map) = left.pop() {
                if let Some((first, second)) = map.split(budget.most(map.out_shape())) {
                    left.extend([second, first]);
                    continue;
                }
                last = program.moved(last, map)?;
                reached.push(stage + usize::from(left.is_empty()));
            }
        }
        program.output(last)?;
        Ok(MapProgram { program, reached })
    }

    fn last(&self) -> TensorId {
        TensorId(self.reached.len() - 1)
    }

    fn tensor(&self, id: BufferId) -> TensorId {
        match id {
            BufferId::Input(index) | BufferId::Temporary(index) => TensorId(index),
            BufferId::Output(_) | BufferId::Constant(_) => self.last(),
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
    let layouts = ("the list of layouts", inputs.len());
    check_sizes(layouts, ("the list of the program's inputs", program.inputs()))?;
    let given = program.tensors().iter().filter_map(|tensor| match tensor.made {
        Made::Given(input) => Some(("data", &tensor.shape, &inputs[input])),
        _ => None,
    });
    for (argument, shape, layout) in given.chain([("out", &program.tensor(output).shape, out)]) {
        check_shape(argument, shape, layout.shape())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;

    use super::*;

    #[test]
    fn axes_that_do_not_fit_a_layout_are_made_contiguous_first() {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let (whole, parts) = (shape(&[3, 4]), shape(&[2, 6]));
        let map = IndexMap::reshape(&whole, &parts).unwrap();
        let stages = |src: &Layout, dst: &Layout| -> Vec<bool> {
            let (passes, moves) =
                chain_passes(vec![map.clone()], Width::Bytes(1), src, dst, &Device::default())
                    .unwrap();
            assert_eq!(passes.len(), moves.len());
            passes.into_iter().map(|pass| pass.stages.is_empty()).collect()
        };
        let (from, to) =
            (Layout::row_major(&whole, 1).unwrap(), Layout::row_major(&parts, 1).unwrap());
        // Rows with a gap of one byte.
        let gaps_from = Layout::strided(&whole, 0, &[5, 1]).unwrap();
        let gaps_to = Layout::strided(&parts, 0, &[7, 1]).unwrap();
        assert_eq!(stages(&from, &to), [false]);
        assert_eq!(stages(&gaps_from, &to), [false]);
        assert_eq!(stages(&gaps_from, &gaps_to), [true, false]);
    }
}
