//! How elements move on a CPU: a [`Move`](trundle_core::Move) becomes a [`Plan`], data that says
//! which kernel moves which tiles on which thread, and the plan is run.
//!
//! All of the CPU's unsafe code is in this crate.
#![allow(unsafe_code)]

mod along;
mod backend;
mod cancellation;
mod execute;
mod filled;
mod fork_safe;
mod freed_memory;
mod in_place;
mod large_pages;
mod machine;
mod owned;
mod plan;
mod planner;
mod raw_parts;
mod scatter_plan;
mod scope;
mod slices;
mod sub_byte;
mod threads;
pub mod tuning;

pub use along::Along;
pub use backend::Cpu;
pub use filled::FilledPlan;
pub use freed_memory::give_freed_memory_back;
pub use in_place::InPlacePlan;
pub use large_pages::prefer_large_pages;
pub use machine::Machine;
pub use plan::{Part, Place, Plan, RaggedLoop, RaggedStep, Rolled, Step};
pub use planner::Planner;
pub use raw_parts::{view_from_raw_parts, view_mut_from_raw_parts};
pub use scatter_plan::ScatterPlan;
pub use scope::{ThreadPool, threads, with_pool, with_threads};
pub use slices::Destination;
pub use trundle_kernels::{AffineLoop, CATALOGUE, Kernel, Pattern, Simd, Store, Tables};
