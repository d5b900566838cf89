//! GatherND of ONNX and OpenVINO.

use alloc::vec::Vec;
use core::fmt;

use super::indices::{IndexMode, Indices, check_batches};
use super::out_of_range;
use super::reverse_subsequences::Listed;
use crate::{AxisMap, IndexMap, Line, Result, Shape, ShapeError, Table};

/// Gathers elements or slices at indices on several axes.
///
/// The last axis of the indices has one entry for each indexed axis. The first axes may be batch axes, shared by the
/// tensor and the indices; each batch has its own indices.
///
/// Source: the specifications of ONNX's GatherND, opset 13, and OpenVINO's GatherND-8.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GatherNd {
    indices: Indices,
    batch_axes: usize,
}

crate::fingerprint!(struct GatherNd { indices, batch_axes });

impl GatherNd {
    /// Gathers at `indices`, whose first `batch_axes` axes are batch axes.
    pub fn new(batch_axes: usize, indices: Indices) -> GatherNd {
        GatherNd { indices, batch_axes }
    }

    /// The map for a tensor of this shape. The output has the shape of [`GatherNd::out_shape`].
    ///
    /// # Errors
    /// The errors of [`GatherNd::out_shape`], and [`OpError::IndexOutOfRange`](crate::OpError::IndexOutOfRange) for an
    /// index outside its axis.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let (batch, own) = (self.batch_axes, self.indices.shape());
        let out = GatherNd::out_shape(shape, own, batch)?;
        let together = own.last().copied().unwrap_or_default();
        let (positions, axes) = (own.rank() - 1, batch + together);
        let mut strides = self.indices.strides();
        strides.pop();
        // Each axis has a table of its own indices.
        strides.iter_mut().for_each(|stride| *stride /= together.max(1).cast_signed());
        strides.resize(out.rank(), 0);
        let mut maps: Vec<AxisMap> = (0..batch).map(AxisMap::identity).collect();
        for (first, axis) in (batch..axes).enumerate() {
            let every = (first, together);
            let coordinates = self.indices.coordinates(shape[axis], IndexMode::Raise, every)?;
            let indices = Table::new(coordinates, 0, strides.clone());
            maps.push(AxisMap::Indexed { indices, line: Line::IDENTITY });
        }
        maps.extend((positions..out.rank()).map(AxisMap::identity));
        Ok(IndexMap::new(out, shape.clone(), maps))
    }

    /// The shape of the result: the shape of the indices without the last axis, then the sizes of the tensor's axes
    /// that are not indexed.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if the tensor or the indices have too few axes,
    /// [`ShapeError::SizesDiffer`] if the sizes of batch axes differ, [`ShapeError::TooLarge`] if the result cannot be
    /// addressed.
    pub fn out_shape(shape: &Shape, indices: &Shape, batch_axes: usize) -> Result<Shape> {
        let (batch, own) = (batch_axes, indices);
        let Some((together, positions)) = own.split_last() else {
            return Err(out_of_range("the rank of the indices", 0, "1 or more"));
        };
        let (rank, axes) = (shape.rank(), batch.saturating_add(*together));
        if batch > positions.len() {
            return Err(out_of_range("batch axes", batch, "fewer than the axes of the indices"));
        }
        if axes > rank {
            let argument = "the size of the last axis of the indices";
            let expected = "at most the number of axes of the tensor after the batch axes";
            return Err(out_of_range(argument, *together, expected));
        }
        check_batches(shape, own, batch)?;
        let sizes = [positions, &shape[axes..]].concat();
        let what = || format!("shape {shape} at indices of shape {own}");
        Ok(Shape::new(sizes).map_err(|_| ShapeError::TooLarge { what: what() })?)
    }
}

impl fmt::Display for GatherNd {
    /// The chain language does not have this operator: this is for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gather_nd(indices=")?;
        Listed(self.indices.values()).fmt(f)?;
        write!(f, ", batch_axes={})", self.batch_axes)
    }
}
