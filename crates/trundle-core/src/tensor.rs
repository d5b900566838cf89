//! A buffer with a layout and an element type: borrowed, borrowed for writing, owned.
//!
//! The buffer is a slice of bytes, which hold elements of any type, or of the elements themselves. Those
//! stay what they are: nothing is reinterpreted here.

use crate::{BitOrder, DType, Layout, Result, Shape, ShapeError, Width};

/// A tensor to read: a buffer, and where in it each element lies.
///
/// `T` is what the buffer is a slice of: bytes, where a [`DType`] says what they hold, or the elements
/// themselves, of any type that is `Copy`.
///
/// ```
/// use trundle_core::{DType, Shape, TensorView};
///
/// let numbers = [0.5f32, 1.5, 2.5, 3.5, 4.5, 5.5];
/// let rows = TensorView::from_slice(&numbers, &Shape::new([2, 3])?)?;
/// assert_eq!(rows.dtype(), DType::F32);
/// // The last column, from below.
/// let column = TensorView::from_strided(&numbers, &Shape::new([2])?, 5, &[-3])?;
/// assert_eq!(column.layout().offset_of(&[1]), 2 * size_of::<f32>());
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorView<'a, T = u8> {
    buffer: &'a [T],
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl<'a> TensorView<'a> {
    /// The buffer.
    pub fn bytes(&self) -> &'a [u8] {
        self.buffer
    }
}

impl<'a, T> TensorView<'a, T> {
    fn checked(self) -> Result<TensorView<'a, T>> {
        self.layout.check_within("data", self.width, size_of_val(self.buffer))?;
        Ok(self)
    }

    /// The buffer, as a slice of what it was made of.
    pub fn buffer(&self) -> &'a [T] {
        self.buffer
    }
}

/// A tensor to write: no two elements share a byte, or a bit if they are packed. What is of no element
/// is left alone: bytes between elements, and bits beside packed ones, before the first and behind the
/// last too. So a part of a larger tensor is written and its neighbours stay.
///
/// `T` is what the buffer is a slice of, as in a [`TensorView`]. Elements may also be
/// [`MaybeUninit`](std::mem::MaybeUninit): memory that is not initialised yet.
#[derive(Debug)]
pub struct TensorViewMut<'a, T = u8> {
    buffer: &'a mut [T],
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl<'a, T> TensorViewMut<'a, T> {
    fn checked(self) -> Result<TensorViewMut<'a, T>> {
        self.layout.check_within("out", self.width, size_of_val(self.buffer))?;
        self.layout.check_writable(self.width.units())?;
        Ok(self)
    }

    /// The buffer, as a slice of what it was made of.
    pub fn buffer_mut(&mut self) -> &mut [T] {
        self.buffer
    }

    /// From now on the elements of the buffer lie as `layout` says.
    ///
    /// # Errors
    /// As of a new view with this layout; the view is as it was then.
    pub fn set_layout(&mut self, layout: Layout) -> Result<()> {
        layout.check_within("out", self.width, size_of_val(self.buffer))?;
        layout.check_writable(self.width.units())?;
        self.layout = layout;
        Ok(())
    }
}

/// How a view is made of a buffer. One to write, besides, refuses a layout that addresses a byte twice.
macro_rules! view {
    ($View:ident, $($mut:ident)?) => {
        impl<'a> $View<'a> {
            /// A view through any layout that stays within `bytes`.
            ///
            /// # Errors
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds), or [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) for a view to write.
            pub fn new(
                bytes: &'a $($mut)? [u8],
                dtype: DType,
                layout: Layout,
            ) -> Result<$View<'a>> {
                $View { buffer: bytes, dtype, width: dtype.into(), layout }.checked()
            }

            /// The same for sub-byte elements in any order, not that of their type.
            ///
            /// # Errors
            /// [`DTypeError::NoSuchPacking`](crate::DTypeError::NoSuchPacking), [`LayoutError::PackedOutOfBounds`](crate::LayoutError::PackedOutOfBounds), or
            /// [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) for a view to write.
            pub fn sub_byte(
                bytes: &'a $($mut)? [u8],
                dtype: DType,
                order: BitOrder,
                layout: Layout,
            ) -> Result<$View<'a>> {
                $View { buffer: bytes, dtype, width: dtype.sub_byte(order)?, layout }.checked()
            }

            /// A contiguous, row-major view.
            ///
            /// # Errors
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `bytes` is too short for `shape`.
            pub fn row_major(
                bytes: &'a $($mut)? [u8],
                dtype: DType,
                shape: &Shape,
            ) -> Result<$View<'a>> {
                Self::new(bytes, dtype, Layout::row_major(shape, dtype.width())?)
            }
        }

        impl<'a, T> $View<'a, T> {
            /// A contiguous, row-major view of elements.
            ///
            /// # Errors
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `elements` are fewer than those of `shape`.
            pub fn from_slice(elements: &'a $($mut)? [T], shape: &Shape) -> Result<$View<'a, T>>
            where
                T: 'static,
            {
                Self::of_elements(elements, Layout::row_major(shape, element_bytes::<T>())?)
            }

            /// A view of elements with any strides, zero and negative ones too, counted in elements;
            /// `offset_elems` is the number of the element at index 0 of every axis.
            ///
            /// # Errors
            /// [`ShapeError::SizesDiffer`] if there is not one stride for each axis,
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds), [`ShapeError::TooLarge`], or [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) for a view
            /// to write.
            pub fn from_strided(
                elements: &'a $($mut)? [T],
                shape: &Shape,
                offset_elems: usize,
                strides_elems: &[isize],
            ) -> Result<$View<'a, T>>
            where
                T: 'static,
            {
                Self::of_elements(elements, strided::<T>(shape, offset_elems, strides_elems)?)
            }

            fn of_elements(buffer: &'a $($mut)? [T], layout: Layout) -> Result<$View<'a, T>>
            where
                T: 'static,
            {
                let dtype = DType::of::<T>();
                $View { buffer, dtype, width: Width::Bytes(dtype.width()), layout }.checked()
            }
        }
    };
}

view!(TensorView,);
view!(TensorViewMut, mut);

/// What a tensor says of its elements.
macro_rules! described {
    ($Tensor:ty) => {
        impl<T> $Tensor {
            /// The element type.
            pub fn dtype(&self) -> DType {
                self.dtype
            }

            /// What a move must know of the elements: their bytes, or how they are packed.
            pub fn width(&self) -> Width {
                self.width
            }

            /// Where the elements lie.
            pub fn layout(&self) -> &Layout {
                &self.layout
            }

            /// The sizes of the axes.
            pub fn shape(&self) -> &Shape {
                self.layout.shape()
            }
        }
    };
}

described!(TensorView<'_, T>);
described!(TensorViewMut<'_, T>);
described!(Tensor<T>);

/// The bytes of an element, of which there must be some: elements of none have no places.
const fn element_bytes<T>() -> usize {
    const { assert!(size_of::<T>() > 0, "elements of a tensor have at least one byte") };
    size_of::<T>()
}

/// A layout of elements of T, with an offset and strides that count them.
fn strided<T>(shape: &Shape, offset_elems: usize, strides_elems: &[isize]) -> Result<Layout> {
    let too_large = || ShapeError::TooLarge {
        what: format!(
            "shape {shape} with offset {offset_elems} and strides {strides_elems:?} in elements"
        ),
    };
    let width = element_bytes::<T>();
    let in_bytes = |stride: &isize| stride.checked_mul(width.cast_signed()).ok_or_else(too_large);
    let strides = strides_elems.iter().map(in_bytes).collect::<Result<Vec<isize>, _>>()?;
    Layout::strided(shape, offset_elems.checked_mul(width).ok_or_else(too_large)?, &strides)
}

/// An owned tensor, contiguous and row-major. Where packed elements leave bits of the last byte or
/// group, a tensor that is the result of an operator has 0 there.
///
/// `T` is what the buffer is a vector of, as in a [`TensorView`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor<T = u8> {
    buffer: Vec<T>,
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl Tensor {
    /// A tensor whose bytes are all zero.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if it fills more than `isize::MAX` bytes.
    pub fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, dtype.width())?;
        Ok(Tensor { buffer: vec![0; shape.bytes(dtype)?], dtype, width: dtype.into(), layout })
    }

    /// A tensor of these bytes: the elements contiguous, row-major, in the machine's byte order.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `bytes` is too short for `shape`; what is longer is cut off.
    pub fn from_bytes(bytes: Vec<u8>, dtype: DType, shape: &Shape) -> Result<Tensor> {
        Self::of(bytes, dtype, dtype.into(), shape)
    }

    /// The elements, contiguous and row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The elements, contiguous and row-major, as an owned buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }
}

impl<T> Tensor<T> {
    /// A tensor of these elements, row-major.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if they are fewer than those of `shape`; more are cut off.
    pub fn from_vec(elements: Vec<T>, shape: &Shape) -> Result<Tensor<T>>
    where
        T: 'static,
    {
        element_bytes::<T>();
        Self::of(elements, DType::of::<T>(), Width::Bytes(size_of::<T>()), shape)
    }

    /// A tensor of elements of the same type as those of `view`, row-major.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `buffer` is too short for `shape`; what is longer is cut off.
    pub fn like(view: &TensorView<'_, T>, buffer: Vec<T>, shape: &Shape) -> Result<Tensor<T>> {
        Self::of(buffer, view.dtype, view.width, shape)
    }

    fn of(mut buffer: Vec<T>, dtype: DType, width: Width, shape: &Shape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape, width.units())?;
        layout.check_within("data", width, size_of_val(&buffer[..]))?;
        buffer.truncate(shape.bytes(width)? / size_of::<T>());
        Ok(Tensor { buffer, dtype, width, layout })
    }

    /// The buffer: the elements, row-major, or the bytes that hold them.
    pub fn as_slice(&self) -> &[T] {
        &self.buffer
    }

    /// The buffer as it is, without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.buffer
    }

    /// A view to read.
    pub fn view(&self) -> TensorView<'_, T> {
        let Tensor { buffer, dtype, width, layout } = self;
        TensorView { buffer, dtype: *dtype, width: *width, layout: layout.clone() }
    }

    /// A view to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        let Tensor { buffer, dtype, width, layout } = self;
        TensorViewMut { buffer, dtype: *dtype, width: *width, layout: layout.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;
    use crate::{Error, LayoutError};

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    #[test]
    fn elements_have_the_type_that_they_are() {
        assert_eq!(TensorView::from_slice(&[1u8; 6], &shape(&[2, 3])).unwrap().dtype(), DType::U8);
        let view = TensorView::from_slice(&[1i64; 6], &shape(&[2, 3])).unwrap();
        assert_eq!((view.dtype(), view.width()), (DType::I64, Width::Bytes(8)));
        assert_eq!(view.layout().strides_bytes(), [24, 8]);
        let names = TensorView::from_slice(&["a", "b"], &shape(&[2])).unwrap();
        assert_eq!(names.dtype(), DType::Bytes(size_of::<&str>()));
        let mut memory = [MaybeUninit::<f32>::uninit(); 2];
        let memory = TensorViewMut::from_slice(&mut memory, &shape(&[2])).unwrap();
        assert_eq!(memory.dtype(), DType::F32);
    }

    #[test]
    fn elements_that_are_not_there_are_refused() {
        let numbers = [1u16, 2, 3, 4, 5];
        let refused = |elements: &[u16], sizes: &[usize], offset, strides: &[isize]| {
            let view = TensorView::from_strided(elements, &shape(sizes), offset, strides);
            view.map(drop).unwrap_err()
        };
        assert_eq!(
            TensorView::from_slice(&numbers, &shape(&[2, 3])).unwrap_err(),
            Error::Layout(LayoutError::OutOfBounds {
                argument: "data",
                first: 0,
                end: 12,
                buffer: 10
            })
        );
        assert_eq!(
            refused(&numbers, &[2], 0, &[-1]),
            Error::Layout(LayoutError::OutOfBounds {
                argument: "data",
                first: -2,
                end: 2,
                buffer: 10
            })
        );
        assert!(matches!(
            refused(&numbers, &[2], 0, &[]),
            Error::Shape(ShapeError::SizesDiffer { .. })
        ));
        assert!(matches!(
            refused(&numbers, &[2], 0, &[isize::MAX]),
            Error::Shape(ShapeError::TooLarge { .. })
        ));
        assert!(matches!(
            refused(&numbers, &[2], usize::MAX, &[0]),
            Error::Shape(ShapeError::TooLarge { .. })
        ));
        let mut numbers = numbers;
        let twice = TensorViewMut::from_strided(&mut numbers, &shape(&[2]), 0, &[0]);
        assert!(matches!(twice, Err(Error::Layout(LayoutError::OverlappingLayout { .. }))));
        assert!(Tensor::from_vec(vec![1u16; 5], &shape(&[2, 3])).is_err());
        assert_eq!(Tensor::from_vec(vec![7u16; 9], &shape(&[2, 3])).unwrap().into_vec(), [7; 6]);
    }
}
