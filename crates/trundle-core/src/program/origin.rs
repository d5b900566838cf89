//! Where an element of a program comes from, by asking one map after another.

use std::ops::Range;

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
            Made::Joined { axis, .. } => {
                let mut index = shape.unravel(element);
                let (part, along) = self.part_at(tensor, index[*axis]);
                index[*axis] -= along.start;
                Some((part, row_major_number(self.tensor(part).shape.sizes(), &index)))
            }
        }
    }

    /// Which part of a joined tensor holds the elements at this coordinate of the axis along which they
    /// are joined, and where along it the part is.
    ///
    /// # Panics
    /// If the tensor is not joined, or is not as long.
    pub fn part_at(&self, joined: TensorId, coordinate: usize) -> (TensorId, Range<usize>) {
        let (parts, ends) = (self.tensor(joined).made.of(), self.ends(joined));
        let part = ends.partition_point(|end| *end <= coordinate);
        let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
        (parts[part], begin..ends[part])
    }
}
