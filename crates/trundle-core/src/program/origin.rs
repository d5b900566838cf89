//! Finds the origin of an element, map by map.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Made, Program, TensorId};

impl Program {
    /// The origin of an element: the input or constant that it comes from, and the element's number there.
    ///
    /// Elements are numbered in row-major order. Passes and moves play no part in this.
    ///
    /// Law: whatever the passes are, they write to each index the element that is its origin.
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

    /// The first step towards the origin of an element: the tensor that `tensor` is made from, and the element's number
    /// there. `None` for an input or a constant.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn source_of(&self, tensor: TensorId, element: usize) -> Option<(TensorId, usize)> {
        let mut index = self.index_of(tensor, element);
        let from = self.step(tensor, &mut index)?;
        Some((from, self.tensor(from).shape.ravel(&index)))
    }

    fn index_of(&self, tensor: TensorId, element: usize) -> Vec<usize> {
        let shape = &self.tensor(tensor).shape;
        assert!(element < shape.elements(), "element {element} lies outside shape {shape}");
        shape.unravel(element)
    }

    /// One step from the element at `index`, which becomes its index in the returned tensor.
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

    /// The part of a joined tensor with this coordinate on the joined axis, and the part's range there.
    pub(super) fn part_at(&self, joined: TensorId, coordinate: usize) -> (TensorId, Range<usize>) {
        let (parts, ends) = (self.tensor(joined).made.of(), self.ends(joined));
        let part = ends.partition_point(|end| *end <= coordinate);
        let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
        (parts[part], begin..ends[part])
    }
}
