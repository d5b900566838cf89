//! One tensor of a graph drawn back to the tensors that it can be read from.

use std::collections::{BTreeMap, BTreeSet};

use trundle_core::{IndexMap, Layout, Regions, Shape};

use crate::program::width_of;
use crate::{Graph, Made, TensorId};

/// Where the elements of a tensor are read, if it is written in one pass.
pub(crate) struct Drawing<'a> {
    graph: &'a Graph,
    /// The tensors that are written before.
    stored: &'a BTreeSet<TensorId>,
    target: TensorId,
    /// How many regions there may be.
    most: usize,
    /// The regions of the target by the tensor that they are read from, and by the shape as which
    /// it is read: the elements of a packed tensor can be counted in any shape.
    pub(crate) sources: BTreeMap<(TensorId, Vec<usize>), Regions>,
    /// The tensors on the way.
    pub(crate) through: BTreeSet<TensorId>,
}

/// What comes of drawing a tensor back.
pub(crate) enum Drawn<'a> {
    FromSources(Drawing<'a>),
    /// This one has to be written first.
    Needs(TensorId),
}

/// The tensor that has to be written first.
struct Needs(TensorId);

impl<'a> Drawing<'a> {
    /// Draws `target` back to inputs, constants and what is `stored`.
    pub(crate) fn of(
        graph: &'a Graph,
        stored: &'a BTreeSet<TensorId>,
        target: TensorId,
    ) -> Drawn<'a> {
        let mut drawing = Drawing {
            graph,
            stored,
            target,
            most: Regions::most(graph.tensors[target.0].shape.elements()),
            sources: BTreeMap::new(),
            through: BTreeSet::new(),
        };
        match drawing.draw() {
            Ok(()) => Drawn::FromSources(drawing),
            Err(Needs(tensor)) => Drawn::Needs(tensor),
        }
    }

    fn draw(&mut self) -> Result<(), Needs> {
        let target = &self.graph.tensors[self.target.0];
        if target.shape.elements() == 0 {
            return Ok(());
        }
        let mut left = self.first()?;
        while let Some((tensor, regions)) = left.pop() {
            if regions.is_empty() {
                continue;
            }
            if regions.len() > self.most {
                return Err(self.needs(tensor));
            }
            if self.is_source(tensor) {
                self.add(tensor, regions);
                continue;
            }
            if tensor != self.target {
                self.through.insert(tensor);
            }
            match &self.graph.tensors[tensor.0].made {
                Made::Moved { .. } => {
                    let (from, map) = self.composed(tensor);
                    left.extend(self.moved(tensor, regions, from, &map)?);
                }
                Made::Joined { axis, parts } => {
                    self.most += parts.len();
                    left.extend(self.joined(tensor, regions, *axis, parts)?);
                }
                Made::Given(_) | Made::Constant(_) => {}
            }
        }
        Ok(())
    }

    /// All of the target. A reshape that it ends with is only another count of what is written.
    fn first(&mut self) -> Result<Vec<(TensorId, Regions)>, Needs> {
        let target = &self.graph.tensors[self.target.0];
        let units = width_of(target.element).units();
        let whole =
            |shape: &Shape| Layout::row_major(shape, units).map(|layout| Regions::of(&layout));
        let too_large = {
            let target = self.target;
            move |_| Needs(target)
        };
        if matches!(target.made, Made::Moved { .. }) {
            let (from, map) = self.composed(self.target);
            if let Some(rest) = map.without_output_reshape() {
                let regions = whole(rest.out_shape()).map_err(too_large)?;
                return self.moved(self.target, regions, from, &rest);
            }
        }
        Ok(vec![(self.target, whole(&target.shape).map_err(too_large)?)])
    }

    /// What a moved tensor is made of, through as many others as compose into one map.
    fn composed(&mut self, tensor: TensorId) -> (TensorId, IndexMap) {
        let tensors = &self.graph.tensors;
        let Made::Moved { from, map } = &tensors[tensor.0].made else {
            return (tensor, IndexMap::identity(&tensors[tensor.0].shape));
        };
        let (mut from, mut composed) = (*from, map.clone());
        while !self.is_source(from)
            && let Made::Moved { from: next, map } = &tensors[from.0].made
            && let Ok(Some(longer)) = map.then(&composed)
        {
            self.through.insert(from);
            (from, composed) = (*next, longer);
        }
        (from, composed)
    }

    /// Regions of a tensor as regions of the one that it is moved from.
    fn moved(
        &mut self,
        tensor: TensorId,
        regions: Regions,
        from: TensorId,
        map: &IndexMap,
    ) -> Result<Vec<(TensorId, Regions)>, Needs> {
        let regions = match regions.through(map, self.most) {
            Ok(regions) => return Ok(vec![(from, regions)]),
            Err(regions) => regions,
        };
        if let Some(rest) = map.without_source_reshape()
            && let Ok(regions) = regions.through(&rest, self.most)
        {
            if !self.is_source(from) {
                return Err(Needs(from));
            }
            self.add(from, regions);
            return Ok(Vec::new());
        }
        Err(self.needs(tensor))
    }

    /// More regions that are read from a tensor.
    fn add(&mut self, from: TensorId, regions: Regions) {
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
        mut regions: Regions,
        axis: usize,
        parts: &[TensorId],
    ) -> Result<Vec<(TensorId, Regions)>, Needs> {
        if regions.len().saturating_mul(parts.len()) > MOST_CUTS {
            return Err(self.needs(tensor));
        }
        let mut of_parts = Vec::with_capacity(parts.len());
        for part in parts {
            let size = self.graph.tensors[part.0].shape[axis];
            let most = self.most.saturating_add(regions.len());
            let (within, beyond) = regions.cut(axis, size, most).map_err(|_| self.needs(tensor))?;
            of_parts.push((*part, within));
            regions = beyond;
        }
        Ok(of_parts)
    }

    /// What has to be written first where `tensor` cannot be drawn back any further.
    fn needs(&self, tensor: TensorId) -> Needs {
        match &self.graph.tensors[tensor.0].made {
            // The target itself cannot: what it is made of, then.
            Made::Moved { from, .. } if tensor == self.target => Needs(*from),
            _ => Needs(tensor),
        }
    }

    fn is_source(&self, tensor: TensorId) -> bool {
        self.graph.tensors[tensor.0].made.is_source()
            || (tensor != self.target && self.stored.contains(&tensor))
    }
}

/// How often regions are held against parts, for one joined tensor.
const MOST_CUTS: usize = 1 << 24;
