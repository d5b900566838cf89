//! Simplifies programs: a tensor that is split and joined again becomes one movement.

use alloc::vec::Vec;

use super::{Budget, Made, Program, TensorId};
use crate::{AxisMap, IndexMap};

impl Program {
    /// Replaces a join of parts of the same tensor by a movement of that tensor, if one map describes it.
    ///
    /// For example, exporters of models write a roll as slices and a concatenation. These become a roll.
    ///
    /// Law: every element of every tensor has the same origin.
    #[must_use]
    pub fn simplified(mut self, budget: &Budget) -> Program {
        for index in 0..self.tensors.len() {
            if let Made::Joined { axis, parts } = &self.tensors[index].made
                && let Some((from, map)) = self.moved_whole(*axis, parts, budget.pieces)
            {
                self.tensors[index].made = Made::Moved { from, map };
                self.ends.remove(&TensorId(index));
            }
        }
        self
    }

    fn moved_whole(
        &self,
        axis: usize,
        parts: &[TensorId],
        more_pieces: usize,
    ) -> Option<(TensorId, IndexMap)> {
        let of_source = |part: TensorId| match &self.tensor(part).made {
            Made::Moved { from, map } => (*from, Some(map)),
            _ => (part, None),
        };
        let (from, _) = of_source(*parts.first()?);
        let whole = IndexMap::identity(&self.tensor(from).shape);
        let mut maps: Vec<&IndexMap> = Vec::with_capacity(parts.len());
        for part in parts {
            match of_source(*part) {
                _ if *part == from => maps.push(&whole),
                (source, Some(map)) if source == from => maps.push(map),
                _ => return None,
            }
        }
        // Without a limit, nested joins could make a map with any number of pieces.
        let pieces = maps
            .iter()
            .map(|map| map.axes().map(AxisMap::lines).max().unwrap_or(1))
            .fold(0, usize::saturating_add);
        if pieces > parts.len().saturating_add(more_pieces) {
            return None;
        }
        Some((from, IndexMap::joined(axis, &maps)?))
    }
}
