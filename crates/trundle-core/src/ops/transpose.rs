//! Transpose-1 of OpenVINO's operation set 1.

use alloc::vec::Vec;

use crate::{AxisMap, IndexMap, Line, Permutation, Result, Shape};

/// Permutes the axes: `out.shape[i] == in.shape[order[i]]`.
///
/// Source: the specification of OpenVINO's Transpose-1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transpose {
    order: Vec<i64>,
}

declare! {
    /// Permute the axes (numpy.transpose)
    Transpose, "transpose", "transpose(2, 0, 1)", {
        /// Input axis for each output axis, such as 2,0,1 (default: the axes reversed)
        order: Axes = [],
    }
}

impl Transpose {
    /// Permutes the axes by `order`, which must contain each axis once, without negative numbers.
    ///
    /// An empty `order` reverses the order of the axes.
    pub fn new(order: &[i64]) -> Transpose {
        Transpose { order: order.to_vec() }
    }

    /// The map for a tensor of this shape. The output has the permuted shape.
    ///
    /// # Errors
    /// The errors of [`Permutation::new`], if `order` is neither empty nor a permutation of the axes.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let rank = shape.rank();
        let permutation = if self.order.is_empty() {
            Permutation::inverting(rank)
        } else {
            Permutation::new(&self.order, rank)?
        };
        let order = permutation.order();
        let out_shape = Shape::new(order.iter().map(|axis| shape[*axis]).collect::<Vec<_>>())?;
        let mut axes = vec![AxisMap::identity(0); rank];
        for (out, source) in order.iter().enumerate() {
            axes[*source] = AxisMap::Affine { axis: out, line: Line::IDENTITY };
        }
        Ok(IndexMap::new(out_shape, shape.clone(), axes))
    }
}
