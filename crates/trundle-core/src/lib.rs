//! The device-independent core of trundle. It describes how elements move; other crates move them.
//!
//! Three types describe which source element each destination element gets. An [`Op`] has the parameters of an
//! operator's specification, an [`IndexMap`] maps coordinates to coordinates, and a [`Move`] has byte offsets.
//! A [`Backend`] turns a move into a plan and runs the plan. A [`Program`] describes several tensors and how
//! each is made from others. The crate does not need the standard library, only `alloc`.
//!
//! ```
//! use trundle_core::{IndexMap, Op, Shape, ops::{Roll, Transpose}};
//!
//! let shape = Shape::new([4, 3])?;
//! let rolled = Op::from(Roll::new(&[1], &[0])).index_map(&shape)?;
//! let transposed = Op::from(Transpose::new(&[1, 0])).index_map(rolled.out_shape())?;
//! let both = rolled.then(&transposed)?;
//! assert_eq!(both.source_of(&[2, 0]), [3, 2]);
//! # Ok::<(), trundle_core::Error>(())
//! ```
#![forbid(unsafe_code)]
#![no_std]

#[macro_use]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod refusals;

mod backend;
mod dtype;
mod error;
mod fingerprint;
mod index_map;
mod layout;
mod moves;
pub mod ops;
mod packing;
pub mod program;
mod shape;
mod tensor;

pub use backend::{Backend, PassPlan};
pub use dtype::{DType, DTypeError};
pub use error::{Error, Result};
pub use fingerprint::{Digest, Fingerprint};
pub use index_map::{AxisMap, IndexMap, Layer, Line, Piece, Regions, Table};
pub use layout::{Layout, LayoutError, check_buffer};
#[doc(hidden)]
pub use moves::greatest_common_divisor;
pub use moves::{
    Along, Block, CellMove, Cut, CutAt, InPlace, InPlaceAxis, IndexTable, LengthTable, Loop, Move,
    MoveError, Run, Slabs, Source,
};
pub use ops::{Op, OpError};
pub use packing::{BitOrder, Packing, Width};
pub use program::Program;
pub use shape::{Permutation, Shape, ShapeError, check_shape, check_sizes, normalize_axis};
pub use tensor::{Tensor, TensorView, TensorViewMut};
