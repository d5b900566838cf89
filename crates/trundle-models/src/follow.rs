//! Elements followed through a graph, one movement after another, to where they stand.

use std::collections::HashMap;

use trundle_core::Shape;

use crate::{Made, Tensor, TensorId};

/// Where the parts of joined tensors end along their axis.
#[derive(Default)]
pub(crate) struct Ends(HashMap<TensorId, Vec<usize>>);

impl Ends {
    /// Those of all of these tensors.
    pub(crate) fn of(tensors: &[Tensor]) -> Ends {
        let mut ends = Ends::default();
        (0..tensors.len()).for_each(|number| ends.add(tensors, TensorId(number)));
        ends
    }

    /// Adds those of one tensor, if it is joined.
    pub(crate) fn add(&mut self, tensors: &[Tensor], id: TensorId) {
        let Made::Joined { axis, parts } = &tensors[id.0].made else { return };
        let mut end = 0;
        let ends = parts.iter().map(|part| {
            end += tensors[part.0].shape[*axis];
            end
        });
        self.0.insert(id, ends.collect());
    }

    /// The part that an index along the axis of a joined tensor lies in, and where that begins.
    fn part(&self, id: TensorId, index: usize) -> (usize, usize) {
        let ends = self.0.get(&id).map_or(&[][..], Vec::as_slice);
        let part = ends.partition_point(|end| *end <= index);
        (part, if part == 0 { 0 } else { ends[part - 1] })
    }
}

/// One step from an element, counted in row-major order, towards where it stands: the tensor that
/// its own is made of, and its number there. `None` for what is given, or held by the file.
pub(crate) fn followed(
    tensors: &[Tensor],
    ends: &Ends,
    id: TensorId,
    number: usize,
) -> Option<(TensorId, usize)> {
    let tensor = &tensors[id.0];
    match &tensor.made {
        Made::Given(_) | Made::Constant(_) => None,
        Made::Moved { from, map } => {
            let source = map.source_of(&tensor.shape.unravel(number));
            Some((*from, ravel(&source, map.in_shape())))
        }
        Made::Joined { axis, parts } => {
            let mut index = tensor.shape.unravel(number);
            let (number, begin) = ends.part(id, index[*axis]);
            index[*axis] -= begin;
            // The sizes of the parts add up to the tensor's.
            let part = parts.get(number)?;
            Some((*part, ravel(&index, &tensors[part.0].shape)))
        }
    }
}

/// The number of an index in row-major order.
pub(crate) fn ravel(index: &[usize], shape: &Shape) -> usize {
    index.iter().zip(shape.iter()).fold(0, |number, (i, size)| number * size + i)
}
