//! Moves the elements of tensors: rolls, transposes and reverses them, exactly as their published
//! specifications say, at the speed of memory, in one pass however many operators are chained.
//!
//! A picture as a network wants it: colours reversed, and in front.
//!
//! ```
//! use trundle::{Chain, Plan, Shape};
//!
//! let chain: Chain = "flip(axes=[2]) | h w c -> c h w".parse()?;
//! let plan = Plan::row_major(&chain, size_of::<u8>(), &Shape::new([2, 2, 3])?, None)?;
//! let bgr = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
//! assert_eq!(plan.run_slice(&bgr)?, [3, 6, 9, 12, 2, 5, 8, 11, 1, 4, 7, 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which one do I want?
//!
//! | what you have | what you call |
//! |---|---|
//! | one operator, now and then | [`roll`], [`transpose`], [`flip`], [`rot90`], [`reverse_sequence`], [`reverse_subsequences`]: a [`TensorView`] in, a new [`Tensor`] out |
//! | `&[f32]`, a slice of any `Copy` type | [`TensorView::from_slice`], [`TensorView::from_strided`]; the result's [`Tensor::into_vec`] is a `Vec` of it, without a copy |
//! | bytes, with the name of what they hold | [`TensorView::new`], [`TensorView::row_major`], [`TensorView::sub_byte`] |
//! | an array of the crate ndarray | the module `ndarray`, with the feature of this name |
//! | a pointer, sizes and strides | [`view_from_raw_parts`] |
//! | elements at indices | [`take`], [`take_along_axis`]; with contiguous bytes and indices that come once, [`Along`] |
//! | several tensors that are to be one, or a constant around one | [`concatenate`], [`stack`], [`pad`] |
//! | one tensor that is to be several | [`split`] |
//! | the same again and again, a scatter, or any other [`Program`] | a [`ProgramPlan`], of one of [`programs`] |
//! | elements put over those of a tensor that is there | a [`ScatterPlan`]; with contiguous bytes and indices that come once, [`Along`] |
//! | a place for the result | the same with `_into`: [`roll_into`], [`transpose_into`], ... write to a [`TensorViewMut`] of any strides, also of [`MaybeUninit`](std::mem::MaybeUninit) |
//! | an array with strides that shall lie in one piece, or go elsewhere | [`contiguous`], [`copy_into`] |
//! | several operators | a [`Chain`], written as text or built of [`Op`]s |
//! | a chain of several tensors, or with a constant | [`Chain::program`], then a [`ProgramPlan`] |
//! | the same movement again and again | a [`Plan`] of a chain: decided once, run often, without allocating |
//! | that, of slices | [`Plan::run_slice`], [`Plan::run_slice_into`], [`Plan::run_slice_uninit`] |
//! | a tensor that fills the memory, and is to be moved within it | the functions with `_in_place`: [`roll_in_place`], [`transpose_in_place`], ...; [`Plan::in_place`] |
//! | values that own something, as `Vec<String>` | [`Plan::run_owned`] |
//! | a move that a user may stop | [`Plan::run_while`] |
//! | a number of threads, for any call | [`with_threads`] |
//! | threads of your own, as of a pool of rayon | [`with_pool`] |
//! | a chain whose shape is not known yet | [`OpenChain`] |
//! | DirectML's descriptors | [`directml`] |
//! | the stages on the way to the kernels, or moves between buffers of one's own | [`lowering`] |
//! | the question where one element comes from | [`Op::index_map`], then [`IndexMap::source_of`] |
//!
//! Layouts have any strides, zero and negative ones too: [`Layout::strided`]. Element types are as wide as
//! they like ([`DType`]), or share bytes ([`Packing`]). Whatever an operator forbids is an [`Error`]
//! with the argument and the numbers, before anything is written.
//!
//! One operator, from a slice and from a strided view of it to a vector:
//!
//! ```
//! use trundle::{Shape, TensorView};
//!
//! let numbers = [0.0f32, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
//! let matrix = TensorView::from_slice(&numbers, &Shape::new([2, 4])?)?;
//! let rolled: Vec<f32> = trundle::roll(&matrix, &[1], &[1])?.into_vec();
//! assert_eq!(rolled, [0.3, 0.0, 0.1, 0.2, 0.7, 0.4, 0.5, 0.6]);
//!
//! // Every other column, from the last to the first.
//! let columns = TensorView::from_strided(&numbers, &Shape::new([2, 2])?, 3, &[4, -2])?;
//! assert_eq!(trundle::contiguous(&columns)?.into_vec(), [0.3, 0.1, 0.7, 0.5]);
//! assert_eq!(trundle::transpose(&columns, &[1, 0])?.into_vec(), [0.3, 0.7, 0.1, 0.5]);
//! # Ok::<(), trundle::Error>(())
//! ```
//!
//! To memory that is not initialised, such as a vector's before it has any elements:
//!
//! ```
//! use trundle::{Shape, TensorView, TensorViewMut};
//!
//! let shape = Shape::new([2, 3])?;
//! let letters = TensorView::from_slice(&['a', 'b', 'c', 'd', 'e', 'f'], &shape)?;
//! let mut flipped: Vec<char> = Vec::with_capacity(6);
//! let mut out = TensorViewMut::from_slice(flipped.spare_capacity_mut(), &shape)?;
//! trundle::flip_into(&letters, &[1], &mut out)?;
//! // SAFETY: the call has initialised every element of `out`, which are six.
//! unsafe { flipped.set_len(6) };
//! assert_eq!(flipped, ['c', 'b', 'a', 'f', 'e', 'd']);
//! # Ok::<(), trundle::Error>(())
//! ```
//!
//! On two threads at most, and on those of a pool of one's own, of which none is ours:
//!
//! ```
//! use trundle::{Shape, TensorView, ThreadPool, with_pool, with_threads};
//!
//! /// In place of a pool: rayon's, or an engine's.
//! struct OneByOne;
//!
//! impl ThreadPool for OneByOne {
//!     fn threads(&self) -> usize {
//!         1
//!     }
//!
//!     fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
//!         (0..times).for_each(|_| work());
//!     }
//! }
//!
//! let image = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
//! let turned = with_threads(2, || trundle::transpose(&image, &[]))?;
//! assert_eq!(with_pool(&OneByOne, || trundle::transpose(&image, &[]))?, turned);
//! # Ok::<(), trundle::Error>(())
//! ```
//!
//! `TRUNDLE_NUM_THREADS` says how many threads may take part where nothing else does, `TRUNDLE_SIMD` forces a set
//! of instructions, and `TRUNDLE_TUNING` names the file of a [tuning record](tuning).
#![forbid(unsafe_code)]

mod chain;
mod chain_pass;
pub mod directml;
mod functions;
mod gathers;
mod in_place;
#[doc(hidden)]
pub mod internal;
mod joins;
mod lower;
pub mod lowering;
#[cfg(feature = "ndarray")]
pub mod ndarray;
pub mod notation;
mod plan;
mod planned;
mod planned_program;
mod program_moves;
mod program_plan;
pub mod programs;
mod runner;
mod splits;

pub use chain::{Chain, ChainError, OpenChain, ParseError, Slot};
pub use functions::{
    contiguous, copy_into, flip, flip_in_place, flip_into, reverse_sequence,
    reverse_sequence_in_place, reverse_sequence_into, reverse_subsequences,
    reverse_subsequences_in_place, reverse_subsequences_into, roll, roll_in_place, roll_into,
    rot90, rot90_in_place, rot90_into, transpose, transpose_in_place, transpose_into,
};
pub use gathers::{take, take_along_axis, take_along_axis_into, take_into};
pub use in_place::InPlacePlan;
pub use joins::{concatenate, concatenate_into, pad, pad_into, stack, stack_into};
pub use plan::{Plan, PlanError};
pub use program_plan::ProgramPlan;
pub use splits::{split, split_into};
pub use trundle_core::program::TensorId;
pub use trundle_core::{
    BitOrder, DType, Digest, Error, Fingerprint, IndexMap, Layout, Op, Packing, Permutation,
    Program, Result, Shape, Tensor, TensorView, TensorViewMut, Width, normalize_axis, ops,
};
pub use trundle_cpu::tuning;
pub use trundle_cpu::{
    Along, Destination, Machine, ScatterPlan, ThreadPool, threads, view_from_raw_parts,
    view_mut_from_raw_parts, with_pool, with_threads,
};
