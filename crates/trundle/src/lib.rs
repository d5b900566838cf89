//! Moves the elements of tensors: rolls, transposes, flips, reversals, gathers, scatters and joins.
//!
//! Operators run in one pass over memory if they can be combined. Each result follows the published specification of
//! its operator exactly.
//!
//! Reversing the colour channels of an image and moving them to the front:
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
//! # What to call
//!
//! | you have | call |
//! |---|---|
//! | one operator, for a single call | [`roll`], [`transpose`], [`flip`], [`rot90`], [`reverse_sequence`], [`reverse_subsequences`]; each takes a [`TensorView`] and returns a new [`Tensor`] |
//! | `&[f32]`, or a slice of any `Copy` type | [`TensorView::from_slice`], [`TensorView::from_strided`]; [`Tensor::into_vec`] turns the result into a `Vec` without a copy |
//! | bytes and the name of their element type | [`TensorView::new`], [`TensorView::row_major`], [`TensorView::sub_byte`] |
//! | an array of the crate ndarray | the module `ndarray`, with the feature `ndarray` |
//! | a pointer, sizes and strides | [`view_from_raw_parts`] |
//! | indices of the elements to read | [`take`], [`take_along_axis`]; or [`Along`], which makes no plan, for the bytes of a row-major tensor |
//! | several tensors to join, or a tensor to pad with a constant | [`concatenate`], [`stack`], [`pad`] |
//! | one tensor to split into several | [`split`] |
//! | a [`Program`]: a graph of movements with several tensors or constants | a [`ProgramPlan`]; [`programs`] builds common programs, such as a scatter |
//! | elements that replace some elements of a tensor | a [`ScatterPlan`]; or [`Along`], which makes no plan, for the bytes of a row-major tensor |
//! | memory for the result | the functions with `_into`: [`roll_into`], [`transpose_into`], ... They write to a [`TensorViewMut`] with any strides, which may be uninitialised ([`MaybeUninit`](std::mem::MaybeUninit)) |
//! | a strided array to make contiguous, or to copy elsewhere | [`contiguous`], [`copy_into`] |
//! | several operators | a [`Chain`], parsed from a string or built from [`Op`]s |
//! | a chain that takes several tensors or has a constant | [`Chain::program`], then a [`ProgramPlan`] |
//! | a chain to run many times | a [`Plan`], which you make once and run often, without allocations |
//! | a chain to run on slices | [`Plan::run_slice`], [`Plan::run_slice_into`], [`Plan::run_slice_uninit`] |
//! | a tensor that is too large to copy | the functions with `_in_place`: [`roll_in_place`], [`transpose_in_place`], ...; [`Plan::in_place`] |
//! | values that own memory, such as `Vec<String>` | [`Plan::run_owned`] |
//! | a move that a user may cancel | [`Plan::run_while`] |
//! | a maximum number of threads for all calls in a closure | [`with_threads`] |
//! | your own thread pool, such as rayon's | [`with_pool`] |
//! | a chain whose lengths or indices are not known yet | [`OpenChain`] |
//! | DirectML descriptors | [`directml`] |
//! | your own kernels or kind of buffers | [`lowering`] |
//! | an element of the result, and you look for its source | [`Op::index_map`], then [`IndexMap::source_of`] |
//!
//! Layouts may have any strides, including zero and negative ones: [`Layout::strided`]. Elements may have any width in
//! bytes ([`DType`]) or share bytes ([`Packing`]). If an argument is invalid, a function returns an [`Error`], which
//! names the argument and has its value, and writes nothing ([`Along`] may already have written some elements).
//!
//! Rolling a slice, and copying and transposing a strided view of it:
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
//! Writing to uninitialised memory, the spare capacity of a vector:
//!
//! ```
//! use trundle::{Shape, TensorView, TensorViewMut};
//!
//! let shape = Shape::new([2, 3])?;
//! let letters = TensorView::from_slice(&['a', 'b', 'c', 'd', 'e', 'f'], &shape)?;
//! let mut flipped: Vec<char> = Vec::with_capacity(6);
//! let mut out = TensorViewMut::from_slice(flipped.spare_capacity_mut(), &shape)?;
//! trundle::flip_into(&letters, &[1], &mut out)?;
//! // SAFETY: the call has initialised all six elements of `out`.
//! unsafe { flipped.set_len(6) };
//! assert_eq!(flipped, ['c', 'b', 'a', 'f', 'e', 'd']);
//! # Ok::<(), trundle::Error>(())
//! ```
//!
//! Limiting one call to two threads, and running another on your own thread pool:
//!
//! ```
//! use trundle::{Shape, TensorView, ThreadPool, with_pool, with_threads};
//!
//! /// A stand-in for a real thread pool, such as rayon's.
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
//! The environment variable `TRUNDLE_NUM_THREADS` sets the default number of threads, `TRUNDLE_SIMD` forces an
//! instruction set, and `TRUNDLE_TUNING` selects a [tuning record](tuning).
#![forbid(unsafe_code)]

mod chain;
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
    BitOrder, DType, DTypeError, Digest, Error, Fingerprint, IndexMap, Layout, LayoutError,
    MoveError, Op, OpError, Packing, Permutation, Program, Result, Shape, ShapeError, Tensor,
    TensorView, TensorViewMut, Width, normalize_axis, ops,
};
pub use trundle_cpu::tuning;
pub use trundle_cpu::{
    Along, Destination, Machine, ScatterPlan, ThreadPool, threads, view_from_raw_parts,
    view_mut_from_raw_parts, with_pool, with_threads,
};

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<(Plan, ProgramPlan, InPlacePlan)>();
    is_shared::<(Chain, OpenChain, Program, IndexMap)>();
    is_shared::<(Error, PlanError, ChainError, notation::NotationError, directml::Error)>();
};
