//! Plans a [`Move`](trundle_core::Move) for a GPU, as printable data that does not depend on the GPU interface. Tests
//! need no device.
//!
//! | type | contents |
//! |---|---|
//! | [`GpuMove`] | the access unit ([`Access`]) and the pattern ([`Pattern`]) of each block; 64-bit offsets |
//! | [`SpecialisedKernel`] | a kernel that is written for one [`WholeBlock`], if a pattern fits it |
//! | [`Launch`] | a block, or a part of one, with its grid and a [`Window`] of each buffer; 32-bit offsets |
//!
//! To prevent races, all kernels follow one rule: **only one invocation of a launch writes a given word of the
//! destination**, and changes only the bits of elements. The exceptions are words at the edges of rows: several
//! invocations write different bits of such a word, each in one atomic operation.
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
mod specialised;
mod summary;
mod whole_block;
mod windows;

pub use access::{Access, stores_of_row};
pub use budget::budget;
pub use gpu_block::GpuBlock;
pub use gpu_move::GpuMove;
pub use launch::{IndexSum, Kernel, Launch, LaunchLoop, LengthCut, TableSlice, TileLoops};
pub use loop_source::{LoopSource, src_begin};
pub use pattern::{Pattern, TILE_BYTES, tile_edge};
pub use specialised::SpecialisedKernel;
pub use summary::{LaunchSummary, PlanText};
pub use whole_block::WholeBlock;
pub use windows::{Window, Windows};

/// The number of invocations in a workgroup. Every device supports this number.
pub const WORKGROUP: usize = 256;

/// The number of stores of each invocation in [`Pattern::Runs`].
pub const STORES_OF_RUNS: usize = 4;
