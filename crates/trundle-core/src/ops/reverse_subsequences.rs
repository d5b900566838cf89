//! `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC` of DirectML.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::shape::{check_sizes, normalize_axis, row_major_strides};
use crate::{
    AxisMap, DType, DTypeError, IndexMap, Line, Result, Shape, Table, TensorView, check_shape,
};

/// Reverses the first elements of each row along an axis, as many as the row's own length, and keeps the others.
///
/// A row consists of the elements with the same indices on all other axes. A length greater than the size of the axis
/// reverses the whole row. In the chain language, a call with a batch axis is a
/// [`ReverseSequence`](super::ReverseSequence).
///
/// Source: the documentation of DirectML's `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReverseSubsequences {
    axis: i64,
    /// The lengths in row-major order: one for each row, or, with `tensor`, one for each element of the shape `stored`.
    lengths: Arc<[u64]>,
    /// `None` for a list.
    tensor: Option<LengthsTensor>,
}

crate::fingerprint!(struct ReverseSubsequences { axis, lengths, tensor });

declaration! {
    /// Reverse each row up to its own length
    ReverseSubsequences, "reverse", "reverse(axis=1, lengths=lens.npy)", None, {
        /// Axis to reverse along; -1 is the last axis
        axis: Axis,
        /// Elements to reverse per row: a number, list or file
        lengths: Numbers,
        /// Axis along which lengths vary (default: all others)
        batch_axis: Axis = [],
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LengthsTensor {
    shape: Shape,
    /// `shape`, but with size 1 on axes whose stride is 0.
    stored: Shape,
}

crate::fingerprint!(struct LengthsTensor { shape, stored });

/// Item types of buffers of lengths: `u32`, `u64`, or `u8` for the bytes of either.
pub trait LengthBuffer: Copy {
    /// Reads the length of type `dtype` at a byte offset.
    #[doc(hidden)]
    fn length_at(buffer: &[Self], dtype: DType, byte: usize) -> u64;
}

impl LengthBuffer for u32 {
    fn length_at(buffer: &[u32], _: DType, byte: usize) -> u64 {
        buffer[byte / size_of::<u32>()].into()
    }
}

impl LengthBuffer for u64 {
    fn length_at(buffer: &[u64], _: DType, byte: usize) -> u64 {
        buffer[byte / size_of::<u64>()]
    }
}

impl LengthBuffer for u8 {
    fn length_at(buffer: &[u8], dtype: DType, byte: usize) -> u64 {
        let bytes = &buffer[byte..byte + dtype.width()];
        match dtype {
            DType::U32 => bytes.try_into().map_or(0, u32::from_ne_bytes).into(),
            _ => bytes.try_into().map_or(0, u64::from_ne_bytes),
        }
    }
}

impl ReverseSubsequences {
    /// Reverses along `axis`, with one length for each row, in row-major order.
    ///
    /// A negative axis counts from the end.
    pub fn new(axis: i64, lengths: impl Into<Arc<[u64]>>) -> ReverseSubsequences {
        ReverseSubsequences { axis, lengths: lengths.into(), tensor: None }
    }

    /// Reverses along `axis`, with a contiguous row-major tensor of lengths.
    ///
    /// The tensor must have the sizes of the data, but size 1 on `axis`. A negative axis counts from the end.
    pub fn dense(axis: i64, shape: Shape, lengths: impl Into<Arc<[u64]>>) -> ReverseSubsequences {
        let tensor = LengthsTensor { stored: shape.clone(), shape };
        ReverseSubsequences { axis, lengths: lengths.into(), tensor: Some(tensor) }
    }

    /// Reverses along `axis`, with a tensor of lengths of type u32 or u64.
    ///
    /// The tensor must have the sizes of the data, but size 1 on `axis`. It may have any strides; if a stride is 0, the
    /// lengths are repeated along this axis. A negative axis counts from the end.
    ///
    /// # Errors
    /// [`DTypeError::DTypeMismatch`] for lengths of another type.
    pub fn from_view<L: LengthBuffer>(
        axis: i64,
        lengths: &TensorView<'_, L>,
    ) -> Result<ReverseSubsequences> {
        let dtype = lengths.dtype();
        if !matches!(dtype, DType::U32 | DType::U64) {
            let (argument, expected) = ("lengths", vec![DType::U32, DType::U64]);
            return Err(DTypeError::DTypeMismatch { argument, expected, got: dtype }.into());
        }
        let layout = lengths.layout();
        let shape = layout.shape().clone();
        let once =
            |(size, stride): (&usize, &isize)| if *stride == 0 { 1.min(*size) } else { *size };
        let stored: Vec<usize> = shape.iter().zip(layout.strides_bytes()).map(once).collect();
        let stored = Shape::new(stored)?;
        let mut values = Vec::new();
        stored.for_each_index(|index| {
            values.push(L::length_at(lengths.buffer(), dtype, layout.offset_of(index)));
        });
        let tensor = LengthsTensor { shape, stored };
        Ok(ReverseSubsequences { axis, lengths: values.into(), tensor: Some(tensor) })
    }

    /// The map for a tensor of this shape. The output has the same shape.
    ///
    /// # Errors
    /// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensor does not have,
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) or
    /// [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) if there is not one length for each row.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let axis = normalize_axis("axis", self.axis, shape.rank())?;
        let mut sizes = shape.sizes().to_vec();
        sizes[axis] = 1;
        let rows = Shape::new(sizes)?;
        let stored = match &self.tensor {
            Some(LengthsTensor { shape, stored, .. }) => {
                check_shape("lengths", &rows, shape)?;
                stored
            }
            None => &rows,
        };
        check_sizes(
            ("lengths", self.lengths.len()),
            ("the positions outside the axis", stored.elements()),
        )?;
        let size = shape[axis];
        let clamped =
            |length: &u64| usize::try_from(*length).map_or(size, |length| length.min(size));
        let lengths: Vec<usize> = self.lengths.iter().map(clamped).collect();
        Ok(reversed_rows(shape, axis, lengths, row_major_strides(stored)))
    }
}

/// The map that reverses the first elements of each row along `axis`, for lengths up to the size of the axis. `strides`
/// address the lengths in entries.
pub(super) fn reversed_rows(
    shape: &Shape,
    axis: usize,
    mut lengths: Vec<usize>,
    strides: Vec<isize>,
) -> IndexMap {
    // Lengths 0 and 1 both change nothing: use 1, so that maps that do the same are equal.
    lengths.iter_mut().for_each(|length| *length = (*length).max(1));
    let lengths = Table::new(lengths, 0, strides);
    let mut axes: Vec<AxisMap> = (0..shape.rank()).map(AxisMap::identity).collect();
    axes[axis] = AxisMap::Ragged { axis, before: Line::IDENTITY, lengths, after: Line::IDENTITY };
    IndexMap::new(shape.clone(), shape.clone(), axes)
}

impl fmt::Display for ReverseSubsequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reverse(axis={}, lengths=", self.axis)?;
        Listed(&self.lengths).fmt(f)?;
        f.write_str(")")
    }
}

/// A list of lengths; `{:#}` truncates long lists.
pub(super) struct Listed<'a, T>(pub(super) &'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if f.alternate() { 8 } else { self.0.len() };
        f.write_str("[")?;
        for (number, length) in self.0.iter().take(most).enumerate() {
            if number > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{length}")?;
        }
        match self.0.len().saturating_sub(most) {
            0 => f.write_str("]"),
            more => write!(f, ", and {more} more]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn lengths_broadcast_by_a_stride_of_0_are_stored_once() {
        let long = 1 << (usize::BITS - 24);
        let huge = Shape::new([long, 1]).unwrap();
        let bytes = 3u32.to_ne_bytes();
        let layout = crate::Layout::strided(&huge, 0, &[0, 0]).unwrap();
        let view = TensorView::new(&bytes, DType::U32, layout).unwrap();
        let reverse = ReverseSubsequences::from_view(1, &view).unwrap();
        let data = Shape::new([long, 5]).unwrap();
        assert_eq!(reverse.index_map(&data).unwrap().source_of(&[7, 0]), [7, 2]);
    }
    #[test]
    fn long_lists_are_shortened_only_in_the_alternate_form() {
        let reverse = ReverseSubsequences::new(1, vec![2; 10]);
        let eight = ["2"; 8].join(", ");
        assert_eq!(
            format!("{reverse:#}"),
            format!("reverse(axis=1, lengths=[{eight}, and 2 more])")
        );
        assert_eq!(reverse.to_string(), format!("reverse(axis=1, lengths=[{eight}, 2, 2])"));
    }
}
