//! One tensor of a program pulled back to the tensors that it can be read from.
//!
//! A pull-back begins with the whole of its target as one region, and takes the regions of one tensor
//! after another, the latest first, to what that is made of: via a map, or to the parts of a
//! join. So each tensor is met once, however many paths lead to it. Regions are counted while
//! they are made. Where they would be too many, the tensor at which they stand is to be written
//! first, and the target is pulled back again, with one more tensor to read from. If that cannot
//! help, since the target itself is cut too often, it is read from what it is made of directly.
//!
//! Both end: each pull-back that fails names a tensor that was not written before, and what is
//! directly made of others is always few steps: a join has as many regions as parts, and a map of
//! too many boxes is moved in tiles, each planned when it is run.

use std::collections::{BTreeMap, BTreeSet};

use super::partition::Partition;
use super::{Budget, Made, Program, TensorId};
use crate::{AxisMap, IndexMap, Layout, Regions, Shape};

/// Where the elements of a tensor are read, if it is written in one pass.
pub(super) struct PullBack<'a> {
    program: &'a Program,
    /// The tensors that are written before.
    stored: &'a BTreeSet<TensorId>,
    target: TensorId,
    /// Where its elements are to be; `None` for row-major.
    layout: Option<&'a Layout>,
    budget: &'a mut Budget,
    /// What of the budget is left for this target alone.
    own: usize,
    /// How many regions there may be; more by the parts of each join that they come through.
    most: usize,
    /// How many there are, on the way and at their sources.
    count: usize,
    /// The regions of the target that stand at tensors on the way.
    left: BTreeMap<TensorId, Regions>,
    /// The regions of the target by the tensor that they are read from, and by the shape as which
    /// it is read: the elements of a packed tensor can be counted in any shape.
    pub(super) sources: BTreeMap<(TensorId, Vec<usize>), Regions>,
    /// The tensors on the way.
    pub(super) via: BTreeSet<TensorId>,
}

/// What comes of pulling a tensor back.
pub(super) enum PulledBack<'a> {
    /// What it is read from exists, or is written before.
    FromSources(PullBack<'a>),
    /// This one has to be written first; then it can be tried again.
    Needs(TensorId),
    /// It is read from what it is made of directly, which has to be written first.
    Directly(PullBack<'a>),
    /// It is a movement of this tensor, in too many boxes: it is moved in tiles.
    InTiles(TensorId),
}

/// The regions would be too many: this tensor would have to be written first.
struct TooMany(TensorId);

impl<'a> PullBack<'a> {
    /// Pulls `target` back to what is given, filled and `stored`.
    pub(super) fn of(
        program: &'a Program,
        stored: &'a BTreeSet<TensorId>,
        target: TensorId,
        layout: Option<&'a Layout>,
        budget: &'a mut Budget,
    ) -> PulledBack<'a> {
        let shape = &program.tensor(target).shape;
        let (own, most) = (budget.steps_each, budget.most(shape));
        let mut pulled = PullBack {
            program,
            stored,
            target,
            layout,
            budget,
            own,
            most,
            count: 0,
            left: BTreeMap::new(),
            sources: BTreeMap::new(),
            via: BTreeSet::new(),
        };
        if shape.elements() == 0 {
            return PulledBack::FromSources(pulled);
        }
        match pulled.pull() {
            Ok(()) => {
                pulled.budget.keep(shape, pulled.count);
                PulledBack::FromSources(pulled)
            }
            Err(TooMany(other)) if other != target && !pulled.is_source(other) => {
                PulledBack::Needs(other)
            }
            Err(_) => pulled.directly(),
        }
    }

    /// The whole target.
    fn whole(&self) -> Regions {
        self.counted(&self.program.tensor(self.target).shape)
            .unwrap_or_else(|| unreachable!("the layout of an output has its shape"))
    }

    /// The whole target, counted in a shape of as many elements; `None` if its layout has no strides
    /// for that.
    fn counted(&self, shape: &Shape) -> Option<Regions> {
        if let Some(layout) = self.layout {
            return Some(match layout.shape() == shape {
                true => Regions::of(layout),
                false => Regions::of(&layout.reshaped(shape)?),
            });
        }
        let units = self.program.tensor(self.target).width.units();
        let layout = Layout::row_major(shape, units).unwrap_or_else(|error| {
            unreachable!("a tensor of a program can be addressed: {error}")
        });
        Some(Regions::of(&layout))
    }

    fn pull(&mut self) -> Result<(), TooMany> {
        let program = self.program;
        self.begin()?;
        while let Some((tensor, regions)) = self.left.pop_last() {
            if self.is_source(tensor) {
                self.read(tensor, regions);
                continue;
            }
            if tensor != self.target {
                self.via.insert(tensor);
            }
            match &program.tensor(tensor).made {
                Made::Moved { .. } => {
                    let (from, map) = self.composed(tensor)?;
                    self.moved(tensor, regions, from, &map)?;
                }
                Made::Joined { axis, parts } => self.joined(tensor, regions, *axis, parts)?,
                Made::Given(_) | Made::Fill(_) => {}
            }
        }
        Ok(())
    }

    /// All of the target. A reshape that it ends with is only another count of what is written.
    fn begin(&mut self) -> Result<(), TooMany> {
        self.count = 1;
        if let Made::Moved { .. } = self.program.tensor(self.target).made {
            let (from, map) = self.composed(self.target)?;
            if let Some(rest) = map.without_output_reshape()
                && let Some(whole) = self.counted(rest.out_shape())
            {
                return self.moved(self.target, whole, from, &rest);
            }
        }
        self.left.insert(self.target, self.whole());
        Ok(())
    }

    /// What a moved tensor is made of, via as many others as compose into one map of few boxes.
    fn composed(&mut self, tensor: TensorId) -> Result<(TensorId, IndexMap), TooMany> {
        let program = self.program;
        let Made::Moved { from, map } = &program.tensor(tensor).made else {
            return Ok((tensor, IndexMap::identity(&program.tensor(tensor).shape)));
        };
        let (mut from, mut composed) = (*from, map.clone());
        while !self.is_source(from)
            && let Made::Moved { from: next, map } = &program.tensor(from).made
            && boxes(map).saturating_mul(boxes(&composed)) <= self.budget.composed
            && composed.layers().len() + map.layers().len() <= self.budget.layers
        {
            self.spend(map.in_shape(), composed.layers().len() * boxes(&composed))?;
            let Ok(Some(longer)) = map.then(&composed) else { break };
            self.via.insert(from);
            (from, composed) = (*next, longer);
        }
        Ok((from, composed))
    }

    /// Regions of a tensor as regions of the one that it is moved from.
    fn moved(
        &mut self,
        tensor: TensorId,
        regions: Regions,
        from: TensorId,
        map: &IndexMap,
    ) -> Result<(), TooMany> {
        let (before, room) = (regions.len(), self.room(regions.len()));
        let regions = match regions.through(map, room) {
            Ok(pulled) => {
                self.spend(map.in_shape(), pulled.len())?;
                self.recount(before, pulled.len());
                self.leave(from, pulled);
                return Ok(());
            }
            Err(regions) => regions,
        };
        self.spend(map.in_shape(), room)?;
        if let Some(rest) = map.without_source_reshape()
            && let Ok(pulled) = regions.through(&rest, room)
        {
            if !self.is_source(from) {
                return Err(TooMany(from));
            }
            self.recount(before, pulled.len());
            self.read(from, pulled);
            return Ok(());
        }
        Err(self.needs(tensor))
    }

    /// More regions that stand at a tensor on the way.
    fn leave(&mut self, at: TensorId, regions: Regions) {
        let regions = match self.left.remove(&at) {
            Some(others) => others.and(regions),
            None => regions,
        };
        self.left.insert(at, regions);
    }

    /// More regions that are read from a tensor.
    fn read(&mut self, from: TensorId, regions: Regions) {
        let key = (from, regions.shape().sizes().to_vec());
        let regions = match self.sources.remove(&key) {
            Some(others) => others.and(regions),
            None => regions,
        };
        self.sources.insert(key, regions);
    }

    /// Regions of a tensor as regions of its parts.
    fn joined(
        &mut self,
        tensor: TensorId,
        regions: Regions,
        axis: usize,
        parts: &[TensorId],
    ) -> Result<(), TooMany> {
        let program = self.program;
        self.most = self.budget.raised(&program.tensor(self.target).shape, self.most, parts);
        let (before, room) = (regions.len(), self.room(regions.len()));
        let mut partition = Partition::new(axis, parts, program.ends(tensor), room);
        let fits = partition.put(regions).is_some();
        let count = partition.count;
        self.spend(&program.tensor(tensor).shape, if fits { count } else { room })?;
        if !fits {
            return Err(self.needs(tensor));
        }
        self.recount(before, count);
        for (part, regions) in partition.of_parts {
            self.leave(part, regions);
        }
        Ok(())
    }

    /// What has to be written first where `tensor` cannot be pulled back any further.
    fn needs(&self, tensor: TensorId) -> TooMany {
        match &self.program.tensor(tensor).made {
            // The target itself cannot: what it is made of, then.
            Made::Moved { from, .. } if tensor == self.target => TooMany(*from),
            _ => TooMany(tensor),
        }
    }

    /// The target read from what it is made of, whatever that is made of.
    fn directly(mut self) -> PulledBack<'a> {
        let program = self.program;
        let tensor = program.tensor(self.target);
        let whole = self.whole();
        self.left.clear();
        self.sources.clear();
        self.via.clear();
        match &tensor.made {
            Made::Moved { from, map } => {
                let most = self.budget.most_directly(&tensor.shape);
                let Some(regions) = self.via_one(whole, map, most) else {
                    return PulledBack::InTiles(*from);
                };
                self.count = regions.len();
                self.read(*from, regions);
            }
            Made::Joined { axis, parts } => {
                let ends = program.ends(self.target);
                let mut partition = Partition::new(*axis, parts, ends, usize::MAX);
                // A whole tensor is cut between any two parts.
                let _ = partition.put(whole);
                self.count = partition.count;
                for (part, regions) in partition.of_parts {
                    self.read(part, regions);
                }
            }
            Made::Given(_) | Made::Fill(_) => self.read(self.target, whole),
        }
        self.budget.keep(&tensor.shape, self.count);
        PulledBack::Directly(self)
    }

    /// The whole target via its own map, if that is few boxes.
    fn via_one(&mut self, whole: Regions, map: &IndexMap, most: usize) -> Option<Regions> {
        let rest = map.without_output_reshape();
        let counted = rest.and_then(|rest| Some((self.counted(rest.out_shape())?, rest)));
        let (mut whole, map) = counted.unwrap_or_else(|| (whole, map.clone()));
        for map in [Some(map.clone()), map.without_source_reshape()].into_iter().flatten() {
            if boxes(&map) > most {
                continue;
            }
            // What it costs is known before: whether it was left does not matter here.
            self.budget.spend(&mut self.own, map.in_shape(), most);
            whole = match whole.through(&map, most) {
                Ok(regions) => return Some(regions),
                Err(whole) => whole,
            };
        }
        None
    }

    /// How many regions these may become.
    fn room(&self, regions: usize) -> usize {
        self.most.saturating_sub(self.count - regions)
    }

    /// So many regions have become others.
    fn recount(&mut self, before: usize, after: usize) {
        self.count = self.count - before + after;
    }

    /// Counts what it costs to make so many regions of a tensor of this shape.
    fn spend(&mut self, shape: &Shape, regions: usize) -> Result<(), TooMany> {
        match self.budget.spend(&mut self.own, shape, regions) {
            true => Ok(()),
            false => Err(TooMany(self.target)),
        }
    }

    fn is_source(&self, tensor: TensorId) -> bool {
        self.program.tensor(tensor).made.is_source()
            || (tensor != self.target && self.stored.contains(&tensor))
    }
}

/// How many boxes the pieces of a map's axes make.
fn boxes(map: &IndexMap) -> usize {
    let axes = map.layers().iter().filter_map(|layer| layer.axes()).flatten();
    axes.fold(1, |boxes, axis| match axis {
        AxisMap::Segments { pieces, .. } => boxes.saturating_mul(pieces.len()),
        AxisMap::Affine { .. } | AxisMap::Ragged { .. } => boxes,
    })
}
