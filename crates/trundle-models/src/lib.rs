//! Models of movement operators: OpenVINO IR and ONNX files, read into one graph.
#![forbid(unsafe_code)]

mod constant;
mod draw;
mod error;
mod explain;
mod follow;
mod graph;
mod model;
pub mod onnx;
mod open;
pub mod openvino;
mod operator;
mod program;
mod resolve;
mod run;
mod simplify;
mod verify;

pub use constant::{Constant, Data, ElementType};
pub use error::{Error, Result};
pub use graph::{Graph, Made, Tensor, TensorId};
pub use model::{Dimension, Input, Model, Node, Output, PartialShape, ValueId};
pub use operator::{
    BlockOrder, IntegerTypes, Integers, Operator, Pads, Parts, StridedSliceMasks, ZeroSize,
};
pub use program::{Part, Program, Stage};
pub use resolve::Given;
