//! ScatterND of ONNX, `ScatterNDUpdate` of OpenVINO.

use core::fmt;

use super::operand::Operand;
use super::reverse_subsequences::Listed;
use super::{GatherNd, Indices};
use crate::{IndexMap, Result, Shape};

/// Writes elements or slices of one tensor over another tensor, at indices on the first axes of that tensor.
///
/// The last axis of the indices has one entry for each indexed axis. If several updates have the same destination,
/// the last one in row-major order wins. The result has the shape of the tensor that is updated.
///
/// Source: the specifications of ONNX's ScatterND without a reduction, opset 18, and OpenVINO's
/// ScatterNDUpdate-3.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScatterNd {
    inputs: [Operand; 2],
    indices: Indices,
}

crate::fingerprint!(struct ScatterNd { inputs, indices });

declaration! {
    /// Write elements or slices of another tensor at indices of several axes (ONNX's ScatterND)
    ScatterNd, "scatter_nd", "scatter_nd(_, updates, indices=places.npy)", None, {
        /// The tensor, and the updates to write; _ is the result of the previous stage
        inputs: TwoTensors,
        /// Indices: a file whose last axis has one index for each leading axis, or a list for one position
        indices: Numbers,
    }
}

impl ScatterNd {
    /// Writes the second tensor over the first tensor at `indices`. Negative indices count from the end.
    pub fn new(inputs: [Operand; 2], indices: Indices) -> ScatterNd {
        ScatterNd { inputs, indices }
    }

    /// The tensor to update, and the updates.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs
    }

    /// The map from the index of each update to its destination in a tensor of this shape.
    ///
    /// # Errors
    /// As [`GatherNd::index_map`].
    pub fn targets(&self, shape: &Shape) -> Result<IndexMap> {
        GatherNd::new(0, self.indices.clone()).index_map(shape)
    }
}

impl fmt::Display for ScatterNd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [base, updates] = &self.inputs;
        write!(f, "scatter_nd({base}, {updates}, indices=")?;
        Listed(self.indices.values()).fmt(f)?;
        f.write_str(")")
    }
}
