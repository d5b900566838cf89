//! numpy's `broadcast_to`.

use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError};

/// Broadcasts the tensor to a larger shape. Axes are aligned at the last one; an axis of size 1 is repeated,
/// and missing axes are added in front.
///
/// Source: the documentation of numpy's `broadcast_to` and its rules of broadcasting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broadcast {
    sizes: Vec<i64>,
}

declare! {
    /// Give axes of size 1 another size, and new axes in front (numpy's broadcast_to)
    Broadcast, "broadcast", "broadcast(4, 3, 2)", {
        /// The size of each axis; -1 leaves one of the tensor's as it is
        sizes: Integers = [],
    }
}

impl Broadcast {
    /// Broadcasts to `sizes`; -1 keeps the size of an axis.
    pub fn new(sizes: &[i64]) -> Broadcast {
        Broadcast { sizes: sizes.to_vec() }
    }

    /// The map for a tensor of this shape.
    ///
    /// # Errors
    /// [`ShapeError::SizesDoNotBroadcast`] if there are fewer sizes than axes, or if a size differs from its
    /// axis and the axis is not of size 1; [`ShapeError::TooLarge`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn broadcast(sizes: &[usize], to: &[i64]) -> Result<IndexMap> {
        Broadcast::new(to).index_map(&Shape::new(sizes).unwrap())
    }

    #[test]
    fn one_index_stands_for_all() {
        let map = broadcast(&[3, 1, 2], &[4, 3, 5, 2]).unwrap();
        assert_eq!(map.out_shape().sizes(), [4, 3, 5, 2]);
        map.out_shape().for_each_index(|i| assert_eq!(map.source_of(i), [i[1], 0, i[3]]));
        assert_eq!(broadcast(&[1, 3], &[2, -1]).unwrap(), broadcast(&[1, 3], &[2, 3]).unwrap());
        assert!(broadcast(&[2, 3], &[2, 3]).unwrap().is_identity());
        assert_eq!(broadcast(&[], &[2]).unwrap().out_shape().sizes(), [2]);
        assert_eq!(broadcast(&[1, 3], &[0, 3]).unwrap().out_shape().sizes(), [0, 3]);
        assert_eq!(broadcast(&[0, 1], &[2, 0, 4]).unwrap().out_shape().sizes(), [2, 0, 4]);
    }

    #[test]
    fn sizes_that_do_not_go_together_are_refused() {
        for to in [&[3][..], &[4, 3, 3], &[2, 4], &[-1, 2, 3], &[-2, 3], &[0, 3]] {
            let error = broadcast(&[2, 3], to).unwrap_err().to_string();
            assert_eq!(error, format!("shape [2, 3] cannot be broadcast to {to:?}"));
        }
        assert!(matches!(
            broadcast(&[1], &[i64::MAX, 9, 1]),
            Err(Error::Shape(ShapeError::TooLarge { .. }))
        ));
    }
}
