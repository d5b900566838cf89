//! Elements followed through a graph, one movement after another, to where they stand.

use trundle_core::Shape;

use crate::{Made, Tensor, TensorId};

/// One step from an element, counted in row-major order, towards where it stands: the tensor that
/// its own is made of, and its number there. `None` for what is given, or held by the file.
pub(crate) fn followed(
    tensors: &[Tensor],
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
            for part in parts {
                let shape = &tensors[part.0].shape;
                if index[*axis] < shape[*axis] {
                    return Some((*part, ravel(&index, shape)));
                }
                index[*axis] -= shape[*axis];
            }
            // The sizes of the parts add up to the tensor's.
            None
        }
    }
}

/// The number of an index in row-major order.
fn ravel(index: &[usize], shape: &Shape) -> usize {
    index.iter().zip(shape.iter()).fold(0, |number, (i, size)| number * size + i)
}
