//! Composes consecutive maps.

use trundle_core::{IndexMap, Layout, Move, Result};

/// Enough boxes for all tests.
pub const MOST_BOXES: usize = 1 << 12;

/// The map, if one pass over memory can apply it to contiguous tensors.
pub fn one_pass(map: IndexMap) -> Option<IndexMap> {
    let src = Layout::row_major(map.in_shape(), 1).ok()?;
    let dst = Layout::row_major(map.out_shape(), 1).ok()?;
    Move::new(&map, 1, &src, &dst, MOST_BOXES).is_ok().then_some(map)
}

/// Composes consecutive maps from the first on, as long as the result is [one pass](one_pass).
///
/// # Errors
/// [`ShapeError::ShapeMismatch`](trundle_core::ShapeError::ShapeMismatch) if a map does not fit the output shape of the
/// previous one.
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
