//! Reshape of ONNX, numpy's `reshape`.

use alloc::vec::Vec;

use crate::shape::known_elements;
use crate::{IndexMap, OpError, Result, Shape, ShapeError};

/// Changes the shape and keeps the elements in row-major order.
///
/// Source: the specification of ONNX's Reshape with `allowzero`: a size 0 means 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reshape {
    sizes: Vec<i64>,
}

declare! {
    /// Change the sizes of the axes, keeping the order of elements (numpy.reshape)
    Reshape, "reshape", "reshape(2, -1, 4)", {
        /// Sizes of the axes; one may be -1 and is inferred
        sizes: Integers = [],
    }
}

impl Reshape {
    /// Reshapes to `sizes`. One size may be -1, to be inferred.
    pub fn new(sizes: &[i64]) -> Reshape {
        Reshape { sizes: sizes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the sizes of the operator.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`] for a size below -1, [`ShapeError::SizesDoNotFit`] if these sizes cannot
    /// have as many elements as `shape` or if the size -1 is ambiguous, [`ShapeError::TooLarge`] for sizes that cannot
    /// be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let left = self.what_is_left(shape)?;
        let size = |size: &i64| {
            if *size == -1 { left } else { usize::try_from(*size).unwrap_or(usize::MAX) }
        };
        let out_shape = Shape::new(self.sizes.iter().map(size).collect::<Vec<_>>())?;
        IndexMap::reshape(shape, &out_shape)
    }

    /// The size that replaces -1; 1 if there is no -1.
    fn what_is_left(&self, shape: &Shape) -> Result<usize> {
        if let Some(&number) = self.sizes.iter().find(|size| **size < -1) {
            let expected = "a size, or -1 to infer it";
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
