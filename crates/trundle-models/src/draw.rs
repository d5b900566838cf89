//! One tensor of a graph drawn back to the tensors that it can be read from.
//!
//! A drawing begins with the whole of its target as one region, and takes the regions of one tensor
//! after another, the latest first, to what that is made of: through a map, or to the parts of a
//! join. So each tensor is come to once, however many paths lead to it. Regions are counted while
//! they are made. Where they would be too many, the tensor at which they stand is to be written
//! first, and the target is drawn again, with one more tensor to read from. If that cannot help,
//! since the target itself is cut too often, it is read from what it is made of directly.
//!
//! Both ends come: each drawing that fails names a tensor that was not written before, and what is
//! directly made of others is always few steps: a join has as many regions as parts, and a map of
//! too many boxes is followed element by element, which takes no plan at all.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::{AxisMap, IndexMap, Layout, Regions, Result, Shape};

use crate::budget::Budget;
use crate::program::width_of;
use crate::{Graph, Made, TensorId};

/// Where the elements of a tensor are read, if it is written in one pass.
pub(crate) struct Drawing<'a> {
    graph: &'a Graph,
    /// The tensors that are written before.
    stored: &'a BTreeSet<TensorId>,
    target: TensorId,
    budget: &'a mut Budget,
    /// How many regions there may be; more by the parts of each join that they come through.
    most: usize,
    /// How many there are, on the way and at their sources.
    count: usize,
    /// The regions of the target that stand at tensors on the way.
    left: BTreeMap<TensorId, Regions>,
    /// The regions of the target by the tensor that they are read from, and by the shape as which
    /// it is read: the elements of a packed tensor can be counted in any shape.
    pub(crate) sources: BTreeMap<(TensorId, Vec<usize>), Regions>,
    /// The tensors on the way.
    pub(crate) through: BTreeSet<TensorId>,
}

/// What comes of drawing a tensor back.
pub(crate) enum Drawn<'a> {
    /// What it is read from is there, or is written before.
    FromSources(Drawing<'a>),
    /// This one has to be written first; then it can be tried again.
    Needs(TensorId),
    /// It is read from what it is made of directly, which has to be written first.
    Directly(Drawing<'a>),
    /// It is a movement of this tensor, in too many boxes: each element by itself.
    ByElement(TensorId),
}

/// The regions would be too many: this tensor would have to be written first.
struct TooMany(TensorId);

impl<'a> Drawing<'a> {
    /// Draws `target` back to inputs, constants and what is `stored`.
    ///
    /// # Errors
    /// If the tensor is too large to be addressed.
    pub(crate) fn of(
        graph: &'a Graph,
        stored: &'a BTreeSet<TensorId>,
        target: TensorId,
        budget: &'a mut Budget,
    ) -> Result<Drawn<'a>> {
        let tensor = &graph.tensors[target.0];
        let most = budget.begin(&tensor.shape);
        let mut drawing = Drawing {
            graph,
            stored,
            target,
            budget,
            most,
            count: 0,
            left: BTreeMap::new(),
            sources: BTreeMap::new(),
            through: BTreeSet::new(),
        };
        if tensor.shape.elements() == 0 {
            return Ok(Drawn::FromSources(drawing));
        }
        let whole = drawing.whole(&tensor.shape)?;
        match drawing.draw(whole) {
            Ok(()) => {
                drawing.budget.keep(&tensor.shape, drawing.count);
                Ok(Drawn::FromSources(drawing))
            }
            Err(TooMany(other)) if other != target && !drawing.is_source(other) => {
                Ok(Drawn::Needs(other))
            }
            Err(_) => drawing.directly(),
        }
    }

    /// A whole tensor of this shape, as it is written.
    fn whole(&self, shape: &Shape) -> Result<Regions> {
        let units = width_of(self.graph.tensors[self.target.0].element).units();
        Ok(Regions::of(&Layout::row_major(shape, units)?))
    }

    fn draw(&mut self, whole: Regions) -> std::result::Result<(), TooMany> {
        self.begin(whole)?;
        while let Some((tensor, regions)) = self.left.pop_last() {
            if self.is_source(tensor) {
                self.read(tensor, regions);
                continue;
            }
            if tensor != self.target {
                self.through.insert(tensor);
            }
            match &self.graph.tensors[tensor.0].made {
                Made::Moved { .. } => {
                    let (from, map) = self.composed(tensor)?;
                    self.moved(tensor, regions, from, &map)?;
                }
                Made::Joined { axis, parts } => self.joined(tensor, regions, *axis, parts)?,
                Made::Given(_) | Made::Constant(_) => {}
            }
        }
        Ok(())
    }

    /// All of the target. A reshape that it ends with is only another count of what is written.
    fn begin(&mut self, whole: Regions) -> std::result::Result<(), TooMany> {
        self.count = 1;
        if let Made::Moved { .. } = self.graph.tensors[self.target.0].made {
            let (from, map) = self.composed(self.target)?;
            if let Some(rest) = map.without_output_reshape()
                && let Ok(whole) = self.whole(rest.out_shape())
            {
                return self.moved(self.target, whole, from, &rest);
            }
        }
        self.left.insert(self.target, whole);
        Ok(())
    }

    /// What a moved tensor is made of, through as many others as compose into one map of few boxes.
    fn composed(&mut self, tensor: TensorId) -> std::result::Result<(TensorId, IndexMap), TooMany> {
        let tensors = &self.graph.tensors;
        let Made::Moved { from, map } = &tensors[tensor.0].made else {
            return Ok((tensor, IndexMap::identity(&tensors[tensor.0].shape)));
        };
        let (mut from, mut composed) = (*from, map.clone());
        while !self.is_source(from)
            && let Made::Moved { from: next, map } = &tensors[from.0].made
            && pieces(map).saturating_mul(pieces(&composed)) <= MOST_COMPOSED
            && composed.layers().len() + map.layers().len() <= MOST_LAYERS
        {
            self.spend(map.in_shape(), composed.layers().len() * pieces(&composed))?;
            let Ok(Some(longer)) = map.then(&composed) else { break };
            self.through.insert(from);
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
    ) -> std::result::Result<(), TooMany> {
        let (before, room) = (regions.len(), self.room(regions.len()));
        let regions = match regions.through(map, room) {
            Ok(drawn) => {
                self.spend(map.in_shape(), drawn.len())?;
                self.come(before, drawn.len());
                self.leave(from, drawn);
                return Ok(());
            }
            Err(regions) => regions,
        };
        self.spend(map.in_shape(), room)?;
        if let Some(rest) = map.without_source_reshape()
            && let Ok(drawn) = regions.through(&rest, room)
        {
            if !self.is_source(from) {
                return Err(TooMany(from));
            }
            self.come(before, drawn.len());
            self.read(from, drawn);
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
    ) -> std::result::Result<(), TooMany> {
        let shape = &self.graph.tensors[tensor.0].shape;
        self.most = self.budget.raised(&self.graph.tensors[self.target.0].shape, self.most, parts);
        let (before, room) = (regions.len(), self.room(regions.len()));
        let mut parted = Parted::new(self.graph, axis, parts, room);
        let fits = parted.part(regions, 0..parts.len(), 0).is_some();
        let count = parted.count;
        self.spend(shape, if fits { count } else { room })?;
        if !fits {
            return Err(self.needs(tensor));
        }
        self.come(before, count);
        for (part, regions) in parted.of_parts {
            self.leave(part, regions);
        }
        Ok(())
    }

    /// What has to be written first where `tensor` cannot be drawn back any further.
    fn needs(&self, tensor: TensorId) -> TooMany {
        match &self.graph.tensors[tensor.0].made {
            // The target itself cannot: what it is made of, then.
            Made::Moved { from, .. } if tensor == self.target => TooMany(*from),
            _ => TooMany(tensor),
        }
    }

    /// The target read from what it is made of, whatever that is made of.
    fn directly(mut self) -> Result<Drawn<'a>> {
        let tensor = &self.graph.tensors[self.target.0];
        let whole = self.whole(&tensor.shape)?;
        self.left.clear();
        self.sources.clear();
        self.through.clear();
        match &tensor.made {
            Made::Moved { from, map } => {
                let most = self.budget.most_directly(&tensor.shape);
                let Some(regions) = self.through_one(whole, map, most)? else {
                    return Ok(Drawn::ByElement(*from));
                };
                self.count = regions.len();
                self.read(*from, regions);
            }
            Made::Joined { axis, parts } => {
                let mut parted = Parted::new(self.graph, *axis, parts, usize::MAX);
                // A whole tensor is cut between any two parts.
                let _ = parted.part(whole, 0..parts.len(), 0);
                self.count = parted.count;
                for (part, regions) in parted.of_parts {
                    self.read(part, regions);
                }
            }
            Made::Given(_) | Made::Constant(_) => self.read(self.target, whole),
        }
        self.budget.keep(&tensor.shape, self.count);
        Ok(Drawn::Directly(self))
    }

    /// The whole target through its own map, if that is few boxes.
    fn through_one(
        &mut self,
        whole: Regions,
        map: &IndexMap,
        most: usize,
    ) -> Result<Option<Regions>> {
        let (mut whole, map) = match map.without_output_reshape() {
            Some(rest) => (self.whole(rest.out_shape())?, rest),
            None => (whole, map.clone()),
        };
        for map in [Some(map.clone()), map.without_source_reshape()].into_iter().flatten() {
            if pieces(&map) > most {
                continue;
            }
            // What it costs is known before: whether it was left does not matter here.
            self.budget.spend(map.in_shape(), most);
            whole = match whole.through(&map, most) {
                Ok(regions) => return Ok(Some(regions)),
                Err(whole) => whole,
            };
        }
        Ok(None)
    }

    /// How many regions these may become.
    fn room(&self, regions: usize) -> usize {
        self.most.saturating_sub(self.count - regions)
    }

    /// So many regions have become others.
    fn come(&mut self, before: usize, after: usize) {
        self.count = self.count - before + after;
    }

    /// Counts what it costs to make so many regions of a tensor of this shape.
    fn spend(&mut self, shape: &Shape, regions: usize) -> std::result::Result<(), TooMany> {
        match self.budget.spend(shape, regions) {
            true => Ok(()),
            false => Err(TooMany(self.target)),
        }
    }

    fn is_source(&self, tensor: TensorId) -> bool {
        self.graph.tensors[tensor.0].made.is_source()
            || (tensor != self.target && self.stored.contains(&tensor))
    }
}

/// The most boxes and layers of a map that is composed of others. Longer chains are drawn back in
/// several steps, which comes to the same boxes.
const MOST_COMPOSED: usize = 1024;
const MOST_LAYERS: usize = 16;

/// How many boxes the pieces of a map's axes make.
fn pieces(map: &IndexMap) -> usize {
    let axes = map.layers().iter().filter_map(|layer| layer.axes()).flatten();
    axes.fold(1, |number, axis| match axis {
        AxisMap::Segments { pieces, .. } => number.saturating_mul(pieces.len()),
        AxisMap::Affine { .. } | AxisMap::Ragged { .. } => number,
    })
}

/// The regions of a joined tensor, put to its parts.
struct Parted<'a> {
    axis: usize,
    parts: &'a [TensorId],
    /// Where along the axis each part begins, and the last one ends.
    begins: Vec<usize>,
    room: usize,
    /// How many regions have come to parts.
    count: usize,
    of_parts: Vec<(TensorId, Regions)>,
}

impl<'a> Parted<'a> {
    fn new(graph: &Graph, axis: usize, parts: &'a [TensorId], room: usize) -> Parted<'a> {
        let mut begins = vec![0];
        for part in parts {
            begins.push(begins[begins.len() - 1] + graph.tensors[part.0].shape[axis]);
        }
        Parted { axis, parts, begins, room, count: 0, of_parts: Vec::new() }
    }

    /// Cuts regions that lie in these parts, counted from where the first of them begins, in the
    /// middle, and so on: a region is held against few parts, however many there are. `waiting` is
    /// how many wait for later parts. `None` if there are too many, or if one cannot be cut.
    fn part(
        &mut self,
        regions: Regions,
        parts: std::ops::Range<usize>,
        waiting: usize,
    ) -> Option<()> {
        if regions.is_empty() {
            return Some(());
        }
        if parts.len() == 1 {
            self.count += regions.len();
            self.of_parts.push((self.parts[parts.start], regions));
            return Some(());
        }
        let middle = usize::midpoint(parts.start, parts.end);
        let at = self.begins[middle] - self.begins[parts.start];
        let most = self.room.saturating_sub(self.count + waiting);
        let (below, beyond) = regions.cut(self.axis, at, most).ok()?;
        self.part(below, parts.start..middle, waiting + beyond.len())?;
        self.part(beyond, middle..parts.end, waiting)
    }
}
