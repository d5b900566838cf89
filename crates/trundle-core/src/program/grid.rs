//! Grids of evenly spaced elements, traced together to their origins.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Made, Program, TensorId};
use crate::Shape;
use crate::index_map::Layer;
use crate::shape::row_major_strides;

/// Elements of a tensor that are evenly spaced along some directions.
///
/// [`Program::follow`] traces them to the tensors that they come from, and splits the grid where the elements are
/// not evenly spaced there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    tensor: TensorId,
    /// The number of layers of the tensor's map that have been traced.
    layers: usize,
    /// The index of the first element.
    pub index: Vec<usize>,
    /// The position of the first element, as the caller counts positions.
    pub position: usize,
    /// The directions, each with at least two elements.
    pub directions: Vec<Direction>,
}

/// A direction of a [`Grid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The number of elements along the direction.
    pub count: usize,
    /// The distance between the positions of two neighbours.
    pub distance: usize,
    /// The difference between the indices of two neighbours.
    pub steps: Vec<isize>,
}

impl Direction {
    /// The distance between two neighbours in a box with these strides.
    pub fn stride(&self, strides: &[isize]) -> isize {
        self.steps.iter().zip(strides).map(|(step, stride)| step * stride).sum()
    }
}

impl Grid {
    /// Creates the grid of all elements of a nonempty box of a tensor, whose first element has the position `position`.
    ///
    /// `distances` are the distances between the positions of neighbours along each axis.
    pub fn of_box(
        tensor: TensorId,
        bounds: &[Range<usize>],
        position: usize,
        distances: &[usize],
    ) -> Grid {
        let direction = |(axis, (range, distance)): (usize, (&Range<usize>, &usize))| {
            let mut steps = vec![0; bounds.len()];
            steps[axis] = 1;
            Direction { count: range.len(), distance: *distance, steps }
        };
        let directions = bounds.iter().zip(distances).enumerate().map(direction);
        let directions = directions.filter(|direction| direction.count > 1).collect();
        let index = bounds.iter().map(|range| range.start).collect();
        Grid { tensor, layers: 0, index, position, directions }
    }

    /// The tensor of the elements; `None` while the grid is between two layers of a map.
    pub fn tensor(&self) -> Option<TensorId> {
        (self.layers == 0).then_some(self.tensor)
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.directions.iter().map(|direction| direction.count).product()
    }

    /// Keeps a part of the elements that lies within `bounds` and contains the first element, and appends the others to
    /// `rest`.
    ///
    /// If the first element lies outside `bounds`, returns false and keeps all elements.
    pub fn keep_within(&mut self, bounds: &[Range<usize>], rest: &mut Vec<Grid>) -> bool {
        if self.index.iter().zip(bounds).any(|(i, range)| !range.contains(i)) {
            return false;
        }
        let mut counts = self.counts();
        for (axis, range) in bounds.iter().enumerate() {
            self.limit(axis, range, &mut counts);
        }
        self.cut(&counts, rest);
        self.directions.retain(|direction| direction.count > 1);
        true
    }

    /// Converts the indices from the shape `from` to `to`, which has as many elements in row-major order.
    ///
    /// Keeps a part that is evenly spaced there, and appends the others to `rest`.
    pub fn reshape(&mut self, from: &Shape, to: &Shape, rest: &mut Vec<Grid>) {
        if from == to {
            return;
        }
        let strides = row_major_strides(from.sizes());
        let (index, to) = (to.unravel(from.ravel(&self.index)), RowMajor::of(to));
        let mut at = 0;
        while at < self.directions.len() {
            self.part_at(at, &strides, &index, &to, rest);
            at += 1;
        }
        let mut counts = self.counts();
        for (axis, size) in to.sizes.iter().enumerate() {
            let steps =
                self.directions.iter().map(|direction| match to.step(direction.stride(&strides)) {
                    Some((own, step)) if own == axis => step,
                    _ => 0,
                });
            limit(index[axis], steps, &(0..*size), &mut counts);
        }
        self.cut(&counts, rest);
        self.go_on(index, |direction| {
            let mut steps = vec![0; to.sizes.len()];
            if let Some((axis, step)) = to.step(direction.stride(&strides)) {
                steps[axis] = step;
            }
            steps
        });
    }

    /// Cuts the direction `at` where it reaches the end of an axis of the new shape, in which the first element has the
    /// index `index`. A direction that passes through the whole axis several times becomes two.
    fn part_at(
        &mut self,
        at: usize,
        strides: &[isize],
        index: &[usize],
        to: &RowMajor<'_>,
        rest: &mut Vec<Grid>,
    ) {
        let Some((axis, step)) = to.step(self.directions[at].stride(strides)) else { return };
        let room = room(index[axis], step, &(0..to.sizes[axis]));
        let count = self.directions[at].count;
        let fills = room > 1 && room * step.unsigned_abs() == to.sizes[axis];
        if count <= room || !fills {
            return self.cut_along(at, count.min(room), rest);
        }
        let rounds = count / room;
        self.cut_along(at, rounds * room, rest);
        let inner = &mut self.directions[at];
        inner.count = room;
        if rounds > 1 {
            let distance = inner.distance * room;
            let steps = inner.steps.iter().map(|step| step * room.cast_signed()).collect();
            self.directions.push(Direction { count: rounds, distance, steps });
        }
    }

    fn follow(&mut self, layer: &Layer, rest: &mut Vec<Grid>) {
        let Some(axes) = layer.axes() else {
            return self.reshape(layer.out_shape(), layer.in_shape(), rest);
        };
        let mut counts = self.counts();
        for map in axes {
            if let Some((axis, range)) = map.piece_around(&self.index) {
                self.limit(axis, &range, &mut counts);
            }
            if let Some(table) = map.table() {
                let parts = self.directions.iter().map(|each| table.step_of(&each.steps) != 0);
                counts
                    .iter_mut()
                    .zip(parts)
                    .filter(|(_, parts)| *parts)
                    .for_each(|(count, _)| *count = 1);
            }
        }
        self.cut(&counts, rest);
        let before = core::mem::take(&mut self.index);
        let index = axes.iter().map(|map| map.source_of(&before)).collect();
        self.go_on(index, |direction| {
            axes.iter().map(|map| map.step_of(&before, &direction.steps)).collect()
        });
    }

    fn counts(&self) -> Vec<usize> {
        self.directions.iter().map(|direction| direction.count).collect()
    }

    fn limit(&self, axis: usize, range: &Range<usize>, counts: &mut [usize]) {
        let steps = self.directions.iter().map(|direction| direction.steps[axis]);
        limit(self.index[axis], steps, range, counts);
    }

    /// Keeps the first `counts[at]` elements along each direction, and appends the others to `rest`.
    fn cut(&mut self, counts: &[usize], rest: &mut Vec<Grid>) {
        for (at, count) in counts.iter().enumerate() {
            self.cut_along(at, *count, rest);
        }
    }

    fn cut_along(&mut self, at: usize, count: usize, rest: &mut Vec<Grid>) {
        if count == self.directions[at].count {
            return;
        }
        let mut other = self.clone();
        let direction = &mut other.directions[at];
        direction.count -= count;
        other.position += direction.distance * count;
        for (i, step) in other.index.iter_mut().zip(&direction.steps) {
            *i = i.wrapping_add_signed(step * count.cast_signed());
        }
        other.directions.retain(|direction| direction.count > 1);
        rest.push(other);
        self.directions[at].count = count;
    }

    fn go_on(&mut self, index: Vec<usize>, steps: impl Fn(&Direction) -> Vec<isize>) {
        self.index = index;
        self.directions.retain(|direction| direction.count > 1);
        self.directions.iter_mut().for_each(|direction| direction.steps = steps(direction));
    }
}

struct RowMajor<'a> {
    sizes: &'a [usize],
    strides: Vec<isize>,
}

impl RowMajor<'_> {
    fn of(shape: &Shape) -> RowMajor<'_> {
        RowMajor { sizes: shape.sizes(), strides: row_major_strides(shape.sizes()) }
    }

    /// The axis along which elements this far apart are neighbours, and the steps along it; the outermost if several
    /// fit.
    fn step(&self, stride: isize) -> Option<(usize, isize)> {
        let fits = |own: &isize| *own != 0 && stride % own == 0;
        let axis = self.strides.iter().position(fits).filter(|_| stride != 0)?;
        Some((axis, stride / self.strides[axis]))
    }
}

/// How many of the elements `first`, `first + step`, ... are in `range`, which contains `first`.
fn room(first: usize, step: isize, range: &Range<usize>) -> usize {
    let left = if step > 0 { range.end - 1 - first } else { first - range.start };
    left / step.unsigned_abs() + 1
}

/// Reduces the counts of directions so that all elements are in `range`, which contains `first`.
///
/// Long steps are reduced before short ones.
fn limit(
    first: usize,
    steps: impl Iterator<Item = isize> + Clone,
    range: &Range<usize>,
    counts: &mut [usize],
) {
    let mut order: Vec<(usize, isize)> = steps.enumerate().filter(|(_, step)| *step != 0).collect();
    order.sort_by_key(|(_, step)| step.unsigned_abs());
    let (mut least, mut most) = (first, first);
    for (at, step) in order {
        let end = if step > 0 { &mut most } else { &mut least };
        counts[at] = counts[at].min(room(*end, step, range));
        *end = end.wrapping_add_signed(step * (counts[at] - 1).cast_signed());
    }
}

impl Program {
    /// Traces a grid one step towards the origins of its elements.
    ///
    /// Keeps a part that is evenly spaced after the step, and appends the others to `rest`, for later calls. Returns
    /// false if the elements belong to an input or a constant.
    ///
    /// Law: each element has the same origin as before the step.
    ///
    /// # Panics
    /// If the grid does not lie within its tensor.
    pub fn follow(&self, grid: &mut Grid, rest: &mut Vec<Grid>) -> bool {
        match &self.tensor(grid.tensor).made {
            Made::Given(_) | Made::Fill(_) => return false,
            Made::Moved { from, map } => {
                let left = map.layers().len() - grid.layers;
                grid.follow(&map.layers()[left - 1], rest);
                grid.layers += 1;
                if left == 1 {
                    (grid.tensor, grid.layers) = (*from, 0);
                }
            }
            Made::Joined { axis, .. } => {
                let (part, along) = self.part_at(grid.tensor, grid.index[*axis]);
                let mut counts = grid.counts();
                grid.limit(*axis, &along, &mut counts);
                grid.cut(&counts, rest);
                grid.directions.retain(|direction| direction.count > 1);
                grid.index[*axis] -= along.start;
                grid.tensor = part;
            }
        }
        true
    }
}
