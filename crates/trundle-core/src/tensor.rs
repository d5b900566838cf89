//! Bytes with a layout and an element type: borrowed, borrowed for writing, owned.

use crate::{DType, Layout, Result, Shape};

/// A tensor to read: a buffer, and where in it each element lies.
#[derive(Clone, Debug)]
pub struct TensorView<'a> {
    bytes: &'a [u8],
    dtype: DType,
    layout: Layout,
}

impl<'a> TensorView<'a> {
    /// A view through any layout that stays within `bytes`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) naming `data`.
    pub fn new(bytes: &'a [u8], dtype: DType, layout: Layout) -> Result<TensorView<'a>> {
        layout.check_within("data", dtype.width(), bytes.len())?;
        Ok(TensorView { bytes, dtype, layout })
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

    /// Where the elements lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }
}

/// A tensor to write: no two elements share a byte, and bytes between them are left alone.
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    bytes: &'a mut [u8],
    dtype: DType,
    layout: Layout,
}

impl<'a> TensorViewMut<'a> {
    /// A view through any layout that stays within `bytes` and addresses no byte twice.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) naming `out`, or
    /// [`Error::OverlappingLayout`](crate::Error::OverlappingLayout).
    pub fn new(bytes: &'a mut [u8], dtype: DType, layout: Layout) -> Result<TensorViewMut<'a>> {
        layout.check_within("out", dtype.width(), bytes.len())?;
        layout.check_writable(dtype.width())?;
        Ok(TensorViewMut { bytes, dtype, layout })
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

    /// Where the elements lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }
}

/// An owned tensor, packed and row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    bytes: Vec<u8>,
    dtype: DType,
    layout: Layout,
}

impl Tensor {
    /// A tensor whose bytes are all zero.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if it fills more than `isize::MAX` bytes.
    pub fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, dtype.width())?;
        Ok(Tensor { bytes: vec![0; shape.bytes(dtype.width())?], dtype, layout })
    }

    /// A tensor of these bytes: the elements packed, row-major, in the machine's byte order.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if `bytes` is too short for `shape`;
    /// what is longer is cut off.
    pub fn from_bytes(mut bytes: Vec<u8>, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let layout = Layout::row_major(shape, dtype.width())?;
        layout.check_within("data", dtype.width(), bytes.len())?;
        bytes.truncate(shape.bytes(dtype.width())?);
        Ok(Tensor { bytes, dtype, layout })
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

    /// The sizes of the axes.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// A view to read.
    pub fn view(&self) -> TensorView<'_> {
        TensorView { bytes: &self.bytes, dtype: self.dtype, layout: self.layout.clone() }
    }

    /// A view to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        TensorViewMut { bytes: &mut self.bytes, dtype: self.dtype, layout: self.layout.clone() }
    }
}
