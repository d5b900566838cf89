//! Pulls one tensor of a program, the target, back to tensors from which one pass makes it.
//!
//! A pull-back begins with the whole target as one region. It visits the tensors from the last to the first, and pulls
//! the regions at each back to the tensors that it is made from: through a map, or to the parts of a join. So each
//! tensor is visited once, however many paths lead to it.
//!
//! Regions are counted while they are made. If there would be too many, the tensor at which the pull-back stopped must
//! be written first, and the target is pulled back again, with one more tensor to read from. If the first step, from
//! the target itself, makes too many regions, the target is read directly from its source tensors.
//!
//! This terminates, because each failed pull-back names a tensor that was not written before, and a direct read is
//! always possible: a join has as many regions as parts, and a map with too many boxes is moved in tiles, which are
//! planned one by one when they run.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::partition::partition;
use super::{Budget, Made, Program, TensorId};
use crate::index_map::Room;
use crate::{AxisMap, IndexMap, Layout, Regions, Shape};

/// The sources of a tensor that one pass writes.
pub(super) struct PullBack<'a> {
    program: &'a Program,
    /// The tensors that earlier passes write.
    stored: &'a BTreeSet<TensorId>,
    target: TensorId,
    /// Row-major if `None`.
    layout: Option<&'a Layout>,
    budget: &'a mut Budget,
    /// The remaining steps of the target's own [`Budget::steps_each`].
    own: usize,
    /// The maximum number of regions, raised at each join by its parts.
    most: usize,
    /// The regions in `left` and `sources` together.
    count: usize,
    /// The regions of the target at intermediate tensors.
    left: BTreeMap<TensorId, Regions>,
    /// The regions of the target by source tensor and the shape for reading it: a contiguous tensor has any shape with
    /// as many elements.
    pub(super) sources: BTreeMap<(TensorId, Vec<usize>), Regions>,
    pub(super) via: BTreeSet<TensorId>,
}

pub(super) enum PulledBack<'a> {
    /// All sources are inputs, constants, or written by earlier passes.
    FromSources(PullBack<'a>),
    /// This tensor must be written first, before the target is tried again.
    Needs(TensorId),
    /// The target is read directly from the tensors that it is made from, which must be written first.
    Directly(PullBack<'a>),
    /// The target is a movement of this tensor with too many boxes, so it is moved in tiles.
    InTiles(TensorId),
}

/// There would be too many regions: this tensor would have to be written first.
struct TooMany(TensorId);

impl<'a> PullBack<'a> {
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

    fn whole(&self) -> Regions {
        self.counted(&self.program.tensor(self.target).shape)
            .unwrap_or_else(|| unreachable!("the layout of an output has its shape"))
    }

    /// The whole target in this shape; `None` if its layout cannot be reshaped.
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
        self.count = 1;
        self.left.insert(self.target, self.whole());
        while let Some((tensor, regions)) = self.left.pop_last() {
            if self.is_source(tensor) {
                self.read(tensor, regions);
                continue;
            }
            if tensor != self.target {
                self.via.insert(tensor);
            }
            match &program.tensor(tensor).made {
                Made::Moved { .. } => self.moved(tensor, regions)?,
                Made::Joined { axis, parts } => self.joined(tensor, regions, *axis, parts)?,
                Made::Given(_) | Made::Fill(_) => {}
            }
        }
        Ok(())
    }

    /// The maps that make a moved tensor, each with its source: first its own map, then compositions with the maps of
    /// earlier tensors.
    ///
    /// A composition is included only if it has fewer layers than its maps together: only then can a movement and a
    /// later inverse cancel. Other compositions give the same boxes as one map after another.
    fn compositions(&mut self, tensor: TensorId) -> Result<Vec<(TensorId, IndexMap)>, TooMany> {
        let program = self.program;
        let Made::Moved { from, map } = &program.tensor(tensor).made else { return Ok(Vec::new()) };
        let (mut from, mut composed) = (*from, map.clone());
        let mut compositions = vec![(from, composed.clone())];
        while !self.is_source(from)
            && let Made::Moved { from: next, map } = &program.tensor(from).made
            && map.boxes().saturating_mul(composed.boxes()) <= self.budget.composed
            && composed.layers().len() + map.layers().len() <= self.budget.layers
            && composed.check_source().is_ok()
        {
            self.spend(map.in_shape(), composed.layers().len() * composed.boxes())?;
            let layers = map.layers().len() + composed.layers().len();
            (from, composed) = (*next, map.followed(&composed));
            if composed.layers().len() < layers {
                compositions.pop_if(|(_, shorter)| is_no_more(&composed, shorter));
                compositions.push((from, composed.clone()));
            }
        }
        Ok(compositions)
    }

    /// Pulls regions of a moved tensor back through the longest composition that is possible.
    fn moved(&mut self, tensor: TensorId, regions: Regions) -> Result<(), TooMany> {
        let (before, boxes) = (regions.len(), self.room(regions.len()));
        let compositions = self.compositions(tensor)?;
        let whole = |(from, map): &(TensorId, IndexMap)| Some((*from, map.clone(), false));
        // A reshape of a stored tensor moves nothing: it is read in another shape.
        let counted =
            |(from, map): &(TensorId, IndexMap)| Some((*from, map.without_source_reshape()?, true));
        let longest = compositions.iter().rev();
        let ways = longest.clone().filter_map(whole).chain(longest.filter_map(counted));
        let mut regions = Some(regions);
        for (from, map, is_counted) in ways {
            let asks = self.own.saturating_add(self.budget.steps);
            let mut room = Room { boxes, asks };
            let pulled = self.through(tensor, &mut regions, &map, &mut room);
            self.budget.spend(&mut self.own, asks - room.asks);
            let Some(pulled) = pulled else { continue };
            if is_counted && !self.is_source(from) {
                return Err(TooMany(from));
            }
            self.recount(before, pulled.len());
            let mut passed = tensor;
            while let Made::Moved { from: next, .. } = &self.program.tensor(passed).made
                && *next != from
            {
                passed = *next;
                self.via.insert(passed);
            }
            match is_counted {
                true => self.read(from, pulled),
                false => self.leave(from, pulled),
            }
            return Ok(());
        }
        Err(if self.own == 0 && self.budget.steps == 0 {
            TooMany(self.target)
        } else {
            self.needs(tensor)
        })
    }

    /// Pulls regions of a tensor back to the source of `map`.
    ///
    /// A reshape at the end of `map` moves nothing if the tensor is the target, which is written in the other shape.
    /// `regions` stay unchanged if there would be too many.
    fn through(
        &self,
        tensor: TensorId,
        regions: &mut Option<Regions>,
        map: &IndexMap,
        room: &mut Room,
    ) -> Option<Regions> {
        if tensor == self.target
            && let Some(rest) = map.without_output_reshape()
            && let Some(whole) = self.counted(rest.out_shape())
        {
            return whole.through_within(&rest, room).ok();
        }
        match regions.take()?.through_within(map, room) {
            Ok(pulled) => Some(pulled),
            Err(before) => {
                *regions = Some(before);
                None
            }
        }
    }

    fn leave(&mut self, at: TensorId, regions: Regions) {
        put(&mut self.left, at, regions);
    }

    fn read(&mut self, from: TensorId, regions: Regions) {
        put(&mut self.sources, (from, regions.shape().sizes().to_vec()), regions);
    }

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
        let of_parts = partition(regions, axis, program.ends(tensor), room);
        let count = of_parts.as_deref().map_or(room, regions_of);
        self.spend(&program.tensor(tensor).shape, count)?;
        let of_parts = of_parts.ok_or_else(|| self.needs(tensor))?;
        self.recount(before, count);
        of_parts.into_iter().for_each(|(part, regions)| self.leave(parts[part], regions));
        Ok(())
    }

    /// The tensor that must be written first if `tensor` cannot be pulled back further.
    fn needs(&self, tensor: TensorId) -> TooMany {
        match &self.program.tensor(tensor).made {
            // The target must be read from its source tensor.
            Made::Moved { from, .. } if tensor == self.target => TooMany(*from),
            _ => TooMany(tensor),
        }
    }

    fn directly(mut self) -> PulledBack<'a> {
        let program = self.program;
        let tensor = program.tensor(self.target);
        let whole = self.whole();
        self.left.clear();
        self.sources.clear();
        self.via.clear();
        match &tensor.made {
            Made::Moved { from, map } => {
                let boxes = self.budget.most_directly(&tensor.shape);
                let maps = [Some(map.clone()), map.without_source_reshape()];
                let mut maps = maps.into_iter().flatten().filter(|map| map.boxes() <= boxes);
                let mut whole = Some(whole);
                let regions = maps.find_map(|map| {
                    // The number of boxes is limited already, so it does not matter whether the budget covers them.
                    let _ = self.spend(map.in_shape(), boxes);
                    self.through(self.target, &mut whole, &map, &mut Room::of_boxes(boxes))
                });
                let Some(regions) = regions else { return PulledBack::InTiles(*from) };
                self.count = regions.len();
                self.read(*from, regions);
            }
            Made::Joined { axis, parts } => {
                // A whole tensor can be cut between any two parts.
                let of_parts = partition(whole, *axis, program.ends(self.target), usize::MAX);
                let of_parts = of_parts.unwrap_or_default();
                self.count = regions_of(&of_parts);
                of_parts.into_iter().for_each(|(part, regions)| self.read(parts[part], regions));
            }
            Made::Given(_) | Made::Fill(_) => self.read(self.target, whole),
        }
        self.budget.keep(&tensor.shape, self.count);
        PulledBack::Directly(self)
    }

    /// How many regions may replace `regions` regions.
    fn room(&self, regions: usize) -> usize {
        self.most.saturating_sub(self.count - regions)
    }

    fn recount(&mut self, before: usize, after: usize) {
        self.count = self.count - before + after;
    }

    fn spend(&mut self, shape: &Shape, regions: usize) -> Result<(), TooMany> {
        let cost = (shape.rank() + 1).saturating_mul(regions.saturating_add(1));
        match self.budget.spend(&mut self.own, cost) {
            true => Ok(()),
            false => Err(TooMany(self.target)),
        }
    }

    fn is_source(&self, tensor: TensorId) -> bool {
        self.program.tensor(tensor).made.is_source()
            || (tensor != self.target && self.stored.contains(&tensor))
    }
}

fn regions_of(of_parts: &[(usize, Regions)]) -> usize {
    of_parts.iter().map(|(_, regions)| regions.len()).sum()
}

fn put<K: Ord>(all: &mut BTreeMap<K, Regions>, key: K, regions: Regions) {
    let regions = match all.remove(&key) {
        Some(others) => others.and(regions),
        None => regions,
    };
    all.insert(key, regions);
}

/// Whether regions can be pulled back through `map` whenever they can be through `other`; may be false although they
/// can.
fn is_no_more(map: &IndexMap, other: &IndexMap) -> bool {
    let rows = |map: &IndexMap| map.axes().filter(|axis| axis.is_ragged()).count();
    let is_indexed = |axis: &AxisMap| matches!(axis, AxisMap::Indexed { .. });
    // A region cannot have both partly reversed rows and indices.
    let is_mixed = |map: &IndexMap| rows(map) > 0 && map.axes().any(is_indexed);
    map.layers().len() <= other.layers().len()
        && map.boxes() <= other.boxes()
        && rows(map) <= rows(other)
        && (!is_mixed(map) || is_mixed(other))
}
