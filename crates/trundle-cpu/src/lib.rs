//! The CPU backend turns a [`Move`](trundle_core::Move) into a [`Plan`] and runs it. A plan lists the tiles, the kernel
//! for each of them, and the tasks of threads. The kernels are in `trundle-kernels`.
#![allow(unsafe_code)]

mod along;
mod available_memory;
mod backend;
mod buffers;
mod cancellation;
mod filled;
mod fork_safe;
mod freed_memory;
mod in_place;
mod large_pages;
mod machine;
mod owned;
mod parts;
mod plan;
mod raw_parts;
mod scatter_plan;
mod scope;
mod slices;
mod sub_byte;
mod text;
mod threads;
mod tiles;
pub mod tuning;

pub use along::Along;
pub use available_memory::available_memory;
pub use backend::Cpu;
pub use freed_memory::give_freed_memory_back;
pub use in_place::InPlacePlan;
pub use large_pages::prefer_large_pages;
pub use machine::Machine;
pub use parts::StepPart;
pub use plan::Plan;
pub use raw_parts::{view_from_raw_parts, view_mut_from_raw_parts};
pub use scatter_plan::ScatterPlan;
pub use scope::{ThreadPool, threads, with_pool, with_threads};
pub use slices::Destination;
pub use tiles::{RaggedLoop, RaggedRole, RaggedStep, Rolled, Step};
pub use trundle_kernels::{AffineLoop, CATALOGUE, Kernel, Pattern, Simd, StoreKind, Tables};
