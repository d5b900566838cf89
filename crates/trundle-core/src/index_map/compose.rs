//! One map after another, as one map.

use std::ops::Range;

use super::axis_map::follow;
use super::{AxisMap, IndexMap, Layer, Line, Piece, Region};
use crate::{Error, Layout, Result};

impl IndexMap {
    /// The elements moved by `self`, and what that gives by `next`, as one map; `None` where one
    /// pass over memory cannot do it: two different tables of lengths on one axis, two ragged axes
    /// at once, axes that were merged, moved and then split at other places.
    ///
    /// Law: `self.then(next).source_of(i) == self.source_of(next.source_of(i))`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if `next` does not read the shape that `self` gives.
    pub fn then(&self, next: &IndexMap) -> Result<Option<IndexMap>> {
        if self.out_shape() != next.in_shape() {
            return Err(Error::ShapeMismatch {
                argument: "the input of the next map",
                expected: self.out_shape().clone(),
                got: next.in_shape().clone(),
            });
        }
        let composed = self.composed(next);
        Ok(composed.is_one_pass().then_some(composed))
    }

    /// The law of [`IndexMap::then`], however many passes it takes.
    pub(super) fn composed(&self, next: &IndexMap) -> IndexMap {
        if next.out_shape().elements() == 0 {
            return IndexMap::empty(next.out_shape().clone(), self.in_shape().clone());
        }
        let mut layers = self.layers.clone();
        for layer in &next.layers {
            put_on(&mut layers, layer.clone());
        }
        if layers.is_empty() {
            layers.push(Layer::identity(self.in_shape()));
        }
        IndexMap { layers }
    }

    /// Whether the output is a moderate number of regions over which every source coordinate is
    /// linear, between packed tensors at least.
    fn is_one_pass(&self) -> bool {
        let layers = self.without_outer_reshapes();
        if layers.len() <= 1 {
            return true;
        }
        let out_shape = &layers[layers.len() - 1].out_shape;
        let Ok(packed) = Layout::row_major(out_shape, 1) else { return false };
        let most = Region::most(out_shape.elements());
        Region::of(&packed).drawn(layers, most).is_some()
    }

    /// The layers but for a reshape at either end, which packed tensors need not do.
    fn without_outer_reshapes(&self) -> &[Layer] {
        let mut layers = &self.layers[..];
        if let [first, rest @ ..] = layers
            && first.axes.is_none()
        {
            layers = rest;
        }
        if let [rest @ .., last] = layers
            && last.axes.is_none()
        {
            layers = rest;
        }
        layers
    }

    /// Passes that do what `maps` do one after another, each taking in as many of them, from the
    /// first on, as compose. A pass that would leave everything in place is left out, unless it is
    /// the only one.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if one does not read the shape that the one before it gives.
    pub fn fuse(maps: impl IntoIterator<Item = IndexMap>) -> Result<Vec<Pass>> {
        let mut passes: Vec<Pass> = Vec::new();
        for (number, map) in maps.into_iter().enumerate() {
            let fused = match passes.last() {
                Some(last) => last.map.then(&map)?,
                None => None,
            };
            match (fused, passes.last_mut()) {
                (Some(map), Some(last)) => {
                    *last = Pass { stages: last.stages.start..number + 1, map };
                }
                _ => passes.push(Pass { stages: number..number + 1, map }),
            }
            // What was moved and moved back belongs to the pass before it.
            if passes.len() > 1 && passes.last().is_some_and(|last| last.map.is_identity()) {
                passes.pop();
                if let Some(last) = passes.last_mut() {
                    last.stages.end = number + 1;
                }
            }
        }
        Ok(passes)
    }
}

/// One pass over memory that does what neighbouring maps do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Which maps it takes in, counted from 0: the stages of a chain.
    pub stages: Range<usize>,
    /// From the pass's output to its input.
    pub map: IndexMap,
}

/// Puts `layer` on the others, in as few as can be: those that undo each other go.
fn put_on(layers: &mut Vec<Layer>, mut layer: Layer) {
    while let Some(below) = layers.pop() {
        match below.then(&layer) {
            Some(both) => layer = both,
            None => {
                layers.push(below);
                break;
            }
        }
    }
    if !layer.is_identity() {
        layers.push(layer);
    }
}

impl Layer {
    /// Both as one layer, if there is such a layer.
    fn then(&self, next: &Layer) -> Option<Layer> {
        let shapes = || (next.out_shape.clone(), self.in_shape.clone());
        match (&self.axes, &next.axes) {
            _ if next.is_identity() => Some(self.clone()),
            _ if self.is_identity() => Some(next.clone()),
            (None, None) => {
                let (out_shape, in_shape) = shapes();
                Some(Layer::reshape(out_shape, in_shape))
            }
            (Some(axes), Some(_)) => {
                let axes: Option<Vec<AxisMap>> =
                    axes.iter().map(|axis| axis_after(axis, next)).collect();
                let (out_shape, in_shape) = shapes();
                let composed = Layer::of_axes(out_shape, in_shape, axes?);
                let ragged = |axis: &&AxisMap| matches!(axis, AxisMap::Ragged { .. });
                let rows = composed.axes.iter().flatten().filter(ragged).count();
                (rows <= 1).then_some(composed)
            }
            _ => None,
        }
    }
}

/// The map of one source axis of `first`, asked at the coordinates that `next` gives.
fn axis_after(first: &AxisMap, next: &Layer) -> Option<AxisMap> {
    let middle = first.axis();
    let next_axes = next.axes.as_ref()?;
    let inner = &next_axes[middle];
    let sizes = next.out_shape.sizes();
    match (first, inner) {
        (AxisMap::Affine { line, .. }, AxisMap::Ragged { axis, before, lengths, after }) => {
            let after = after.then(*line);
            // A ragged map that is broadcast or strided has no inverse to keep it in its form.
            matches!(after.step, 1 | -1).then(|| AxisMap::Ragged {
                axis: *axis,
                before: *before,
                lengths: lengths.clone(),
                after,
            })
        }
        (AxisMap::Affine { .. } | AxisMap::Segments { .. }, AxisMap::Affine { .. })
        | (AxisMap::Affine { .. } | AxisMap::Segments { .. }, AxisMap::Segments { .. }) => {
            let axis = inner.axis();
            let outer = first.pieces(next.in_shape[middle])?;
            Some(AxisMap::from_pieces(axis, follow(&inner.pieces(sizes[axis])?, &outer)))
        }
        (AxisMap::Segments { .. }, AxisMap::Ragged { .. }) => None,
        (AxisMap::Ragged { before, lengths, after, .. }, AxisMap::Affine { axis, line }) => {
            let lengths = lengths.pull_back(next_axes, sizes)?;
            let before = line.then(*before);
            // No operator makes two source axes read one output axis, which alone could make the
            // lengths vary along their own.
            let varies = lengths.varying_axes().any(|varying| varying == *axis);
            (matches!(before.step, 1 | -1) && !varies).then_some(AxisMap::Ragged {
                axis: *axis,
                before,
                lengths,
                after: *after,
            })
        }
        (AxisMap::Ragged { .. }, AxisMap::Segments { .. }) => None,
        (
            AxisMap::Ragged { before, lengths, after, .. },
            AxisMap::Ragged { axis, before: first_before, lengths: inner_lengths, after: between },
        ) => {
            // Reversed twice by the same lengths: every element is back in its place.
            let undone = between.then(*before) == Line::IDENTITY
                && lengths.pull_back(next_axes, sizes)?.agrees_with(inner_lengths, sizes);
            undone.then(|| {
                let row = Piece { end: sizes[*axis], line: first_before.then(*after) };
                AxisMap::from_pieces(*axis, [row])
            })
        }
    }
}
