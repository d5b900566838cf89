//! Scatters: tensors with some elements replaced by elements of another tensor.

use alloc::vec::Vec;

use super::updated_axes::UpdatedAxes;
use super::{Program, TensorId};
use crate::index_map::AxisMap;
use crate::shape::check_shape;
use crate::shape::row_major_strides;
use crate::{DTypeError, IndexMap, Layout, Line, Move, Result, Shape, ShapeError, Table, Width};

impl Program {
    /// Adds `base` with some elements replaced by `updates`. For each index of `updates`, `targets` gives the index of
    /// `base` that it replaces, so the map of a gather describes the corresponding scatter. If several updates have the
    /// same destination, the last one in row-major order wins. An update at a position of rank 0 may have any shape of
    /// one element, as in OpenVINO's `ScatterNDUpdate`.
    ///
    /// The result is a gather from the concatenation of both tensors, with a table of element numbers for the axes
    /// along which `targets` moves elements. Independent axes have a table each.
    ///
    /// # Errors
    /// [`ShapeError::ShapeMismatch`] if the shapes of `updates` and `base` are not the output shape and the source
    /// shape of `targets`, [`DTypeError::WidthsDiffer`] if the tensors have different widths,
    /// [`ShapeError::TooLarge`] if there is not enough memory for the table.
    pub fn updated(
        &mut self,
        base: TensorId,
        updates: TensorId,
        targets: &IndexMap,
    ) -> Result<TensorId> {
        let (whole, part) = (self.checked(base)?, self.checked(updates)?);
        check_shape("the tensor that is updated", targets.in_shape(), &whole.shape)?;
        if !(targets.out_shape().rank() == 0 && part.shape.elements() == 1) {
            check_shape("updates", targets.out_shape(), &part.shape)?;
        }
        if whole.width != part.width {
            return Err(DTypeError::WidthsDiffer { expected: whole.width, got: part.width }.into());
        }
        // Elements without bytes are all equal.
        if targets.out_shape().elements() == 0 || whole.width == Width::Bytes(0) {
            return Ok(base);
        }
        let updates = self.reshaped(updates, targets.out_shape())?;
        self.put(base, updates, targets)
    }

    /// The number of table entries that [`Program::updated`] holds in memory for these targets: one for each index of
    /// an independent axis, or for each element of axes that depend on each other.
    pub fn indices_of_update(targets: &IndexMap) -> usize {
        let product =
            |sizes: &[usize]| sizes.iter().fold(1, |all: usize, n| all.saturating_mul(*n));
        let (whole, part) = (targets.in_shape(), targets.out_shape());
        match UpdatedAxes::of(targets) {
            Ok(UpdatedAxes::Itself) => 0,
            Ok(UpdatedAxes::Apart(first, others)) => Program::indices_of_update(&first)
                .saturating_add(Program::indices_of_update(&others)),
            Ok(UpdatedAxes::Together { before, behind }) => {
                let middle = |shape: &Shape| product(&shape[before..shape.rank() - behind]);
                middle(whole).saturating_add(middle(part))
            }
            Err(_) => usize::MAX,
        }
    }

    /// [`Program::updated`] without checks.
    fn put(&mut self, base: TensorId, updates: TensorId, targets: &IndexMap) -> Result<TensorId> {
        match UpdatedAxes::of(targets)? {
            UpdatedAxes::Itself => Ok(updates),
            UpdatedAxes::Apart(first, others) => {
                let rows = self.moved(base, first.clone())?;
                let rows = self.put(rows, updates, &others)?;
                self.put(base, rows, &first)
            }
            UpdatedAxes::Together { before, behind } => {
                let merged = |shape: &Shape| {
                    let (front, rest) = shape.split_at(before);
                    let (middle, end) = rest.split_at(rest.len() - behind);
                    Shape::new([front, &[middle.iter().product()], end].concat())
                };
                let (shape, flat) = (targets.in_shape(), merged(targets.in_shape())?);
                let base = self.reshaped(base, &flat)?;
                let updates = self.reshaped(updates, &merged(targets.out_shape())?)?;
                let joined = self.joined(before, &[base, updates])?;
                let table = replaced(targets, (before, behind), flat[before])?;
                let taken = self.taken(joined, before, table, flat)?;
                self.reshaped(taken, shape)
            }
        }
    }

    fn reshaped(&mut self, id: TensorId, shape: &Shape) -> Result<TensorId> {
        match &self.checked(id)?.shape {
            own if own == shape => Ok(id),
            own => self.moved(id, IndexMap::reshape(own, shape)?),
        }
    }

    /// Gathers along an axis of a tensor, by a table for each index on that axis of `shape`.
    fn taken(
        &mut self,
        from: TensorId,
        axis: usize,
        table: Vec<usize>,
        shape: Shape,
    ) -> Result<TensorId> {
        let whole = self.checked(from)?.shape.clone();
        let mut strides = vec![0; shape.rank()];
        strides[axis] = 1;
        let indices = Table::new(table, 0, strides);
        let of_axis = |at: usize| match at == axis {
            true => AxisMap::Indexed { indices: indices.clone(), line: Line::IDENTITY },
            false => AxisMap::identity(at),
        };
        let axes = (0..shape.rank()).map(of_axis).collect();
        self.moved(from, IndexMap::new(shape, whole, axes))
    }
}

/// The table of a scatter, over the `size` elements along all axes except the first `before` and the last `behind`, in
/// row-major order. Each entry is the number of an element in `base`, or `size` plus the number of an element in the
/// updates.
fn replaced(
    targets: &IndexMap,
    (before, behind): (usize, usize),
    size: usize,
) -> Result<Vec<usize>> {
    let mut table = counted(size)?;
    let (whole, part) = (targets.in_shape(), targets.out_shape());
    // The targets are the same at all positions along the other axes.
    let is_merged = |axis: usize| axis >= before && axis < part.rank() - behind;
    let bounds: Vec<_> =
        (0..part.rank()).map(|axis| if is_merged(axis) { 0..part[axis] } else { 0..1 }).collect();
    let targets = targets.restrict(&bounds)?;
    let mut strides = vec![0; whole.rank()];
    let merged = before..whole.rank() - behind;
    strides[merged.clone()].copy_from_slice(&row_major_strides(&whole[merged]));
    let (from, to) =
        (Layout::strided(whole, 0, &strides)?, Layout::row_major(targets.out_shape(), 1)?);
    match Move::new(&targets, 1, &from, &to, MOST_BOXES) {
        Ok(work) => {
            let width = work.width();
            // The last update has the largest number, so the order does not matter.
            work.for_each_pair(|target, update| {
                for at in 0..width {
                    table[target + at] = table[target + at].max(size + update + at);
                }
            });
        }
        Err(_) => targets.out_shape().for_each_index(|index| {
            let target = from.offset_of(&targets.source_of(index));
            let update = targets.out_shape().ravel(index);
            table[target] = table[target].max(size + update);
        }),
    }
    Ok(table)
}

fn counted(size: usize) -> Result<Vec<usize>> {
    let mut table = Vec::new();
    let too_large = |_| ShapeError::TooLarge { what: format!("a table of {size} elements") };
    table.try_reserve_exact(size).map_err(too_large)?;
    table.extend(0..size);
    Ok(table)
}

/// The maximum number of boxes of `targets`. If there are more, the elements are evaluated one by one.
const MOST_BOXES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::ops::{GatherNd, Indices, Slice, Take, TakeAlongAxis};

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    /// Compares each element of an updated tensor with the last update at its position.
    fn check(targets: &IndexMap) {
        let mut program = Program::new();
        let base = program.given(targets.in_shape().clone(), 4).unwrap();
        let updates = program.given(targets.out_shape().clone(), 4).unwrap();
        let updated = program.updated(base, updates, targets).unwrap();
        let mut expected: Vec<(TensorId, usize)> =
            (0..targets.in_shape().elements()).map(|at| (base, at)).collect();
        targets.out_shape().for_each_index(|index| {
            let target = targets.in_shape().ravel(&targets.source_of(index));
            expected[target] = (updates, targets.out_shape().ravel(index));
        });
        assert_eq!(program.tensor(updated).shape, *targets.in_shape());
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!(program.origin(updated, at), expected, "{at}: {targets}");
        }
    }

    #[test]
    fn the_last_update_of_an_element_counts() {
        let of = shape(&[4, 5]);
        let indices = |sizes: &[usize], values: &[i64]| Indices::new(shape(sizes), values).unwrap();
        check(&Take::new(0, indices(&[3], &[2, 0, 2])).index_map(&of).unwrap());
        check(&Take::new(1, indices(&[4], &[4, 4, 4, -1])).index_map(&of).unwrap());
        check(&Take::new(1, indices(&[2, 2], &[4, 0, 1, 4])).index_map(&of).unwrap());
        check(&Take::new(0, indices(&[], &[1])).index_map(&of).unwrap());
        check(
            &TakeAlongAxis::new(1, indices(&[4, 2], &[0, 0, 1, 4, 3, 3, 2, 0]))
                .index_map(&of)
                .unwrap(),
        );
        check(&GatherNd::new(0, indices(&[3, 2], &[0, 1, 3, 4, 0, 1])).index_map(&of).unwrap());
        check(&GatherNd::new(0, indices(&[2, 1], &[3, 3])).index_map(&of).unwrap());
        check(&Slice::new(&[1, 0], &[3, 5], &[0, 1], &[1, 2]).index_map(&of).unwrap());
        check(&Slice::new(&[3], &[0], &[0], &[-2]).index_map(&of).unwrap());
        check(&Slice::new(&[2], &[2], &[0], &[1]).index_map(&of).unwrap());
        let deep = shape(&[3, 2, 4, 2]);
        let of_deep = |sliced: Slice| check(&sliced.index_map(&deep).unwrap());
        of_deep(Slice::new(&[1], &[3], &[2], &[1]));
        of_deep(Slice::new(&[0, 3], &[2, 0], &[0, 2], &[1, -1]));
        of_deep(Slice::new(&[2, 1, 1, 0], &[0, 2, 9, 1], &[0, 1, 2, 3], &[-1, 1, 2, 1]));
        check(
            &GatherNd::new(0, indices(&[2, 3, 1], &[2, 0, 2, 1, 1, 0])).index_map(&deep).unwrap(),
        );
        let twice = indices(&[3, 2], &[0, 1, 2, 0, 0, 1]);
        check(&GatherNd::new(0, twice.clone()).index_map(&deep).unwrap());
        check(
            &GatherNd::new(1, indices(&[3, 2, 1], &[1, 1, 0, 1, 0, 0])).index_map(&deep).unwrap(),
        );
        // Indices that are constant along some axes, and broadcast sizes of 1.
        let along = |axis, sizes: &[usize], values: &[i64], of: &[usize]| {
            let values = indices(sizes, values);
            check(&TakeAlongAxis::new(axis, values).index_map(&shape(of)).unwrap());
        };
        along(2, &[1, 1, 3, 1], &[2, 0, 2], &[3, 2, 4, 2]);
        along(1, &[3, 2, 1, 1], &[1, 1, 0, 1, 0, 0], &[3, 2, 4, 2]);
        along(1, &[3, 3], &[4, 1, 4, 0, 1, 2, 4, 4, 4], &[1, 5]);
        along(0, &[2, 3], &[0, 0, 0, 0, 0, 0], &[1, 1]);
        check(&IndexMap::identity(&of));
        check(&IndexMap::identity(&shape(&[])));
    }

    #[test]
    fn the_indices_of_an_update_are_counted_before_they_are_made() {
        let count = |targets: &IndexMap| Program::indices_of_update(targets);
        let long = 1 << (usize::BITS - 24);
        let of = shape(&[4, long]);
        assert_eq!(count(&Slice::new(&[1], &[3], &[0], &[1]).index_map(&of).unwrap()), 6);
        let slice = Slice::new(&[1, 1], &[3, 3], &[0, 1], &[1, 1]).index_map(&of).unwrap();
        assert_eq!(count(&slice), 4 + 2 + long + 2);
        let rows = GatherNd::new(0, Indices::new(shape(&[3, 1]), [2, 0, 2]).unwrap());
        assert_eq!(count(&rows.index_map(&of).unwrap()), 4 + 3);
        let order = Indices::new(shape(&[4, 1]), [2, 0, 1, 1]).unwrap();
        let each = TakeAlongAxis::new(1, order).index_map(&of).unwrap();
        assert_eq!(count(&each), 4 * long + 4);
        assert_eq!(count(&IndexMap::identity(&of)), 0);
        assert_eq!(count(&IndexMap::identity(&shape(&[]))), 0);
    }

    #[test]
    fn updates_that_do_not_fit_are_refused() {
        let mut program = Program::new();
        let base = program.given(shape(&[4]), 4).unwrap();
        let updates = program.given(shape(&[3]), 4).unwrap();
        let wide = program.given(shape(&[2]), 8).unwrap();
        let two = Take::new(0, Indices::list([0, 1])).index_map(&shape(&[4])).unwrap();
        let refusal = |program: &mut Program, updates| {
            program.updated(base, updates, &two).unwrap_err().to_string()
        };
        assert_eq!(refusal(&mut program, updates), "updates must have shape [2], got [3]");
        let one = GatherNd::new(0, Indices::list([1])).index_map(&shape(&[4])).unwrap();
        let single = program.given(shape(&[1, 1]), 4).unwrap();
        let updated = program.updated(base, single, &one).unwrap();
        assert_eq!([0, 1].map(|at| program.origin(updated, at)), [(base, 0), (single, 0)]);
        let refused = program.updated(base, updates, &one).unwrap_err().to_string();
        assert_eq!(refused, "updates must have shape [], got [3]");
        assert_eq!(refusal(&mut program, wide), "elements of 4 bytes are expected, got 8 bytes");
    }
}
