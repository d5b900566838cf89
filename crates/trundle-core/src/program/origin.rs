//! Where elements of a program come from, by asking one map after another.

use std::mem::swap;
use std::ops::Range;

use super::{Made, Program, TensorId};

/// Elements of a tensor that are evenly spaced there, on the way to where they come from: their number
/// gets less where they part.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The tensor that was reached.
    pub tensor: TensorId,
    /// Where the first of them is.
    pub index: Vec<usize>,
    /// How far apart two neighbours are along each axis.
    pub steps: Vec<isize>,
    /// How many there are.
    pub count: usize,
    /// What the next step finds.
    next: (Vec<usize>, Vec<isize>),
}

impl Row {
    /// The elements from `index` on along the last axis of a tensor, in place of those before.
    pub fn begin(&mut self, tensor: TensorId, index: &[usize], count: usize) {
        (self.tensor, self.count) = (tensor, count);
        self.index.clear();
        self.index.extend_from_slice(index);
        self.steps.clear();
        self.steps.resize(index.len(), 0);
        self.steps.last_mut().into_iter().for_each(|step| *step = 1);
    }

    /// How many of them, from the first on, are in a box of the tensor.
    pub fn count_within(&self, bounds: &[Range<usize>]) -> usize {
        (0..bounds.len())
            .fold(self.count, |count, axis| count.min(self.count_along(axis, &bounds[axis])))
    }

    /// The same along one axis.
    fn count_along(&self, axis: usize, range: &Range<usize>) -> usize {
        let (i, step) = (self.index[axis], self.steps[axis]);
        match step {
            _ if !range.contains(&i) => 0,
            0 => self.count,
            1.. => (range.end - i).div_ceil(step.unsigned_abs()),
            _ => (i - range.start) / step.unsigned_abs() + 1,
        }
    }

    /// The axis along which one goes from neighbour to neighbour, if it is one alone.
    fn along(&self) -> Option<usize> {
        let along = self.steps.iter().position(|step| *step != 0)?;
        let rest = &self.steps[along + 1..];
        (self.count > 1 && self.steps[along] == 1 && rest.iter().all(|step| *step == 0))
            .then_some(along)
    }
}

impl Program {
    /// Where an element of a tensor comes from: a tensor that is given or filled, and the element's
    /// index there. Elements are counted in row-major order. Nothing of passes or moves is used.
    ///
    /// Law: the element that any passes write at an index is that of its origin.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn origin(&self, tensor: TensorId, element: usize) -> (TensorId, usize) {
        let mut row = self.row_of(tensor, element);
        while self.follow(&mut row) {}
        (row.tensor, self.tensor(row.tensor).shape.ravel(&row.index))
    }

    /// One step towards that: the element of the tensor which this one is made of. `None` where it
    /// is given or filled.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn source_of(&self, tensor: TensorId, element: usize) -> Option<(TensorId, usize)> {
        let mut row = self.row_of(tensor, element);
        let is_made = self.follow(&mut row);
        is_made.then(|| (row.tensor, self.tensor(row.tensor).shape.ravel(&row.index)))
    }

    /// One element of a tensor as a row.
    fn row_of(&self, tensor: TensorId, element: usize) -> Row {
        let shape = &self.tensor(tensor).shape;
        assert!(element < shape.elements(), "element {element} lies outside shape {shape}");
        let mut row = Row::default();
        row.begin(tensor, &shape.unravel(element), 1);
        row
    }

    /// The same step of a row of elements, with as many of them as stay evenly spaced.
    ///
    /// Law: for each `k` below the row's count, what its element `k` was made of is `k` steps from
    /// its index.
    ///
    /// # Panics
    /// If the tensor has no such elements.
    pub fn follow(&self, row: &mut Row) -> bool {
        match &self.tensor(row.tensor).made {
            Made::Given(_) | Made::Fill(_) => return false,
            Made::Moved { from, map } => {
                let along = row.along();
                let (index, steps) = &mut row.next;
                index.resize(map.in_shape().rank(), 0);
                steps.resize(map.in_shape().rank(), 0);
                map.source_into(&row.index, index);
                row.count = match along {
                    Some(along) => row.count.min(map.stretch(&row.index, along, steps)),
                    None => {
                        steps.fill(0);
                        1
                    }
                };
                row.tensor = *from;
                swap(&mut row.index, index);
                swap(&mut row.steps, steps);
            }
            Made::Joined { axis, .. } => {
                let (part, along) = self.part_at(row.tensor, row.index[*axis]);
                row.count = row.count.min(row.count_along(*axis, &along));
                row.index[*axis] -= along.start;
                row.tensor = part;
            }
        }
        true
    }

    /// Which part of a joined tensor holds the elements at this coordinate of the axis along which they
    /// are joined, and where along it the part is.
    fn part_at(&self, joined: TensorId, coordinate: usize) -> (TensorId, Range<usize>) {
        let (parts, ends) = (self.tensor(joined).made.of(), self.ends(joined));
        let part = ends.partition_point(|end| *end <= coordinate);
        let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
        (parts[part], begin..ends[part])
    }
}
