//! Reads models that only move elements (OpenVINO IR and ONNX) into one form, and runs them in as few passes over
//! memory as possible.
//!
//! A [`Model`] holds the contents of a file, in a form that the dialects share. With inputs of known shapes it resolves
//! to a [`ResolvedModel`]: a [`Program`] of moved and joined tensors, with their names and element types. A
//! [`PlannedModel`] makes each output in one pass, unless an intermediate tensor has to be written first.
//!
//! ```
//! use trundle_core::Shape;
//! use trundle_models::{Data, Given, PlannedModel, openvino};
//!
//! let xml = r#"<net name="turn" version="11"><layers>
//!     <layer id="0" name="x" type="Parameter" version="opset1">
//!         <data shape="?,3" element_type="u8"/><output><port id="0"/></output></layer>
//!     <layer id="1" name="order" type="Const" version="opset1">
//!         <data element_type="i8" shape="2" offset="0" size="2"/><output><port id="0"/></output></layer>
//!     <layer id="2" name="turned" type="Transpose" version="opset1">
//!         <input><port id="0"/><port id="1"/></input><output><port id="2"/></output></layer>
//!     <layer id="3" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
//! </layers><edges>
//!     <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
//!     <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
//!     <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
//! </edges></net>"#;
//! let model = openvino::read_parts(xml, &[1, 0])?;
//! let x = Data::Bytes(vec![1, 2, 3, 4, 5, 6].into());
//! let resolved = model.resolve(&[Given { shape: Shape::new([2, 3])?, data: Some(&x) }])?;
//! let planned = PlannedModel::new(resolved, None)?;
//! assert_eq!(planned.passes().len(), 1);
//! let y = planned.run(&[x], &mut |_bytes| ())?;
//! assert_eq!(y, [Data::Bytes(vec![1, 4, 2, 5, 3, 6].into())]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod arithmetic;
mod constant;
mod error;
mod explain;
mod links;
mod model;
pub mod onnx;
mod open;
pub mod openvino;
mod operator;
mod order;
mod plan_cache;
mod planned;
mod problem;
mod resolve;
mod resolved;
mod run;
mod survey;
#[cfg(test)]
mod tests;
mod verify;

pub use arithmetic::{Arithmetic, Binary, Unary};
pub use constant::{Constant, Data, ElementType};
pub use error::{Error, Result};
pub use links::Links;
pub use model::{Body, BodyValue, Dimension, Input, Model, Node, Output, PartialShape, ValueId};
pub use operator::{
    AspectRatio, BlockOrder, BroadcastRule, Coordinates, EyeSizes, Floats, IndexRule, IntegerTypes,
    Integers, LeastScale, Nearest, Operator, PadValue, Pads, Parts, PatchPadding, ScanAxis,
    StridedSliceMasks, ZeroSize,
};
pub use plan_cache::{InputView, PlanCache};
pub use planned::PlannedModel;
pub use resolve::Given;
pub use resolved::{ResolvedModel, TensorInfo};
pub use trundle::lowering::{PlannedPart, PlannedPass};
pub use trundle_core::program::{Program, TensorId};
pub use verify::Verifier;
