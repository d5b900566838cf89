//! Rolls, transposes and reverses tensors: exactly, at the speed of memory, in one pass however
//! many operators are chained.
#![forbid(unsafe_code)]

mod chain;
pub mod directml;
mod functions;
pub mod notation;
mod plan;
pub mod plan_cache;
mod planned;

pub use chain::{Chain, ChainError, OpenChain, ParseError, Slot};
pub use functions::{
    contiguous, copy_into, flip, flip_into, reverse_sequence, reverse_sequence_into,
    reverse_subsequences, reverse_subsequences_into, roll, roll_into, rot90, rot90_into, transpose,
    transpose_into,
};
pub use plan::{Plan, PlanError};
pub use trundle_core::{
    AxisMap, BitOrder, Block, DType, Digest, Error, Fingerprint, IndexMap, Layer, Layout, Loop,
    Move, Op, Packing, Pass, Permutation, RaggedLoop, Result, Run, Shape, Tensor, TensorView,
    TensorViewMut, Width, fingerprint, normalize_axis, ops,
};
pub use trundle_cpu::{Machine, Plan as CpuPlan};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
