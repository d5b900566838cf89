//! ScatterND of ONNX, which is `ScatterNDUpdate` of OpenVINO.

use std::fmt;

use super::operand::Operand;
use super::reverse_subsequences::Listed;
use super::{Declaration, GatherNd, Indices};
use crate::{IndexMap, Result, Shape};

/// A tensor with elements, or slices, of another put at indices of its first axes together, of which the last axis of the
/// indices has one for each. Of several for one place the last counts, in row-major order.
///
/// Source: the specifications of ONNX's ScatterND without a reduction, opset 18, and OpenVINO's ScatterNDUpdate-3.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScatterNd {
    inputs: [Operand; 2],
    indices: Indices,
}

crate::fingerprint!(struct ScatterNd { inputs, indices });

declaration! {
    /// Put elements, or slices, of another tensor at indices of several axes (ONNX's ScatterND)
    "scatter_nd", "scatter_nd(_, updates, indices=places.npy)", None, {
        /// The tensor, and the updates that are put into it; _ is that of the stages before
        inputs: TwoTensors,
        /// Where to: a file whose last axis has an index for each of the first axes; a list is one place
        indices: Numbers,
    }
}

impl ScatterNd {
    /// Its name and its parameters.
    pub const DECLARATION: &'static Declaration = &DECLARATION;

    /// The second of two tensors put into the first at `indices`, of which negative ones count from the end.
    pub fn new(inputs: [Operand; 2], indices: Indices) -> ScatterNd {
        ScatterNd { inputs, indices }
    }

    /// The tensor that the updates are put into, and they.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs
    }

    /// For each element of the updates the place that it is put to in a tensor of this shape.
    ///
    /// # Errors
    /// As [`GatherNd::index_map`].
    pub fn places(&self, shape: &Shape) -> Result<IndexMap> {
        GatherNd::new(0, self.indices.clone()).index_map(shape)
    }
}

impl fmt::Display for ScatterNd {
    /// As a call of the chain language.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [base, updates] = &self.inputs;
        write!(f, "scatter_nd({base}, {updates}, indices=")?;
        Listed(self.indices.values()).fmt(f)?;
        f.write_str(")")
    }
}
