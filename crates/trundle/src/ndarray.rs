//! Conversions from and to arrays of the crate ndarray, with the feature `ndarray`.
//!
//! ```
//! use ndarray::{array, s};
//! use trundle::ndarray::{array_of, part, view, view_mut};
//!
//! let image = array![[1, 2, 3, 4], [5, 6, 7, 8]];
//! let rolled = array_of(trundle::roll(&view(&image)?, &[1], &[1])?)?;
//! assert_eq!(rolled, array![[4, 1, 2, 3], [8, 5, 6, 7]].into_dyn());
//!
//! // Transposes every other column, from the last to the first, into another array.
//! let columns = part(&image, |all| all.slice_move(s![.., ..;-2]))?;
//! let mut turned = ndarray::Array2::<i32>::zeros((2, 2));
//! trundle::transpose_into(&columns, &[], &mut view_mut(&mut turned)?)?;
//! assert_eq!(turned, array![[4, 8], [2, 6]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An array must have no gaps, but its axes may have any order and direction. To view a part, pass the whole array to
//! [`part`], because the view also borrows the elements in the gaps of the part.

use ::ndarray::{ArrayD, ArrayRef, ArrayView, Dimension, ErrorKind, IxDyn, ShapeError};
use trundle_core::{Error, LayoutError, Shape, Tensor, TensorView, TensorViewMut};

/// Returns a view of an array, with its shape and strides.
///
/// # Errors
/// [`ErrorKind::IncompatibleLayout`] for an array with gaps between its elements, or with overlapping elements,
/// such as a broadcast array: see [`part`].
pub fn view<A: 'static, D: Dimension>(
    array: &ArrayRef<A, D>,
) -> Result<TensorView<'_, A>, ShapeError> {
    part(array, |all| all)
}

/// Returns a mutable view of an array, with its shape and strides.
///
/// # Errors
/// As [`view`].
pub fn view_mut<A: 'static, D: Dimension>(
    array: &mut ArrayRef<A, D>,
) -> Result<TensorViewMut<'_, A>, ShapeError> {
    part_mut(array, |all| all)
}

/// Returns a view of a part of an array.
///
/// `select` gets a view of the whole array and returns the part: a slice, a broadcast, or permuted axes.
///
/// # Errors
/// [`ErrorKind::IncompatibleLayout`] if the array itself, not the part, has gaps between its elements;
/// [`ErrorKind::OutOfBounds`] if `select` returns a view of another array.
pub fn part<A: 'static, D: Dimension, E: Dimension>(
    array: &ArrayRef<A, D>,
    select: impl for<'v> FnOnce(ArrayView<'v, A, D>) -> ArrayView<'v, A, E>,
) -> Result<TensorView<'_, A>, ShapeError> {
    let elements = array.as_slice_memory_order().ok_or_else(has_gaps)?;
    let part = ViewLayout::of(&select(array.view()))?;
    let offset = part.offset(elements)?;
    TensorView::from_strided(elements, &part.shape, offset, &part.strides)
        .map_err(|error| refused(&error))
}

/// Returns a mutable view of a part of an array, see [`part`].
///
/// # Errors
/// The errors of [`part`], and [`ErrorKind::IncompatibleLayout`] for a part with overlapping elements.
pub fn part_mut<A: 'static, D: Dimension, E: Dimension>(
    array: &mut ArrayRef<A, D>,
    select: impl for<'v> FnOnce(ArrayView<'v, A, D>) -> ArrayView<'v, A, E>,
) -> Result<TensorViewMut<'_, A>, ShapeError> {
    let part = ViewLayout::of(&select(array.view()))?;
    let elements = array.as_slice_memory_order_mut().ok_or_else(has_gaps)?;
    let offset = part.offset(elements)?;
    TensorViewMut::from_strided(elements, &part.shape, offset, &part.strides)
        .map_err(|error| refused(&error))
}

/// Converts a tensor to an array of the same shape, without a copy.
///
/// # Errors
/// [`ErrorKind::OutOfBounds`] if `A` is `u8` and the elements of the tensor have another size than one byte.
pub fn array_of<A>(tensor: Tensor<A>) -> Result<ArrayD<A>, ShapeError> {
    let sizes = IxDyn(tensor.shape().sizes());
    ArrayD::from_shape_vec(sizes, tensor.into_vec())
}

struct ViewLayout<A> {
    /// The element at index 0, 0, ..., 0; `None` if the part is empty.
    first: Option<*const A>,
    shape: Shape,
    /// The strides, in elements.
    strides: Vec<isize>,
}

impl<A> ViewLayout<A> {
    fn of<D: Dimension>(part: &ArrayView<'_, A, D>) -> Result<ViewLayout<A>, ShapeError> {
        let first = (!part.is_empty()).then(|| part.as_ptr());
        let shape = Shape::new(part.shape()).map_err(|error| refused(&error.into()))?;
        Ok(ViewLayout { first, shape, strides: part.strides().to_vec() })
    }

    /// The position of the part's first element in the array's memory.
    fn offset(&self, elements: &[A]) -> Result<usize, ShapeError> {
        let Some(first) = self.first else { return Ok(0) };
        if !elements.as_ptr_range().contains(&first) {
            return Err(ShapeError::from_kind(ErrorKind::OutOfBounds));
        }
        let bytes = first.addr() - elements.as_ptr().addr();
        Ok(bytes.checked_div(size_of::<A>()).unwrap_or(0))
    }
}

fn has_gaps() -> ShapeError {
    ShapeError::from_kind(ErrorKind::IncompatibleLayout)
}

fn refused(error: &Error) -> ShapeError {
    ShapeError::from_kind(match error {
        Error::Layout(LayoutError::OverlappingLayout { .. }) => ErrorKind::IncompatibleLayout,
        Error::Shape(trundle_core::ShapeError::TooLarge { .. }) => ErrorKind::Overflow,
        _ => ErrorKind::OutOfBounds,
    })
}
