//! Indices of gathers and scatters, and the treatment of indices outside their axis.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::shape::{check_sizes, row_major_strides};
use crate::{Error, OpError, Result, Shape};

/// Indices on an axis, as a tensor of any shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Indices {
    shape: Shape,
    /// The indices in row-major order.
    values: Arc<[i64]>,
}

crate::fingerprint!(struct Indices { shape, values });

/// The treatment of indices that are outside their axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexMode {
    /// Indices from -size to -1 count from the end. Any other index outside the axis is an error.
    #[default]
    Raise,
    /// Indices are taken modulo the size of the axis.
    Wrap,
    /// Negative indices become 0, and indices beyond the end become the last index.
    Clip,
}

crate::fingerprint!(enum IndexMode {
    "raise" Raise,
    "wrap" Wrap,
    "clip" Clip,
});

impl IndexMode {
    const ALL: [IndexMode; 3] = [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip];

    pub(super) const WORDS: [&'static str; 3] = ["raise", "wrap", "clip"];

    /// The mode with this index in the list of names, if there is one.
    pub fn of_number(number: i64) -> Option<IndexMode> {
        IndexMode::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl fmt::Display for IndexMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(IndexMode::WORDS[*self as usize])
    }
}

impl Indices {
    /// Creates indices of any shape from `values` in row-major order.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the number of indices differs from the
    /// number of elements of the shape.
    pub fn new(shape: Shape, values: impl Into<Arc<[i64]>>) -> Result<Indices> {
        let values = values.into();
        check_sizes(("indices", values.len()), ("the elements of their shape", shape.elements()))?;
        Ok(Indices { shape, values })
    }

    /// Creates indices with one axis.
    pub fn list(values: impl Into<Arc<[i64]>>) -> Indices {
        let values = values.into();
        let shape = Shape::new([values.len()])
            .unwrap_or_else(|error| unreachable!("values that are there are counted: {error}"));
        Indices { shape, values }
    }

    /// The shape of the indices.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The indices in row-major order.
    pub fn values(&self) -> &Arc<[i64]> {
        &self.values
    }

    pub(super) fn strides(&self) -> Vec<isize> {
        row_major_strides(&self.shape)
    }

    /// Every `every`-th index from `first` on, as a coordinate on an axis of `size` elements. `every` must be at least
    /// 1.
    ///
    /// # Errors
    /// [`OpError::IndexOutOfRange`] for the first index that is not valid.
    pub(super) fn coordinates(
        &self,
        size: usize,
        mode: IndexMode,
        (first, every): (usize, usize),
    ) -> Result<Arc<[usize]>> {
        let own = self.values.get(first..).unwrap_or_default();
        // A size is at most `isize::MAX`.
        let limit = size.cast_signed() as i64;
        if limit == 0 && !own.is_empty() {
            return Err(self.out_of_range(first, size));
        }
        let mut are_within = true;
        // Without an early exit, the loop is several times as fast.
        let mut of = |index: &i64| -> usize {
            let coordinate = match mode {
                IndexMode::Raise => index + if *index < 0 { limit } else { 0 },
                IndexMode::Wrap => index.rem_euclid(limit),
                IndexMode::Clip => (*index).clamp(0, limit - 1),
            };
            are_within &= (0..limit).contains(&coordinate);
            coordinate.cast_unsigned() as usize
        };
        // A slice iterator has an exact length, so this collects directly into the `Arc`.
        let coordinates: Arc<[usize]> = match every {
            1 => own.iter().map(&mut of).collect(),
            every => own.iter().step_by(every).map(&mut of).collect(),
        };
        if are_within {
            return Ok(coordinates);
        }
        let is_outside = |index: &i64| !(-limit..limit).contains(index);
        let outside = own.iter().step_by(every).position(is_outside);
        Err(self.out_of_range(first + outside.unwrap_or(0) * every, size))
    }

    fn out_of_range(&self, position: usize, size: usize) -> Error {
        let index = self.values.get(position).copied().unwrap_or_default();
        Error::Op(OpError::IndexOutOfRange { index, position: self.shape.unravel(position), size })
    }
}

/// Checks that the batch axes of the indices equal the batch axes of the tensor.
pub(super) fn check_batches(shape: &Shape, indices: &Shape, batch_axes: usize) -> Result<()> {
    for (size, other) in shape.iter().zip(indices.iter()).take(batch_axes) {
        check_sizes(
            ("a batch axis of the tensor", *size),
            ("the same axis of the indices", *other),
        )?;
    }
    Ok(())
}
