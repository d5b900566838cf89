//! SliceScatter of OpenVINO.

use alloc::string::ToString;
use core::fmt;

use super::Slice;
use super::operand::Operand;
use crate::{IndexMap, Result, Shape};

/// Replaces a slice of a tensor by another tensor.
///
/// Source: the specification of OpenVINO's SliceScatter-15, and for the slices the specification of ONNX's Slice,
/// opset 13. In numpy, this is `x[1:5:2] = updates`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SliceScatter {
    inputs: [Operand; 2],
    slice: Slice,
}

crate::fingerprint!(struct SliceScatter { inputs, slice });

declaration! {
    /// Replace a slice by another tensor (x[1:5] = updates in numpy, OpenVINO's SliceScatter)
    SliceScatter, "slice_scatter", "slice_scatter(_, updates, starts=[0], stops=[5], axes=[1], steps=[2])", None, {
        /// The tensor, and the tensor that replaces its slice; _ is the result of the previous stage
        inputs: TwoTensors,
        /// First index of each slice; negative indices count from the end
        starts: Integers,
        /// Index after the last of each slice; negative indices count from the end
        stops: Integers,
        /// Axes to slice (default: the first axes)
        axes: Axes = [],
        /// Steps between elements of each slice (default: 1)
        steps: Integers = [],
    }
}

impl SliceScatter {
    /// Replaces a slice of the first tensor by the second tensor.
    pub fn new(inputs: [Operand; 2], slice: Slice) -> SliceScatter {
        SliceScatter { inputs, slice }
    }

    /// The tensor to update, and the updates.
    pub fn inputs(&self) -> &[Operand] {
        &self.inputs
    }

    /// The map from the index of each update to its destination in a tensor of this shape.
    ///
    /// # Errors
    /// As [`Slice::index_map`].
    pub fn targets(&self, shape: &Shape) -> Result<IndexMap> {
        self.slice.index_map(shape)
    }
}

impl fmt::Display for SliceScatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [base, updates] = &self.inputs;
        let slice = self.slice.to_string();
        let arguments = slice.strip_prefix("slice(").unwrap_or(&slice);
        write!(f, "slice_scatter({base}, {updates}, {arguments}")
    }
}
