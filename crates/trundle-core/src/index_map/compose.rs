//! One map after another, as one map.

use super::axis_map::follow;
use super::draw::draw;
use super::{AxisMap, IndexMap, Layer, Line, Piece, Region, Regions};
use crate::{Error, Layout, Result};

impl IndexMap {
    /// The elements moved by `self`, and what that gives by `next`, as one map; `None` where one
    /// pass over memory cannot do it: two different tables of lengths on one axis, two ragged axes
    /// at once, axes that were merged, moved and then split at other places, so many rolled axes that
    /// they would be too many boxes.
    ///
    /// Law: `self.then(next).source_of(i) == self.source_of(next.source_of(i))`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if `next` does not read the shape that `self` gives.
    pub fn then(&self, next: &IndexMap) -> Result<Option<IndexMap>> {
        self.check_next(next)?;
        let composed = self.composed(next);
        Ok(composed.is_one_pass().then_some(composed))
    }

    fn check_next(&self, next: &IndexMap) -> Result<()> {
        if self.out_shape() == next.in_shape() {
            return Ok(());
        }
        Err(Error::ShapeMismatch {
            argument: "the input of the next map",
            expected: self.out_shape().clone(),
            got: next.in_shape().clone(),
        })
    }

    /// Maps one after another as one, however many passes it takes.
    ///
    /// Law: `source_of` is that of the maps, asked from the last to the first.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if one does not read the shape that the one before it gives.
    pub fn chained<'a>(&self, maps: impl IntoIterator<Item = &'a IndexMap>) -> Result<IndexMap> {
        let mut chained = self.clone();
        for map in maps {
            chained.check_next(map)?;
            chained.put(map);
        }
        Ok(chained)
    }

    /// The law of [`IndexMap::then`], however many passes it takes.
    pub(super) fn composed(&self, next: &IndexMap) -> IndexMap {
        let mut composed = self.clone();
        composed.put(next);
        composed
    }

    fn put(&mut self, next: &IndexMap) {
        if next.out_shape().elements() == 0 {
            *self = IndexMap::empty(next.out_shape().clone(), self.in_shape().clone());
            return;
        }
        for layer in &next.layers {
            put_on(&mut self.layers, layer.clone());
        }
        if self.layers.is_empty() {
            self.layers.push(Layer::identity(next.out_shape()));
        }
    }

    /// Whether the output is a moderate number of regions over which every source coordinate is
    /// linear, between packed tensors at least.
    fn is_one_pass(&self) -> bool {
        let layers = self.without_outer_reshapes();
        if layers.iter().any(Layer::has_too_many_boxes) {
            return false;
        }
        if layers.len() <= 1 {
            return true;
        }
        let out_shape = &layers[layers.len() - 1].out_shape;
        let Ok(packed) = Layout::row_major(out_shape, 1) else { return false };
        let (most, asks) = (Regions::most(out_shape.elements()), most_asks(out_shape.elements()));
        let mut boxes = 0;
        let drawn = draw(layers, Region::of(&packed), asks, |region| {
            boxes += region.boxes();
            (boxes <= most).then_some(())
        });
        drawn.is_some()
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
}

/// How often a coordinate may be asked for, over a box, to find out whether several layers are one pass
/// over so many elements: each takes about as long as to move some hundred elements. Where dozens of
/// layers cut hundreds of boxes, passes are shorter than they could be, since it is sooner moved than
/// found out.
fn most_asks(elements: usize) -> usize {
    (elements / 64).clamp(1 << 12, 1 << 16)
}

/// Puts `layer` on the others, in as few as can be: those that undo each other go.
pub(super) fn put_on(layers: &mut Vec<Layer>, mut layer: Layer) {
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
