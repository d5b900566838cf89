//! Tensor views from raw pointers, for engines and array libraries.

use trundle_core::{Layout, Result, Shape, ShapeError, TensorView, TensorViewMut};

/// Makes a view of elements of T. `first` points to the element whose index is 0 on every axis.
///
/// There is one stride for each axis of `shape`. Strides count elements and may be zero or negative. If the shape has
/// no elements, any pointer is allowed.
///
/// ```
/// use trundle_core::Shape;
///
/// let numbers = [1u16, 2, 3, 4, 5, 6];
/// // SAFETY: the view covers `numbers`, whose rows it has in reverse order.
/// let rows = unsafe {
///     trundle_cpu::view_from_raw_parts(&raw const numbers[4], &Shape::new([3, 2])?, &[-2, 1])?
/// };
/// assert_eq!(rows.buffer(), numbers);
/// assert_eq!(rows.layout().offset_bytes(), 8);
/// # Ok::<(), trundle_core::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::SizesDiffer`] if there is not one stride for each axis, [`ShapeError::TooLarge`] if the view would be
/// larger than the address space.
///
/// # Safety
/// The memory from the first to the last element of the view, including gaps, must be valid for reads and hold values
/// of T. Nothing may write to it during `'a`. The pointer must be aligned.
pub unsafe fn view_from_raw_parts<'a, T: 'static>(
    first: *const T,
    shape: &Shape,
    strides_elems: &[isize],
) -> Result<TensorView<'a, T>> {
    let Some((before, len)) = reach::<T>(shape, strides_elems)? else {
        return TensorView::from_strided(&[], shape, 0, strides_elems);
    };
    // SAFETY: the caller guarantees that the range of the view is valid.
    let elements = unsafe { std::slice::from_raw_parts(first.sub(before), len) };
    TensorView::from_strided(elements, shape, before, strides_elems)
}

/// Makes a mutable view, as [`view_from_raw_parts`] does. Elements may be [`MaybeUninit`](std::mem::MaybeUninit).
///
/// # Errors
/// The errors of [`view_from_raw_parts`], and
/// [`LayoutError::OverlappingLayout`](trundle_core::LayoutError::OverlappingLayout) if two elements share a byte.
///
/// # Safety
/// The memory from the first to the last element of the view, including gaps, must be valid for reads and writes and
/// hold values of T. Nothing else may access it during `'a`. The pointer must be aligned.
pub unsafe fn view_mut_from_raw_parts<'a, T: 'static>(
    first: *mut T,
    shape: &Shape,
    strides_elems: &[isize],
) -> Result<TensorViewMut<'a, T>> {
    let Some((before, len)) = reach::<T>(shape, strides_elems)? else {
        return TensorViewMut::from_strided(&mut [], shape, 0, strides_elems);
    };
    // SAFETY: the caller guarantees that the range of the view is valid.
    let elements = unsafe { std::slice::from_raw_parts_mut(first.sub(before), len) };
    TensorViewMut::from_strided(elements, shape, before, strides_elems)
}

/// Returns the number of elements before the one at index 0, and the number that the view spans, including gaps.
/// Returns `None` if the view is empty.
fn reach<T>(shape: &Shape, strides_elems: &[isize]) -> Result<Option<(usize, usize)>> {
    if shape.elements() == 0 {
        return Ok(None);
    }
    // With a width of one byte, the span counts elements.
    let span = Layout::strided(shape, 0, strides_elems)?.span(1)?;
    let (before, len) = (span.start.unsigned_abs(), span.start.abs_diff(span.end));
    // A slice has at most `isize::MAX` bytes.
    if len.saturating_mul(size_of::<T>()) > isize::MAX.unsigned_abs() {
        let what = format!("shape {shape} with strides {strides_elems:?} in elements");
        return Err(ShapeError::TooLarge { what }.into());
    }
    Ok(Some((before, len)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trundle_core::{Error, LayoutError};

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    #[test]
    fn the_buffer_spans_exactly_the_elements() {
        let numbers: Vec<i32> = (0..20).collect();
        for (sizes, strides, at) in [
            (&[2, 3][..], &[10, -2][..], 4),
            (&[], &[], 7),
            (&[3], &[0], 7),
            (&[2, 2], &[-9, -1], 19),
            (&[0, 2], &[1, 1], 3),
        ] {
            // SAFETY: every element of the view is in `numbers`.
            let view =
                unsafe { view_from_raw_parts(&raw const numbers[at], &shape(sizes), strides) };
            let view = view.unwrap();
            let mut reached: Vec<usize> = Vec::new();
            shape(sizes).for_each_index(|index| {
                let steps: isize =
                    index.iter().zip(strides).map(|(i, stride)| i.cast_signed() * stride).sum();
                let source = at.wrapping_add_signed(steps);
                assert_eq!(view.buffer()[view.layout().offset_of(index) / 4], numbers[source]);
                reached.push(source);
            });
            let range = reached.iter().min().zip(reached.iter().max());
            let expected = range.map_or(&[][..], |(first, last)| &numbers[*first..=*last]);
            assert_eq!(view.buffer(), expected);
        }
    }

    #[test]
    fn strides_of_impossible_views_are_refused() {
        let mut number = 0u64;
        let far = isize::MAX / 8;
        for (sizes, strides) in [(&[2][..], &[isize::MAX][..]), (&[2], &[far]), (&[3], &[-far])] {
            // SAFETY: refused views do not use the pointer.
            let view = unsafe { view_from_raw_parts(&raw const number, &shape(sizes), strides) };
            assert!(matches!(view, Err(Error::Shape(ShapeError::TooLarge { .. }))), "{strides:?}");
        }
        // SAFETY: the only element is `number`.
        let twice = unsafe { view_mut_from_raw_parts(&raw mut number, &shape(&[2]), &[0]) };
        assert!(matches!(twice, Err(Error::Layout(LayoutError::OverlappingLayout { .. }))));
        // SAFETY: an empty view has no elements.
        let strides = unsafe { view_mut_from_raw_parts(&raw mut number, &shape(&[0]), &[]) };
        assert!(matches!(strides, Err(Error::Shape(ShapeError::SizesDiffer { .. }))));
    }
}
