//! Functions that split a tensor.

use trundle_core::ops::Slice;
use trundle_core::{Result, Shape, Tensor, TensorView, TensorViewMut, check_shape, normalize_axis};
use trundle_cpu::{Destination, threads};

use crate::functions::{by_table, check_dtype, plan};
use crate::planned::Planned;

/// Splits a tensor along an axis into parts of the given sizes.
///
/// Each part is a new tensor, with the sizes of `data` on all other axes. A negative axis counts from the end.
/// [`concatenate`](crate::concatenate) is the inverse.
///
/// Source: OpenVINO's VariadicSplit-1; numpy's `split`, which takes start indices instead.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let row = TensorView::from_slice(&[1, 2, 3, 4], &Shape::new([4])?)?;
/// let parts = trundle::split(&row, &[1, 3], 0)?;
/// assert_eq!(parts[0].as_slice(), [1]);
/// assert_eq!(parts[1].as_slice(), [2, 3, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if `sizes` is empty,
/// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that `data` does not have,
/// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the sizes do not add up to the size of the
/// axis.
pub fn split<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    sizes: &[usize],
    axis: i64,
) -> Result<Vec<Tensor<T>>> {
    let parts = Slice::parts(data.shape(), axis, sizes.iter().copied())?;
    parts.into_iter().map(|part| by_table(part, data)).collect()
}

/// Writes the result of [`split`] to `parts`, which must have the type of `data`, and may have any strides.
///
/// The sizes of `parts` on `axis` determine how `data` is split, and the other sizes must equal the sizes of `data`.
///
/// # Errors
/// The errors of [`split`], and [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch),
/// [`DTypeError::DTypeMismatch`](crate::DTypeError::DTypeMismatch) or
/// [`DTypeError::PackingMismatch`](crate::DTypeError::PackingMismatch) for a part that does not fit. In these cases,
/// all parts are unchanged.
pub fn split_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    axis: i64,
    parts: &mut [TensorViewMut<'_, D>],
) -> Result<()> {
    let shape = data.shape();
    let front = normalize_axis("axis", axis, shape.rank())?;
    for part in &*parts {
        check_part(data, front, part)?;
    }
    let slices = Slice::parts(shape, axis, parts.iter().map(|part| part.shape()[front]))?;
    let plans = slices.iter().zip(&*parts).map(|(slice, part)| {
        let (map, layout) = (slice.index_map(shape)?, Some(part.layout()));
        plan(&map, data.width(), data.layout(), layout, threads())
    });
    let plans: Vec<Planned> = plans.collect::<Result<_>>()?;
    let mut plans = plans.iter().zip(parts);
    plans.try_for_each(|(plan, part)| plan.run_into(data.buffer(), part.buffer_mut()))
}

fn check_part<T, D>(
    data: &TensorView<'_, T>,
    axis: usize,
    part: &TensorViewMut<'_, D>,
) -> Result<()> {
    let (argument, got) = ("a part", part.shape());
    check_dtype(argument, (data.dtype(), data.width()), (part.dtype(), part.width()))?;
    let mut sizes = data.shape().sizes().to_vec();
    if let Some(size) = got.get(axis) {
        sizes[axis] = *size;
    }
    Ok(check_shape(argument, &Shape::new(sizes)?, got)?)
}

#[cfg(test)]
mod tests {
    use trundle_core::DType;

    use super::*;
    use crate::concatenate;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    #[test]
    fn parts_of_a_split_concatenate_to_the_tensor() {
        let data: Vec<u16> = (0..12).collect();
        // The tensor is transposed, and reversed along one axis.
        let data = TensorView::from_strided(&data, &shape(&[4, 3]), 8, &[1, -4]).unwrap();
        for (sizes, axis) in [(&[1, 0, 2][..], 1), (&[3, 1], -2), (&[4], 0), (&[0, 3], -1)] {
            let parts = split(&data, sizes, axis).unwrap();
            let along = usize::try_from(axis.rem_euclid(2)).unwrap();
            let found: Vec<usize> = parts.iter().map(|part| part.shape()[along]).collect();
            assert_eq!(found, sizes);
            let views: Vec<_> = parts.iter().map(Tensor::view).collect();
            let whole = concatenate(&views, axis).unwrap();
            assert_eq!(whole, crate::contiguous(&data).unwrap());
        }
        let parts = split(&data, &[2, 1], 1).unwrap();
        let parts: Vec<_> = parts.into_iter().map(Tensor::into_vec).collect();
        assert_eq!(parts, [vec![8, 4, 9, 5, 10, 6, 11, 7], vec![0, 1, 2, 3]]);
    }

    #[test]
    fn parts_are_written_to_any_strides() {
        let data = ["a", "b", "c", "d", "e", "f"];
        let data = TensorView::from_slice(&data, &shape(&[2, 3])).unwrap();
        let (mut one, mut other) = ([""; 2], [""; 7]);
        split_into(
            &data,
            1,
            &mut [
                TensorViewMut::from_slice(&mut one, &shape(&[2, 1])).unwrap(),
                TensorViewMut::from_strided(&mut other, &shape(&[2, 2]), 6, &[-4, -2]).unwrap(),
            ],
        )
        .unwrap();
        assert_eq!((one, other), (["a", "d"], ["f", "", "e", "", "c", "", "b"]));
    }

    #[test]
    fn sub_byte_parts_may_begin_within_a_byte() {
        let data = [0x21u8, 0x43, 0x05];
        let data = TensorView::row_major(&data, DType::U4, &shape(&[5])).unwrap();
        let parts = split(&data, &[1, 3, 1], 0).unwrap();
        let parts: Vec<_> = parts.into_iter().map(Tensor::into_vec).collect();
        assert_eq!(parts, [vec![0x01], vec![0x32, 0x04], vec![0x05]]);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_before_any_write() {
        let data = TensorView::from_slice(&[1u8, 2, 3, 4, 5, 6], &shape(&[2, 3])).unwrap();
        let refusal = |sizes: &[usize], axis| split(&data, sizes, axis).unwrap_err().to_string();
        let adds = "the parts together and the split axis must have the same length";
        assert_eq!(refusal(&[1, 1], 1), format!("{adds}, got 2 and 3"));
        assert_eq!(refusal(&[usize::MAX, 4], 1), format!("{adds}, got {} and 3", usize::MAX));
        assert!(refusal(&[], 1).starts_with("the number of parts 0 is out of range"));
        assert!(refusal(&[2], 2).starts_with("axis 2 is out of range for rank 2"));
        let (mut one, mut other) = ([0; 4], [0; 9]);
        let mut refusal = |last: &[usize], strides: &[isize]| {
            let parts = &mut [
                TensorViewMut::from_slice(&mut one, &shape(&[2, 2])).unwrap(),
                TensorViewMut::from_strided(&mut other, &shape(last), 0, strides).unwrap(),
            ];
            split_into(&data, 1, parts).unwrap_err().to_string()
        };
        assert_eq!(refusal(&[2, 2], &[2, 1]), format!("{adds}, got 4 and 3"));
        assert_eq!(refusal(&[1, 1], &[1, 1]), "a part must have shape [2, 1], got [1, 1]");
        assert_eq!(refusal(&[2], &[1]), "a part must have shape [2, 3], got [2]");
        assert_eq!((one, other), ([0; 4], [0; 9]));
        let mut signed = [0; 6];
        let part = TensorViewMut::row_major(&mut signed, DType::I8, &shape(&[2, 3])).unwrap();
        let refused = split_into(&data, 0, &mut [part]).unwrap_err().to_string();
        assert_eq!(refused, "a part must have element type u8, got i8");
    }
}
