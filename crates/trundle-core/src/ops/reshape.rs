//! Reshape of ONNX, numpy's `reshape`.

use crate::shape::known_elements;
use crate::{IndexMap, OpError, Result, Shape, ShapeError};

/// Changes the shape and keeps the elements in row-major order.
///
/// Source: the specification of ONNX's Reshape with `allowzero`: a size 0 is 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reshape {
    sizes: Vec<i64>,
}

declare! {
    /// Put the same elements into axes of other sizes
    Reshape, "reshape", "reshape(2, -1, 4)", {
        /// The sizes of the axes; one of them may be -1, for as many as are left
        sizes: Integers = [],
    }
}

impl Reshape {
    /// Reshapes to `sizes`. One size may be -1, to be inferred.
    pub fn new(sizes: &[i64]) -> Reshape {
        Reshape { sizes: sizes.to_vec() }
    }

    /// The map for a tensor of this shape.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] for a size below -1, [`ShapeError::SizesDoNotFit`] if these sizes cannot
    /// have as many elements as `shape`, or if -1 is ambiguous, [`ShapeError::TooLarge`].
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let left = self.what_is_left(shape)?;
        let size = |size: &i64| {
            if *size == -1 { left } else { usize::try_from(*size).unwrap_or(usize::MAX) }
        };
        let out_shape = Shape::new(self.sizes.iter().map(size).collect::<Vec<_>>())?;
        IndexMap::reshape(shape, &out_shape)
    }

    /// The size that -1 stands for; 1 if there is no -1.
    fn what_is_left(&self, shape: &Shape) -> Result<usize> {
        if let Some(&number) = self.sizes.iter().find(|size| **size < -1) {
            let expected = "a size, or -1 for what is left";
            return Err(OpError::NumberOutOfRange { argument: "size", number, expected }.into());
        }
        let elements = shape.elements();
        let fits = match (known_elements(&self.sizes), self.inferred()) {
            (Some(known), 0) => (known == elements).then_some(1),
            (Some(1..), 1) if elements == 0 => Some(0),
            (Some(known @ 1..), 1) => elements.is_multiple_of(known).then(|| elements / known),
            _ => None,
        };
        let (shape, sizes) = (shape.clone(), self.sizes.clone());
        Ok(fits.ok_or(ShapeError::SizesDoNotFit { shape, sizes })?)
    }

    fn inferred(&self) -> usize {
        self.sizes.iter().filter(|size| **size == -1).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshaped(from: &[usize], sizes: &[i64]) -> Result<Vec<usize>> {
        let map = Reshape::new(sizes).index_map(&Shape::new(from).unwrap())?;
        Ok(map.out_shape().sizes().to_vec())
    }

    #[test]
    fn one_size_may_be_what_is_left() {
        for (from, sizes, expected) in [
            (&[2, 3, 4][..], &[4, -1][..], &[4, 6][..]),
            (&[2, 3, 4], &[-1], &[24]),
            (&[2, 3, 4], &[1, -1, 24, 1], &[1, 1, 24, 1]),
            (&[2, 3, 4], &[24], &[24]),
            (&[0, 3], &[-1, 3], &[0, 3]),
            (&[0, 3], &[7, 0], &[7, 0]),
            (&[], &[-1], &[1]),
            (&[1, 1], &[], &[]),
        ] {
            assert_eq!(reshaped(from, sizes).unwrap(), expected, "{from:?} {sizes:?}");
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_with_both_numbers() {
        for (from, sizes, expected) in [
            (&[2, 3][..], &[4, 2][..], "sizes [4, 2] have 8 elements, and shape [2, 3] has 6"),
            (
                &[2, 3],
                &[4, -1],
                "sizes [4, -1] have a multiple of 4 elements, and shape [2, 3] has 6",
            ),
            (&[2, 3], &[], "sizes [] have 1 elements, and shape [2, 3] has 6"),
            (
                &[0, 3],
                &[0, -1],
                "sizes [0, -1] have no elements, whatever -1 is, and shape [0, 3] has 0",
            ),
            (
                &[2, 3],
                &[-1, 0],
                "sizes [-1, 0] have no elements, whatever -1 is, and shape [2, 3] has 6",
            ),
            (
                &[2, 3],
                &[-1, -1],
                "sizes [-1, -1] have -1 more than once: only one size can be inferred from \
                 the 6 elements of shape [2, 3]",
            ),
            (
                &[2, 3],
                &[i64::MAX, i64::MAX],
                "sizes [9223372036854775807, 9223372036854775807] have more elements than can be \
                 counted, and shape [2, 3] has 6",
            ),
            (&[2, 3], &[6, -2], "size -2 is out of range: expected a size, or -1 for what is left"),
        ] {
            assert_eq!(reshaped(from, sizes).unwrap_err().to_string(), expected);
        }
    }
}
