//! The two kinds of scatters.

use std::sync::Arc;

use trundle::ops::{GatherElements, GatherNd, Indices};
use trundle::{Along, IndexMap, Shape, normalize_axis};

use super::descriptor::Descriptor;
use super::error::Result;
use super::pair::check_shape;

/// The meaning of the indices of a scatter.
#[derive(Clone, Copy)]
pub(crate) enum ScatterKind {
    /// One index for each update, along an axis.
    Elements { axis: i64 },
    /// One index for each indexed axis, for each slice of the updates.
    Nd,
}

impl ScatterKind {
    /// Checks the shape of the updates.
    pub(crate) fn check_updates(
        self,
        shape: &Shape,
        indices: &Shape,
        updates: &Descriptor,
    ) -> Result<()> {
        let expected = match self {
            ScatterKind::Elements { axis } => GatherElements::out_shape(shape, indices, axis)?,
            ScatterKind::Nd => GatherNd::out_shape(shape, indices, 0)?,
        };
        if expected.rank() == 0 && updates.layout().shape().elements() == 1 {
            return Ok(());
        }
        check_shape("updates", &expected, updates)
    }

    /// Returns the position in the output of each update.
    pub(crate) fn places(self, shape: &Shape, indices: Indices) -> Result<IndexMap> {
        Ok(match self {
            ScatterKind::Elements { axis } => GatherElements::new(axis, indices).index_map(shape),
            ScatterKind::Nd => GatherNd::new(0, indices).index_map(shape),
        }?)
    }

    /// Returns the scatter as one along a single axis of row-major tensors, for indices that are known to be in
    /// range; `None` if it has no such form or no elements.
    pub(crate) fn along(
        self,
        shape: &Shape,
        indices: &Indices,
        width: usize,
    ) -> Option<(Along, Arc<[i64]>)> {
        // In a tensor without elements, products of the other sizes may overflow.
        if indices.values().is_empty() || shape.elements() == 0 || width == 0 {
            return None;
        }
        let own = indices.shape();
        Some(match self {
            ScatterKind::Elements { axis } => {
                let axis = normalize_axis("axis", axis, shape.rank()).ok()?;
                let (count, size) = (own[axis], shape[axis]);
                let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
                if own[..axis] != shape[..axis] || own[axis + 1..] != shape[axis + 1..] {
                    return None;
                }
                (Along { outer, size, count, inner, width }, Arc::clone(indices.values()))
            }
            ScatterKind::Nd => {
                let (together, positions) = own.split_last()?;
                let (indexed, slice) = shape.split_at(*together);
                let rows = numbers_of(indices.values(), indexed, product(positions));
                let (size, count, width) = (product(indexed), rows.len(), width * product(slice));
                (Along { outer: 1, size, count, inner: 1, width }, rows)
            }
        })
    }
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

/// Returns, for each of `count` groups of indices, its row-major position among axes of these sizes.
fn numbers_of(indices: &[i64], sizes: &[usize], count: usize) -> Arc<[i64]> {
    let sizes: Vec<i64> = sizes.iter().map(|size| size.cast_signed() as i64).collect();
    let number = |group: usize| {
        let own = indices[group * sizes.len()..].iter().zip(&sizes);
        own.fold(0, |number, (index, size)| {
            number * size + if *index < 0 { index + size } else { *index }
        })
    };
    (0..count).map(number).collect()
}
