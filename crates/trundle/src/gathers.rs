//! Functions that gather elements at indices.

use trundle_core::ops::{Indices, Take, TakeAlongAxis};
use trundle_core::{Result, Tensor, TensorView, TensorViewMut};
use trundle_cpu::Destination;

use crate::functions::{by_table, by_table_into};

/// Takes the elements of `data` at `indices` along an axis.
///
/// Negative axes and indices count from the end. In the shape of the result, the sizes of `indices` replace the size
/// of `axis`.
///
/// Source: ONNX's Gather; numpy's `take`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// let indices = TensorView::from_slice(&[2i64, 0, -1], &Shape::new([3])?)?;
/// assert_eq!(trundle::take(&matrix, &indices, 1)?.into_vec(), [3, 1, 3, 6, 4, 6]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that `data` does not have,
/// [`OpError::IndexOutOfRange`](crate::OpError::IndexOutOfRange) for an index outside the axis,
/// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the result has more bytes than can be addressed.
pub fn take<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    indices: &TensorView<'_, i64>,
    axis: i64,
) -> Result<Tensor<T>> {
    by_table(Take::new(axis, listed(indices)?), data)
}

/// Writes the result of [`take`] to `out`, which must have the shape of the result and the type of `data`.
///
/// # Errors
/// The errors of [`take`], and [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch),
/// [`DTypeError::DTypeMismatch`](crate::DTypeError::DTypeMismatch) or
/// [`DTypeError::PackingMismatch`](crate::DTypeError::PackingMismatch) for an `out` that does not fit.
pub fn take_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    indices: &TensorView<'_, i64>,
    axis: i64,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    by_table_into(Take::new(axis, listed(indices)?), data, out)
}

/// Takes one element along an axis for each position of `indices`.
///
/// For axis 1 of a tensor of rank 3, `out[i, j, k] = data[i, indices[i, j, k], k]`. `indices` must have the rank of
/// `data`. Sizes of 1 are broadcast on the other axes. Negative axes and indices count from the end. The result has the
/// size of `indices` on `axis`, and the broadcast sizes on the others.
///
/// Source: ONNX's GatherElements; numpy's `take_along_axis`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let matrix = TensorView::from_slice(&[30, 10, 20, 5, 6, 4], &Shape::new([2, 3])?)?;
/// let smallest = TensorView::from_slice(&[1i64, 2], &Shape::new([2, 1])?)?;
/// assert_eq!(trundle::take_along_axis(&matrix, &smallest, 1)?.into_vec(), [10, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// The errors of [`take`], [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the ranks differ, and
/// [`ShapeError::SizesDoNotBroadcast`](crate::ShapeError::SizesDoNotBroadcast) if the sizes on another axis differ and
/// neither is 1.
pub fn take_along_axis<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    indices: &TensorView<'_, i64>,
    axis: i64,
) -> Result<Tensor<T>> {
    by_table(TakeAlongAxis::new(axis, listed(indices)?), data)
}

/// Writes the result of [`take_along_axis`] to `out`, which must have the shape of the result and the type of `data`.
///
/// # Errors
/// The errors of [`take_along_axis`], and the errors of [`take_into`] for an `out` that does not fit.
pub fn take_along_axis_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    indices: &TensorView<'_, i64>,
    axis: i64,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    by_table_into(TakeAlongAxis::new(axis, listed(indices)?), data, out)
}

fn listed(indices: &TensorView<'_, i64>) -> Result<Indices> {
    let layout = indices.layout();
    let mut values = Vec::with_capacity(layout.shape().elements());
    layout.shape().for_each_index(|index| {
        values.push(indices.buffer()[layout.offset_of(index) / size_of::<i64>()]);
    });
    Indices::new(layout.shape().clone(), values)
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;

    use super::*;

    #[test]
    fn elements_are_taken_at_indices_of_any_strides() {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let data: Vec<u16> = (0..12).collect();
        let data = TensorView::from_slice(&data, &shape(&[3, 4])).unwrap();
        let numbers = [3i64, -1, 0, 2];
        let backwards = TensorView::from_strided(&numbers, &shape(&[2]), 2, &[-2]).unwrap();
        assert_eq!(take(&data, &backwards, 1).unwrap().into_vec(), [0, 3, 4, 7, 8, 11]);
        let rows = TensorView::from_slice(&numbers[1..3], &shape(&[2, 1])).unwrap();
        let taken = take(&data, &rows, 0).unwrap();
        assert_eq!(taken.shape().sizes(), [2, 1, 4]);
        assert_eq!(taken.into_vec(), [8, 9, 10, 11, 0, 1, 2, 3]);
        let mut out = [0; 3];
        let mut column = TensorViewMut::from_slice(&mut out, &shape(&[3, 1])).unwrap();
        let each = TensorView::from_slice(&[1i64, -1, 0], &shape(&[3, 1])).unwrap();
        take_along_axis_into(&data, &each, 1, &mut column).unwrap();
        assert_eq!(out, [1, 7, 8]);
        assert_eq!(take_along_axis(&data, &each, 1).unwrap().into_vec(), [1, 7, 8]);
        let beyond = TensorView::from_slice(&[4i64], &shape(&[1])).unwrap();
        assert_eq!(
            take(&data, &beyond, 1).unwrap_err().to_string(),
            "index 4 at [0] is out of range for an axis of size 4: expected -4..=3"
        );
    }
}
