//! Bytes with a layout and an element type: borrowed, borrowed for writing, owned.

use crate::{BitOrder, DType, Layout, Result, Shape, Width};

/// A tensor to read: a buffer, and where in it each element lies.
#[derive(Clone, Debug)]
pub struct TensorView<'a> {
    bytes: &'a [u8],
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl<'a> TensorView<'a> {
    /// A view through any layout that stays within `bytes`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) naming `data`.
    pub fn new(bytes: &'a [u8], dtype: DType, layout: Layout) -> Result<TensorView<'a>> {
        TensorView { bytes, dtype, width: dtype.into(), layout }.checked()
    }

    /// The same for packed elements in any order, not that of their type.
    ///
    /// # Errors
    /// [`Error::NoSuchPacking`](crate::Error::NoSuchPacking), or [`Error::PackedOutOfBounds`](crate::Error::PackedOutOfBounds) naming `data`.
    pub fn packed(
        bytes: &'a [u8],
        dtype: DType,
        order: BitOrder,
        layout: Layout,
    ) -> Result<TensorView<'a>> {
        TensorView { bytes, dtype, width: dtype.packed(order)?, layout }.checked()
    }

    fn checked(self) -> Result<TensorView<'a>> {
        self.layout.check_within("data", self.width, self.bytes.len())?;
        Ok(self)
    }

    /// A packed, row-major view.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if `bytes` is too short for `shape`.
    pub fn row_major(bytes: &'a [u8], dtype: DType, shape: &Shape) -> Result<TensorView<'a>> {
        Self::new(bytes, dtype, Layout::row_major(shape, dtype.width())?)
    }

    /// The buffer.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

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

/// A tensor to write: no two elements share a byte, or a bit if they are packed. What is of no element
/// is left alone: bytes between elements, and bits beside packed ones, before the first and behind the
/// last too. So a part of a larger tensor is written and its neighbours stay.
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    bytes: &'a mut [u8],
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl<'a> TensorViewMut<'a> {
    /// A view through any layout that stays within `bytes` and addresses no byte twice.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) naming `out`, or
    /// [`Error::OverlappingLayout`](crate::Error::OverlappingLayout).
    pub fn new(bytes: &'a mut [u8], dtype: DType, layout: Layout) -> Result<TensorViewMut<'a>> {
        TensorViewMut { bytes, dtype, width: dtype.into(), layout }.checked()
    }

    /// The same for packed elements in any order, not that of their type.
    ///
    /// # Errors
    /// [`Error::NoSuchPacking`](crate::Error::NoSuchPacking), [`Error::PackedOutOfBounds`](crate::Error::PackedOutOfBounds) naming `out`, or
    /// [`Error::OverlappingLayout`](crate::Error::OverlappingLayout).
    pub fn packed(
        bytes: &'a mut [u8],
        dtype: DType,
        order: BitOrder,
        layout: Layout,
    ) -> Result<TensorViewMut<'a>> {
        TensorViewMut { bytes, dtype, width: dtype.packed(order)?, layout }.checked()
    }

    fn checked(self) -> Result<TensorViewMut<'a>> {
        self.layout.check_within("out", self.width, self.bytes.len())?;
        self.layout.check_writable(self.width.units())?;
        Ok(self)
    }

    /// A packed, row-major view.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if `bytes` is too short for `shape`.
    pub fn row_major(
        bytes: &'a mut [u8],
        dtype: DType,
        shape: &Shape,
    ) -> Result<TensorViewMut<'a>> {
        Self::new(bytes, dtype, Layout::row_major(shape, dtype.width())?)
    }

    /// The buffer.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

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

/// An owned tensor, packed and row-major. Where packed elements leave bits of the last byte or group,
/// a tensor that is the result of an operator has 0 there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    bytes: Vec<u8>,
    dtype: DType,
    width: Width,
    layout: Layout,
}

impl Tensor {
    /// A tensor whose bytes are all zero.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if it fills more than `isize::MAX` bytes.
    pub fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, dtype.width())?;
        Ok(Tensor { bytes: vec![0; shape.bytes(dtype)?], dtype, width: dtype.into(), layout })
    }

    /// A tensor of these bytes: the elements packed, row-major, in the machine's byte order.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if `bytes` is too short for `shape`;
    /// what is longer is cut off.
    pub fn from_bytes(bytes: Vec<u8>, dtype: DType, shape: &Shape) -> Result<Tensor> {
        Self::of(bytes, dtype, dtype.into(), shape)
    }

    /// The same, with packed elements in another order than the type's own.
    ///
    /// # Errors
    /// As [`Tensor::from_bytes`], and [`Error::NoSuchPacking`](crate::Error::NoSuchPacking).
    pub fn from_packed(
        bytes: Vec<u8>,
        dtype: DType,
        order: BitOrder,
        shape: &Shape,
    ) -> Result<Tensor> {
        Self::of(bytes, dtype, dtype.packed(order)?, shape)
    }

    fn of(mut bytes: Vec<u8>, dtype: DType, width: Width, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, width.units())?;
        layout.check_within("data", width, bytes.len())?;
        bytes.truncate(shape.bytes(width)?);
        Ok(Tensor { bytes, dtype, width, layout })
    }

    /// The elements, packed and row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements, packed and row-major, as an owned buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// What a move must know of the elements: their bytes, or how they are packed.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// A view to read.
    pub fn view(&self) -> TensorView<'_> {
        let Tensor { bytes, dtype, width, layout } = self;
        TensorView { bytes, dtype: *dtype, width: *width, layout: layout.clone() }
    }

    /// A view to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let Tensor { bytes, dtype, width, layout } = self;
        TensorViewMut { bytes, dtype: *dtype, width: *width, layout: layout.clone() }
    }
}
