//! Moves the elements of tensors: rolls, transposes and reverses them, exactly as their published
//! specifications say, at the speed of memory, in one pass however many operators are chained.
//!
//! A picture as a network wants it: colours reversed, and in front.
//!
//! ```
//! use trundle::{Chain, Plan, Shape};
//!
//! let chain: Chain = "flip(axes=[2]) | h w c -> c h w".parse()?;
//! let plan = Plan::packed(&chain, size_of::<u8>(), &Shape::new([2, 2, 3])?, None)?;
//! let bgr = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
//! assert_eq!(plan.run_slice(&bgr)?, [3, 6, 9, 12, 2, 5, 8, 11, 1, 4, 7, 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which one do I want?
//!
//! | what you have | what you call |
//! |---|---|
//! | one operator, now and then | [`roll`], [`transpose`], [`flip`], [`reverse_sequence`], [`reverse_subsequences`]: a [`TensorView`] in, a new [`Tensor`] out |
//! | a place for the result | the same with `_into`: [`roll_into`], [`transpose_into`], ... write to a [`TensorViewMut`] of any strides |
//! | an array with strides that shall lie in one piece, or go elsewhere | [`contiguous`], [`copy_into`] |
//! | several operators | a [`Chain`], written as text or built of [`Op`]s |
//! | the same movement again and again | a [`Plan`] of a chain: decided once, run often, without allocating |
//! | `&[f32]`, `Vec<f64>`, any `Copy` type | [`Plan::run_slice`], [`Plan::run_slice_into`] |
//! | values that own something, as `Vec<String>` | [`Plan::run_owned`] |
//! | a move that a user may stop | [`Plan::run_while`] |
//! | a chain whose shape is not known yet | [`OpenChain`] |
//! | DirectML's descriptors | [`directml`] |
//! | the question where one element comes from | [`Op::index_map`], then [`IndexMap::source_of`] |
//!
//! Layouts have any strides, zero and negative ones too: [`Layout::strided`]. Element types are as wide as
//! they like ([`DType`]), or share bytes ([`Packing`]). Whatever an operator forbids is an [`Error`]
//! with the argument and the numbers, before anything is written.
//!
//! A result of one operator from a strided view:
//!
//! ```
//! use trundle::{DType, Layout, Shape, TensorView};
//!
//! // Every other column of a 2 x 4 matrix, from the last to the first.
//! let matrix = [0u8, 1, 2, 3, 4, 5, 6, 7];
//! let layout = Layout::strided(&Shape::new([2, 2])?, 3, &[4, -2])?;
//! let columns = TensorView::new(&matrix, DType::U8, layout)?;
//! assert_eq!(trundle::contiguous(&columns)?.bytes(), [3, 1, 7, 5]);
//! assert_eq!(trundle::transpose(&columns, &[1, 0])?.bytes(), [3, 7, 1, 5]);
//! # Ok::<(), trundle::Error>(())
//! ```
//!
//! `TRUNDLE_NUM_THREADS` says how many threads may take part where a call does not, and `TRUNDLE_SIMD` forces a set
//! of instructions.
#![forbid(unsafe_code)]

mod chain;
pub mod directml;
mod functions;
pub mod notation;
mod plan;
pub mod plan_cache;
mod planned;
mod runner;

pub use chain::{Chain, ChainError, OpenChain, ParseError, Slot};
pub use functions::{
    contiguous, copy_into, flip, flip_into, reverse_sequence, reverse_sequence_into,
    reverse_subsequences, reverse_subsequences_into, roll, roll_into, rot90, rot90_into, transpose,
    transpose_into,
};
pub use plan::{Plan, PlanError};
pub use runner::{BufferId, Runner, Step};
pub use trundle_core::{
    AxisMap, Backend, BitOrder, Block, Cut, CutAt, DType, Digest, Error, Fingerprint, IndexMap,
    Layer, Layout, LengthTable, Loop, Move, Op, Packing, Pass, Permutation, Result, Run, Shape,
    Source, Tensor, TensorView, TensorViewMut, Width, fingerprint, normalize_axis, ops,
};
pub use trundle_cpu::Machine;

/// What moves elements: the one line that says so.
pub type Device = trundle_cpu::Cpu;

/// How [`Device`] does a move.
pub type CpuPlan = <Device as Backend>::Plan;
