//! One map after another, as one map.

use std::ops::Range;

use super::axis_map::follow;
use super::{AxisMap, IndexMap, Line, Piece};
use crate::{Error, Result};

impl IndexMap {
    /// The elements moved by `self`, and what that gives by `next`, as one map; `None` where the
    /// forms of [`AxisMap`] cannot say it: a roll of a ragged axis, two different tables of
    /// lengths on one axis, two ragged axes at once.
    ///
    /// Law: `self.then(next).source_of(i) == self.source_of(next.source_of(i))`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if `next` does not read the shape that `self` gives.
    pub fn then(&self, next: &IndexMap) -> Result<Option<IndexMap>> {
        if self.out_shape != next.in_shape {
            return Err(Error::ShapeMismatch {
                argument: "the input of the next map",
                expected: self.out_shape.clone(),
                got: next.in_shape.clone(),
            });
        }
        if next.out_shape.elements() == 0 {
            return Ok(Some(IndexMap::empty(next.out_shape.clone(), self.in_shape.clone())));
        }
        let Some(axes) = self.axes.iter().map(|axis| axis_after(axis, next)).collect() else {
            return Ok(None);
        };
        let composed = IndexMap::new(next.out_shape.clone(), self.in_shape.clone(), axes);
        let ragged = |axis: &&AxisMap| matches!(axis, AxisMap::Ragged { .. });
        Ok((composed.axes.iter().filter(ragged).count() <= 1).then_some(composed))
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

/// The map of one source axis of `first`, asked at the coordinates that `next` gives.
fn axis_after(first: &AxisMap, next: &IndexMap) -> Option<AxisMap> {
    let middle = first.axis();
    let inner = &next.axes[middle];
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
            let lengths = lengths.pull_back(&next.axes, sizes)?;
            let before = line.then(*before);
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
                && lengths.pull_back(&next.axes, sizes)?.agrees_with(inner_lengths, sizes);
            undone.then(|| {
                let row = Piece { end: sizes[*axis], line: first_before.then(*after) };
                AxisMap::from_pieces(*axis, [row])
            })
        }
    }
}
