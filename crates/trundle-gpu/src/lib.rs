//! How a [`Move`](trundle_core::Move) is done on a GPU, whichever it is: all that is decided, as data that prints itself.
//! Nothing here knows an interface to GPUs, and none is needed to test it.
//!
//! | stage | says |
//! |---|---|
//! | [`GpuMove`] | for each block of a move: what one access reads ([`Access`]) and one of three patterns ([`Pattern`]). Offsets are of 64 bits |
//! | [`Launch`] | a block, or a part of one, as a kernel of 32-bit offsets takes it: between [`Window`]s of both buffers, with its grid |
//!
//! Every kernel keeps one rule, so that nothing races: **each word of the destination is made by one invocation of a
//! launch**, which writes the bits that elements cover and no others; only words at the edges of rows are shared by several
//! invocations, which write different bits of them, each in one atomic operation.
#![forbid(unsafe_code)]

mod access;
mod budget;
mod gpu_block;
mod gpu_move;
mod launch;
mod loop_source;
mod part;
mod pattern;
mod span;
mod summary;
mod windows;

pub use access::{Access, stores_of_row};
pub use budget::budget;
pub use gpu_block::GpuBlock;
pub use gpu_move::GpuMove;
pub use launch::{IndexSum, Kernel, Launch, LaunchLoop, LengthCut, TableSlice, TileLoops};
pub use loop_source::{LoopSource, src_begin};
pub use pattern::{Pattern, TILE_BYTES, tile_edge};
pub use summary::{LaunchSummary, PlanText};
pub use windows::{Window, Windows};

/// The invocations of a workgroup: as many as every device has.
pub const WORKGROUP: usize = 256;

/// The stores that an invocation makes where the pattern is [`Pattern::Runs`].
pub const STORES_OF_RUNS: usize = 4;
