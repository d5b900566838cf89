//! numpy's `broadcast_to`.

use alloc::vec::Vec;

use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError};

/// Broadcasts the tensor to a larger shape.
///
/// The last axes correspond to each other. An axis of size 1 is repeated, and missing axes are added in front.
///
/// Source: the documentation of numpy's `broadcast_to` and its rules of broadcasting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broadcast {
    sizes: Vec<i64>,
}

declare! {
    /// Repeat axes of size 1, and add axes in front (numpy.broadcast_to)
    Broadcast, "broadcast", "broadcast(4, 3, 2)", {
        /// Size of each axis; -1 keeps the size of the tensor's axis
        sizes: Integers = [],
    }
}

impl Broadcast {
    /// Broadcasts to `sizes`. The size -1 keeps the size of an axis.
    pub fn new(sizes: &[i64]) -> Broadcast {
        Broadcast { sizes: sizes.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the operator's sizes.
    ///
    /// # Errors
    /// [`ShapeError::SizesDoNotBroadcast`] if there are fewer sizes than axes, or if a size changes that is not 1.
    /// [`ShapeError::TooLarge`] if the result cannot be addressed.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let refused =
            || ShapeError::SizesDoNotBroadcast { shape: shape.clone(), sizes: self.sizes.clone() };
        let new = self.sizes.len().checked_sub(shape.rank()).ok_or_else(refused)?;
        let mut sizes = Vec::with_capacity(self.sizes.len());
        let mut axes = Vec::with_capacity(shape.rank());
        for (at, wanted) in self.sizes.iter().enumerate() {
            let own = at.checked_sub(new).map(|axis| shape[axis]);
            let size = match (usize::try_from(*wanted), own) {
                (Ok(size), None | Some(1)) => size,
                (Ok(size), Some(own)) if size == own => size,
                (Err(_), Some(own)) if *wanted == -1 => own,
                _ => Err(refused())?,
            };
            if let Some(own) = own {
                let is_repeated = own == 1 && size != 1;
                let once = AxisMap::Affine { axis: at, line: Line { start: 0, step: 0 } };
                axes.push(if is_repeated { once } else { AxisMap::identity(at) });
            }
            sizes.push(size);
        }
        Ok(IndexMap::new(Shape::new(sizes)?, shape.clone(), axes))
    }
}
