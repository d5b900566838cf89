//! Where an element of a program comes from, by asking one map after another.

use super::{Made, Program, TensorId};
use crate::shape::row_major_number;

impl Program {
    /// Where an element of a tensor comes from: a tensor that is given or filled, and the element's
    /// index there. Elements are counted in row-major order. Nothing of passes or moves is used.
    ///
    /// Law: the element that any passes write at an index is that of its origin.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn origin(&self, tensor: TensorId, element: usize) -> (TensorId, usize) {
        let mut at = (tensor, element);
        while let Some(next) = self.source_of(at.0, at.1) {
            at = next;
        }
        at
    }

    /// One step towards that: the element of the tensor which this one is made of. `None` where it
    /// is given or filled.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn source_of(&self, tensor: TensorId, element: usize) -> Option<(TensorId, usize)> {
        let shape = &self.tensor(tensor).shape;
        match &self.tensor(tensor).made {
            Made::Given(_) | Made::Fill(_) => None,
            Made::Moved { from, map } => {
                let source = map.source_of(&shape.unravel(element));
                Some((*from, row_major_number(map.in_shape().sizes(), &source)))
            }
            Made::Joined { axis, parts } => {
                let mut index = shape.unravel(element);
                let ends = self.ends(tensor);
                let part = ends.partition_point(|end| *end <= index[*axis]);
                if let Some(before) = part.checked_sub(1) {
                    index[*axis] -= ends[before];
                }
                let part = parts[part];
                Some((part, row_major_number(self.tensor(part).shape.sizes(), &index)))
            }
        }
    }
}
