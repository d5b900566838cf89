//! Tensors: buffers with a layout and an element type, as read-only views, writable views and owned tensors.
//!
//! A buffer is a slice of bytes, which hold elements of any type, or a slice of the elements themselves. Elements are
//! never reinterpreted as another type.

use alloc::vec::Vec;

use crate::{BitOrder, DType, Layout, Result, Shape, ShapeError, Width};

/// A read-only view of a tensor: a borrowed buffer with a layout.
///
/// `T` is the item type of the buffer. It is either `u8`, for bytes that the [`DType`] describes, or the type of the
/// elements, which may be any type that is `Copy`.
///
/// ```
/// use trundle_core::{DType, Shape, TensorView};
///
/// let numbers = [0.5f32, 1.5, 2.5, 3.5, 4.5, 5.5];
/// let rows = TensorView::from_slice(&numbers, &Shape::new([2, 3])?)?;
/// assert_eq!(rows.dtype(), DType::F32);
/// // The last column, from the last row to the first.
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
    /// The bytes of the buffer.
    pub fn bytes(&self) -> &'a [u8] {
        self.buffer
    }
}

impl<'a, T> TensorView<'a, T> {
    fn checked(self) -> Result<TensorView<'a, T>> {
        self.layout.check_within("data", self.width, size_of_val(self.buffer))?;
        Ok(self)
    }

    /// The buffer.
    pub fn buffer(&self) -> &'a [T] {
        self.buffer
    }
}

/// A writable view of a tensor, in which no two elements share a byte, or a bit if they are sub-byte elements.
///
/// Bytes and bits outside the elements keep their values, so a view can be a part of a larger tensor.
///
/// `T` is the item type of the buffer, as in a [`TensorView`], or [`MaybeUninit`](core::mem::MaybeUninit) of such a
/// type, for uninitialised memory.
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

    /// The buffer.
    pub fn buffer_mut(&mut self) -> &mut [T] {
        self.buffer
    }

    /// Replaces the layout.
    ///
    /// # Errors
    /// The errors of a new view with this layout. The view is then unchanged.
    pub fn set_layout(&mut self, layout: Layout) -> Result<()> {
        layout.check_within("out", self.width, size_of_val(self.buffer))?;
        layout.check_writable(self.width.units())?;
        self.layout = layout;
        Ok(())
    }
}

macro_rules! view {
    ($View:ident, $($mut:ident)?) => {
        impl<'a> $View<'a> {
            /// Creates a view of bytes as elements of `dtype`, with a layout that stays within `bytes`.
            ///
            /// # Errors
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) or
            /// [`LayoutError::PackedOutOfBounds`](crate::LayoutError::PackedOutOfBounds) if the layout reaches outside
            /// `bytes`. For a writable view, [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout)
            /// if elements overlap.
            pub fn new(
                bytes: &'a $($mut)? [u8],
                dtype: DType,
                layout: Layout,
            ) -> Result<$View<'a>> {
                $View { buffer: bytes, dtype, width: dtype.into(), layout }.checked()
            }

            /// Creates a view of sub-byte elements packed in `order` instead of the default order of their type.
            ///
            /// # Errors
            /// [`DTypeError::NoSuchPacking`](crate::DTypeError::NoSuchPacking) if the type has no such order, and
            /// the errors of [`new`](Self::new).
            pub fn sub_byte(
                bytes: &'a $($mut)? [u8],
                dtype: DType,
                order: BitOrder,
                layout: Layout,
            ) -> Result<$View<'a>> {
                $View { buffer: bytes, dtype, width: dtype.sub_byte(order)?, layout }.checked()
            }

            /// Creates a contiguous row-major view of bytes as elements of `dtype`.
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
            /// Creates a contiguous row-major view of a slice of elements.
            ///
            /// # Errors
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `elements` is too short for
            /// `shape`.
            pub fn from_slice(elements: &'a $($mut)? [T], shape: &Shape) -> Result<$View<'a, T>>
            where
                T: 'static,
            {
                Self::of_elements(elements, Layout::row_major(shape, element_bytes::<T>())?)
            }

            /// Creates a view of a slice of elements with any strides, also zero and negative ones.
            ///
            /// `offset_elems` is the position of the element at index 0, 0, ..., 0; the strides count elements too.
            ///
            /// # Errors
            /// [`ShapeError::SizesDiffer`] if the number of strides differs from the number of axes,
            /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) or [`ShapeError::TooLarge`] if the layout
            /// reaches outside `elements`. For a writable view,
            /// [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) if elements overlap.
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

macro_rules! described {
    ($Tensor:ty) => {
        impl<T> $Tensor {
            /// The element type.
            pub fn dtype(&self) -> DType {
                self.dtype
            }

            /// The width of the elements: their number of bytes, or how they are packed.
            pub fn width(&self) -> Width {
                self.width
            }

            /// The layout.
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

/// The size of an element in bytes. Elements without bytes have no position.
const fn element_bytes<T>() -> usize {
    const { assert!(size_of::<T>() > 0, "elements of a tensor have at least one byte") };
    size_of::<T>()
}

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

/// An owned, contiguous, row-major tensor.
///
/// `T` is the item type of the buffer, as in a [`TensorView`]. Operators set the unused bits of the last byte or group
/// of sub-byte elements to 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor<T = u8> {
    buffer: Vec<T>,
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl Tensor {
    /// Creates a tensor whose bytes are all 0.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the tensor takes more than `isize::MAX` bytes.
    pub fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, dtype.width())?;
        Ok(Tensor { buffer: vec![0; shape.bytes(dtype)?], dtype, width: dtype.into(), layout })
    }

    /// Creates a tensor from its bytes: contiguous, row-major and in native byte order.
    ///
    /// Surplus bytes are dropped.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `bytes` is too short for `shape`.
    pub fn from_bytes(bytes: Vec<u8>, dtype: DType, shape: &Shape) -> Result<Tensor> {
        Self::of(bytes, dtype, dtype.into(), shape)
    }

    /// The bytes of the elements, contiguous and row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Converts to the bytes of the elements, contiguous and row-major.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }
}

impl<T> Tensor<T> {
    /// Creates a tensor from its elements in row-major order.
    ///
    /// Surplus elements are dropped.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if there are too few elements for `shape`.
    pub fn from_vec(elements: Vec<T>, shape: &Shape) -> Result<Tensor<T>>
    where
        T: 'static,
    {
        element_bytes::<T>();
        Self::of(elements, DType::of::<T>(), Width::Bytes(size_of::<T>()), shape)
    }

    /// Creates a row-major tensor with the element type of `view`.
    ///
    /// Surplus items of `buffer` are dropped.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if `buffer` is too short for `shape`.
    pub fn like(view: &TensorView<'_, T>, buffer: Vec<T>, shape: &Shape) -> Result<Tensor<T>> {
        Self::of(buffer, view.dtype, view.width, shape)
    }

    fn of(mut buffer: Vec<T>, dtype: DType, width: Width, shape: &Shape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape, width.units())?;
        layout.check_within("data", width, size_of_val(&buffer[..]))?;
        buffer.truncate(shape.bytes(width)? / size_of::<T>());
        Ok(Tensor { buffer, dtype, width, layout })
    }

    /// The elements in row-major order, or the bytes that hold them.
    pub fn as_slice(&self) -> &[T] {
        &self.buffer
    }

    /// Converts the tensor to its buffer, without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.buffer
    }

    /// A read-only view.
    pub fn view(&self) -> TensorView<'_, T> {
        let Tensor { buffer, dtype, width, layout } = self;
        TensorView { buffer, dtype: *dtype, width: *width, layout: layout.clone() }
    }

    /// A writable view.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        let Tensor { buffer, dtype, width, layout } = self;
        TensorViewMut { buffer, dtype: *dtype, width: *width, layout: layout.clone() }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::*;
    use crate::{Error, LayoutError};

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    #[test]
    fn views_have_the_type_of_their_elements() {
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
    fn views_outside_their_buffer_are_refused() {
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
