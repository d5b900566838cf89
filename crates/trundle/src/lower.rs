//! Lowers a program to steps between buffers: passes over memory, and the moves of each pass.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::program::{Budget, Made, Pass, Program, Read, TensorId, Tiles};
use trundle_core::{Error, IndexMap, Layout, Move, MoveError, Result};

use crate::lowering::{BufferId, Moves, PlannedPart, PlannedPass, Step};

/// The work of one step.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    One(Move),
    /// A whole tensor in tiles.
    Tiles(Tiles),
}

impl Work {
    pub(crate) fn one(self) -> Option<Move> {
        match self {
            Work::One(work) => Some(work),
            Work::Tiles(_) => None,
        }
    }

    fn borrowed(&self) -> Moves<'_> {
        match self {
            Work::One(work) => Moves::One(work),
            Work::Tiles(tiles) => Moves::Tiles(tiles.clone()),
        }
    }
}

/// How to move a tensor that has too many boxes for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// In tiles, between contiguous buffers.
    Tiles,
    /// By one move of the composed maps. Requires that each tensor of the program is moved from the previous
    /// one.
    Directly,
}

/// A program as steps between buffers. A temporary buffer has the index of its tensor.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub(crate) steps: Vec<Step<Work>>,
    /// The passes of the program with the indices of their steps. Their parts hold no moves; the steps do.
    pub(crate) passes: Vec<PlannedPass>,
    pub(crate) constants: Vec<Vec<u8>>,
}

/// The layouts of the inputs and of the only output.
pub(crate) type Layouts<'a> = (&'a [Layout], &'a Layout);

impl Lowered {
    /// Lowers `program`, for the given layouts or for row-major ones.
    ///
    /// # Errors
    /// [`Error`] for layouts that cannot be addressed or written, and [`MoveError::NotOnePass`] where a composed map
    /// is not
    /// one move.
    pub(crate) fn new(
        program: &Program,
        layouts: Option<Layouts<'_>>,
        budget: Budget,
        too_many: TooMany,
    ) -> Result<Lowered> {
        let mut direct = Lowering::new(program, layouts, budget.clone(), too_many);
        if direct.put_passes(true)? {
            return Ok(direct.lowered());
        }
        // Axes are split or merged across gaps of the output, so the result is copied there by a separate move.
        let mut lowering = Lowering::new(program, layouts, budget, too_many);
        lowering.put_passes(false)?;
        lowering.put_copy_to_out()?;
        Ok(lowering.lowered())
    }

    pub(crate) fn steps(&self) -> impl ExactSizeIterator<Item = Step<Moves<'_>>> {
        self.steps.iter().map(|Step { source, target, work }| Step {
            source: *source,
            target: *target,
            work: work.borrowed(),
        })
    }

    pub(crate) fn constants(&self) -> Vec<&[u8]> {
        self.constants.iter().map(Vec::as_slice).collect()
    }
}

/// The distinct outputs of a program.
pub(crate) fn outputs(program: &Program) -> Vec<TensorId> {
    let mut seen = BTreeSet::new();
    program.outputs().iter().copied().filter(|output| seen.insert(*output)).collect()
}

struct Lowering<'a> {
    program: &'a Program,
    outputs: Vec<TensorId>,
    layouts: Option<Layouts<'a>>,
    budget: Budget,
    too_many: TooMany,
    /// The inputs that are made contiguous first.
    contiguous: BTreeSet<TensorId>,
    steps: Vec<Step<Work>>,
    passes: Vec<PlannedPass>,
    constants: Vec<&'a [u8]>,
    constant_of: BTreeMap<TensorId, usize>,
}

impl<'a> Lowering<'a> {
    fn new(
        program: &'a Program,
        layouts: Option<Layouts<'a>>,
        budget: Budget,
        too_many: TooMany,
    ) -> Lowering<'a> {
        Lowering {
            program,
            outputs: outputs(program),
            layouts,
            budget,
            too_many,
            contiguous: BTreeSet::new(),
            steps: Vec::new(),
            passes: Vec::new(),
            constants: Vec::new(),
            constant_of: BTreeMap::new(),
        }
    }

    fn lowered(self) -> Lowered {
        let constants = self.constants.into_iter().map(<[u8]>::to_vec).collect();
        Lowered { steps: self.steps, passes: self.passes, constants }
    }

    /// Lowers the passes of the program. If `direct`, they write to the layouts of the outputs, otherwise to
    /// contiguous buffers.
    ///
    /// Returns whether it succeeded: not every program can be written to every layout.
    fn put_passes(&mut self, direct: bool) -> Result<bool> {
        let layouts = match (direct, self.layouts) {
            (true, Some((_, out))) => {
                self.outputs.iter().map(|output| (*output, out.clone())).collect()
            }
            _ => BTreeMap::new(),
        };
        let mut last = TensorId(0);
        for pass in self.program.passes_to(&layouts, &mut self.budget.clone()) {
            let Pass { target, reads, via, released } = pass;
            let index = self.outputs.iter().position(|output| *output == target);
            let index = index.filter(|_| direct);
            let to = index.map_or(BufferId::Temporary(target.0), BufferId::Output);
            let out = self.layouts.filter(|_| index.is_some()).map(|(_, out)| out);
            let mut parts = Vec::new();
            let reads = match reads.is_empty() && self.too_many == TooMany::Directly {
                // A tensor without elements still gets a move.
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
                        (source, Move::of_regions(&regions, width, &layout))
                    }
                    None if self.too_many == TooMany::Directly => {
                        (self.source(from), self.composed(from, target, out))
                    }
                    None if out.is_some_and(|out| !self.is_contiguous(target, out)) => {
                        return Ok(false);
                    }
                    None => {
                        let source = self.contiguous_source(from)?;
                        let tiles = self.program.tiles(target, self.budget.few);
                        let tiles = tiles
                            .unwrap_or_else(|| unreachable!("only moved tensors are in tiles"));
                        parts.push(PlannedPart { from, work: None, step: self.steps.len() });
                        self.put(source, to, Work::Tiles(tiles));
                        continue;
                    }
                };
                match work {
                    Err(Error::Move(MoveError::NotOnePass { .. }))
                        if direct && self.layouts.is_some() =>
                    {
                        return Ok(false);
                    }
                    work => {
                        parts.push(PlannedPart { from, work: None, step: self.steps.len() });
                        self.put(source, to, Work::One(work?));
                    }
                }
            }
            self.passes.push(PlannedPass { target, parts, via, released });
            last = target;
        }
        Ok(true)
    }

    /// Composes the maps from one tensor to a later one into a move.
    fn composed(&self, from: TensorId, target: TensorId, out: Option<&Layout>) -> Result<Move> {
        let (width, contiguous) = (self.program.tensor(target).width, self.packed(target)?);
        let (src, dst) = (self.layout(from)?, out.unwrap_or(&contiguous));
        Move::new(&map_between(self.program, from, target)?, width, &src, dst, self.budget.directly)
    }

    /// Copies the result from its contiguous buffer to the output.
    fn put_copy_to_out(&mut self) -> Result<()> {
        if let (Some((_, out)), [output]) = (self.layouts, self.outputs[..].as_ref()) {
            let source = BufferId::Temporary(output.0);
            self.put_copy(*output, source, (self.packed(*output)?, out), BufferId::Output(0))?;
        }
        Ok(())
    }

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
        self.put(source, target, Work::One(work));
        Ok(())
    }

    fn put(&mut self, source: BufferId, target: BufferId, work: Work) {
        self.steps.push(Step { source, target, work });
    }

    /// The buffer to read a tensor from. Inputs and constants are read from their own buffer, even if they are
    /// also outputs.
    fn source(&mut self, id: TensorId) -> BufferId {
        match &self.program.tensor(id).made {
            Made::Given(_) if self.contiguous.contains(&id) => BufferId::Temporary(id.0),
            Made::Given(input) => BufferId::Input(*input),
            Made::Fill(element) => {
                let constants = &mut self.constants;
                BufferId::Constant(*self.constant_of.entry(id).or_insert_with(|| {
                    constants.push(element);
                    constants.len() - 1
                }))
            }
            Made::Moved { .. } | Made::Joined { .. } => {
                let index = self.outputs.iter().position(|output| *output == id);
                index.map_or(BufferId::Temporary(id.0), BufferId::Output)
            }
        }
    }

    /// The buffer to read a tensor from, after making it contiguous if it is not.
    fn contiguous_source(&mut self, id: TensorId) -> Result<BufferId> {
        let layout = self.layout(id)?;
        if !self.is_contiguous(id, &layout) {
            let (source, packed) = (self.source(id), self.packed(id)?);
            self.put_copy(id, source, (layout, &packed), BufferId::Temporary(id.0))?;
            self.contiguous.insert(id);
        }
        Ok(self.source(id))
    }

    /// The layout of a tensor that is read.
    fn layout(&self, id: TensorId) -> Result<Layout> {
        match (&self.program.tensor(id).made, self.layouts) {
            (Made::Given(input), Some((inputs, _))) if !self.contiguous.contains(&id) => {
                Ok(inputs[*input].clone())
            }
            _ => self.packed(id),
        }
    }

    /// The row-major layout without gaps.
    fn packed(&self, id: TensorId) -> Result<Layout> {
        let tensor = self.program.tensor(id);
        Layout::row_major(&tensor.shape, tensor.width.units())
    }

    fn is_contiguous(&self, id: TensorId, layout: &Layout) -> bool {
        self.packed(id).is_ok_and(|packed| packed == *layout)
    }
}

/// Composes the maps from one tensor of a program of maps to a later one.
///
/// # Errors
/// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) for maps that do not compose.
pub(crate) fn map_between(program: &Program, from: TensorId, to: TensorId) -> Result<IndexMap> {
    let between = &program.tensors()[from.0 + 1..=to.0];
    let identity = IndexMap::identity(&program.tensor(from).shape);
    between.iter().try_fold(identity, |whole, next| match &next.made {
        Made::Moved { map, .. } => whole.then(map),
        _ => Ok(whole),
    })
}
