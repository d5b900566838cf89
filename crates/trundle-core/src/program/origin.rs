//! Where elements of a program come from, by asking one map after another.

use std::ops::Range;

use super::{Made, Program, TensorId};

impl Program {
    /// Where an element of a tensor comes from: a tensor that is given or filled, and the element's
    /// index there. Elements are counted in row-major order. Nothing of passes or moves is used.
    ///
    /// Law: the element that any passes write at an index is that of its origin.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn origin(&self, tensor: TensorId, element: usize) -> (TensorId, usize) {
        let (mut tensor, mut index) = (tensor, self.index_of(tensor, element));
        while let Some(next) = self.step(tensor, &mut index) {
            tensor = next;
        }
        (tensor, self.tensor(tensor).shape.ravel(&index))
    }

    /// One step towards that: the element of the tensor which this one is made of. `None` where it
    /// is given or filled.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn source_of(&self, tensor: TensorId, element: usize) -> Option<(TensorId, usize)> {
        let mut index = self.index_of(tensor, element);
        let from = self.step(tensor, &mut index)?;
        Some((from, self.tensor(from).shape.ravel(&index)))
    }

    /// The index of an element of a tensor.
    fn index_of(&self, tensor: TensorId, element: usize) -> Vec<usize> {
        let shape = &self.tensor(tensor).shape;
        assert!(element < shape.elements(), "element {element} lies outside shape {shape}");
        shape.unravel(element)
    }

    /// The same step of the element at `index`, which becomes that of the tensor that the step leads to.
    fn step(&self, tensor: TensorId, index: &mut Vec<usize>) -> Option<TensorId> {
        match &self.tensor(tensor).made {
            Made::Given(_) | Made::Fill(_) => None,
            Made::Moved { from, map } => {
                *index = map.source_of(index);
                Some(*from)
            }
            Made::Joined { axis, .. } => {
                let (part, along) = self.part_at(tensor, index[*axis]);
                index[*axis] -= along.start;
                Some(part)
            }
        }
    }

    /// Which part of a joined tensor holds the elements at this coordinate of the axis along which they
    /// are joined, and where along it the part is.
    pub(super) fn part_at(&self, joined: TensorId, coordinate: usize) -> (TensorId, Range<usize>) {
        let (parts, ends) = (self.tensor(joined).made.of(), self.ends(joined));
        let part = ends.partition_point(|end| *end <= coordinate);
        let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
        (parts[part], begin..ends[part])
    }
}
