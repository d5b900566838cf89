//! Items for the other crates of this workspace, which may change in any version.

pub mod few;
pub mod plan_cache;

pub use crate::functions::check_dtype;
pub use trundle_core::{check_shape, check_sizes, fingerprint};
pub use trundle_cpu::{give_freed_memory_back, prefer_large_pages};
