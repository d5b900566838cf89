//! One map after another, as one map.

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

    /// As few maps as do what `maps` do one after another, each as many of them as compose.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if one does not read the shape that the one before it gives.
    pub fn fuse(maps: impl IntoIterator<Item = IndexMap>) -> Result<Vec<IndexMap>> {
        let mut passes: Vec<IndexMap> = Vec::new();
        for map in maps {
            match passes.last_mut() {
                Some(last) => match last.then(&map)? {
                    Some(both) => *last = both,
                    None => passes.push(map),
                },
                None => passes.push(map),
            }
        }
        Ok(passes)
    }
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
