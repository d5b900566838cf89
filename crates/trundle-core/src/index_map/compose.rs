//! Composition of index maps.

use alloc::vec::Vec;

use super::axis_map::follow;
use super::{AxisMap, IndexMap, Layer, Line, Piece};
use crate::Result;
use crate::shape::check_shape;

impl IndexMap {
    /// Composes two movements: first `self`, then `next` on the result of `self`.
    ///
    /// The composition may need several passes over memory, see [`Regions::through`](crate::Regions::through).
    ///
    /// Law: `self.then(next).source_of(i) == self.source_of(next.source_of(i))`.
    ///
    /// # Errors
    /// [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) if the source shape of `next` is not
    /// the output shape of `self`,
    /// [`MoveError::CoordinateOutOfBounds`](crate::MoveError::CoordinateOutOfBounds) if `next` reads outside
    /// that shape, which is possible after [`within_source`](IndexMap::within_source).
    pub fn then(&self, next: &IndexMap) -> Result<IndexMap> {
        check_shape("the input of the next map", self.out_shape(), next.in_shape())?;
        next.check_source()?;
        Ok(self.followed(next))
    }

    /// [`IndexMap::then`] without checks: `next` must not read outside the output shape of `self`, unless `self` is
    /// affine.
    pub(crate) fn followed(&self, next: &IndexMap) -> IndexMap {
        if next.out_shape().elements() == 0 {
            return IndexMap::empty(next.out_shape().clone(), self.in_shape().clone());
        }
        let mut layers = self.layers.clone();
        next.layers.iter().for_each(|layer| put_on(&mut layers, layer.clone()));
        IndexMap::of_layers(layers, next.out_shape())
    }
}

/// Appends `layer` to `layers`, merged with the last layers if possible; drops the identity.
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
    /// Merges two layers, if one layer can do the work of both.
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
                let rows = composed.axes.iter().flatten().filter(|axis| axis.is_ragged()).count();
                (rows <= 1).then_some(composed)
            }
            _ => None,
        }
    }
}

/// The map of one source axis after the layer `next`; `None` if it is not an axis map.
fn axis_after(first: &AxisMap, next: &Layer) -> Option<AxisMap> {
    let next_axes = next.axes.as_ref()?;
    let sizes = next.out_shape.sizes();
    let middle = match first {
        AxisMap::Sum { start, steps } => return sum_after(*start, steps, next_axes, sizes.len()),
        AxisMap::Indexed { indices, line } => {
            let indices = indices.pull_back(next_axes, sizes)?;
            return Some(AxisMap::Indexed { indices, line: *line });
        }
        AxisMap::Affine { axis, .. }
        | AxisMap::Segments { axis, .. }
        | AxisMap::Ragged { axis, .. } => *axis,
    };
    let inner = &next_axes[middle];
    match (first, inner) {
        (AxisMap::Affine { line, .. }, AxisMap::Ragged { axis, before, lengths, after }) => {
            let after = after.then(*line);
            // `after` of a ragged map must have step 1 or -1. A broadcast or a slice with a step has another step.
            matches!(after.step, 1 | -1).then(|| AxisMap::Ragged {
                axis: *axis,
                before: *before,
                lengths: lengths.clone(),
                after,
            })
        }
        (
            AxisMap::Affine { line, .. },
            AxisMap::Affine { axis, .. } | AxisMap::Segments { axis, .. },
        ) => {
            let through = |Piece { end, line: own }| Piece { end, line: own.then(*line) };
            let pieces = inner.pieces(sizes[*axis])?.into_iter().map(through);
            Some(AxisMap::from_pieces(*axis, pieces))
        }
        (
            AxisMap::Segments { pieces, .. },
            AxisMap::Affine { axis, .. } | AxisMap::Segments { axis, .. },
        ) => Some(AxisMap::from_pieces(*axis, follow(&inner.pieces(sizes[*axis])?, pieces))),
        (AxisMap::Affine { line, .. }, AxisMap::Sum { start, steps }) => {
            let steps = steps.iter().map(|step| step.wrapping_mul(line.step)).collect();
            Some(AxisMap::Sum { start: line.at(*start), steps })
        }
        (AxisMap::Affine { line, .. }, AxisMap::Indexed { indices, line: inner }) => {
            Some(AxisMap::Indexed { indices: indices.clone(), line: inner.then(*line) })
        }
        (AxisMap::Segments { pieces, .. }, AxisMap::Indexed { indices, line }) => {
            let indices = indices.map(|index| piece_at(pieces, line.at(index.cast_signed())));
            Some(AxisMap::Indexed { indices, line: Line::IDENTITY })
        }
        (AxisMap::Segments { .. }, AxisMap::Ragged { .. } | AxisMap::Sum { .. }) => None,
        (AxisMap::Ragged { before, lengths, after, .. }, AxisMap::Affine { axis, line }) => {
            let lengths = lengths.pull_back(next_axes, sizes)?;
            let before = line.then(*before);
            // The lengths could vary along the ragged axis only if two source axes depended on one output axis. No
            // operator has such a map.
            let varies = lengths.varying_axes().any(|varying| varying == *axis);
            (matches!(before.step, 1 | -1) && !varies).then_some(AxisMap::Ragged {
                axis: *axis,
                before,
                lengths,
                after: *after,
            })
        }
        (
            AxisMap::Ragged { .. },
            AxisMap::Segments { .. } | AxisMap::Sum { .. } | AxisMap::Indexed { .. },
        ) => None,
        (
            AxisMap::Ragged { before, lengths, after, .. },
            AxisMap::Ragged { axis, before: first_before, lengths: inner_lengths, after: between },
        ) => {
            // Two reversals with the same lengths cancel each other.
            let undone = between.then(*before) == Line::IDENTITY
                && lengths.pull_back(next_axes, sizes)?.agrees_with(inner_lengths, sizes);
            undone.then(|| {
                let row = Piece { end: sizes[*axis], line: first_before.then(*after) };
                AxisMap::from_pieces(*axis, [row])
            })
        }
        (AxisMap::Sum { .. } | AxisMap::Indexed { .. }, _) => {
            unreachable!("maps that read several axes are handled before")
        }
    }
}

/// Composes a sum with `axes`; `None` if an axis in the sum is neither affine nor a sum.
fn sum_after(
    mut start: isize,
    steps: &[isize],
    axes: &[AxisMap],
    out_rank: usize,
) -> Option<AxisMap> {
    let mut summed = vec![0isize; out_rank];
    for (inner, step) in axes.iter().zip(steps).filter(|(_, step)| **step != 0) {
        let mut add = |axis: usize, own: isize| {
            summed[axis] = summed[axis].wrapping_add(own.wrapping_mul(*step));
        };
        let first = match inner {
            AxisMap::Affine { axis, line } => {
                add(*axis, line.step);
                line.start
            }
            AxisMap::Sum { start, steps } => {
                steps.iter().enumerate().for_each(|(axis, own)| add(axis, *own));
                *start
            }
            AxisMap::Segments { .. } | AxisMap::Indexed { .. } | AxisMap::Ragged { .. } => {
                return None;
            }
        };
        start = start.wrapping_add(first.wrapping_mul(*step));
    }
    Some(AxisMap::Sum { start, steps: summed })
}

/// Applies pieces to an index from a table. An index outside all pieces, which unread entries may have, stays out of
/// bounds.
pub(super) fn piece_at(pieces: &[Piece], index: isize) -> usize {
    let piece = pieces.get(pieces.partition_point(|piece| piece.end.cast_signed() <= index));
    let within = piece.filter(|_| index >= 0).map(|piece| piece.line.at(index));
    within.and_then(|index| usize::try_from(index).ok()).unwrap_or(OUT_OF_BOUNDS)
}

/// An index that is out of bounds for every axis.
pub(super) const OUT_OF_BOUNDS: usize = isize::MAX.unsigned_abs() / 2;
