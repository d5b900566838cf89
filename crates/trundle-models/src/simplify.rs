//! A graph in fewer words: what was cut up and put together again is one movement.

use trundle_core::{AxisMap, IndexMap, Line};

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

    /// The tensors that are another one rolled along one axis or more.
    pub(crate) fn rolls(&self) -> impl Iterator<Item = TensorId> + '_ {
        let is_roll = |tensor: &Tensor| match &tensor.made {
            Made::Moved { map, .. } => is_roll(map),
            _ => false,
        };
        (0..self.tensors.len()).map(TensorId).filter(move |id| is_roll(&self.tensors[id.0]))
    }
}

/// Whether a map moves no element but around the ends of axes.
fn is_roll(map: &IndexMap) -> bool {
    let [layer] = map.layers() else { return false };
    let keeps_order = |(axis, map): (usize, &AxisMap)| match map {
        AxisMap::Affine { axis: read, line } => *read == axis && *line == Line::IDENTITY,
        AxisMap::Segments { axis: read, pieces } => {
            *read == axis && pieces.len() == 2 && pieces.iter().all(|piece| piece.line.step == 1)
        }
        AxisMap::Ragged { .. } => false,
    };
    let axes = layer.axes().unwrap_or_default();
    map.in_shape() == map.out_shape()
        && !map.is_identity()
        && axes.iter().enumerate().all(keeps_order)
        && map.invert().is_some()
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
    // Parts that are joined themselves, again and again, would come to any number of pieces.
    let pieces = maps.iter().map(|map| most_pieces(map)).fold(0, usize::saturating_add);
    if pieces > parts.len() + MOST_PIECES {
        return None;
    }
    Some((from, IndexMap::joined(axis, &maps)?))
}

/// How many more pieces than parts a map may be made of. Rolls have two.
const MOST_PIECES: usize = 64;

/// The most pieces of an axis of a map.
fn most_pieces(map: &IndexMap) -> usize {
    let axes = map.layers().iter().filter_map(|layer| layer.axes()).flatten();
    let pieces = axes.map(|axis| match axis {
        AxisMap::Segments { pieces, .. } => pieces.len(),
        AxisMap::Affine { .. } | AxisMap::Ragged { .. } => 1,
    });
    pieces.max().unwrap_or(1)
}
