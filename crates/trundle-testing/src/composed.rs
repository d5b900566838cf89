//! Neighbouring maps as one.

use trundle_core::{IndexMap, Layout, Move, Result};

/// So many boxes are enough for all that tests ask.
pub const MOST_BOXES: usize = 1 << 12;

/// A map, if one pass over memory does it between contiguous tensors.
pub fn one_pass(map: IndexMap) -> Option<IndexMap> {
    let src = Layout::row_major(map.in_shape(), 1).ok()?;
    let dst = Layout::row_major(map.out_shape(), 1).ok()?;
    Move::new(&map, 1, &src, &dst, MOST_BOXES).is_ok().then_some(map)
}

/// Maps that do what `maps` do one after another, each of as many of them, from the first on, as
/// are [one pass](one_pass).
///
/// # Errors
/// [`ShapeError::ShapeMismatch`](trundle_core::ShapeError::ShapeMismatch) if one does not read the shape that
/// the one before it gives.
pub fn composed(maps: impl IntoIterator<Item = IndexMap>) -> Result<Vec<IndexMap>> {
    let mut composed: Vec<IndexMap> = Vec::new();
    for map in maps {
        let longer = composed.last().map(|last| last.then(&map)).transpose()?.and_then(one_pass);
        if longer.is_some() {
            composed.pop();
        }
        composed.push(longer.unwrap_or(map));
    }
    Ok(composed)
}
