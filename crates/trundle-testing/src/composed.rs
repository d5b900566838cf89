//! Neighbouring maps as one.

use trundle_core::{IndexMap, Result};

/// Maps that do what `maps` do one after another, each of as many of them, from the first on, as
/// compose.
///
/// # Errors
/// [`Error::ShapeMismatch`](trundle_core::Error::ShapeMismatch) if one does not read the shape that
/// the one before it gives.
pub fn composed(maps: impl IntoIterator<Item = IndexMap>) -> Result<Vec<IndexMap>> {
    let mut composed: Vec<IndexMap> = Vec::new();
    for map in maps {
        let longer = composed.last().map(|last| last.then(&map)).transpose()?.flatten();
        if longer.is_some() {
            composed.pop();
        }
        composed.push(longer.unwrap_or(map));
    }
    Ok(composed)
}
