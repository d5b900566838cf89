//! The kernels: functions that move one tile of elements each. A folder has similar kernels and the parts that they
//! share; its `mod.rs` lists both separately.
//!
//! A kernel knows widths and strides, but no operators, types, tensors, plans or threads. So this crate has no
//! dependencies, and is rebuilt only when a kernel changes. The planner of `trundle-cpu` uses the first kernel of
//! [`CATALOGUE`] that applies to a tile. See docs/kernels.md.
//!
//! # Features
//!
//! - `std` (default): detects the instruction sets of the machine, and gives each thread scratch memory. Without it, the
//!   crate needs only `alloc`. The available instruction sets are then the sets that the crate is compiled for, and some
//!   kernels use slower methods that need no scratch memory.
#![allow(unsafe_code)]
#![no_std]
// The portable set lacks some kernels, and so it does not use all of their parts.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")),
    allow(dead_code, unused_imports, unused_macros)
)]

#[macro_use]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod catalogue;
mod channels;
mod elements;
mod gather;
mod jumps;
mod lanes;
mod parts;
mod pattern;
mod rows;
pub mod simd;
mod tile;
mod transpose;
mod tuning;

pub use catalogue::{CATALOGUE, Kernel, KernelFn};
pub use gather::indexed::{
    ELEMENTS_AHEAD, ELEMENTS_AT_ONCE, FAR_BYTES, INDICES_AHEAD_BYTES, IndexTile,
};
pub use gather::tables::{GatherTile, Gathered, Tables};
pub use jumps::{Jump, Jumps};
pub use lanes::ragged::{LaneTile, Ragged, Run};
pub use lanes::sub_line::SLABS_BYTES;
pub use pattern::{Pattern, Roles, Space};
pub use rows::exchanged::ExchangeTile;
pub use rows::filled::{FilledTile, Filling, MOST_FILLED_BYTES};
pub use rows::rotated::{MOST_TOGETHER_BYTES, SegmentOrder, SegmentTile};
pub use simd::Simd;
pub use tile::{AffineLoop, Next, StoreKind, Tile, Tiles};
pub use transpose::squares::{SquareTile, square_scratch_bytes};
pub use transpose::transposed::takes_lines;
pub use tuning::{Level, LinesTogether, Packed, Tuning};
