//! Models of movement operators: OpenVINO IR and ONNX files, read into one graph.
#![forbid(unsafe_code)]

mod constant;
mod error;
mod graph;
mod model;
mod operator;
// What runs a graph comes after it.
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "nothing runs a graph yet"))]
mod resolve;

pub use constant::{Constant, Data, ElementType};
pub use error::{Error, Result};
pub use graph::{Graph, Made, Tensor, TensorId};
pub use model::{Dimension, Input, Model, Node, Output, PartialShape, ValueId};
pub use operator::{
    BlockOrder, IntegerTypes, Integers, Operator, Pads, Parts, StridedSliceMasks, ZeroSize,
};
