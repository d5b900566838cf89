//! `DML_BUFFER_TENSOR_DESC`.

use trundle_core::{BitOrder, DType, Layout, Shape, Width, check_sizes};

use super::{Error, Result};

/// A tensor that starts at the first byte of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferTensorDesc<'a> {
    /// The element type. Feature levels support only some types.
    pub data_type: DType,
    /// The order of sub-byte elements in their bytes, an extension of DirectML. `None` means the order of
    /// [`DType::packing`]. For types of whole bytes, it must be `None`.
    pub bit_order: Option<BitOrder>,
    /// The size of each axis, the outermost first.
    pub sizes: &'a [u32],
    /// The stride of each axis, in elements. A stride of 0 repeats elements. `None` means row-major order without gaps.
    pub strides: Option<&'a [u32]>,
    /// The size of the buffer in bytes.
    pub total_tensor_size_in_bytes: u64,
}

/// Buffer sizes are multiples of this number of bytes.
const GRAIN_BYTES: u128 = 4;

impl BufferTensorDesc<'_> {
    /// The size in bytes of the smallest buffer for this tensor.
    ///
    /// This is the size of `(dot(sizes - 1, strides) + 1)` elements, rounded up to a multiple of 4 bytes, or 0 without
    /// elements.
    ///
    /// Source: `DMLCalcBufferTensorSize` of DirectML's helper functions. That function can overflow, because it
    /// computes the index of the last element with 32 bits; this one cannot.
    ///
    /// # Errors
    /// [`SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if there is not one stride for each axis,
    /// [`NoSuchPacking`](trundle_core::DTypeError::NoSuchPacking) if the type does not have this order of bits,
    /// [`TooLarge`](trundle_core::ShapeError::TooLarge) if the result is over `u64::MAX`.
    pub fn minimum_buffer_bytes(&self) -> Result<u64> {
        self.check_strides("the tensor")?;
        let bytes =
            self.reached_bytes(self.width()?).map(|bytes| bytes.next_multiple_of(GRAIN_BYTES));
        Ok(bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| self.too_large())?)
    }

    /// The width of the elements: bytes or a packing.
    ///
    /// # Errors
    /// [`NoSuchPacking`](trundle_core::DTypeError::NoSuchPacking) if the type does not have this order of bits.
    pub fn width(&self) -> Result<Width> {
        Ok(match self.bit_order {
            None => self.data_type.into(),
            Some(order) => self.data_type.sub_byte(order)?,
        })
    }

    /// `None` if the calculation exceeds `u128`.
    fn reached_bytes(&self, width: Width) -> Option<u128> {
        if self.sizes.contains(&0) {
            return Some(0);
        }
        let elements = match self.strides {
            None => self.sizes.iter().try_fold(1u128, |n, size| n.checked_mul((*size).into()))?,
            Some(strides) => {
                let along =
                    |(size, stride): (&u32, &u32)| u128::from(size - 1) * u128::from(*stride);
                self.sizes.iter().zip(strides).map(along).sum::<u128>() + 1
            }
        };
        let (group, group_bytes) = width
            .packing()
            .map_or((1, width.units()), |packing| (packing.group(), packing.group_bytes()));
        let (groups, rest) = (elements / group as u128, elements % group as u128);
        let tail = width.bytes(usize::try_from(rest).ok()?);
        groups.checked_mul(group_bytes as u128)?.checked_add(tail as u128)
    }

    /// Also checks that the descriptor fits its buffer.
    pub(super) fn checked_layout(&self, argument: &'static str) -> Result<Layout> {
        self.check_strides(argument)?;
        let (shape, width) = (self.shape()?, self.width()?);
        let layout = self.layout(&shape, width)?;
        let total = self.total_tensor_size_in_bytes;
        let needed = width.bytes(layout.span(width.units())?.end.unsigned_abs()) as u64;
        if needed > total {
            return Err(Error::BufferTooSmall { argument, needed, total });
        }
        Ok(layout)
    }

    fn check_strides(&self, argument: &'static str) -> Result<()> {
        let strides = self.strides.map_or(self.sizes.len(), <[u32]>::len);
        Ok(check_sizes(("strides", strides), (argument, self.sizes.len()))?)
    }

    pub(super) fn shape(&self) -> Result<Shape> {
        // A size that does not fit into usize is too large for a shape.
        let size = |size: &u32| usize::try_from(*size).unwrap_or(usize::MAX);
        Ok(Shape::new(self.sizes.iter().map(size).collect::<Vec<_>>())?)
    }

    fn layout(&self, shape: &Shape, width: Width) -> Result<Layout> {
        let width = width.units();
        let Some(strides) = self.strides else { return Ok(Layout::row_major(shape, width)?) };
        let in_bytes = |(stride, size): (&u32, &u32)| {
            // The stride of an axis of size 0 or 1 may have any value.
            let stride = if *size < 2 { 0 } else { isize::try_from(*stride).ok()? };
            stride.checked_mul(isize::try_from(width).ok()?)
        };
        let strides: Option<Vec<isize>> = strides.iter().zip(self.sizes).map(in_bytes).collect();
        Ok(Layout::strided(shape, 0, &strides.ok_or_else(|| self.too_large())?)?)
    }

    fn too_large(&self) -> trundle_core::Error {
        let BufferTensorDesc { data_type, sizes, strides, .. } = self;
        let what = match strides {
            Some(strides) => format!("{data_type} of sizes {sizes:?} with strides {strides:?}"),
            None => format!("{data_type} of sizes {sizes:?}"),
        };
        trundle_core::Error::too_large(what)
    }
}
