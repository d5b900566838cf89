//! A graph in fewer words: what was cut up and put together again is one movement.

use trundle_core::IndexMap;

use crate::{Graph, Made, Tensor, TensorId};

impl Graph {
    /// The same graph, in which parts of one tensor that are joined are that tensor moved, where
    /// one map says it: so the slices and the concatenation into which exporters write a roll are
    /// the roll.
    ///
    /// Law: every element of every tensor is the same.
    #[must_use]
    pub fn simplified(mut self) -> Graph {
        for number in 0..self.tensors.len() {
            if let Made::Joined { axis, parts } = &self.tensors[number].made
                && let Some((from, map)) = moved_whole(&self.tensors, *axis, parts)
            {
                self.tensors[number].made = Made::Moved { from, map };
            }
        }
        self
    }
}

/// Parts of one tensor as that tensor, moved.
fn moved_whole(
    tensors: &[Tensor],
    axis: usize,
    parts: &[TensorId],
) -> Option<(TensorId, IndexMap)> {
    let of_source = |part: TensorId| match &tensors[part.0].made {
        Made::Moved { from, map } => (*from, Some(map)),
        _ => (part, None),
    };
    let (from, _) = of_source(*parts.first()?);
    let whole = IndexMap::identity(&tensors[from.0].shape);
    let mut maps: Vec<&IndexMap> = Vec::with_capacity(parts.len());
    for part in parts {
        match of_source(*part) {
            _ if *part == from => maps.push(&whole),
            (source, Some(map)) if source == from => maps.push(map),
            _ => return None,
        }
    }
    Some((from, IndexMap::joined(axis, &maps)?))
}
