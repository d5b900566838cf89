//! A tensor of which some elements are replaced by those of another: scatters.

use super::{Program, TensorId};
use crate::error::{check_shape, check_sizes};
use crate::index_map::AxisMap;
use crate::{Error, IndexMap, Layout, Line, Move, Result, Shape, Table};

impl Program {
    /// Adds a tensor that is `base`, but has the elements of `updates` where `places` leads: for each index of
    /// `updates`, the index of `base` whose element it replaces. So the map by which elements are gathered says where
    /// they are scattered. Of several that replace one, the last counts, in row-major order.
    ///
    /// It is made of the two, one behind the other, by a table of which element is where.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the map is not from the shape of `updates` to that of `base`,
    /// [`Error::WidthsDiffer`], [`Error::TooLarge`].
    pub fn updated(
        &mut self,
        base: TensorId,
        updates: TensorId,
        places: &IndexMap,
    ) -> Result<TensorId> {
        let (whole, part) = (self.checked(base)?, self.checked(updates)?);
        check_shape("the tensor that is updated", places.in_shape(), &whole.shape)?;
        check_shape("updates", places.out_shape(), &part.shape)?;
        if whole.width != part.width {
            return Err(Error::WidthsDiffer { expected: whole.width, got: part.width });
        }
        let shape = whole.shape.clone();
        if places.out_shape().elements() == 0 {
            return Ok(base);
        }
        match one_axis(places) {
            Some((axis, along)) => {
                let joined = self.joined(axis, &[base, updates])?;
                let size = shape[axis];
                let mut table = counted(size)?;
                along.into_iter().enumerate().for_each(|(at, place)| table[place] = size + at);
                self.taken(joined, axis, table, shape)
            }
            None => {
                let flat = |shape: &Shape| Shape::new([shape.elements()]);
                let reshape = |shape: &Shape| IndexMap::reshape(shape, &flat(shape)?);
                let (to_row, size) = (reshape(&shape)?, shape.elements());
                let row = self.moved(base, to_row)?;
                let more = self.moved(updates, reshape(places.out_shape())?)?;
                let joined = self.joined(0, &[row, more])?;
                let taken = self.taken(joined, 0, replaced(places, size)?, flat(&shape)?)?;
                self.moved(taken, IndexMap::reshape(&flat(&shape)?, &shape)?)
            }
        }
    }

    /// How many indices [`Program::updated`] holds in memory for these places: of one axis, where all others stay as
    /// they are, else of all elements.
    pub fn indices_of_update(places: &IndexMap) -> usize {
        let (whole, part) = (places.in_shape(), places.out_shape());
        match changed_axis(places) {
            Some(axis) => whole[axis].saturating_add(part[axis]),
            None => whole.elements().saturating_add(part.elements()),
        }
    }

    /// The elements of `shape` that a table has for an axis of another tensor.
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

/// The one axis along which a map leads elsewhere, and where, if each other axis is itself.
fn one_axis(places: &IndexMap) -> Option<(usize, Vec<usize>)> {
    let axis = changed_axis(places)?;
    let [layer] = places.layers() else { return None };
    let axes = layer.axes()?;
    let mut index = vec![0; layer.out_shape().rank()];
    let along = (0..layer.out_shape()[axis]).map(|at| {
        index[axis] = at;
        axes[axis].source_of(&index)
    });
    Some((axis, along.collect()))
}

/// That axis alone.
fn changed_axis(places: &IndexMap) -> Option<usize> {
    let [layer] = places.layers() else { return None };
    let axes = layer.axes()?;
    if layer.in_shape().rank() != layer.out_shape().rank() {
        return None;
    }
    let is_itself = |(axis, map): (usize, &AxisMap)| {
        let identity = AxisMap::Affine { axis, line: Line::IDENTITY };
        *map == identity && layer.in_shape()[axis] == layer.out_shape()[axis]
    };
    let mut others = axes.iter().enumerate().filter(|each| !is_itself(*each)).map(|(axis, _)| axis);
    let axis = others.next().unwrap_or(0);
    // Of one index along the axis, the others may be any.
    let reads = axes.get(axis)?.axes().all(|read| read == axis);
    (others.next().is_none() && reads).then_some(axis)
}

/// For each of `size` elements of a tensor, counted in row-major order, which it is of these and, behind them, of the
/// updates.
fn replaced(places: &IndexMap, size: usize) -> Result<Vec<usize>> {
    let mut table = counted(size)?;
    let (from, to) =
        (Layout::row_major(places.in_shape(), 1)?, Layout::row_major(places.out_shape(), 1)?);
    check_sizes(("the elements", size), ("those of the map", places.in_shape().elements()))?;
    match Move::new(places, 1, &from, &to, MOST_BOXES) {
        Ok(work) => {
            let width = work.width();
            // In any order: the last of them counts.
            work.for_each_pair(|place, update| {
                for at in 0..width {
                    table[place + at] = table[place + at].max(size + update + at);
                }
            });
        }
        Err(_) => places.out_shape().for_each_index(|index| {
            let place = places.in_shape().ravel(&places.source_of(index));
            let update = places.out_shape().ravel(index);
            table[place] = table[place].max(size + update);
        }),
    }
    Ok(table)
}

/// The numbers below `size`.
fn counted(size: usize) -> Result<Vec<usize>> {
    let mut table = Vec::new();
    let too_large = |_| Error::TooLarge { what: format!("a table of {size} elements") };
    table.try_reserve_exact(size).map_err(too_large)?;
    table.extend(0..size);
    Ok(table)
}

/// More boxes are asked for element by element.
const MOST_BOXES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{GatherNd, Indices, Slice, Take, TakeAlongAxis};

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    /// Holds each element of an updated tensor against the last update that leads to it.
    fn check(places: &IndexMap) {
        let mut program = Program::new();
        let base = program.given(places.in_shape().clone(), 4).unwrap();
        let updates = program.given(places.out_shape().clone(), 4).unwrap();
        let updated = program.updated(base, updates, places).unwrap();
        let mut expected: Vec<(TensorId, usize)> =
            (0..places.in_shape().elements()).map(|at| (base, at)).collect();
        places.out_shape().for_each_index(|index| {
            let place = places.in_shape().ravel(&places.source_of(index));
            expected[place] = (updates, places.out_shape().ravel(index));
        });
        assert_eq!(program.tensor(updated).shape, *places.in_shape());
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!(program.origin(updated, at), expected, "{at}: {places}");
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
        check(&IndexMap::identity(&of));
        check(&IndexMap::identity(&shape(&[])));
    }

    #[test]
    fn the_indices_of_an_update_are_counted_before_they_are_made() {
        let count = |places: &IndexMap| Program::indices_of_update(places);
        let of = shape(&[4, 1 << 40]);
        assert_eq!(count(&Slice::new(&[1], &[3], &[0], &[1]).index_map(&of).unwrap()), 6);
        let slice = Slice::new(&[1, 1], &[3, 3], &[0, 1], &[1, 1]).index_map(&of).unwrap();
        assert_eq!(count(&slice), (4 << 40) + 4);
        assert_eq!(count(&IndexMap::identity(&of)), 8);
        assert_eq!(count(&IndexMap::identity(&shape(&[]))), 2);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut program = Program::new();
        let base = program.given(shape(&[4]), 4).unwrap();
        let updates = program.given(shape(&[3]), 4).unwrap();
        let wide = program.given(shape(&[2]), 8).unwrap();
        let two = Take::new(0, Indices::list([0, 1])).index_map(&shape(&[4])).unwrap();
        let refusal = |program: &mut Program, updates| {
            program.updated(base, updates, &two).unwrap_err().to_string()
        };
        assert_eq!(refusal(&mut program, updates), "updates must have shape [2], got [3]");
        assert_eq!(refusal(&mut program, wide), "elements of 4 bytes are expected, got 8 bytes");
    }
}
